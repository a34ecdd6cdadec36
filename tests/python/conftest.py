"""One daemon on this machine for the tests of a file, and more where a test wants its own.

ctest says where the programs and the package are (HOTPLATE_BIN_DIR, PYTHONPATH); by hand those of build/release are taken:
`/usr/bin/python3 -m pytest tests/python/test_calls.py`. Waiting is for a state, with a bound.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.setdefault("HOTPLATE_BIN_DIR", str(ROOT / "build/release/bin")))
PACKAGE = BIN.parent / "python"
# What a caller's shell says about daemons is not for the tests.
for name in [name for name in os.environ if name.startswith("HOTPLATE_") and name != "HOTPLATE_BIN_DIR"]:
    del os.environ[name]
os.environ["XDG_CONFIG_HOME"] = os.devnull
if "PYTHONPATH" not in os.environ:
    os.environ["PYTHONPATH"] = str(PACKAGE)
    sys.path.insert(0, str(PACKAGE))

sys.path.append(str(ROOT / "tests/e2e"))
from harness import PATIENCE, wait_until  # noqa: E402
from script import Script  # noqa: E402

__all__ = ["PATIENCE", "Daemon", "wait_until"]


class Daemon:
    """A hotplated on loopback with a HOTPLATE_DIR of its own."""

    def __init__(self, *flags):
        # Short: a unix socket's path is limited.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-python-"))
        self.directory = self.folder / "hotplate"
        self.flags = flags
        self.start()

    def start(self):
        """Also again, where the one before has ended."""
        log = self.folder / "log"
        self.process = subprocess.Popen(
            [str(BIN / "hotplated"), "--name", "local", "--device", "cpu", "--log-file", str(log), *map(str, self.flags)],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            wait_until(self._published, "hotplated published its record")
        except BaseException:
            self.stop()
            raise

    def _published(self):
        assert self.process.poll() is None, f"hotplated ended: {self.process.stdout.read()}"
        record = self.directory / "servers/local.json"
        # One that was killed has left its own.
        return record.exists() and json.loads(record.read_text())["pid"] == self.process.pid

    @property
    def environment(self):
        """Of a program that is to find this daemon, and the package."""
        return os.environ | {"HOTPLATE_DIR": str(self.directory), "HOME": str(self.folder), "NO_COLOR": "1"}

    def connect(self, **options):
        import hotplate

        return hotplate.connect(directory=str(self.directory), **options)

    def kill(self):
        """Ends it at once, as a node that fails does."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self):
        """In order."""
        self.process.terminate()
        self.process.wait(PATIENCE)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def daemon():
    """The daemon of this file's tests."""
    running = Daemon()
    yield running
    running.stop()


@pytest.fixture
def start_daemon():
    """start_daemon(*flags): a daemon of the test's own; see Daemon."""
    started = []

    def start(*flags):
        started.append(Daemon(*flags))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module")
def gpu(daemon):
    """A client that the tests of a file share."""
    with daemon.connect() as client:
        yield client


@pytest.fixture
def nothing_of_a_test_goes_on(gpu):
    """A script of a test that failed must not take the daemon's lanes from the tests after it."""
    yield
    while Script.started:
        process = Script.started.pop()
        process.kill()
        process.wait()
    for job in gpu.jobs(active_only=True):
        gpu.cancel(job["id"])


@pytest.fixture(scope="module")
def environment(daemon):
    """Of a program that is to find the package, and the daemon by itself."""
    return daemon.environment


@pytest.fixture(scope="module")
def daemon_directory(daemon):
    """The daemon's HOTPLATE_DIR."""
    return daemon.directory
