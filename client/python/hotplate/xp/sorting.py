"""Elements in order, and the indices that put them in order: kernels, which run at their line."""

from __future__ import annotations

from typing import Any

from ..arrays import Array
from ..errors import InvalidType
from ..operations import axis_of
from .kernels import called, shifted
from .operands import array
from .manipulation import moveaxis


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order along an axis: the kernel `sort`. NaN come last.

    Args:
        x: real numbers, in an array of any shape.
        axis: the axis.
        descending: True begins with the largest.
        stable: equal elements cannot be told from each other, so that it says nothing; -0 comes before 0.

    Raises:
        IndexError: there is no such axis.
        TypeError: complex numbers, which have no order.

    Example:
        >>> hp.xp.sort(hp.xp.asarray([3, 1, 2]))
    """
    value = _ordered(x, "sort")
    place = axis_of(axis, len(value._shape))
    if not value.size:
        return value.copy()
    done: Array = called("sort", moveaxis(value, place, -1), descending=bool(descending))
    if done._dtype != value._dtype:
        done = shifted(done) if value._dtype == "uint64" else done.astype(value._dtype)
    return moveaxis(done, -1, place)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The indices that put the elements in order along an axis: the kernel `argsort`. NaN come last.

    Args:
        x: real numbers, in an array of any shape.
        axis: the axis.
        descending: True begins with the largest.
        stable: equal elements keep their order here in any case.

    Returns:
        int64, of the shape of x.

    Raises:
        IndexError: there is no such axis.
        TypeError: complex numbers, which have no order.

    Example:
        >>> hp.xp.argsort(hp.xp.asarray([3, 1, 2]))
    """
    value = _ordered(x, "argsort")
    place = axis_of(axis, len(value._shape))
    if not value.size:
        return value.astype("int64")
    order: Array = called("argsort", value, axis=place, descending=bool(descending))
    return order


def _ordered(x: Any, name: str) -> Array:
    value = array(x)
    if value._dtype.startswith("complex"):
        raise InvalidType(f"{name} is of real numbers, not of {value._dtype}")
    return value
