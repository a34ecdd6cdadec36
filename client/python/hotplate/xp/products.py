"""Products of vectors, matrices and arrays of more axes."""

from __future__ import annotations

import math
from typing import Any, Sequence

from ..arguments import shown
from ..arrays import Array
from ..errors import InvalidCall
from ..multiplying import of_matrices, product, summed
from ..operations import axis_of, integer
from .dtypes import result_type
from .manipulation import moveaxis, permute_dims, stack
from .operands import applied, array, arrays, axes_of


def matmul(x1: Any, x2: Any, /) -> Array:
    """The product of matrices, or of stacks of them.

    Floats and complex numbers are multiplied by the kernel `matmul`, which runs at its line. Products of integers are an
    expression.

    Args:
        x1: numbers [..., m, k] or [k].
        x2: numbers [..., k, n] or [k]. The axes before the last two broadcast.

    Raises:
        ValueError: the sizes do not fit, or an array has no axes.

    Example:
        >>> hp.xp.matmul(hp.xp.ones((2, 3)), hp.xp.ones((3, 2)))
    """
    done: Array = product(*arrays(x1, x2))
    return done


def together(real: Array, imaginary: Array) -> Array:
    """Complex numbers of their parts."""
    return applied("complex({},{})", (real, imaginary), "complex")


def matrix_transpose(x: Any, /) -> Array:
    """A view in which the last two axes are exchanged.

    Args:
        x: an array [..., m, n] of any dtype.

    Raises:
        ValueError: it has less than two axes.

    Example:
        >>> hp.xp.matrix_transpose(x).shape
    """
    return array(x).mT


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """The sums of products over pairs of axes, one of each array.

    Args:
        x1, x2: numbers, in arrays of any shape.
        axes: how many of the last axes of x1 and the first ones of x2; or a sequence of axes of each.

    Returns:
        An array whose axes are the others of x1, and then those of x2.

    Raises:
        ValueError: the sizes of two axes differ, or there is not one for each.

    Example:
        >>> hp.xp.tensordot(x, y, axes=1)
    """
    first, second = _promoted(x1, x2)
    own, other = _pairs(axes, len(first._shape), len(second._shape))
    if len(own) != len(other) or any(first._shape[a] != second._shape[b] for a, b in zip(own, other)):
        raise InvalidCall(f"tensordot: axes is {shown(axes)}; the sizes of the shapes {first._shape} and {second._shape} do not fit")
    left = [axis for axis in range(len(first._shape)) if axis not in own]
    right = [axis for axis in range(len(second._shape)) if axis not in other]
    shape = tuple(first._shape[axis] for axis in left) + tuple(second._shape[axis] for axis in right)
    length = math.prod(first._shape[axis] for axis in own)
    rows = permute_dims(first, (*left, *own)).reshape(math.prod(first._shape[axis] for axis in left), length)
    columns = permute_dims(second, (*other, *right)).reshape(length, math.prod(second._shape[axis] for axis in right))
    done: Array = of_matrices(rows, columns).reshape(shape)
    return done


def _promoted(x1: Any, x2: Any) -> list[Array]:
    values = arrays(x1, x2)
    dtype = result_type(*values)
    return [value.astype(dtype, copy=False) for value in values]


def _pairs(axes: Any, first: int, second: int) -> tuple[Sequence[int], Sequence[int]]:
    if isinstance(axes, (tuple, list)):
        own, other = axes
        return axes_of(list(own) if isinstance(own, (tuple, list)) else own, first), axes_of(
            list(other) if isinstance(other, (tuple, list)) else other, second)
    count = integer("axes", axes)
    if not 0 <= count <= min(first, second):
        raise InvalidCall(f"tensordot: axes is {count}; the arrays have {first} and {second} axes")
    return range(first - count, first), range(count)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The products of vectors along an axis: the sums of conj(x1) * x2.

    Args:
        x1, x2: numbers, in arrays whose shapes broadcast, but along the axis.
        axis: the axis, counted from the end.

    Raises:
        ValueError: the lengths along the axis differ.
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.vecdot(x, y)
    """
    first, second = _promoted(x1, x2)
    places = [axis_of(axis, len(value._shape)) - len(value._shape) for value in (first, second)]
    lengths = [value._shape[place] for value, place in zip((first, second), places)]
    if lengths[0] != lengths[1]:
        raise InvalidCall(f"vecdot: the shapes {first._shape} and {second._shape} differ along axis {axis}")
    return Array._of(summed(first._client, first.conj() * second, places[0], first._dtype))


def outer(x1: Any, x2: Any, /) -> Array:
    """The products of each element of one vector with each of another.

    Args:
        x1, x2: vectors of numbers.

    Raises:
        ValueError: one is no vector.

    Example:
        >>> hp.xp.linalg.outer(hp.xp.arange(3), hp.xp.arange(3))
    """
    first, second = arrays(x1, x2)
    if len(first._shape) != 1 or len(second._shape) != 1:
        raise InvalidCall(f"outer is of vectors, not of the shapes {first._shape} and {second._shape}")
    return first[:, None] * second


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements.

    Args:
        x1, x2: numbers, in arrays whose shapes broadcast; along the axis they have three elements.
        axis: the axis, counted from the end.

    Raises:
        ValueError: another number of elements.
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.linalg.cross(hp.xp.asarray([1, 0, 0]), hp.xp.asarray([0, 1, 0]))
    """
    first, second = arrays(x1, x2)
    places = [axis_of(axis, len(value._shape)) for value in (first, second)]
    if first._shape[places[0]] != 3 or second._shape[places[1]] != 3:
        raise InvalidCall(f"cross: the shapes {first._shape} and {second._shape} are not of three elements along axis {axis}")
    a, b = [moveaxis(value, place, -1) for value, place in zip((first, second), places)]
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    rank = max(len(first._shape), len(second._shape))
    return stack(parts, axis=axis if axis < 0 else axis - rank)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """A view of the diagonals of matrices.

    Args:
        x: an array [..., m, n] of any dtype.
        offset: 0 is the main diagonal, positive ones are to its right.

    Raises:
        ValueError: it has less than two axes.

    Example:
        >>> hp.xp.linalg.diagonal(hp.xp.eye(3))
    """
    return array(x).diagonal(offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of the diagonals of matrices.

    Args:
        x: numbers [..., m, n].
        offset: 0 is the main diagonal, positive ones are to its right.
        dtype: of the result. Default: that of x; of integers int64 or uint64.

    Raises:
        ValueError: it has less than two axes.

    Example:
        >>> hp.xp.linalg.trace(hp.xp.eye(3))
    """
    return diagonal(x, offset=offset).sum(-1, dtype)
