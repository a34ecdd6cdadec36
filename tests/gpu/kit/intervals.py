"""How long a library's call takes on the GPU, by the library's own events or by waiting for it."""

import math
import time


class Intervals:
    """A function that gives the nanoseconds on the GPU of so many runs, each the mean of an interval of many. An interval
    of one begins with the library's way to its launch: tens of microseconds in which the GPU waits, and which are no part
    of ours."""

    ENOUGH_NS = 10e6
    SHORT_NS, LAUNCH_SHARE = 1e6, 0.8

    def __init__(self, interval, most):
        """interval(RUNS): the nanoseconds of so many runs, and those that it took to launch them all. With more than
        `most` of them on their way, a launch waits for the GPU."""
        self.interval, self.most, self.runs, self.found = interval, most, 0, []

    def __call__(self, count):
        if not self.runs:
            self.choose_runs()
        found = [self.interval(self.runs) for _ in range(max(1, round(count / self.runs)))]
        self.found += found
        return [ns / self.runs for ns, _ in found]

    def choose_runs(self):
        self.interval(1)  # compiles, or opens libraries
        self.runs = 1
        while self.runs < self.most:
            ns = max(self.interval(self.runs)[0], 1)
            if ns >= self.ENOUGH_NS:
                break
            self.runs = min(self.most, max(self.runs + 1, math.ceil(self.runs * self.ENOUGH_NS / ns)))

    def mostly_launch(self):
        """Whether short runs took as long as it takes to launch them: the GPU has then waited for the host, and may be
        faster than this. Long ones wait for the GPU themselves in between, which is their own way."""
        short = [one for one in self.found if one[0] / self.runs < self.SHORT_NS]
        if 2 * len(short) <= len(self.found):
            return False
        return sum(launch for _, launch in short) > self.LAUNCH_SHARE * sum(ns for ns, _ in short)


def times_by_events(run, event, milliseconds=lambda begin, end: begin.elapsed_time(end)):
    """Intervals between two fresh events."""
    def interval(runs):
        begin, end = event(), event()
        begin.record()
        began = time.perf_counter_ns()
        for _ in range(runs):
            run()
        launched = time.perf_counter_ns() - began
        end.record()
        end.synchronize()
        return milliseconds(begin, end) * 1e6, launched
    return Intervals(interval, 200)


def times_by_waiting(run, wait, most):
    """Intervals by the host's clock, of a library without events."""
    def interval(runs):
        began = time.perf_counter_ns()
        for _ in range(runs):
            value = run()
        launched = time.perf_counter_ns() - began
        wait(value)
        return time.perf_counter_ns() - began, launched
    return Intervals(interval, most)


def mostly_launch(measured):
    """Whether what a peer's times() gave has measured launches; no other function than Intervals ever has."""
    return isinstance(measured, Intervals) and measured.mostly_launch()
