"""Arrays that compute: values and dtypes are NumPy 2's, work is noted and sent once, and what cannot be is refused by name."""

import contextlib
import copy
import functools
import gc
import itertools
import operator
import pathlib
import sys
import threading
import warnings

import hotplate as hp
import numpy as np
import pytest
from conftest import wait_until
from hotplate import refusing

X = np.arange(1.0, 25.0).reshape(2, 3, 4)
DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def as_numpy_2():
    """The rules of NumPy 2 also where an older one is installed, and no warnings of what it computes for comparison."""
    state = getattr(np, "_get_promotion_state", lambda: "weak")()
    if state != "weak":
        np._set_promotion_state("weak")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
    if state != "weak":
        np._set_promotion_state(state)


@pytest.fixture(autouse=True)
def nothing_is_left(gpu, request):
    before, failed = len(gpu.arrays), request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        return  # its traceback has its arrays
    gc.collect()
    wait_until(lambda: len(gpu.arrays) <= before, f"the daemon holds {before} arrays again, as before the test")


class Watched:
    """A client's core that keeps the expressions that it sends, and counts other calls and what is fetched."""

    def __init__(self, core):
        self._core = core
        self.expressions, self.kernels, self.fetched = [], [], 0

    def run(self, kernel, inputs, options, *more):
        if kernel == "expression":
            self.expressions.append(options.expression)
        else:
            self.kernels.append(kernel)
        return self._core.run(kernel, inputs, options, *more)

    def get(self, *arguments):
        value = self._core.get(*arguments)
        self.fetched += value.nbytes
        return value

    def get_into(self, id, to, *more, **options):
        self.fetched += to.nbytes
        self._core.get_into(id, to, *more, **options)

    def __getattr__(self, name):
        return getattr(self._core, name)


@contextlib.contextmanager
def watched(gpu):
    watch = gpu._core = Watched(gpu._core)
    try:
        yield watch
    finally:
        gpu._core = watch._core


def same(got, expected, rtol=1e-5):
    """As NumPy's: dtype, shape and values, which may differ in their last digits."""
    assert isinstance(got, hp.Array), got
    expected = np.asarray(expected)
    assert (str(got.dtype), got.shape) == (str(expected.dtype), expected.shape)
    if expected.dtype.kind in "fc":
        rtol = {"float16": 2e-2, "float32": rtol, "complex64": rtol}.get(str(expected.dtype), 1e-12)
        np.testing.assert_allclose(got.numpy(), expected, rtol=rtol, atol=rtol / 10)
    else:
        np.testing.assert_array_equal(got.numpy(), expected)


def values(dtype):
    """Numbers of a dtype that no operator overflows with much."""
    if dtype == "bool":
        return np.array([True, False, True])
    if np.dtype(dtype).kind == "c":
        return np.array([1 + 2j, 3 - 1j, 2], dtype)
    return np.array([1, 2, 5], dtype) if np.dtype(dtype).kind in "iu" else np.array([0.5, 2, 3], dtype)


def outcome(function, *arguments):
    """What a function gives, or the kind of its error."""
    try:
        return function(*arguments), None
    except (TypeError, ValueError, OverflowError) as error:
        return None, error


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.and_,
          operator.or_, operator.xor, operator.lshift, operator.rshift, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
          operator.ge, np.maximum, np.arctan2, np.logical_and, np.hypot, np.copysign, np.logaddexp]


def check_as_numpy(function, ours, theirs):
    expected, error = outcome(function, *theirs)
    got, refused = outcome(function, *ours)
    told = f"{function.__name__} of {[str(getattr(one, 'dtype', one)) for one in theirs]}"
    if error is not None:
        assert refused is not None, f"{told}: NumPy refuses it ({error})"
        kind = next(kind for kind in (TypeError, OverflowError, ValueError) if isinstance(error, kind))
        assert isinstance(refused, kind), f"{told}: {refused!r} for NumPy's {error!r}"
    else:
        assert refused is None, f"{told}: {refused!r}"
        same(got, expected)


