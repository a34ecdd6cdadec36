"""Calls of the daemon's kernels, whose dtypes are fewer than those of arrays."""

from __future__ import annotations

from typing import Any, Optional

from ..arrays import Array

# By dtype: wider ones in which all its numbers have the same order.
_WIDER = {"bool": ("uint8", "int8", "int32", "int64"), "int8": ("int16", "int32", "int64"), "int16": ("int32", "int64"),
          "uint8": ("int16", "int32", "int64"), "uint16": ("int32", "int64"), "uint32": ("int64",), "float16": ("float32", "float64")}
_HALF = 2**63


def takes(value: Array, kernel: str) -> bool:
    """Whether a kernel takes an array's dtype."""
    return bool(value._client._takes(kernel, value._dtype))


def carrier(client: Any, kernel: str, dtype: str) -> Optional[str]:
    """The dtype in which a kernel takes elements of a dtype in the same order; None if there is none."""
    return next((name for name in (dtype, *_WIDER.get(dtype, ())) if client._takes(kernel, name)), None)


def called(kernel: str, *inputs: Array, **options: Any) -> Any:
    """Calls a kernel whose result depends on the order of the elements alone, not on their dtype.

    Raises:
        TypeError: it takes neither the dtype nor one that orders the same numbers alike.
    """
    client = inputs[0]._client
    dtype = inputs[0]._dtype
    carried = carrier(client, kernel, dtype)
    if carried is None and dtype == "uint64" and client._takes(kernel, "int64"):
        inputs = tuple(shifted(value) for value in inputs)
        carried = "int64"
    given = [value.astype(carried or dtype, copy=False) for value in inputs]
    return getattr(client, kernel).run(*given, keep=True, **options)


def shifted(value: Array) -> Array:
    """Integers of uint64 as ones of int64 in the same order, and the other way round."""
    if value._dtype == "uint64":
        return (value ^ _HALF).astype("int64")
    return value.astype("uint64") ^ _HALF
