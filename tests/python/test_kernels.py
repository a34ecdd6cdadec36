"""Every kernel of the catalogue through the Python API, against NumPy: test_NAME for each, which one test insists on.
Some against SciPy too.

What a kernel computes on which back-end, at which sizes and how exactly is judged elsewhere (tests/conformance). This
is about what arrives in Python: values, shapes, dtypes, names of outputs, parameters under their Python names.
"""

import numpy as np
import pytest

FLOATS = ("float32", "float64")
NUMBERS = FLOATS + ("int32", "int64")
REAL = NUMBERS + ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64")
EPS = {np.dtype(name): np.finfo(name).eps for name in FLOATS}


def floating(dtype):
    """The real numbers that a function makes of it: integers are computed in float64."""
    return "float32" if dtype in ("float32", "complex64") else "float64"


def numbers(dtype, *shape, seed=1):
    """Normal floats, or integers from -100 to 99."""
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def few(dtype, *shape, seed=1):
    """An array of few different values, from -4 to 3, which wrap around in unsigned integers."""
    return (numbers("int64", *shape, seed=seed) // 30).astype(dtype)


def same(got, expected, within=0.0):
    """The same dtype and shape, and values within so many units in the last place of the largest; 0: the same bits."""
    expected = np.asarray(expected)
    assert (np.asarray(got).dtype, np.shape(got)) == (expected.dtype, expected.shape)
    if within == 0:
        np.testing.assert_array_equal(got, expected)
    else:
        largest = np.abs(expected).max(initial=0)
        np.testing.assert_allclose(got, expected, rtol=0, atol=within * EPS[expected.real.dtype] * max(largest, 1e-30))


def test_every_kernel_has_a_test(gpu):
    there = set(gpu.kernels)
    assert len(there) >= 34
    assert there - {name[len("test_"):] for name in globals() if name.startswith("test_")} == set()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_arange(gpu, dtype):
    same(gpu.arange(stop=17, start=2, step=3, dtype=dtype), np.arange(2, 17, 3, dtype=dtype))
    same(gpu.arange(stop=0, dtype=dtype), np.arange(0, dtype=dtype))


@pytest.mark.parametrize("dtype", REAL)
def test_argsort(gpu, dtype):
    x = few(dtype, 4, 5, 60)
    same(gpu.argsort(x), np.argsort(x, kind="stable"))
    same(gpu.argsort(x, axis=1), np.argsort(x, axis=1, kind="stable"))
    same(gpu.argsort(x, axis="all"), np.argsort(x, axis=None, kind="stable"))
    order = gpu.argsort(x, descending=True)
    same(np.take_along_axis(x, order, axis=-1), np.sort(x)[..., ::-1])


@pytest.mark.parametrize("dtype", FLOATS)
def test_batched_matvec(gpu, dtype):
    matrix, vectors = numbers(dtype, 15, 10), numbers(dtype, 4, 10, seed=2)
    same(gpu.batched_matvec(matrix, vectors), vectors @ matrix.T, within=40)
    matrices = numbers(dtype, 4, 15, 10, seed=3)
    same(gpu.batched_matvec(matrices, vectors), np.einsum("bmk,bk->bm", matrices, vectors), within=40)


def positive_definite(dtype, *shape):
    a = numbers(dtype, *shape)
    return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_cholesky(gpu, dtype):
    a = positive_definite(dtype, 3, 12, 12)
    same(gpu.cholesky(a), np.linalg.cholesky(a), within=60)


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_eig(gpu, dtype):
    a = numbers(floating(dtype), 3, 10, 10)
    if dtype.startswith("complex"):
        a = (a + 1j * numbers(floating(dtype), 3, 10, 10, seed=2)).astype(dtype)
    w, v = gpu.eig(a)
    complexes = {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)
    assert (w.dtype, v.dtype, w.shape, v.shape) == (complexes, complexes, (3, 10), (3, 10, 10))
    within = 400 * np.finfo(dtype).eps
    np.testing.assert_allclose(a @ v, v * w[:, np.newaxis, :], atol=within)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, rtol=within)
    for one, expected in zip(w, np.linalg.eigvals(a), strict=True):
        nearest = np.abs(one[:, np.newaxis] - expected).argmin(axis=0)
        assert sorted(nearest) == list(range(10)), "each is there once"
        np.testing.assert_allclose(one[nearest], expected, atol=10 * within)
    alone = gpu.eig(a, compute="values")
    np.testing.assert_allclose(alone.w.sum(axis=-1), np.trace(a, axis1=-2, axis2=-1), atol=within)
    assert (alone.v.dtype, alone.v.shape) == (complexes, (3, 10, 0))


