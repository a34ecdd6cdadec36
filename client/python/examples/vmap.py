"""A 150 x 100 matrix times each of 10 vectors: a Python loop, jax.vmap, and jit(vmap).

The loop called the GPU ten times for microseconds of work. vmap turned that into one call, and so does batched_matvec
here. The other way to keep a GPU busy is to have many calls in flight (submit).

usage: vmap.py [VECTORS]        (default 10)
"""

import sys
import time

import numpy as np

import hotplate as hp

VECTORS = int(sys.argv[1]) if len(sys.argv) > 1 else 10

rng = np.random.default_rng(0)
matrix = rng.standard_normal((150, 100), np.float32)
vectors = rng.standard_normal((VECTORS, 100), np.float32)
gpu = hp.connect()
gpu.submit("batched_matvec", matrix, vectors).result()  # so that nobody pays for the first call


def loop():
    return np.stack([gpu.batched_matvec(matrix, v[np.newaxis])[0] for v in vectors])


def in_flight():
    futures = [gpu.submit("batched_matvec", matrix, v[np.newaxis]) for v in vectors]
    return np.stack([future.result()[0] for future in futures])


def batched():
    return gpu.batched_matvec(matrix, vectors)


for way in (loop, in_flight, batched):
    begin = time.perf_counter()
    y = way()
    print(f"{way.__name__:9}  {(time.perf_counter() - begin) * 1e6:6.0f} µs")
    if y.shape != (VECTORS, 150) or not np.allclose(y, vectors @ matrix.T, rtol=1e-4, atol=1e-4):
        sys.exit(f"wrong: {way.__name__} is not NumPy's product")
