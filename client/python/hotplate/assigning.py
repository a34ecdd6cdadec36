"""Assignment to parts of an array, by NumPy's rules: the array becomes another, with other elements at some places."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, NoReturn, Optional, Sequence

import numpy as np

from .errors import InvalidCall, InvalidType, OutOfBounds
from .graph import EACH, Axis, Node, view
from .indexing import check_mask, is_mask, keys_of, part
from .noting import note
from .operations import Lazy, check_conversion, converted, made, node_of, number_of, told
from .placing import ANY, common
from .views import Geometry, in_order, is_basic, is_in_order, shape_of


class _Span(NamedTuple):
    """The indices along one axis of an array that are in a part: start, start + step and so on, `length` of them."""

    start: int
    step: int = 1
    length: int = 1
    axis: Optional[int] = None  # of the part; None if an integer chose one index


class _Written:
    """Collects the operands of a text whose gaps are numbered."""

    def __init__(self) -> None:
        self.operands: list[Any] = []

    def add(self, operand: Any) -> str:
        """The gap of one more operand."""
        self.operands.append(operand)
        return f"{{{len(self.operands) - 1}}}"


def assigned(array: Any, index: Any, value: Any) -> Optional[Node]:
    """Notes an array, which is no view, with other elements at an index; None if the index names none.

    Raises:
        ValueError: the value does not fit into the part.
        IndexError: as NumPy does.
        TypeError: the index has arrays of integers; the value is complex and the array is not.
        OverflowError: the array's dtype cannot hold the value, an integer.
    """
    mask = _mask(array, index)
    if mask is not None:
        return _where(array, mask, value)
    among = _mask_among(index)
    if among is not None:
        return _along(array, index, among, value)
    geometry = part((array._shape, 0, in_order(array._shape)), keys_of(index, array._shape)) or _refuse(array)
    return placed(array, geometry, value)


def at_home(now: Node, node: Node) -> Node:
    """A node as what an array that shows `now` is to show: on the same device. An array on no device goes where the node is.

    Raises:
        ValueError: they are on two devices.
    """
    if node.device == now.device or now.device in ("", ANY):
        return node
    common(((now.device, now.told()), (node.device, node.told())))
    return note(node.client, EACH, node.dtype, node.shape, "{}", (node,), device=now.device)


def placed(array: Any, geometry: Geometry, value: Any) -> Optional[Node]:
    """Notes an array, which is no view, with other elements where a view of it is; None if the view has none.

    Raises:
        ValueError: the value does not fit into the view, or the view is not of slices.
        TypeError, OverflowError: as `assigned` does.
    """
    shape = geometry[0]
    scalar, source = _value(array, value, shape)
    if 0 in shape:
        return None
    if source is not None and source.shape == shape and math.prod(shape) == array.size and is_in_order(geometry):
        # All of it, maybe in another shape.
        return converted(array._client, source if shape == array._shape else view(source, array._shape, 0, in_order(array._shape)),
                         array._dtype)
    spans = _spans(array._shape, geometry)
    if spans is None:
        raise InvalidCall(f"assignment destination is a view of {told(array)} of another form than slices: assign to the array itself")
    written = _Written()
    text, bases = (written.add(scalar), 0) if source is None else _source(written, array, spans, shape, source)
    inside = _inside(written, array, spans)
    if source is None and not inside:
        return made(array._client, array._dtype + "({})", [scalar], array._dtype, array._shape, device=array._node.device)
    if source is not None and source.dtype != array._dtype:
        text = f"{array._dtype}({text})"
    condition = inside[0] if inside else "True"
    for one in inside[1:]:
        condition = f"bitwise_and({condition},{one})"
    text = f"where({condition},{text},{written.add(array._node)})"
    return note(array._client, EACH, array._dtype, array._shape, text, tuple(written.operands), bases)


def _refuse(array: Any) -> NoReturn:
    raise InvalidType(f"elements of {told(array)} are not assigned at places that arrays of integers name: write "
                      "numpy.where(condition, value, A), or assign to A.numpy() and send that, gpu.array(a)")


def _value(array: Any, value: Any, shape: tuple[int, ...]) -> tuple[Any, Optional[Node]]:
    """A value to assign, as (number, None) with a number of the array's dtype, or as (None, node) with a node whose shape broadcasts
    to that of the part."""
    if not isinstance(value, (Lazy, Node)) and np.ndim(value) == 0:
        return number_of(value, array._dtype, "assignment"), None
    node = node_of(array._client, value, "value")
    its = node.shape
    while len(its) > len(shape) and its[0] == 1:
        its = its[1:]
    if len(its) > len(shape) or any(length not in (1, own) for length, own in zip(reversed(its), reversed(shape))):
        raise InvalidCall(f"could not broadcast input array from shape {node.shape} into shape {shape}")
    check_conversion(node, array._dtype)
    return None, node if its == node.shape else view(node, its, 0, in_order(its))


def _spans(shape: tuple[int, ...], geometry: Geometry) -> Optional[list[_Span]]:
    """The elements of a view of an array of that shape, as a span for each axis of the array; None if they have no such form."""
    its, offset, strides = geometry
    own = in_order(shape)
    spans = [_Span(offset // stride % length) for stride, length in zip(own, shape)]
    for axis, (length, stride) in enumerate(zip(its, strides)):
        if length == 1:
            continue
        place = next((place for place, one in enumerate(own) if shape[place] > 1 and one <= abs(stride)), None)
        if place is None or stride % own[place] or spans[place].axis is not None:
            return None
        start, step = spans[place].start, stride // own[place]
        if not 0 <= start + step * (length - 1) < shape[place]:
            return None
        spans[place] = _Span(start, step, length, axis)
    return spans


def _inside(written: _Written, array: Any, spans: Sequence[_Span]) -> list[str]:
    """The conditions under which a place of the array is in the part."""
    conditions = []
    for axis, (start, step, length, _) in enumerate(spans):
        at = written.add(Axis(axis))
        size = array._shape[axis]
        first, last = sorted((start, start + (length - 1) * step))
        if length == 1 < size:
            conditions.append(f"equal({at},{written.add(start)})")
            continue
        if first > 0:
            conditions.append(f"greater_equal({at},{written.add(first)})")
        if last < size - 1:
            conditions.append(f"less_equal({at},{written.add(last)})")
        if abs(step) > 1:
            conditions.append(f"equal(remainder(subtract({at},{written.add(first)}),{written.add(abs(step))}),0)")
    return conditions


def _source(written: _Written, array: Any, spans: Sequence[_Span], shape: tuple[int, ...], source: Node) -> tuple[str, int]:
    """The text that reads the value's element for each place of the array, and how many operands it reads at other places. Outside the
    part it reads any element."""
    skipped = len(shape) - len(source.shape)
    along = {span.axis: axis for axis, span in enumerate(spans)}
    # For each axis of the value that is longer than 1: that of the array.
    axes = [along[skipped + place] if length > 1 else None for place, length in enumerate(source.shape)]
    if all(axis is None or spans[axis][:3] == (0, 1, array._shape[axis]) for axis in axes):
        strides = [0] * len(array._shape)
        for axis, stride in zip(axes, in_order(source.shape)):
            if axis is not None:
                strides[axis] = stride
        return written.add(source if source.shape == array._shape else view(source, array._shape, 0, tuple(strides))), 0
    base = written.add(source)
    indices = []
    for axis in axes:
        if axis is None:
            indices.append("0")
            continue
        start, step, length, _ = spans[axis]
        at = f"subtract({written.add(Axis(axis))},{written.add(start)})"
        at = at if step == 1 else f"floor_divide({at},{written.add(step)})"
        indices.append(f"clip({at},0,{written.add(length - 1)})")
    return f"{base}[{','.join(indices)}]", 1


def _shape_of_value(value: Any) -> tuple[int, ...]:
    return tuple(value._shape if isinstance(value, Lazy) else np.shape(value))


def _mask(array: Any, index: Any) -> Any:
    """The mask, if an index is one; also of the first axes alone."""
    if isinstance(index, tuple) and len(index) == 1:
        index, = index
    if isinstance(index, list):
        index = np.asarray(index)
    if not is_mask(index) or isinstance(index, np.ndarray) and not index.ndim:
        return None
    check_mask(tuple(index.shape), array._shape, 0)
    return index


def _mask_among(index: Any) -> Optional[int]:
    """The place of a mask among the keys of an index, if there is one with axes, and beside it only what gives views."""
    if not isinstance(index, tuple):
        return None
    places = [place for place, key in enumerate(index) if not is_basic(key)]
    if len(places) != 1:
        return None
    place, = places
    key = np.asarray(index[place]) if isinstance(index[place], list) else index[place]
    return place if is_mask(key) and shape_of(key) else None


def _along(array: Any, index: tuple[Any, ...], place: int, value: Any) -> Optional[Node]:
    """Notes the array with other elements where a mask along some of its axes is true, in a part that slices and integers name.

    Raises:
        TypeError: the value has another element for each that the mask selects.
    """
    mask = np.asarray(index[place]) if isinstance(index[place], list) else index[place]
    # The part in which the mask's axes are whole.
    whole = (array._shape, 0, in_order(array._shape))
    rank = len(shape_of(mask))
    named = sum(key is not None and key is not Ellipsis for key in index) - 1 + rank
    if named > len(array._shape):
        raise OutOfBounds(f"too many indices for array: array is {len(array._shape)}-dimensional, but {named} were indexed")
    keys = (*index[:place], *(slice(None),) * rank, *index[place + 1:])
    geometry = part(whole, keys) or _refuse(array)
    ahead = index[:place]
    filled = len(array._shape) - named if any(key is Ellipsis for key in ahead) else 0
    own = filled + sum(key is not None and key is not Ellipsis for key in ahead)
    first = filled + sum(key is None or isinstance(key, slice) for key in ahead)
    check_mask(shape_of(mask), array._shape, own)
    if _shape_of_value(value):
        raise InvalidType(f"{told(array)}: with a mask beside other keys of an index one number is assigned; the value has the shape "
                          f"{_shape_of_value(value)}: write numpy.where(mask, value, A)")
    scalar, source = _value(array, value, ())
    if 0 in shape_of(mask):
        return None
    shown = view(array._node, *geometry)
    where = node_of(array._client, mask, "mask")
    strides = (0,) * first + in_order(where.shape) + (0,) * (len(geometry[0]) - first - rank)
    text = "where({},{},{})" if source is None else "where({}," + array._dtype + "({}),{})"
    chosen = note(array._client, EACH, array._dtype, geometry[0], text,
                  (view(where, geometry[0], 0, strides), scalar if source is None else source, shown))
    return placed(array, geometry, chosen)


def _where(array: Any, mask: Any, value: Any) -> Optional[Node]:
    its = _shape_of_value(value)
    rest = array._shape[len(mask.shape):]
    if not rest and len(its) > 1:
        raise InvalidType(f"boolean array indexing assignment requires a 0 or 1-dimensional input, input has {len(its)} dimensions")
    while len(its) > len(rest) and its[0] == 1:
        its = its[1:]
    if 0 in mask.shape:  # it selects nothing, also of other axes, as in NumPy
        _value(array, value, its)
        return None
    if len(its) > len(rest):
        return _selected(array, mask, node_of(array._client, value, "value"))
    scalar, source = _value(array, value, rest)
    where = node_of(array._client, mask, "mask")
    if where.shape != array._shape:
        where = view(where, array._shape, 0, in_order(where.shape) + (0,) * len(rest))
    text = "where({},{},{})" if source is None else "where({}," + array._dtype + "({}),{})"
    return note(array._client, EACH, array._dtype, array._shape, text, (where, scalar if source is None else source, array._node))


def _selected(array: Any, mask: Any, source: Node) -> Optional[Node]:
    """Notes the array with one value for each element that a mask selects, in C order: the kernel `scan`. Their number is waited
    for."""
    check_conversion(source, array._dtype)
    chosen = node_of(array._client, mask, "mask")
    rank, rest = len(chosen.shape), array._shape[len(chosen.shape):]
    # Which value an element gets, where the mask is true.
    numbers = converted(array._client, view(chosen, (math.prod(chosen.shape),), 0, (1,)), "int64")
    places = array._client.scan.run(array._of(numbers), operation="sum", axis=0, keep=True) - 1
    count = int(places[-1]) + 1
    wanted = (count, *rest)
    while len(source.shape) > len(wanted) and source.shape[0] == 1:
        source = view(source, source.shape[1:], 0, in_order(source.shape[1:]))
    if len(source.shape) > len(wanted) or any(length not in (1, own) for length, own in zip(reversed(source.shape), reversed(wanted))):
        raise InvalidCall(f"boolean array indexing assignment cannot assign the input values of shape {source.shape} to the {count} "
                          f"elements of {told(array)} that the mask selects")
    if not math.prod(wanted):
        return None
    spread = in_order(chosen.shape) + (0,) * len(rest)
    written = _Written()
    base = written.add(source)
    which = written.add(view(places._now(), array._shape, 0, spread))
    every = [f"clip({which},0,{count - 1})"]
    every += [written.add(Axis(rank + axis)) if length > 1 else "0" for axis, length in enumerate(rest)]
    index = ",".join("0" if length == 1 else at for length, at in zip(source.shape, every))
    condition = written.add(view(chosen, array._shape, 0, spread))
    text = f"where({condition},{array._dtype}({base}[{index}]),{written.add(array._node)})"
    return note(array._client, EACH, array._dtype, array._shape, text, tuple(written.operands), 1)
