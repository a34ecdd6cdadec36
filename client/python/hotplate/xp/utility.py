"""Whether all or some elements are true, and the differences of neighbours."""

from __future__ import annotations

from typing import Any, Optional

from ..arrays import Array
from ..errors import InvalidCall
from ..operations import axis_of, integer
from .manipulation import broadcast_to, concat
from .operands import array, client_of


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Whether each element is true, that is not zero, of all or along axes.

    Args:
        x: an array of any shape and dtype.
        axis: an axis or a tuple of them; None are all.
        keepdims: True keeps the axes, with one element.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> bool(hp.xp.all(x > 0))
    """
    return array(x).all(axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Whether an element is true, that is not zero, of all or along axes.

    Args:
        x, axis, keepdims: as of `all`.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> bool(hp.xp.any(x > 0))
    """
    return array(x).any(axis, keepdims=keepdims)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Optional[Any] = None, append: Optional[Any] = None) -> Array:
    """The differences of neighbours along an axis.

    Args:
        x: numbers, in an array with at least one axis.
        axis: the axis.
        n: how often the differences are taken.
        prepend, append: arrays that are put before and behind x first; of a number one element along the axis.

    Raises:
        ValueError: n is negative.
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.diff(hp.xp.asarray([1, 4, 9]))
    """
    client = client_of(x, prepend, append)
    value = array(x, client)
    place = axis_of(axis, len(value._shape))
    times = integer("n", n)
    if times < 0:
        raise InvalidCall(f"diff: n is {times}; it must be 0 or more")
    if times == 0:
        return value
    one = value._shape[:place] + (1,) + value._shape[place + 1:]
    before_and_behind = [None if end is None else array(end, client) for end in (prepend, append)]
    ends = [end if end is None or end._shape else broadcast_to(end, one) for end in before_and_behind]
    parts = [part for part in (ends[0], value, ends[1]) if part is not None]
    value = concat(parts, axis=place) if len(parts) > 1 else value
    before = (slice(None),) * place
    for _ in range(times):
        upper, lower = value[before + (slice(1, None),)], value[before + (slice(None, -1),)]
        value = upper != lower if value._dtype == "bool" else upper - lower
    return value
