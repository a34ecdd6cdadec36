"""Real daemons and real commands for the end-to-end tests: each test class has a HOTPLATE_DIR of its own.

Programs come from HOTPLATE_BIN_DIR (ctest sets it). Waiting is for a state, within PATIENCE seconds; a test never judges
how long something took, except against the bound that a kernel promises, with ample room on top.
"""

import contextlib
import ctypes
import functools
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"])
# Instrumented builds on a busy machine are slow.
PATIENCE = 120
# For commands alone: the daemon has no excuse.
LEAKS = f"suppressions={pathlib.Path(__file__).parents[1] / 'lsan.supp'}:print_suppressions=0"

PRCTL = ctypes.CDLL(None).prctl

OK, FAILED, USAGE, NO_DAEMON, INVALID, TRY_LATER, NOT_ALLOWED, TIMEOUT, CANCELLED = range(9)
INTERRUPTED = 130

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


def wait_until(condition, what, patience=PATIENCE):
    """Polls until condition() is true, and returns what it returned."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"within {patience} s it did not happen that {what}")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it goes between the two
        return False


def descendants(ancestor):
    """[(process, its words)] of all that descend from it."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    children = {}
    for line in listed.splitlines():
        pid, parent, args = line.split(None, 2)
        children.setdefault(int(parent), []).append((int(pid), args))
    found, todo = [], [ancestor]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += [pid for pid, _ in below]
    return found


def heed_permissions():
    """For Popen's preexec_fn: the program minds a file's permissions even where root runs it, if it may give that up
    (Case.need_permissions)."""
    drop_from_bounding_set = 24  # PR_CAPBSET_DROP, of <linux/prctl.h>
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        PRCTL(drop_from_bounding_set, capability, 0, 0, 0)


@functools.cache
def permissions_are_heeded():
    with tempfile.NamedTemporaryFile(prefix="hotplate-e2e-") as closed:
        os.chmod(closed.name, 0)
        return subprocess.run(["cat", closed.name], stderr=subprocess.DEVNULL, preexec_fn=heed_permissions, check=False).returncode != 0


