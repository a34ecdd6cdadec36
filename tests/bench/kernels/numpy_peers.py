"""What a good user of NumPy would write for each row of the CPU kernels' benchmark, on the same data.

Each peer is a function that computes once and returns the result. What is the same in every run is made before: the
arrays for results and for what is in between are reused (`out=`), so that no peer is timed while it asks for memory;
and where several passes go over an array they go over pieces of it that stay in a core's cache. NumPy's elementwise
code uses one thread; its matrix product uses as many as its BLAS takes.
"""

import numpy as np

from pairs import same_distribution

PIECE = 1 << 14  # elements: with those in between, some 200 KB of float64


def vector_add(a, b):
    out = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
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
        x, y, count, live = c_x.copy(), c_y.copy(), np.zeros(c_x.size, np.int32), np.arange(c_x.size)
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
    out = np.empty(a.shape[:-1] + b.shape[-1:], dtype=a.dtype)
    return lambda: (np.dot if a.ndim == 2 else np.matmul)(a, b, out=out)


def made(shape, dtype, fill):
    """What makes an array from nothing, into one that is there."""
    out = np.empty(shape, dtype)

    def run():
        fill(out)
        return out

    return run


def random(name, count):
    generator = np.random.Generator(np.random.Philox(7))
    if "integers" in name:
        return lambda: generator.integers(0, 1000, count)
    dtype = np.float32 if "_f32_" in name else np.float64
    draw = generator.standard_normal if "normal" in name else generator.random
    return made(count, dtype, lambda out: draw(out=out, dtype=dtype))


def power_sum(x):
    out, powers = np.empty_like(x), np.empty(PIECE, x.dtype)

    def run():
        for start in range(0, x.size, PIECE):
            some, to = x[start:start + PIECE], out[start:start + PIECE]
            power = powers[:some.size]
            np.multiply(some, some, out=power)
            np.add(some, power, out=to)
            np.multiply(power, some, out=power)
            np.add(to, power, out=to)
        return out

    return run


def sort(x):
    out = np.empty_like(x)

    def run():
        np.copyto(out, x)
        out.sort()
        return out

    return run


def sort_by_key(keys, values):
    def run():
        order = np.argsort(keys, kind="stable")
        return keys[order], values[order]

    return run


def groupby_sum(keys, values):
    def run():
        unique_keys, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return unique_keys, np.bincount(places, weights=values, minlength=len(unique_keys)), counts

    return run


def kmeans(points, initial, iterations):
    def nearest(centroids):
        return np.argmin((centroids * centroids).sum(axis=1) - 2 * (points @ centroids.T), axis=1)

    def run():
        centroids = initial.copy()
        for _ in range(iterations):
            labels = nearest(centroids)
            counts = np.bincount(labels, minlength=len(centroids))
            sums = np.stack([np.bincount(labels, weights=column, minlength=len(centroids)) for column in points.T], axis=1)
            centroids = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centroids).astype(points.dtype)
        return centroids, nearest(centroids).astype(np.int32)

    return run


def spmv(data, indices, indptr, x):
    """SciPy's where it is installed; NumPy's own needs that no row is empty, as here."""
    try:
        from scipy import sparse
    except ImportError:
        products = np.empty_like(data)

        def run():
            np.take(x, indices, out=products)
            np.multiply(products, data, out=products)
            return np.add.reduceat(products, indptr[:-1])

        return run
    matrix = sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, len(x)))
    return lambda: matrix @ x


def pagerank(indices, indptr):
    edges = np.diff(indptr)
    nodes = len(edges)

    def run():
        rank, iterations, change = np.full(nodes, 1 / nodes), 0, 1
        while not change < 1e-8:
            before, iterations = rank, iterations + 1
            rank = 0.85 * np.bincount(indices, np.repeat(before / edges, edges), nodes) + 0.15 / nodes
            change = np.abs(rank - before).sum()
        return rank, np.array(iterations)

    return run


def batched_matvec(a, x):
    out = np.empty((x.shape[0], a.shape[-2]), a.dtype)
    if a.ndim == 2:
        return lambda: np.matmul(x, a.T, out=out)
    return lambda: np.matmul(a, x[:, :, None], out=out[:, :, None])[:, :, 0]


def reduce(name, x):
    if "argmax" in name:
        return lambda: np.argmax(x)
    if "std" in name:
        return lambda: np.std(x)
    axis = 1 if "short_rows" in name else 0 if "columns" in name else None
    return lambda: (np.mean if "mean" in name else np.sum)(x, axis=axis)


def count_of(name):
    """The number of elements in a row's name: arange_f64_1e7."""
    return int(float(name.rsplit("_", 1)[1]))


