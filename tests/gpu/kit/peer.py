"""One GPU library beside bench_kernels, in turns, on the same data; prints a JSON line a row. Run by peers.py:

usage: peer.py cupy|torch|jax|numba SECONDS FOLDER BENCH_KERNELS [ARGUMENTS]

Kernel times on both sides: ours by the receipt's clock, the peer's by its own events around many calls (JAX: by waiting
for them). FOLDER/kernel_times.json, if there, has what the kit measured of ours: in that order rows are taken.
Needs NumPy beside the library. Other lines: {"unusable": WORDS} of a library that does not work here, {"error": WORDS} of a row
that it does not do, {"bench_kernels": WORDS} if ours does not start. tests/bench/peers takes what is here for its own.
"""

import importlib
import importlib.util
import json
import os
import pathlib
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE.parent / "bench/kernels"), str(HERE / "bench"), str(HERE / "kit")]
from intervals import Intervals, mostly_launch, times_by_events, times_by_waiting  # noqa: E402
from pairs import BY_LIBRARY, Gpu, Kernels, Refused, compare, compared, goal_of  # noqa: E402
from pairs import same_distribution, time_of  # noqa: E402


def numpy():
    """Asked for when it is known to be there."""
    return importlib.import_module("numpy")


# Of the row's rectangle (rows.cpp); it begins at 0.
X_MAX, Y_MAX = 1.0, 2.0
EDGES = {"x_min": -2.0, "x_max": 0.5, "y_min": -1.25, "y_max": 1.25}


def is_float(row):
    return any(f"_{one}_" in row["name"] for one in ("f32", "f64"))


def sizes(row):
    """The numbers in a row's name: mandelbrot_2000 runs 200 iterations, mandelbrot_4000 runs 1000."""
    name = row["name"]
    number = next((int(word) for word in name.split("_") if word.isdigit() and int(word) >= 100), 0)
    return number, 1000 if number >= 4000 else 200


def of_masks(row, device="cuda"):
    """Whether the course's way by whole arrays and masks is timed beside this row: of larger ones it takes minutes."""
    return row["kernel"] == "mandelbrot" and sizes(row)[0] <= (2000 if device == "cuda" else 500)


def count_of(row):
    """The number of elements in a row's name: arange_f64_3e7."""
    return int(float(row["name"].rsplit("_", 1)[1]))


def with_more(row, arrays):
    """The arrays, and what a peer makes of their sizes once: numbers of clusters, the node that each edge begins at."""
    np = numpy()
    if row["kernel"] == "kmeans":
        return arrays | {"numbers": np.arange(len(arrays["initial"]))}
    if row["kernel"] == "pagerank":
        edges = np.diff(arrays["indptr"])
        return arrays | {"beginnings": np.repeat(np.arange(len(edges)), edges)}
    return arrays


def kmeans(xp, points, initial, numbers):
    """The rows' five iterations. Distances and sums are products, which all libraries are fast at."""
    centroids = initial
    for _ in range(5):
        nearest = xp.argmin((centroids * centroids).sum(1) - 2 * (points @ centroids.T), 1)
        member = xp.asarray(nearest[:, None] == numbers[None, :], dtype=points.dtype)
        counts = member.sum(0)[:, None]
        centroids = xp.where(counts > 0, member.T @ points / counts, centroids)
    return centroids


def pagerank(xp, indices, indptr, beginnings):
    """To the rows' tolerance, looking at the change after each iteration."""
    edges = xp.asarray(xp.diff(indptr), dtype=xp.float64)
    nodes = len(edges)
    rank = 0 * edges + 1 / nodes
    for _ in range(100):  # the kernel's own limit
        before = rank
        rank = 0.85 * xp.bincount(indices, (before / edges)[beginnings], nodes) + 0.15 / nodes
        if abs(rank - before).sum() < 1e-8:
            break
    return rank


def in_order(order, *arrays):
    return tuple(array[order] for array in arrays)


