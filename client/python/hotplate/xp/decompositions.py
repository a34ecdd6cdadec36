"""Decompositions of matrices: the daemon's kernels, which run at their line.

They take stacks of float32 and float64 matrices, `eig` of complex ones too. For the others a complex matrix is decomposed as a real
one of twice the size where that gives the same, else column by column (complexes.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arguments import shown
from ..arrays import Array
from ..errors import InvalidCall
from .complexes import as_pairs, from_pairs, hermitian, hermitian_pairs, householder, singular
from .creation import eye
from .kernels import takes
from .manipulation import broadcast_to
from .operands import array, bound, filled
from .products import matrix_transpose


class EigResult(NamedTuple):
    """Complex eigenvalues in no particular order, and eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Orthonormal columns, and upper triangular matrices."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Left singular vectors in columns, singular values in descending order, right singular vectors in rows."""

    U: Array
    S: Array
    Vh: Array


def matrices(x: Any, name: str, square: bool = False, inexact: bool = True) -> Array:
    """An argument as matrices, of floats or complex numbers if they are to be inexact.

    Raises:
        ValueError: it is none, or they are not square.
    """
    value = array(x)
    if len(value._shape) < 2:
        raise InvalidCall(f"{name} is of matrices; x has the shape {value._shape}")
    if square and value._shape[-1] != value._shape[-2]:
        raise InvalidCall(f"{name} is of square matrices; x has the shape {value._shape}")
    return value.astype("float64") if inexact and np.dtype(value._dtype).kind not in "fc" else value


def identity(like: Array, size: int) -> Array:
    """The identity of an array's dtype, on its daemon and device."""
    with bound(like._client):
        return eye(size, dtype=like._dtype, device=like._now().device or None)


def parts_dtype(value: Array) -> str:
    """The dtype of real numbers that belong to an array's: of its parts, if it is complex."""
    return {"complex64": "float32", "complex128": "float64"}.get(value._dtype, value._dtype)


def complex_dtype(value: Array) -> str:
    """The dtype of complex numbers with an array's precision."""
    return {"float32": "complex64", "float64": "complex128"}.get(value._dtype, value._dtype)


