#!/usr/bin/python3
"""Measures the tasks of a sweep a second.

usage: [PYTHON] tests/bench/sweeps.py [--save]
  PYTHON  one that has the peers: pip install "dask[distributed]" ray

It runs the release build (build/release) on its CPU back-end; let nothing else run meanwhile:
  sweep     10 000 and 100 000 tiny tasks of one submitted job, to the word that it has ended, beside the same daemon's single jobs
            (attached, 64 in flight), in turns (bench_sweeps). The daemon keeps a journal
  peers     10 000 no-ops of Dask and of Ray, each with one process, where they are installed
Prints a line each, and with --save keeps them as JSON in tests/bench/results.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from kept import tell

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
TASKS = 10_000


def noop(value):
    return value


def dask_rate():
    import distributed

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0,
                                  silence_logs=40) as cluster, distributed.Client(cluster) as client:
        client.gather(client.map(noop, range(100), pure=False))
        began = time.perf_counter()
        client.gather(client.map(noop, range(TASKS), pure=False))
        return f"Dask distributed {distributed.__version__}", TASKS / (time.perf_counter() - began)


def ray_rate():
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        task = ray.remote(noop)
        ray.get([task.remote(i) for i in range(100)])
        began = time.perf_counter()
        ray.get([task.remote(i) for i in range(TASKS)])
        return f"Ray {ray.__version__}", TASKS / (time.perf_counter() - began)
    finally:
        ray.shutdown()


def peers():
    for name, rate in (("Dask", dask_rate), ("Ray", ray_rate)):
        try:
            what, measured = rate()
        except ImportError:
            yield {"not_compared": f"{name} is not installed"}
        else:
            yield {"what": f"{TASKS} no-ops of {what}", "unit": "tasks/s", "measured": measured}


def ours(folder):
    os.environ["HOTPLATE_DIR"] = str(folder)
    os.environ.pop("HOTPLATE_SERVER", None)
    subprocess.run([BIN / "hotplate", "up", "--local", "--name", "sweeps"], check=True, capture_output=True)
    try:
        rows = folder / "rows.json"
        subprocess.run([BIN / "bench_sweeps", "sweeps", rows], check=True)
        return json.loads(rows.read_text())
    finally:
        subprocess.run([BIN / "hotplate", "down", "sweeps"], check=False, capture_output=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--save", action="store_true")
    save = parser.parse_args().save
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-bench-", dir=pathlib.Path.home()))  # not a file system in memory
    try:
        rows = ours(folder)
    finally:
        shutil.rmtree(folder)
    tell("sweeps", [*rows, *peers()], save)


if __name__ == "__main__":
    main()
