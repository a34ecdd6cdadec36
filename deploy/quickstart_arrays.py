"""Makes quickstart's inputs, and checks its results by calculations that share no code with Hotplate.

usage: quickstart_arrays.py make|check FOLDER
"""

import math
import pathlib
import struct
import sys

import numpy as np

SIZE = 1000
ALPHA, LAMBDA = 1.67, 1.05


def make(folder):
    rng = np.random.default_rng(20240607)
    for name in "ab":
        np.save(folder / f"{name}.npy", rng.standard_normal((SIZE, SIZE), dtype=np.float32))
    np.save(folder / "x.npy", rng.standard_normal(1_000_000, dtype=np.float32))
    for path in sorted(folder.glob("*.npy")):
        array = np.load(path)
        print(f"{path}: {array.dtype} {list(array.shape)}")


def check_matmul(folder):
    a, b, c = (np.load(folder / f"{name}.npy") for name in "abc")
    if c.dtype != np.float32 or c.shape != (SIZE, SIZE):
        return f"c.npy is {c.dtype} {list(c.shape)}, not float32 [{SIZE}, {SIZE}]"
    # einsum without a path uses NumPy's own loops, not BLAS, so that a library does not check itself.
    wanted = np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64), optimize=False)
    # Rounding in float32 gives a few eps times the lengths of row and column for such inputs. (The proven worst case is
    # thirty times that, and would hide real mistakes.)
    bound = 4 * np.finfo(np.float32).eps * np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=0)[None, :]
    error = np.abs(c - wanted)
    # A few elements exactly: products of two float32 are exact in float64, and fsum rounds once.
    for i, j in [(0, 0), (0, SIZE - 1), (SIZE - 1, 0), (SIZE // 2, SIZE // 3)]:
        exact = math.fsum(float(x) * float(y) for x, y in zip(a[i], b[:, j]))
        if not abs(c[i, j] - exact) <= bound[i, j]:
            return f"c[{i}, {j}] is {c[i, j]}, exactly rounded it is {exact}"
    if not np.all(error <= bound):
        return f"matmul is off by {np.max(error):.3g} somewhere, more than rounding explains"
    print(f"matmul: {c.size} elements agree; largest error {np.max(error):.3g}, {np.max(error / bound):.2g} of the bound")
    return None


def check_selu(folder):
    x, y = (np.load(folder / f"{name}.npy") for name in "xy")
    if y.dtype != np.float32 or y.shape != x.shape:
        return f"y.npy is {y.dtype} {list(y.shape)}, not float32 {list(x.shape)}"
    wide = x.astype(np.float64)
    wanted = LAMBDA * np.where(wide > 0, wide, ALPHA * np.expm1(np.minimum(wide, 0)))
    error = np.max(np.abs(y - wanted) / np.maximum(np.abs(wanted), np.finfo(np.float32).tiny))
    # The parameters themselves are rounded to float32, then a few operations more.
    if not error <= 8 * np.finfo(np.float32).eps:
        return f"selu is off by {error:.3g} of the value somewhere"
    print(f"selu: {y.size} elements agree; largest relative error {error:.3g}")
    return None


def check_picture(folder):
    data = (folder / "mandelbrot.png").read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n" or not data.endswith(b"IEND\xaeB`\x82"):
        return "mandelbrot.png is not a whole PNG file"
    width, height = struct.unpack(">II", data[16:24])
    if (width, height) != (1000, 1000):
        return f"mandelbrot.png is {width} x {height}, not 1000 x 1000"
    print(f"mandelbrot: a picture of {width} x {height}")
    return None


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("make", "check"):
        sys.exit(__doc__)
    folder = pathlib.Path(arguments[1])
    if arguments[0] == "make":
        make(folder)
        return
    for check in (check_matmul, check_selu, check_picture):
        problem = check(folder)
        if problem:
            sys.exit(f"quickstart: {problem}")


main(sys.argv[1:])
