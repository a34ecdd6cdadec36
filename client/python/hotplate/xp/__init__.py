"""The Array API standard on a daemon, as a module: `import hotplate.xp as xp`.

1. A function runs on the daemon of its arrays. What makes arrays does it on the client that was connected last, or on that which
   `hotplate.connect()` gives; `gpu.xp` is the same namespace for one client.
2. Functions element by element, reductions and views are noted, and fuse into one pass (graph.py). Kernels run at their line: sort,
   scan, searchsorted, products of floats, decompositions and Fourier transforms.
3. Elements are fetched only where the standard needs a value: for the shape of nonzero, unique_* and x[mask], and for bool(), int(),
   float(), complex() and an index.

Names of NumPy that the standard has not (concatenate, arccos, isclose, …) are here too.
"""

from __future__ import annotations

import math as _math
from typing import Any as _Any

import numpy as _np

from . import fft, linalg
from . import numpy_names as _numpy_names
from .creation import array_copied as array
from .creation import (arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones, ones_like, tril, triu,
                       zeros, zeros_like)
from .dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from .elementwise import (abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift,
                          bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip, conj, copysign, cos, cosh, divide, equal, exp,
                          expm1, floor, floor_divide, greater, greater_equal, hypot, imag, isfinite, isinf, isnan, less, less_equal,
                          log, log1p, log2, log10, logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum,
                          multiply, negative, nextafter, not_equal, positive, pow, real, reciprocal, remainder, round, sign, signbit,
                          sin, sinh, sqrt, square, subtract, tan, tanh, trunc)
from .indexing import take, take_along_axis
from .info import NamespaceInfo as _NamespaceInfo
from .manipulation import (broadcast_arrays, broadcast_shapes, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, repeat,
                           reshape, roll, squeeze, stack, tile, unstack)
from .products import matmul, matrix_transpose, tensordot, vecdot
from .searching import argmax, argmin, count_nonzero, nonzero, searchsorted, where
from .sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from .sorting import argsort, sort
from .statistics import cumulative_prod, cumulative_sum, max, mean, min, prod, std, sum, var
from .utility import all, any, diff

__array_api_version__ = "2025.12"
# Revisions whose functions are all here; each has those of the ones before.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

e, pi, inf, nan, newaxis = _math.e, _math.pi, _math.inf, _math.nan, None
bool, float16, float32, float64, complex64, complex128 = (
    _np.bool_, _np.float16, _np.float32, _np.float64, _np.complex64, _np.complex128)
int8, int16, int32, int64, uint8, uint16, uint32, uint64 = (
    _np.int8, _np.int16, _np.int32, _np.int64, _np.uint8, _np.uint16, _np.uint32, _np.uint64)

__all__ = [
    "abs", "acos", "acosh", "add", "all", "any", "arange", "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan",
    "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "ceil", "clip", "complex64", "complex128", "concat", "conj",
    "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide", "e", "empty", "empty_like",
    "equal", "exp", "expand_dims", "expm1", "eye", "fft", "finfo", "flip", "float16", "float32", "float64", "floor", "floor_divide",
    "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot", "iinfo", "imag", "inf", "int8", "int16", "int32", "int64",
    "isdtype", "isfinite", "isin", "isinf", "isnan", "less", "less_equal", "linalg", "linspace", "log", "log1p", "log2", "log10",
    "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean",
    "meshgrid", "min", "minimum", "moveaxis", "multiply", "nan", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "ones",
    "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal", "remainder", "repeat", "reshape", "result_type",
    "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square", "squeeze", "stack", "std", "subtract",
    "sum", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "tril", "triu", "trunc", "uint8", "uint16", "uint32", "uint64",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where", "zeros", "zeros_like"]


def __array_namespace_info__() -> _NamespaceInfo:
    """Tells about the namespace: capabilities(), devices(), default_device(), dtypes(), default_dtypes().

    Example:
        >>> hp.xp.__array_namespace_info__().devices()
    """
    return _NamespaceInfo()


def __getattr__(name: str) -> _Any:
    if name.startswith("_"):
        raise AttributeError(f"hotplate.xp has no {name}")
    return _numpy_names.function(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_numpy_names.names(), "array", "__array_api_version__", "__array_namespace_info__"})
