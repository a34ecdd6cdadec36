"""The Mandelbrot set: for each point of a grid, how often z <- z^2 + c is repeated before |z| reaches 2.

The course wrote it four times: as Python loops, with CuPy and masks (which computes all points until the last is done),
with Numba's cuda.jit (one thread a point) and in PyTorch.

usage: mandelbrot.py [RESOLUTION] [PICTURE.pgm]         (default 1000, no picture)
"""

import pathlib
import sys

import numpy as np

import hotplate as hp

RESOLUTION = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
MAX_ITERATIONS = 200

gpu = hp.connect()
counts = gpu.mandelbrot(resolution=RESOLUTION, max_iterations=MAX_ITERATIONS)
seconds = gpu.last_receipt.kernel_ns / 1e9
print(f"{counts.sum() / seconds:.2e} iterations a second; {(counts == MAX_ITERATIONS).mean():.1%} never left")

if len(sys.argv) > 2:
    grey = (255 * (1 - counts / MAX_ITERATIONS)).astype(np.uint8)
    pathlib.Path(sys.argv[2]).write_bytes(b"P5 %d %d 255\n" % grey.shape + grey.tobytes())

# With masks in NumPy, on a part of the points that is soon computed.
some = slice(None, None, max(1, RESOLUTION // 100))
x, y = np.linspace(-2, 0.5, RESOLUTION)[some], np.linspace(-1.25, 1.25, RESOLUTION)[some]
c = x + 1j * y[:, np.newaxis]
z, expected = np.zeros_like(c), np.zeros(c.shape, np.int32)
for _ in range(MAX_ITERATIONS):
    inside = np.abs(z) < 2
    expected += inside
    z[inside] = z[inside] ** 2 + c[inside]
# Rounding decides at a few points of the edge.
if (counts[some, some] != expected).mean() > 0.001:
    sys.exit("wrong: other counts than NumPy's")
print("right: NumPy counts the same")
