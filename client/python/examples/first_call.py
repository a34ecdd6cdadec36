"""The first call is slow: jax.jit and Numba compile a function when they first see it, and keep the result in a cache.

25 ms for the first call and 0.5 ms for the next, in every new process; and if compute nodes cannot write to your home,
the cache needs another place. The daemon outlives this program: a kernel that has run once is warm for all later
programs, so nothing is kept on disk.

usage: first_call.py [N]        (default 1000000)
"""

import sys
import time

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000

x = np.linspace(0, 1, N)
cold = []
for program in range(2):  # two connections, as two programs one after the other would have them
    with hp.connect() as gpu:
        for call in range(2):
            begin = time.perf_counter()
            gpu.selu(x)
            took = time.perf_counter() - begin
            cold.append(gpu.last_receipt.cold)
            print(f"program {program}, call {call}: {took * 1e3:.2f} ms, {'cold' if cold[-1] else 'warm'}")

if any(cold[1:]):
    sys.exit("wrong: only the very first call of a kernel is a cold one")
