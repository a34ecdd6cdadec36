"""Helpers of the tests of arrays that compute: comparison with NumPy 2, expressions that are sent, and that nothing is left."""

import contextlib
import gc
import warnings

import hotplate as hp
import numpy as np
import pytest
from conftest import wait_until

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
    """Arrays go with their last references: Python's collector of cycles has nothing to do."""
    before, failed = len(gpu.arrays), request.session.testsfailed
    gc.disable()
    try:
        yield
        if request.session.testsfailed == failed:  # else its traceback has its arrays
            wait_until(lambda: len(gpu.arrays) <= before, f"the daemon holds {before} arrays again, as before the test")
    finally:
        gc.enable()


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
    """(result, None) of a function, or (None, its error)."""
    try:
        return function(*arguments), None
    except (TypeError, ValueError, OverflowError) as error:
        error.__context__ = error.__cause__ = None
        return None, error.with_traceback(None)  # its frames would hold the arrays


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


INDICES = [np.s_[0], np.s_[-1], np.s_[1:], np.s_[0, 1], np.s_[1, 2, 3], np.s_[..., 1], np.s_[:, ::-1], np.s_[::-1, ::-2, 3:0:-2], np.s_[..., None, 2],
           np.s_[None], np.s_[0:0], np.s_[1, ..., -1], np.s_[:, 1:2, ::3], np.s_[...], np.s_[5:], np.s_[np.int64(1)], np.s_[()]]
