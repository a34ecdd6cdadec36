"""Python programs of a test's own: what ends, is interrupted or forks, and must not take the tests with it."""

import subprocess
import sys
import textwrap
import threading

from harness import PATIENCE, wait_until

# tell(name): says so when the main thread waits in a function of that name. Sooner a signal's handler could raise where
# nothing of the package's sees it.
HEAD = """
import hotplate as hp, numpy as np
import asyncio, concurrent.futures, os, resource, signal, sys, threading, time, warnings
gpu = hp.connect()
A = np.ones(4, np.float32)

# print() is not for handlers: they may come in the middle of another one.
def heard(*_):
    os.write(1, b"heard\\n")

def tell(name):
    def waits():
        frame, names = sys._current_frames()[threading.main_thread().ident], []
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        return names[0] == "wait" and name in names
    def watch():
        while not waits():
            time.sleep(0.01)
        print("waits", flush=True)
    threading.Thread(target=watch).start()

def submitted(name="result"):
    future = gpu.submit("integrate2d", n=10_000_000)
    tell(name)
    return future
"""


class Script:
    """A Python program of a test's own, with the daemon's client as `gpu`. It ends with the test at the latest."""

    started = []

    def __init__(self, daemon, text, **options):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + textwrap.dedent(text)], env=daemon.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.started.append(self.process)

    def says(self, line):
        """This must be the next line that it says; it may wait for the end of its input meanwhile."""
        killer = threading.Timer(PATIENCE, self.process.kill)
        killer.start()
        try:
            said = self.process.stdout.readline().strip()
            if said != line:
                self.process.kill()
                raise AssertionError(f"it said {said!r}, not {line!r}\n{self.process.communicate()}")
        finally:
            killer.cancel()

    def hears(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def ends(self, code=0, out="", err="", patience=PATIENCE):
        """It must end by itself, with this code and having said just this. Its input ends before."""
        try:
            got_out, got_err = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end\n{self.process.communicate()}") from None
        got = (self.process.returncode, got_out.strip(), got_err.strip())
        assert got == (code, out, err), got


def running(gpu):
    return [job["id"] for job in gpu.jobs(active_only=True) if job["state"] == "RUNNING"]


def nothing_left(gpu):
    wait_until(lambda: not gpu.jobs(active_only=True), "nothing was left running")
