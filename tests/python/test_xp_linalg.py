"""hotplate.xp.linalg and hotplate.xp.fft beside NumPy's, of real and complex numbers and stacks."""

import hotplate.xp as xp
import numpy as np
import pytest
from array_checks import same

RNG = np.random.default_rng(5)
R = RNG.normal(size=(2, 4, 4))
C = R + 1j * RNG.normal(size=(2, 4, 4))
H = C + C.conj().swapaxes(-1, -2)
H[1] = np.eye(4)  # all eigenvalues are equal
TALL, WIDE = C[:, :, :3], C[:, :3]
I = RNG.integers(-9, 9, (2, 3, 4))


def dagger(x):
    return x.conj().swapaxes(-1, -2)


@pytest.mark.parametrize("x", [R, C], ids=["real", "complex"])
def test_functions_of_square_matrices(gpu, x):
    on = xp.asarray(x)
    same(xp.linalg.det(on), np.linalg.det(x))
    sign, logabsdet = xp.linalg.slogdet(on)
    expected = np.linalg.slogdet(x)
    same(sign, expected[0]), same(logabsdet, expected[1])
    same(xp.linalg.inv(on), np.linalg.inv(x))
    same(xp.linalg.solve(on, xp.ones((2, 4, 3))), np.linalg.solve(x, np.ones((2, 4, 3), x.dtype)))
    same(xp.linalg.solve(on, xp.ones(4)), np.stack([np.linalg.solve(one, np.ones(4)) for one in x]))
    same(xp.linalg.matrix_power(on, 5), np.linalg.matrix_power(x, 5))
    same(xp.linalg.matrix_power(on, -2), np.linalg.matrix_power(x, -2), rtol=1e-4)
    same(xp.linalg.trace(on, offset=1), np.trace(x, 1, -2, -1))
    same(xp.linalg.eigvalsh(xp.asarray(x + dagger(x))), np.linalg.eigvalsh(x + dagger(x)))
    positive = x @ dagger(x)
    same(xp.linalg.cholesky(xp.asarray(positive)), np.linalg.cholesky(positive))
    same(xp.linalg.cholesky(xp.asarray(positive), upper=True), dagger(np.linalg.cholesky(positive)))


@pytest.mark.parametrize("x", [H, H.real.copy()], ids=["complex", "real"])
def test_eigenvectors(gpu, x):
    w, v = (part.numpy() for part in xp.linalg.eigh(xp.asarray(x)))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(x), atol=1e-12)
    np.testing.assert_allclose(x @ v, v * w[:, None, :], atol=1e-12)
    np.testing.assert_allclose(dagger(v) @ v, np.broadcast_to(np.eye(4), v.shape), atol=1e-12)


@pytest.mark.parametrize("x", [R, C, R.astype("float32"), C.astype("complex64"), H.real.copy(), I[:, :3, :3], np.triu(R), np.roll(np.eye(5), 1, 0)],
                         ids=["real", "complex", "float32", "complex64", "symmetric", "integers", "triangular", "cycle"])
def test_eigenvectors_of_any_square_matrices(gpu, x):
    result = xp.linalg.eig(xp.asarray(x))
    w, v = result.eigenvalues.numpy(), result.eigenvectors.numpy()
    single = x.dtype in ("float32", "complex64")
    assert w.dtype == v.dtype == ("complex64" if single else "complex128"), "also where all of them are real"
    assert (w.shape, v.shape) == (x.shape[:-1], x.shape)
    atol = 1e-4 if single else 1e-11
    np.testing.assert_allclose(x @ v, v * w[..., None, :], atol=atol)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, rtol=atol)
    alone = xp.linalg.eigvals(xp.asarray(x)).numpy()
    assert (alone.dtype, alone.shape) == (w.dtype, w.shape)
    for values in (w, alone):
        for one, expected in zip(values.reshape(-1, w.shape[-1]), np.linalg.eigvals(x).reshape(-1, w.shape[-1]), strict=True):
            distances = np.abs(one[:, None] - expected)
            for place in range(len(one)):  # one after the other, since some are equal
                nearest = distances[:, place].argmin()
                assert distances[nearest, place] < atol
                distances[nearest] = np.inf


