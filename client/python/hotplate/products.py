"""NumPy's functions that are kernels of the daemon: products, linear algebra, transforms and sorting. They run at their line."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .arguments import shown
from .array_functions import FUNCTIONS, Function, array_of, named, said
from .computing import Computing
from .errors import InvalidCall
from .operations import axis_of, each, told


def _kernel(name: str) -> Function:
    def call(array: Computing, *arguments: Any, **options: Any) -> Any:
        return getattr(array._client, name)(*arguments, keep=True, **said(options))

    return call


for _name in ("norm", "solve", "cholesky", "matmul"):
    FUNCTIONS[f"linalg.{_name}"] = _kernel(_name)


@named("dot")
def _dot(array: Computing, a: Any, b: Any, out: Any = None) -> Any:
    product = array._client.dot(a, b, keep=True)
    return product if out is None else array._into(product._now(), out, "dot")


@named("inner")
def _inner(array: Computing, a: Any, b: Any) -> Any:
    """Products over the last axes of both."""
    x, y = array_of(array, a), array_of(array, b)
    if not x._shape or not y._shape:
        return array._of(each(array._client, "multiply({},{})", [a, b], "multiply"))
    length = x._shape[-1]
    if length != y._shape[-1]:
        raise InvalidCall(f"inner: the last axes of {told(x)} and {told(y)} differ")
    rows, columns = x._shape[:-1], y._shape[:-1]
    product = array._client.matmul(_matrix(x), _matrix(y).T, keep=True)
    return product.reshape(rows + columns)


def _matrix(value: Computing) -> Computing:
    rows = int(np.prod(value._shape[:-1], dtype=np.int64))
    return value.reshape(rows, value._shape[-1])


@named("linalg.eigh")
def _eigh(array: Computing, a: Any, UPLO: str = "L") -> Any:
    return array._client.eigh(_lower(array, a, UPLO), keep=True)


@named("linalg.eigvalsh")
def _eigvalsh(array: Computing, a: Any, UPLO: str = "L") -> Any:
    return array._client.eigh(_lower(array, a, UPLO), compute="values", keep=True).w


def _lower(array: Computing, a: Any, UPLO: str) -> Any:
    """The matrix whose lower triangle the kernel is to read."""
    if str(UPLO).upper() not in ("L", "U"):
        raise InvalidCall(f"UPLO argument must be 'L' or 'U'; it is {shown(UPLO)}")
    return a if str(UPLO).upper() == "L" else array_of(array, a).mT


@named("linalg.svd")
def _svd(array: Computing, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    return array._client.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, keep=True)


@named("linalg.svdvals")
def _svdvals(array: Computing, x: Any) -> Any:
    return array._client.svd(x, compute_uv=False, keep=True)


@named("sort")
def _sorted(array: Computing, a: Any, axis: Optional[int] = -1, **options: Any) -> Any:
    value = array_of(array, a)
    if axis is None:
        return array._client.sort(value.ravel(), keep=True)
    place = axis_of(axis, len(value._shape))
    last = value._viewed(lambda whole: np.moveaxis(whole, place, -1))
    return array._client.sort(last, keep=True)._viewed(lambda whole: np.moveaxis(whole, -1, place))


def _transform(transform: str) -> Function:
    def call(array: Computing, a: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Any:
        value = array_of(array, a)
        axis = axis_of(axis, len(value._shape))
        if n is not None and n < 1:
            raise InvalidCall(f"Invalid number of FFT data points ({n}) specified.")
        last = value._viewed(lambda whole: np.moveaxis(whole, axis, -1))
        done = array._client.fft(last, 0 if n is None else n, transform=transform, norm=norm or "backward", keep=True)
        if axis != len(value._shape) - 1:
            done = done._viewed(lambda whole: np.moveaxis(whole, -1, axis))
        return done if out is None else array._into(done._now(), out, transform)

    return call


for _name in ("fft", "ifft", "rfft", "irfft"):
    FUNCTIONS[f"fft.{_name}"] = _transform(_name)