@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
def test_an_operator_is_numpys_over_all_dtypes(gpu, function):
    sent = {dtype: gpu.array(values(dtype)) for dtype in DTYPES}
    pairs = list(itertools.combinations_with_replacement(DTYPES, 2))
    for one, other in pairs[::2] + [pair[::-1] for pair in pairs[1::2]]:
        if function in (operator.lt, operator.le, operator.gt, operator.ge, np.maximum) and "complex" in one + other:
            continue  # NumPy orders complex numbers, by their real parts first; see expressions
        if function is operator.pow and "complex" in one + other:
            continue  # 0 ** 0j differs between NumPy's versions
        check_as_numpy(function, (sent[one], sent[other]), (values(one), values(other)))


@pytest.mark.parametrize("scalar", [True, 2, -1, 300, 2**40, 2**63, 2.5, float("inf"), 1j], ids=str)
def test_a_number_is_weak_as_in_numpy_2(gpu, scalar):
    for dtype, function in itertools.product(DTYPES, (operator.add, operator.mul, operator.truediv, operator.lt, operator.eq)):
        if "complex" in dtype + type(scalar).__name__ and function is operator.lt:
            continue
        if np.lib.NumpyVersion(np.__version__) < "2.0.0" and type(scalar) is int and not 0 <= scalar < 100:
            continue  # its weak promotion does not know integers that are out of range
        if dtype == "bool" and scalar == 2**63:
            continue  # NumPy's own error is of a conversion
        array = gpu.array(values(dtype))
        check_as_numpy(function, (array, scalar), (values(dtype), scalar))
        check_as_numpy(function, (scalar, array), (scalar, values(dtype)))


@pytest.mark.parametrize("scalar", [np.float32(2.5), np.float64(2.5), np.int8(3), np.uint64(7), np.bool_(True), np.complex64(1j)],
                         ids=lambda scalar: type(scalar).__name__)
def test_a_number_of_numpys_has_its_dtype(gpu, scalar):
    for dtype in ("int8", "float16", "float32", "int64"):
        array = gpu.array(values(dtype))
        check_as_numpy(operator.mul, (array, scalar), (values(dtype), scalar))
        check_as_numpy(operator.add, (scalar, array), (scalar, values(dtype)))


def test_an_integer_out_of_range_is_refused_and_compared(gpu):
    small = gpu.array(np.array([1, 100], "int8"))
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        small + 300
    same(small < 300, [True, True])
    same(300 < small, [False, False])
    same(small == -200, [False, False])
    same(small != 2**70, [True, True])
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        small ** -1


UNARY = ["negative", "absolute", "sign", "square", "sqrt", "cbrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
         "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "floor", "ceil", "trunc",
         "rint", "isnan", "isinf", "isfinite", "signbit", "logical_not", "invert", "conjugate", "positive", "deg2rad", "degrees", "fabs"]


@pytest.mark.parametrize("name", UNARY)
def test_a_function_is_numpys(gpu, name):
    for dtype in ("bool", "int32", "float32", "float64", "complex128"):
        data = values(dtype) if name not in ("arcsin", "arccos", "arctanh") or dtype in ("bool", "int32") else values(dtype) / 4
        if dtype == "complex128" and name in ("sign", "exp2", "cbrt", "log2", "log10", "log1p", "expm1", "arctanh", "rint", "floor", "ceil",
                                              "trunc"):
            continue  # not of complex numbers, or not by NumPy's own rules in all versions
        if dtype in ("bool", "int32") and name in ("floor", "ceil", "trunc") and np.__version__ < "2.1":
            continue  # integers stay integers from NumPy 2.1 on
        check_as_numpy(getattr(np, name), (gpu.array(data),), (data,))


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


def test_products_are_the_daemons_kernels(gpu):
    a = X[0] @ X[0].T + 10 * np.eye(3)
    A = gpu.array(a)
    for got, expected in ((A @ A, a @ a), (a @ A, a @ a), (np.dot(A, A), a @ a), (A.dot(a[0]), a @ a[0]), (np.matmul(A, A), a @ a),
                          (np.linalg.norm(A), np.linalg.norm(a)), (np.linalg.solve(A, A), np.eye(3)), (np.sort(A, axis=0), np.sort(a, 0)),
                          (np.linalg.cholesky(A), np.linalg.cholesky(a)), (np.linalg.eigvalsh(A), np.linalg.eigvalsh(a)),
                          (np.fft.fft(A), np.fft.fft(a)), (np.fft.fft(A, axis=0), np.fft.fft(a, axis=0)), ((A + 0.0) @ A.T, a @ a.T)):
        assert isinstance(got, hp.Array)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-9, atol=1e-9)
    B = A.copy()
    B @= A
    np.testing.assert_allclose(B.numpy(), a @ a)


REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "std", "var"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}],
                         ids=str)
def test_a_reduction_is_numpys(gpu, name, options):
    if name.startswith("arg") and isinstance(options.get("axis"), tuple):
        with pytest.raises(TypeError):
            getattr(gpu.array(X), name)(**options)
        return
    for dtype in ("bool", "int8", "uint8", "int64", "float16", "float32", "float64"):
        data = (X % 5 / (2 if np.dtype(dtype).kind == "f" else 1)).astype(dtype)
        array = gpu.array(data)
        same(getattr(array, name)(**options), getattr(data, name)(**options), rtol=1e-4)
        same(getattr(np, name)(array, **options), getattr(np, name)(data, **options), rtol=1e-4)
    view = gpu.array(X)[:, ::-1, 1:]
    same(getattr(view * 2, name)(**options), getattr(X[:, ::-1, 1:] * 2, name)(**options))


def test_reductions_have_options(gpu):
    a = X.astype("int8")
    A = gpu.array(a)
    same(A.sum(dtype="float32"), a.sum(dtype="float32"))
    same(A.mean(axis=0, dtype="float32"), a.mean(axis=0, dtype="float32"))
    same(A.std(axis=0, ddof=1), a.std(axis=0, ddof=1))
    same(A.trace(axis1=1, axis2=2), a.trace(axis1=1, axis2=2))
    out = gpu.array(np.zeros((3, 4), "int64"))
    assert A.sum(axis=0, out=out) is out
    same(out, a.sum(axis=0))
    assert (float(A.max()), int(A.argmax()), bool((A > 3).any()), A.sum().item()) == (24.0, 23, True, 300)


@pytest.mark.parametrize("call, kind, says", [
    (lambda A: A.sum(axis=3), (ValueError, IndexError), "axis 3"), (lambda A: A[:0].max(), ValueError, "zero-size|no elements|empty"),
    (lambda A: A + np.ones(5), ValueError, "5"), (lambda A: ~A, TypeError, "float64|invert"), (lambda A: A & 1, TypeError, "float64|bitwise"),
    (lambda A: -(A > 1), TypeError, "bool|negative"), (lambda A: A.reshape(7, 5), ValueError, r"cannot reshape .*24.*\(7, 5\)"),
    (lambda A: A + "a", TypeError, "unsupported operand|str"), (lambda A: A == None, TypeError, "A is None"),  # noqa: E711
    (lambda A: A + [None], TypeError, "object"), (lambda A: bool(A), ValueError, r"ambiguous.*A\.any"), (lambda A: float(A), TypeError, "one element"),
    (lambda A: A.item(), ValueError, "size 1"), (lambda A: iter(A[0, 0, 0]), TypeError, "without axes"), (lambda A: range(A), TypeError, "integer"),
    (lambda A: A.astype("U3"), TypeError, "numbers"), (lambda A: A + np.ma.masked_array([1.0], [True]), TypeError, "mask"),
    (lambda A: np.linalg.inv(A), TypeError, "gpu.solve"), (lambda A: np.einsum("ijk->i", A), TypeError, r"\(A \* B\)\.sum"),
    (lambda A: np.median(A), TypeError, r"gpu\.sort"), (lambda A: np.cumsum(A), TypeError, r"\.numpy\(\)"), (lambda A: np.frexp(A), TypeError, "numpy.frexp"),
    (lambda A: np.add.accumulate(A), TypeError, "numpy.add.accumulate"), (lambda A: np.add(A, 1, where=A > 0), TypeError, "where="),
    (lambda A: np.add(A, 1, out=np.ones(X.shape)), TypeError, r"numpy\(out="), (lambda A: A.cumsum(), AttributeError, r"A\.numpy\(\)\.cumsum"),
    (lambda A: A.nonsense, AttributeError, "no nonsense"), (lambda A: A[A > 3], TypeError, r"numpy\.where"),
    (lambda A: np.where(A > 3), TypeError, "numpy.where"),
], ids=lambda value: "" if callable(value) or isinstance(value, (type, tuple)) else value)
def test_what_cannot_be_is_refused_at_its_line(gpu, call, kind, says):
    array = gpu.array(X, name="A")
    try:
        with watched(gpu) as watch, pytest.raises(kind, match=says):
            call(array)
        assert watch.fetched == 0 and not watch.expressions
    finally:
        array.free()