@pytest.mark.parametrize("axes", [7, 8])
def test_complex_matrices_of_as_many_axes_as_there_can_be(gpu, axes):
    """They were refused as having two more."""
    x = C[:, :2, :2].reshape((2,) + (1,) * (axes - 3) + (2, 2))
    same(xp.linalg.solve(xp.asarray(x), xp.ones(2)), np.linalg.solve(x, np.ones((*x.shape[:-1], 1)))[..., 0])
    same(xp.linalg.inv(xp.asarray(x)), np.linalg.inv(x))
    same(xp.linalg.svdvals(xp.asarray(x)), np.linalg.svd(x, compute_uv=False))


def test_numpys_eig_of_arrays_is_the_standards(gpu):
    """Complex, also where NumPy's own would be real."""
    x = np.array([[0.0, -1.0], [1.0, 0.0]])
    w, v = np.linalg.eig(xp.asarray(x))
    np.testing.assert_allclose(x @ v.numpy(), v.numpy() * w.numpy())
    same(np.linalg.eigvals(xp.asarray(x)), [1j, -1j])
    same(np.linalg.eigvals(xp.eye(2)), [1 + 0j, 1 + 0j])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_eigenvalues_of_what_is_not_finite_fail(gpu, bad):
    x = np.stack([np.eye(2), np.full((2, 2), bad)])
    for function in (xp.linalg.eig, xp.linalg.eigvals):
        with pytest.raises(RuntimeError, match="matrix 1 of the 2 in a .counted from 0. holds a NaN or an infinity"):
            function(xp.asarray(x))


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("x", [R, C, TALL, WIDE, np.stack([TALL[0] * 0, TALL[0][:, [0, 0, 1]]])], ids=["real", "complex", "tall", "wide", "singular"])
def test_factors_multiply_to_the_matrix(gpu, x, full):
    u, s, vh = (part.numpy() for part in xp.linalg.svd(xp.asarray(x), full_matrices=full))
    expected = np.linalg.svd(x, full_matrices=full)
    assert (u.shape, s.shape, vh.shape) == tuple(part.shape for part in expected)
    np.testing.assert_allclose(s, expected[1], atol=1e-12)
    count = s.shape[-1]
    np.testing.assert_allclose((u[..., :count] * s[..., None, :]) @ vh[..., :count, :], x, atol=1e-12)
    for part in (dagger(u) @ u, vh @ dagger(vh)):
        np.testing.assert_allclose(part, np.broadcast_to(np.eye(part.shape[-1]), part.shape), atol=1e-12)
    q, r = (part.numpy() for part in xp.linalg.qr(xp.asarray(x), mode="complete" if full else "reduced"))
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    np.testing.assert_allclose(dagger(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (len(x), q.shape[-1], q.shape[-1])), atol=1e-12)
    np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.parametrize("x", [R, TALL, WIDE, TALL[:, :, [0, 0, 1]]], ids=["real", "tall", "wide", "singular"])
def test_of_any_matrices(gpu, x):
    on = xp.asarray(x)
    same(xp.linalg.pinv(on), np.linalg.pinv(x), rtol=1e-4)
    same(xp.linalg.matrix_rank(on), np.linalg.matrix_rank(x))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        np.testing.assert_allclose(xp.linalg.matrix_norm(on, ord=order).numpy(), np.linalg.norm(x, order, (-2, -1)), atol=1e-12)
    for order in (0, 1, 2, 3.5, np.inf, -np.inf):
        same(xp.linalg.vector_norm(on, axis=-1, ord=order), np.linalg.norm(x, order, -1).astype(float))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "float32", "float64", "complex64", "complex128"])
