"""HyperQueue: its server, a worker and its client, all in this process, as its Python package has them. (Its command `hq` is not on
PyPI.) The client looks for the end of jobs once a second, so that other times are told by the programs themselves, through a pipe."""

import contextlib
import io
import os
import pathlib
import tempfile
import time


@contextlib.contextmanager
def silent():
    """It prints its addresses, and bars for what it waits for."""
    kept = os.dup(1)
    with open(os.devnull, "wb") as nowhere, contextlib.redirect_stderr(io.StringIO()):
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


class HyperQueue:
    def __init__(self, folder, cores):
        import hyperqueue
        from hyperqueue import ffi
        from hyperqueue.cluster import WorkerConfig

        self.make_job = hyperqueue.Job
        self.name = f"HyperQueue {ffi.get_version().lstrip('v')}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hq-", dir=folder))
        with silent():
            self.cluster = hyperqueue.LocalCluster(str(self.folder / "server"))
            self.cluster.start_worker(WorkerConfig(cores=cores))
            self.client = self.cluster.client()
        self.pipe = self.folder / "pipe"
        os.mkfifo(self.pipe)
        self.told = os.open(self.pipe, os.O_RDWR)

    def job(self):
        return self.make_job(default_workdir=str(self.folder))

    def add(self, job, *words, after=()):
        return job.program(list(words), stdout=None, stderr=None, deps=after)

    def wait(self, submitted):
        with silent():
            self.client.wait_for_jobs([submitted])

    def round_trip_ms(self):
        job = self.job()
        self.add(job, "true")
        begin = time.perf_counter()
        self.wait(self.client.submit(job))
        return 1e3 * (time.perf_counter() - begin)

    def tells(self, job, after=()):
        """The seconds from the job's submission to its program that tells."""
        self.add(job, "sh", "-c", f"echo > {self.pipe}", after=after)
        begin = time.perf_counter()
        submitted = self.client.submit(job)
        os.read(self.told, 1)
        seconds = time.perf_counter() - begin
        self.wait(submitted)
        return seconds

    def first_output_ms(self):
        return 1e3 * self.tells(self.job())

    def rate(self, programs):
        """With one more program, which begins when all others have ended."""
        job = self.job()
        return programs / self.tells(job, [self.add(job, "true") for _ in range(programs)])

    def close(self):
        os.close(self.told)
        with silent():
            self.cluster.stop()
