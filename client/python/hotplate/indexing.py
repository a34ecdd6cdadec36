"""Parts of an array by an index, and assignment to them, by NumPy's rules."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence

import numpy as np

from .errors import InvalidCall, InvalidType, OutOfBounds
from .graph import EACH, Axis, Node, view
from .noting import note
from .operations import Lazy, converted, gathered, made, node_of, told
from .views import Geometry, basic, in_order, is_basic, phantom, viewed

_MASK = "how many elements it selects, only its values say: fetch it, A[M.numpy()], or write numpy.where(M, A, …)"


def keys_of(index: Any) -> tuple[Any, ...]:
    """An index as its keys; lists are arrays, and masks of this process the indices of what is true."""
    keys: list[Any] = []
    for key in index if isinstance(index, tuple) else (index,):
        if isinstance(key, (bool, np.bool_)):
            keys.extend((None,) if key else (None, slice(0, 0)))  # as an axis of one element, or of none
        elif is_basic(key) or isinstance(key, Lazy):
            keys.append(key)
        elif hasattr(key, "__index__") and not isinstance(key, np.ndarray):
            keys.append(key.__index__())
        else:
            plain = np.asarray(key)
            if plain.dtype == bool:
                keys.extend(np.nonzero(plain) if plain.ndim else (None,) if plain else (None, slice(0, 0)))
            else:
                keys.append(plain.astype(np.int64) if plain.size == 0 and not isinstance(key, np.ndarray) else plain)
    return tuple(keys)


def _are_basic(keys: Sequence[Any]) -> bool:
    return all(is_basic(key) for key in keys)


def part(geometry: Geometry, keys: tuple[Any, ...]) -> Optional[Geometry]:
    """The geometry of a view by an index; None if the index has arrays.

    Raises:
        IndexError: as NumPy does.
    """
    return viewed(geometry, lambda whole: whole[basic(keys)]) if _are_basic(keys) else None


def gather(array: Any, keys: tuple[Any, ...]) -> Node:
    """Notes the elements at an index with arrays.

    Raises:
        IndexError: an index is no integer, or one of this process is outside.
        TypeError: a mask on the daemon.
    """
    _check_masks(array, keys)
    arrays = [place for place, key in enumerate(keys) if key is not None and key is not Ellipsis and not isinstance(key, slice)]
    together = arrays == list(range(arrays[0], arrays[-1] + 1))
    # What views can do first; the places of the arrays are whole axes then.
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


def _check_masks(array: Any, keys: Sequence[Any]) -> None:
    for key in keys:
        if isinstance(key, Lazy) and key._dtype == "bool":
            raise InvalidType(f"{told(array)} is indexed by a mask on the daemon, {told(key)}: {_MASK}")


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


class _Written:
    """A text with numbered gaps, and its operands."""

    def __init__(self) -> None:
        self.operands: list[Any] = []

    def add(self, operand: Any) -> str:
        self.operands.append(operand)
        return f"{{{len(self.operands) - 1}}}"


def assigned(array: Any, index: Any, value: Any) -> Optional[Node]:
    """Notes the array with other elements at an index; None if the index names none.

    Raises:
        ValueError: the value does not fit into the part.
        IndexError: as NumPy does.
        TypeError: the index has arrays of integers.
    """
    mask = _mask(array, index)
    if mask is not None:
        return _where(array, mask, value)
    keys = keys_of(index)
    shape, _, _ = part((array.shape, 0, in_order(array.shape)), keys) or _refuse(array)
    scalar, source = _value(array, value, shape)
    if 0 in shape:
        return None
    written = _Written()
    text, bases = ("", 0) if source is None else _source(written, array, keys, shape, source)
    inside = _inside(written, array, keys)
    if source is None:
        text = written.add(scalar)
    elif source.dtype != array._dtype:
        text = f"{array._dtype}({text})"
    if not inside and source is None:
        return made(array._client, array._dtype + "({})", [scalar], array._dtype, array.shape)
    if source is not None and source.shape == array.shape and all(span is None or span[:2] == (0, 1) for span in _spans(array, keys)):
        return converted(array._client, source, array._dtype)
    own = written.add(array._node)
    condition = inside[0] if inside else "True"
    for one in inside[1:]:
        condition = f"bitwise_and({condition},{one})"
    return note(array._client, EACH, array._dtype, array.shape, f"where({condition},{text},{own})", tuple(written.operands),
                bases)


def _refuse(array: Any) -> Geometry:
    raise InvalidType(f"elements of {told(array)} are not assigned at places that arrays of integers name: write "
                      "numpy.where(condition, value, A), or assign to A.numpy() and send that, gpu.array(a)")


def _value(array: Any, value: Any, shape: tuple[int, ...]) -> tuple[Any, Optional[Node]]:
    """What is assigned: a number of the array's dtype, or else a node that fits into the shape."""
    if not isinstance(value, Lazy) and np.ndim(value) == 0:
        one = np.empty((), array._dtype)
        one[...] = value  # by NumPy's rules, and with its errors
        return one.item(), None
    node = node_of(array._client, value, "value")
    its = node.shape
    while len(its) > len(shape) and its[0] == 1:
        its = its[1:]
    if len(its) > len(shape) or any(length not in (1, own) for length, own in zip(reversed(its), reversed(shape))):
        raise InvalidCall(f"could not broadcast input array from shape {node.shape} into shape {shape}")
    return None, node if its == node.shape else view(node, its, 0, in_order(its))