# By kernel; given the row's name and its inputs. A result is an array, or a tuple of them in the spec's order.
PEERS = {
    "vector_add": lambda name, inputs: vector_add(inputs["a"], inputs["b"]),
    "trig_identity": lambda name, inputs: trig_identity(inputs["x"]),
    "selu": lambda name, inputs: selu(inputs["x"]),
    "integrate2d": lambda name, inputs: integrate2d(int(name.split("_")[1])),
    "mandelbrot": lambda name, inputs: mandelbrot(int(name.rsplit("_", 1)[1]), 200),
    "matmul": lambda name, inputs: matmul(inputs["a"], inputs["a"].T if name.endswith("own_transpose") else inputs["b"]),
    "arange": lambda name, inputs: lambda: np.arange(float(count_of(name))),
    "linspace": lambda name, inputs: lambda: np.linspace(0, 1, count_of(name)),
    "full": lambda name, inputs: made(count_of(name), np.float32, lambda out: out.fill(1.5)),
    "random": lambda name, inputs: random(name, count_of(name)),
    "histogram": lambda name, inputs: lambda: np.histogram(inputs["x"], 100),
    "reduce": lambda name, inputs: reduce(name, inputs["x"]),
    "norm": lambda name, inputs: lambda: np.linalg.norm(inputs["x"], 3 if "_p_" in name else None),
    "power_sum": lambda name, inputs: power_sum(inputs["x"]),
    "sort": lambda name, inputs: sort(inputs["x"]),
    "sort_by_key": lambda name, inputs: sort_by_key(inputs["keys"], inputs["values"]),
    "groupby_sum": lambda name, inputs: groupby_sum(inputs["keys"], inputs["values"]),
    "kmeans": lambda name, inputs: kmeans(inputs["points"], inputs["initial"], 5),
    "fft": lambda name, inputs: lambda: (np.fft.rfft2 if "rfft2" in name else np.fft.fft)(inputs["x"]),
    "batched_matvec": lambda name, inputs: batched_matvec(inputs["a"], inputs["x"]),
    "spmv": lambda name, inputs: spmv(inputs["data"], inputs["indices"], inputs["indptr"], inputs["x"]),
    "pagerank": lambda name, inputs: pagerank(inputs["indices"], inputs["indptr"]),
    "cholesky": lambda name, inputs: lambda: np.linalg.cholesky(inputs["a"]),
    "solve": lambda name, inputs: lambda: np.linalg.solve(inputs["a"], inputs["b"]),
    "eigh": lambda name, inputs: lambda: tuple(np.linalg.eigh(inputs["a"])),
    "svd": lambda name, inputs: lambda: tuple(np.linalg.svd(inputs["a"], full_matrices=False)),
}

def peer_of(row, inputs):
    """The peer of a row of bench_kernels' list, given its input arrays by name; None where nobody has written one."""
    peer = PEERS.get(row["kernel"])
    return peer(row["name"], inputs) if peer else None


def differ(row, ours, theirs):
    """How far two results are apart, and how far they may be: the same arithmetic, but for rounding."""
    kernel = row["kernel"]
    ours, theirs = ours.reshape(-1), np.asarray(theirs).reshape(-1)
    if ours.shape != theirs.shape:
        return float("inf"), 0.0
    if kernel == "random":
        return same_distribution(ours, theirs)
    if kernel == "mandelbrot":  # the fraction of points whose last iteration rounding decides
        return np.count_nonzero(ours != theirs) / ours.size, 1e-3
    if kernel == "histogram":  # elements beside an edge, which rounding puts to either side
        return float(np.abs(ours - theirs).sum() / ours.sum()), 1e-6
    if kernel == "integrate2d":
        return float(np.abs(ours - theirs).max()), 1e-6
    if kernel == "fft":  # both sides' errors, in units of the largest
        return float(np.abs(ours - theirs).max() / np.abs(theirs).max()), 100 * float(np.finfo(ours.dtype).eps)
    if ours.dtype.kind != "f" or kernel in ("vector_add", "sort", "sort_by_key", "full", "arange"):
        return float(np.count_nonzero(ours != theirs)), 0.0
    unit = float(np.finfo(ours.dtype).eps)
    if kernel in ("matmul", "batched_matvec", "power_sum", "linspace", "spmv"):
        # What rounding does to one element depends on the terms of a sum, not on the sum.
        return float(np.abs(ours - theirs).max() / np.abs(ours).max()), 100 * unit
    if kernel in ("reduce", "norm", "groupby_sum", "kmeans", "pagerank", "svd", "eigh", "cholesky", "solve"):
        # Both sides' errors, in units of the largest.
        return float(np.abs(ours - theirs).max() / np.abs(ours).max()), 1e4 * unit
    return float((np.abs(ours - theirs) / np.maximum(np.abs(ours), np.finfo(ours.dtype).tiny)).max()), 32 * unit
