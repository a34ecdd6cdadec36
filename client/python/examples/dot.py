"""The product of two matrices of 1000 x 1000 float64: np.dot, and the same on the GPU.

usage: dot.py [N]               (default 1000)
"""

import sys

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 1000

rng = np.random.default_rng(1)
x, y = rng.random((2, N, N))
gpu = hp.connect()
z = gpu.matmul(x, y)

receipt = gpu.last_receipt
print(f"{receipt.device_name}: {receipt.kernel_ns / 1e6:.2f} ms, {receipt.flop_per_second / 1e9:.1f} GFLOP/s")
if not np.allclose(z, x @ y, rtol=N * 2.3e-16):
    sys.exit("wrong: not NumPy's product")
print("right: what NumPy has, but for rounding")
