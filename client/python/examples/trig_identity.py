"""cos(x)^2 + sin(x)^2 for x = 0 … 10 million - 1: one function, on one core, on all cores, on the GPU.

Numba compiled it three ways: for the CPU with int64 arguments, in parallel, and for the GPU with float32. The dtype
decides the precision here too: integers are computed in float64, float32 in float32.

usage: trig_identity.py [N]     (default 10000000)
"""

import sys

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000

gpu = hp.connect()
for dtype in (np.int64, np.float32):
    y = gpu.trig_identity(np.arange(N).astype(dtype))
    off = np.abs(y - 1).max()
    print(f"{np.dtype(dtype)} in, {y.dtype} out: {gpu.last_receipt.kernel_ns / 1e6:.1f} ms, at most {off:.1e} from 1")
    # The kernel promises 16 units in the last place.
    if y.dtype != np.result_type(dtype, np.float32) or off > 8 * np.finfo(y.dtype).eps:
        sys.exit("wrong: further from 1 than rounding explains")
