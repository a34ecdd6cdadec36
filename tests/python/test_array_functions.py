"""NumPy's functions over arrays on the daemon, and hotplate.xp."""

import itertools

import hotplate as hp
import numpy as np
import pytest
from array_checks import X, as_numpy_2, nothing_is_left, outcome, same  # noqa: F401
from hotplate import namespace
from hotplate.array_functions import FUNCTIONS


def test_what_else_numpy_calls(gpu):
    a, b = X, X[::-1] * 0.3
    A, B = gpu.array(a), gpu.array(b)
    same(np.where(A > 3, A, B), np.where(a > 3, a, b))
    same(np.where(a > 3, A, 0), np.where(a > 3, a, 0))
    same(np.clip(A, 2, 7.5), np.clip(a, 2, 7.5))
    same(A.clip(max=4), a.clip(max=4))
    same(np.round(A / 7, 2), np.round(a / 7, 2))
    same((A * 10).round(-1), (a * 10).round(-1))
    assert round(A.sum()) == round(a.sum()) and f"{A.mean():.2f}" == f"{a.mean():.2f}"
    same(np.isclose(A, B), np.isclose(a, b))
    assert np.allclose(A, a) and not np.allclose(A, B) and np.array_equal(A, a) and not np.array_equal(A, b[0])
    for function in (np.zeros_like, np.ones_like):
        same(function(A), function(a))
        same(function(A, dtype="int8"), function(a, dtype="int8"))
    same(np.full_like(A, 7), np.full_like(a, 7))
    same(np.concatenate([A, B, A[:0]], axis=1 - 1), np.concatenate([a, b], axis=0))
    same(np.concatenate([A, b, A[:, :, 1:]], axis=2), np.concatenate([a, b, a[:, :, 1:]], axis=2))
    same(np.concatenate([A, B], axis=None), np.concatenate([a, b], axis=None))
    same(np.stack([A, B], axis=1), np.stack([a, b], axis=1))
    same(np.vstack([A[0, 0], B[0, 0]]), np.vstack([a[0, 0], b[0, 0]]))
    same(np.hstack([A[0, 0], B[0, 0]]), np.hstack([a[0, 0], b[0, 0]]))
    same(np.outer(A[0, 0], B[0, 0]), np.outer(a[0, 0], b[0, 0]))
    same(np.add.outer(A[0, 0], B[0, 0]), np.add.outer(a[0, 0], b[0, 0]))
    same(np.add.reduce(A), np.add.reduce(a))
    same(np.nan_to_num(np.log(A - A)), np.nan_to_num(np.log(a - a)))
    same(np.count_nonzero(A > 5, axis=0), np.count_nonzero(a > 5, axis=0))
    for got, expected in zip(np.split(A, 2, axis=2), np.split(a, 2, axis=2)):
        same(got, expected)
    same(np.multiply(A, 2, dtype="float32"), np.multiply(a, 2, dtype="float32"))
    for got, expected in zip(divmod(A, 4), divmod(a, 4)):
        same(got, expected)
    assert (np.shape(A), np.ndim(A), np.size(A)) == (a.shape, 3, 24)
    z = a + 1j * b
    Z = gpu.array(z)
    same(Z.real, z.real), same(Z.imag, z.imag), same(Z.conj(), z.conj()), same(np.abs(Z), np.abs(z)), same(np.real(Z), z.real)
    same(A.imag, a.imag)
    assert A.real is A


def test_nan_to_num(gpu):
    parts = [np.nan, np.inf, -np.inf, 1.5]
    z = np.array([complex(a, b) for a in parts for b in parts])
    for data in (z, z.astype("complex64"), z.real, z.real.astype("float32"), np.arange(3), np.array([True])):
        same(np.nan_to_num(gpu.array(data)), np.nan_to_num(data))
        same(np.nan_to_num(gpu.array(data), nan=2, posinf=7, neginf=-7), np.nan_to_num(data, nan=2, posinf=7, neginf=-7))
        A, a = gpu.array(data), data.copy()
        assert np.nan_to_num(A, copy=False) is A
        np.nan_to_num(a, copy=False)
        same(A, a)


