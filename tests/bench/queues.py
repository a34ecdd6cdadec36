#!/usr/bin/python3
"""Measures what a long queue costs, and how good the forecasts of starts are.

usage: tests/bench/queues.py [--save]

It runs the release build (build/release) on its CPU back-end; let nothing else run meanwhile:
  depth      submit, why, show and cancel of one job, on a daemon where 1000 wait and on one where 100 000 do, in turns. Both
             daemons keep no journal: the disk would be most of each figure. The job that runs meanwhile, behind which they
             wait, gets the processor only when nobody else wants it: else the figures are those of a busy machine.
  forecasts  a mixed load of kernels, sizes, priorities, sessions and programs on two lanes, after a first round that shows how
             long each takes: the share of the jobs with a forecast whose wait was within a factor of 2 of it (waits below
             10 ms count as that), as `hotplate history` counts
Prints a line each, and with --save keeps them as JSON in tests/bench/results.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from kept import tell

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
SHORT, LONG = 1000, 100_000
TURNS = 500
JOBS = 400


def up(name, *flags):
    subprocess.run([BIN / "hotplate", "up", "--local", "--name", name, "--", *flags], check=True, capture_output=True)


@contextlib.contextmanager
def daemon(name, *flags):
    up(name, *flags)
    try:
        yield
    finally:
        subprocess.run([BIN / "hotplate", "down", name, "--drain-timeout", "0"], check=False, capture_output=True)


def stand_back(pid):
    """Threads of the process that compute get the processor only when nobody else wants it."""
    def used():
        ticks = {}
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it has ended
                ticks[task.name] = sum(map(int, (task / "stat").read_text().rsplit(") ", 1)[1].split()[11:13]))
        return ticks

    before = used()
    time.sleep(1)
    busy = []
    for thread, ticks in used().items():
        if ticks - before.get(thread, 0) > os.sysconf("SC_CLK_TCK") / 10:
            busy.append(int(thread))
            os.sched_setscheduler(busy[-1], os.SCHED_IDLE, os.sched_param(0))
    if not busy:
        raise RuntimeError(f"no thread of process {pid} computes: nothing would wait")


def fill(gpu, np, count):
    """One job runs for as long as it takes, and `count` wait behind it."""
    blocker = gpu.submit_detached("integrate2d", n=10_000_000)
    while gpu.job(blocker)["state"] != "RUNNING":
        time.sleep(0.01)
    stand_back(gpu.info()["pid"])
    few = gpu.array(np.zeros(50_000, dtype=np.float32))
    few.compute()
    return blocker, few, [gpu.submit("selu", few) for _ in range(count)]


def steps(gpu, few):
    """Seconds of each step of one job."""
    times, at = [], time.perf_counter()
    job = gpu.submit_detached("selu", few)
    for step in (gpu.why, gpu.job, gpu.cancel):
        times.append(time.perf_counter() - at)
        at = time.perf_counter()
        step(job)
    return [*times, time.perf_counter() - at]


def depth(hp, np):
    flags = ("--lanes", "1", "--journal", "off", "--queue", str(2 * LONG), "--retained-jobs", str(2 * LONG))
    with contextlib.ExitStack() as stack:
        queues = []
        for name, count in (("short", SHORT), ("long", LONG)):
            stack.enter_context(daemon(name, *flags))
            gpu = stack.enter_context(hp.connect(server=name))
            queues.append((gpu, *fill(gpu, np, count)))
        measured = [[], []]
        for _ in range(TURNS):
            for of, (gpu, _, few, _) in zip(measured, queues):
                of.append(steps(gpu, few))
        print("waiting:", [gpu.job(gpu.submit_detached("selu", few))["queue_position"] for gpu, _, few, _ in queues])
        for gpu, blocker, _, futures in queues:
            for future in reversed(futures):
                future.cancel()
            gpu.cancel(blocker)
    for index, what in enumerate(("submit", "why", "show", "cancel")):
        short, long = ([one[index] for one in of] for of in measured)
        yield {"what": f"{what} of one job behind {LONG} beside {SHORT}", "unit": "s", "measured": statistics.median(long),
               "peer": statistics.median(short), "ratio": statistics.median(long) / statistics.median(short),
               "goal": "<= 1.3"}


def load(gpu, sizes, random_of):
    """A call of a kernel of some size."""
    kernel = random_of.choice(sorted(sizes))
    a = random_of.choice(sizes[kernel])
    priority = random_of.choice((0, 0, 0, 0, 5))
    if kernel == "integrate2d":
        return gpu.submit(kernel, n=a, priority=priority)
    return gpu.submit(kernel, a, *([a] if kernel == "matmul" else []), priority=priority)


def forecasts(hp, np):
    random_of, rng = random.Random(3), np.random.default_rng(3)
    with contextlib.ExitStack() as stack:
        stack.enter_context(daemon("mixed", "--lanes", "2"))
        clients = [stack.enter_context(hp.connect(server="mixed")) for _ in range(3)]
        per_client = []
        for gpu in clients:
            def resident(*shape, gpu=gpu):
                return gpu.array(rng.random(shape).astype(np.float32))
            sizes = {"matmul": [resident(n, n) for n in (300, 700, 1000, 1500)],
                     "svd": [resident(n, n) for n in (100, 200, 300)],
                     "sort": [resident(n) for n in (100_000, 3_000_000)],
                     "integrate2d": [1000, 3000, 6000]}
            per_client.append(sizes)
        for _ in range(3):  # nothing is foretold of what never ran
            for sizes in per_client[:1]:
                for kernel, ones in sizes.items():
                    for one in ones:
                        arguments = {"n": one} if kernel == "integrate2d" else {}
                        given = [] if arguments else [one, one] if kernel == "matmul" else [one]
                        clients[0].submit(kernel, *given, **arguments).result()
        futures = []
        while len(futures) < JOBS:
            of = random_of.randrange(len(clients))
            for _ in range(random_of.randrange(1, 20)):
                futures.append(load(clients[of], per_client[of], random_of))
            time.sleep(random_of.random() * 0.5)
        for future in futures:
            future.result()
        receipts = [future.receipt for future in futures]
        for gpu in clients:
            gpu.close()
    foretold = [(one.queue_forecast_ns, one.queue_ns) for one in receipts if one.queue_forecast_ns is not None]
    good = sum(max(a, b, 1e7) <= 2 * max(min(a, b), 1e7) for a, b in foretold)
    errors = sorted(max(a, b, 1e7) / max(min(a, b), 1e7) for a, b in foretold)
    yield {"what": f"starts of {len(foretold)} of {len(receipts)} jobs of a mixed load, foretold within a factor of 2",
           "unit": "of all", "measured": good / len(foretold), "goal": ">= 0.8", "median factor": errors[len(errors) // 2],
           "median wait": statistics.median(real for _, real in foretold) * 1e-9}


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--save", action="store_true")
    save = parser.parse_args().save
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-bench-"))
    os.environ["HOTPLATE_DIR"] = str(folder)
    import hotplate as hp
    import numpy as np

    try:
        rows = [*depth(hp, np), *forecasts(hp, np)]
    finally:
        shutil.rmtree(folder)
    tell("queues", rows, save)


if __name__ == "__main__":
    main()
