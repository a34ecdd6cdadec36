#!/usr/bin/python3
"""Measures the cost of jobs that wait for each other.

usage: tests/bench/chains.py [--save]

It runs the release build (build/release) on its CPU back-end; let nothing else run meanwhile:
  chain     ten jobs, each on the result of the one before, submitted at once on a resident array of 1e7 float32: from the first
            to the end of the last, beside the time that their kernels took by their own receipts
Prints a line each, and with --save keeps them as JSON in tests/bench/results.
"""

import argparse
import os
import pathlib
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
ROUNDS = 9


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
    for future in futures:
        future.result()  # it may be told after the one that took it
    return seconds, sum(future.receipt.kernel_ns for future in futures) * 1e-9


def measure(gpu, np):
    chains = [chain(gpu, np) for _ in range(ROUNDS)]
    yield {"what": "ten jobs in a chain", "unit": "s", "measured": statistics.median(one for one, _ in chains),
           "kernels": statistics.median(kernels for _, kernels in chains),
           "ratio": statistics.median(one / kernels for one, kernels in chains), "goal": "<= 1.1"}


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
    tell("chains", rows, save)


if __name__ == "__main__":
    main()