def numpy_like(xp, row):
    """A function of the row's arrays, of what CuPy, PyTorch and JAX have under NumPy's names; None where there is none."""
    kernel, name = row["kernel"], row["name"]
    axis = 1 if "short_rows" in name else 0 if "columns" in name else None
    return {
        "power_sum": lambda x: x + x * x + x * x * x,
        "reduce": (lambda x: xp.argmax(x)) if "argmax" in name else (lambda x: xp.std(x)) if "_std_" in name else
                  (lambda x: xp.mean(x, axis=axis)) if "_mean_" in name else (lambda x: xp.sum(x, axis=axis)),
        "norm": lambda x: xp.linalg.norm(x, 3 if "_p_" in name else None),
        "sort": lambda x: xp.sort(x),
        "sort_by_key": lambda keys, values: in_order(xp.argsort(keys), keys, values),
        "arange": lambda: xp.arange(count_of(row), dtype=xp.float64),
        "linspace": lambda: xp.linspace(0, 1, count_of(row), dtype=xp.float64),
        "full": lambda: xp.full(count_of(row), 1.5, dtype=xp.float32),
        "fft": lambda x: xp.fft.rfft2(x) if "rfft2" in name else xp.fft.fft(x),
        "kmeans": lambda points, initial, numbers: kmeans(xp, points, initial, numbers),
        "pagerank": lambda indices, indptr, beginnings: pagerank(xp, indices, indptr, beginnings),
        "histogram": lambda x: xp.histogram(x, 100),
        "batched_matvec": lambda a, x: x @ a.T if a.ndim == 2 else (a @ x[:, :, None])[:, :, 0],
        "cholesky": lambda a: xp.linalg.cholesky(a),
        "solve": lambda a, b: xp.linalg.solve(a, b),
        "eigh": lambda a: xp.linalg.eigh(a),
        "svd": lambda a: xp.linalg.svd(a, full_matrices=False),
        "eig": (lambda a: xp.linalg.eig(a)) if hasattr(xp.linalg, "eig") else None,  # CuPy has had it since 14
        "qr": lambda a: xp.linalg.qr(a, mode="complete"),
        "slogdet": lambda a: xp.linalg.slogdet(a),
        "scan": lambda x: xp.cumsum(x, 1),
        "argsort": lambda x: xp.flip(xp.argsort(x, 0), 0),
        "searchsorted": lambda v, x: xp.searchsorted(v, x, side="right"),
        "flatnonzero": lambda x: xp.flatnonzero(x),
    }.get(kernel)


