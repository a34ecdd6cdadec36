"""Elements at indices that are arrays."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ..arrays import Array
from ..errors import InvalidCall, OutOfBounds
from ..graph import Axis
from ..operations import axis_of, gathered
from .manipulation import broadcast_to
from .operands import arrays, filled, node


def take(x: Any, indices: Any, /, *, axis: Optional[int] = None) -> Array:
    """The elements at indices along an axis.

    Args:
        x: an array of any dtype.
        indices: integers; negative ones count from the end.
        axis: the axis; a vector needs none. Without one, indices are into the elements in C order.

    Raises:
        IndexError: an index is outside of the array. If it is on the daemon, this is raised when the value is needed.

    Example:
        >>> hp.xp.take(x, hp.xp.asarray([0, 2]), axis=1)
    """
    value, places = arrays(x, indices)
    return value.take(places, None if axis is None else axis_of(axis, len(value._shape)))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Array:
    """For each place the element at an index of its own along an axis, as `argsort` gives them.

    Args:
        x: an array of any dtype.
        indices: integers, in an array with as many axes as x; the other axes broadcast.
        axis: the axis.

    Raises:
        ValueError: another number of axes, or shapes that do not broadcast.
        IndexError: indices are no integers; or one is outside of the array, which is raised when the value is needed.

    Example:
        >>> hp.xp.take_along_axis(x, hp.xp.argsort(x), axis=-1)
    """
    value, places = arrays(x, indices)
    rank = len(value._shape)
    own = axis_of(axis, rank)
    if len(places._shape) != rank:
        raise InvalidCall(f"take_along_axis: indices has {len(places._shape)} axes, and x has {rank}")
    if np.dtype(places._dtype).kind not in "iu":
        raise OutOfBounds(f"take_along_axis: indices is of {places._dtype}; they must be integers")
    shape = list(places._shape)
    for at, (length, other) in enumerate(zip(value._shape, shape)):
        if at != own and length != other:
            if 1 not in (length, other):
                raise InvalidCall(f"take_along_axis: the shapes {value._shape} and {places._shape} do not broadcast")
            shape[at] = length if other == 1 else other
    if 0 in shape:
        return filled(value, 0, value._dtype, tuple(shape))
    operands: list[Any] = [Axis(at) if length > 1 and value._shape[at] > 1 else 0 for at, length in enumerate(shape)]
    operands[own] = node(broadcast_to(places, tuple(shape)))
    return Array._of(gathered(value._client, node(value), operands, tuple(shape)))
