"""Two sides timed in turns: bench_kernels answering on a pipe, and a peer in Python.

Standard library only.
"""

import contextlib
import ctypes
import json
import os
import statistics
import subprocess
import time


OF_BARE = 0.9  # the goal of what is bound by memory, beside a bare loop

# What a library computes on our side: it may be as slow as that library.
BY_LIBRARY = ("matmul", "batched_matvec", "cholesky", "solve", "eigh", "svd")


def goal_of(row):
    """How many times as fast as a peer we mean to be, at least; None of the course's variants that are slow by intent."""
    if row["params"].get("variant", "fast") != "fast":
        return None
    return 0.97 if row["kernel"] in BY_LIBRARY else 1.0


# Which output is compared where there are several, and its place in a peer's tuple. Vectors have no sign of their own.
COMPARED = {"svd": ("s", 1), "sort_by_key": ("sorted_values", 1), "groupby_sum": ("sums", 1), "eigh": ("w", 0),
            "integrate2d": ("value", 0), "histogram": ("counts", 0), "pagerank": ("rank", 0), "kmeans": ("centroids", 0)}


def compared(row, ours, theirs):
    """What is compared of both sides: ours are by name, the peer's are one or a tuple."""
    name, place = COMPARED.get(row["kernel"], (next(iter(ours)), 0))
    return ours[name], theirs[place] if isinstance(theirs, (tuple, list)) else theirs


def same_distribution(ours, theirs):
    """How far two arrays of other random numbers are apart in mean and deviation, in units of what chance does to them, and
    how far they may be."""
    deviation, unit = float(theirs.std(dtype="float64")), ours.size ** -0.5
    mean_apart = abs(float(ours.mean(dtype="float64")) - float(theirs.mean(dtype="float64"))) / deviation
    deviation_apart = abs(float(ours.std(dtype="float64")) / deviation - 1)
    return max(mean_apart, deviation_apart) / unit, 8.0


class Refused(Exception):
    """bench_kernels cannot run that row here, and says why."""


class Kernels:
    """bench_kernels: questions and answers, a line each."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.facts = self.ask("list")
        self.rows = self.facts["rows"]
        self.names = [row["name"] for row in self.rows]

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Refused(f"bench_kernels ended at '{line}' (exit {self.process.wait()})")
        answer = json.loads(answer)
        if isinstance(answer, dict) and "error" in answer:
            raise Refused(answer["error"])
        return answer

    def times(self, name, repetitions):
        return self.ask(f"kernel {name} {repetitions}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def time_of(function, repetitions):
    times = []
    for _ in range(repetitions):
        start = time.perf_counter_ns()
        function()
        times.append(time.perf_counter_ns() - start)
    return times


# Of the processes that belong to a benchmark: this one, unless another has started it and the daemon.
eldest = os.getpid()


def family():
    """The eldest and all that descend from it. Not its group: in a shell without job control that is whatever runs there."""
    children = {}
    for name in os.listdir("/proc"):
        with contextlib.suppress(ValueError, OSError):  # no process, or one that is over
            with open(f"/proc/{int(name)}/stat", encoding="ascii", errors="replace") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    found = [eldest]
    for process in found:
        found += children.pop(process, [])
    return found


def processor_seconds(processes):
    """What all the threads of each have used until now, without those that are over."""
    seconds = {}
    for pid in processes:
        with contextlib.suppress(OSError):
            seconds[pid] = time.clock_gettime(~pid << 3 | 2)  # the clock that clock_getcpuclockid(3) names
    return seconds


def settle():
    """Until the threads of whoever ran before rest, of the peer, of bench_kernels or of the daemon. They go on spinning when
    their work is done: OpenMP's for some milliseconds, those of the OpenBLAS in NumPy's wheels for more than 60 (measured)."""
    time.sleep(0.05)
    end = time.monotonic() + 2
    processes = family()
    spent = processor_seconds(processes)
    while time.monotonic() < end:
        time.sleep(0.02)
        before, spent = spent, processor_seconds(processes)
        if sum(spent[pid] - before[pid] for pid in spent if pid in before) < 0.005:
            return


class Gpu:
    """What compare() does beside the timing on a GPU: its clocks sink while it rests, as it does until everybody has
    settled, so each side works for a while before it is timed, and the multiprocessors' clock is looked at after."""

    BUSY_SECONDS = 0.07

    def __init__(self, uuid):
        """Of the device with this UUID. Without NVML, or where it has no such clock (a MIG instance), none is seen."""
        self.looks, self.nvml, self.device = [], None, ctypes.c_void_p()
        with contextlib.suppress(OSError, AttributeError):  # no such library, or one of long ago
            nvml = ctypes.CDLL(os.environ.get("HOTPLATE_NVML_LIBRARY") or "libnvidia-ml.so.1")
            found = nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self.device))
            self.nvml = nvml if found == 0 else None

    def busy(self, side):
        end = time.monotonic() + self.BUSY_SECONDS
        side(1)
        while time.monotonic() < end:
            side(1)

    def look(self):
        megahertz, sm = ctypes.c_uint(), 1
        if self.nvml is not None and self.nvml.nvmlDeviceGetClockInfo(self.device, sm, ctypes.byref(megahertz)) == 0:
            self.looks.append(megahertz.value)

    def seen(self):
        """{"sm_clock_mhz": [least, most]} of the looks since this was asked last; empty without any."""
        looks, self.looks = self.looks, []
        return {"sm_clock_mhz": [min(looks), max(looks)]} if looks else {}


def compare(ours, peers, pairs, seconds=2, gpu=None):
    """Medians of both, and the median of the pairs' ratios. Both take a number of repetitions and return times; where
    they run on a GPU, that is given."""
    ours(1), peers(1)  # warm up
    first = ours(1)[0] + peers(1)[0]
    repetitions = max(1, min(200, int(10e6 / max(first, 1))))  # 10 ms a side, so that short kernels are not noise
    all_ours, all_peers, ratios = [], [], []
    for pair in range(pairs):
        if pair > 2 and sum(all_ours) + sum(all_peers) > seconds * 1e9 / repetitions:
            break  # enough for one row
        sides = [(ours, all_ours), (peers, all_peers)]
        for side, times in sides if pair % 2 == 0 else reversed(sides):
            settle()
            if gpu and first < 1e9 * gpu.BUSY_SECONDS:  # what takes longer raises the clocks by itself
                gpu.busy(side)
            times.append(statistics.median(side(repetitions)))
            if gpu:
                gpu.look()
        ratios.append(all_peers[-1] / all_ours[-1])
    return statistics.median(all_ours), statistics.median(all_peers), statistics.median(ratios), len(ratios)


def bare_peers(row):
    """The bare loops of as many bytes beside a row that memory binds, and the goal beside each: what only writes is held to a
    loop that does, since memory takes that at another rate than it copies."""
    if not row["bound_by_memory"]:
        return {}
    return {"triad": None} | {row["bare_loop"]: OF_BARE}


def beside(bare, kernels, row, pairs):
    """compare() of a row that is bound by memory and a bare loop of as many bytes as its cost model counts:
    caches then help both alike, and the ratio of the times is that of the bytes per second.

    Both are credited with the bytes that they must move, not with what the processor moves for them: a line that is written
    the usual way is read before, so that a triad moves a third more than it is credited with, what only reads (a sum) no
    more, and what only writes (full) twice as much, unless it writes past the caches.
    """
    name = row["name"]
    moved = int(kernels.ask(f"phases {name} 1")["bytes"])
    return compare(lambda n: kernels.times(name, n), lambda n: kernels.ask(f"bare {bare} {moved} {n}"), pairs)