class Cupy:
    def __init__(self):
        import cupy
        self.cp = cupy
        alpha, scale = 1.67, 1.05
        self.selu = cupy.ElementwiseKernel("T x", "T y", f"y = T({scale}) * (x > 0 ? x : T({alpha}) * expm1(x))", "peer_selu")
        self.trig = cupy.ElementwiseKernel("T x", "T y", "T c = cos(x), s = sin(x); y = c * c + s * s", "peer_trig")

    def put(self, array):
        return self.cp.asarray(array)

    def get(self, value):
        return self.cp.asnumpy(value)

    def times(self, run):
        return times_by_events(run, self.cp.cuda.Event, self.cp.cuda.get_elapsed_time)

    def versions(self, row):
        cp, kernel, name = self.cp, row["kernel"], row["name"]
        if kernel == "vector_add":
            def add(arrays):
                out = cp.empty_like(arrays["a"])
                return lambda: cp.add(arrays["a"], arrays["b"], out=out)
            yield "cupy", add
        elif kernel in ("selu", "trig_identity") and is_float(row):
            function = self.selu if kernel == "selu" else self.trig

            def fused(arrays):
                out = cp.empty_like(arrays["x"])
                return lambda: function(arrays["x"], out)
            yield "cupy: one fused kernel", fused
        elif kernel == "matmul" and name.startswith(("matmul_f32", "matmul_f64")):
            yield "cupy", lambda arrays: lambda: cp.matmul(arrays["a"], arrays["b"])
        elif of_masks(row):
            yield "cupy: masks", lambda _: lambda: self.mandelbrot(*sizes(row))
        elif kernel == "spmv":
            def product(arrays):
                from cupyx.scipy import sparse
                matrix = sparse.csr_matrix(tuple(arrays[one] for one in ("data", "indices", "indptr")))
                return lambda: matrix @ arrays["x"]
            yield "cupy", product
        elif kernel == "groupby_sum":
            def sums(arrays):
                keys, places, counts = cp.unique(arrays["keys"], return_inverse=True, return_counts=True)
                return keys, cp.bincount(places, arrays["values"], len(keys)), counts
            yield "cupy", lambda arrays: lambda: sums(arrays)
        elif kernel == "random":
            count, dtype = count_of(row), cp.float32 if "_f32_" in name else cp.float64
            yield "cupy", lambda _: ((lambda: cp.random.randint(0, 1000, count)) if "integers" in name else
                                     (lambda: cp.random.standard_normal(count, dtype)) if "normal" in name else
                                     (lambda: cp.random.random(count, dtype)))
        elif numpy_like(cp, row):
            yield "cupy", lambda arrays: lambda: numpy_like(cp, row)(**arrays)

    def mandelbrot(self, resolution, iterations):
        """As the course does it: whole arrays, a mask of those still inside."""
        cp = self.cp
        x = cp.linspace(EDGES["x_min"], EDGES["x_max"], resolution)
        y = cp.linspace(EDGES["y_min"], EDGES["y_max"], resolution)
        c = x[None, :] + 1j * y[:, None]
        z, counts = c.copy(), cp.zeros(c.shape, dtype=cp.int32)
        for _ in range(iterations):
            inside = cp.abs(z) < 2
            counts[inside] += 1
            z[inside] = z[inside] ** 2 + c[inside]
        return counts


