"""Parts of an array by an index, by NumPy's rules."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence

import numpy as np

from .errors import InvalidCall, OutOfBounds
from .graph import Axis, Node, view
from .operations import Lazy, each, gathered, node_of, told
from .views import Geometry, basic, dtype_of, in_order, is_basic, phantom, shape_of, viewed

# The key of a mask without axes that is false. As None it adds an axis, but one without elements.
_NOTHING: Any = object()


def keys_of(index: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index of an array of that shape as its keys. Lists become arrays; masks of this process the indices of what is true.

    Raises:
        IndexError: a mask has another shape than the axes that it is for.
    """
    given = [_plain(key) for key in (index if isinstance(index, tuple) else (index,))]
    keys: list[Any] = []
    axis = 0
    for place, key in enumerate(given):
        if key is Ellipsis:
            axis = len(shape) - sum(_axes(one) for one in given[place + 1:])
            keys.append(key)
        elif is_mask(key):
            check_mask(shape_of(key), shape, axis)
            keys.extend(_selected(key))
            axis += _axes(key)
        else:
            keys.append(key)
            axis += _axes(key)
    return tuple(keys)


def _selected(mask: Any) -> tuple[Any, ...]:
    """The indices of what is true in a mask. Of one on the daemon, the call waits for their number."""
    if not shape_of(mask):
        return (None,) if mask else (_NOTHING,)
    return places_of(positions(mask), mask._shape) if isinstance(mask, Lazy) else np.nonzero(mask)


def positions(array: Any) -> Any:
    """The places in C order of the elements that are not zero: the kernel `flatnonzero`. The call waits for their number."""
    return array._client.flatnonzero.run(array.reshape(-1), keep=True)


