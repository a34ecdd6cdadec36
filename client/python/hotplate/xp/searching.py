"""Where elements are: the largest, those that are not zero, the places in an order."""

from __future__ import annotations

import math
from typing import Any, Optional

import numpy as np

from ..arguments import shown
from ..arrays import Array
from ..errors import InvalidCall
from ..indexing import places_of, positions
from ..operations import RANGES
from .dtypes import result_type
from .kernels import called
from .operands import applied, array, client_of, filled


def argmax(x: Any, /, *, axis: Optional[int] = None, keepdims: bool = False) -> Array:
    """The index of the first largest element, of all in C order or along an axis.

    Args:
        x: real numbers, in an array of any shape.
        axis: the axis; None takes all elements.
        keepdims: True keeps the axes, with one element.

    Returns:
        int64.

    Raises:
        ValueError: there are no elements.

    Example:
        >>> hp.xp.argmax(x, axis=0)
    """
    return array(x).argmax(axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: Optional[int] = None, keepdims: bool = False) -> Array:
    """The index of the first smallest element, of all in C order or along an axis.

    Args:
        x, axis, keepdims: as of `argmax`.

    Returns:
        int64.

    Raises:
        ValueError: there are no elements.

    Example:
        >>> hp.xp.argmin(x, axis=0)
    """
    return array(x).argmin(axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """How many elements are not zero, of all or along axes.

    Args:
        x: an array of any dtype.
        axis: an axis or a tuple of them; None are all.
        keepdims: True keeps the axes, with one element.

    Returns:
        int64.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.count_nonzero(x > 0)
    """
    return (array(x) != 0).sum(axis, keepdims=keepdims)


def nonzero(x: Any, /) -> tuple[Array, ...]:
    """The indices of the elements that are not zero, in C order: the kernel `flatnonzero`. The call waits for their number.

    Args:
        x: an array of any dtype with at least one axis.

    Returns:
        A vector of int64 for each axis.

    Raises:
        ValueError: it has no axes.

    Example:
        >>> rows, columns = hp.xp.nonzero(x > 0)
    """
    value = array(x)
    if not value._shape:
        raise InvalidCall("nonzero is of arrays with axes; x has none")
    return places_of(positions(value), value._shape)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Array:
    """Where to insert elements into a sorted vector, so that it stays sorted: the kernel `searchsorted`, which runs at its line.

    Args:
        x1: a vector of real numbers in ascending order.
        x2: real numbers, in an array of any shape. Python's numbers are compared as they are, whatever the dtype of x1.
        side: "left": before the elements that are equal; "right": behind them.
        sorter: indices that sort x1, as of `argsort`.

    Returns:
        int64, of the shape of x2.

    Raises:
        ValueError: x1 is no vector, or another `side`.

    Example:
        >>> hp.xp.searchsorted(hp.xp.asarray([1.0, 2.0, 3.0]), hp.xp.asarray([2.5]))
    """
    client = client_of(x1, x2)
    ordered = array(x1, client)
    if side not in ("left", "right"):
        raise InvalidCall(f"side is {shown(side)}; it can be 'left' or 'right'")
    if len(ordered._shape) != 1:
        raise InvalidCall(f"searchsorted: x1 has the shape {ordered._shape}; it must be a vector")
    if sorter is not None:
        ordered = ordered.take(array(sorter, client))
    if outside(ordered, x2):
        return filled(ordered, ordered.size if x2 > 0 else 0, "int64", ())
    sought = array(np.asarray(x2, ordered._dtype) if type(x2) is int and ordered._dtype in RANGES else x2, client)
    dtype = result_type(ordered, sought)
    if not sought.size or not ordered.size:
        return filled(sought if isinstance(x2, Array) else ordered, 0, "int64", sought._shape)
    found: Array = called("searchsorted", ordered.astype(dtype, copy=False), sought.astype(dtype, copy=False), side=side)
    return found


def outside(value: Array, number: Any) -> bool:
    """Whether a number is an integer of Python's that an array's dtype of integers does not have."""
    low, high = RANGES.get(value._dtype, (-math.inf, math.inf))
    return type(number) is int and not low <= number <= high


def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """The elements of x1 where a condition is true, and those of x2 elsewhere.

    Args:
        condition: bools.
        x1, x2: arrays or numbers. The three shapes broadcast.

    Raises:
        ValueError: the shapes do not broadcast.

    Example:
        >>> hp.xp.where(x > 0, x, 0)
    """
    return applied("where({},{},{})", (condition, x1, x2), "where")

