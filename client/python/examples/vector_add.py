"""Add two vectors of 100 million float32 ones: usually the first GPU program of a course.

There Numba's @vectorize(target="cuda") compiled a Python function of one element, and the lesson was that the copies to
the GPU and back cost more than the sums. Here the copies can be left out: the vectors are made on the device, the sum
stays there, and only the part that you look at comes back.

usage: vector_add.py [N]        (default 100000000)
"""

import sys
import time

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000

gpu = hp.connect()

# As in the course: the data start in this program and the result ends in it. `out` is memory that exists already.
a = np.ones(N, np.float32)
b = np.ones(N, np.float32)
c = np.empty_like(a)
begin = time.perf_counter()
gpu.vector_add(a, b, out=c)
took = time.perf_counter() - begin
print(f"up, added, down: {took:.3f} s, of which adding {gpu.last_receipt.kernel_ns / 1e9:.3f} s")
if not (c == 2).all():
    sys.exit("wrong: 1 + 1 was not 2 everywhere")

# The same without copies. `keep` leaves a result where it was made; a slice brings back no more than its own elements.
ones = gpu.ones(N, "float32", keep=True)
begin = time.perf_counter()
twos = gpu.vector_add(ones, ones, keep=True)
took = time.perf_counter() - begin
print(f"on the device alone: {took:.3f} s, of which adding {gpu.last_receipt.kernel_ns / 1e9:.3f} s")
if not (twos[-5:] == 2).all() or gpu.reduce(twos, operation="sum") != 2 * N:
    sys.exit("wrong: the array that was kept does not hold 2 everywhere")
print(f"right: {N} sums, each 2")