class Torch:
    def __init__(self, device="cuda"):
        import torch
        self.torch, self.device = torch, device
        if device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("torch.cuda sees no GPU")

    def put(self, array):
        return self.torch.from_numpy(array).to(self.device)

    def get(self, value):
        return value.cpu().numpy()

    def times(self, run):
        if self.device == "cpu":
            return lambda count: time_of(run, count)
        return times_by_events(run, lambda: self.torch.cuda.Event(enable_timing=True))

    def versions(self, row):
        torch, kernel, name = self.torch, row["kernel"], row["name"]
        torch.backends.cuda.matmul.allow_tf32 = "_tf32_" in name
        if kernel == "vector_add":
            def add(arrays):
                out = torch.empty_like(arrays["a"])
                return lambda: torch.add(arrays["a"], arrays["b"], out=out)
            yield "torch", add
        elif kernel == "selu" and is_float(row):
            yield "torch", lambda arrays: lambda: 1.05 * torch.nn.functional.elu(arrays["x"], 1.67)
        elif kernel == "trig_identity" and is_float(row):
            yield "torch", lambda arrays: lambda: torch.cos(arrays["x"]) ** 2 + torch.sin(arrays["x"]) ** 2
        elif kernel == "matmul":
            half = torch.bfloat16 if "_bf16_" in name else torch.float16 if "_f16_" in name else None

            def matmul(arrays):
                a, b = arrays["a"], arrays["b"]
                return (lambda: torch.matmul(a, b)) if half is None else self.rounded_product(a, b, half)
            yield "torch", matmul
        elif kernel == "spmv":
            def product(arrays):
                rows = len(arrays["indptr"]) - 1
                matrix = torch.sparse_csr_tensor(*(arrays[one] for one in ("indptr", "indices", "data")), (rows, len(arrays["x"])))
                return lambda: matrix @ arrays["x"]
            yield "torch", product
        elif of_masks(row, self.device):
            yield "torch: masks", lambda _: lambda: self.mandelbrot(*sizes(row))
        elif self.function(row):
            yield "torch", lambda arrays: lambda: self.function(row)(**arrays)

    def function(self, row):
        torch, name = self.torch, row["name"]
        if row["kernel"] == "reduce":
            dim = 1 if "short_rows" in name else 0 if "columns" in name else None
            if "_std_" in name:
                return lambda x: torch.std(x, correction=0)
            return torch.argmax if "argmax" in name else lambda x: (torch.mean if "_mean_" in name else torch.sum)(x, dim=dim)
        if row["kernel"] in ("arange", "linspace", "full", "random"):
            return self.made(row)
        return {
            "sort_by_key": lambda keys, values: in_order(torch.argsort(keys, stable=True), keys, values),
            "groupby_sum": self.groupby_sum,
            "sort": lambda x: torch.sort(x).values,
            "norm": lambda x: torch.linalg.vector_norm(x, 3 if "_p_" in name else 2),
            "argsort": lambda x: torch.argsort(x, dim=0, descending=True, stable=True),
            "flatnonzero": lambda x: torch.nonzero(x.flatten()).flatten(),
        }.get(row["kernel"]) or (None if row["kernel"] == "histogram" else numpy_like(torch, row))

    def mandelbrot(self, resolution, iterations):
        """As the course does it: whole arrays, a mask of those still inside."""
        torch, to = self.torch, {"dtype": self.torch.float64, "device": self.device}
        x = torch.linspace(EDGES["x_min"], EDGES["x_max"], resolution, **to)
        y = torch.linspace(EDGES["y_min"], EDGES["y_max"], resolution, **to)
        c = torch.complex(*torch.meshgrid(x, y, indexing="xy"))
        z, counts = c.clone(), torch.zeros(c.shape, dtype=torch.int32, device=self.device)
        for _ in range(iterations):
            inside = torch.abs(z) < 2
            counts[inside] += 1
            z[inside] = z[inside] ** 2 + c[inside]
        return counts

    def rounded_product(self, a, b, half):
        """As ours: of float32 arrays, which are rounded each time, and float32. A PyTorch that cannot give that makes
        it of a product in the short type."""
        torch = self.torch

        def in_one():
            return torch.mm(a.to(half), b.to(half), out_dtype=torch.float32)
        try:
            in_one()
        except (TypeError, RuntimeError):
            return lambda: torch.mm(a.to(half), b.to(half)).to(torch.float32)
        return in_one

    def groupby_sum(self, keys, values):
        unique_keys, places, counts = self.torch.unique(keys, return_inverse=True, return_counts=True)
        return unique_keys, self.torch.zeros_like(values[:len(unique_keys)]).index_add_(0, places, values), counts

    def made(self, row):
        torch, name, count = self.torch, row["name"], count_of(row)
        to = {"dtype": torch.float32 if "_f32_" in name else torch.float64, "device": self.device}
        if row["kernel"] == "random":
            return ((lambda: torch.randint(0, 1000, (count,), device=self.device)) if "integers" in name else
                    (lambda: torch.randn(count, **to)) if "normal" in name else lambda: torch.rand(count, **to))
        return {"arange": lambda: torch.arange(count, **to), "linspace": lambda: torch.linspace(0, 1, count, **to),
                "full": lambda: torch.full((count,), 1.5, **to)}[row["kernel"]]


