"""Other shapes and orders of the same elements. Most are views: nothing is copied."""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from ..arguments import shown
from ..arrays import Array
from ..errors import InvalidCall, InvalidType
from ..graph import SENT, sent
from ..array_functions import FUNCTIONS
from ..operations import axis_of, integer, told
from ..placing import common
from ..views import is_in_order
from .creation import arange
from .operands import array, arrays, axes_of, bound, client_of, constant, indices, read, sizes_of
from .searching import searchsorted
from .statistics import cumulative_sum


def _viewed(x: Any, how: Callable[[Any], Any]) -> Array:
    return array(x)._viewed(how)


def broadcast_arrays(*arrays_: Any) -> tuple[Array, ...]:
    """Arrays as views of the one shape that they broadcast to.

    Raises:
        ValueError: the shapes do not broadcast.

    Example:
        >>> x, y = hp.xp.broadcast_arrays(hp.xp.ones((3, 1)), hp.xp.ones(4))
    """
    values = arrays(*arrays_)
    shape = broadcast_shapes(*[value._shape for value in values])
    return tuple(broadcast_to(value, shape) for value in values)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that shapes broadcast to.

    Raises:
        ValueError: they do not.

    Example:
        >>> hp.xp.broadcast_shapes((3, 1), (4,))
        (3, 4)
    """
    return np.broadcast_shapes(*shapes)


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """An array as a view of another shape, in which elements repeat.

    Raises:
        ValueError: its shape does not broadcast to this one.

    Example:
        >>> hp.xp.broadcast_to(hp.xp.arange(3), (2, 3))
    """
    return _viewed(x, lambda whole: np.broadcast_to(whole, shape))


def concat(arrays: Any, /, *, axis: Optional[int] = 0) -> Array:
    """Arrays one after the other along an axis.

    Args:
        arrays: a list or tuple of arrays, of the same shape but along the axis.
        axis: the axis; None takes the elements of each in C order.

    Raises:
        ValueError: the shapes differ along another axis, or there is no such axis.

    Example:
        >>> hp.xp.concat([x, y])
    """
    client = client_of(arrays)
    values = [array(one, client) for one in arrays]
    if not values:
        raise InvalidCall("concat needs at least one array")
    return _on_their_device(FUNCTIONS["concatenate"](values[0], values, axis), values)


def _on_their_device(joined: Array, parts: list[Array]) -> Array:
    """The joined array. One without elements is read from no array, and so gets their device here."""
    if joined.size:
        return joined
    device = common((part._now().device, told(part)) for part in parts)
    return constant(joined._client, 0, joined._dtype, joined._shape, device)


def expand_dims(x: Any, /, axis: Any = 0) -> Array:
    """A view with new axes of one element.

    Args:
        x: an array.
        axis: the place of the new axis in the result; or a tuple of places.

    Raises:
        IndexError: there is no such place.

    Example:
        >>> hp.xp.expand_dims(x, axis=0).shape
    """
    value = array(x)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = tuple(axis_of(one, len(value._shape) + len(axes)) for one in axes)
    return value._viewed(lambda whole: np.expand_dims(whole, places))


def flip(x: Any, /, *, axis: Any = None) -> Array:
    """A view with the elements in reverse order along an axis, along several, or along all.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.flip(x)
    """
    value = array(x)
    places = axes_of(axis, len(value._shape))
    return value[tuple(slice(None, None, -1) if place in places else slice(None) for place in range(len(value._shape)))]


def moveaxis(x: Any, source: Any, destination: Any, /) -> Array:
    """A view with axes at other places; the others keep their order.

    Args:
        x: an array.
        source, destination: an axis and its new place, or a tuple of each.

    Raises:
        IndexError, ValueError: there is no such axis, or one is named twice.

    Example:
        >>> hp.xp.moveaxis(x, 0, -1).shape
    """
    return _viewed(x, lambda whole: np.moveaxis(whole, source, destination))


def permute_dims(x: Any, /, axes: Any) -> Array:
    """A view with the axes in another order.

    Raises:
        ValueError: `axes` does not name each axis once.

    Example:
        >>> hp.xp.permute_dims(x, (1, 0)).shape
    """
    return _viewed(x, lambda whole: whole.transpose(axes))


def repeat(x: Any, repeats: Any, /, *, axis: Optional[int] = None) -> Array:
    """Each element several times, one after the other.

    Args:
        x: an array of any dtype.
        repeats: how often: an integer, or an array with one for each place along the axis. The length of the result is
            their sum, for whose value the call waits.
        axis: the axis; None takes the elements in C order.

    Raises:
        ValueError: a negative number, or not as many as there are places.
        TypeError: no integers, or integers of uint64.

    Example:
        >>> hp.xp.repeat(hp.xp.arange(3), 2)
    """
    client = client_of(x, repeats)
    value = array(x, client)
    if axis is None:
        value, axis = value.ravel(), 0
    place = axis_of(axis, len(value._shape))
    shape = list(value._shape)
    if isinstance(repeats, (int, np.integer)) or not isinstance(repeats, Array) and np.size(repeats) == 1:
        times = integer("repeats", repeats if isinstance(repeats, int) else np.asarray(repeats).item())
        if times < 0:
            raise InvalidCall(f"repeats is {times}; it must be 0 or more")
        shape[place] *= times
        return _from(value, place, tuple(shape), f"floor_divide({{at}},{max(times, 1)})")
    times_each = array(repeats, client)
    if not times_each.size:
        times_each = times_each.astype("int64")
    if not np.can_cast(times_each._dtype, "int64", "safe"):
        raise InvalidType(f"repeats is of {times_each._dtype}; it must be integers of at most 64 bits with a sign")
    if times_each._shape not in ((), (1,), (shape[place],)):
        raise InvalidCall(f"repeats has the shape {times_each._shape}; it must be one number, or {shape[place]}")
    if times_each.size == 1:
        return repeat(value, int(times_each), axis=place)
    return _repeated(value, times_each, place)


def _repeated(value: Array, times: Array, place: int) -> Array:
    times = times.astype("int64", copy=False)
    ends = cumulative_sum(times)
    least, total = stack([times.min(), ends[-1]]).tolist() if ends.size else (0, 0)
    if least < 0:
        raise InvalidCall(f"repeats has a {least}; each must be 0 or more")
    shape = value._shape[:place] + (total,) + value._shape[place + 1:]
    if 0 in shape:
        return read(value, "", [], shape)
    with bound(value._client):
        sources = searchsorted(ends, arange(total), side="right")
    return value.take(sources, place)


def _from(value: Array, place: int, shape: tuple[int, ...], text: str) -> Array:
    """The elements of an array at computed places along one axis: `{at}` in the text is the place in the result."""
    operands = indices(shape)
    places = [f"{{{axis + 1}}}" for axis in range(len(shape))]
    places[place] = text.replace("{at}", places[place])
    return read(value, ",".join(places), operands, shape)


def reshape(x: Any, /, shape: Any, *, copy: Optional[bool] = None) -> Array:
    """The same elements in C order in another shape: a view where they are one after the other, else a copy.

    Args:
        x: an array.
        shape: the shape; one size may be -1.
        copy: True for a copy; False raises where there would have to be one.

    Raises:
        ValueError: the shape has another number of elements, or copy=False.

    Example:
        >>> hp.xp.reshape(hp.xp.arange(6), (2, 3))
    """
    value = array(x)
    if copy is False and not is_in_order(value._where()):
        raise InvalidCall("reshape: copy=False, and the elements are not one after the other")
    shaped = (value.copy() if copy else value).reshape(sizes_of(shape))
    source = value._now()
    if copy is None and source.kind == SENT:  # elements of this process: the result is an array of its own, without a copy
        own = sent(source.client, source.value.reshape(shaped._shape))
        own.device = source.device
        return Array._of(own)
    return shaped


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Array:
    """The elements some places further along an axis; what leaves at the end comes in at the beginning.

    Args:
        x: an array of any dtype.
        shift: how many places; negative ones are towards the beginning. With several axes a tuple, or one for all.
        axis: an axis or a tuple of them; None takes the elements in C order, and gives them the shape of x again.

    Raises:
        ValueError: not as many shifts as axes.
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.roll(hp.xp.arange(5), 2)
    """
    value = array(x)
    if axis is None:
        flat = value.ravel()
        return roll(flat, sum(shift) if isinstance(shift, (tuple, list)) else shift, axis=0).reshape(value._shape)
    axes = axes_of(axis, len(value._shape))
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    if len(axes) == 1 < len(shifts):
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise InvalidCall(f"roll: shift is {shown(shift)}, and axis is {shown(axis)}; give one shift for each axis")
    places = [f"{{{place + 1}}}" for place in range(len(value._shape))]
    for place in dict.fromkeys(axes):
        by = sum(integer("shift", one) for one, its in zip(shifts, axes) if its == place) % max(value._shape[place], 1)
        if by:
            places[place] = f"remainder(subtract({places[place]},{by}),{value._shape[place]})"
    return read(value, ",".join(places), indices(value._shape), value._shape) if value._shape else value


def squeeze(x: Any, /, axis: Any = None) -> Array:
    """A view without axes of one element; without `axis`, without all of these.

    Raises:
        ValueError: an axis has another length.

    Example:
        >>> hp.xp.squeeze(hp.xp.ones((1, 3)), axis=0).shape
        (3,)
    """
    return array(x).squeeze(tuple(axis) if isinstance(axis, list) else axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Array:
    """Arrays of one shape along a new axis.

    Args:
        arrays: a list or tuple of arrays.
        axis: the place of the new axis.

    Raises:
        ValueError: the shapes differ.
        IndexError: there is no such place.

    Example:
        >>> hp.xp.stack([x, x]).shape
    """
    client = client_of(arrays)
    values = [array(one, client) for one in arrays]
    if not values:
        raise InvalidCall("stack needs at least one array")
    return _on_their_device(FUNCTIONS["stack"](values[0], values, axis_of(axis, len(values[0]._shape) + 1)), values)


def tile(x: Any, repetitions: Any, /) -> Array:
    """An array several times beside itself along each axis.

    Args:
        x: an array of any dtype.
        repetitions: how often along each axis, counted from the last. Missing ones are 1.

    Raises:
        ValueError: a negative number.

    Example:
        >>> hp.xp.tile(hp.xp.arange(3), (2, 2))
    """
    value = array(x)
    times = sizes_of(repetitions)
    if any(one < 0 for one in times):
        raise InvalidCall(f"repetitions is {times}; each must be 0 or more")
    rank = max(len(times), len(value._shape))
    times = (1,) * (rank - len(times)) + times
    value = value.reshape((1,) * (rank - len(value._shape)) + value._shape)
    shape = tuple(length * many for length, many in zip(value._shape, times))
    places = [f"remainder({{{place + 1}}},{length})" if many > 1 else f"{{{place + 1}}}"
              for place, (length, many) in enumerate(zip(value._shape, times))]
    return read(value, ",".join(places), indices(shape), shape) if shape else value


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array along an axis, as views without it.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> a, b = hp.xp.unstack(hp.xp.ones((2, 3)))
    """
    value = array(x)
    place = axis_of(axis, len(value._shape))
    before = (slice(None),) * place
    return tuple(value[before + (index,)] for index in range(value._shape[place]))

