"""Arrays on the daemon refuse by name what they do not compute, and the error says what to write."""

import hotplate as hp
import numpy as np
import pytest
from array_checks import X, as_numpy_2, nothing_is_left, watched  # noqa: F401
from hotplate import refusing


@pytest.mark.parametrize("call, kind, says", [
    (lambda A: A.sum(axis=3), getattr(np, "exceptions", np).AxisError, "axis 3 is out of bounds for array of dimension 3"),
    (lambda A: A[:0].max(), ValueError, "zero-size|no elements|empty"),
    (lambda A: A + np.ones(5), ValueError, "5"), (lambda A: ~A, TypeError, "float64|invert"), (lambda A: A & 1, TypeError, "float64|bitwise"),
    (lambda A: -(A > 1), TypeError, "bool|negative"), (lambda A: A.reshape(7, 5), ValueError, r"cannot reshape .*24.*\(7, 5\)"),
    (lambda A: A + "a", TypeError, "unsupported operand|str"), (lambda A: A == None, TypeError, "A is None"),  # noqa: E711
    (lambda A: A + [None], TypeError, "object"), (lambda A: bool(A), ValueError, r"ambiguous.*A\.any"), (lambda A: float(A), TypeError, "one element"),
    (lambda A: A.item(), ValueError, "size 1"), (lambda A: iter(A[0, 0, 0]), TypeError, "no axes"), (lambda A: range(A), TypeError, "integer"),
    (lambda A: A.astype("U3"), TypeError, "numbers"), (lambda A: A + np.ma.masked_array([1.0], [True]), TypeError, "mask"),
    (lambda A: np.einsum("ijk->i", A), TypeError, r"gpu\.function\(numpy\.einsum\)"),
    (lambda A: np.median(A), TypeError, r"numpy\.median"), (lambda A: np.frexp(A), TypeError, "numpy.frexp"),
    (lambda A: np.add.accumulate(A), TypeError, "numpy.add.accumulate"), (lambda A: np.add(A, 1, where=A > 0), TypeError, "where="),
    (lambda A: np.add(A, 1, out=np.ones(X.shape)), TypeError, r"numpy\(out="), (lambda A: A.cumsum(), AttributeError, r"numpy\.cumsum\(A\)"),
    (lambda A: A.nonsense, AttributeError, "no nonsense"),
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


# For each name what NumPy gives, of the matrices a and b, and for an advice of more words what stands for them.
NUMPYS = {
    "argsort": lambda a, b: np.argsort(a, kind="stable"), "cumprod": lambda a, b: np.cumprod(a), "cumsum": lambda a, b: np.cumsum(a),
    "nonzero": lambda a, b: np.nonzero(a), "repeat": lambda a, b: np.repeat(a, 2), "einsum": lambda a, b: np.einsum("ij,kj->ik", a, b),
    "histogram": lambda a, b: np.histogram(a), "median": lambda a, b: np.median(a),
    "partition": lambda a, b: np.sort(a), "percentile": lambda a, b: np.percentile(a, 0.3),
    "ptp": lambda a, b: np.ptp(a), "quantile": lambda a, b: np.quantile(a, 0.3),
    "vdot": lambda a, b: np.vdot(a, b), "append": lambda a, b: np.append(a, b), "argwhere": lambda a, b: np.argwhere(a),
    "cross": lambda a, b: np.cross(a, b), "meshgrid": lambda a, b: tuple(np.meshgrid(a, b)), "unique": lambda a, b: np.unique(a),
    **{name: lambda a, b, _own=getattr(np.fft, name): _own(a) for name in ("fft2", "ifft2", "rfft2", "irfft2")}}


@pytest.mark.parametrize("name", refusing.INSTEAD)
def test_what_a_refusal_says_to_write_gives_what_numpy_gives(gpu, name):
    a, b = np.random.default_rng(5).random((2, 4, 4)) + np.eye(4)
    if name == "cross":  # of vectors of three elements
        a, b = a[:, :3], b[:, :3]
    names = {"hp": hp, "A": gpu.array(a), "B": gpu.array(b), "gpu": gpu, "numpy": np, "subscripts": "ij,kj->ik", "q": 0.3, "axes": 2}
    got, expected = eval(refusing.INSTEAD[name], names), NUMPYS[name](a, b)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (got, expected))):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-10, atol=1e-12)


def test_an_array_without_axes_is_named(gpu):
    total = gpu.array(X).sum()
    for call in (len, iter, list):
        with pytest.raises(TypeError, match=r"hotplate.Array float64 \[\].* no axes"):
            call(total)