class Case(unittest.TestCase):
    """A test class with a folder to work in, a HOTPLATE_DIR, and the processes it started."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-e2e-"))
        cls.directory = cls.folder / "hotplate"
        cls.environment = {key: value for key, value in os.environ.items() if not key.startswith("HOTPLATE_")}
        cls.environment |= {"HOTPLATE_DIR": str(cls.directory), "HOME": str(cls.folder), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
        cls.environment.pop("XDG_CONFIG_HOME", None)
        cls.processes = []

    @classmethod
    def tearDownClass(cls):
        for process in cls.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        # Daemons that `hotplate up` started are nobody's children: the records tell who they are.
        for record in cls.directory.glob("servers/*.json"):
            try:
                pid = json.loads(record.read_text())["pid"]
                if os.readlink(f"/proc/{pid}/exe") == str((BIN / "hotplated").resolve()):
                    os.kill(pid, signal.SIGKILL)
            except (OSError, ValueError, KeyError):
                continue
        shutil.rmtree(cls.folder, ignore_errors=True)

    def need_permissions(self):
        if not permissions_are_heeded():
            self.skipTest("root opens every file here, and may not give that up (CAP_SETPCAP): run it as somebody else")

    # Commands.

    def start(self, *words, **options):
        """Starts `hotplate WORDS` without waiting for it."""
        process = subprocess.Popen(
            [str(BIN / "hotplate"), *map(str, words)], cwd=options.pop("cwd", self.folder), text=True,
            stdin=options.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment | {"LSAN_OPTIONS": LEAKS} | options.pop("env", {}), **options)
        self.processes.append(process)
        return process

    def start_on_terminal(self, *words):
        """(the process, a function that returns all that it has shown so far) of `hotplate WORDS` on a terminal. Call it while
        waiting for its end, too: who writes to a terminal that nobody reads waits."""
        controller, terminal = pty.openpty()
        self.addCleanup(os.close, controller)
        os.set_blocking(controller, False)
        process = subprocess.Popen([str(BIN / "hotplate"), *map(str, words)], cwd=self.folder, stdin=terminal, stdout=terminal,
                                   stderr=terminal, env=self.environment | {"LSAN_OPTIONS": LEAKS, "TERM": "xterm"})
        self.processes.append(process)
        os.close(terminal)
        shown = bytearray()

        def read_on():
            with contextlib.suppress(OSError):  # nothing for now, or nobody has it open any more
                while block := os.read(controller, 65536):
                    shown.extend(block)
            return bytes(shown)

        return process, read_on

    def run_command(self, *words, **options):
        """(exit code, standard output, standard error) of `hotplate WORDS`."""
        process = self.start(*words, **options)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"hotplate {' '.join(map(str, words))} did not end\n{out}\n{err}") from None
        return process.returncode, out, err

    def hotplate(self, *words, code=OK, says=(), **options):
        """Runs `hotplate WORDS`, checks its exit code and that it says each of `says`; returns standard output."""
        got, out, err = self.run_command(*words, **options)
        told = f"hotplate {' '.join(map(str, words))}: exit {got}\n{out}\n{err}"
        self.assertEqual(got, code, told)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, out + err, told)
        return out

    def answer(self, *words, **options):
        """The JSON that `hotplate WORDS --json` prints."""
        out = self.hotplate(*words, "--json", **options)
        try:
            return json.loads(out)
        except ValueError:
            raise AssertionError(f"hotplate {' '.join(map(str, words))} --json printed no JSON:\n{out}") from None

    # Daemons.

    @classmethod
    def start_daemon(cls, *flags, name="local", env=None, ready=True, **options):
        """Starts hotplated on loopback and waits for its record; returns the process."""
        log = cls.folder / f"{name}.log"
        process = subprocess.Popen(
            [str(BIN / "hotplated"), "--name", name, "--device", "cpu", "--log-file", str(log), *map(str, flags)],
            cwd=cls.folder, env=cls.environment | (env or {}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, **options)
        cls.processes.append(process)
        if ready:
            def published():
                if process.poll() is not None:
                    raise AssertionError(f"hotplated ended with {process.returncode}: {process.stdout.read()}\n{cls.log(name)}")
                return cls.record_path(name).exists() and cls.record(name)["pid"] == process.pid
            wait_until(published, f"hotplated published {cls.record_path(name)}")
        return process

    @classmethod
    def log(cls, name="local"):
        path = cls.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @classmethod
    def record_path(cls, name="local"):
        return cls.directory / "servers" / f"{name}.json"

    @classmethod
    def record(cls, name="local"):
        return json.loads(cls.record_path(name).read_text())

    def write_record(self, record, name="local", mode=0o600):
        """A record as a test wants it, written as carefully as the daemon writes its own."""
        path = self.record_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.directory, path.parent):
            folder.chmod(0o700)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(record))
        draft.chmod(mode)
        draft.replace(path)

    def stop_daemon(self, process, signal_number=signal.SIGTERM):
        """Its exit status after the signal."""
        process.send_signal(signal_number)
        try:
            return process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"hotplated did not end after signal {signal_number}\n{self.log()}") from None

    # Jobs.

    def job(self, job_id):
        return self.answer("show", job_id)

    def wait_for_state(self, job_id, *states):
        return wait_until(lambda: (job := self.job(job_id))["state"] in states and job, f"job {job_id} was {states}")

    def forget_daemons(self):
        """Ends this class's daemons, and removes all that they have left."""
        for process in self.processes:
            process.kill()
            process.communicate()
        self.processes.clear()
        shutil.rmtree(self.directory)

    def submit_long_job(self, *more):
        """A detached job that runs for many minutes unless it is cancelled; returns its id once it RUNS."""
        job_id = self.answer("submit", *LONG_JOB, *more)["jobId"]
        self.wait_for_state(job_id, "RUNNING")
        return job_id


class WithoutJournal(Case):
    """Its daemons keep no journal: detached jobs and their results end with them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["HOTPLATE_JOURNAL"] = "off"


# Chunked, so that it can be cancelled; about 10^14 sines.
LONG_JOB = ("integrate2d", "--n", "10000000")


def main():
    unittest.main(verbosity=2)
