"""Makes arrays on the daemon. What a formula gives is noted, and nothing is sent."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import numpy as np

from ..arguments import shown
from ..array_functions import FUNCTIONS
from ..arrays import Array
from ..awaited import futures_in
from ..errors import InvalidCall
from ..graph import EACH, Axis
from ..noting import note
from ..operations import dtype_name, integer, made, number_of
from ..views import Geometry
from .devices import named, placed
from .operands import array, arrays, bound, client_of, connected, constant, filled, first_array, indices, node, sizes_of


def _shape(shape: Any) -> tuple[int, ...]:
    sizes = sizes_of(shape)
    if any(size < 0 for size in sizes):
        raise InvalidCall(f"negative dimensions are not allowed: shape is {sizes}")
    return sizes


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array whose elements are all one number.

    Args:
        shape: an integer, or a tuple of them.
        fill_value: the number.
        dtype: default: bool, int64, float64 or complex128, as the number is.
        device: None, or the id of a device.

    Raises:
        ValueError: a negative size.
        OverflowError: the dtype cannot hold the number.

    Example:
        >>> hp.xp.full((2, 3), 7)
    """
    client = client_of(fill_value)
    name = dtype_name(np.asarray(fill_value).dtype if dtype is None else dtype)
    return constant(client, number_of(fill_value, name, "full"), name, _shape(shape), named(client, device))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of zeros. Without `dtype` it is float64.

    Raises:
        ValueError: a negative size.

    Example:
        >>> hp.xp.zeros((2, 3))
    """
    return full(shape, 0, float if dtype is None else dtype, device=device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of ones. Without `dtype` it is float64.

    Raises:
        ValueError: a negative size.

    Example:
        >>> hp.xp.ones((2, 3), dtype=hp.xp.float32)
    """
    return full(shape, 1, float if dtype is None else dtype, device=device)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array whose elements are not said; here they are zeros. Without `dtype` it is float64.

    Raises:
        ValueError: a negative size.

    Example:
        >>> hp.xp.empty(3)
    """
    return zeros(shape, dtype, device=device)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Array:
    """An array of one number, of the shape and dtype of another.

    Args:
        x: that array.
        fill_value: the number.
        dtype, shape: other ones than those of `x`.
        device: None, or the id of a device.

    Raises:
        OverflowError: the dtype cannot hold the number.

    Example:
        >>> hp.xp.full_like(x, 7)
    """
    like = array(x)
    name = like._dtype if dtype is None else dtype_name(dtype)
    value, sizes = number_of(fill_value, name, "full_like"), like._shape if shape is None else _shape(shape)
    return filled(like, value, name, sizes) if device is None else constant(like._client, value, name, sizes, named(like._client, device))


def zeros_like(x: Any, /, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Array:
    """An array of zeros, of the shape and dtype of another.

    Example:
        >>> hp.xp.zeros_like(x)
    """
    return full_like(x, 0, dtype, shape=shape, device=device)


def ones_like(x: Any, /, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Array:
    """An array of ones, of the shape and dtype of another.

    Example:
        >>> hp.xp.ones_like(x)
    """
    return full_like(x, 1, dtype, shape=shape, device=device)


def empty_like(x: Any, /, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Array:
    """An array whose elements are not said, of the shape and dtype of another; here they are zeros.

    Example:
        >>> hp.xp.empty_like(x)
    """
    return full_like(x, 0, dtype, shape=shape, device=device)


def eye(n_rows: int, n_cols: Optional[int] = None, /, k: int = 0, dtype: Any = None, *, device: Any = None) -> Array:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
        n_rows, n_cols: its shape. Default for n_cols: n_rows.
        k: the diagonal: 0 is the main one, positive ones are to its right.
        dtype: default float64.
        device: None, or the id of a device.

    Raises:
        ValueError: a negative size.

    Example:
        >>> hp.xp.eye(3)
    """
    client = connected()
    name = dtype_name(float if dtype is None else dtype)
    shape = _shape((n_rows, n_rows if n_cols is None else n_cols))
    rows, columns = indices(shape)
    operands = [columns, rows, _diagonal(k, shape)]
    return Array._of(made(client, name + "(equal(subtract({},{}),{}))", operands, name, shape, device=named(client, device)))


def _diagonal(k: Any, shape: Sequence[int]) -> int:
    """The number of a diagonal of matrices; one outside of them as the next that is."""
    return max(-shape[-2], min(integer("k", k), shape[-1]))


