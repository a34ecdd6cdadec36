"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arguments import shown
from ..arrays import Array
from ..errors import InvalidCall
from .decompositions import svdvals
from .elementwise import abs, sqrt
from .operands import array, axes_of


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Norms of vectors.

    Args:
        x: numbers, in an array of any shape; integers are converted to float64 first.
        axis: the axis of the vectors, or a tuple; None takes all elements as one vector.
        keepdims: True keeps the axes, with one element.
        ord: 2: the square root of the sum of squares; 1: the sum of the magnitudes; inf: the largest, -inf: the smallest of
            them; 0: how many are not zero; p: the p-th root of the sum of the p-th powers.

    Returns:
        Floats: of complex numbers those of their parts.

    Raises:
        IndexError: there is no such axis.
        ValueError: ord is inf or -inf, and there are no elements.

    Example:
        >>> hp.xp.linalg.vector_norm(x)
    """
    value = _inexact(x)
    axes = axes_of(axis, len(value._shape))
    sizes = abs(value)
    if not axes:  # each element is a vector
        return abs(value) if ord != 0 else (value != 0).astype(sizes._dtype)
    if ord == math.inf:
        return sizes.max(axes, keepdims=keepdims)
    if ord == -math.inf:
        return sizes.min(axes, keepdims=keepdims)
    if ord == 0:
        return (value != 0).sum(axes, keepdims=keepdims).astype(sizes._dtype)
    if ord == 1:
        return sizes.sum(axes, keepdims=keepdims)
    if ord == 2:
        return sqrt((sizes * sizes).sum(axes, keepdims=keepdims))
    return (sizes ** float(ord)).sum(axes, keepdims=keepdims) ** (1 / float(ord))


def _inexact(x: Any) -> Array:
    """Floats or complex numbers: squares and sums of integers would overflow."""
    value = array(x)
    return value if np.dtype(value._dtype).kind in "fc" else value.astype("float64")


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of matrices.

    Args:
        x: numbers [..., m, n]; integers are converted to float64 first.
        keepdims: True keeps the last two axes, with one element.
        ord: "fro": the square root of the sum of squares; 1: the largest sum of magnitudes of a column, -1: the smallest;
            inf, -inf: the same of rows; 2: the largest singular value, -2: the smallest; "nuc": their sum.

    Returns:
        Floats: of complex numbers those of their parts.

    Raises:
        ValueError: another norm, or less than two axes.

    Example:
        >>> hp.xp.linalg.matrix_norm(hp.xp.eye(3))
    """
    value = _inexact(x)
    if len(value._shape) < 2:
        raise InvalidCall(f"matrix_norm is of matrices; x has the shape {value._shape}")
    result = _matrix_norm(value, ord)
    return result.reshape(value._shape[:-2] + (1, 1)) if keepdims else result


def _matrix_norm(value: Array, ord: Any) -> Array:
    if ord == "fro":
        return vector_norm(value, axis=(-2, -1))
    if ord in (1, -1):
        sums = abs(value).sum(-2)
        return sums.max(-1) if ord == 1 else sums.min(-1)
    if ord in (math.inf, -math.inf):
        sums = abs(value).sum(-1)
        return sums.max(-1) if ord > 0 else sums.min(-1)
    if ord == 2:
        return svdvals(value).max(-1)
    if ord == -2:
        return svdvals(value).min(-1)
    if ord == "nuc":
        return svdvals(value).sum(-1)
    raise InvalidCall(f"ord is {shown(ord)}; it can be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
