"""x times its own transpose, 3000 x 3000 normal float32: the course compared NumPy and JAX with it.

jax.numpy.dot(x, x.T).block_until_ready(), because JAX returns before it is done; a call here returns when it is done.
The transpose is not copied, x is sent once, and a matrix times its own transpose takes only half the arithmetic.

usage: gram.py [N]              (default 3000)
"""

import sys

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 3000

gpu = hp.connect()
# Normal numbers, made where they are used; the same for the same seed on every device.
x = gpu.random((N, N), distribution="normal", dtype="float32", seed=7, keep=True)
gram = gpu.matmul(x, x, transpose_b=True)
print(f"{gram.shape} in {gpu.last_receipt.kernel_ns / 1e6:.1f} ms")

rows = x[:8]  # only these come over the network
expected = rows.astype(np.float64) @ x.numpy().astype(np.float64).T
if not np.allclose(gram[:8], expected, rtol=1e-4, atol=1e-3 * np.sqrt(N)) or not np.allclose(gram, gram.T, atol=1e-3):
    sys.exit("wrong: not x times its transpose")
print("right: symmetric, and its first rows are what NumPy has in float64")