class Jax:
    def __init__(self, device="cuda"):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_default_matmul_precision", "highest")  # float32 as it says, not in TF32
        if device == "cpu":
            jax.config.update("jax_platforms", "cpu")
        self.jax, self.device = jax, device
        if device == "cuda" and jax.default_backend() == "cpu":
            raise RuntimeError("JAX sees no GPU")

    def put(self, array):
        return self.jax.device_put(array)

    def get(self, value):
        return numpy().asarray(value)

    def times(self, run):
        wait = self.jax.block_until_ready
        if self.device == "cuda":
            return times_by_waiting(run, wait, 30)  # JAX lets 32 be on their way

        def measured(count):
            once = time_of(lambda: wait(run()), 1)[0]
            inner = 10 if once < 1e6 else 1  # waiting costs some microseconds: shared by ten
            found = []
            for _ in range(count):
                began = time.perf_counter_ns()
                for _ in range(inner):
                    value = run()
                wait(value)
                found.append((time.perf_counter_ns() - began) / inner)
            return found
        return measured

    def versions(self, row):
        jnp, kernel, name = self.jax.numpy, row["kernel"], row["name"]
        jit = self.jax.jit
        if kernel == "vector_add":
            function = jit(lambda a, b: a + b)
            yield "jax: jit", lambda arrays: lambda: function(arrays["a"], arrays["b"])
        elif kernel == "selu" and is_float(row):
            function = jit(lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.expm1(x)))
            yield "jax: jit", lambda arrays: lambda: function(arrays["x"])
        elif kernel == "trig_identity" and is_float(row):
            function = jit(lambda x: jnp.cos(x) ** 2 + jnp.sin(x) ** 2)
            yield "jax: jit", lambda arrays: lambda: function(arrays["x"])
        elif kernel == "matmul" and name.startswith(("matmul_f32", "matmul_f64")):
            function = jit(jnp.matmul)
            yield "jax: jit", lambda arrays: lambda: function(arrays["a"], arrays["b"])
        elif of_masks(row, self.device):
            function = jit(lambda: self.mandelbrot(*sizes(row)))
            yield "jax: jit, masks", lambda _: function
        elif kernel != "pagerank" and numpy_like(jnp, row):
            whole = getattr(jnp.linalg, kernel, None)
            # Of the lower triangle, as the others have it.
            function = jit((lambda a: whole(a, symmetrize_input=False)) if kernel in ("cholesky", "eigh") else numpy_like(jnp, row))
            yield "jax: jit", lambda arrays: lambda: function(**arrays)

    def mandelbrot(self, resolution, iterations):
        """Of whole arrays, whose shapes are fixed here: those that have left stay as they are."""
        jnp = self.jax.numpy
        x = jnp.linspace(EDGES["x_min"], EDGES["x_max"], resolution)
        y = jnp.linspace(EDGES["y_min"], EDGES["y_max"], resolution)
        c = x[None, :] + 1j * y[:, None]

        def step(_, state):
            z, counts = state
            inside = jnp.abs(z) < 2
            return jnp.where(inside, z * z + c, z), counts + inside
        return self.jax.lax.fori_loop(0, iterations, step, (c, jnp.zeros(c.shape, jnp.int32)))[1]