def test_eig_names_the_matrix_of_a_stack_that_is_not_finite(gpu):
    a = np.stack([np.eye(4)] * 3)
    a[1, 2, 3] = np.nan
    with pytest.raises(RuntimeError, match="matrix 1 of the 3 in a .counted from 0. holds a NaN or an infinity"):
        gpu.eig(a)


@pytest.mark.parametrize("dtype", FLOATS)
def test_eigh(gpu, dtype):
    a = positive_definite(dtype, 10, 10)
    w, v = gpu.eigh(a)
    same(w, np.linalg.eigvalsh(a), within=100)
    same((v * w) @ v.T, a, within=200)
    alone = gpu.eigh(a, compute="values")
    same(alone.w, w, within=100)
    assert alone.v.shape == (10, 0)


@pytest.mark.parametrize("transform", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_fft(gpu, transform, dtype):
    x = numbers("float64", 3, 12).astype(dtype)
    if transform == "irfft" and not np.iscomplexobj(x) or transform == "rfft" and np.iscomplexobj(x):
        with pytest.raises((ValueError, TypeError), match=transform):
            gpu.fft(x, transform=transform)
        return
    if np.iscomplexobj(x):
        x = x + 1j * numbers("float64", 3, 12, seed=2).astype(x.real.dtype)
    single = dtype in ("float32", "complex64")
    as_numpy = getattr(np.fft, transform)(x)  # which computes in double precision
    result = as_numpy.dtype
    if single:
        result = np.dtype("complex64") if result.kind == "c" else np.dtype("float32")
    same(gpu.fft(x, transform=transform), as_numpy.astype(result), within=20)
    longer = getattr(np.fft, transform)(x, 20)
    same(gpu.fft(x, transform=transform, n=20), longer.astype(result), within=40)
    both = getattr(np.fft, transform + "2")(x, norm="ortho")
    same(gpu.fft(x, transform=transform, axes=2, norm="ortho"), both.astype(result), within=40)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_full(gpu, dtype):
    same(gpu.full(n=3, rows=2, value=7, dtype=dtype), np.full((2, 3), 7, dtype))
    same(gpu.full(n=3, rows=2, batch=4, dtype=dtype), np.zeros((4, 2, 3), dtype))


@pytest.mark.parametrize("key", ["int32", "int64"])
@pytest.mark.parametrize("value", NUMBERS)
def test_groupby_sum(gpu, key, value):
    keys, values = numbers(key, 500) // 10, numbers(value, 500, seed=2)
    expected, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    sums = np.zeros(len(expected), "int64" if value.startswith("int") else "float64")
    np.add.at(sums, place, values)
    got = gpu.groupby_sum(keys, values)
    same(got.unique_keys, expected)  # as many as there are, not as there could be
    same(got.counts, counts)
    same(got.sums, sums if value.startswith("int") else sums.astype(value), within=0 if value.startswith("int") else 60)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_histogram(gpu, dtype):
    x = numbers(dtype, 10, 100)
    counts, edges = gpu.histogram(x, bins=7)
    as_numpy, its_edges = np.histogram(x, bins=7)
    same(counts, as_numpy)
    # NumPy 2 computes edges in float32 where x is, the kernel (and NumPy 1) in float64, to round them.
    same(edges, its_edges.astype(floating(dtype)), within=2 if dtype == "float32" else 0)
    given = gpu.histogram(x, bins=4, range="given", low=-2, high=2)
    same(given.counts, np.histogram(x, bins=4, range=(-2, 2))[0])


def test_integrate2d(gpu):
    n, (x_min, x_max, y_min, y_max) = 64, (0.5, 2.0, -1.0, 3.0)
    value, error = gpu.integrate2d(n=n, x_min=x_min, x_max=x_max, y_min=y_min, y_max=y_max)
    middle = (np.arange(n) + 0.5) / n
    x, y = x_min + middle * (x_max - x_min), y_min + middle * (y_max - y_min)
    area = (x_max - x_min) * (y_max - y_min)
    assert isinstance(value, float) and np.ndim(value) == 0
    assert abs(value - np.sin(x + y[:, np.newaxis]).mean() * area) <= 1e-6 * area
    exact = np.sin(x_min + y_max) + np.sin(x_max + y_min) - np.sin(x_min + y_min) - np.sin(x_max + y_max)
    assert abs(error - abs(value - exact)) < 1e-12


@pytest.mark.parametrize("dtype", FLOATS)
def test_kmeans(gpu, dtype):
    rng = np.random.default_rng(5)
    corners = np.array([[0, 0], [10, 0], [0, 10]], dtype)
    belongs = rng.integers(0, 3, 300)
    points = corners[belongs] + rng.standard_normal((300, 2)).astype(dtype)
    got = gpu.kmeans(points, corners + 1, tolerance=0)
    same(got.labels, belongs.astype(np.int32))
    same(got.centroids, np.array([points[belongs == k].mean(axis=0) for k in range(3)]), within=10)
    assert got.inertia == pytest.approx(((points - got.centroids[got.labels]) ** 2).sum(dtype=np.float64), rel=1e-5)
    assert 1 <= got.iterations <= 300 and isinstance(got.iterations, (int, np.integer))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_linspace(gpu, dtype):
    same(gpu.linspace(stop=10, start=1, num=7, dtype=dtype), np.linspace(1, 10, 7, dtype=dtype))
    without_end = np.linspace(0, 10, 4, endpoint=False, dtype=dtype)
    same(gpu.linspace(stop=10, num=4, include_stop=False, dtype=dtype), without_end)


def mandelbrot_of_the_course(x_min, x_max, y_min, y_max, max_iterations, resolution):
    """The exercise's own loop: z starts at c."""
    counts = np.zeros((resolution, resolution), np.int32)
    for row, y in enumerate(np.linspace(y_min, y_max, resolution)):
        for column, x in enumerate(np.linspace(x_min, x_max, resolution)):
            c = complex(x, y)
            z = c
            for _ in range(max_iterations):
                if abs(z) < 2:
                    z = z**2 + c
                    counts[row, column] += 1
    return counts


@pytest.mark.parametrize("x_min, x_max, y_min, y_max, max_iterations, resolution", [
    (-2, 0.5, -1.25, 1.25, 50, 60), (-1.5, 0.75, -1, 1.5, 30, 40), (-3, 3, -3, 3, 20, 31), (0, 1, 0, 1, 1, 2), (3, 4, 0, 1, 5, 1)])
def test_mandelbrot(gpu, x_min, x_max, y_min, y_max, max_iterations, resolution):
    arguments = {"x_min": x_min, "x_max": x_max, "y_min": y_min, "y_max": y_max, "max_iterations": max_iterations,
                 "resolution": resolution}
    same(gpu.mandelbrot(**arguments), mandelbrot_of_the_course(**arguments))


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul(gpu, dtype):
    a, b = numbers(dtype, 3, 8, 20), numbers(dtype, 20, 5, seed=2)
    same(gpu.matmul(a, b), a @ b, within=40)
    same(gpu.matmul(a, b.T, transpose_b=True), a @ b, within=40)
    same(gpu.matmul(a.swapaxes(1, 2), b, transpose_a=True), a @ b, within=40)


@pytest.mark.parametrize("dtype", REAL + ("float16", "complex64", "complex128"))
def test_flatnonzero(gpu, dtype):
    x = few(dtype, 5, 70)
    same(gpu.flatnonzero(x), np.flatnonzero(x))
    same(gpu.flatnonzero(np.zeros(5, dtype)), np.zeros(0, "int64"))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_norm(gpu, dtype):
    x = numbers(dtype, 6, 11)
    wide = floating(dtype)
    for name, value in (("1", 1), ("2", 2), ("inf", np.inf), ("-inf", -np.inf)):
        same(gpu.norm(x, ord=name, axis="1"), np.linalg.norm(x, value, axis=1).astype(wide), within=8)
    same(gpu.norm(x, ord="p", p=3.5, axis="0"), np.linalg.norm(x.astype(float), 3.5, axis=0).astype(wide), within=8)
    same(gpu.norm(x, ord="fro", axis="matrices"), np.linalg.norm(x.astype(float)).astype(wide), within=8)
    same(gpu.norm(x, keepdims=True), np.linalg.norm(x.astype(float), keepdims=True).astype(wide), within=8)


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_pagerank(gpu, index):
    indptr, indices = np.array([0, 2, 3, 4, 4], index), np.array([1, 2, 2, 0], index)
    links = np.array([[0, 0.5, 0.5, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    rank = np.full(4, 0.25)
    for _ in range(200):
        rank = 0.9 * rank @ links + 0.1 / 4
    got = gpu.pagerank(indices, indptr, damping=0.9, tolerance=1e-10, max_iterations=500)
    np.testing.assert_allclose(got.rank, rank, rtol=1e-7)
    assert got.rank.dtype == np.float64 and 1 < got.iterations < 500


@pytest.mark.parametrize("dtype", NUMBERS)
def test_power_sum(gpu, dtype):
    x = numbers(dtype, 4, 9)
    same(gpu.power_sum(x), x + x**2 + x**3, within=0 if dtype.startswith("int") else 8)


@pytest.mark.parametrize("dtype", FLOATS)
def test_qr(gpu, dtype):
    a = numbers(dtype, 2, 9, 5)
    for mode in ("reduced", "complete"):
        q, r = gpu.qr(a, mode=mode)
        expected = np.linalg.qr(a[0], mode=mode)
        assert (q.shape[1:], r.shape[1:]) == (expected[0].shape, expected[1].shape)
        same(q @ r, a, within=200)
        same(np.tril(r, -1), np.zeros_like(r))


def test_random(gpu):
    uniform = gpu.random(n=4000, seed=3)
    assert uniform.dtype == np.float64 and 0 <= uniform.min() and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.03
    same(gpu.random(n=1000, seed=3), uniform[:1000])  # the longer one begins with the shorter one
    assert (gpu.random(n=1000, seed=4) != uniform[:1000]).any()
    normal = gpu.random(n=40, rows=50, batch=2, distribution="normal", dtype="float32", seed=1)
    assert (normal.dtype, normal.shape) == (np.float32, (2, 50, 40)) and abs(normal.std() - 1) < 0.05
    dice = gpu.random(n=600, distribution="integers", low=1, high=7)
    assert dice.dtype == np.int64 and set(dice.tolist()) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_reduce(gpu, dtype):
    x = numbers(dtype, 5, 6, 7)
    exact = dtype.startswith("int")
    for operation in ("sum", "min", "max", "argmin", "argmax", "mean", "std"):
        as_numpy = getattr(np, operation)
        bits = operation in ("min", "max", "argmin", "argmax") or exact and operation == "sum"
        same(gpu.reduce(x, operation=operation, axis="1"), as_numpy(x, axis=1), within=0 if bits else 20)
        same(gpu.reduce(x, operation=operation), as_numpy(x), within=0 if bits else 400)
    small = x[:1, :2, :3]
    same(gpu.reduce(small, operation="prod", keepdims=True), np.prod(small, keepdims=True), within=0 if exact else 20)
    same(gpu.reduce(x, operation="std", ddof=1, axis="-1"), np.std(x, ddof=1, axis=-1), within=20)


@pytest.mark.parametrize("dtype", NUMBERS + ("uint32", "uint64", "complex64", "complex128"))
def test_scan(gpu, dtype):
    x = few(dtype, 5, 6, 7)
    within = 0 if np.dtype(dtype).kind in "iu" else 400
    same(gpu.scan(x, axis=1), np.cumsum(x, axis=1, dtype=dtype), within=within)
    same(gpu.scan(x), np.cumsum(x, dtype=dtype), within=within)
    same(gpu.scan(x, operation="prod", axis=-1), np.cumprod(x, axis=-1, dtype=dtype), within=within)
    longer = gpu.scan(x, axis=0, include_initial=True)
    same(longer[1:], np.cumsum(x, axis=0, dtype=dtype), within=within)
    assert not longer[0].any()


@pytest.mark.parametrize("dtype", REAL)
def test_searchsorted(gpu, dtype):
    v, x = np.sort(few(dtype, 60)), few(dtype, 3, 4, seed=2)
    for side in ("left", "right"):
        same(gpu.searchsorted(v, x, side=side), np.searchsorted(v, x, side=side))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_selu(gpu, dtype):
    x = numbers(dtype, 8, 9)
    wide = x.astype(np.float64)
    expected = 1.1 * np.where(wide > 0, wide, 1.5 * np.expm1(wide))
    same(gpu.selu(x, alpha=1.5, lambda_=1.1), expected.astype(floating(dtype)), within=12)


@pytest.mark.parametrize("dtype", FLOATS)
def test_slogdet(gpu, dtype):
    a = numbers(dtype, 3, 9, 9)
    got, (sign, logabsdet) = gpu.slogdet(a), np.linalg.slogdet(a)
    same(got.sign, sign)
    same(got.logabsdet, logabsdet, within=4000)


@pytest.mark.parametrize("dtype", FLOATS)
def test_solve(gpu, dtype):
    a = positive_definite(dtype, 2, 9, 9)
    b = numbers(dtype, 2, 9, 3, seed=2)
    same(gpu.solve(a, b), np.linalg.solve(a, b), within=200)
    same(gpu.solve(a[0], b), np.linalg.solve(a[0], b), within=200)  # one matrix for a stack of right-hand sides
    one = gpu.solve(a[0], b[0, :, 0])
    same(one, np.linalg.solve(a[0], b[0, :, :1])[:, 0], within=200)


@pytest.mark.parametrize("dtype", REAL)
def test_sort(gpu, dtype):
    x = few(dtype, 4, 50)
    same(gpu.sort(x), np.sort(x))
    same(gpu.sort(x, descending=True), np.sort(x)[:, ::-1])


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", ["float32", "int64"])
def test_sort_by_key(gpu, key, value):
    keys, values = np.round(numbers(key, 3, 60)), np.arange(180).reshape(3, 60).astype(value)
    order = np.argsort(keys, kind="stable")
    got = gpu.sort_by_key(keys, values)
    same(got.sorted_keys, np.sort(keys) + np.zeros((), key))
    same(got.sorted_values, np.take_along_axis(values, order, axis=-1))


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_spmv(gpu, dtype, index):
    rng = np.random.default_rng(4)
    dense = numbers(dtype, 20, 30) * (rng.random((20, 30)) < 0.2)
    rows, columns = np.nonzero(dense)
    indptr = np.searchsorted(rows, np.arange(21)).astype(index)
    x = numbers(dtype, 30, seed=3)
    same(gpu.spmv(dense[rows, columns], columns.astype(index), indptr, x), dense @ x, within=40)


@pytest.mark.parametrize("dtype", FLOATS)
def test_svd(gpu, dtype):
    a = numbers(dtype, 2, 9, 5)
    u, s, vt = gpu.svd(a, full_matrices=False)
    same(s, np.linalg.svd(a, compute_uv=False), within=60)
    same((u * s[:, np.newaxis]) @ vt, a, within=100)
    assert [part.shape for part in gpu.svd(a)] == [(2, 9, 9), (2, 5), (2, 5, 5)]
    assert gpu.svd(a, compute="values").u.shape == (2, 9, 0)


def test_transfer_probe(gpu):
    rates = gpu.transfer_probe(bytes=1 << 16)
    assert rates.shape == (3,) and rates.dtype == np.float64 and (rates > 0).all() and np.isfinite(rates).all()
    assert gpu.transfer_probe(bytes=4096, direction="device_to_device").shape == (1,)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_trig_identity(gpu, dtype):
    same(gpu.trig_identity(numbers(dtype, 7, 8)), np.ones((7, 8), floating(dtype)), within=16)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_vector_add(gpu, dtype):
    a, b = numbers(dtype, 4, 1, 6), numbers(dtype, 5, 1, seed=2)
    same(gpu.vector_add(a, b), a + b)
    same(gpu.vector_add(a, a.dtype.type(3)), a + a.dtype.type(3))


# SciPy: another implementation (LAPACK's other drivers, pocketfft, sparse matrices), and what its users come from.


def scipy(module):
    """scipy.MODULE; the test is skipped where it is not installed (deploy/install-deps.sh --tests installs it)."""
    return pytest.importorskip(f"scipy.{module}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_matrix_of_scipy_is_multiplied_as_it_is(gpu, dtype):
    m = scipy("sparse").random(200, 300, 0.05, format="csr", dtype=dtype, random_state=1)
    x = numbers(dtype, 300, seed=2)
    assert m.indices.dtype == m.indptr.dtype == np.int32
    same(gpu.spmv(m.data, m.indices, m.indptr, x), m @ x, within=40)
    shuffled = m[:, np.random.default_rng(3).permutation(300)]
    with pytest.raises(RuntimeError, match=r"as SciPy's sort_indices\(\) puts them"):
        gpu.spmv(shuffled.data, shuffled.indices, shuffled.indptr, x)
    shuffled.sort_indices()
    same(gpu.spmv(shuffled.data, shuffled.indices, shuffled.indptr, x), shuffled @ x, within=40)


@pytest.mark.parametrize("dtype", FLOATS)
def test_factors_and_solutions_are_scipys(gpu, dtype):
    linalg = scipy("linalg")
    a, b = positive_definite(dtype, 30, 30), numbers(dtype, 30, 4, seed=2)
    same(gpu.cholesky(a), linalg.cholesky(a, lower=True), within=60)
    same(gpu.solve(a, b), linalg.cho_solve(linalg.cho_factor(a), b), within=400)
    general = a + numbers(dtype, 30, 30, seed=3)
    same(gpu.solve(general, b), linalg.lu_solve(linalg.lu_factor(general), b), within=400)
    same(gpu.svd(general).s, linalg.svd(general, compute_uv=False, lapack_driver="gesvd"), within=100)


@pytest.mark.parametrize("dtype", FLOATS)
def test_eigenvectors_are_scipys_up_to_their_sign(gpu, dtype):
    a = positive_definite(dtype, 20, 20)
    w, v = scipy("linalg").eigh(a, driver="evr")
    got = gpu.eigh(a)
    same(got.w, w, within=200)
    same(got.v * np.sign((got.v * v).sum(axis=0)), v, within=4000)


@pytest.mark.parametrize("transform", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_transforms_are_scipys_in_single_precision_too(gpu, transform, dtype):
    theirs = getattr(scipy("fft"), transform)
    x = numbers(dtype, 3, 60)
    if transform != "rfft":
        x = x + 1j * numbers(dtype, 3, 60, seed=2)
    for options in ({}, {"n": 77}, {"norm": "ortho"}):
        same(gpu.fft(x, transform=transform, **options), theirs(x, **options), within=30)


def test_ranks_solve_their_equation(gpu):
    graph = scipy("sparse").random(80, 80, 0.03, format="csr", random_state=4)
    edges = np.diff(graph.indptr)
    assert (edges == 0).any(), "some nodes have no edge out"
    got = gpu.pagerank(graph.indices, graph.indptr, tolerance=1e-14, max_iterations=1000)
    links = scipy("sparse").diags(1 / np.maximum(edges, 1)) @ (graph != 0)
    unscaled = scipy("sparse.linalg").spsolve((scipy("sparse").identity(80) - 0.85 * links.T).tocsc(), np.ones(80))
    np.testing.assert_allclose(got.rank, unscaled / unscaled.sum(), rtol=1e-9)


def test_clusters_are_scipys(gpu):
    points = numbers("float64", 500, 3)
    centroids, labels = scipy("cluster.vq").kmeans2(points, points[:5], iter=300, minit="matrix")
    got = gpu.kmeans(points, points[:5], tolerance=0)
    same(got.centroids, centroids, within=20)
    same(got.labels, labels.astype("int32"))


def test_an_integral_is_scipys(gpu):
    value, _ = scipy("integrate").dblquad(lambda y, x: np.sin(x + y), 0.5, 2.0, -1.0, 3.0)
    assert gpu.integrate2d(n=4000, x_min=0.5, x_max=2.0, y_min=-1.0, y_max=3.0).value == pytest.approx(value, abs=1e-5)


# Parameters.


def test_parameters_as_numpy_spells_them(gpu):
    x = numbers("float64", 3, 4)
    same(gpu.reduce(x, axis=1), x.sum(axis=1), within=20)
    same(gpu.reduce(x, axis=-2, keepdims=np.bool_(True)), x.sum(axis=-2, keepdims=True), within=20)
    same(gpu.reduce(x, axis=None), x.sum(), within=40)
    same(gpu.norm(x, ord=np.inf, axis=0), np.abs(x).max(axis=0))
    same(gpu.norm(x, ord=-np.inf), np.abs(x).sum(axis=1).min(), within=20)
    same(gpu.norm(x, ord=-np.inf, axis=0), np.abs(x).min(axis=0))
    same(gpu.norm(x, ord=1, axis=np.int64(1)), np.abs(x).sum(axis=1), within=20)
    same(gpu.arange(stop=5, dtype=np.float32), np.arange(5, dtype="float32"))
    same(gpu.full(n=np.int32(3), value=np.float32(2), dtype=np.dtype("int64")), np.full(3, 2))
    same(gpu.full(n=2, value=True, dtype=int), np.ones(2, int))


@pytest.mark.parametrize("call, error, says", [
    (lambda gpu: gpu.full(), TypeError, ["full", "n"]),
    (lambda gpu: gpu.full(n=-1), ValueError, ["n", "-1", "0"]),
    (lambda gpu: gpu.full(n=2.5), (TypeError, ValueError), ["n", "2.5"]),
    (lambda gpu: gpu.full(n=2, value=np.nan), ValueError, ["value", "nan"]),
    (lambda gpu: gpu.full(n=2, dtype="int8"), ValueError, ["dtype", "int8", "int32"]),
    (lambda gpu: gpu.full(n=2, size=3), TypeError, ["full", "size"]),
    (lambda gpu: gpu.reduce([1.0], operation="median"), ValueError, ["operation", "median", "mean"]),
    (lambda gpu: gpu.reduce([1.0], axis=3), ValueError, ["axis", "3"]),
    (lambda gpu: gpu.reduce([1.0], axis=99), ValueError, ["axis", "99"]),
    (lambda gpu: gpu.reduce([1.0], operation="mean", ddof=1), ValueError, ["ddof", "1", "std", "mean"]),
    (lambda gpu: gpu.norm([1.0], p=1), ValueError, ["p", "1", "ord"]),
    (lambda gpu: gpu.norm(), TypeError, ["norm", "x"]),
    (lambda gpu: gpu.norm([1.0], [2.0]), TypeError, ["ord", "[2.0]"]),
    (lambda gpu: gpu.matmul([[1.0]]), TypeError, ["matmul", "b"]),
])
def test_what_a_parameter_may_not_be_is_said(gpu, call, error, says):
    with pytest.raises(error) as refused:
        call(gpu)
    for word in says:
        assert word in str(refused.value)


def test_a_product_that_leaves_the_range_only_within_a_block(gpu):
    x = np.full(140_000, 10.0)
    x[0] = 0
    assert not gpu.scan(x, operation="prod").any()
    x = np.where(np.arange(140_000) % 2, 10.0, 0.1)
    x[40_000:40_400], x[100_000:100_400] = 1e-3, 1e3  # to 1e-1200 and back: 0 stays 0, as in NumPy
    np.testing.assert_array_equal(gpu.scan(x, operation="prod") == 0, np.cumprod(x) == 0)


def test_a_complex_infinity_that_is_first_stays(gpu):
    x = np.array([complex(np.inf, 0), 2])
    assert gpu.scan(x, operation="prod")[0] == x[0]
