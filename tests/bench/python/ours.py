#!/usr/bin/env python3
"""The Python package's calls, as they are measured.

usage: ours.py SERVER BYTES
  as bench_call_peer (call_peer.cpp), the C++ client's side: on standard input what to do next, a line each, on standard output
  the figure. "calls N" (the median in microseconds), "pipelined JOBS WINDOW" (jobs/s), "upload", "download",
  "download_into_new" (GB/s, of BYTES).
"""

import functools
import statistics
import sys
import threading
import time

import numpy as np

WINDOW = 256


def median_us(calls, call):
    times = []
    for _ in range(calls):
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class Ours:
    """The package's calls."""

    def __init__(self, gpu, size):
        self.gpu = gpu
        self.size = size
        self.tiny = np.array([1, 2, 3, 4], np.float32)

    # Made when they are asked for: some are large.

    @functools.cached_property
    def big(self):
        return np.ones(self.size // 4, np.float32)

    @functools.cached_property
    def into(self):
        return np.zeros_like(self.big)

    @functools.cached_property
    def kept(self):
        return self.gpu.array(self.big)

    @functools.cached_property
    def resident(self):
        return self.gpu.array(np.ones(1_000_000))

    def call(self):
        out = self.gpu.vector_add(self.tiny, self.tiny)
        assert out[3] == 8

    def calls_us(self, calls):
        return median_us(calls, self.call)

    def in_flight(self, jobs, window=WINDOW):
        room = threading.Semaphore(window)
        failed = []

        def done(future):
            error = future.exception()
            if error is not None:
                failed.append(error)
            room.release()

        def all_of_them():
            for _ in range(jobs):
                room.acquire()
                self.gpu.submit(self.gpu.vector_add, self.tiny, self.tiny).add_done_callback(done)
            for _ in range(window):
                room.acquire()

        rate = jobs / seconds_of(all_of_them)
        assert not failed, failed[0]
        return rate

    def upload(self):
        big, arrays = self.big, []
        rate = big.nbytes / seconds_of(lambda: arrays.append(self.gpu.array(big))) / 1e9
        arrays[0].free()
        return rate

    def download(self):
        kept, into = self.kept, self.into
        return into.nbytes / seconds_of(lambda: kept.numpy(out=into)) / 1e9

    def download_into_new(self):
        return self.big.nbytes / seconds_of(self.kept.numpy) / 1e9

    def resident_us(self, calls):
        resident = self.resident

        def call():
            assert self.gpu.norm(resident) == 1000
        return median_us(calls, call)


def main():
    import hotplate as hp

    server, size = sys.argv[1:]
    with hp.connect(server) as gpu:
        ours = Ours(gpu, int(size))
        figures = {"calls": ours.calls_us, "pipelined": ours.in_flight, "upload": ours.upload, "download": ours.download,
                   "download_into_new": ours.download_into_new}
        for line in sys.stdin:
            what, *numbers = line.split()
            print(figures[what](*map(int, numbers)), flush=True)


if __name__ == "__main__":
    main()