class Numba:
    def __init__(self):
        from numba import cuda
        self.cuda = cuda
        if not cuda.is_available():
            raise RuntimeError("numba.cuda sees no GPU")
        import numba_kernels
        self.kernels = numba_kernels

    def put(self, array):
        return self.cuda.to_device(array)

    def get(self, value):
        return value.copy_to_host() if hasattr(value, "copy_to_host") else value

    def times(self, run):
        return times_by_events(run, self.cuda.event)

    def versions(self, row):
        cuda, kernel, np = self.cuda, row["kernel"], numpy()
        if kernel == "vector_add" or kernel in ("trig_identity", "selu", "power_sum") and is_float(row):
            def elementwise(arrays):
                out = cuda.device_array_like(next(iter(arrays.values())))
                blocks = (out.size + 255) // 256

                def run():
                    getattr(self.kernels, kernel)[blocks, 256](*arrays.values(), out)
                    return out
                return run
            yield "numba", elementwise
        elif kernel == "batched_matvec":
            def each_matvec(arrays):
                a, x = arrays["a"], arrays["x"]
                a = a if a.ndim == 3 else a.reshape(1, *a.shape)  # the one matrix of all
                out = cuda.device_array((x.shape[0], a.shape[1]), np.float32)
                blocks = ((a.shape[1] + 31) // 32, (x.shape[0] + 7) // 8)

                def run():
                    self.kernels.batched_matvec[blocks, (32, 8)](a, x, out)
                    return out
                return run
            yield "numba", each_matvec
        elif kernel == "integrate2d":
            def of(function, threads, partials):
                def integrate(_):
                    n = sizes(row)[0]
                    partial = cuda.device_array(partials(n), np.float32)

                    def run():
                        function[(n + threads - 1) // threads, threads](partial, n)
                        return partial
                    return run
                return integrate
            yield "numba: shared memory, 16 threads", of(self.kernels.integrate, 16, lambda n: (n + 15) // 16)
            yield "numba: naive", of(self.kernels.integrate_naive, 256, lambda n: n)
        elif kernel == "mandelbrot":
            def mandelbrot(_):
                resolution, iterations = sizes(row)
                counts = cuda.device_array((resolution, resolution), np.int32)
                blocks = ((resolution + 15) // 16, (resolution + 15) // 16)

                def run():
                    self.kernels.mandelbrot[blocks, (16, 16)](counts, EDGES["x_min"], EDGES["x_max"], EDGES["y_min"], EDGES["y_max"],
                                                      iterations)
                    return counts
                return run
            yield "numba", mandelbrot


def differ(row, ours, theirs):
    """(difference, tolerance) in the row's own measure: counts by the share of points, other random numbers by their
    distribution, the rest by the norm."""
    np = numpy()
    if row["kernel"] == "mandelbrot":
        return float(np.mean(ours != theirs)), 1e-2  # points on the boundary fall either way
    if row["kernel"] == "integrate2d":
        # Float32 sums of 1e5 terms each on their side.
        return abs(float(np.sum(theirs, dtype=np.float64)) / float(ours) - 1), 1e-3
    if row["kernel"] == "random":
        return same_distribution(ours, theirs)
    low = any(f"_{one}_" in row["name"] for one in ("tf32", "bf16", "f16"))
    wide = ours.astype(np.complex128 if np.iscomplexobj(ours) else np.float64).ravel()
    scale = float(np.linalg.norm(wide)) or 1.0
    # A point between two clusters goes to either of them.
    return float(np.linalg.norm(wide - theirs.ravel())) / scale, 2e-2 if low else 1e-3 if row["kernel"] == "kmeans" else 1e-5


COURSE_ROWS = ("integrate2d_102400_fast", "mandelbrot_2000")
LAUNCH_NS = 20e3  # what takes less is mostly launch on the peers' side


def order(row, known):
    """What the goals speak of, then by our own kernel times, and last what is huge. `known` has these times by row;
    where they are not known, what memory binds comes first, and libraries' work after all other."""
    name = row["name"]
    if is_huge(row):
        return 4, 0
    if name in COURSE_ROWS:
        return 0, 0
    if name in known:
        ns = known[name]["kernel_ns"]
        return (1, ns) if ns >= LAUNCH_NS else (2, ns)
    if row["kernel"] in BY_LIBRARY:
        return 3, 2 + BY_LIBRARY.index(row["kernel"])
    return 3, 0 if row["bound_by_memory"] else 1


PAIRS, ROW_SECONDS = 5, 1
SETTLED_S = 0.075  # settle() takes at least that
BYTES_PER_S = 0.5e9  # of files: made, written, read, and put on the device


def seconds_for(row, known, versions):
    """About what a row takes beside so many versions of a peer, if these take as long as ours does."""
    ours = known.get(row["name"], {"kernel_ns": 0, "whole_ns": 0, "input_bytes": 0, "output_bytes": 0})
    whole, theirs = ours["whole_ns"] / 1e9, max(Intervals.ENOUGH_NS, ours["kernel_ns"]) / 1e9
    busy = Gpu.BUSY_SECONDS if theirs < Gpu.BUSY_SECONDS else 0
    repetitions = max(1, min(10, 5e6 / max(ours["kernel_ns"], 1)))
    pair = 2 * SETTLED_S + 2 * busy + repetitions * whole + theirs
    return (ours["input_bytes"] + ours["output_bytes"]) / BYTES_PER_S + versions * (PAIRS * pair + 2 * (whole + theirs))


HUGE_SECONDS, HUGE_BYTES = 20, 4 << 30  # a huge row takes less, its files are smaller


def is_huge(row):
    """Gigabytes through files. Can be done without: bandwidth shows as well with 3e7 numbers, which no cache holds either."""
    return row["name"].endswith("_1e8")


def no_room_for(row, folder, seconds, needed=0):
    """Why this row is left out, for which so many seconds are left; empty if it is not."""
    needed = max(needed, HUGE_SECONDS if is_huge(row) else 0)
    if seconds < needed or seconds < 0:
        return f"no time left for it: {max(seconds, 0):.1f} s, and it takes about {needed:.1f} s"
    free = shutil.disk_usage(folder).free
    return f"its files have no room in {folder}: {free} bytes are free" if is_huge(row) and free < HUGE_BYTES else ""


def one_row(peer, versions, kernels, row, folder, gpu):
    np = numpy()

    def files_of(what):
        for old in folder.glob("*.npy"):
            old.unlink()
        kernels.ask(f"{what} {row['name']} {folder}")
        return {file.stem: np.load(file) for file in sorted(folder.glob("*.npy"))}

    arrays = files_of("inputs")
    if "own_transpose" in row["name"]:
        arrays["b"] = np.ascontiguousarray(arrays["a"].T)
    arrays = {name: peer.put(array) for name, array in with_more(row, arrays).items()}
    outputs = files_of("outputs")
    for name, make in versions:
        run = make(arrays)
        ours, theirs = compared(row, outputs, run())
        difference, tolerance = differ(row, ours, peer.get(theirs))
        measured = peer.times(run)
        our_ns, peer_ns, _, pairs = compare(lambda n: kernels.times(row["name"], min(n, 10)),
                                            lambda n, measured=measured: measured(min(n, 10)), PAIRS, ROW_SECONDS, gpu)
        launched = mostly_launch(measured)
        say(row=row["name"], peer=name, ours_ns=our_ns, peer_ns=peer_ns, pairs=pairs, difference=difference,
            tolerance=tolerance, same=bool(difference <= tolerance), goal=None if launched else goal_of(row),
            mostly_launch=launched, **gpu.seen())


def say(**line):
    print("\n" + json.dumps(line), flush=True)  # a library may have left half a line


def words_of(why):
    return f"{type(why).__name__}: {why}"[:300]


def usable(library):
    """The library's peer, or None once it is said why not: whatever it raises is its own affair."""
    for needed in ("numpy", library):
        if importlib.util.find_spec(needed) is None:
            say(unusable=f"{sys.executable} has no {needed}")
            return None
    try:
        began = time.monotonic()
        version = getattr(importlib.import_module(library), "__version__", "unknown")
        say(version=version, import_seconds=round(time.monotonic() - began, 2))
        return {"cupy": Cupy, "torch": Torch, "jax": Jax, "numba": Numba}[library]()
    except (Exception, SystemExit) as why:
        say(unusable=words_of(why))
        return None


def main():
    library, seconds, folder, bench = sys.argv[1], float(sys.argv[2]), pathlib.Path(sys.argv[3]) / "peer", sys.argv[4:]
    folder.mkdir(exist_ok=True)
    end = time.monotonic() + seconds
    peer = usable(library)
    if peer is None:
        return
    try:
        kernels = Kernels(bench)
    except Refused as why:
        say(bench_kernels=str(why))
        return
    times = folder.parent / "kernel_times.json"
    known = json.loads(times.read_text(encoding="utf-8")) if times.exists() else {}
    gpu = Gpu(kernels.facts["uuid"])
    for row in sorted(kernels.rows, key=lambda row: order(row, known)):
        try:
            versions = list(peer.versions(row))
            left = end - time.monotonic()
            if why := versions and no_room_for(row, folder, left, seconds_for(row, known, len(versions))):
                say(row=row["name"], error=why)
            elif versions:
                one_row(peer, versions, kernels, row, folder, gpu)
        except Exception as why:  # not this row, then
            say(row=row["name"], error=words_of(why))
    kernels.close()


if __name__ == "__main__":
    main()
