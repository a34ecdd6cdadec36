#!/usr/bin/env python3
"""The Python package beside the C++ client, `import numpy`, and what else hands arrays to another process: Dask distributed,
Ray, Arrow Flight. One daemon, everything on loopback, rounds in turns; one table, and the same as JSON.

usage: PYTHON tests/bench/python/run.py [--bin FOLDER] [--size MB] [--only SECTION] [--save]
  PYTHON  one that can import hotplate (pip install ./client/python, or PYTHONPATH=build/release/python) and has the peers that
          are to be compared with: pip install "dask[distributed]" ray pyarrow
  --bin   where hotplated and bench_call_peer are (default: build/release/bin)
  --size  of what goes up and down, in MB (default 256)
  --only  cpp, import, dask, ray or flight; repeatable
  --save  keep the JSON in tests/bench/results

Hotplate is measured as users have it: TLS, a token, a receipt for each call. Dask and Flight have no encryption here: what is
uploaded and downloaded beside them goes to a daemon with --insecure. Ray's object store is memory that processes share, and
nothing crosses a network: its figures are those of another thing. Takes about three minutes. Let nothing else run meanwhile.
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
import threading
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(HERE)]
import peers as others  # noqa: E402

WINDOW = 256
SECTIONS = ("cpp", "import", "dask", "ray", "flight")


def median_us(calls, call):
    times = []
    for _ in range(calls):
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class Rows(list):
    """What report.py prints; in each round both sides, in turns."""

    def compare(self, name, unit, rounds, ours, peer_name, peer, goal=None, at_least=True):
        measured, theirs = [], []
        for turn in range(rounds):
            for side, figures in ((ours, measured), (peer, theirs))[:: 1 if turn % 2 == 0 else -1]:
                figures.append(side())
        pairs = list(zip(measured, theirs))
        self.append({"name": name, "unit": unit, "measured": statistics.median(measured), "peer": statistics.median(theirs),
                     "peer_name": peer_name, "ratio": statistics.median(mine / other for mine, other in pairs),
                     "difference": statistics.median(mine - other for mine, other in pairs), "goal": goal, "at_least": at_least,
                     "goal_of": "ratio", "rounds": rounds})
        row = self[-1]
        print(f"  {name}: {row['measured']:.4g} {unit}, {peer_name} {row['peer']:.4g} {unit}, {row['ratio']:.3g} x", flush=True)


class Ours:
    """The package's calls."""

    def __init__(self, gpu, size):
        self.gpu = gpu
        self.tiny = np.array([1, 2, 3, 4], np.float32)
        self.big = np.ones(size // 4, np.float32)
        self.into = np.zeros_like(self.big)
        self.kept = gpu.array(self.big)
        self.resident = gpu.array(np.ones(1_000_000))
        # Whatever is made at a first call is made.
        for _ in range(200):
            self.call()
        self.in_flight(1000)

    def call(self):
        out = self.gpu.vector_add(self.tiny, self.tiny)
        assert out[3] == 8

    def calls_us(self, calls):
        return median_us(calls, self.call)

    def in_flight(self, jobs):
        room = threading.Semaphore(WINDOW)
        failed = []

        def done(future):
            error = future.exception()
            if error is not None:
                failed.append(error)
            room.release()

        def all_of_them():
            for _ in range(jobs):
                room.acquire()
                self.gpu.submit(self.gpu.vector_add, self.tiny, self.tiny).add_done_callback(done)
            for _ in range(WINDOW):
                room.acquire()

        rate = jobs / seconds_of(all_of_them)
        assert not failed, failed[0]
        return rate

    def upload(self):
        arrays = []
        rate = self.big.nbytes / seconds_of(lambda: arrays.append(self.gpu.array(self.big))) / 1e9
        arrays[0].free()
        return rate

    def download(self):
        return self.big.nbytes / seconds_of(lambda: self.kept.numpy(out=self.into)) / 1e9

    def download_into_new(self):
        return self.big.nbytes / seconds_of(self.kept.numpy) / 1e9

    def resident_us(self, calls):
        def call():
            assert self.gpu.norm(self.resident) == 1000
        return median_us(calls, call)


class CppClient:
    """bench_call_peer, the same over client/lib."""

    def __init__(self, program, server, size, environment):
        self.process = subprocess.Popen([program, server, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"run.py: bench_call_peer ended with {self.process.wait()}")
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def import_ms(module):
    """In a Python of its own, without what its start takes."""
    program = f"import time; begin = time.perf_counter(); import {module}; print((time.perf_counter() - begin) * 1e3)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(told.stdout)


def beside_cpp(rows, ours, peer):
    rows.compare("smallest blocking call, p50", "us", 15, lambda: ours.calls_us(300), "C++ client",
                 lambda: peer.ask("calls", 300), 1.15, False)
    rows.compare(f"smallest calls in flight, {WINDOW} at a time", "calls/s", 7, lambda: ours.in_flight(5000), "C++ client",
                 lambda: peer.ask("pipelined", 5000, WINDOW), 0.5, True)
    size = f"{ours.big.nbytes // 1_000_000} MB"
    rows.compare(f"upload of {size}", "GB/s", 7, ours.upload, "C++ client", lambda: peer.ask("upload"), 0.95, True)
    rows.compare(f"download of {size} into an array", "GB/s", 7, ours.download, "C++ client", lambda: peer.ask("download"), 0.95, True)
    rows.compare(f"download of {size} into a new array", "GB/s", 7, ours.download_into_new, "C++ client",
                 lambda: peer.ask("download_into_new"), 0.95, True)


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
    rows.compare(f"upload of {size}, plain", "GB/s", 5, plain.upload, name, other.upload)
    rows.compare(f"download of {size} into a new array, plain", "GB/s", 5, plain.download_into_new, name, other.download)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    sections = options.only or SECTIONS
    if os.getloadavg()[0] >= 1:
        print(f"run.py: the load is {os.getloadavg()[0]:.1f}: what is measured now says little about a quiet machine", file=sys.stderr)

    import hotplate as hp

    rows = Rows()
    with tempfile.TemporaryDirectory(prefix="hotplate-bench-") as folder, contextlib.ExitStack() as stack:
        for name in [name for name in os.environ if name.startswith("HOTPLATE_")]:
            del os.environ[name]
        os.environ["HOTPLATE_DIR"] = f"{folder}/daemon"
        os.environ["PATH"] = f"{options.bin}:{os.environ['PATH']}"
        size = options.size * 1_000_000

        def daemon(name, *more):
            return Ours(stack.enter_context(hp.up(local=True, name=name, daemon_options=["--device", "cpu", *more], progress=False)), size)

        ours, plain = daemon("bench"), daemon("plain", "--insecure")
        if "cpp" in sections:
            peer = CppClient(options.bin / "bench_call_peer", "bench", size, dict(os.environ))
            stack.callback(peer.close)
            beside_cpp(rows, ours, peer)
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
                print(f"  not compared with {name}: {error}", flush=True)
                continue
            with contextlib.closing(other):
                beside_other(rows, ours, plain, other)

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