# Views.

INDICES = [np.s_[0], np.s_[-1], np.s_[1:], np.s_[0, 1], np.s_[1, 2, 3], np.s_[..., 1], np.s_[:, ::-1], np.s_[::-1, ::-2, 3:0:-2], np.s_[..., None, 2],
           np.s_[None], np.s_[0:0], np.s_[1, ..., -1], np.s_[:, 1:2, ::3], np.s_[...], np.s_[5:], np.s_[np.int64(1)], np.s_[()]]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_a_view(gpu, index):
    A = gpu.array(X)
    with watched(gpu) as watch:
        part = A[index]
        assert not watch.expressions and not watch.kernels
        same(part, X[index])
        assert not watch.expressions, "a view is read where it is"
        same(part * 2 + 1, X[index] * 2 + 1)
        same(np.sin(A)[index], np.sin(X)[index])


@pytest.mark.parametrize("index", [np.s_[[0, 1, 1]], np.s_[X > 3], np.s_[:, [0, 2]], np.s_[[0, 1], [2, 0], [3, 1]], np.s_[0, :, [1, 3]], np.s_[:, [[0], [2]], [1, 3]],
                                   np.s_[[1], ..., [0, 3]], np.s_[1:, [2, 0], ::2], np.s_[[True, False]], np.s_[None, [0, 1], :, 2], np.s_[[-1, -2], 0], True, np.s_[[]]],
                         ids=str)
def test_elements_at_indices_are_a_new_array(gpu, index):
    A = gpu.array(X)
    same(A[index], X[index])
    same(A[index] + 1, X[index] + 1)
    same((A * 2)[index], (X * 2)[index])


def test_indices_on_the_daemon(gpu):
    A, places = gpu.array(X), gpu.array(np.array([2, 0, 1, -1]))
    same(A[:, places], X[:, [2, 0, 1, -1]])
    same(A[0, places % 3, places % 2], X[0, [2, 0, 1, 2], [0, 0, 1, 1]])
    same(A[gpu.array(np.array(1))], X[1])
    same(A.take([1, 3], axis=2), X.take([1, 3], axis=2))
    with pytest.raises(IndexError):
        A[places + 5].numpy()


@pytest.mark.parametrize("index", [2, (0, 3), (0, 0, 4), (0, 0, 0, 0), "a", 1.5, -3, ([0, 2],), ([0, 1], [0, 1, 2])], ids=str)
def test_an_index_outside_is_an_index_error(gpu, index):
    with pytest.raises(IndexError):
        gpu.array(X)[index]


def test_shapes_are_views_where_they_can_be(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        for ours, theirs in ((A.T, X.T), (A.transpose(1, 0, 2), X.transpose(1, 0, 2)), (A.reshape(4, -1), X.reshape(4, -1)), (A.ravel(), X.ravel()),
                             (A.swapaxes(0, 1), X.swapaxes(0, 1)), (A[None].squeeze(0), X), (A.mT, X.swapaxes(1, 2)), (np.flip(A, 1), np.flip(X, 1)),
                             (np.broadcast_to(A[0], (2, 3, 4)), np.broadcast_to(X[0], (2, 3, 4))), (np.moveaxis(A, 0, -1), np.moveaxis(X, 0, -1)),
                             (A.diagonal(0, 1, 2), X.diagonal(0, 1, 2)), (np.expand_dims(A, 1), X[:, None]), (np.rot90(A), np.rot90(X)), (A[1].T[1:].T, X[1].T[1:].T)):
            same(ours, theirs)
        assert not watch.expressions and not watch.kernels
        same(A.T.reshape(-1), X.T.reshape(-1))
        same(A.reshape(4, 6, order="F"), X.reshape(4, 6, order="F"))
        same(A.T.flatten(), X.T.flatten())
    same(A.T + A.transpose(2, 1, 0), X.T * 2)
    same(gpu.matmul(A[0].T, A[0]), X[0].T @ X[0])
    assert [float(row.sum()) for row in A] == [row.sum() for row in X] and [row.shape for row in reversed(A)] == [(3, 4)] * 2
    assert 24.0 in A and 25.0 not in A and len(A) == 2


def test_a_view_re_reads_its_base_and_results_do_not(gpu):
    A = gpu.array(X)
    column, computed, noted = A[:, 1], (A[:, 1] * 2).compute(), A[:, 1] + 1
    A[:, 1] = 100
    same(column, np.full((2, 4), 100.0))
    same(column * 2, np.full((2, 4), 200.0))
    same(computed, X[:, 1] * 2)
    same(noted, X[:, 1] + 1)


@pytest.mark.parametrize("index", [*INDICES[:-1], np.s_[X > 5]], ids=str)
def test_a_part_is_assigned(gpu, index):
    shape = X[index].shape
    for value in (7, np.float32(2.5), np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape), np.arange(shape[-1] if shape else 0)):
        if np.ndim(value) and (isinstance(index, np.ndarray) or not shape):
            continue
        A, a = gpu.array(X), X.copy()
        A[index] = value
        a[index] = value
        same(A, a)
        if np.ndim(value):
            A[index] = gpu.array(value) * 2
            a[index] = value * 2
            same(A, a)


