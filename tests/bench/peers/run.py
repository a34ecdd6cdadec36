#!/usr/bin/env python3
"""Hotplate's kernels beside the libraries that its users would run otherwise, at the sizes of their courses.

usage: tests/bench/peers/run.py [--python PROGRAM] [--device cpu|cuda] [--long] [--all] [--only ROW] [--library NAME]
                                [--check] [--save]
       tests/bench/peers/run.py --table FILE.json
  --python   the Python that has the libraries (default: the one that runs this): NumPy, and SciPy, Numba, JAX, CuPy,
             PyTorch; each is compared with where it can be imported
  --long     also what takes a processor of two cores many seconds (SVD, product of 3000², integrate2d of 102400², 1e8 numbers)
  --all      all rows of tests/bench/kernels, not only the courses'
  --check    only compare the results
  --save     keep the JSON, and its table beside it, in tests/bench/results
  --table    only print the table of such a JSON

Warm, same inputs, results compared before anything is timed, in turns. Kernel time on both sides, and end to end: a whole
`hotplate run` from .npy files to .npy files beside load, compute and save in a Python that runs already. A ratio is how many
times as fast as the peer we are, the median of the pairs' ratios; one near its goal, or below it, is measured again in more
pairs. A peer whose time on a GPU is mostly its launch has a ratio and no goal. Needs the release build. On two cores
3 to 5 minutes, with --long about 30. Let nothing else run meanwhile.
"""

import argparse
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from report import commit, machine  # noqa: E402

LIBRARIES = {"cpu": ("numpy", "numba", "jax", "torch"), "cuda": ("numba", "cupy", "jax", "torch")}
COURSES = {
    "cpu": ("vector_add_i32_4096", "vector_add_f32_5e7", "trig_identity_i64_1e7", "trig_identity_f32_1e7", "selu_f32_1e6",
            "integrate2d_10240", "mandelbrot_2000", "matmul_f32_1000", "matmul_f64_1000", "matmul_f32_3000",
            "matmul_f32_3000_own_transpose", "power_sum_f32_1e7", "batched_matvec_f32_150x100_by_10",
            "batched_matvec_f32_150x100_each_of_1000", "norm_2_f64_1e7", "svd_f64_1000"),
    "cuda": ("vector_add_i32_4096", "trig_identity_f32_1e7", "selu_f32_1e6", "mandelbrot_2000", "matmul_f32_1000",
             "matmul_f64_1000", "matmul_f32_3000", "matmul_f32_3000_own_transpose", "power_sum_f32_3e7",
             "batched_matvec_f32_150x100_by_10", "batched_matvec_f32_150x100_each_of_1000", "norm_2_f64_3e7", "svd_f64_4096"),
}
LONG = ("vector_add_f32_1e8", "integrate2d_102400_naive", "integrate2d_102400_shared", "integrate2d_102400_fast",
        "matmul_f64_3000", "svd_f64_3000", "svd_f32_3000", "svd_f32_9000x1000")
# On the CPU the variants of integrate2d are one path: one is enough.
LONG_ON_CPU = [name for name in LONG if name not in ("integrate2d_102400_naive", "integrate2d_102400_shared")]
PATIENCE_S = 30
APART = 1.25


