"""Linear algebra of the standard: `hotplate.xp.linalg`.

Products are in products.py, norms in norms.py, decompositions in decompositions.py; here is what is made of them.
"""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

from ..arrays import Array
from ..errors import InvalidCall
from ..operations import integer
from .complexes import as_pairs, columns_of, from_columns, from_pairs, pivots
from .decompositions import cholesky, eig, eigh, eigvals, eigvalsh, identity, matrices, parts_dtype, qr, svd, svdvals
from .dtypes import finfo, result_type
from .elementwise import abs, exp, log
from .kernels import takes
from .manipulation import broadcast_shapes, broadcast_to, stack
from .norms import matrix_norm, vector_norm
from .operands import applied, array, arrays, filled
from .products import cross, diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot

__all__ = ["cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
           "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
           "tensordot", "trace", "vecdot", "vector_norm"]



class SlogdetResult(NamedTuple):
    """Determinants as their signs and the logarithms of their magnitudes."""

    sign: Array
    logabsdet: Array


def det(x: Any, /) -> Array:
    """The determinants of matrices: the kernel `slogdet`; of complex ones elimination in n steps.

    Args:
        x: floats or complex numbers [..., n, n].

    Raises:
        ValueError: no square matrices.

    Example:
        >>> hp.xp.linalg.det(hp.xp.eye(3))
    """
    value = matrices(x, "det", square=True)
    if value.size and not takes(value, "slogdet"):
        found, sign = pivots(value)
        return stack(found).prod(0) * sign
    sign, logabsdet = slogdet(value)
    return sign * exp(logabsdet)


def slogdet(x: Any, /) -> SlogdetResult:
    """The determinants of matrices as signs and logarithms, without overflow: the kernel `slogdet`; of complex ones elimination
    in n steps.

    Args:
        x: floats or complex numbers [..., n, n].

    Returns:
        sign, of complex matrices of magnitude 1; logabsdet. Of a singular matrix they are 0 and -inf;
        where the elimination meets NaN, both are NaN (NumPy's sign is 1 or -1 there, by chance of its BLAS).

    Raises:
        ValueError: no square matrices.

    Example:
        >>> hp.xp.linalg.slogdet(hp.xp.eye(3)).logabsdet
    """
    value = matrices(x, "slogdet", square=True)
    stack_shape = value._shape[:-2]
    if not value.size:
        return SlogdetResult(filled(value, 1, value._dtype, stack_shape),
                             filled(value, 0, parts_dtype(value), stack_shape))
    if not takes(value, "slogdet"):
        found, sign = pivots(value)
        all_pivots = stack(found)
        sizes = abs(all_pivots)
        units = applied("where(equal({0},0),0,divide({1},{0}))", (sizes, all_pivots), "divide")
        return SlogdetResult((units.prod(0) * sign).astype(value._dtype, copy=False), log(sizes).sum(0))
    done = value._client.slogdet.run(value, keep=True)
    return SlogdetResult(*done)


def solve(x1: Any, x2: Any, /) -> Array:
    """The solutions y of x1 y = x2: the kernel `solve`.

    Args:
        x1: floats or complex numbers [..., n, n].
        x2: floats or complex numbers: one vector [n], or matrices [..., n, k]. The axes before broadcast.

    Raises:
        ValueError: no square matrices, or sizes that do not fit.
        hotplate.JobFailed: a matrix is singular.

    Example:
        >>> hp.xp.linalg.solve(hp.xp.eye(3), hp.xp.ones(3))
    """
    first, second = arrays(x1, x2)
    first = matrices(first, "solve", square=True)
    dtype = result_type(first, second)
    a, b = first.astype(dtype, copy=False), second.astype(dtype, copy=False)
    if not b._shape:
        raise InvalidCall("solve: x2 is a number; it must be a vector or matrices")
    if len(b._shape) == 1:
        return solve(a, b[:, None])[..., 0]
    if a._shape[-1] != b._shape[-2]:
        raise InvalidCall(f"solve: the sizes of the shapes {a._shape} and {b._shape} do not fit")
    shape = broadcast_shapes(a._shape[:-2], b._shape[:-2]) + b._shape[-2:]
    if 0 in shape:
        return filled(a, 0, dtype.name, shape)
    if not takes(a, "solve"):
        return from_columns(solve(as_pairs(a), columns_of(b)))
    solutions: Array = a._client.solve.run(a, b, keep=True)
    return solutions