def _spans(array: Any, keys: tuple[Any, ...]) -> list[Any]:
    """What an index says of each axis of the array, in order: an int, or a slice's (start, step, length); None for each axis that
    is new."""
    named = sum(key is not None and key is not Ellipsis for key in keys)
    if not any(key is Ellipsis for key in keys):
        keys = (*keys, Ellipsis)
    spans: list[Any] = []
    axis = 0
    for key in keys:
        if key is Ellipsis:
            for _ in range(len(array.shape) - named):
                spans.append((0, 1, array.shape[axis]))
                axis += 1
        elif key is None:
            spans.append(None)
        elif isinstance(key, slice):
            start, stop, step = key.indices(array.shape[axis])
            spans.append((start, step, len(range(start, stop, step))))
            axis += 1
        else:
            place = int(key)
            spans.append(place + (array.shape[axis] if place < 0 else 0))
            axis += 1
    return spans


def _inside(written: _Written, array: Any, keys: tuple[Any, ...]) -> list[str]:
    """The conditions under which a place of the array is in the part."""
    conditions = []
    for axis, span in enumerate(one for one in _spans(array, keys) if one is not None):
        at = written.add(Axis(axis))
        if isinstance(span, int):
            conditions.append(f"equal({at},{written.add(span)})")
            continue
        start, step, length = span
        first, last = sorted((start, start + (length - 1) * step))
        if first > 0:
            conditions.append(f"greater_equal({at},{written.add(first)})")
        if last < array.shape[axis] - 1:
            conditions.append(f"less_equal({at},{written.add(last)})")
        if abs(step) > 1 and length > 1:
            conditions.append(f"equal(remainder(subtract({at},{written.add(first)}),{written.add(abs(step))}),0)")
    return conditions


def _source(written: _Written, array: Any, keys: tuple[Any, ...], shape: tuple[int, ...],
            source: Node) -> tuple[str, int]:
    """The text of the value's element for a place of the array in the part, and of any element for one outside; and how many
    operands it reads at other places."""
    spans = _spans(array, keys)
    axes = [axis for axis, span in zip(_own_axes(spans), spans) if not isinstance(span, int)]
    kept = [span for span in spans if not isinstance(span, int)]
    skipped = len(shape) - len(source.shape)
    moved = [(axes[skipped + place], kept[skipped + place], length) for place, length in enumerate(source.shape)]
    if all(length == 1 or span[:2] == (0, 1) for _, span, length in moved):
        strides = [0] * len(array.shape)
        for (axis, _, length), stride in zip(moved, in_order(source.shape)):
            if length > 1:
                strides[axis] = stride
        return written.add(source if source.shape == array.shape else view(source, array.shape, 0, tuple(strides))), 0
    base = written.add(source)
    indices = []
    for axis, span, length in moved:
        if length == 1:
            indices.append("0")
            continue
        start, step, _ = span
        at = f"subtract({written.add(Axis(axis))},{written.add(start)})"
        at = at if step == 1 else f"floor_divide({at},{written.add(step)})"
        indices.append(f"clip({at},0,{written.add(length - 1)})")
    return f"{base}[{','.join(indices)}]", 1


def _own_axes(spans: Sequence[Any]) -> list[int]:
    axes, axis = [], 0
    for span in spans:
        axes.append(axis)
        axis += span is not None
    return axes


def _mask(array: Any, index: Any) -> Any:
    """The mask, if an index is one; also of the first axes alone."""
    if isinstance(index, tuple) and len(index) == 1:
        index, = index
    if isinstance(index, list):
        index = np.asarray(index)
    if isinstance(index, Lazy):
        is_mask = index._dtype == "bool"
    else:
        is_mask = isinstance(index, np.ndarray) and index.dtype == bool and index.ndim > 0
    if not is_mask:
        return None
    shape = tuple(index.shape)
    if shape != array.shape[:len(shape)]:
        raise OutOfBounds(f"boolean index did not match indexed array: the mask is {list(shape)}, and the array is "
                          f"{list(array.shape)}")
    return index


def _where(array: Any, mask: Any, value: Any) -> Node:
    its = tuple(np.shape(value)) if not isinstance(value, Lazy) else tuple(value._shape)
    rest = array.shape[len(mask.shape):]
    scalar, source = _value(array, value, rest) if len(its) <= len(rest) or its == (1,) else (None, None)
    if scalar is None and source is None:
        raise InvalidType(f"elements of {told(array)} that a mask selects are assigned from one number, not from an array of shape "
                          f"{list(its)}: write A[...] = numpy.where(M, values, A), with values of A's shape")
    where = node_of(array._client, mask, "mask")
    if where.shape != array.shape:
        where = view(where, array.shape, 0, in_order(where.shape) + (0,) * len(rest))
    if source is None:
        return note(array._client, EACH, array._dtype, array.shape, "where({},{},{})", (where, scalar, array._node))
    return note(array._client, EACH, array._dtype, array.shape, "where({}," + array._dtype + "({}),{})",
                (where, source, array._node))