def check(ours, theirs):
    """Both give the same, or refuse by the same kind of error."""
    expected, error = outcome(theirs)
    got, refused = outcome(ours)
    if error is not None:
        assert isinstance(refused, next(kind for kind in (TypeError, OverflowError, ValueError) if isinstance(error, kind))), refused
    else:
        assert refused is None, refused
        same(got, expected)


@pytest.mark.parametrize("options", [{}, {"dtype": "int8"}, {"dtype": "int8", "casting": "unsafe"}, {"casting": "no"}, {"casting": "safe"}, {"casting": "equiv"},
                                     {"dtype": "float64", "casting": "safe"}], ids=str)
@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.vstack, np.hstack], ids=lambda join: join.__name__)
def test_joined_arrays_are_cast_as_numpy_does(gpu, join, options):
    for dtypes in (("float64", "float64"), ("int8", "float32"), ("int64", "int8")):
        arrays = [np.arange(3).astype(dtype) for dtype in dtypes]
        check(lambda: join([gpu.array(one) for one in arrays], **options), lambda: join(arrays, **options))


def test_joined_arrays_have_an_out(gpu):
    a = np.arange(3.0)
    A, out = gpu.array(a), gpu.array(np.zeros(6, "float32"))
    assert np.concatenate([A, A], out=out) is out
    same(out, np.concatenate([a, a]).astype("float32"))
    small = gpu.array(np.zeros(6, "int8"))
    for given in ({"out": small}, {"out": out, "dtype": "float32"}):
        with pytest.raises(TypeError):
            np.concatenate([A, A], **given)
    with pytest.raises((ValueError, IndexError), match="axis 3"):
        np.concatenate([A], axis=3)
    assert np.concatenate([A, A], out=small, casting="unsafe") is small
    same(small, np.concatenate([a, a]).astype("int8"))


@pytest.mark.parametrize("casting", ["same_kind", "safe", "unsafe", "no"])
def test_copyto_casts_as_numpy_does(gpu, casting):
    sources = [np.arange(3.0), np.arange(3), np.arange(3, dtype="float32"), np.array([1j, 2, 3]), 2, True, [1, 2, 3]]
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        sources += [2.5, 1j]  # before, whether a number is cast depended on its value
    for dtype, source in itertools.product(("int8", "float32", "float64", "bool"), sources):
        if casting == "unsafe" and (source is sources[3] or type(source) is complex):
            continue  # imaginary parts are not dropped in silence

        def copied(to):
            np.copyto(to, gpu.array(source) if isinstance(source, np.ndarray) and isinstance(to, hp.Array) else source, casting)
            return to

        check(lambda: copied(gpu.array(np.zeros(3, dtype))), lambda: copied(np.zeros(3, dtype)))
    A, a, mask = gpu.array(np.arange(4)), np.arange(4), np.array([True, False, False, True])
    np.copyto(A, gpu.array(np.float64(2.5)), "unsafe", where=mask)
    np.copyto(a, np.float64(2.5), "unsafe", where=mask)
    same(A, a)


def test_functions_have_an_out(gpu):
    a, z = X % 7, X[0, 0] + 1j
    A, Z = gpu.array(a), gpu.array(z)
    for call in (lambda a, out: np.ptp(a, axis=0, out=out), lambda a, out: np.sum(a, axis=0, out=out), lambda a, out: np.clip(a[0], 2, 3, out=out)):
        out, expected = gpu.array(np.zeros((3, 4))), np.zeros((3, 4))
        assert call(A, out) is out
        call(a, expected)
        same(out, expected)
    out = gpu.array(np.zeros(4, complex))
    assert namespace.of_numpy("fft.fft")(Z, out=out) is out, "which NumPy has since 2.0"
    same(out, np.fft.fft(z))
    out = gpu.array(np.zeros((3, 3)))
    assert np.dot(A[0], A[0].T, out=out) is out
    same(out, a[0] @ a[0].T)
    with pytest.raises(TypeError, match=r"numpy\(out="):
        np.ptp(A, out=np.zeros(()))