class Daemon:
    """A daemon of its own folder, which reads inputs below `folder` itself."""

    def __init__(self, program, device, folder):
        self.folder = folder
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HOTPLATE_")}
        self.environment = environment | {"HOTPLATE_DIR": str(folder / "daemon")}
        self.process = subprocess.Popen([program, "--name", "peers", "--device", device, "--log-file", str(folder / "log"),
                                         "--path-root", str(folder)], env=self.environment, stdin=subprocess.DEVNULL)

    def __enter__(self):
        record, end = self.folder / "daemon/servers/peers.json", time.monotonic() + PATIENCE_S
        while not record.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                log = self.folder / "log"
                self.__exit__()
                raise SystemExit(f"run.py: the daemon does not start: {log.read_text()[-500:] if log.exists() else 'no log'}")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def beside(library, options, folder, settings, environment):
    """The library's rows and facts; lines are told as they come."""
    facts, rows = {}, []
    process = subprocess.Popen([options.python, "-B", str(HERE / "side.py"), library, options.device, str(folder), json.dumps(settings)],
                               stdout=subprocess.PIPE, text=True, env=environment)
    for text in process.stdout:
        try:
            line = json.loads(text)
        except ValueError:
            continue  # a library's own words
        if not isinstance(line, dict):
            continue
        if "row" not in line:
            facts |= line
            print(f"{library}: {' '.join(str(word) for word in line.values())}", flush=True)
            continue
        rows.append(line)
        print(told(line), flush=True)
    if process.wait() != 0:
        facts["ended"] = f"exit {process.returncode}"
        print(f"{library}: side.py ended with {process.returncode}", flush=True)
    return facts, rows


def told(line):
    start = f"  {line['row']:42} {line.get('peer', ''):14}"
    if "error" in line:
        return f"{start} not compared: {line['error']}"
    if not line["same"]:
        return f"{start} DIFFERENT RESULTS: {line['difference']:.3g} apart, {line['tolerance']:.3g} allowed"
    if "ratio" not in line:
        return f"{start} the same, {line['difference']:.3g} apart"
    return (f"{start} kernel {line['ours_ns'] / 1e6:10.4f} / {line['peer_ns'] / 1e6:10.4f} ms {line['ratio']:7.2f} x   end to end "
            f"{line['ours_end_to_end_ns'] / 1e6:8.1f} / {line['peer_end_to_end_ns'] / 1e6:8.1f} ms {line['end_to_end_ratio']:6.2f} x")


def table(rows):
    """In Markdown, a row a kernel: ours, each peer's ratio, and whether we are as fast as the best of them."""
    peers = list(dict.fromkeys(line["peer"] for line in rows))
    lines = ["| what | ours | " + " | ".join(peers) + " | goal, beside the best | end to end, ours | "
             + " | ".join(peers) + " |", "|---" * (4 + 2 * len(peers)) + "|"]
    for name in dict.fromkeys(line["row"] for line in rows):
        mine = {line["peer"]: line for line in rows if line["row"] == name}
        first = next(iter(mine.values()))
        goals = [(line["goal"], line["ratio"]) for line in mine.values() if line["goal"] is not None]

        def ratios(key):
            return " | ".join(f"{mine[peer][key]:.2f}" if peer in mine else "" for peer in peers)

        # A peer whose time is mostly its launch has none.
        missed = any(ratio < goal for goal, ratio in goals)
        judged = f"≥ {goals[0][0]:g}{', **missed**' if missed else ''}" if goals else "-"
        lines.append(f"| {name} | {first['ours_ns'] / 1e6:.3g} ms | {ratios('ratio')} | {judged} | "
                     f"{first['ours_end_to_end_ns'] / 1e6:.3g} ms | {ratios('end_to_end_ratio')} |")
    return "\n".join(lines)


def disturbed(rows):
    """The rows for which our own kernel took times that differ by more than APART from library to library, most first: something
    else ran, or the machine was taken away, and their ratios say less."""
    found = []
    for name in dict.fromkeys(line["row"] for line in rows):
        times = {line["peer"]: line["ours_ns"] for line in rows if line["row"] == name}
        if max(times.values()) > APART * min(times.values()):
            found.append({"row": name, "ours_ns": times, "apart": max(times.values()) / min(times.values())})
    return sorted(found, key=lambda one: -one["apart"])