def test_assignment_is_numpys(gpu):
    A, a = gpu.array(np.arange(10)), np.arange(10)
    A[2:5] = 2.9
    a[2:5] = 2.9
    A[1:] = A[:-1]
    a[1:] = a[:-1].copy()
    A[A > 5] = -1
    a[a > 5] = -1
    same(A, a)
    A[1:3] += 5
    a[1:3] += 5
    A *= 2
    a *= 2
    A[...] = A + A[::-1]
    a[...] = a + a[::-1]
    same(A, a)
    A.fill(3)
    same(A, np.full(10, 3))
    np.copyto(A, 4, where=A > 2)
    same(A, np.full(10, 4))
    assert np.add(A, 1, out=A) is A
    same(A, np.full(10, 5))
    for index, value, kind in ((np.s_[:3], [1, 2], ValueError), (10, 0, IndexError), ([0, 1], 5, TypeError), (A > 0, [1, 2], TypeError),
                               (0, 2**70, OverflowError), (0, "a", ValueError)):
        with pytest.raises(kind):
            A[index] = value
    with pytest.raises(TypeError, match="same_kind"):
        A += 0.5
    with pytest.raises(ValueError, match="broadcast"):
        A += np.ones((2, 10), int)
    same(A, np.full(10, 5))


def test_nothing_is_assigned_through_a_view(gpu):
    A = gpu.array(X)
    row = A[0]
    with pytest.raises(ValueError, match="view"):
        row[0] = 1
    with pytest.raises(ValueError, match="view"):
        row += 1
    with pytest.raises(ValueError, match="view"):
        np.add(row, 1, out=row)
    with pytest.raises(ValueError, match="view"):
        A[0][1] = 5
    rows = [A[0]]
    rows[0] = rows[0] + 1
    same(A, X)


def test_what_others_may_read_is_not_assigned_to(gpu):
    named = gpu.array(X, name="named")
    with pytest.raises(ValueError, match="'named'.*A.copy()"):
        named[0] = 1
    own = named.copy()
    own[0] = 1
    assert own[0, 0, 0] == 1 and named[0, 1, 0] == X[0, 1, 0]
    named.free()


def test_a_copy_is_another_array(gpu):
    A = gpu.array(X)
    for other in (A.copy(), copy.copy(A), copy.deepcopy([A])[0], A[:].copy()):
        A[0] = 0
        same(other, X)
        A[...] = X


# Lazy and fused.


def test_a_chain_is_one_expression(gpu):
    A, B = gpu.array(X), gpu.array(X + 1)
    with watched(gpu) as watch:
        y = np.sqrt((A - B) ** 2 + np.exp(-A) * 2.0).sum(axis=1)
        assert not watch.expressions and y.shape == (2, 4) and y.dtype == np.float64
        same(y, np.sqrt(1 + np.exp(-X) * 2).sum(axis=1))
        assert len(watch.expressions) == 1
        y.numpy()
        assert len(watch.expressions) == 1, "it is stored"


