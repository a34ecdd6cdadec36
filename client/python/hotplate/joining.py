"""NumPy's functions that join arrays on the daemon: concatenate, stack and their kin."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from .array_functions import array_of, named
from .computing import Computing
from .errors import InvalidCall, InvalidType
from .graph import Axis
from .operations import axis_of, dtype_name, each, made, told

# One expression joins at most so many arrays with one axis, and fewer with more axes, within the limit of its words.
_AT_ONCE = 50


@named("concatenate", "concat")
def _concatenate(array: Computing, arrays: Sequence[Any], axis: Optional[int] = 0, out: Any = None, *, dtype: Any = None,
                 casting: str = "same_kind") -> Any:
    parts = [array_of(array, one) for one in arrays]
    if out is not None and dtype is not None:
        raise InvalidType("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    if axis is None:
        parts, axis = [part.ravel() for part in parts], 0
    if not parts:
        raise InvalidCall("need at least one array to concatenate")
    rank = len(parts[0]._shape)
    if not rank:
        raise InvalidCall("zero-dimensional arrays cannot be concatenated")
    axis = axis_of(axis, rank)
    others = {part._shape[:axis] + part._shape[axis + 1:] for part in parts}
    if len(others) > 1 or any(len(part._shape) != rank for part in parts):
        raise InvalidCall("all the input array dimensions except for the concatenation axis must match exactly: " +
                          ", ".join(told(part) for part in parts))
    if dtype is not None:
        name = dtype_name(dtype)
    elif isinstance(out, Computing):
        name = out._dtype
    else:
        name = np.result_type(*[part.dtype for part in parts]).name
    for part in parts:
        if not np.can_cast(part.dtype, name, casting):  # type: ignore[arg-type]
            raise InvalidType(f"Cannot cast array data from dtype('{part._dtype}') to dtype('{name}') according to the rule '{casting}'")
    return array._into(_joined(array, parts, axis, name)._now(), out, "concatenate")


def _joined(array: Computing, parts: Sequence[Computing], axis: int, name: str) -> Computing:
    """Arrays that fit, one after the other along an axis, as a dtype."""
    rank = len(parts[0]._shape)
    shape = parts[0]._shape[:axis] + (sum(part._shape[axis] for part in parts),) + parts[0]._shape[axis + 1:]
    parts = [part for part in parts if 0 not in part._shape]
    if not parts:
        return array._of(made(array._client, name + "(0)", [], name, shape))
    if len(parts) > _AT_ONCE * 7 // (6 + rank):
        half = len(parts) // 2
        parts = [_joined(array, parts[:half], axis, name), _joined(array, parts[half:], axis, name)]
    places = [f"{{{len(parts) + place}}}" if shape[place] > 1 else "0" for place in range(rank)]
    text, begin = "", 0
    for number, part in enumerate(parts):
        length = part._shape[axis]
        own = list(places)
        own[axis] = f"clip(subtract({places[axis]},{begin}),0,{length - 1})"
        element = f"{name}({{{number}}}[{','.join(own)}])"
        begin += length
        text += element if number == len(parts) - 1 else f"where(less({places[axis]},{begin}),{element},"
    operands = [part._now() for part in parts] + [Axis(place) for place in range(rank)]
    return array._of(made(array._client, text + ")" * (len(parts) - 1), operands, name, shape, len(parts)))


@named("stack")
def _stack(array: Computing, arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None,
           casting: str = "same_kind") -> Any:
    parts = [array_of(array, one) for one in arrays]
    if len({part._shape for part in parts}) > 1:
        raise InvalidCall("all input arrays must have the same shape: " + ", ".join(told(part) for part in parts))
    return _concatenate(array, [part._viewed(lambda whole: np.expand_dims(whole, axis)) for part in parts], axis, out,
                        dtype=dtype, casting=casting)


@named("vstack", "row_stack")
def _vstack(array: Computing, tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return _concatenate(array, [array_of(array, one)._viewed(np.atleast_2d) for one in tup], 0, dtype=dtype, casting=casting)


@named("hstack")
def _hstack(array: Computing, tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [array_of(array, one)._viewed(np.atleast_1d) for one in tup]
    return _concatenate(array, parts, 0 if len(parts[0]._shape) == 1 else 1, dtype=dtype, casting=casting)


@named("outer")
def _outer(array: Computing, a: Any, b: Any, out: Any = None) -> Any:
    x, y = array_of(array, a).ravel(), array_of(array, b).ravel()
    return array._into(each(array._client, "multiply({},{})", [x[:, None], y]), out, "outer")
