#!/usr/bin/python3
"""Measures the tasks of a sweep a second.

usage: [PYTHON] tests/bench/sweeps.py [--save]
  PYTHON  one that has the peers: pip install "dask[distributed]" ray hyperqueue

It runs the release build (build/release) on its CPU back-end; let nothing else run meanwhile:
  sweep     10 000 and 100 000 tiny tasks of one submitted job, to the word that it has ended, beside the same daemon's single jobs
            (attached, 64 in flight), in turns (bench_sweeps). The daemon keeps a journal
  programs  1000 tasks of a sweep of the program `true`
  peers     10 000 no-ops of Dask and of Ray, each with one process, and 1000 times `true` of HyperQueue with one worker, where they
            are installed
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
from python.hyperqueue_peer import HyperQueue

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
TASKS, PROGRAMS = 10_000, 1000


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


def hyperqueue_rate(folder):
    peer = HyperQueue(folder, cores=os.cpu_count())
    try:
        peer.rate(10)
        return peer.name, peer.rate(PROGRAMS)
    finally:
        peer.close()


def peers(folder, tasks, programs):
    """Their rates, and ours as a ratio."""
    for name, rate, own, what, goal in (
            ("Dask", dask_rate, tasks, f"{TASKS} no-ops", 20), ("Ray", ray_rate, tasks, f"{TASKS} no-ops", 5),
            ("HyperQueue", lambda: hyperqueue_rate(folder), programs, f"{PROGRAMS} times the program true", None)):
        try:
            peer, measured = rate()
        except ImportError:
            yield {"not_compared": f"{name} is not installed"}
        else:
            yield {"what": f"tasks of a sweep beside {what} of {peer}", "unit": "tasks/s", "measured": own, "peer": measured,
                   "ratio": own / measured, **({"goal": f">= {goal}"} if goal else {})}


def program_rate():
    """Tasks a second of a sweep of the program `true`, with the two commands that submit it and wait for it."""
    def run(programs):
        began = time.perf_counter()
        job = subprocess.run([BIN / "hotplate", "submit", "--quiet", "--each", f"n=1..{programs}", "exec", "true"], check=True,
                             capture_output=True, text=True).stdout.strip()
        subprocess.run([BIN / "hotplate", "wait", job], check=True, capture_output=True)
        return programs / (time.perf_counter() - began)

    run(10)
    return run(PROGRAMS)


def ours(folder):
    """The rows of bench_sweeps, and programs a second."""
    os.environ["HOTPLATE_DIR"] = str(folder)
    os.environ.pop("HOTPLATE_SERVER", None)
    subprocess.run([BIN / "hotplate", "up", "--local", "--name", "sweeps"], check=True, capture_output=True)
    try:
        rows = folder / "rows.json"
        subprocess.run([BIN / "bench_sweeps", "sweeps", rows], check=True)
        return json.loads(rows.read_text()), program_rate()
    finally:
        subprocess.run([BIN / "hotplate", "down", "sweeps"], check=False, capture_output=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--save", action="store_true")
    save = parser.parse_args().save
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-bench-", dir=pathlib.Path.home()))  # not a file system in memory
    try:
        rows, programs = ours(folder)
        rows.append({"what": f"{PROGRAMS} tasks of a sweep of the program true", "unit": "tasks/s", "measured": programs})
        rows += peers(folder, rows[0]["measured"], programs)
    finally:
        shutil.rmtree(folder)
    tell("sweeps", rows, save)


if __name__ == "__main__":
    main()
