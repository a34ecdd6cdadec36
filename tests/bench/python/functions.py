"""The user's own Python in warm workers: functions beside the smallest kernel and a process pool, scripts beside the same
Python started anew."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys

import numpy as np
from ours import WINDOW, median_us, seconds_of

SCRIPTS = {"numpy": "import numpy; print(numpy.__version__)",
           "numpy, numba and jax": "import numpy, numba, jax; print(numpy.__version__)"}


def nothing():
    pass


def plus_one(x):
    return x + 1


def in_flight(submit, calls):
    """Calls in a second, a window of them at a time."""
    def all_of_them():
        for _ in range(0, calls, WINDOW):
            for future in [submit() for _ in range(WINDOW)]:
                future.result()
    return calls / seconds_of(all_of_them)


def started_ms(command, environment):
    return 1e3 * seconds_of(lambda: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True))


def beside_functions(rows, ours, hotplate):
    gpu = ours.gpu
    function, kept = gpu.function(nothing), gpu.function(plus_one, keep=True)
    resident = ours.resident
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        array = np.ones(1_000_000)
        for _ in range(50):  # whatever is made at a first call is made
            function()
            kept(resident)
            pool.submit(nothing).result()
            pool.submit(plus_one, array).result()
        rows.compare("no-op function, p50", "us", 15, lambda: median_us(200, function), "smallest kernel", lambda: ours.calls_us(200), 2,
                     False)
        rows.compare("no-op function, p50", "us", 15, lambda: median_us(200, function), "ProcessPoolExecutor",
                     lambda: median_us(200, lambda: pool.submit(nothing).result()), 1.25, False)
        rows.compare("no-op functions in flight", "calls/s", 7, lambda: in_flight(function.submit, 10 * WINDOW), "ProcessPoolExecutor",
                     lambda: in_flight(lambda: pool.submit(nothing), 10 * WINDOW))
        rows.compare("function of an array of 8 MB that stays, to one that stays, p50", "ms", 7,
                     lambda: median_us(20, lambda: kept(resident)) / 1e3, "ProcessPoolExecutor, the array there and back",
                     lambda: median_us(10, lambda: pool.submit(plus_one, array).result()) / 1e3)
    environment = os.environ | {"HOTPLATE_PYTHON": sys.executable}
    for name, script in SCRIPTS.items():
        anew = [sys.executable, "-c", script]
        if subprocess.run(anew, env=environment, capture_output=True).returncode != 0:
            print(f"  not measured: a script that imports {name}, since this Python has not all of them", flush=True)
            continue
        warm = [hotplate, "python", "-c", script]
        for _ in range(8):  # it learns what the script imports
            started_ms(warm, environment)
        rows.compare(f"script that imports {name}, start to end", "ms", 9, lambda: started_ms(warm, environment), "python, anew",
                     lambda: started_ms(anew, environment), 1 / 3 if name == "numpy" else 1 / 5, False)
    rows.compare("hotplate exec true", "ms", 15, lambda: started_ms([hotplate, "exec", "true"], environment), "/bin/true",
                 lambda: started_ms(["/bin/true"], environment))
