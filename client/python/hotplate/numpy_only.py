"""Arguments that a function of NumPy's has and the kernel of its name has not. Their values that change nothing are accepted;
for all others the error says what to write."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

import numpy as np

from .arguments import shown
from .errors import InvalidCall


class NumPyOnly(NamedTuple):
    """One such argument.

    Attributes:
        same: the values with which NumPy does what the kernel does.
        write: what gives the others.
    """

    same: tuple[Any, ...]
    write: str


_LIKE = NumPyOnly((None,), "it without like=")
_KINDS = NumPyOnly((None, "quicksort", "mergesort", "heapsort", "stable"), "it without kind=")
_STABLE = NumPyOnly((None, True, False), "it without stable=")
_FIELDS = NumPyOnly((None,), "gpu.sort_by_key(keys, values)")
_C_ORDER = ("C", "K", "A", None)

NUMPY_ONLY: Mapping[str, Mapping[str, NumPyOnly]] = {
    "arange": {"like": _LIKE},
    "argsort": {"kind": _KINDS, "order": _FIELDS, "stable": _STABLE},
    "cholesky": {"upper": NumPyOnly((False,), "numpy.swapaxes(gpu.cholesky(numpy.swapaxes(a, -1, -2)), -1, -2)")},
    "eigh": {"UPLO": NumPyOnly(("L", "l"), "gpu.eigh(numpy.swapaxes(a, -1, -2))")},
    "fft": {"axis": NumPyOnly((-1,), "hp.xp.fft.fft(gpu.array(x), axis=…)")},
    "full": {"order": NumPyOnly(_C_ORDER, "numpy.asfortranarray(gpu.full(…))"), "like": _LIKE},
    "histogram": {
        "density": NumPyOnly((None, False), "counts / (counts.sum() * numpy.diff(edges))"),
        "weights": NumPyOnly((None,), "gpu.function(numpy.histogram)(x, bins, weights=…)")},
    "linspace": {
        "retstep": NumPyOnly((False,), "gpu.linspace(…), whose step is (stop - start) / (num - 1)"),
        "axis": NumPyOnly((0, -1), "it without axis=")},
    "matmul": {
        "dtype": NumPyOnly((None,), "gpu.matmul(a.astype(dtype), b.astype(dtype))"),
        "casting": NumPyOnly(("same_kind",), "it without casting="),
        "order": NumPyOnly(_C_ORDER, "numpy.asfortranarray(gpu.matmul(a, b))"),
        "subok": NumPyOnly((True, False), "it without subok="),
        "signature": NumPyOnly((None,), "gpu.matmul(a.astype(dtype), b.astype(dtype))"),
        "axes": NumPyOnly((), "gpu.matmul(numpy.moveaxis(a, …), numpy.moveaxis(b, …))"),
        "axis": NumPyOnly((), "gpu.matmul(numpy.moveaxis(a, …), numpy.moveaxis(b, …))")},
    "searchsorted": {"sorter": NumPyOnly((None,), "gpu.searchsorted(numpy.take(a, sorter), v)")},
    "sort": {
        "axis": NumPyOnly((-1,), "hp.xp.sort(gpu.array(x), axis=…)"),
        "kind": _KINDS, "order": _FIELDS, "stable": _STABLE},
    "svd": {"hermitian": NumPyOnly((False,), "it without hermitian=, which gives the same values")},
}


def leave_out(kernel: str, keywords: dict[str, Any], rank: Optional[int]) -> None:
    """Removes these arguments. `rank`: of the first array, if it is known; its last axis has two names.

    Raises:
        ValueError: a value that changes something; says what to write.
    """
    for name, one in NUMPY_ONLY.get(kernel, {}).items():
        if name not in keywords:
            continue
        value = keywords.pop(name)
        plain = value is None or isinstance(value, (bool, int, str, np.integer, np.bool_))
        last = name == "axis" and -1 in one.same and rank is not None and plain and value == rank - 1
        if not last and not (plain and value in one.same):
            write = f"gpu.{kernel}(numpy.ravel(x))" if name == "axis" and value is None else one.write
            raise InvalidCall(f"{kernel}: {name} is {shown(value)}, which is not computed here: write {write}")