def test_take_and_item_count_from_the_end(gpu):
    A = gpu.array(X)
    for axis in (-1, -3, 1):
        same(A.take([1, 0], axis=axis), X.take([1, 0], axis=axis))
        same(np.take(A, 0, axis=axis), X.take(0, axis=axis))
    for axis in (-5, -4, 3):
        for kind in (ValueError, IndexError):  # an AxisError is both
            with pytest.raises(kind, match=f"axis {axis} is out of bounds for array of dimension 3"):
                A.take([0], axis=axis)
    assert [A.item(-1), A.item(5), A.item((1, 2, 3)), A.item(-1, 0, -2), A.T.item(1), A[0, 0].item(-4)] == [
        X.item(-1), X.item(5), X.item((1, 2, 3)), X.item(-1, 0, -2), X.T.item(1), X[0, 0].item(-4)]
    for place in (24, -25):
        with pytest.raises(IndexError, match=f"index {place} is out of bounds"):
            A.item(place)


def test_divmod_keeps_numbers_weak(gpu):
    for dtype in ("int8", "float32"):
        data = np.array([1, 2, 5], dtype)
        array = gpu.array(data)
        for ours, theirs in ((np.divmod(3, array), np.divmod(3, data)), (np.divmod(array, 3), np.divmod(data, 3)), (divmod(3, array), divmod(3, data)),
                             (divmod(array, array), divmod(data, data))):
            for got, expected in zip(ours, theirs):
                same(got, expected)


def test_isclose_is_in_the_arrays_own_precision(gpu):
    small = np.array([0.1, 0.2, np.nan, np.inf, -np.inf], "float32")
    array = gpu.array(small)
    same(np.isclose(array, 0.1, rtol=0, atol=0), [True, False, False, False, False])
    same(np.isclose(0.1, array, rtol=0, atol=0), [True, False, False, False, False])
    for other, options in ((small, {}), (small * np.float32(1 + 1e-5), {}), (small * np.float32(1 + 3e-5), {}), (small[::-1], {"atol": 0.2}),
                           (small.astype("float64") + 1e-9, {"rtol": 0}), (small, {"equal_nan": True})):
        same(np.isclose(array, gpu.array(other.copy()), **options), np.isclose(small, other, **options))
    whole = np.array([-128, 127, 3], "int8")
    same(np.isclose(gpu.array(whole), gpu.array(whole)), np.isclose(whole, whole))
    same(np.isclose(gpu.array(whole), 3), np.isclose(whole, 3))
    z = np.array([1 + 1j, 1e9j, 2])
    same(np.isclose(gpu.array(z), gpu.array(z + 1e-9)), np.isclose(z, z + 1e-9))


@pytest.mark.parametrize("function", [np.atleast_1d, np.atleast_2d, np.atleast_3d], ids=lambda function: function.__name__)
def test_several_arrays_get_axes(gpu, function):
    arrays = [np.float64(3), np.arange(2.0), X]
    same(function(gpu.array(arrays[1])), function(arrays[1]))
    ours, theirs = function(*[gpu.array(one) for one in arrays]), function(*arrays)
    assert type(ours) is type(theirs) and len(ours) == 3
    for got, expected in zip(ours, theirs):
        same(got, expected)


def test_reshape_has_the_spellings_of_both_numpys(gpu):
    A = gpu.array(X)
    for options in ({"shape": (6, 4)}, {"newshape": (6, 4)}, {"shape": (6, 4), "order": "F"}, {"shape": -1, "copy": True}):
        spelled = dict(options)
        shape = spelled.pop("shape", spelled.pop("newshape", None))
        same(FUNCTIONS["reshape"](A, A, **options), X.reshape(shape, order=spelled.get("order", "C")))
    same(np.reshape(A, (6, 4)), X.reshape(6, 4))
    same(np.reshape(A, **{"shape" if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else "newshape": (6, 4)}), X.reshape(6, 4))
    with pytest.raises(ValueError, match="copy"):
        FUNCTIONS["reshape"](A, A.T, (4, 6), copy=False)
    same(FUNCTIONS["reshape"](A, A, (4, 6), copy=False), X.reshape(4, 6))
    with pytest.raises(TypeError, match="shape"):
        np.reshape(A)


