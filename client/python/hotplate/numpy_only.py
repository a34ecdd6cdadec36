"""Arguments that a function of NumPy's has and the kernel of its name has not. Their values that change nothing are accepted;
for all others the error says what to write."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Union

import numpy as np

from .arguments import shown
from .errors import InvalidCall


class NumPyOnly(NamedTuple):
    """One such argument.

    Attributes:
        same: the values with which NumPy does what the kernel does; None is one of them, but of an axis.
        instead: what to do with others; or a function that gets the value and the call's other keywords.
    """

    same: tuple[Any, ...]
    instead: Union[str, Callable[[Any, Mapping[str, Any]], str]]


def given(keywords: Mapping[str, Any], *names: str) -> str:
    """The text of these keywords, as far as they are there, behind others."""
    return "".join(f", {name}={shown(keywords[name])}" for name in names if keywords.get(name) is not None)


def _fft(axis: Any, keywords: Mapping[str, Any]) -> str:
    transform = keywords.get("transform") or "fft"
    return f"write hp.xp.fft.{transform}(gpu.array(x), axis={shown(axis)}{given(keywords, 'n', 'norm')})"


def _sort(axis: Any, keywords: Mapping[str, Any]) -> str:
    more = given(keywords, "descending")
    if axis is None:
        return f"write gpu.sort(numpy.ravel(x){more})"
    return f"write hp.xp.sort(gpu.array(x), axis={shown(axis)}{more})"


def _triangle(value: Any, keywords: Mapping[str, Any]) -> str:
    if value not in ("U", "u"):
        return "give 'L' or 'U'"
    return f"write gpu.eigh(numpy.swapaxes(a, -1, -2){given(keywords, 'compute')})"


_LEAVE_OUT = "leave it out"
_FIELDS = NumPyOnly((), "write gpu.sort_by_key(keys, values)")
_KINDS = NumPyOnly(("quicksort", "mergesort", "heapsort", "stable"), _LEAVE_OUT)
_STABLE = NumPyOnly((True, False), _LEAVE_OUT)
_DTYPE = "write gpu.matmul(a.astype(dtype), b.astype(dtype))"
_AXES = "write gpu.matmul of numpy.moveaxis(a, …) and numpy.moveaxis(b, …)"

NUMPY_ONLY: Mapping[str, Mapping[str, NumPyOnly]] = {
    "arange": {"like": NumPyOnly((), _LEAVE_OUT)},
    "argsort": {"kind": _KINDS, "order": _FIELDS, "stable": _STABLE},
    "cholesky": {"upper": NumPyOnly((False,), "write numpy.swapaxes(gpu.cholesky(numpy.swapaxes(a, -1, -2)), -1, -2)")},
    "eigh": {"UPLO": NumPyOnly(("L", "l"), _triangle)},
    "fft": {"axis": NumPyOnly((-1,), _fft)},
    "full": {
        "order": NumPyOnly(("C", "K", "A"), "write numpy.asfortranarray(…) of its result"),
        "like": NumPyOnly((), _LEAVE_OUT)},
    "histogram": {
        "density": NumPyOnly((False,), "write counts / (counts.sum() * numpy.diff(edges)), of its results"),
        "weights": NumPyOnly((), lambda _, keywords: f"write gpu.function(numpy.histogram)(x{given(keywords, 'bins', 'range')}, "
                                                      "weights=weights)")},
    "linspace": {
        "retstep": NumPyOnly((False,), "write z[1] - z[0] for the step, of its result z"),
        "axis": NumPyOnly((0, -1), _LEAVE_OUT)},
    "matmul": {
        "dtype": NumPyOnly((), _DTYPE), "signature": NumPyOnly((), _DTYPE), "casting": NumPyOnly(("same_kind",), _LEAVE_OUT),
        "order": NumPyOnly(("C", "K", "A"), "write numpy.asfortranarray(…) of its result"),
        "subok": NumPyOnly((True, False), _LEAVE_OUT), "axes": NumPyOnly((), _AXES), "axis": NumPyOnly((), _AXES)},
    "searchsorted": {
        "sorter": NumPyOnly((), lambda _, keywords: f"write gpu.searchsorted(numpy.take(a, sorter), v{given(keywords, 'side')})")},
    "sort": {"axis": NumPyOnly((-1,), _sort), "kind": _KINDS, "order": _FIELDS, "stable": _STABLE},
    "svd": {"hermitian": NumPyOnly((False,), lambda _, keywords: "write gpu.function(numpy.linalg.svd)(a"
                                   f"{given(keywords, 'full_matrices', 'compute_uv')}, hermitian=True)")},
}


def numpy_name(kernel: str) -> str:
    """The function of NumPy's that has a kernel's name; empty if there is none."""
    return next((f"{module.__name__}.{kernel}" for module in (np, np.linalg) if callable(getattr(module, kernel, None))), "")


def leave_out(kernel: str, keywords: dict[str, Any], array: Any) -> None:
    """Removes these arguments. `array`: the call's first, None if it has none.

    Raises:
        ValueError: a value that changes something; says what to write.
    """
    for name, one in NUMPY_ONLY.get(kernel, {}).items():
        if name not in keywords:
            continue
        value = keywords.pop(name)
        if value is None and name != "axis" or _same(name, value, one.same, array):
            continue
        instead = one.instead if isinstance(one.instead, str) else one.instead(value, keywords)
        if hasattr(array, "_ref"):  # it is on the daemon
            instead = instead.replace("gpu.array(x)", "x")
        raise InvalidCall(f"{kernel}: {name} is {shown(value)}, which is not computed here: {instead}")


def _same(name: str, value: Any, same: tuple[Any, ...], array: Any) -> bool:
    if not isinstance(value, (bool, int, str, np.integer, np.bool_)):
        return False
    # The last axis has two names.
    last = rank(array) - 1 if name == "axis" and -1 in same else -1
    return value in same or value == last >= 0


def rank(array: Any) -> int:
    """The number of an array's axes; -1 if it is not there, or a file, which only the daemon reads."""
    if array is None or hasattr(array, "__fspath__"):
        return -1
    axes: int = array.ndim if hasattr(array, "ndim") else np.ndim(array)
    return axes