def _wrapped(number: Any) -> Any:
    """An integer of 64 bits as the signed one of the same bits, with which expressions count."""
    return (number + 2**63) % 2**64 - 2**63 if isinstance(number, int) else number


def arange(start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Array:
    """Evenly spaced numbers: start, start + step and so on, all before stop. One number is the stop, and the start is 0.

    Args:
        start, stop, step: the numbers.
        dtype: default: int64, or float64 if one of the numbers is no integer.
        device: None, or the id of a device.

    Raises:
        ZeroDivisionError: step is 0.

    Example:
        >>> hp.xp.arange(10)
    """
    client = client_of(start, stop, step)
    if stop is None:
        start, stop = 0, start
    numbers = [one if type(one) in (int, float) else np.asarray(one).item() for one in (start, stop, step)]
    start, stop, step = numbers
    if step == 0:
        raise ZeroDivisionError(f"arange: step is {step}; it must be another number")
    name = dtype_name(np.result_type(*[np.asarray(one).dtype for one in numbers]) if dtype is None else dtype)
    if all(isinstance(one, int) for one in numbers):
        count = len(range(start, stop, step))
    else:
        count = max(0, math.ceil((stop - start) / step))
    text = name + "(add(multiply({},{}),{}))"
    return Array._of(made(client, text, [Axis(0), _wrapped(step), _wrapped(start)], name, (count,), device=named(client, device)))


def linspace(start: Any, stop: Any, /, num: int = 50, dtype: Any = None, *, device: Any = None, endpoint: bool = True) -> Array:
    """`num` evenly spaced numbers from start to stop.

    Args:
        start, stop: the first number and the last.
        num: how many, 0 or more.
        dtype: default float64, of complex numbers complex128.
        endpoint: False leaves out stop, as the next number would be.
        device: None, or the id of a device.

    Raises:
        ValueError: num is negative.

    Example:
        >>> hp.xp.linspace(0, 1, 5)
    """
    client = client_of(start, stop)
    count = integer("num", num)
    if count < 0:
        raise InvalidCall(f"Number of samples, {count}, must be non-negative.")
    first, last = [np.asarray(one).item() for one in (start, stop)]
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    first, last = (complex(first), complex(last)) if is_complex else (float(first), float(last))
    name = dtype_name((complex if is_complex else float) if dtype is None else dtype)
    parts = max(count - 1 if endpoint else count, 1)
    operands = [Axis(0), first, count - 1 if endpoint and count > 1 else -1, last, (last - first) / parts]
    text = "multiply(float64({0}),{4})"
    if operands[4] == 0 and last != first:  # a step so small that it is no number
        operands[4:] = last - first, float(parts)
        text = "multiply(divide(float64({0}),{5}),{4})"
    text = f"where(equal({{0}},{{2}}),{{3}},add({text},{{1}}))"
    # Integers are rounded down, as in NumPy; a conversion would cut towards 0.
    text = f"{name}(floor({text}))" if "int" in name and not is_complex else f"{name}({text})"
    return Array._of(made(client, text, operands, name, (count,), device=named(client, device)))


def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: Optional[bool] = None) -> Array:
    """An array of the daemon, of one that is there, an ndarray, a number, or lists of these.

    Up to 64 KiB of this process go along with the first operation; more is uploaded at once.

    Args:
        obj: what becomes an array.
        dtype: default: that of `obj`; of numbers bool, int64, float64 or complex128.
        device: None, or the id of a device.
        copy: True for a copy also of what is there. False raises where elements would have to be copied.

    Raises:
        ValueError: copy=False, and elements would have to be copied.
        TypeError: it is no array of numbers.

    Example:
        >>> hp.xp.asarray([1.0, 2.0])
    """
    if isinstance(obj, Array):
        there = obj if device is None else obj.to_device(device)
        if dtype is not None:
            there = there.astype(dtype, copy=False)
        if copy is False and there is not obj:
            raise InvalidCall(f"asarray: copy=False, and the elements have to become {there._dtype} on {there.device}")
        return there.copy() if copy and there is obj else there
    client = client_of(obj)
    if copy is False:
        raise InvalidCall(f"asarray: copy=False, and {shown(obj)} has to be sent")
    if futures_in((obj,), {}):
        return asarray(array(obj, client), dtype, device=device)
    if isinstance(obj, (list, tuple)) and first_array(obj) is not None:
        with bound(client):
            parts = [array(asarray(one), client) for one in obj]
        whole: Array = FUNCTIONS["stack"](parts[0], parts)
        return asarray(whole, dtype, device=device)
    made_here = np.asarray(obj) if dtype is None else np.asarray(obj, dtype_name(dtype))
    return placed(array(made_here if made_here.dtype.kind in "biufc" else obj, client), device)