def test_products_are_the_daemons_kernels(gpu):
    a = X[0] @ X[0].T + 10 * np.eye(3)
    A = gpu.array(a)
    for got, expected in ((A @ A, a @ a), (a @ A, a @ a), (np.dot(A, A), a @ a), (A.dot(a[0]), a @ a[0]), (np.matmul(A, A), a @ a),
                          (np.linalg.norm(A), np.linalg.norm(a)), (np.linalg.solve(A, A), np.eye(3)), (np.sort(A, axis=0), np.sort(a, 0)),
                          (np.linalg.cholesky(A), np.linalg.cholesky(a)), (np.linalg.eigvalsh(A), np.linalg.eigvalsh(a)),
                          (np.fft.fft(A), np.fft.fft(a)), (np.fft.fft(A, axis=0), np.fft.fft(a, axis=0)), ((A + 0.0) @ A.T, a @ a.T)):
        assert isinstance(got, hp.Array)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-9, atol=1e-9)
    for uplo in "LU":
        half = np.tril(a) if uplo == "L" else np.triu(a)
        np.testing.assert_allclose(np.linalg.eigvalsh(gpu.array(half), UPLO=uplo).numpy(), np.linalg.eigvalsh(half, UPLO=uplo), rtol=1e-9)
        np.testing.assert_allclose(np.linalg.eigh(gpu.array(half), uplo).eigenvalues.numpy(), np.linalg.eigvalsh(half, uplo), rtol=1e-9)
    with pytest.raises(ValueError, match="UPLO"):
        np.linalg.eigvalsh(A, "X")
    B = A.copy()
    B @= A
    np.testing.assert_allclose(B.numpy(), a @ a)


def test_inner_contracts_the_last_axes_of_both(gpu):
    for first, second in ((X[0], X[1]), (X, X[0]), (X[0, 0], X[1]), (X, X[0, 0]), (X[0, 0], X[0, 1]), (X, 2.0)):
        A, B = gpu.array(first), second if np.ndim(second) == 0 else gpu.array(second)
        got, expected = np.inner(A, B), np.inner(first, second)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(got.numpy(), expected)
    with pytest.raises(ValueError, match="last axes"):
        np.inner(A, gpu.array(np.ones(3)))


def test_what_is_random_is_not_drawn_again(gpu):
    R = gpu.random(10, keep=True)
    y = R * 2
    np.testing.assert_array_equal(y.numpy(), R.numpy() * 2)
    np.testing.assert_array_equal(y.numpy(), (R * 2).numpy())


def test_kernels_with_arrays_give_arrays(gpu):
    x = np.eye(3)
    A = gpu.array(x)
    assert isinstance(gpu.matmul(A, x), hp.Array) and isinstance(gpu.matmul(x, x), np.ndarray)
    assert isinstance(gpu.matmul(A * 2, x, keep=False), np.ndarray) and isinstance(gpu.matmul(x, x, keep=True), hp.Array)
    out = np.empty((3, 3))
    assert gpu.matmul(A, A + 1, out=out) is out and (out == x @ (x + 1)).all()
    assert all(isinstance(one, hp.Array) for one in gpu.svd(A)) and isinstance(gpu.zeros(3), np.ndarray)
    assert isinstance(gpu.submit(gpu.matmul, A + 1, x).result(), hp.Array)
    named = gpu.matmul(A, A, keep="product")
    assert named.name == "product"
    named.free()
    assert isinstance(gpu.wait(gpu.submit_detached("matmul", A, A)), np.ndarray)


def test_creation_is_the_daemons_on_xp(gpu):
    xp = hp.xp
    for got, expected in (
            (xp.zeros((2, 3)), np.zeros((2, 3))), (xp.ones(3, "float32"), np.ones(3, "float32")), (xp.full((2, 2), 7), np.full((2, 2), 7)),
            (xp.eye(3), np.eye(3)), (xp.eye(2, 4, 1, "int8"), np.eye(2, 4, 1, "int8")), (xp.arange(5), np.arange(5)), (xp.arange(1, 2, 0.25), np.arange(1, 2, 0.25)),
            (xp.arange(9, 1, -3), np.arange(9, 1, -3)), (xp.linspace(0, 1, 7), np.linspace(0, 1, 7)), (xp.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, endpoint=False)),
            (xp.asarray([1, 2]), np.array([1, 2])), (xp.zeros(()), np.zeros(())), (xp.exp(xp.zeros(3)), np.ones(3)), (xp.sum([1.0, 2.0]), np.float64(3)),
            (xp.atan2(xp.ones(2), 2.0), np.arctan2(np.ones(2), 2.0)), (xp.concat([xp.ones(2), [2.0]]), np.array([1, 1, 2.0])),
            (xp.concat([np.ones(1), np.zeros(1)]), np.array([1.0, 0.0])), (xp.where(xp.arange(3) > xp.pi - 2, 1.0, 0.0), np.array([0, 0, 1.0]))):
        same(got, expected)
    assert xp.float32 is np.float32 and "linspace" in dir(xp)
    x = xp.asarray(xp.ones(3))
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x
    with pytest.raises(AttributeError, match="numpy.einsum_path"):
        xp.einsum_path
    assert isinstance(gpu.zeros(3), np.ndarray) and isinstance(gpu.zeros(3, keep=True), hp.Array)


