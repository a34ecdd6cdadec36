"""The peers of the CPU back-end: what a good user of each library writes, on all cores where the library can.

Like those of the GPU kit (tests/gpu/kit/peer.py), each has put, get, times and versions.
"""

import importlib.util
import os

import numpy as np

from numpy_peers import PEERS, peer_of
from pairs import time_of


class OnHost:
    """A library whose arrays are NumPy's."""

    def put(self, array):
        return array

    def get(self, value):
        return np.asarray(value)

    def times(self, run):
        return lambda count: time_of(run, count)


class Numpy(OnHost):
    """NumPy, and SciPy where it has a function of its own for the same."""

    def versions(self, row):
        if row["kernel"] in PEERS:
            yield "numpy", lambda arrays: peer_of(row, arrays)
        if importlib.util.find_spec("scipy") is None:
            return
        function = self.of_scipy(row)
        if function:
            yield "scipy", lambda arrays: lambda: function(**arrays)

    def of_scipy(self, row):
        from scipy import fft, linalg, sparse
        threads = len(os.sched_getaffinity(0))

        def pagerank(indices, indptr, beginnings):
            edges, nodes = np.diff(indptr), len(indptr) - 1
            to_each = sparse.csr_matrix(((0.85 / edges)[beginnings], indices, indptr), shape=(nodes, nodes)).T
            rank, iterations, change = np.full(nodes, 1 / nodes), 0, 1
            while not change < 1e-8:
                before, iterations = rank, iterations + 1
                rank = to_each @ before + 0.15 / nodes
                change = np.abs(rank - before).sum()
            return rank, np.array(iterations)

        if "_of_" in row["name"] and row["kernel"] != "fft":
            return None  # it takes one matrix
        return {
            "svd": lambda a: linalg.svd(a, full_matrices=False, check_finite=False),
            "eigh": lambda a: linalg.eigh(a, driver="evd", check_finite=False),
            "solve": lambda a, b: linalg.solve(a, b, check_finite=False),
            "cholesky": lambda a: linalg.cholesky(a, lower=True, check_finite=False),
            "fft": lambda x: (fft.rfft2 if "rfft2" in row["name"] else fft.fft)(x, workers=threads),
            "pagerank": pagerank,
        }.get(row["kernel"])


