"""out = x + y for 4096 integers: the exercise that introduces blocks and threads.

With Numba's cuda.jit you wrote the kernel, computed the index from block and thread, and chose 32 blocks of 128 threads
to cover the array. Here the kernel exists, and you only call it. int32 stays int32.

usage: add_kernel.py [N]        (default 4096)
"""

import sys

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 4096

x = np.arange(N, dtype=np.int32)
out = hp.connect().vector_add(x, np.int32(1))  # a scalar goes with every element, as in NumPy

print(out)
if out.dtype != np.int32 or not np.array_equal(out, np.arange(1, N + 1)):
    sys.exit(f"wrong: not 1 to {N} as int32")