@pytest.mark.parametrize("need", [lambda y: y.numpy(), lambda y: y.compute(), bool, repr, str, lambda y: y.id, lambda y: y._client.norm(y), float,
                                  lambda y: np.asarray(y), lambda y: y.device], ids=range(10))
def test_what_needs_a_value_computes_it(gpu, need):
    A = gpu.array(np.ones((1, 1)))
    with watched(gpu) as watch:
        y = A * 2 + 1
        assert y.receipt is None and not watch.expressions
        need(y)
        assert len(watch.expressions) == 1
        assert y.receipt.kernel == "expression"


def test_dead_intermediates_never_exist(gpu):
    before = len(gpu.arrays)
    A = gpu.array(X)
    t = A * 2
    y = t + 1
    del t
    y.compute()
    assert len(gpu.arrays) == before + 2
    del A, y


def test_shared_parts_are_computed_once(gpu):
    A = gpu.array(X)

    def two():
        part = np.exp(A) / 7
        return part * part, part.sum(axis=0)

    with watched(gpu) as watch:
        square, total = two()
        square.compute()
        total.compute()
        assert sum(text.count("exp(") for text in watch.expressions) == 1, watch.expressions
        same(total, (np.exp(X) / 7).sum(axis=0))
        same(square, (np.exp(X) / 7) ** 2)
        watch.expressions.clear()
        softmax = np.exp(A - A.max(axis=-1, keepdims=True))
        softmax = softmax / softmax.sum(axis=-1, keepdims=True)
        expected = np.exp(X - X.max(-1, keepdims=True))
        same(softmax, expected / expected.sum(-1, keepdims=True))
        assert sum(text.count("exp(") for text in watch.expressions) == 1, watch.expressions


