"""Fetches elements of an array on the daemon: only those that a view has, or that are printed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

# Bytes that can be read in the time of one more request.
_GAP = 1 << 18


def _span(begin: int, steps: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """The first byte, and the one after the last, of elements so many bytes apart."""
    ends = [step * (length - 1) for step, length in zip(steps, shape)]
    return begin + sum(end for end in ends if end < 0), begin + sum(end for end in ends if end > 0) + itemsize


def read(core: Any, id: str, begin: int, steps: tuple[int, ...], to: np.ndarray[Any, Any]) -> None:
    """Reads the elements of an array from byte `begin` on, so many bytes apart along each axis, into `to`. Gaps of up to 256
    KiB are read too."""
    if not to.size:
        return
    low, high = _span(begin, steps, to.shape, to.itemsize)
    if steps:
        widest = max(range(len(steps)), key=lambda axis: abs(steps[axis]) * (to.shape[axis] - 1))
        rest = steps[:widest] + steps[widest + 1:]
        inner_low, inner_high = _span(begin, rest, to.shape[:widest] + to.shape[widest + 1:], to.itemsize)
        count = to.shape[widest]
        if count > 1 and count * (inner_high - inner_low + _GAP) < high - low:
            for i in range(count):
                read(core, id, begin + i * steps[widest], rest, np.moveaxis(to, widest, 0)[i, ...])
            return
    wide = [(length, step) for length, step in zip(to.shape, steps) if length > 1]
    in_order = all(step == to.itemsize * int(np.prod([length for length, _ in wide[place + 1:]], dtype=np.int64))
                   for place, (_, step) in enumerate(wide))
    if in_order and to.flags.c_contiguous:
        core.get_into(id, to, offset=low)
        return
    block = np.empty(high - low, np.uint8)
    core.get_into(id, block, offset=low)
    to[...] = np.ndarray(to.shape, to.dtype, block, begin - low, steps)


def edges(array: Any) -> np.ndarray[Any, Any]:
    """An array for numpy.array2string: all elements of a small one. Of a large one the first and last along each axis, which are
    all that is printed, with a zero between them where it prints "...".
    """
    options = np.get_printoptions()
    most, edge = int(options["threshold"]), int(options["edgeitems"])
    if array.size <= most:
        whole: np.ndarray[Any, Any] = array.numpy()
        return whole
    long = [length > 2 * edge for length in array.shape]
    shown = np.zeros([2 * edge + 1 if cut else length for cut, length in zip(long, array.shape)], array.dtype)
    for ends in itertools.product(*[(slice(None, edge), slice(-edge, None)) if cut else (slice(None),) for cut in long]):
        shown[ends] = array[ends].numpy()
    return shown


def printed(array: Any, prefix: str, separator: str) -> str:
    """An array as NumPy prints one."""
    if not array.shape and not prefix:
        return str(array.numpy()[()])
    cut = array.size > int(np.get_printoptions()["threshold"])
    return np.array2string(edges(array), separator=separator, prefix=prefix, suffix=")" if prefix else "",
                           threshold=0 if cut else None)


def represented(array: Any, name: str) -> str:
    """An array as Python represents it: hotplate.Array([1., 2.])."""
    prefix = "hotplate.Array("
    words = [printed(array, prefix, ", ")] if array.size else ["[]"]
    if array.size > int(np.get_printoptions()["threshold"]) or not array.size and array.shape != (0,):
        words.append(f"shape={array.shape}")
    if array.dtype not in (np.dtype(float), np.dtype(np.int64), np.dtype(bool), np.dtype(complex)) or not array.size:
        words.append(f"dtype={array.dtype}")
    if name:
        words.append(f"name={name!r}")
    return prefix + ", ".join(words) + ")"
