"""Singular value decompositions of random matrices, square, or long and narrow: when a GPU pays, and when not.

3000 x 3000 in float64 and in float32, 9000 x 1000 in float32. A GPU for games or graphics gains little in float64 and
much in float32; and a long matrix costs far less than a square one with as many elements.

usage: svd.py [N]               (default 3000: N x N, and 3 N x N / 3)
"""

import sys

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 3000

gpu = hp.connect()
for rows, columns, dtype in ((N, N, "float64"), (N, N, "float32"), (3 * N, N // 3, "float32")):
    a = gpu.random(n=columns, rows=rows, dtype=dtype, seed=3)
    u, s, vt = gpu.svd(a, full_matrices=False)
    eps = np.finfo(dtype).eps
    off = np.abs((u * s) @ vt - a).max() / s[0]
    seconds = gpu.last_receipt.kernel_ns / 1e9
    print(f"{rows} x {columns} {dtype}: {seconds:.3f} s, rebuilt within {off:.1e} of the largest")
    if off > 4 * (rows + columns) * eps or (np.diff(s) > 0).any():
        sys.exit("wrong: u diag(s) vt is not a, or s does not descend")