def test_what_is_held_is_stored_once(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        d = A - 3
        y = d * d
        y.compute()
        assert len(watch.expressions) == 1
        d.numpy()
        z = d + y
        z.compute()
        assert len(watch.expressions) == 2 and "subtract" not in watch.expressions[1]
        total, spread = d.mean(), d.std()
        float(total), float(spread)
        assert len(watch.expressions) == 4


def test_an_ndarray_is_read_at_its_line(gpu):
    A = gpu.array(np.zeros(20_000))
    for size in (1, 20_000):
        x = np.ones(size)
        y = A + x
        x[:] = 5
        same(y, np.ones(20_000))


def test_arrays_beside_lists_and_others(gpu):
    A = gpu.array(np.arange(3.0))
    same(A + [1, 2, 3], [1.0, 3.0, 5.0])
    same([1, 2, 3] - A, [1.0, 1.0, 1.0])
    same(np.ones((2, 3)) * A, np.ones((2, 3)) * np.arange(3.0))
    same(A + np.arange(3, dtype=">f4"), np.arange(3.0) * 2)
    x = np.ones(3)
    x[...] = np.asarray(A)
    with pytest.raises(TypeError):
        x += A


def test_a_freed_input_is_told_with_its_line(gpu):
    A, B = gpu.array(X), gpu.array(X, name="B")
    y = A + B  # this line
    B.free()
    with pytest.raises(KeyError) as lost:
        y.numpy()
    line = next(number for number, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if text.endswith("# this " + "line"))
    assert f"test_array_math.py:{line}: y = A + B" in str(lost.value) and "array 'B' float64 [2, 3, 4]" in str(lost.value)
    assert "freed after that line" in str(lost.value)
    same(A + 1, X + 1)


def test_an_index_outside_is_told_with_its_line(gpu):
    A, places = gpu.array(X), gpu.array(np.array([0, 7]))
    y = A[places] * 2
    with pytest.raises(IndexError, match="test_array_math.py:.*A.places."):
        y.numpy()


def test_eager_computes_at_the_line(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        with hp.eager():
            y = A * 2
            assert len(watch.expressions) == 1
            y = y + 1
            assert len(watch.expressions) == 2
        y = y + 1
        assert len(watch.expressions) == 2
    same(y, X * 2 + 2)


def test_graphs_are_flushed_at_64_nodes(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        y = A
        for _ in range(63):
            y = y + 1
        assert not watch.expressions
        y = y + 1
        assert len(watch.expressions) == 1
        for _ in range(200):
            y = y + 1
        assert len(watch.expressions) == 4
        same(y, X + 264)
        y = A
        watch.expressions.clear()
        for _ in range(20):
            y = y * 0.5 + y * 0.5
        assert not watch.expressions, "60 operations, though each half is used twice"
        same(y, X)


def test_many_inputs_and_many_outputs(gpu):
    arrays = [gpu.array(np.full(3, float(number))) for number in range(150)]
    same(functools.reduce(operator.add, arrays), np.full(3, float(sum(range(150)))))
    results, y = [], arrays[1]
    for _ in range(150):
        y = y * 1.0 + 1
        results.append(y)
    same(y, np.full(3, 151.0))
    same(results[70], np.full(3, 72.0))
    same(np.concatenate(arrays), np.repeat(np.arange(150.0), 3))
    del arrays, results


def test_shapes_of_one_graph(gpu):
    a, v = X[0], np.arange(4.0)
    A, V = gpu.array(a), gpu.array(v)
    centred = A - A.mean(axis=0)
    scaled = centred / (A.std(axis=0) + 1e-9)
    covariance = (scaled[:, :, None] * scaled[:, None, :]).mean(axis=0)
    c = (a - a.mean(0)) / (a.std(0) + 1e-9)
    same(covariance, (c[:, :, None] * c[:, None, :]).mean(0))
    grown = V * 2
    table = np.exp(grown)[:, None] + grown
    same(table, np.exp(v * 2)[:, None] + v * 2)
    same((V - V.min()) / (V.max() - V.min()), v / 3)
    same(V[1:] - V[:-1], np.diff(v))
    same((V * 2)[1:] - (V * 2)[:-1], np.diff(v * 2))


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


def test_what_a_call_was_given_is_not_what_was_assigned_then(gpu):
    A = gpu.array(np.zeros(300_000))
    futures = []
    for number in range(5):
        A += 1
        futures.append(gpu.submit(gpu.reduce, A, operation="max", keep=False))
    assert [future.result() for future in futures] == [1, 2, 3, 4, 5]


def test_print_fetches_what_it_prints(gpu):
    a = np.arange(300_000.0).reshape(300, 1000)
    A = gpu.array(a)
    with watched(gpu) as watch:
        text = repr(A)
        assert watch.fetched < 30_000_000 / 100
    assert text.startswith("hotplate.Array([[0.00000e+00, 1.00000e+00,") and text.endswith("shape=(300, 1000))")
    assert str(A) == str(a) and str(A[0, :3]) == "[0. 1. 2.]" and str(A[0, 1]) == "1.0"
    assert repr(A[0, :3] > 1) == "hotplate.Array([False, False,  True])" and repr(A[:2, :0]) == "hotplate.Array([], shape=(2, 0), dtype=float64)"
    assert repr(A[0, :2].astype("int8")) == "hotplate.Array([0, 1], dtype=int8)"


def test_threads_share_a_graph(gpu):
    A = gpu.array(X)
    part = np.exp(A)
    results = [part + number for number in range(8)]
    got = [None] * 8

    def work(number):
        got[number] = results[number].numpy()

    with watched(gpu) as watch:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(text.count("exp(") for text in watch.expressions) == 1
    for number, value in enumerate(got):
        np.testing.assert_allclose(value, np.exp(X) + number)


def test_arrays_of_two_clients(gpu, daemon, start_daemon):
    with daemon.connect() as second:
        ours, theirs = gpu.array(X), second.array(X)
        same(ours + theirs, 2 * X)
    other = start_daemon().connect()
    with pytest.raises(TypeError, match="another daemon"):
        ours + other.array(X)
    other.close()


def test_a_thousand_operations_need_no_deep_stack(gpu):
    A = gpu.array(np.zeros(3))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        for _ in range(1000):
            A = A + 1
        same(A, np.full(3, 1000.0))
    finally:
        sys.setrecursionlimit(limit)


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


@pytest.mark.parametrize("advice", sorted(set(refusing.INSTEAD.values())))
def test_what_a_refusal_says_to_write_works(gpu, advice):
    A = gpu.array(np.eye(3) * 2)
    eval(advice, {"A": A, "B": A, "gpu": gpu, "numpy": np, "places": np.arange(9).reshape(3, 3)})