class Numba(OnHost):
    def __init__(self):
        import numba
        numba.set_num_threads(len(os.sched_getaffinity(0)))
        self.make(numba)

    def make(self, numba):
        import math
        parallel = numba.njit(parallel=True, fastmath=True)

        @parallel
        def broadcast_add(column, row, out):
            for i in numba.prange(len(column)):
                for j in range(len(row)):
                    out[i, j] = column[i, 0] + row[j]

        @parallel
        def vector_add(a, b, out):
            for i in numba.prange(a.size):
                out[i] = a[i] + b[i]

        @parallel
        def trig_identity(x, out):
            for i in numba.prange(x.size):
                cosine, sine = math.cos(out.dtype.type(x[i])), math.sin(out.dtype.type(x[i]))
                out[i] = cosine * cosine + sine * sine

        @parallel
        def selu(x, out):
            alpha, scale = out.dtype.type(1.67), out.dtype.type(1.05)
            for i in numba.prange(x.size):
                out[i] = scale * (x[i] if x[i] > 0 else alpha * math.expm1(x[i]))

        @parallel
        def power_sum(x, out):
            for i in numba.prange(x.size):
                out[i] = x[i] + x[i] * x[i] + x[i] * x[i] * x[i]

        @parallel
        def integrate2d(n):  # over [0, 1] x [0, 2], as the rows have it
            total = 0.0
            h, k = np.float32(1.0 / n), np.float32(2.0 / n)
            for i in numba.prange(n):
                x, row = (np.float32(i) + np.float32(0.5)) * h, np.float32(0)
                for j in range(n):
                    row += math.sin(x + (np.float32(j) + np.float32(0.5)) * k)
                total += row
            return total * 2.0 / n / n

        # Without fastmath: infinities and their end are part of it.
        @numba.njit(parallel=True)
        def mandelbrot(counts, iterations):
            resolution = counts.shape[0]
            for row in numba.prange(resolution):
                c_y = -1.25 + 2.5 * row / (resolution - 1)
                for column in range(resolution):
                    c_x = -2.0 + 2.5 * column / (resolution - 1)
                    x, y, count = c_x, c_y, 0
                    while count < iterations and x * x + y * y < 4:
                        x, y = x * x - y * y + c_x, 2 * x * y + c_y
                        count += 1
                    counts[row, column] = count

        @parallel
        def total(x):
            found = 0.0
            for i in numba.prange(x.size):
                found += x[i]
            return found

        @parallel
        def norm(x):
            found = 0.0
            for i in numba.prange(x.size):
                found += x[i] * x[i]
            return math.sqrt(found)

        @parallel
        def each_matvec(a, x, out):
            for i in numba.prange(out.shape[0]):
                out[i] = a[i] @ x[i]

        @parallel
        def spmv(data, indices, indptr, x, out):
            for row in numba.prange(out.size):
                found = 0.0
                for i in range(indptr[row], indptr[row + 1]):
                    found += data[i] * x[indices[i]]
                out[row] = found

        # From here on each thread has a part of the elements, and results of its own that are put together in the end.
        @parallel
        def histogram(x, bins):
            parts = numba.get_num_threads()
            lows, highs, counts = np.empty(parts), np.empty(parts), np.zeros((parts, bins), np.int64)
            for part in numba.prange(parts):
                least = most = x[part * x.size // parts]
                for i in range(part * x.size // parts, (part + 1) * x.size // parts):
                    least, most = min(least, x[i]), max(most, x[i])
                lows[part], highs[part] = least, most
            low, high = lows.min(), highs.max()
            in_a_unit = bins / (high - low)
            for part in numba.prange(parts):
                for i in range(part * x.size // parts, (part + 1) * x.size // parts):
                    counts[part, min(int((x[i] - low) * in_a_unit), bins - 1)] += 1
            return counts.sum(axis=0), np.linspace(low, high, bins + 1)

        @parallel
        def column_means(x):
            parts, (rows, columns) = numba.get_num_threads(), x.shape
            sums = np.zeros((parts, columns))
            for part in numba.prange(parts):
                for row in range(part * rows // parts, (part + 1) * rows // parts):
                    for column in range(columns):
                        sums[part, column] += x[row, column]
            return sums.sum(axis=0) / rows

        @parallel
        def kmeans(points, initial, iterations):
            parts, (n, d), k = numba.get_num_threads(), points.shape, len(initial)
            centroids, labels = initial.copy(), np.empty(n, np.int32)
            for iteration in range(iterations + 1):  # the last one for the labels alone
                columns = centroids.T.copy()  # so that the innermost loop goes along an array
                sums, counts = np.zeros((parts, k, d)), np.zeros((parts, k), np.int64)
                for part in numba.prange(parts):
                    distances = np.empty(k, points.dtype)
                    for i in range(part * n // parts, (part + 1) * n // parts):
                        for c in range(k):
                            distances[c] = 0
                        for j in range(d):
                            for c in range(k):
                                apart = points[i, j] - columns[j, c]
                                distances[c] += apart * apart
                        nearest = 0
                        for c in range(1, k):
                            if distances[c] < distances[nearest]:
                                nearest = c
                        labels[i] = nearest
                        counts[part, nearest] += 1
                        for j in range(d):
                            sums[part, nearest, j] += points[i, j]
                if iteration == iterations:
                    break
                together, members = sums.sum(axis=0), counts.sum(axis=0)
                for c in range(k):
                    if members[c] > 0:
                        centroids[c] = together[c] / members[c]
            return centroids, labels

        @parallel
        def pagerank(indices, indptr):
            parts, nodes = numba.get_num_threads(), len(indptr) - 1
            rank, before, sums = np.full(nodes, 1.0 / nodes), np.empty(nodes), np.empty((parts, nodes))
            iterations, change = 0, 1.0
            while change >= 1e-8:
                rank, before, iterations = before, rank, iterations + 1
                for part in numba.prange(parts):
                    sums[part] = 0.0
                    for node in range(part * nodes // parts, (part + 1) * nodes // parts):
                        share = before[node] / (indptr[node + 1] - indptr[node])  # no node is without edges, as here
                        for i in range(indptr[node], indptr[node + 1]):
                            sums[part, indices[i]] += share
                change = 0.0
                for node in numba.prange(nodes):
                    found = 0.0
                    for part in range(parts):
                        found += sums[part, node]
                    rank[node] = 0.85 * found + 0.15 / nodes
                    change += abs(rank[node] - before[node])
            return rank, iterations

        self.elementwise = {"vector_add": vector_add, "trig_identity": trig_identity, "selu": selu, "power_sum": power_sum}
        self.broadcast_add, self.integrate2d, self.mandelbrot, self.total, self.norm, self.each_matvec = (
            broadcast_add, integrate2d, mandelbrot, total, norm, each_matvec)
        self.spmv, self.histogram, self.column_means, self.kmeans, self.pagerank = (
            spmv, histogram, column_means, kmeans, pagerank)

    def versions(self, row):
        kernel, name = row["kernel"], row["name"]

        def into(function, empty):
            def make(arrays):
                out = empty(next(iter(arrays.values())))

                def run():
                    function(*arrays.values(), out)
                    return out
                return run
            return make

        if "x1_and_" in name:
            def broadcast(arrays):
                column, row = arrays.values()
                out = np.empty((len(column), len(row)), row.dtype)

                def run():
                    self.broadcast_add(column, row, out)
                    return out
                return run
            yield "numba", broadcast
        elif kernel in self.elementwise:
            to_float = kernel == "trig_identity" and "_i64_" in name
            yield "numba", into(self.elementwise[kernel], lambda a: np.empty(a.shape, np.float64 if to_float else a.dtype))
        elif kernel == "integrate2d":
            n = int(name.split("_")[1])
            yield "numba", lambda _: lambda: self.integrate2d(n)
        elif kernel == "mandelbrot":
            resolution = int(name.rsplit("_", 1)[1])

            def mandelbrot(_):
                counts = np.empty((resolution, resolution), np.int32)

                def run():
                    self.mandelbrot(counts, 200)
                    return counts
                return run
            yield "numba", mandelbrot
        elif name.startswith("reduce_sum_f"):
            yield "numba", lambda arrays: lambda: arrays["x"].dtype.type(self.total(arrays["x"]))
        elif name.startswith("norm_2"):
            yield "numba", lambda arrays: lambda: self.norm(arrays["x"])
        elif name.startswith("reduce_mean_columns"):
            yield "numba", lambda arrays: lambda: self.column_means(arrays["x"])
        elif kernel == "histogram":
            yield "numba", lambda arrays: lambda: self.histogram(arrays["x"], 100)
        elif kernel == "spmv":
            def product(arrays):
                out = np.empty(len(arrays["indptr"]) - 1, arrays["data"].dtype)

                def run():
                    self.spmv(*(arrays[one] for one in ("data", "indices", "indptr", "x")), out)
                    return out
                return run
            yield "numba", product
        elif kernel == "kmeans":
            yield "numba", lambda arrays: lambda: self.kmeans(arrays["points"], arrays["initial"], 5)
        elif kernel == "pagerank":
            def ranks(arrays):
                def run():
                    rank, iterations = self.pagerank(arrays["indices"], arrays["indptr"])
                    return rank, np.array(iterations)
                return run
            yield "numba", ranks
        elif "each_of" in name:
            yield "numba", into(self.each_matvec, lambda a: np.empty(a.shape[:2], a.dtype))
