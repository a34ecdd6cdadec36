"""Views: which elements of an array in C order another array of other shape shows. NumPy itself finds them, over no memory."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from .operations import Lazy

Geometry = tuple[tuple[int, ...], int, tuple[int, ...]]  # shape, offset and strides, in elements

_BYTE = np.zeros(1, np.int8)


def in_order(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array in C order."""
    strides: list[int] = []
    stride = 1
    for length in reversed(shape):
        strides.append(stride)
        stride *= max(length, 1)
    return tuple(reversed(strides))


def phantom(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array without memory of its own, whose elements are bytes: to be viewed, never to be read."""
    return np.lib.stride_tricks.as_strided(_BYTE, shape, strides, writeable=False)


def viewed(geometry: Geometry, how: Callable[[np.ndarray[Any, Any]], Any]) -> Geometry:
    """The geometry of a view of a view, where `how` is NumPy's function for it."""
    shape, offset, strides = geometry
    whole = phantom(shape, strides)
    return _of(whole, how(whole), offset)


def all_viewed(geometry: Geometry, how: Callable[[np.ndarray[Any, Any]], Any]) -> list[Geometry]:
    """The same of a function that gives several views."""
    shape, offset, strides = geometry
    whole = phantom(shape, strides)
    return [_of(whole, part, offset) for part in how(whole)]


def _of(whole: np.ndarray[Any, Any], part: np.ndarray[Any, Any], offset: int) -> Geometry:
    begin = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0] if part.size else 0
    # Along an axis of one element, or of none, any stride will do.
    strides = tuple(stride if length > 1 else 0 for length, stride in zip(part.shape, part.strides))
    return part.shape, offset + begin, strides


def is_in_order(geometry: Geometry) -> bool:
    """Whether its elements are one after the other in C order."""
    shape, _, strides = geometry
    return 0 in shape or all(length == 1 or stride == own for length, stride, own in
                             zip(shape, strides, in_order(shape)))


def is_basic(key: Any) -> bool:
    """Whether one key of an index gives a view: an integer, a slice, None or ..."""
    if key is None or key is Ellipsis or isinstance(key, (int, np.integer, slice)):
        return not isinstance(key, bool)
    return isinstance(key, (Lazy, np.ndarray)) and not shape_of(key) and dtype_of(key).startswith(("int", "uint"))


def shape_of(key: Any) -> tuple[int, ...]:
    """The shape of an array in an index."""
    shape: tuple[int, ...] = key.shape
    return shape


def dtype_of(key: Any) -> str:
    """The dtype of an array in an index, by its name."""
    return str(key._dtype if isinstance(key, Lazy) else key.dtype)


def basic(index: Sequence[Any]) -> tuple[Any, ...]:
    """An index of views alone, so that NumPy reads nothing: an element is a view without axes."""
    keys: tuple[Any, ...] = tuple(_index(key) if isinstance(key, (Lazy, np.ndarray)) else key for key in index)
    return keys if any(key is Ellipsis for key in keys) else (*keys, Ellipsis)


def _index(key: Any) -> int:
    index: int = key.__index__()
    return index
