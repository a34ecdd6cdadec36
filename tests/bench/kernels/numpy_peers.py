"""What a good user of NumPy would write for each row of the CPU kernels' benchmark, on the same data.

Each peer is a function that computes once and returns the result. What is the same in every run is made before: the
arrays for results and for what is in between are reused (`out=`), so that no peer is timed while it asks for memory;
and where several passes go over an array they go over pieces of it that stay in a core's cache. NumPy's elementwise
code uses one thread; its matrix product uses as many as its BLAS takes.
"""

import numpy as np

PIECE = 1 << 14  # elements: with those in between, some 200 KB of float64


def vector_add(a, b):
    out = np.empty_like(a)
    return lambda: np.add(a, b, out=out)


def trig_identity(x):
    kind = np.float32 if x.dtype == np.float32 else np.float64
    out = np.empty(x.shape, kind)
    floats, squares = np.empty(PIECE, kind), np.empty(PIECE, kind)

    def run():
        for start in range(0, x.size, PIECE):
            some, to = x[start:start + PIECE], out[start:start + PIECE]
            cosine = squares[:some.size]
            if x.dtype != kind:
                np.copyto(floats[:some.size], some)
                some = floats[:some.size]
            np.cos(some, out=cosine)
            np.sin(some, out=to)
            np.multiply(cosine, cosine, out=cosine)
            np.multiply(to, to, out=to)
            np.add(cosine, to, out=to)
        return out

    return run


def selu(x):
    alpha, scale, zero = x.dtype.type(1.67), x.dtype.type(1.05), x.dtype.type(0)
    out, below = np.empty_like(x), np.empty(PIECE, x.dtype)

    def run():
        for start in range(0, x.size, PIECE):
            some, to = x[start:start + PIECE], out[start:start + PIECE]
            negative = below[:some.size]
            np.minimum(some, zero, out=negative)
            np.expm1(negative, out=negative)
            np.multiply(negative, alpha, out=negative)
            np.maximum(some, zero, out=to)
            np.add(to, negative, out=to)
            np.multiply(to, scale, out=to)
        return out

    return run


def integrate2d(n):
    """Over [0, 1] x [0, 2], as the rows have it."""
    rows = min(n, 32)
    piece = np.empty((rows, n), np.float32)

    def run():
        midpoints, columns = (((np.arange(n) + 0.5) * (side / n)).astype(np.float32) for side in (1.0, 2.0))
        total = 0.0
        for start in range(0, n, rows):
            x = midpoints[start:start + rows, None]
            sines = piece[:x.size]
            np.add(x, columns, out=sines)
            np.sin(sines, out=sines)
            total += sines.sum(dtype=np.float64)
        return np.array([total * 2.0 / n ** 2])

    return run


def mandelbrot(resolution, iterations):
    rows, between = 50, 8  # rows of a piece; iterations between two sortings out of those that have left
    counts = np.empty((resolution, resolution), np.int32)
    most = rows * resolution
    buffers, masks = [np.empty(most) for _ in range(2)], np.empty(most, bool)

    def piece(c_x, c_y, to):
        x, y, count, live = np.zeros(c_x.size), np.zeros(c_x.size), np.zeros(c_x.size, np.int32), np.arange(c_x.size)
        for done in range(iterations):
            x2, y2, inside = buffers[0][:x.size], buffers[1][:x.size], masks[:x.size]
            np.multiply(x, x, out=x2)
            np.multiply(y, y, out=y2)
            np.multiply(x, y, out=y)
            np.add(y, y, out=y)
            np.add(y, c_y, out=y)
            np.subtract(x2, y2, out=x)
            np.add(x, c_x, out=x)
            np.add(x2, y2, out=x2)
            np.less(x2, 4, out=inside)  # what has left does not come back: it runs off to infinity, or is not a number
            np.add(count, inside, out=count)
            if done % between == between - 1 and not inside.all():
                to[live] = count
                live, count = live[inside], count[inside]
                x, y, c_x, c_y = x[inside], y[inside], c_x[inside], c_y[inside]
                if live.size == 0:
                    return
        to[live] = count

    def run():
        x, y = np.linspace(-2, 0.5, resolution), np.linspace(-1.25, 1.25, resolution)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, resolution, rows):
                c_y, c_x = np.meshgrid(y[start:start + rows], x, indexing="ij")
                piece(c_x.ravel(), c_y.ravel(), counts[start:start + rows].reshape(-1))
        return counts

    return run


def matmul(a, b):
    out = np.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    return lambda: np.dot(a, b, out=out)


def peer_of(name, inputs):
    """The peer of a row, given its input arrays by name; None where nobody has written one."""
    if name.startswith("vector_add"):
        return vector_add(inputs["a"], inputs["b"])
    if name.startswith("trig_identity"):
        return trig_identity(inputs["x"])
    if name.startswith("selu"):
        return selu(inputs["x"])
    if name.startswith("integrate2d"):
        return integrate2d(int(name.rsplit("_", 1)[1]))
    if name.startswith("mandelbrot"):
        return mandelbrot(int(name.rsplit("_", 1)[1]), 200)
    if name.endswith("own_transpose"):
        return matmul(inputs["a"], inputs["a"].T)
    if name.startswith("matmul"):
        return matmul(inputs["a"], inputs["b"])
    return None


def differ(name, ours, theirs):
    """How far two results are apart, and how far they may be: the same arithmetic, but for rounding."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf"), 0.0
    if name.startswith("vector_add"):
        return float(np.count_nonzero(ours != theirs)), 0.0
    if name.startswith("mandelbrot"):  # the fraction of points whose last iteration rounding decides
        return np.count_nonzero(ours != theirs) / ours.size, 1e-3
    if name.startswith("integrate2d"):
        return float(np.abs(ours - theirs).max()), 1e-6
    unit = float(np.finfo(ours.dtype).eps)
    if name.startswith("matmul"):  # what rounding does to one element depends on the sum's terms, not on the sum
        return float(np.abs(ours - theirs).max() / np.abs(ours).max()), 100 * unit
    return float((np.abs(ours - theirs) / np.maximum(np.abs(ours), np.finfo(ours.dtype).tiny)).max()), 32 * unit