def inv(x: Any, /) -> Array:
    """The inverses of matrices: the kernel `solve`. To solve equations, `solve` is faster and more exact.

    Args:
        x: floats or complex numbers [..., n, n].

    Raises:
        ValueError: no square matrices.
        hotplate.JobFailed: a matrix is singular.

    Example:
        >>> hp.xp.linalg.inv(hp.xp.eye(3))
    """
    value = matrices(x, "inv", square=True)
    return solve(value, identity(value, value._shape[-1])) if value.size else value.copy()


def matrix_power(x: Any, n: int, /) -> Array:
    """Powers of square matrices by repeated products.

    Args:
        x: numbers [..., m, m]. Powers of integers are integers of the same dtype, as products are.
        n: the exponent; a negative one is of the inverses, and these are floats or complex numbers.

    Raises:
        ValueError: no square matrices.
        hotplate.JobFailed: n is negative, and a matrix is singular.

    Example:
        >>> hp.xp.linalg.matrix_power(hp.xp.eye(3), 5)
    """
    power = integer("n", n)
    value = matrices(x, "matrix_power", square=True, inexact=power < 0)
    if not value.size:
        return value.copy()
    if power == 0:
        return broadcast_to(identity(value, value._shape[-1]), value._shape).copy()
    base = inv(value) if power < 0 else value
    result = None
    for bit in bin(builtins.abs(power))[:1:-1]:
        if bit == "1":
            result = base if result is None else matmul(result, base)
        if bit != "b":
            base = matmul(base, base)
    return base if result is None else result


def _cutoff(values: Array, rtol: Any, shape: tuple[int, ...]) -> Array:
    """Below it a singular value counts as 0."""
    if rtol is None:
        rtol = max(shape[-2:]) * finfo(values).eps
    largest = values.max(-1, keepdims=True)
    return largest * (array(rtol, values._client).astype(values._dtype)[..., None] if hasattr(rtol, "shape") else float(rtol))


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Array:
    """The ranks of matrices: how many singular values are above a limit.

    Args:
        x: floats or complex numbers [..., m, n].
        rtol: the limit, relative to the largest one: a number, or an array [...]. Default: max(m, n) * eps of the dtype.

    Returns:
        int64.

    Raises:
        ValueError: no matrices.

    Example:
        >>> hp.xp.linalg.matrix_rank(hp.xp.eye(3))
    """
    value = matrices(x, "matrix_rank")
    if not value.size:
        return filled(value, 0, "int64", value._shape[:-2])
    values = svdvals(value)
    return (values > _cutoff(values, rtol, value._shape)).sum(-1)


def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """The pseudo-inverses of matrices, by their singular values.

    Args:
        x: floats or complex numbers [..., m, n].
        rtol: singular values below this, relative to the largest one, count as 0: a number, or an array [...]. Default:
            max(m, n) * eps of the dtype.

    Returns:
        [..., n, m].

    Raises:
        ValueError: no matrices.

    Example:
        >>> hp.xp.linalg.pinv(hp.xp.ones((3, 2)))
    """
    value = matrices(x, "pinv")
    if not value.size:
        return matrix_transpose(value).copy()
    if rtol is None:
        rtol = max(value._shape[-2:]) * finfo(value).eps
    if not takes(value, "svd"):
        return from_pairs(pinv(as_pairs(value), rtol=rtol))
    u, s, vh = svd(value, full_matrices=False)
    inverse = applied("where(greater({0},{1}),divide(1,{0}),0)", (s, _cutoff(s, rtol, value._shape)), "where")
    return matmul(matrix_transpose(vh.conj()) * inverse[..., None, :], matrix_transpose(u.conj()))
