"""Which bytes of an array in C order an index names."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np


def span(begin: int, steps: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """The first byte, and the one after the last, of elements so many bytes apart."""
    ends = [step * (length - 1) for step, length in zip(steps, shape)]
    return begin + sum(end for end in ends if end < 0), begin + sum(end for end in ends if end > 0) + itemsize


def part(index: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Optional[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Where the part begins, in bytes, its shape and its strides; None where `index` is not a basic one."""
    keys = index if isinstance(index, tuple) else (index,)
    if not all(key is None or key is Ellipsis or isinstance(key, (int, np.integer, slice)) and not isinstance(key, bool)
               for key in keys):
        return None
    # NumPy's own view of an array of this shape that has no memory, for the index's rules and errors.
    whole = np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, (0,) * len(shape), writeable=False)
    view = whole[(*keys, Ellipsis) if Ellipsis not in keys else keys]
    strides: list[int] = []
    stride = dtype.itemsize
    for length in reversed(shape):
        strides.insert(0, stride)
        stride *= max(length, 1)
    begin, steps = _basic(keys, shape, tuple(strides))
    return begin, view.shape, steps


def _basic(keys: tuple[Any, ...], shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Where the first element is, in bytes, and the strides of what is left."""
    used = sum(key is not None and key is not Ellipsis for key in keys)
    if Ellipsis not in keys:
        keys = (*keys, Ellipsis)
    begin, axis, steps = 0, 0, []
    for key in keys:
        if key is None:
            steps.append(0)
        elif key is Ellipsis:
            rest = len(shape) - used
            steps.extend(strides[axis:axis + rest])
            axis += rest
        elif isinstance(key, slice):
            first, _, step = key.indices(shape[axis])
            begin += first * strides[axis]
            steps.append(step * strides[axis])
            axis += 1
        else:
            begin += (int(key) + (shape[axis] if key < 0 else 0)) * strides[axis]
            axis += 1
    return begin, tuple(steps)
