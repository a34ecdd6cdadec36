"""SELU of a million float32: the gain of a compiler that fuses operations (jax.jit) over one operation at a time.

    selu(x) = lambda * (x if x > 0 else alpha * exp(x) - alpha)      alpha = 1.67, lambda = 1.05

Eagerly, each operation read and wrote the whole array; jitted, the array went through memory once. So it does here.

usage: selu.py [N]              (default 1000000)
"""

import sys

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000

gpu = hp.connect()
x = np.linspace(-5, 5, N, dtype=np.float32)
on_device = gpu.array(x)
for attempt in ("first", "second"):  # the first call of a kernel may have to compile it or to load it
    y = gpu.selu(on_device, alpha=1.67)
    print(f"{attempt} call: {gpu.last_receipt.kernel_ns / 1e6:.3f} ms{', cold' if gpu.last_receipt.cold else ''}")

# expm1, because exp(x) - 1 loses its digits near 0: the kernel takes care of that.
wide = x.astype(np.float64)
expected = 1.05 * np.where(wide > 0, wide, 1.67 * np.expm1(wide))
if y.dtype != np.float32 or not np.allclose(y, expected, rtol=1e-6, atol=0):
    sys.exit("wrong: not SELU")
print("right: within float32 of NumPy's float64")
