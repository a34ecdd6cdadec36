"""Products of matrices of every dtype: the kernel `matmul` where it takes them, else an expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidCall
from .operations import each, made, reduced, told


def product(first: Any, second: Any) -> Any:
    """numpy.matmul of two arrays of a daemon.

    Raises:
        ValueError: the sizes do not fit, or an array has no axes.
    """
    dtype = np.result_type(first.dtype, second.dtype)
    first, second = first.astype(dtype, copy=False), second.astype(dtype, copy=False)
    for value in (first, second):
        if not value._shape:
            raise InvalidCall(f"matmul: {told(value)} has no axes: write A * B")
    left = first.reshape(1, -1) if len(first._shape) == 1 else first
    right = second.reshape(-1, 1) if len(second._shape) == 1 else second
    if left._shape[-1] != right._shape[-2]:
        raise InvalidCall(f"matmul: the inner sizes of {told(first)} and {told(second)} differ: {left._shape[-1]} and "
                          f"{right._shape[-2]}")
    done = of_matrices(left, right)
    if len(second._shape) == 1:
        done = done.squeeze(-1)
    return done.squeeze(-1 if len(second._shape) == 1 else -2) if len(first._shape) == 1 else done


def dot(first: Any, second: Any) -> Any:
    """numpy.dot of two arrays of a daemon.

    Raises:
        ValueError: the sizes do not fit.
    """
    if not first._shape or not second._shape:
        return first * second
    if len(second._shape) <= 2:
        return product(first, second)
    # Over the last axis of the one and the last but one of the other, whose others are columns.
    columns = second._viewed(lambda whole: np.moveaxis(whole, -2, 0))
    return product(first, columns.reshape(columns._shape[0], -1)).reshape(first._shape[:-1] + columns._shape[1:])


def of_matrices(left: Any, right: Any) -> Any:
    """The products of stacks of matrices of one dtype, whose sizes fit."""
    client, dtype = left._client, left._dtype
    shape = np.broadcast_shapes(left._shape[:-2], right._shape[:-2]) + (left._shape[-2], right._shape[-1])
    if 0 in shape or not left._shape[-1]:
        return left._of(made(client, dtype + "(0)", [], dtype, shape))
    if client._takes("matmul", dtype):
        return client.matmul.run(left, right, keep=True)
    if left._shape[-1] == 1:  # each number times each
        return left * right
    # Each row beside each column, along a last axis of their own.
    rows, columns = left[..., :, None, :], right.mT[..., None, :, :]
    return left._of(summed(client, each(client, "multiply({},{})", [rows, columns], "multiply"), -1, dtype))


def summed(client: Any, value: Any, axis: int, dtype: str) -> Any:
    """Notes the sums along an axis in the dtype itself; of bools, whether one is true."""
    if dtype == "bool":
        return reduced(client, "any", value, f", axis={axis}")
    return reduced(client, "sum", value, f", axis={axis}, dtype={dtype}")
