#!/usr/bin/python3
"""What it costs that jobs wait for each other.

usage: tests/bench/chains.py [--save]

Of the release build (build/release), on its CPU back-end; let nothing else run meanwhile:
  chain     ten jobs, each on the result of the one before, submitted at once on a resident array of 1e7 float32: from the first
            to the end of the last, beside the time that their kernels took by their own receipts
  fan-out   1000 jobs that wait for one: queued a second, beside as many that wait for none
Prints a line each, and with --save keeps them as JSON in tests/bench/results.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from kept import keep

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
ROUNDS = 9
LONG = {"n": 10_000_000}


def chain(gpu, np):
    """(seconds, seconds of the kernels) of one chain."""
    start = gpu.array(np.linspace(-1, 1, 10_000_000, dtype=np.float32))
    start.compute()
    began = time.perf_counter()
    futures = [gpu.submit("selu", start, keep=True)]
    for _ in range(9):
        futures.append(gpu.submit("selu", futures[-1], keep=True))
    futures[-1].result()
    seconds = time.perf_counter() - began
    return seconds, sum(future.receipt.kernel_ns for future in futures) * 1e-9


def queued(gpu, first):
    """Jobs a second that are queued; `first`: they wait for it."""
    began = time.perf_counter()
    inputs = [first.output("value") if first is not None else 1.0]
    futures = [gpu.submit("vector_add", *inputs, 1.0) for _ in range(1000)]
    rate = len(futures) / (time.perf_counter() - began)
    for future in futures:
        future.cancel()
    return rate


def measure(gpu, np):
    chains = [chain(gpu, np) for _ in range(ROUNDS)]
    yield {"what": "ten jobs in a chain", "unit": "s", "measured": statistics.median(one for one, _ in chains),
           "kernels": statistics.median(kernels for _, kernels in chains),
           "ratio": statistics.median(one / kernels for one, kernels in chains), "goal": "<= 1.1"}
    holds = gpu.submit("integrate2d", **LONG), gpu.submit("integrate2d", **LONG)  # of both lanes
    rounds = [(queued(gpu, holds[0]), queued(gpu, None)) for _ in range(ROUNDS)]
    for one in holds:
        one.cancel()
    yield {"what": "jobs queued that wait for one", "unit": "jobs/s", "measured": statistics.median(one for one, _ in rounds),
           "without": statistics.median(other for _, other in rounds),
           "ratio": statistics.median(one / other for one, other in rounds)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--save", action="store_true")
    save = parser.parse_args().save
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-bench-"))
    os.environ["HOTPLATE_DIR"] = str(folder)
    import hotplate as hp
    import numpy as np

    subprocess.run([BIN / "hotplate", "up", "--local", "--name", "chains", "--", "--lanes", "2"], check=True, capture_output=True)
    try:
        with hp.connect() as gpu:
            rows = list(measure(gpu, np))
    finally:
        subprocess.run([BIN / "hotplate", "down", "chains"], check=False, capture_output=True)
        shutil.rmtree(folder)
    for row in rows:
        print(json.dumps(row))
    if save:
        keep("chains", "tests/bench/chains.py --save", rows)


if __name__ == "__main__":
    main()