def test_products_of_every_dtype(gpu, dtype):
    a, b = (np.abs(value).astype(dtype) if dtype == "uint64" else value.astype(dtype) for value in (I, I.swapaxes(-1, -2)))
    x, y = xp.asarray(a), xp.asarray(b)
    same(xp.matmul(x, y), a @ b)
    same(x @ y, a @ b)
    same(xp.matmul(x[0], y[0, :, 0]), a[0] @ b[0, :, 0])
    same(xp.matmul(x[0, 0], y), a[0, 0] @ b)
    same(xp.tensordot(x, y, axes=((2, 0), (1, 0))), np.tensordot(a, b, ((2, 0), (1, 0))))
    same(xp.tensordot(x, y, axes=0), np.tensordot(a, b, 0))
    same(xp.vecdot(x, x), (a.conj() * a).sum(-1, dtype=dtype))
    same(xp.linalg.outer(x[0, 0], y[0, 0]), np.outer(a[0, 0], b[0, 0]))
    same(xp.linalg.cross(x[..., :3], x[..., 1:]), np.cross(a[..., :3], a[..., 1:]))
    same(xp.linalg.cross(x[:, :, 0], x[:, :, 1], axis=-1), np.cross(a[:, :, 0], a[:, :, 1]))


def test_empty_matrices(gpu):
    none = xp.zeros((2, 0, 0))
    assert xp.linalg.det(none).tolist() == [1, 1] and xp.linalg.inv(none).shape == (2, 0, 0)
    for made in (*xp.linalg.eig(none), xp.linalg.eigvals(none)):
        assert made.dtype == xp.complex128 and made.shape in ((2, 0), (2, 0, 0))
    assert [part.shape for part in xp.linalg.svd(xp.zeros((0, 3)))] == [(0, 0), (0,), (3, 3)]
    assert [part.shape for part in xp.linalg.qr(xp.zeros((3, 0)), mode="complete")] == [(3, 3), (3, 0)]
    same(xp.matmul(xp.zeros((2, 0)), xp.zeros((0, 3))), np.zeros((2, 3)))


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: xp.linalg.det(xp.zeros((2, 3))), ValueError, "square"), (lambda: xp.linalg.svd(xp.zeros(3)), ValueError, "matrices"),
    (lambda: xp.matmul(xp.zeros((2, 3)), xp.zeros((2, 3))), ValueError, "inner sizes"), (lambda: xp.matmul(xp.asarray(1), xp.zeros(3)), ValueError, "no axes"),
    (lambda: xp.linalg.cross(xp.zeros(2), xp.zeros(2)), ValueError, "three"), (lambda: xp.linalg.qr(xp.eye(2), mode="raw"), ValueError, "'raw'"),
    (lambda: xp.linalg.eig(xp.zeros((2, 3))), ValueError, "eig is of square"), (lambda: xp.linalg.eigvals(xp.zeros(3)), ValueError, "eigvals is of matrices"), (lambda: xp.linalg.matrix_norm(xp.eye(2), ord=3), ValueError, "ord is 3"),
    (lambda: xp.vecdot(xp.zeros(2), xp.zeros(3)), ValueError, "differ"), (lambda: xp.tensordot(xp.zeros(2), xp.zeros(2), axes=2), ValueError, "axes"),
    (lambda: xp.fft.fft(xp.zeros(3), n=0), ValueError, "data points"), (lambda: xp.fft.fft(xp.zeros(3), norm="all"), ValueError, "'all'"),
    (lambda: xp.fft.rfft(xp.asarray(C)), TypeError, "complex128"),
])
def test_what_is_wrong_is_refused_by_name(gpu, call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms(gpu, norm):
    for name, x in (("fft", C), ("ifft", C), ("rfft", R), ("irfft", C), ("hfft", C), ("ihfft", R), ("fft", R)):
        for options in ({}, {"n": 6}, {"axis": 0}, {"n": 3, "axis": 1}):
            same(getattr(xp.fft, name)(xp.asarray(x), norm=norm, **options), getattr(np.fft, name)(x, norm=norm, **options))
    for name, x in (("fftn", C), ("ifftn", C), ("rfftn", R), ("irfftn", C)):
        for options in ({}, {"axes": (0, 2)}, {"s": (3, 6), "axes": (1, 2)}):
            same(getattr(xp.fft, name)(xp.asarray(x), norm=norm, **options), getattr(np.fft, name)(x, norm=norm, **options))


def test_frequencies(gpu):
    for count in (1, 7, 8):
        same(xp.fft.fftfreq(count, d=0.5), np.fft.fftfreq(count, 0.5))
        same(xp.fft.rfftfreq(count), np.fft.rfftfreq(count))
    same(xp.fft.fftshift(xp.asarray(R)), np.fft.fftshift(R))
    same(xp.fft.ifftshift(xp.asarray(R), axes=1), np.fft.ifftshift(R, 1))


def test_norms_of_integers_are_floats(gpu):
    """Their squares and sums overflowed in their own dtype."""
    small, large = np.array([100, -128], np.int8), np.array([2**63, 3], np.uint64)
    for order in (0, 1, 2, 3, np.inf, -np.inf):
        same(np.linalg.vector_norm(xp.asarray(small), ord=order) if hasattr(np.linalg, "vector_norm") else xp.linalg.vector_norm(xp.asarray(small), ord=order),
             np.linalg.norm(small.astype(float), order))
        same(xp.linalg.vector_norm(xp.asarray(large), ord=order), np.linalg.norm(large.astype(float), order))
    same(xp.linalg.vector_norm(xp.asarray(np.int8(-128))), np.array(128.0))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        same(xp.linalg.matrix_norm(xp.asarray(np.stack([small, small[::-1]])), ord=order), np.linalg.norm(np.stack([small, small[::-1]]).astype(float), order))


@pytest.mark.parametrize("power", [0, 1, 2, 5, 7])
def test_powers_of_integers_are_exact(gpu, power):
    """They were those of float64."""
    for x in (np.array([[1, 2**9], [3, 2**8]]), np.array([[1, 2], [3, 4]], np.int8), np.array([[[1, 1], [0, 1]]], np.uint64), np.array([[True, True], [False, True]])):
        same(np.linalg.matrix_power(xp.asarray(x), power), np.linalg.matrix_power(x, power))


def test_negative_powers_of_integers_are_floats(gpu):
    same(xp.linalg.matrix_power(xp.asarray(np.array([[1, 2], [3, 4]], np.int8)), -1), [[-2.0, 1.0], [1.5, -0.5]])


def test_only_the_lower_triangle_of_hermitian_matrices_is_read(gpu):
    """The imaginary parts of the diagonal count as 0, as in LAPACK."""
    x = np.array([[1 + 0.5j, 9], [2j, 3 + 0.5j]])
    same(xp.linalg.eigvalsh(xp.asarray(x)), 2 + np.array([-1, 1]) * np.sqrt(5))
    w, v = xp.linalg.eigh(xp.asarray(x))
    same(w, 2 + np.array([-1, 1]) * np.sqrt(5))
    np.testing.assert_allclose((v.numpy() * w.numpy()) @ dagger(v.numpy()), [[1, -2j], [2j, 3]], atol=1e-12)
    x[1, 1] = 8 + 0.5j
    same(xp.linalg.cholesky(xp.asarray(x)), [[1, 0], [2j, 2]])


@pytest.mark.parametrize("x", [[[np.nan, 1], [1, 2]], [[-1.0, 2], [np.nan, 3]], [[1, 2, 3], [4, np.nan, 6], [7, 8, 9]]])
def test_determinants_of_nan_are_nan(gpu, x):
    assert all(np.isnan(part.item()) for part in (*xp.linalg.slogdet(xp.asarray(x)), xp.linalg.det(xp.asarray(x))))


def test_ranks_as_numpy_asks_for_them(gpu):
    x = np.stack([np.eye(3), np.ones((3, 3))])
    same(np.linalg.matrix_rank(xp.asarray(x)), [3, 1])
    same(np.linalg.matrix_rank(xp.asarray(x), 2.0), [0, 1])
    same(np.linalg.matrix_rank(xp.asarray(x), tol=[0.5, 4.0]), [3, 0])
    same(np.linalg.matrix_rank(xp.ones(3)), 1)
