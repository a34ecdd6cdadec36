"""The user's own scripts and programs: beside the same Python started anew, and beside HyperQueue."""

import contextlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import time

from hyperqueue_peer import HyperQueue
from ours import seconds_of
from side import Side

SCRIPTS = {"numpy": 1 / 3, "numpy, numba, jax": 1 / 5}
MANY = 1000
HERE = pathlib.Path(__file__).resolve().parent


def first_and_last_ms(*command):
    """From the start of a command to the first byte that it prints, and to its end."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        first = process.stdout.read(1)
        printed = time.perf_counter()
        process.stdout.read()
    if process.returncode != 0 or not first:
        raise SystemExit(f"run.py: {command} ended with {process.returncode}")
    return 1e3 * (printed - begin), 1e3 * (time.perf_counter() - begin)


def ran_ms(*command):
    return 1e3 * seconds_of(lambda: subprocess.run(command, check=True))


def beside_python(rows, hotplate, folder):
    for modules, goal in SCRIPTS.items():
        script = pathlib.Path(folder) / f"imports_{modules.replace(', ', '_')}.py"
        script.write_text(f"import {modules}\nprint(numpy.__version__)\n", encoding="utf-8")
        anew, warm = (sys.executable, script), (hotplate, "python", script)
        tried = subprocess.run(anew, capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            rows.leave_out(f"a script that imports {modules}", tried.stderr.strip().splitlines()[-1])
            continue
        for _ in range(8):  # it learns what the script imports
            first_and_last_ms(*warm)
        for place, name in enumerate(("first output", "end")):
            rows.compare(f"script that imports {modules}, start to {name}", "ms", 11, lambda: first_and_last_ms(*warm)[place],
                         "python, anew", lambda: first_and_last_ms(*anew)[place], None if place else goal, False)


def beside_hyperqueue(rows, hotplate, folder, server):
    try:
        peer = HyperQueue(folder, cores=2)
    except ImportError as error:
        rows.leave_out("HyperQueue", str(error))
        return
    with contextlib.closing(peer):
        rows.compare("hotplate exec true, start to end", "ms", 9, lambda: ran_ms(hotplate, "exec", "true"),
                     f"{peer.name}, which looks for the end once a second", peer.round_trip_ms, 1 / 10, False)
        rows.compare("hotplate exec, start to first output", "ms", 15, lambda: first_and_last_ms(hotplate, "exec", "echo")[0],
                     f"{peer.name}, submit to first output", peer.first_output_ms, None, False)
        if importlib.util.find_spec("grpc_tools") is None:
            rows.leave_out(f"{peer.name}, {MANY} programs", "our side of it needs grpcio-tools")
            return
        record = f"{os.environ['HOTPLATE_DIR']}/servers/{server}.json"
        with contextlib.closing(Side(sys.executable, HERE / "program_calls.py", record, folder)) as ours:
            rows.compare(f"{MANY} programs on one connection, submit to end", "programs/s", 5, lambda: ours.ask("rate", MANY),
                         peer.name, lambda: peer.rate(MANY), 1)


def beside_programs(rows, hotplate, folder, server):
    """`server`: the name of a daemon with two lanes."""
    os.environ |= {"HOTPLATE_SERVER": server, "HOTPLATE_PYTHON": sys.executable}
    try:
        beside_python(rows, hotplate, folder)
        rows.compare("hotplate exec true, start to end", "ms", 15, lambda: ran_ms(hotplate, "exec", "true"), "/bin/true",
                     lambda: ran_ms("/bin/true"))
        beside_hyperqueue(rows, hotplate, folder, server)
    finally:
        del os.environ["HOTPLATE_SERVER"], os.environ["HOTPLATE_PYTHON"]
