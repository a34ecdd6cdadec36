"""NumPy's own functions that are those of the standard here: numpy.roll(A, 1), numpy.cumsum(A), numpy.linalg.inv(A) and so on.

They have NumPy's arguments. numpy_protocol.py looks for what it has not among these.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from ..arrays import Array
from ..errors import InvalidCall, InvalidType
from ..indexing import positions
from . import creation, fft, indexing, linalg, manipulation, products, searching, sets, sorting, statistics, utility
from .operands import array

Function = Callable[..., Any]


def _roll(a: Any, shift: Any, axis: Any = None) -> Array:
    return manipulation.roll(a, shift, axis=axis)


def _repeat(a: Any, repeats: Any, axis: Optional[int] = None) -> Array:
    return manipulation.repeat(a, repeats, axis=axis)


def _tril(m: Any, k: int = 0) -> Array:
    return creation.tril(m, k=k)


def _triu(m: Any, k: int = 0) -> Array:
    return creation.triu(m, k=k)


def _flatnonzero(a: Any) -> Array:
    found: Array = positions(array(a))
    return found


def _argsort(a: Any, axis: Optional[int] = -1, kind: Optional[str] = None, order: None = None, *, stable: Optional[bool] = None) -> Array:
    value = _with_axis(a, axis)
    return sorting.argsort(value, axis=-1 if axis is None else axis)


def _with_axis(a: Any, axis: Any) -> Array:
    """An array as NumPy's functions along an axis take it: flat without one, and a number as a vector."""
    value = array(a)
    return value.ravel() if axis is None or not value._shape else value


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    return searching.searchsorted(a, v, side=side, sorter=sorter)


def _cumulative(function: Function) -> Function:
    def call(a: Any, axis: Optional[int] = None, dtype: Any = None, out: Any = None) -> Any:
        value = _with_axis(a, axis)
        done = function(value, axis=0 if axis is None else axis, dtype=dtype)
        return value._into(done._now(), out, function.__name__)

    return call


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    return utility.diff(a, n=n, axis=axis, prepend=None if prepend is np._NoValue else prepend,  # type: ignore[attr-defined]
                        append=None if append is np._NoValue else append)  # type: ignore[attr-defined]


def _isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Optional[str] = None) -> Array:
    # NumPy's dtypes of Python's numbers; the standard's are those of the array beside them.
    own = [np.asarray(one) if type(one) in (bool, float, complex) or type(one) is int and -2**63 <= one < 2**63 else one
           for one in (element, test_elements)]
    return sets.isin(*own, invert=invert)


def _take_along_axis(arr: Any, indices: Any, axis: Optional[int] = -1) -> Array:
    return indexing.take_along_axis(array(arr).ravel(), indices, axis=0) if axis is None else indexing.take_along_axis(
        arr, indices, axis=axis)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    return products.tensordot(a, b, axes=axes)


def _vecdot(x1: Any, x2: Any, axis: int = -1) -> Array:
    return products.vecdot(x1, x2, axis=axis)


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return linalg.qr(a).R
    return linalg.qr(a, mode=mode)


def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    if hermitian:
        raise InvalidType("numpy.linalg.pinv of arrays on the daemon has no argument 'hermitian'")
    return linalg.pinv(a, rtol=rtol if rcond is None or rcond is np._NoValue else rcond)  # type: ignore[attr-defined]


def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    if hermitian:
        raise InvalidType("numpy.linalg.matrix_rank of arrays on the daemon has no argument 'hermitian'")
    if tol is not None and rtol is not None:
        raise InvalidCall("`tol` and `rtol` can't be both set.")
    value = array(A)
    if len(value._shape) < 2:
        return (value != 0).any().astype("int64")
    if tol is None:
        return linalg.matrix_rank(value, rtol=rtol)
    limit = array(tol, value._client)
    return (linalg.svdvals(value) > (limit[..., None] if limit._shape else limit)).sum(-1)


def _transform(function: Function) -> Function:
    def call(a: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Any:
        done = function(a, n=n, axis=axis, norm=norm)
        return done if out is None else array(a)._into(done._now(), out, function.__name__)

    return call


def _transform_over(function: Function) -> Function:
    def call(a: Any, s: Any = None, axes: Any = None, norm: Optional[str] = None, out: Any = None) -> Any:
        done = function(a, s=s, axes=axes, norm=norm)
        return done if out is None else array(a)._into(done._now(), out, function.__name__)

    return call


# By NumPy's name; each is called with NumPy's own arguments.
FUNCTIONS: dict[str, Function] = {
    "roll": _roll, "repeat": _repeat, "tile": manipulation.tile, "tril": _tril, "triu": _triu, "nonzero": searching.nonzero,
    "flatnonzero": _flatnonzero, "argsort": _argsort, "searchsorted": _searchsorted, "cumsum": _cumulative(statistics.cumulative_sum),
    "cumprod": _cumulative(statistics.cumulative_prod), "cumulative_sum": statistics.cumulative_sum,
    "cumulative_prod": statistics.cumulative_prod, "diff": _diff, "isin": _isin, "take_along_axis": _take_along_axis,
    "tensordot": _tensordot, "vecdot": _vecdot, "linalg.tensordot": _tensordot, "linalg.vecdot": _vecdot,
    "unique_all": sets.unique_all, "unique_counts": sets.unique_counts, "unique_inverse": sets.unique_inverse,
    "unique_values": sets.unique_values, "linalg.det": linalg.det, "linalg.slogdet": linalg.slogdet, "linalg.inv": linalg.inv,
    "linalg.eig": linalg.eig, "linalg.eigvals": linalg.eigvals, "linalg.qr": _qr, "linalg.pinv": _pinv, "linalg.matrix_power": linalg.matrix_power, "linalg.cross": linalg.cross,
    "linalg.matrix_norm": linalg.matrix_norm, "linalg.vector_norm": linalg.vector_norm, "linalg.outer": linalg.outer,
    "linalg.matrix_rank": _matrix_rank,
    "linalg.trace": linalg.trace, "linalg.diagonal": linalg.diagonal,
    **{f"fft.{name}": _transform(getattr(fft, name)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": _transform_over(getattr(fft, name)) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": (lambda x, axes=None, _own=getattr(fft, name): _own(x, axes=axes)) for name in ("fftshift", "ifftshift")}}