def test_xp_array_copies_and_asarray_does_not(gpu):
    xp = hp.xp
    x = xp.ones(3)
    same_one, other = xp.asarray(x), xp.array(x)
    assert same_one is x and other is not x and xp.array(x, copy=None) is x and xp.array(x, copy=False) is x and xp.asarray(x, copy=True) is not x
    x[0] = 7
    same(other, np.ones(3))
    assert xp.asarray(x, dtype="float64", copy=False) is x
    for needs_a_copy in (lambda: xp.asarray([1, 2], copy=False), lambda: xp.array(np.ones(3), copy=False), lambda: xp.asarray(x, dtype="int8", copy=False)):
        with pytest.raises(ValueError, match="copy"):
            needs_a_copy()


def test_linspace_of_integers_is_rounded_down(gpu):
    for arguments in ((-1, 1, 5), (-10, 3, 17), (0, 10, 7), (5, -5, 8), (0.5, -0.5, 3), (3, 9, 4)):
        same(hp.xp.linspace(*arguments, dtype=int), np.linspace(*arguments, dtype=int))
        same(hp.xp.linspace(*arguments, dtype="int8"), np.linspace(*arguments, dtype="int8"))
        same(hp.xp.linspace(*arguments, dtype="float32"), np.linspace(*arguments, dtype="float32"))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "complex128"])
def test_linear_algebra_and_transforms_take_every_dtype(gpu, dtype):
    a = np.array([[4, 1, 0], [1, 5, 2], [0, 2, 6]]).astype(dtype)
    if dtype.startswith("complex"):
        a = a + 1j * np.array([[0, 1, 0], [-1, 0, 0.5], [0, -0.5, 0]])
    calls = [lambda a: np.linalg.solve(a, a), np.linalg.cholesky, np.linalg.eigvalsh, lambda a: np.linalg.eigvalsh(a, "U"),
             lambda a: np.linalg.eigh(a)[0], lambda a: np.linalg.svd(a)[1], lambda a: np.linalg.svd(a, compute_uv=False), np.fft.fft,
             np.fft.irfft, lambda a: np.fft.ifft(a, axis=0), lambda a: np.dot(a, a), lambda a: np.dot(a[0], a), lambda a: np.inner(a, a),
             lambda a: np.inner(a, a[0]), lambda a: a.dot(a), lambda a: np.linalg.norm(a), lambda a: np.linalg.norm(a, 2),
             lambda a: np.linalg.norm(a, "nuc"), lambda a: np.linalg.norm(a, axis=(1, 0), ord=1, keepdims=True)]
    if hasattr(np, "vecdot"):
        calls += [lambda a: np.vecdot(a, a), lambda a: np.vecdot(a, a, axis=0)]
    for call in calls:
        got, expected = call(gpu.array(a)), call(a)
        assert isinstance(got, hp.Array) and got.shape == expected.shape
        rtol = 1e-4 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(got.numpy(), expected, rtol=rtol, atol=rtol)


def test_small_numbers_are_sorted_and_have_norms(gpu):
    for dtype in ("bool", "int8", "float16"):
        a = np.array([[3, 0], [2, 1]]).astype(dtype)
        same(np.sort(gpu.array(a), axis=0, kind="stable"), np.sort(a, axis=0))
        same(np.sort(gpu.array(a), axis=None), np.sort(a, axis=None))
        np.testing.assert_allclose(np.linalg.norm(gpu.array(a)).numpy(), np.linalg.norm(a), rtol=1e-3)


def test_numpys_dot_of_stacks(gpu):
    for first, second in ((X, X.reshape(2, 4, 3)), (X[0, 0], X.reshape(2, 4, 3)), (X, X[0, 0]), (X, 2)):
        same(np.dot(gpu.array(first), gpu.array(second)), np.dot(first, second))
