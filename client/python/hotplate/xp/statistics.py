"""Sums, means and the like, of all elements or along axes, and cumulative ones."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ..arrays import Array
from ..errors import InvalidCall
from ..operations import axis_of, dtype_name
from .operands import array, filled


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum, of all elements or along axes.

    Args:
        x: numbers, in an array of any shape.
        axis: an axis or a tuple of them; None are all.
        dtype: of the result. Default: that of x; of integers int64 or uint64.
        keepdims: True keeps the axes, with one element.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.sum(x, axis=0)
    """
    return array(x).sum(axis, dtype, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product, of all elements or along axes.

    Args:
        x, axis, dtype, keepdims: as of `sum`.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.prod(x, axis=0)
    """
    return array(x).prod(axis, dtype, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """The smallest element, of all or along axes; NaN if one is NaN.

    Args:
        x: real numbers, in an array of any shape.
        axis, keepdims: as of `sum`.

    Raises:
        ValueError: there are no elements.

    Example:
        >>> hp.xp.min(x, axis=0)
    """
    return array(x).min(axis, keepdims=keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """The largest element, of all or along axes; NaN if one is NaN.

    Args:
        x: real numbers, in an array of any shape.
        axis, keepdims: as of `sum`.

    Raises:
        ValueError: there are no elements.

    Example:
        >>> hp.xp.max(x, axis=0)
    """
    return array(x).max(axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """The mean, of all elements or along axes.

    Args:
        x: floats or complex numbers, in an array of any shape.
        axis, keepdims: as of `sum`.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.mean(x, axis=0)
    """
    return array(x).mean(axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The variance, of all elements or along axes.

    Args:
        x: floats, in an array of any shape.
        axis, keepdims: as of `sum`.
        correction: of n elements the sum of squares is divided by n - correction.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.var(x, axis=0, correction=1)
    """
    return array(x).var(axis, ddof=correction, keepdims=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The standard deviation, of all elements or along axes.

    Args:
        x, axis, correction, keepdims: as of `var`.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.std(x, axis=0, correction=1)
    """
    return array(x).std(axis, ddof=correction, keepdims=keepdims)


def cumulative_sum(x: Any, /, *, axis: Optional[int] = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """The sums of the elements up to each place along an axis: the kernel `scan`, which runs at its line.

    Args:
        x: numbers, in an array with at least one axis.
        axis: the axis; a vector needs none.
        dtype: of the result. Default: that of x; of integers int64 or uint64.
        include_initial: True begins with 0, so that the axis is longer by one.

    Raises:
        ValueError: the array has several axes, and none is named.
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.cumulative_sum(hp.xp.arange(5))
    """
    return _cumulative(x, axis, dtype, include_initial, "sum", 0)


def cumulative_prod(x: Any, /, *, axis: Optional[int] = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """The products of the elements up to each place along an axis: the kernel `scan`, which runs at its line.

    Args:
        x, axis, dtype: as of `cumulative_sum`.
        include_initial: True begins with 1, so that the axis is longer by one.

    Raises:
        ValueError: the array has several axes, and none is named.
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.cumulative_prod(hp.xp.asarray([1, 2, 3]))
    """
    return _cumulative(x, axis, dtype, include_initial, "prod", 1)


def _cumulative(x: Any, axis: Optional[int], dtype: Any, include_initial: bool, operation: str, initial: int) -> Array:
    value = array(x)
    if axis is None:
        if len(value._shape) != 1:
            raise InvalidCall(f"cumulative_{operation}: x has the shape {value._shape}; give an axis")
        axis = 0
    place = axis_of(axis, len(value._shape))
    name = accumulated(value._dtype) if dtype is None else dtype_name(dtype)
    if not value.size:
        shape = list(value._shape)
        shape[place] += include_initial
        return filled(value, initial, name, tuple(shape))
    # Sums modulo 2^64, cut down to a small integer's bits, are the sums modulo its own range.
    wide = name if value._client._takes("scan", name) else "float32" if name == "float16" else accumulated(name)
    done: Array = value._client.scan.run(value.astype(wide, copy=False), operation=operation, axis=place,
                                     include_initial=bool(include_initial), keep=True)
    return done.astype(name, copy=False)


def accumulated(name: str) -> str:
    """The dtype of sums of numbers of a dtype: integers have 64 bits."""
    kind = np.dtype(name).kind
    return {"b": "int64", "i": "int64", "u": "uint64"}.get(kind, name)
