"""NumPy's own spelling of arguments, for kernels of NumPy's names: what becomes of it as the kernel's parameters."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

import numpy as np

from .arguments import shown
from .errors import InvalidCall, InvalidType

# Keywords beside the kernel's own: their defaults, and what they say.
KEYWORDS: Mapping[str, Mapping[str, tuple[Any, str]]] = {
    "svd": {"full_matrices": (True, "False: only min(m, n) vectors on each side, compute='thin'"),
            "compute_uv": (True, "False: the singular values alone, as one array")},
}


def _flag(kernel: str, name: str, value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidType(f"{kernel}: {name} is {shown(value)}; it must be True or False")
    return bool(value)


def _svd(values: Mapping[str, Any], keywords: dict[str, Any]) -> Optional[str]:
    given = [name for name in KEYWORDS["svd"] if keywords.get(name) is not None]
    full, vectors = (_flag("svd", name, keywords.pop(name, None)) for name in KEYWORDS["svd"])
    if not given:
        return None
    if keywords.get("compute") is not None:
        raise InvalidType(f"svd: compute= and {given[0]}= say the same thing; give one of them")
    keywords["compute"] = "values" if not vectors else "full" if full else "thin"
    return None if vectors else "s"


def _norm(values: Mapping[str, Any], keywords: dict[str, Any]) -> None:
    order, axis = keywords.get("ord"), keywords.get("axis")
    if isinstance(order, str) and order == "nuc" or isinstance(order, (int, float, np.number)) and order == -2:
        raise InvalidCall(f"norm: ord is {order!r}, which is not computed here; of a matrix it is "
                          f"gpu.svd(x, compute_uv=False).{'sum' if order == 'nuc' else 'min'}()")
    if isinstance(order, (int, float, np.number)) and not isinstance(order, bool):
        # np.inf and the small integers are choices.
        if not np.isinf(order) and order not in (-1, 0, 1, 2):
            if keywords.get("p") is not None:
                raise InvalidType(f"norm: p= is for ord='p', and ord is {order!r}; give one of them")
            keywords["ord"], keywords["p"] = "p", order
    if isinstance(axis, tuple):
        keywords["axis"] = axis[0] if len(axis) == 1 else _matrices(values.get("x", keywords.get("x")), axis)


def _matrices(x: Any, axis: tuple[Any, ...]) -> str:
    rank = 0 if hasattr(x, "__fspath__") else np.ndim(x)  # a file's is not known here
    if axis in ((-2, -1), (rank - 2, -1), (-2, rank - 1), (rank - 2, rank - 1)):
        return "matrices"
    raise InvalidCall(f"norm: axis is {shown(axis)}; matrices must be in the last two axes, (-2, -1): transpose x first")


def _histogram(values: Mapping[str, Any], keywords: dict[str, Any]) -> None:
    limits = keywords.get("range")
    if isinstance(limits, (tuple, list)):
        if len(limits) != 2 or not {keywords.get("low"), keywords.get("high")} <= {None}:
            raise InvalidType(f"histogram: range is {shown(limits)}; it must be (low, high), without low= and high=")
        low, high = limits
        keywords.update(range="given", low=low, high=high)


def _full(values: Mapping[str, Any], keywords: dict[str, Any]) -> None:
    value = keywords.get("value")
    if keywords.get("dtype") is not None or type(value) in (int, float, type(None)):
        return
    dtype = np.asarray(value).dtype
    if dtype.name not in ("float32", "float64", "int32", "int64"):
        raise InvalidCall(f"full: value is {shown(value)}, of which NumPy makes {dtype}; give dtype=, such as 'float64'")
    keywords["dtype"] = dtype.name


_SPELLED: Mapping[str, Callable[[Mapping[str, Any], dict[str, Any]], Optional[str]]] = {
    "full": _full, "histogram": _histogram, "norm": _norm, "svd": _svd}


def translate(kernel: str, values: Mapping[str, Any], keywords: dict[str, Any]) -> tuple[dict[str, Any], Optional[str]]:
    """The keywords as the kernel has them, and the one output that is wanted, if not all are.

    Raises:
        TypeError, ValueError: what NumPy takes and the kernel does not, with what to write instead.
    """
    spelled = _SPELLED.get(kernel)
    if spelled is None or not keywords:
        return keywords, None
    keywords = dict(keywords)
    return keywords, spelled(values, keywords)