def array_copied(obj: Any, dtype: Any = None, *, copy: Optional[bool] = True) -> Array:
    """numpy.array: as `asarray`, but a copy of what is there, too.

    Example:
        >>> hp.xp.array(x)
    """
    return asarray(obj, dtype, copy=copy if copy is not True or isinstance(obj, Array) else None)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Optional[bool] = None) -> Array:
    """An array of the daemon, of one of another package that has __dlpack__.

    Args:
        x: the array. One of a daemon stays as it is.
        device: None, or the id of a device.
        copy: True for a copy also of what is there.

    Raises:
        ValueError: copy=False, and elements would have to be sent.
        TypeError: `x` has no __dlpack__.

    Example:
        >>> hp.xp.from_dlpack(np.arange(3.0))
    """
    return asarray(x if isinstance(x, Array) else np.from_dlpack(x), device=device, copy=copy)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Array, ...]:
    """The coordinates of the points of a grid, as views.

    Args:
        arrays: one vector for each axis of the grid.
        indexing: "xy": the first vector is along the second axis, as in a picture; "ij": along the first.

    Returns:
        An array of the grid's shape for each vector.

    Raises:
        ValueError: another `indexing`, or an array with more than one axis.

    Example:
        >>> X, Y = hp.xp.meshgrid(hp.xp.arange(3), hp.xp.arange(2))
    """
    if indexing not in ("xy", "ij"):
        raise InvalidCall(f"indexing is {shown(indexing)}; it can be 'xy' or 'ij'")
    vectors = _vectors(arrays)
    rank = len(vectors)
    axes = list(range(rank))
    if indexing == "xy" and rank > 1:
        axes[:2] = 1, 0
    shape = [0] * rank
    for axis, vector in zip(axes, vectors):
        shape[axis] = vector.size
    return tuple(vector._view(_spread(vector._where(), axis, tuple(shape))) for axis, vector in zip(axes, vectors))


def _vectors(values: Sequence[Any]) -> list[Array]:
    vectors = [one.reshape(-1) if not one._shape else one for one in arrays(*values)]
    for vector in vectors:
        if len(vector._shape) != 1:
            raise InvalidCall(f"meshgrid is of vectors; one has the shape {vector._shape}")
    return vectors


def _spread(geometry: Geometry, axis: int, shape: tuple[int, ...]) -> Geometry:
    """A vector along one axis of a shape."""
    _, offset, (stride,) = geometry
    return shape, offset, tuple(stride if place == axis and length > 1 else 0 for place, length in enumerate(shape))


def tril(x: Any, /, *, k: int = 0) -> Array:
    """The lower triangles of matrices: the elements above a diagonal become zeros.

    Args:
        x: an array [..., m, n] of any dtype.
        k: the diagonal: 0 is the main one, positive ones are to its right.

    Raises:
        ValueError: it has less than two axes.

    Example:
        >>> hp.xp.tril(hp.xp.ones((3, 3)))
    """
    return _triangle(x, k, "less_equal", "tril")


def triu(x: Any, /, *, k: int = 0) -> Array:
    """The upper triangles of matrices: the elements below a diagonal become zeros.

    Args:
        x: an array [..., m, n] of any dtype.
        k: the diagonal: 0 is the main one, positive ones are to its right.

    Raises:
        ValueError: it has less than two axes.

    Example:
        >>> hp.xp.triu(hp.xp.ones((3, 3)))
    """
    return _triangle(x, k, "greater_equal", "triu")


def _triangle(x: Any, k: int, comparison: str, name: str) -> Array:
    value = array(x)
    if len(value._shape) < 2:
        raise InvalidCall(f"{name} is of matrices; x has the shape {value._shape}")
    *_, row, column = indices(value._shape)
    text = f"where({comparison}(subtract({{1}},{{2}}),{{3}}),{{0}},{value._dtype}(0))"
    return Array._of(note(value._client, EACH, value._dtype, value._shape, text, (node(value), column, row, _diagonal(k, value._shape))))