def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """The Cholesky factors of symmetric or Hermitian positive definite matrices: the kernel `cholesky`.

    Args:
        x: floats or complex numbers [..., n, n]; the lower triangles are read, without the imaginary parts of the diagonals.
        upper: True for upper triangular factors u with x = u^H u, else lower ones with x = l l^H.

    Raises:
        ValueError: no square matrices.
        hotplate.JobFailed: a matrix is not positive definite.

    Example:
        >>> hp.xp.linalg.cholesky(hp.xp.asarray([[4.0, 2.0], [2.0, 5.0]]))
    """
    value = matrices(x, "cholesky", square=True)
    if not value.size:
        return value.copy()
    direct = takes(value, "cholesky")
    lower: Array = value._client.cholesky.run(value if direct else hermitian_pairs(value), keep=True)
    lower = lower if direct else from_pairs(lower)
    return matrix_transpose(lower.conj()) if upper else lower


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and right eigenvectors of matrices that need not be symmetric: the kernel `eig`, which runs on the CPU.

    Args:
        x: floats or complex numbers [..., n, n]; not NaN or an infinity.

    Returns:
        Complex numbers, also where all eigenvalues are real: eigenvalues [..., n] in no particular order, and eigenvectors
        [..., n, n] in columns of length 1.

    Raises:
        ValueError: no square matrices.
        hotplate.JobFailed: a matrix holds a NaN or an infinity, or the iteration did not converge.

    Example:
        >>> hp.xp.linalg.eig(hp.xp.asarray([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
    """
    value = matrices(x, "eig", square=True)
    if not value.size:
        return EigResult(filled(value, 0, complex_dtype(value), value._shape[:-1]), value.astype(complex_dtype(value)))
    done = value._client.eig.run(value, keep=True)
    return EigResult(done.w, done.v)


def eigvals(x: Any, /) -> Array:
    """Eigenvalues of matrices that need not be symmetric, as `eig` gives them: the kernel `eig`, which runs on the CPU.

    Args:
        x: floats or complex numbers [..., n, n]; not NaN or an infinity.

    Returns:
        Complex numbers [..., n] in no particular order.

    Raises:
        ValueError: no square matrices.
        hotplate.JobFailed: a matrix holds a NaN or an infinity, or the iteration did not converge.

    Example:
        >>> hp.xp.linalg.eigvals(hp.xp.asarray([[0.0, -1.0], [1.0, 0.0]]))
    """
    value = matrices(x, "eigvals", square=True)
    if not value.size:
        return filled(value, 0, complex_dtype(value), value._shape[:-1])
    values: Array = value._client.eig.run(value, compute="values", keep=True).w
    return values


def eigh(x: Any, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices: the kernel `eigh`.

    Args:
        x: floats or complex numbers [..., n, n]; the lower triangles are read, without the imaginary parts of the diagonals. Of
            complex matrices the vectors take n steps.

    Raises:
        ValueError: no square matrices.

    Example:
        >>> hp.xp.linalg.eigh(hp.xp.eye(3)).eigenvalues
    """
    value = matrices(x, "eigh", square=True)
    if not value.size:
        return EighResult(filled(value, 0, parts_dtype(value), value._shape[:-1]), value.copy())
    if not takes(value, "eigh"):
        return EighResult(*hermitian(value))
    done = value._client.eigh.run(value, keep=True)
    return EighResult(done.w, done.v)


def eigvalsh(x: Any, /) -> Array:
    """Eigenvalues of symmetric or Hermitian matrices in ascending order: the kernel `eigh`.

    Args:
        x: floats or complex numbers [..., n, n]; the lower triangles are read, without the imaginary parts of the diagonals.

    Raises:
        ValueError: no square matrices.

    Example:
        >>> hp.xp.linalg.eigvalsh(hp.xp.eye(3))
    """
    value = matrices(x, "eigvalsh", square=True)
    if not value.size:
        return filled(value, 0, parts_dtype(value), value._shape[:-1])
    if not takes(value, "eigh"):
        return eigvalsh(hermitian_pairs(value))[..., ::2]
    values: Array = value._client.eigh.run(value, compute="values", keep=True).w
    return values


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """The QR factors of matrices: the kernel `qr`; of complex ones reflections in n steps.

    Args:
        x: floats or complex numbers [..., m, n].
        mode: "reduced": Q is [..., m, k] and R [..., k, n], with k = min(m, n); "complete": [..., m, m] and [..., m, n].

    Raises:
        ValueError: no matrices, or another mode.

    Example:
        >>> hp.xp.linalg.qr(hp.xp.eye(3)).R
    """
    value = matrices(x, "qr")
    if mode not in ("reduced", "complete"):
        raise InvalidCall(f"mode is {shown(mode)}; it can be 'reduced' or 'complete'")
    *before, rows, columns = value._shape
    count = min(rows, columns) if mode == "reduced" else rows
    if not value.size:
        q = broadcast_to(identity(value, rows)[:, :count], (*before, rows, count))
        return QRResult(q.copy(), filled(value, 0, value._dtype, (*before, count, columns)))
    if not takes(value, "qr"):
        q, r = householder(value)
        return QRResult(q[..., :, :count], r[..., :count, :])
    done = value._client.qr.run(value, mode=mode, keep=True)
    return QRResult(*done)


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition of matrices: the kernel `svd`.

    Args:
        x: floats or complex numbers [..., m, n]. Of complex matrices the vectors take min(m, n) steps.
        full_matrices: False: U is [..., m, k] and Vh [..., k, n], with k = min(m, n); else [..., m, m] and [..., n, n].

    Raises:
        ValueError: no matrices.

    Example:
        >>> hp.xp.linalg.svd(hp.xp.eye(3)).S
    """
    value = matrices(x, "svd")
    *before, rows, columns = value._shape
    count = min(rows, columns)
    if not value.size:
        left, right = (rows, columns) if full_matrices else (count, count)
        return SVDResult(broadcast_to(identity(value, rows)[:, :left], (*before, rows, left)).copy(),
                         filled(value, 0, parts_dtype(value), (*before, count)),
                         broadcast_to(identity(value, columns)[:right], (*before, right, columns)).copy())
    if not takes(value, "svd"):
        u, s, vh = singular(value)
        return SVDResult(u, s, vh) if full_matrices else SVDResult(u[..., :count], s, vh[..., :count, :])
    done = value._client.svd.run(value, compute="full" if full_matrices else "thin", keep=True)
    return SVDResult(done.u, done.s, done.vt)


def svdvals(x: Any, /) -> Array:
    """The singular values of matrices in descending order: the kernel `svd`.

    Args:
        x: floats or complex numbers [..., m, n].

    Returns:
        Floats [..., min(m, n)].

    Raises:
        ValueError: no matrices.

    Example:
        >>> hp.xp.linalg.svdvals(hp.xp.eye(3))
    """
    value = matrices(x, "svdvals")
    if not value.size:
        return filled(value, 0, parts_dtype(value), value._shape[:-2] + (min(value._shape[-2:]),))
    if not takes(value, "svd"):
        return svdvals(as_pairs(value))[..., ::2]
    values: Array = value._client.svd.run(value, compute="values", keep=True).s
    return values