def page(report):
    """What a run found, in Markdown: where, the table, and the rows whose ratios say less."""
    measured = [line for line in report["rows"] if "ratio" in line]
    versions = ", ".join(f"{name} {facts['version']}" for name, facts in report["libraries"].items() if "version" in facts)
    lines = [f"{report['date'][:10]}, commit {report['commit']}, {report['machine']['processors']} × "
             f"{report['machine']['processor']}, {report['device']}: Hotplate beside {versions}. Above 1 it is the faster one.",
             "", table(measured)]
    for one in disturbed(measured):
        times = ", ".join(f"{ns / 1e6:.3g} ms beside {peer}" for peer, ns in one["ours_ns"].items())
        lines += ["", f"disturbed: {one['row']} took us {times}: do not trust its ratios, measure it again when nothing else runs"]
    return "\n".join(lines)


def check_names(only, bench_kernels, device):
    """Ends the program with exit status 2, as of a wrong option, and those of the names that no row has, the long ones' too.
    Needs no such device."""
    listed = subprocess.run([bench_kernels, "--device", device, "--long", "--list"], stdout=subprocess.PIPE, check=True).stdout
    names = [row["name"] for row in json.loads(listed)]
    unknown = [name for name in only if name not in names]
    if unknown:
        print(f"run.py: no row {', '.join(unknown)}; there are {', '.join(names)}", file=sys.stderr)
        sys.exit(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--library", action="append", default=[])
    for flag in ("--long", "--all", "--check", "--save"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    if options.table:
        print(page(json.loads(options.table.read_text(encoding="utf-8"))))
        return 0
    programs = pathlib.Path(os.environ.get("HOTPLATE_BIN_DIR", ROOT / "build/release/bin"))
    for name in ("hotplate", "hotplated", "bench_kernels"):
        if not (programs / name).exists():
            raise SystemExit(f"run.py: no {programs / name}; build it: cmake --preset release && cmake --build --preset release")
    wanted = list(options.only or ([] if options.all else COURSES[options.device]))
    if options.long and wanted and not options.only:
        wanted += LONG if options.device == "cuda" else LONG_ON_CPU
    long = ["--long"] if options.long or set(wanted) & set(LONG) else []
    bench_kernels = str(programs / "bench_kernels")
    if options.only:
        check_names(options.only, bench_kernels, options.device)
    settings = {"bench_kernels": [bench_kernels, "--device", options.device, *long],
                "hotplate": str(programs / "hotplate"), "rows": wanted, "check": options.check, "pairs": 7, "seconds": 0.6}
    report = {"what": "hotplate beside peers", "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "command": " ".join(sys.argv), "commit": commit(), "machine": machine(), "device": options.device,
              "libraries": {}, "rows": []}
    with tempfile.TemporaryDirectory(prefix="hotplate-peers-") as folder:
        folder = pathlib.Path(folder)
        with Daemon(str(programs / "hotplated"), options.device, folder) as daemon:
            for library in options.library or LIBRARIES[options.device]:
                facts, rows = beside(library, options, folder, settings, daemon.environment)
                report["libraries"][library] = facts
                report["rows"] += rows
    if not report["rows"]:
        only = f"--only {' --only '.join(options.only)}; " if options.only else ""
        raise SystemExit(f"run.py: no row was compared: {only}the libraries asked were {', '.join(report['libraries'])}; rows "
                         "stand in tests/bench/kernels/rows.cpp, what a library has of them beside its peer")
    for name in options.only:
        if not any(line["row"] == name for line in report["rows"]):
            print(f"{name}: not compared, none of {', '.join(report['libraries'])} has it")
    measured = [line for line in report["rows"] if "ratio" in line]
    report["disturbed"] = disturbed(measured)
    if measured:
        print("\n" + page(report))
    out = ROOT / ("tests/bench/results" if options.save else "build/bench")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"peers-{options.device}-{datetime.datetime.now(datetime.timezone.utc):%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if measured:
        path.with_suffix(".md").write_text(page(report) + "\n", encoding="utf-8")
    print(f"\nwritten to {path.relative_to(ROOT)}")
    wrong = [line for line in report["rows"] if not line.get("same", True)]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
