"""A HOTPLATE_DIR, and the daemons that live and die in it one after the other.

HOTPLATE_BIN_DIR and PYTHONPATH name the programs and the package; without them those of build/release are taken.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.setdefault("HOTPLATE_BIN_DIR", str(ROOT / "build/release/bin")))
# What a caller's shell says about daemons is not for the tests.
for variable in [name for name in os.environ if name.startswith("HOTPLATE_") and name != "HOTPLATE_BIN_DIR"]:
    del os.environ[variable]
os.environ["XDG_CONFIG_HOME"] = os.devnull
sys.path.insert(0, str(ROOT / "tests/e2e"))
if "PYTHONPATH" not in os.environ:
    sys.path.insert(0, str(BIN.parent / "python"))

import hotplate  # noqa: E402
import numpy as np  # noqa: E402
from harness import ENDED, NO_DAEMON, OK, PATIENCE, TRY_LATER, wait_until  # noqa: E402

__all__ = ["ENDED", "NO_DAEMON", "OK", "PATIENCE", "TRY_LATER", "Home", "Life", "hotplate", "wait_until"]

NAME = "local"
# The number of ended jobs is not what is tested.
FLAGS = ("--name", NAME, "--device", "cpu", "--lanes", "2", "--listen", "127.0.0.1",
         "--retained-jobs", "1000000", "--retained-bytes", "8GiB")

KILLED = -signal.SIGKILL


class Home:
    """A folder of its own for daemons of one name, one at a time."""

    def __init__(self, flags=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-faults-"))
        self.directory = self.folder / "hotplate"
        self.log = self.folder / "log"
        self.flags = [*FLAGS, "--log-file", str(self.log), *flags]
        self.environment = os.environ | {"HOTPLATE_DIR": str(self.directory), "HOME": str(self.folder), "NO_COLOR": "1",
                                         "LC_ALL": "C.UTF-8"}
        self.process = None
        self.startup = 0.0  # of the last one that was not disturbed, in seconds

    def launch(self):
        """Starts a daemon, and does not wait until it serves."""
        self.process = subprocess.Popen([str(BIN / "hotplated"), *self.flags], cwd=self.folder, env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def start(self):
        begin = time.monotonic()
        self.launch()
        wait_until(self.published, "hotplated published its record")
        self.startup = time.monotonic() - begin

    def published(self):
        if self.process.poll() is not None:
            raise AssertionError(f"hotplated ended with {self.process.returncode}: {self.process.stdout.read()}")
        with contextlib.suppress(FileNotFoundError):
            return json.loads((self.directory / "servers" / f"{NAME}.json").read_text())["pid"] == self.process.pid
        return False

    def kill(self):
        """Its exit status after SIGKILL; another than KILLED if it had ended by itself."""
        self.process.kill()
        return self._ended()

    def stop(self):
        """Its exit status after SIGTERM."""
        self.process.terminate()
        return self._ended()

    def _ended(self):
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return status

    def connect(self):
        # One that is killed is noticed at once; one on a busy machine may take its time.
        return hotplate.connect(directory=str(self.directory), retries=0, deadline=PATIENCE, connect_timeout=PATIENCE)

    def file(self, name, values):
        """The path of a .npy file, which is written unless it is there."""
        path = self.folder / name
        if not path.exists():
            draft = self.folder / f"{threading.get_ident()}-{name}"
            np.save(draft, values)
            draft.replace(path)
        return path

    def command(self, *words):
        """(exit code, standard output, standard error) of `hotplate WORDS`."""
        done = subprocess.run([str(BIN / "hotplate"), *map(str, words)], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr

    def processes(self):
        """[(pid, its words)] of all that were started by daemons or commands of this folder, and live."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if f"HOTPLATE_DIR={self.directory}\0".encode() in (entry / "environ").read_bytes():
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found.append((int(entry.name), words.decode(errors="replace")))
        return found

    def counts(self):
        """(threads, descriptors) of the daemon."""
        proc = pathlib.Path("/proc") / str(self.process.pid)
        return len(list((proc / "task").iterdir())), len(list((proc / "fd").iterdir()))

    def close(self, keep=False):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


class Life:
    """What clients share while one daemon lives: a connection, the arrays that they hold there, and whether it was killed."""

    def __init__(self, home):
        self.home = home
        self.client = home.connect()
        self.killed = False  # set before it is
        self.awaited = []  # files that its jobs will write
        self._lock = threading.Lock()
        self._held = set()

    def hold(self, name, values):
        """Puts an array unless this daemon has it."""
        with self._lock:
            if name not in self._held:
                self.client._core.put(values, name=name)
                self._held.add(name)

    def free(self, name):
        with self._lock:
            if name in self._held:
                self._held.remove(name)
                self.client._core.free(name)

    def stop_soon(self):
        self.killed = True
        self.home.process.terminate()

    def kill(self):
        self.killed = True
        return self.home.kill()
