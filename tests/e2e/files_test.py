"""Files of any size on a login node: what a command holds of them in memory, and what it leaves on the disk."""

import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

import numpy as np

import harness

MIB = 1 << 20
MOST_RESIDENT = 64 * MIB
ELEMENTS = 100_000_000  # float32: 400 MB
PIECE = 1 << 20  # elements

# The parent of a measured command: its own memory would count as the command's if it were this process, which has NumPy.
RUN_AND_MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print("resident", usage.ru_maxrss * 1024, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


def parts(folder):
    return [path for path in pathlib.Path(folder).iterdir() if path.name.endswith(".part")]


class Large(harness.Case):
    """400 MB arrays, of which a command may hold 64 MiB."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()

    def save_large(self, name, start):
        """float32 [ELEMENTS], start + its index modulo 1000, written in pieces: this process stays small, too."""
        with open(self.folder / name, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (ELEMENTS,)})
            for first in range(0, ELEMENTS, PIECE):
                self.values(start, first, min(PIECE, ELEMENTS - first)).tofile(file)

    @staticmethod
    def values(start, first, count):
        return (np.arange(first, first + count) % 1000 + start).astype(np.float32)

    def check(self, name, start):
        with open(self.folder / name, "rb") as file:
            self.assertEqual(np.lib.format.read_magic(file), (1, 0))
            self.assertEqual(np.lib.format.read_array_header_1_0(file), ((ELEMENTS,), False, np.dtype("float32")))
            for first in range(0, ELEMENTS, PIECE):
                count = min(PIECE, ELEMENTS - first)
                np.testing.assert_array_equal(np.fromfile(file, np.float32, count), self.values(start, first, count))
            self.assertEqual(file.read(1), b"")

    def measured(self, *words):
        """The standard output of `hotplate WORDS`, which held 64 MiB at most."""
        done = subprocess.run(
            [sys.executable, "-S", "-E", "-c", RUN_AND_MEASURE, str(harness.BIN / "hotplate"), *words], cwd=self.folder,
            env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
        told = f"hotplate {' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.assertEqual(done.returncode, 0, told)
        resident = int(done.stderr.split()[-1])
        self.assertEqual(done.stderr.split()[-2], "resident", told)
        print(f"hotplate {' '.join(words)}: {resident / MIB:.1f} MiB")
        self.assertLessEqual(resident, MOST_RESIDENT, told)
        return done.stdout

    def test_no_command_holds_a_large_array(self):
        self.save_large("a.npy", 1)
        self.save_large("b.npy", 2)
        self.measured("put", "a.npy", "--name", "A")
        self.measured("get", "A", "-o", "back.npy")
        self.check("back.npy", 1)
        self.assertIn("max 1000", self.measured("get", "A"))
        (self.folder / "back.npy").unlink()
        self.measured("run", "vector_add", "a.npy", "array:A", "-o", "sum.npy")
        self.measured("run", "vector_add", "a.npy", "b.npy", "-o", "c.npy", "--request-id", "once")
        self.assertIn("max 2001", self.measured("run", "vector_add", "a.npy", "b.npy", "--request-id", "once"))
        job = self.measured("submit", "vector_add", "a.npy", "array:A", "--quiet").strip()
        self.hotplate("wait", job)
        self.measured("result", job, "-o", "again.npy")
        with open(self.folder / "c.npy", "rb") as file:
            np.lib.format.read_magic(file)
            np.lib.format.read_array_header_1_0(file)
            for first in range(0, ELEMENTS, PIECE):
                count = min(PIECE, ELEMENTS - first)
                np.testing.assert_array_equal(np.fromfile(file, np.float32, count),
                                              self.values(1, first, count) + self.values(2, first, count))
        self.assertEqual(subprocess.run(["cmp", "sum.npy", "again.npy"], cwd=self.folder, check=False).returncode, 0)
        self.assertEqual(parts(self.folder), [])

    def test_pictures_are_drawn_row_by_row(self):
        self.measured("run", "mandelbrot", "--resolution", "8000", "--max-iterations", "10", "-o", "m.png")  # 256 MB of int32
        self.measured("run", "random", "--rows", "8000", "--n", "8000", "-o", "array:R", "--seed", "1")
        self.measured("get", "R", "-o", "r.png")
        for name in ("m.png", "r.png"):
            begin = (self.folder / name).read_bytes()[:24]
            self.assertEqual((begin[1:4], begin[16:24]), (b"PNG", (8000).to_bytes(4, "big") * 2))
            (self.folder / name).unlink()
        self.hotplate("free", "R")
        self.assertEqual(parts(self.folder), [])

    def test_files_in_fortran_order_go_up_in_pieces_too(self):
        rows, columns = 8000, 12_500  # 400 MB
        with open(self.folder / "f.npy", "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": True, "shape": (rows, columns)})
            for column in range(columns):
                (np.arange(rows) + column).astype(np.float32).tofile(file)
        self.measured("put", "f.npy", "--name", "F")
        self.measured("get", "F", "-o", "c_order.npy")
        with open(self.folder / "c_order.npy", "rb") as file:
            np.lib.format.read_magic(file)
            np.lib.format.read_array_header_1_0(file)
            for row in range(rows):
                np.testing.assert_array_equal(np.fromfile(file, np.float32, columns), (np.arange(columns) + row).astype(np.float32))
        self.hotplate("free", "F")


class Unfinished(harness.Case):
    """What killed commands leave beside their outputs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        np.save(cls.folder / "big.npy", np.zeros(20_000_000))
        np.save(cls.folder / "small.npy", np.zeros(4))

    def stopped_in_the_middle(self, output):
        """A `get` of the large array that is stopped while its file is unfinished."""
        process = self.start("get", "big", "-o", output)
        harness.wait_until(lambda: any(part.name.startswith(f".{output}.") for part in parts(self.folder)), f"{output} was begun")
        process.send_signal(signal.SIGSTOP)
        self.assertFalse((self.folder / output).exists(), "it was too fast to be stopped")
        return process

    def test_the_next_command_removes_them(self):
        self.hotplate("put", "big.npy")
        self.hotplate("put", "small.npy")
        killed = self.stopped_in_the_middle("killed.npy")
        killed.kill()
        killed.wait()
        self.assertEqual(len(parts(self.folder)), 1)
        living = self.stopped_in_the_middle("living.npy")
        self.assertEqual([path.name.split(".npy")[0] for path in parts(self.folder)], [".living"])
        self.hotplate("get", "small", "-o", "other.npy")
        self.assertEqual(len(parts(self.folder)), 1, "that of a command that is alive stays")
        living.send_signal(signal.SIGCONT)
        self.assertEqual(living.wait(timeout=harness.PATIENCE), 0)
        self.assertEqual(parts(self.folder), [])
        self.assertEqual(os.path.getsize(self.folder / "living.npy"), os.path.getsize(self.folder / "big.npy"))


class Placed(harness.Case):
    """Outputs that the daemon writes itself: -o path:FILE.npy."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = cls.folder / "allowed"
        cls.root.mkdir()
        (cls.root / "sub").mkdir()
        (cls.folder / "outside").mkdir()
        cls.start_daemon("--path-root", cls.root, umask=0o027)  # the daemon's own is 077

    def full(self, value, place, *more, **options):
        return self.hotplate("run", "full", "--n", "5", "--value", value, "-o", f"path:{place}", *more, **options)

    def load(self, path):
        return np.load(path, allow_pickle=False).tolist()

    def test_the_daemon_writes_it(self):
        self.full(2, "allowed/sub/a.npy", says=f"{self.root}/sub/a.npy   int64 [5]   written by the daemon")
        self.assertEqual(self.load(self.root / "sub/a.npy"), [2] * 5)
        answer = self.answer("run", "full", "--n", "5", "-o", f"path:{self.root}/json.npy")
        told = answer["outputs"][0]
        self.assertEqual((told["daemonPath"], "path" in told), (f"{self.root}/json.npy", False))
        self.assertEqual(("storeNs" in answer["receipt"], "loadNs" in answer["receipt"]), (True, False))
        self.assertEqual(parts(self.root), [])

    def test_a_new_file_follows_the_owners_umask_and_a_replaced_one_keeps_its_mode(self):
        file = self.root / "mode.npy"
        self.full(1, "allowed/mode.npy")
        self.assertEqual(file.stat().st_mode & 0o777, 0o640)
        file.chmod(0o604)
        self.full(2, "allowed/mode.npy", "--force")
        self.assertEqual(file.stat().st_mode & 0o777, 0o604)

    def test_also_of_a_job_that_nobody_waits_for(self):
        job = self.hotplate("submit", "full", "--n", "5", "--value", "3", "-o", "path:allowed/detached.npy", "--quiet").strip()
        self.hotplate("wait", job)
        self.assertEqual(self.load(self.root / "detached.npy"), [3.0] * 5)
        self.hotplate("result", job, says=f"{self.root}/detached.npy")
        told = self.run_command("result", job, "-o", "p2.npy")
        self.assertEqual(told, (harness.INVALID, "", f"✗ refused: output out was written by the daemon to {self.root}/detached.npy\n"))
        self.assertEqual(list(self.folder.glob("*p2.npy*")), [])

    def test_a_file_that_is_there_stays_without_force(self):
        self.full(1, "allowed/there.npy")
        self.full(2, "allowed/there.npy", code=harness.INVALID, says=[f"{self.root}/there.npy: the file is there already", "--force"])
        self.assertEqual(self.load(self.root / "there.npy"), [1.0] * 5)
        self.full(2, "allowed/there.npy", "--force")
        self.assertEqual(self.load(self.root / "there.npy"), [2.0] * 5)
        self.hotplate("run", "full", "--n", "5", "--force", code=harness.USAGE, says="--force is for -o path:FILE.npy")

    def test_a_repeated_call_is_not_refused_for_its_own_file(self):
        for _ in range(2):
            self.full(4, "allowed/once.npy", "--request-id", "placed-once", says="once.npy")
        self.assertEqual(self.load(self.root / "once.npy"), [4.0] * 5)

    def test_nothing_is_written_through_a_link_or_outside(self):
        outside = self.folder / "outside"
        (self.root / "way").symlink_to(outside)
        victim = outside / "victim.npy"
        victim.write_text("precious")
        (self.root / "victim.npy").symlink_to(victim)
        for force in ((), ("--force",)):
            self.full(1, "allowed/way/x.npy", *force, code=harness.INVALID, says=["way is a link", f"the root is {self.root}"])
            self.full(1, "allowed/victim.npy", *force, code=harness.INVALID, says="victim.npy is a link")
            self.full(1, "outside/x.npy", *force, code=harness.NOT_ALLOWED,
                      says=[f'"{outside}/x.npy" is outside the folders', f"now names {self.root}"])
            self.full(1, "allowed/../outside/x.npy", *force, code=harness.NOT_ALLOWED, says="outside the folders")
            self.full(1, "allowed/.ssh/x.npy", *force, code=harness.INVALID, says=".ssh begins with a dot")
        self.full(1, "allowed/x.txt", code=harness.INVALID, says="does not end in .npy")
        self.full(1, "allowed/nowhere/x.npy", code=harness.INVALID, says=["nowhere", "No such file or directory"])
        self.assertEqual(victim.read_text(), "precious")
        self.assertEqual([path.name for path in outside.iterdir()], ["victim.npy"])

class FullDisk(harness.Case):
    def test_the_job_fails_and_leaves_nothing(self):
        def small_files_only():  # stands in for a full disk, or a quota
            resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB))
        (self.folder / "full").mkdir()
        self.start_daemon("--path-root", self.folder / "full", preexec_fn=small_files_only, restore_signals=False)
        self.hotplate("run", "full", "--n", "200000", "-o", "path:full/x.npy", code=harness.FAILED,
                      says=[f"{self.folder}/full/x.npy: cannot write it: File too large"])
        self.assertEqual(list((self.folder / "full").iterdir()), [])
        self.hotplate("run", "full", "--n", "5", "-o", "path:full/x.npy")


class Streams(harness.Case):
    """Standard input and output in the place of a file, and several files at once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        cls.big = np.random.default_rng(5).standard_normal(3_000_001)
        np.save(cls.folder / "big.npy", cls.big)
        for name in ("p1", "p2", "p3"):
            np.save(cls.folder / f"{name}.npy", np.zeros(3))

    def piped(self, *words, given=b"", code=0):
        """What `hotplate WORDS` writes, of what is piped into it."""
        done = subprocess.run([str(harness.BIN / "hotplate"), *words], cwd=self.folder, env=self.environment, input=given,
                              capture_output=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.returncode}\n{done.stderr.decode()}")
        return done.stdout if code == 0 else done.stderr.decode()

    def array(self, written):
        return np.load(io.BytesIO(written), allow_pickle=False)

    def test_there_and_back_through_pipes(self):
        file = (self.folder / "big.npy").read_bytes()
        self.piped("put", "-", "--name", "piped", given=file)
        np.testing.assert_array_equal(self.array(self.piped("get", "piped", "-o", "-")), self.big)
        np.testing.assert_array_equal(self.array(self.piped("run", "vector_add", "-", "array:piped", "-o", "-", given=file)), 2 * self.big)
        small = self.piped("run", "full", "--n", "3", "-o", "-")
        np.testing.assert_array_equal(self.array(self.piped("run", "vector_add", "-", "p1.npy", "-o", "-", given=small)), np.zeros(3))
        with open(self.folder / "big.npy", "rb") as redirected:
            done = subprocess.run([str(harness.BIN / "hotplate"), "put", "-", "--name", "file", "--json"], stdin=redirected,
                                  env=self.environment, capture_output=True, text=True, timeout=harness.PATIENCE, check=True)
        self.assertEqual(json.loads(done.stdout)["name"], "file")

    def test_a_number_beside_standard_input_has_its_dtype(self):
        np.save(self.folder / "f4.npy", np.arange(5, dtype=np.float32))
        file = (self.folder / "f4.npy").read_bytes()
        for words in (("-", "5"), ("5", "-"), ("f4.npy", "5")):
            out = self.array(self.piped("run", "vector_add", *words, "-o", "-", given=file))
            np.testing.assert_array_equal(out, np.arange(5, dtype=np.float32) + 5)
            self.assertEqual(out.dtype, np.float32)
        self.assertIn("5.5 is no int64, the type of standard input",
                      self.piped("run", "vector_add", "-", "5.5", given=self.bytes_of(np.arange(3)), code=harness.INVALID))
        self.assertIn("-: ", self.piped("run", "vector_add", "-", "5", given=b"no array", code=harness.INVALID))

    @staticmethod
    def bytes_of(array):
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    def test_an_empty_name_before_the_equals_sign(self):
        for words in (("run", "full", "--n", "3", "-o=out.npy"), ("run", "full", "--n", "3", "-o", "=out.npy")):
            self.assertIn("no output is named before the =", self.piped(*words, code=harness.INVALID))
        self.hotplate("put", "p1.npy", "--name", "named", "--replace")
        self.assertIn("no name is before the =", self.piped("get", "named", "-o=out.npy", code=harness.USAGE))
        self.assertFalse((self.folder / "=out.npy").exists())

    def test_a_name_that_is_no_file_may_be_an_arrays(self):
        self.hotplate("put", "p1.npy", "--name", "held", "--replace")
        for words in (("run", "vector_add", "held", "5"), ("submit", "vector_add", "p1.npy", "held"), ("eval", "2*x", "x=held")):
            self.hotplate(*words, code=harness.INVALID, says="the daemon has an array of that name; write array:held")
        _, _, err = self.run_command("run", "vector_add", "nothing", "5")
        self.assertNotIn("array of that name", err)
        self.hotplate("run", "selu", "p1.npy", "--device", "cpu", code=harness.INVALID,
                      says='no device "cpu"; there are cpu0; ask for one of them: --device cpu0')

    def test_what_cannot_be(self):
        self.assertIn("standard input (-) is given for two inputs", self.piped("run", "vector_add", "-", "-", code=harness.INVALID))
        self.assertIn("--name NAME is missing", self.piped("put", "-", code=harness.USAGE))
        self.assertIn("-: ", self.piped("put", "-", "--name", "none", given=b"no array", code=harness.INVALID))
        self.assertIn("drop one of the two", self.piped("run", "full", "--n", "3", "-o", "-", "--json", code=harness.USAGE))
        process, shown = self.start_on_terminal("run", "full", "--n", "3", "-o", "-")
        harness.wait_until(lambda: shown() is not None and process.poll() is not None, "it ended")
        self.assertEqual(process.returncode, harness.INVALID)
        self.assertIn(b"standard output is a terminal", shown())

    def test_several_files(self):
        self.hotplate("put", "p1.npy", "p2.npy", says=["array:p1", "array:p2"])
        self.assertEqual([array["name"] for array in self.answer("put", "p*.npy", "--replace")], ["p1", "p2", "p3"])
        self.hotplate("put", "p1.npy", "p2.npy", "--name", "x", code=harness.USAGE, says="--name is for one file")
        self.hotplate("put", "p1.npy", "--name", "", code=harness.USAGE, says="--name: an array's name is not empty")
        np.save(self.folder / "with space.npy", np.zeros(3))
        self.hotplate("put", "with space.npy", code=harness.INVALID, says=['"with space"', "another name: --name NAME"])
        self.hotplate("put", "with space.npy", "--name", "", code=harness.USAGE)
        self.assertFalse({"", "with space"} & {array["name"] for array in self.answer("arrays")["arrays"]})
        (self.folder / "other").mkdir()
        np.save(self.folder / "other/p1.npy", np.zeros(1))
        self.hotplate("put", "p1.npy", "other/p1.npy", code=harness.INVALID, says="would both be array:p1")
        self.hotplate("free", "p1")
        self.hotplate("put", "p1.npy", "nothing.npy", code=harness.INVALID, says=["nothing.npy: ", "nothing was sent"])
        self.assertNotIn("p1", [array["name"] for array in self.answer("arrays")["arrays"]])
        # One that fails does not hide those before it.
        self.assertIn("array:p1", self.hotplate("put", "p1.npy", "p2.npy", code=harness.INVALID, says="--replace"))


class Ended(harness.WithoutJournal):
    """What is told of a daemon's arrays and results once it has ended: by `down`, and by `status` afterwards."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        np.save(cls.folder / "a.npy", np.zeros(1000))

    def fill(self, name):
        self.hotplate("--server", name, "put", "a.npy", "--name", "A")
        job = self.answer("--server", name, "submit", "full", "--n", "7")["jobId"]
        self.hotplate("--server", name, "wait", job)
        return job

    def test_down_says_what_was_saved_and_what_was_lost(self):
        self.start_daemon(name="one")
        job = self.fill("one")
        saved = self.directory / "saved" / "one"
        words = [f"saved: 1 array of 8.0 kB (A); to bring one back: hotplate put {saved}/A.npy",
                 f"went with it: results of 1 job that nobody fetched (job {job})"]
        self.hotplate("--server", "one", "down", says=words)
        self.hotplate("--server", "one", "status", code=harness.NO_DAEMON, says=["one ended", *words])
        self.start_daemon(name="two")
        said = self.answer("--server", "two", "down")
        self.assertEqual((said["name"], said["saved"], said["lost"]), ("two", "", ""))
        self.hotplate("--server", "two", "status", code=harness.NO_DAEMON, says=["two ended", "nothing was lost"])
        self.hotplate("--server", "one", "status", code=harness.NO_DAEMON, says=words)

    def test_a_daemon_that_was_killed_does_not_speak_with_the_words_of_the_one_before(self):
        self.start_daemon(name="killed")
        self.hotplate("--server", "killed", "down")
        self.hotplate("--server", "killed", "status", code=harness.NO_DAEMON, says="killed ended")
        self.stop_daemon(self.start_daemon(name="killed"), signal.SIGKILL)
        self.assertNotIn("killed ended", "".join(self.run_command("--server", "killed", "status")[1:]))

    def test_what_cannot_be_saved_is_lost(self):
        self.start_daemon("--scratch", "/proc/nowhere", name="three")
        self.fill("three")
        self.hotplate("--server", "three", "down", says=["went with it: 1 array of", "(the folder /proc/nowhere", "results of 1 job"])

    def test_an_idle_daemon_leaves_its_words(self):
        daemon = self.start_daemon("--idle-timeout", "3s", name="idle")
        self.fill("idle")
        self.assertEqual(daemon.wait(timeout=harness.PATIENCE), 0)
        self.hotplate("--server", "idle", "status", code=harness.NO_DAEMON,
                      says=["idle ended", "idle for 3 s: no job, upload or download", "saved: 1 array", "results of 1 job"])
        self.directory.chmod(0o777)  # others may have written it
        try:
            self.assertNotIn("idle ended", "".join(self.run_command("--server", "idle", "status")[1:]))
        finally:
            self.directory.chmod(0o700)


if __name__ == "__main__":
    harness.main()
