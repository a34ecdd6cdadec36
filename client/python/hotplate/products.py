"""NumPy's functions that are kernels of the daemon, which run at their line: products, linear algebra and sorting. Where NumPy's
arguments are not those of hotplate.xp, they are made of these here; the others are in xp/for_numpy.py."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import namespace
from .arguments import shown
from .array_functions import FUNCTIONS, Function, array_of, named
from .computing import Computing
from .errors import InvalidCall
from .multiplying import dot, product
from .operations import axis_of, each, told


def _linalg(name: str) -> Function:
    """A function of hotplate.xp.linalg, which takes every dtype."""
    return lambda array, *arguments: getattr(namespace.standard().linalg, name)(*_on(array, arguments))


def _on(array: Computing, arguments: Any) -> list[Computing]:
    return [array_of(array, one) for one in arguments]


for _name in ("solve", "matmul", "svdvals"):
    FUNCTIONS[f"linalg.{_name}"] = _linalg(_name)


@named("linalg.cholesky")
def _cholesky(array: Computing, a: Any, *, upper: bool = False) -> Any:
    return namespace.standard().linalg.cholesky(array_of(array, a), upper=upper)


@named("linalg.norm")
def _norm(array: Computing, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    value = array_of(array, x)
    if value._dtype == "bool" or "int" in value._dtype:
        value = value.astype("float64")
    rank, linalg = len(value._shape), namespace.standard().linalg
    usual = ord in (None, 1, np.inf) or ord == 2 and (axis is not None or rank == 1) or ord == "fro" and axis is None
    if usual and not isinstance(axis, (tuple, list)) and array._client._takes("norm", value._dtype):
        given = {"ord": ord, "axis": axis, "keepdims": keepdims or None}
        return array._client.norm.run(value, keep=True, **{name: one for name, one in given.items() if one is not None})
    if axis is None and ord is not None and rank not in (1, 2):
        raise InvalidCall("Improper number of dimensions to norm.")
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else tuple(range(rank)) if axis is None else (axis,)
    if len(axes) == 1 or axis is None and ord is None:
        return linalg.vector_norm(value, axis=None if axis is None else axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise InvalidCall("Improper number of dimensions to norm.")
    last = value._viewed(lambda whole: np.moveaxis(whole, axes, (-2, -1)))
    norms = linalg.matrix_norm(last, ord="fro" if ord is None else ord)
    return norms._viewed(lambda whole: np.expand_dims(whole, tuple(axis_of(one, rank) for one in axes))) if keepdims else norms


@named("dot")
def _dot(array: Computing, a: Any, b: Any, out: Any = None) -> Any:
    done = dot(*_on(array, (a, b)))
    return done if out is None else array._into(done._now(), out, "dot")


@named("inner")
def _inner(array: Computing, a: Any, b: Any) -> Any:
    """Products over the last axes of both."""
    x, y = _on(array, (a, b))
    if not x._shape or not y._shape:
        return array._of(each(array._client, "multiply({},{})", [x, y], "multiply"))
    length = x._shape[-1]
    if length != y._shape[-1]:
        raise InvalidCall(f"inner: the last axes of {told(x)} and {told(y)} differ")
    return product(_matrix(x), _matrix(y).T).reshape(x._shape[:-1] + y._shape[:-1])


def _matrix(value: Computing) -> Computing:
    rows = int(np.prod(value._shape[:-1], dtype=np.int64))
    return value.reshape(rows, value._shape[-1])


@named("linalg.eigh")
def _eigh(array: Computing, a: Any, UPLO: str = "L") -> Any:
    return namespace.standard().linalg.eigh(_lower(array, a, UPLO))


@named("linalg.eigvalsh")
def _eigvalsh(array: Computing, a: Any, UPLO: str = "L") -> Any:
    return namespace.standard().linalg.eigvalsh(_lower(array, a, UPLO))


def _lower(array: Computing, a: Any, UPLO: str) -> Any:
    """The matrix whose lower triangle is to be read: that above the diagonal is of the conjugates."""
    if str(UPLO).upper() not in ("L", "U"):
        raise InvalidCall(f"UPLO argument must be 'L' or 'U'; it is {shown(UPLO)}")
    value = array_of(array, a)
    return value if str(UPLO).upper() == "L" else value.mT.conj()


@named("linalg.svd")
def _svd(array: Computing, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    linalg = namespace.standard().linalg
    return linalg.svd(array_of(array, a), full_matrices=full_matrices) if compute_uv else linalg.svdvals(array_of(array, a))


@named("sort")
def _sorted(array: Computing, a: Any, axis: Optional[int] = -1, kind: Any = None, order: None = None, *, stable: Any = None) -> Any:
    value = array_of(array, a)
    if order is not None:
        raise InvalidCall("sort: Cannot specify order when the array has no fields.")
    return namespace.standard().sort(value.ravel()) if axis is None else namespace.standard().sort(value, axis=axis)
