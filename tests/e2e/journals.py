"""Daemons with a journal, for the tests of what they leave in it."""

import contextlib
import shutil
import signal
import sqlite3
import time

import numpy as np

import harness


class Journals(harness.Case):
    def setUp(self):
        self.daemon = self.start_daemon()

    def tearDown(self):
        self.forget_daemons()

    def kill(self, process=None):
        self.assertEqual(self.stop_daemon(process or self.daemon, signal.SIGKILL), -signal.SIGKILL)

    def run_job(self, *words, server="local", end="COMPLETED"):
        job = self.answer("--server", server, "submit", *words)["jobId"]
        harness.wait_until(lambda: self.answer("--server", server, "show", job)["state"] == end, f"job {job} was {end}")
        return job

    def run_vector(self, count=1000, *more):
        np.save(self.folder / "x.npy", np.arange(count, dtype=np.float64))
        return self.run_job("vector_add", "x.npy", "x.npy", *more)

    def run_failing(self, *more, server="local"):
        return self.run_job("integrate2d", "--n", "10000000", "--time-limit", "50ms", *more, server=server, end="TIMEOUT")

    def spooled(self, job, file, name="local"):
        return self.directory / "saved" / f"{name}.jobs" / "jobs" / job / file

    def history(self, *words):
        return self.answer("history", *words)

    def ids(self, *words):
        return [row["id"] for row in self.history(*words)]

    def index(self, name="local"):
        return next((self.directory / "journal" / name).glob("index-*.sqlite"))

    def write_ended(self, numbers, labels, attached, name="local"):
        """As a daemon that has ended would have: jobs that left no files."""
        now = time.time_ns()
        with contextlib.closing(sqlite3.connect(self.index(name))) as database, database:
            database.executemany(
                "INSERT INTO jobs(number, epoch, state, attached, may_rerun, owner, session, request_key, payload_hash, kernel,"
                " label, priority, accept_ns, end_ns, fetch_ns, release_ns, device_ns)"
                " VALUES(?, 1, 3, ?, 0, '', '', '', x'', 'copy', ?, 0, ?, ?, ?, ?, 1000)",
                [(number, attached, label, now, now + number, None if attached else now, now if attached else None)
                 for number, label in zip(numbers, labels)])
            if not attached:
                database.executemany("INSERT INTO ends VALUES(?, x'', NULL)", [(number,) for number in numbers])


class Durable(harness.Case):
    """A daemon that is killed and started again; it runs one job at a time."""

    flags = ("--lanes", "1", "--drain-timeout", "200ms")

    def setUp(self):
        self.daemon = self.start_daemon(*self.flags)
        self.addCleanup(self.forget_all)

    def forget_all(self):
        """The daemon and what it left: the next test's daemon has the same name."""
        if self.daemon.poll() is None:
            self.stop_daemon(self.daemon, signal.SIGKILL)
        for folder in ("journal/local", "saved/local.jobs"):
            shutil.rmtree(self.directory / folder, ignore_errors=True)

    def kill_and_restart(self, *flags):
        self.assertEqual(self.stop_daemon(self.daemon, signal.SIGKILL), -signal.SIGKILL)
        self.daemon = self.start_daemon(*self.flags, *flags)

    def submit(self, *words):
        return self.answer("submit", *words)["jobId"]

    def completed(self, job):
        self.hotplate("wait", job)
        return self.job(job)

    def save(self, name, array):
        np.save(self.folder / name, array)

    def result(self, job, output):
        self.hotplate("result", job, "-o", f"{output}=got.npy")
        return np.load(self.folder / "got.npy")
