#!/usr/bin/python3
"""Times the CPU kernels beside NumPy and a plain OpenMP triad, in turns, on the same data, and prints the ratios.

usage: compare.py BENCH_KERNELS [--rows ROWS.json] [--pairs N] [--only TEXT]

A ratio is the peer's time divided by ours: above 1 we are faster. It is the median over pairs, each measured back to
back, first one and then the other side first. Times are medians too. Takes less than a minute.
"""

import argparse
import json
import os
import statistics
import tempfile

import numpy as np

from pairs import Kernels, compare, time_of


def numpy_vector_add(a, b):
    out = np.empty_like(a)
    return lambda: np.add(a, b, out=out)


def numpy_trig(x):
    floats = x if x.dtype == np.float32 else x.astype(np.float64)
    cosine, sine = np.empty_like(floats), np.empty_like(floats)

    def run():
        np.cos(x, out=cosine)
        np.sin(x, out=sine)
        np.multiply(cosine, cosine, out=cosine)
        np.multiply(sine, sine, out=sine)
        np.add(cosine, sine, out=sine)

    return run


def numpy_selu(x):
    alpha, scale = x.dtype.type(1.67), x.dtype.type(1.05)
    return lambda: scale * np.where(x > 0, x, alpha * np.expm1(x))


def numpy_integrate(n):
    def run():
        midpoints = ((np.arange(n) + 0.5) * (np.pi / n)).astype(np.float32)
        total = 0.0
        for start in range(0, n, 64):  # pieces that stay in cache: faster than all n * n at once
            total += np.sin(midpoints[start:start + 64, None] + midpoints[None, :]).sum(dtype=np.float64)
        return total * (np.pi / n) ** 2

    return run


def numpy_mandelbrot(resolution, iterations):
    def run():
        y, x = np.meshgrid(np.linspace(-1.25, 1.25, resolution), np.linspace(-2, 0.5, resolution), indexing="ij")
        c = (x + 1j * y).ravel()
        counts = np.zeros(c.shape, dtype=np.int32)
        live = np.arange(c.size)  # only those still inside are carried on
        z = np.zeros_like(c)
        for _ in range(iterations):
            inside = z.real * z.real + z.imag * z.imag < 4
            if not inside.all():
                live, z, c = live[inside], z[inside], c[inside]
            if live.size == 0:
                break
            counts[live] += 1
            z = z * z + c
        return counts

    return run


def numpy_matmul(a, b):
    out = np.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    return lambda: np.dot(a, b, out=out)


def peer_of(name, kernels, folder):
    """A function that does the same in NumPy, on the same data."""
    kernels.ask(f"inputs {name} {folder}")
    arrays = {}
    for file in sorted(os.listdir(folder)):
        arrays[file[:-4]] = np.load(os.path.join(folder, file))
        os.remove(os.path.join(folder, file))
    if name.startswith("vector_add"):
        return numpy_vector_add(arrays["a"], arrays["b"])
    if name.startswith("trig_identity"):
        return numpy_trig(arrays["x"])
    if name.startswith("selu"):
        return numpy_selu(arrays["x"])
    if name.startswith("integrate2d"):
        return numpy_integrate(int(name.rsplit("_", 1)[1]))
    if name.startswith("mandelbrot"):
        return numpy_mandelbrot(int(name.rsplit("_", 1)[1]), 200)
    if name.endswith("own_transpose"):
        return numpy_matmul(arrays["a"], arrays["a"].T)
    return numpy_matmul(arrays["a"], arrays["b"])


def row(name, ours, peers, ratio, peer_name, goal, pairs):
    return {"name": name, "measured": ours / 1e6, "unit": "ms", "peer": peers / 1e6, "peer_name": peer_name,
            "ratio": ratio, "goal": goal, "goal_of": "ratio", "at_least": True, "pairs": pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rows")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--only", default="")
    options = parser.parse_args()

    kernels = Kernels([options.program])
    facts = kernels.facts
    print(f"{facts['device']}, {facts['instruction_set']}, {facts['threads']} threads, NumPy {np.__version__}, "
          f"load {os.getloadavg()[0]:.2f}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in kernels.names:
            if options.only not in name or name == "vector_add_f32_4":
                continue
            peer = peer_of(name, kernels, folder)
            found = compare(lambda n, name=name: kernels.times(name, n), lambda n, peer=peer: time_of(peer, n),
                            options.pairs)
            goal = 0.97 if name.startswith("matmul") else 1.0
            rows.append(row(name, *found[:3], "NumPy", goal, found[3]))
    # Bound by memory: beside a triad over arrays of the same size.
    if options.only in "vector_add_f32_5e7":
        found = compare(lambda n: kernels.times("vector_add_f32_5e7", n), lambda n: kernels.ask(f"triad {n}"), options.pairs)
        rows.append(row("vector_add_f32_5e7 / triad", *found[:3], "OpenMP triad", 0.9, found[3]))
    tiny = kernels.ask("phases vector_add_f32_4 20000")["whole_ns"]
    kernels.close()

    width = max(len(one["name"]) for one in rows)
    print(f"{'kernel':{width}}  {'ours ms':>10}  {'peer ms':>10}  {'ratio':>7}  goal    peer")
    for one in rows:
        met = "" if one["ratio"] >= one["goal"] else "  MISSED"
        print(f"{one['name']:{width}}  {one['measured']:10.4f}  {one['peer']:10.4f}  {one['ratio']:6.2f}x  >={one['goal']:.2f}"
              f"  {one['peer_name']}{met}")
    print(f"vector_add of 4 float32 through Lane::Run: median {statistics.median(tiny):.0f} ns")
    if options.rows:
        with open(options.rows, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")


main()