def places_of(flat: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Places in C order as an index along each axis of a shape."""
    if len(shape) == 1:
        return (flat,)
    return tuple(flat._of(each(flat._client, "remainder(floor_divide({},{}),{})", (flat, stride, max(length, 1))))
                 for length, stride in zip(shape, in_order(shape)))


def _plain(key: Any) -> Any:
    """A key of an index, of which a list or a number of another kind is an ndarray or an int."""
    if isinstance(key, (bool, np.bool_)):
        return np.asarray(key)
    if is_basic(key) or isinstance(key, Lazy):
        return key
    if hasattr(key, "__index__") and not isinstance(key, np.ndarray):
        return key.__index__()
    plain = np.asarray(key)
    return plain.astype(np.int64) if plain.size == 0 and not isinstance(key, np.ndarray) else plain


def _axes(key: Any) -> int:
    """How many axes of the array a key indexes."""
    if key is None or key is Ellipsis:
        return 0
    return len(shape_of(key)) if is_mask(key) else 1


def is_mask(key: Any) -> bool:
    """Whether one key of an index is an array of bools."""
    return isinstance(key, (Lazy, np.ndarray)) and dtype_of(key) == "bool"


def check_mask(mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    """Checks that a mask has the same shape as the axes that it indexes, which begin at `axis`.

    Raises:
        IndexError: it has another shape.
    """
    for length, place in zip(mask, range(axis, len(shape))):
        if length not in (0, shape[place]):
            raise OutOfBounds(f"boolean index did not match indexed array along axis {place}; size of axis is {shape[place]} but "
                              f"size of corresponding boolean axis is {length}")
    if axis + len(mask) > len(shape):
        raise OutOfBounds(f"too many indices for array: array is {len(shape)}-dimensional, but the mask is for {len(mask)} axes "
                          f"from axis {axis} on")


def _are_basic(keys: Sequence[Any]) -> bool:
    return all(is_basic(key) for key in keys)


def part(geometry: Geometry, keys: tuple[Any, ...]) -> Optional[Geometry]:
    """The geometry of a view by an index; None if the index has arrays.

    Raises:
        IndexError: as NumPy does.
    """
    if any(key is _NOTHING for key in keys):
        return _without_elements(geometry, keys)
    return viewed(geometry, lambda whole: whole[basic(keys)]) if _are_basic(keys) else None


def _without_elements(geometry: Geometry, keys: tuple[Any, ...]) -> Geometry:
    found = part(geometry, tuple(None if key is _NOTHING else key for key in keys))
    if found is None:
        raise InvalidCall("an index has arrays of integers and a mask without axes: index by one after the other")
    place = next(place for place, key in enumerate(keys) if key is _NOTHING)
    before, behind = ([key is None or key is _NOTHING or isinstance(key, slice) for key in some] for some in (keys[:place], keys[place:]))
    axis = len(found[0]) - sum(behind) if any(key is Ellipsis for key in keys[:place]) else sum(before)
    return found[0][:axis] + (0,) + found[0][axis + 1:], 0, (0,) * len(found[0])


def gather(array: Any, keys: tuple[Any, ...]) -> Node:
    """Notes the elements at an index with arrays.

    Raises:
        IndexError: an index is no integer, or one of this process is outside.
    """
    arrays = [place for place, key in enumerate(keys) if key is not None and key is not Ellipsis and not isinstance(key, slice)]
    together = arrays == list(range(arrays[0], arrays[-1] + 1))
    # First the integers, slices, None and ... as a view, in which the axes that arrays index are whole.
    sub = array[tuple(slice(None) if place in arrays else key for place, key in enumerate(keys))]
    axes = _axes_of(keys, arrays, sub.ndim)
    indices = [_checked_index(array, keys[place], sub.shape[axis]) for place, axis in zip(arrays, axes)]
    try:
        inner = np.broadcast_shapes(*(np.shape(index) if isinstance(index, int) else index.shape for index in indices))
    except ValueError:
        raise OutOfBounds("shape mismatch: indexing arrays could not be broadcast together with shapes " +
                          " ".join(str(tuple(index.shape)) for index in indices if not isinstance(index, int))) from None
    rest = [axis for axis in range(sub.ndim) if axis not in axes]
    before = sum(axis < axes[0] for axis in rest) if together else 0
    shape = tuple(sub.shape[axis] for axis in rest[:before]) + inner + tuple(sub.shape[axis] for axis in rest[before:])
    operands: list[Any] = [0] * sub.ndim
    for place, axis in enumerate(rest):
        own = place if place < before else place + len(inner)
        operands[axis] = Axis(own) if shape[own] > 1 else 0
    for index, axis in zip(indices, axes):
        operands[axis] = index if isinstance(index, int) else _spread(node_of(array._client, index, "index"), inner, before,
                                                                      shape)
    return gathered(array._client, node_of(array._client, sub), operands, shape)


def _axes_of(keys: Sequence[Any], arrays: Sequence[int], rank: int) -> list[int]:
    """The axes that the arrays of an index have after its other keys were applied."""
    named = sum(key is not Ellipsis for key in keys)
    axes, axis = [], 0
    for place, key in enumerate(keys):
        if key is Ellipsis:
            axis += rank - named
            continue
        if place in arrays:
            axes.append(axis)
        axis += 1
    return axes


def _checked_index(array: Any, key: Any, length: int) -> Any:
    """An integer, or an array of integers that are in the range, as far as they are known here."""
    if isinstance(key, Lazy) and key._shape:
        if "int" not in key._dtype:
            raise OutOfBounds(f"arrays used as indices must be of integer (or boolean) type; this one is {told(key)}")
        return key
    if isinstance(key, (int, np.integer, Lazy)):
        key = np.asarray(operator.index(key))  # type: ignore[arg-type]
    if key.dtype.kind not in "iu":
        raise OutOfBounds(f"arrays used as indices must be of integer (or boolean) type; this one is of {key.dtype}")
    wrong = key[(key < -length) | (key >= length)]
    if wrong.size:
        raise OutOfBounds(f"index {wrong.flat[0]} is out of bounds for an axis of size {length} of {told(array)}")
    return int(key) if not key.ndim else key


def _spread(index: Node, inner: tuple[int, ...], before: int, shape: tuple[int, ...]) -> Node:
    """An array of indices at each place of the result, whose axes from `before` on are the indices' own."""
    if index.shape == shape:
        return index
    strides = np.broadcast_to(phantom(index.shape, in_order(index.shape)), inner).strides
    return view(index, shape, 0, (0,) * before + strides + (0,) * (len(shape) - before - len(inner)))
