#!/usr/bin/env python3
"""The Python package beside the C++ client, `import numpy`, and what else hands arrays to another process: Dask distributed,
Ray, Arrow Flight. The user's own functions, scripts and programs beside what else runs them: a process pool, Ray, Dask, Parsl,
executorlib, HyperQueue. Expressions beside numexpr, Numba and a loop in C. Everything on this machine, rounds in turns; one table, and the same as JSON.

usage: PYTHON tests/bench/python/run.py [--bin FOLDER] [--size MB] [--only SECTION] [--quick] [--save]
  PYTHON  one that can import hotplate (pip install ./client/python, or PYTHONPATH=build/release/python) and has the peers that
          are to be compared with: pip install "dask[distributed]" ray pyarrow parsl executorlib hyperqueue grpcio-tools numba jax numexpr
  --bin   where hotplated and bench_call_peer are (default: build/release/bin)
  --size  of what goes up and down, in MB (default 256)
  --only  cpp, import, expressions, functions, programs, dask, ray or flight; repeatable
  --quick three rounds of each row: does it work?
  --save  keep the JSON in tests/bench/results

Hotplate is measured as users have it: TLS, a token, a receipt for each call. Flight has no encryption here, and what is
uploaded and downloaded beside it goes to a daemon with --insecure: both over unix sockets. Dask knows only TCP: its plain
transfers stand beside ours with TLS. Ray's object store is memory that processes share, and
nothing crosses a network: its figures are those of another thing. A peer that cannot be imported is named. Takes about a quarter of
an hour, of which functions and programs take half. Let nothing else run meanwhile.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(HERE)]
import peers as others  # noqa: E402
from expressions import beside_expressions  # noqa: E402
from functions import beside_functions  # noqa: E402
from ours import WINDOW, Ours, median_us, seconds_of  # noqa: E402
from programs import beside_programs  # noqa: E402
from side import Side  # noqa: E402

SECTIONS = ("cpp", "import", "expressions", "functions", "programs", "dask", "ray", "flight")


class Rows(list):
    """What report.py prints; in each round both sides, in turns."""

    def __init__(self, most_rounds=1000):
        super().__init__()
        self.most_rounds = most_rounds

    def leave_out(self, peer_name, why):
        self.append({"peer_name": peer_name, "not_compared": why})
        print(f"  not compared with {peer_name}: {why}", flush=True)

    def compare(self, name, unit, rounds, ours, peer_name, peer, goal=None, at_least=True, before=lambda turn: None,
                upper_quartiles=False, goal_of="ratio"):
        measured, theirs = [], []
        rounds = min(rounds, self.most_rounds)
        for turn in range(rounds):
            before(turn)
            for side, figures in ((ours, measured), (peer, theirs))[:: 1 if turn % 2 == 0 else -1]:
                figures.append(side())
        pairs = list(zip(measured, theirs))
        ratio = statistics.median(mine / other for mine, other in pairs)
        difference = statistics.median(mine - other for mine, other in pairs)
        row = {"name": name, "unit": unit, "peer_name": peer_name, "goal": goal, "at_least": at_least, "goal_of": goal_of,
               "rounds": rounds}
        if upper_quartiles:
            mine, other = (statistics.quantiles(figures, n=4)[2] for figures in (measured, theirs))
            row |= {"name": f"{name}, upper quartiles", "measured": mine, "peer": other, "ratio": mine / other,
                    "difference": mine - other, "ratio_of_rounds": ratio}
        else:
            row |= {"measured": statistics.median(measured), "peer": statistics.median(theirs), "ratio": ratio,
                    "difference": difference}
        self.append(row)
        print(f"  {row['name']}: {row['measured']:.4g} {unit}, {peer_name} {row['peer']:.4g} {unit}, {row['ratio']:.3g} x", flush=True)


class Twins:
    """The package and the C++ client, each in a process of its own, and in others after every few rounds: by the memory that
    it happens to get a process is a tenth faster or slower than the next of the same program, as long as it lives."""

    def __init__(self, ours, peer):
        self.commands = ours, peer
        self.sides = ()

    def renew(self):
        self.close()
        self.sides = [Side(*command) for command in self.commands]
        for side in self.sides:  # whatever is made at a first call is made
            side.ask("calls", 200)
            side.ask("pipelined", 1000, WINDOW)

    def close(self):
        for side in self.sides:
            side.close()

    def compare(self, rows, name, unit, times, rounds, words, *goal, **more):
        """`rounds` rounds in each of `times` pairs of processes."""
        rows.compare(name, unit, times * rounds, lambda: self.sides[0].ask(*words), "C++ client",
                     lambda: self.sides[1].ask(*words), *goal, before=lambda turn: turn % rounds == 0 and self.renew(), **more)


def import_ms(module):
    """In a Python of its own, without what its start takes."""
    program = f"import time; begin = time.perf_counter(); import {module}; print((time.perf_counter() - begin) * 1e3)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(told.stdout)


def beside_cpp(rows, twins, size):
    # Many short rounds: how fast this machine's processors wake changes within a tenth of a second, and both sides of a
    # pair are to have the same.
    twins.compare(rows, "smallest blocking call, p50", "us", 5, 41, ("calls", 60), 1.3, False)
    twins.compare(rows, f"smallest calls in flight, {WINDOW} at a time", "calls/s", 5, 7, ("pipelined", 5000, WINDOW), 0.35, True)
    # On a virtual machine a transfer takes up to three times as long as the one before, and never less than it must: medians
    # of equal programs come a tenth apart, what the quickest quarter of the rounds is below does not.
    size = f"{size // 1_000_000} MB"
    for what, words in (("upload of {}", "upload"), ("download of {} into an array", "download"),
                        ("download of {} into a new array", "download_into_new")):
        twins.compare(rows, what.format(size), "GB/s", 5, 8, (words,), 0.95, True, upper_quartiles=True)


def beside_other(rows, ours, plain, other):
    """Another library: `other` has what of call, in_flight, upload, download and resident it can do."""
    size = f"{ours.big.nbytes // 1_000_000} MB"
    name = other.name
    if hasattr(other, "call"):
        rows.compare("smallest blocking call, p50", "us", 7, lambda: ours.calls_us(200), name, lambda: median_us(100, other.call), 0.1,
                     False)
        rows.compare("smallest calls in flight", "calls/s", 5, lambda: ours.in_flight(2000), name,
                     lambda: 500 / seconds_of(lambda: other.in_flight(500)))
    if hasattr(other, "resident"):
        rows.compare("norm of a resident array of 8 MB, p50", "us", 5, lambda: ours.resident_us(50), name,
                     lambda: median_us(30, other.resident))
    side, word = (plain, "plain") if other.plain else (ours, "TLS")
    rows.compare(f"upload of {size}, {word}", "GB/s", 5, side.upload, name, other.upload)
    rows.compare(f"download of {size} into a new array, {word}", "GB/s", 5, side.download_into_new, name, other.download)


def set_environment(folder, programs):
    for name in [name for name in os.environ if name.startswith("HOTPLATE_")]:
        del os.environ[name]
    os.environ["HOTPLATE_DIR"] = f"{folder}/daemon"
    # What a peer starts is beside its Python, and its workers import this folder's modules.
    os.environ["PATH"] = f"{programs}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = ":".join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))


def beside_others(rows, sections, programs, size, daemon):
    """Kernels and arrays."""
    if not {"cpp", "import", *others.PEERS} & set(sections):
        return
    ours, plain = daemon("bench"), daemon("plain", "--insecure", "--unix-socket", f"{os.environ['HOTPLATE_DIR']}-plain.socket")
    if "cpp" in sections:
        server = "bench", str(size)
        twins = Twins((sys.executable, HERE / "ours.py", *server), (programs / "bench_call_peer", *server))
        with contextlib.closing(twins):
            beside_cpp(rows, twins, size)
    if "import" in sections:
        import_ms("hotplate")
        rows.compare("import hotplate", "ms", 11, lambda: import_ms("hotplate"), "import numpy", lambda: import_ms("numpy"), 1.5,
                     False)
    for name in sections:
        if name not in others.PEERS:
            continue
        try:
            other = others.PEERS[name](ours.tiny, ours.big)
        except ImportError as error:
            rows.leave_out(name, str(error))
            continue
        with contextlib.closing(other):
            beside_other(rows, ours, plain, other)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    sections = options.only or SECTIONS
    if os.getloadavg()[0] >= 1:
        print(f"run.py: the load is {os.getloadavg()[0]:.1f}: what is measured now says little about a quiet machine", file=sys.stderr)

    import hotplate as hp

    rows = Rows(3) if options.quick else Rows()
    with tempfile.TemporaryDirectory(prefix="hotplate-bench-") as folder, contextlib.ExitStack() as stack:
        set_environment(folder, options.bin)
        size = options.size * 1_000_000

        def daemon(name, *more):
            gpu = stack.enter_context(hp.up(local=True, name=name, daemon_options=["--device", "cpu", *more], progress=False))
            ours = Ours(gpu, size)
            ours.calls_us(200)  # whatever is made at a first call is made
            ours.in_flight(1000)
            return ours

        if "expressions" in sections:
            beside_expressions(rows, daemon("expressions").gpu, folder)
        if "functions" in sections:  # one worker, as the peers have
            beside_functions(rows, daemon("functions", "--workers", "1"))
        if "programs" in sections:
            daemon("programs", "--lanes", "2", "--retained-bytes", "4GiB")  # room for what a thousand of them might print
            beside_programs(rows, options.bin / "hotplate", folder, "programs")
        beside_others(rows, sections, options.bin, size, daemon)

        file = pathlib.Path(folder) / "rows.json"
        file.write_text(json.dumps(rows))
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        out = ROOT / ("tests/bench/results" if options.save else "build/bench") / f"python-{stamp}.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        print()
        subprocess.run([sys.executable, HERE.parent / "report.py", "--out", out, "--command", " ".join(["tests/bench/python/run.py", *sys.argv[1:]]),
                        file], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
