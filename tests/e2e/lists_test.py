"""Finding jobs and arrays again: selectors, labels, filters and orders; numbers as inputs; what fits a terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios

import numpy as np

import harness


class Lists(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        np.save(cls.folder / "x.npy", np.arange(4, dtype=np.float32))
        np.save(cls.folder / "i.npy", np.arange(4, dtype=np.int32))

    def tiny(self, *more):
        job_id = self.answer("submit", "vector_add", "x.npy", "x.npy", *more)["jobId"]
        self.wait_for_state(job_id, "COMPLETED")
        return job_id

    def ids(self, *conditions):
        return self.hotplate("jobs", "--quiet", *conditions).split()

    # Selectors.

    def test_last_and_ranges(self):
        first, second, third = (self.tiny() for _ in range(3))
        self.assertEqual(self.hotplate("show", "last").split()[1], third)
        self.hotplate("result", "last", "-o", "last.npy")
        self.assertIn(f"job {third}", self.hotplate("watch", "last"))
        between = f"{first}-{third}"
        self.assertEqual(re.findall(r"^job (\S+)", self.hotplate("wait", between), re.M), [first, second, third])
        self.assertEqual(re.findall(r"^job (\S+)", self.hotplate("show", f"{third},{first}", "last"), re.M), [third, first])
        self.hotplate("result", between, code=harness.INVALID, says=f"{between} are 3 jobs")
        self.hotplate("show", "900-999", code=harness.INVALID, says="the daemon knows none of them")
        self.hotplate("show", "9-1", code=harness.INVALID, says="the first is larger than the last")
        self.hotplate("show", f"{first},", code=harness.INVALID, says="has an empty part")

    def test_all_that_go_on_are_cancelled(self):
        done = self.tiny()
        running = self.submit_long_job()
        waiting = self.answer("submit", *harness.LONG_JOB)["jobId"]
        out = self.hotplate("cancel", "all")
        for job_id in (running, waiting):
            self.assertIn(f"job {job_id} ", out)
            self.wait_for_state(job_id, "CANCELLED")
        self.assertNotIn(f"job {done} ", out)
        self.assertEqual(self.hotplate("cancel", "all"), "no job waits or runs\n")
        self.assertEqual(self.hotplate("wait", "all"), "no job waits or runs\n")
        self.assertIn(f"job {done} ", self.hotplate("show", "all"))

    def test_free_all(self):
        for name in "AB":
            self.hotplate("put", "x.npy", "--name", name)
        self.hotplate("free", code=harness.USAGE, says="--all")
        self.hotplate("free", "A", "--all", code=harness.USAGE)
        job_id = self.answer("submit", "full", "--n", "1000000")["jobId"]  # too large to be inline
        self.wait_for_state(job_id, "COMPLETED")
        out = self.hotplate("free", "--all")
        self.assertIn("array:A freed", out)
        self.assertIn("array:B freed", out)
        self.hotplate("result", job_id, "-o", "out=full.npy")  # nobody had fetched it
        self.assertEqual(self.hotplate("free", "--all"), "there are no arrays\n")

    # Labels and filters.

    def test_labels(self):
        first = self.tiny("--label", "sweep 1")
        self.hotplate("run", "vector_add", "x.npy", "x.npy", "-o", "y.npy", "--label", "sweep 1")
        other = self.tiny("--label", "other")
        found = self.ids("--label", "sweep 1")
        self.assertEqual(len(found), 2)
        self.assertIn(first, found)
        self.assertEqual(self.job(other)["label"], "other")
        self.assertRegex(self.hotplate("jobs"), r"LABEL")
        self.assertIn("label", self.hotplate("show", other))
        self.hotplate("submit", "vector_add", "x.npy", "x.npy", "--label", "x" * 65, code=harness.INVALID,
                      says="at most 64 bytes")
        self.hotplate("submit", "vector_add", "x.npy", "x.npy", "--label", "a\nb", code=harness.INVALID,
                      says="control characters")

    def test_filters_and_orders(self):
        quick = self.tiny("--label", "filters")
        long = self.submit_long_job("--label", "filters")
        self.hotplate("cancel", long)
        self.wait_for_state(long, "CANCELLED")
        mine = ("--label", "filters")
        self.assertEqual(self.ids(*mine), [long, quick])
        self.assertEqual(self.ids(*mine, "--state", "cancelled"), [long])
        self.assertEqual(self.ids(*mine, "--state", "CANCELLED,completed"), [long, quick])
        self.assertEqual(self.ids(*mine, "--state", "failed", "--state", "completed"), [quick])
        self.assertEqual(self.ids(*mine, "--kernel", "vector_add"), [quick])
        self.assertEqual(self.ids(*mine, "--active"), [])
        self.assertEqual(self.ids(*mine, "--since", "1h"), [long, quick])
        self.assertEqual(self.ids(*mine, "--limit", "1"), [long])
        self.assertEqual(self.ids(*mine, "--sort", "kernel"), [long, quick])
        self.assertEqual(self.ids(*mine, "--sort", "state"), [quick, long])
        harness.wait_until(lambda: not self.ids(*mine, "--since", "100ms"), "they were submitted more than 100 ms ago")
        self.hotplate("jobs", "--state", "done", code=harness.USAGE, says=['"done"', "COMPLETED"])
        self.hotplate("jobs", "--sort", "colour", code=harness.USAGE, says=['"colour"', "kernel"])
        self.hotplate("jobs", "--since", "yesterday", code=harness.USAGE, says="yesterday")
        self.assertIn("PARAMETERS", self.hotplate("jobs", "--wide"))

    # Numbers as inputs.

    def test_a_number_is_an_input(self):
        for number, file, expected in (("5", "i.npy", np.arange(4, dtype=np.int32) + 5), ("-0.5", "x.npy", np.arange(4, dtype=np.float32) - 0.5)):
            self.hotplate("run", "vector_add", file, number, "-o", "sum.npy")
            got = np.load(self.folder / "sum.npy")
            np.testing.assert_array_equal(got, expected)
            self.assertEqual(got.dtype, expected.dtype)
        self.hotplate("put", "x.npy", "--name", "X", "--replace")
        self.hotplate("run", "vector_add", "array:X", "1", "-o", "sum.npy")
        self.hotplate("run", "vector_add", f"path:{self.folder}/x.npy", "1", "-o", "sum.npy")
        self.assertEqual(self.hotplate("run", "vector_add", "2", "3").strip(), "5")
        for numbers in (("2", "3.5"), ("2.5", "3")):
            self.assertEqual(self.hotplate("run", "vector_add", *numbers).strip(), "5.5")
        self.hotplate("run", "vector_add", "i.npy", "5.5", code=harness.INVALID, says=["input b: 5.5 is no int32", "i.npy"])

    # A terminal.

    def shown(self, *words, columns=80, lines=24, **environment):
        """The output of `hotplate WORDS` on a terminal of that size, line by line."""
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        process = subprocess.Popen([str(harness.BIN / "hotplate"), *words], cwd=self.folder, stdin=terminal, stdout=terminal,
                                   stderr=terminal, env=self.environment | {"TERM": "xterm", "LSAN_OPTIONS": harness.LEAKS} | environment)
        self.processes.append(process)
        os.close(terminal)
        text = bytearray()
        try:
            while block := os.read(controller, 65536):
                text.extend(block)
        except OSError:  # nobody has it open any more
            pass
        os.close(controller)
        process.wait(harness.PATIENCE)
        return text.decode().replace("\r\n", "\n").splitlines()

    def test_nothing_is_wider_than_the_terminal(self):
        self.tiny("--label", "a label that is quite long, as labels go")
        for words in (("jobs",), ("kernels",), ("arrays",), ("devices",), ("help",), ("run", "--help"), ("describe", "svd"), ("status",),
                      ("show", "last")):
            for line in self.shown(*words, columns=60, lines=1000):
                self.assertLessEqual(len(line), 60, f"{words}: {line}")
        np.save(self.folder / "x.npy", np.linspace(-1, 1, 1000))
        self.hotplate("put", "x.npy", "--name", "X", "--replace")
        self.hotplate("wait", self.answer("submit", "vector_add", "x.npy", "x.npy", "--label", "sums")["jobId"])
        for words in (("run", "vector_add", "x.npy", "x.npy"), ("eval", "2*x", "x=x.npy"), ("result", "sums"), ("get", "X"),
                      ("journal", "verify"), ("env",), ("env", "add", "own", "--python", "/usr/bin/python3", "--force"), ("env",),
                      ("env", "show", "own"), ("watch", "sums"), ("run", "svd", "x.npy"), ("arrays",)):
            for shown in self.shown(*words, columns=40, lines=1000):
                line = shown.rpartition("\033[K")[2]  # what follows a progress line that is taken away
                self.assertTrue(len(line) <= 40 or " " not in line.strip(), f"{words}: {line}")
        with tempfile.TemporaryDirectory(dir="/tmp") as short:  # a path is not broken, and this refusal names one
            for line in self.shown("down", "nobody", columns=60, HOTPLATE_DIR=short):
                self.assertLessEqual(len(line), 60, line)
        self.assertTrue(any(line.endswith("…") for line in self.shown("kernels", columns=60)), "what is cut is marked")
        self.assertFalse(any("…" in line for line in self.hotplate("kernels").splitlines()), "a pipe has all of it")
        self.assertTrue(any(len(line) > 60 for line in self.shown("jobs", "--wide", columns=60)))

    def test_long_help_goes_through_the_pager(self):
        pager = "sed s/^/paged:/"
        self.assertTrue(all(line.startswith("paged:") for line in self.shown("run", "--help", PAGER=pager)))
        self.assertFalse(self.shown("run", "--help", PAGER=pager, lines=1000)[0].startswith("paged:"), "it fits the screen")
        for nothing in ("", "/no/such/pager"):
            self.assertTrue(any(line.startswith("hotplate run KERNEL") for line in self.shown("run", "--help", PAGER=nothing)))
        self.shown("run", "--help", PAGER="exec <&-; sleep 0.3")
        self.assertEqual(self.processes[-1].returncode, 0, "a pager that reads nothing")
        self.assertTrue(self.hotplate("run", "--help", env={"PAGER": pager}).startswith("hotplate run"), "in a pipe never")

    def test_states_have_colours(self):
        self.tiny()
        del self.environment["NO_COLOR"]
        try:
            self.assertIn("\x1b[32mCOMPLETED\x1b[0m", "\n".join(self.shown("jobs")))
            self.assertIn("\x1b[32mREADY\x1b[0m", "\n".join(self.shown("status")))
            self.assertNotIn("\x1b", "\n".join(self.shown("jobs", NO_COLOR="1")))
            self.assertNotIn("\x1b", self.hotplate("jobs"))
        finally:
            self.environment["NO_COLOR"] = "1"

    # Versions.

    def test_versions(self):
        own = self.answer("version")
        self.assertEqual((own["server"], own["serverVersion"]), ("local", own["version"]))
        self.assertEqual(self.hotplate("version").splitlines(), [f"hotplate {own['version']}", f"hotplated {own['version']}   local"])
        self.assertNotIn("serverVersion", self.answer("version", "--server", "nobody"))


if __name__ == "__main__":
    harness.main()
