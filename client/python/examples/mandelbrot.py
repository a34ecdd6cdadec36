"""The Mandelbrot set: for each point c of a grid, how often z <- z^2 + c is repeated from z = c before |z| reaches 2.

The course wrote it four times: with Python loops, with CuPy and masks (which computes all points until the last is
done), with Numba's cuda.jit (one thread a point) and in PyTorch.

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


def course(c):
    """The exercise's own loop."""
    z, count = c, 0
    for _ in range(MAX_ITERATIONS):
        if abs(z) < 2:
            z = z**2 + c
            count += 1
    return count


# On a part of the points, which loops in Python soon compute.
some = slice(None, None, max(1, RESOLUTION // 50))
x, y = np.linspace(-2, 0.5, RESOLUTION)[some], np.linspace(-1.25, 1.25, RESOLUTION)[some]
expected = np.array([[course(complex(real, imaginary)) for real in x] for imaginary in y])
# Rounding decides at a few points of the edge.
if (counts[some, some] != expected).mean() > 0.001:
    sys.exit("wrong: other counts than the exercise's")
print("right: the exercise's loop counts the same")
