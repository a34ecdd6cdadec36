"""Dtypes: conversion, limits, kinds and promotion."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arguments import shown
from ..arrays import Array
from ..errors import InvalidCall, InvalidType
from ..operations import dtype_name
from .operands import array

# Each kind's names, in the standard's words.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
NAMES = KINDS["bool"] + KINDS["numeric"]


class FloatInfo(NamedTuple):
    """The limits of a dtype of floats; of complex numbers those of their parts.

    Attributes:
        bits: of one number.
        eps: the difference between 1 and the next larger number.
        max, min: the largest and the smallest number.
        smallest_normal: the smallest positive one with full precision.
        dtype: the numpy.dtype.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


class IntegerInfo(NamedTuple):
    """The limits of a dtype of integers.

    Attributes:
        bits: of one number.
        max, min: the largest and the smallest number.
        dtype: the numpy.dtype.
    """

    bits: int
    max: int
    min: int
    dtype: Any


def dtype_of(value: Any) -> np.dtype[Any]:
    """The dtype of an array, or a dtype itself.

    Raises:
        TypeError: arrays of a daemon cannot have it.
    """
    return np.dtype(dtype_name(value.dtype if isinstance(value, (Array, np.ndarray, np.generic)) else value))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements of an array as another dtype.

    Args:
        x: an array of any shape and dtype.
        dtype: the new dtype. Complex numbers do not become real ones: take `real`.
        copy: False returns `x` itself if it has the dtype.

    Raises:
        TypeError: complex numbers are to become real ones, or there is no such dtype.

    Example:
        >>> hp.xp.astype(x, hp.xp.float32)
    """
    value = array(x)
    if device is not None:
        value = value.to_device(device)
    if value._dtype.startswith("complex") and not dtype_name(dtype).startswith(("complex", "bool")):
        raise InvalidType(f"astype: complex numbers do not become {dtype_name(dtype)}: write hp.xp.real(x)")
    return value.astype(dtype, copy=copy)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or that of an array, converts to another without loss, by the promotion rules.

    Raises:
        TypeError: one is no dtype of arrays of a daemon.

    Example:
        >>> hp.xp.can_cast(hp.xp.int32, hp.xp.int64)
        True
    """
    return bool(np.can_cast(dtype_of(from_), dtype_of(to), "safe"))


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a dtype of floats or complex numbers, or of an array's.

    Raises:
        ValueError: the dtype is another.

    Example:
        >>> hp.xp.finfo(hp.xp.float32).eps
        1.1920928955078125e-07
    """
    dtype = dtype_of(type)
    if dtype.kind not in "fc":
        raise InvalidCall(f"finfo is of floats, not of {dtype}")
    limits = np.finfo(dtype)
    return FloatInfo(int(limits.bits), float(limits.eps), float(limits.max), float(limits.min), float(limits.smallest_normal),
                     np.dtype(limits.dtype))


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of a dtype of integers, or of an array's.

    Raises:
        ValueError: the dtype is another.

    Example:
        >>> hp.xp.iinfo(hp.xp.int8).max
        127
    """
    dtype = dtype_of(type)
    if dtype.kind not in "iu":
        raise InvalidCall(f"iinfo is of integers, not of {dtype}")
    limits = np.iinfo(dtype)
    return IntegerInfo(int(limits.bits), int(limits.max), int(limits.min), dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Args:
        dtype: a dtype.
        kind: another dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" or
            "numeric"; or a tuple, of which one has to fit.

    Raises:
        ValueError: there is no such kind.
        TypeError: it is no dtype of arrays of a daemon.

    Example:
        >>> hp.xp.isdtype(hp.xp.uint8, "integral")
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    name = dtype_of(dtype).name
    if isinstance(kind, str):
        if kind not in KINDS:
            raise InvalidCall(f"kind is {shown(kind)}; the kinds are {', '.join(KINDS)}")
        return name in KINDS[kind] or name == "float16" and kind in ("real floating", "numeric")
    return name == dtype_of(kind).name


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype of an operation on arrays, dtypes and Python's numbers, by the promotion rules.

    Raises:
        TypeError: one is none of these, or there are only numbers.

    Example:
        >>> hp.xp.result_type(hp.xp.float32, 1.0)
        dtype('float32')
    """
    numbers = [value for value in arrays_and_dtypes if isinstance(value, (bool, int, float, complex)) and
               not isinstance(value, np.generic)]
    others = [dtype_of(value) for value in arrays_and_dtypes if not any(value is number for number in numbers)]
    if not others:
        raise InvalidType("result_type needs an array or a dtype")
    result = np.result_type(*others)
    for number in numbers:
        if isinstance(number, complex):
            result = result if result.kind == "c" else np.result_type(np.complex64, result if result.kind == "f" else np.float64)
        elif isinstance(number, float):
            result = result if result.kind in "fc" else np.dtype(np.float64)
        elif not isinstance(number, bool) and result.kind == "b":
            result = np.dtype(np.int64)
    return result
