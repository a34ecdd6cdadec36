"""How Python calls kernels that NumPy has too: positional arguments, and NumPy's names for a kernel's arrays and parameters."""

from __future__ import annotations

import operator
import re
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from .arguments import shown
from .errors import InvalidCall, InvalidType
from .numpy_only import NUMPY_ONLY, given, leave_out, rank


class Own(NamedTuple):
    """A keyword of Python's own, which is converted to the kernel's parameters."""

    docs: str
    # The allowed values and the default, as shown by help() and the type hints.
    kind: str
    hint: str
    required: bool = False
    default: Any = None


def _as_given(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    """Changes nothing."""


class Form(NamedTuple):
    """How one kernel is called.

    Attributes:
        positions: names of the positional arguments after the arrays, in order, including those that only NumPy has.
        own: keywords that the kernel does not have itself.
        arrays: NumPy's names of the arrays, and the kernel's.
        hidden: the kernel's parameters that `own` replaces. They are accepted but not shown.
        rewrite: replaces Python's own keywords by the kernel's in the given dict. Also gets the number of positional
            arguments after the arrays, and those arrays by name. Returns the one output that is wanted, or None for all.
    """

    positions: tuple[str, ...] = ()
    arrays: Mapping[str, str] = {}
    own: Mapping[str, Own] = {}
    hidden: tuple[str, ...] = ()
    rewrite: Callable[[dict[str, Any], int, Mapping[str, Any]], Optional[str]] = _as_given


def arranged(kernel: str, form: Form, inputs: Sequence[Any], names: Sequence[str],
             keywords: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any], Optional[str]]:
    """The arrays (the kernel's `names`), the other arguments as the kernel's keywords, and the one wanted output, if any.

    Raises:
        TypeError: too many positional arguments, or one argument twice.
        ValueError: the kernel cannot do this.
    """
    if not keywords and len(inputs) <= len(names) and form.rewrite is _as_given:
        return inputs, keywords, None
    arrays = inputs[:len(names)]
    behind = inputs[len(names):]
    if len(behind) > len(form.positions):
        takes = ", ".join([*(["an array"] if len(names) == 1 else names), *form.positions])
        raise InvalidType(f"{kernel} takes {takes} by position; {len(inputs)} were given. All else are keywords")
    keywords = dict(keywords)
    _rename(kernel, form.arrays, names, names[:len(arrays)], keywords)
    for name, value in zip(form.positions, behind):
        if name in keywords:
            raise InvalidType(f"{kernel} got {name} twice: by position and as a keyword")
        keywords[name] = value
    by_name = dict(zip(names, arrays))
    if kernel in NUMPY_ONLY:
        leave_out(kernel, keywords, by_name.get(names[0], keywords.get(names[0])) if names else None)
    return arrays, keywords, form.rewrite(keywords, len(behind), by_name)


def _rename(kernel: str, aliases: Mapping[str, str], names: Sequence[str], taken: Sequence[str],
            keywords: dict[str, Any]) -> None:
    """Gives arrays that came by NumPy's names the kernel's. A name that both have is NumPy's where the kernel's is taken."""
    came = [name for name in aliases if name in keywords]
    if not any(name not in names or name in taken for name in came):
        return
    arrays = {aliases[name]: keywords.pop(name) for name in came}
    for name in came:
        if aliases[name] in keywords:
            raise InvalidType(f"{kernel}: {name}= and {aliases[name]}= say the same thing; give one of them")
    keywords.update(arrays)


def _arange(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    # As in NumPy, a single number is the end.
    if by_position and keywords.get("stop") is None:
        keywords["start"], keywords["stop"] = None, keywords["start"]
    for name in ("start", "stop", "step"):
        value = keywords.get(name)
        if _is_inexact(value):
            raise InvalidCall(f"arange: {name} is {shown(value)}; whole numbers are exact up to 2^53: gpu.array(numpy.arange(…)) "
                              "sends some beyond")


def _argsort(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    if "axis" in keywords and keywords["axis"] is None:  # not the default
        keywords["axis"] = "all"


def _fft(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    n = keywords.get("n")
    if isinstance(n, (int, np.integer)) and n < 1:
        raise InvalidCall(f"fft: n is {shown(n)}; it must be 1 or more, or None for the length of x")


def _linspace(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    _instead("linspace", keywords, "endpoint", ("include_stop",))
    if "endpoint" in keywords:
        keywords["include_stop"] = keywords.pop("endpoint")


def _full(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    _instead("full", keywords, "fill_value", ("value",))
    if keywords.get("shape") is not None and keywords.get("fill_value", keywords.get("value")) is None:
        raise InvalidType("full needs fill_value, the value of every element")
    if "fill_value" in keywords:
        keywords["value"] = keywords.pop("fill_value")
    value: Any = keywords.get("value")
    instead = "write hp.xp.full(shape, fill_value, dtype=dtype), which stays on the daemon"
    if np.ndim(value) > 0:
        raise InvalidCall(f"full: fill_value is {shown(value)}, and here it is one number: write gpu.array(numpy.full(shape, "
                          "fill_value))")
    if isinstance(value, (float, np.floating)) and not np.isfinite(value):
        raise InvalidCall(f"full: fill_value is {shown(value)}, and here it is finite: {instead}")
    if keywords.get("dtype") is not None and _name_of(keywords["dtype"]) not in ("auto", *_FILLED):
        raise InvalidCall(f"full: dtype is {_name_of(keywords['dtype'])!r}; it must be one of {', '.join(_FILLED)}: {instead}")
    if _is_inexact(value):
        raise InvalidCall(f"full: fill_value is {shown(value)}; whole numbers are exact up to 2^53: "
                          "gpu.array(numpy.full(…)) sends one beyond")
    if keywords.get("dtype") is None and type(value) not in (int, float, type(None)):
        dtype = np.asarray(value).dtype
        if dtype.name not in _FILLED:
            raise InvalidCall(f"full: fill_value is {shown(value)}, of which NumPy makes {dtype}; give dtype=, such as "
                              "'float64'")
        keywords["dtype"] = dtype.name
    _sizes("full", "shape", keywords)


def _random(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    _sizes("random", "size", keywords)
    seed = keywords.get("seed")
    if isinstance(seed, (int, np.integer)) and seed < 0:
        raise InvalidCall(f"random: seed is {shown(seed)}; it must be 0 or more, or None for a fresh one")


def _flag(kernel: str, name: str, keywords: dict[str, Any]) -> bool:
    value = keywords.pop(name, True)
    if not isinstance(value, (bool, np.bool_, type(None))) and not (type(value) is int and value in (0, 1)):
        raise InvalidType(f"{kernel}: {name} is {shown(value)}; it must be True or False")
    return bool(value)


def _svd(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> Optional[str]:
    named = [name for name in ("full_matrices", "compute_uv") if name in keywords]
    full, vectors = (_flag("svd", name, keywords) for name in ("full_matrices", "compute_uv"))
    if not named:
        return None
    if keywords.get("compute") is not None:
        raise InvalidType(f"svd: compute= and {named[0]}= say the same thing; give one of them")
    keywords["compute"] = "values" if not vectors else "full" if full else "thin"
    return None if vectors else "s"


def _norm(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    order: Any = keywords.get("ord")
    axis: Any = keywords.get("axis")
    if order is None and axis is None:
        return
    axes = rank(values.get("x", keywords.get("x")))
    if isinstance(axis, tuple):
        axis = keywords["axis"] = axis[0] if len(axis) == 1 else _matrices(axes, axis)
    if isinstance(order, str) and re.fullmatch("-?[0-9]+", order):  # the command's spelling
        order = int(order)
    number = isinstance(order, (int, float, np.number)) and not isinstance(order, bool)
    if axis in (None, "all") and axes not in (1, 2):
        of_matrices = of_vectors = False  # the daemon knows, or refuses
    else:
        of_matrices = axis == "matrices" or axis in (None, "all") and axes == 2
        of_vectors = not of_matrices
    keepdims = bool(keywords.get("keepdims"))
    if of_matrices:
        singular = {"nuc": "sum", 2: "max", -2: "min"}.get(order) if number or order == "nuc" else None
        if singular:
            raise InvalidCall(f"norm: ord is {order!r}, which is not computed here: write gpu.svd(x, compute_uv=False)."
                              f"{singular}(-1){'[..., None, None]' if keepdims else ''}")
        if number and not np.isinf(order) and order not in (1, -1):
            raise InvalidCall(f"norm: ord is {order!r}, and matrices have no such norm: give 'fro', 'nuc', 1, -1, 2, -2, inf or "
                              "-inf; for the vectors in it, axis=0 or axis=1")
        return
    if order == "nuc":
        raise InvalidCall("norm: ord is 'nuc', and only matrices have that norm: for vectors give a number")
    if not number or np.isinf(order) or order in (0, 1, 2):
        return  # a choice
    power = float(order)
    if np.isnan(power):
        raise InvalidCall("norm: ord is nan, and there is no such norm")
    if of_vectors and not 0.01 <= power <= 1000:
        along = ", ".join([*([] if axis in (None, "all") else [f"axis={int(axis)}"]), *(["keepdims=True"] if keepdims else [])])
        raise InvalidCall(f"norm: ord is {order!r}, which is not computed here: write (abs(x) ** {power!r}).sum({along}) ** "
                          f"(1 / {power!r})")
    if order == -1:
        return
    if keywords.get("p") is not None:
        raise InvalidType(f"norm: p= is for ord='p', and ord is {order!r}; give one of them")
    keywords["ord"], keywords["p"] = "p", order


def _matrices(axes: int, axis: tuple[Any, ...]) -> str:
    if axis in ((-2, -1), (axes - 2, -1), (-2, axes - 1), (axes - 2, axes - 1)):
        return "matrices"
    raise InvalidCall(f"norm: axis is {shown(axis)}; matrices must be in the last two axes, (-2, -1): transpose x first")


def _qr(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    write = {"r": "gpu.qr(a).r", "raw": "gpu.function(numpy.linalg.qr)(a, 'raw')"}
    mode = keywords.get("mode")
    if isinstance(mode, str) and mode in write:
        raise InvalidCall(f"qr: mode is {mode!r}, which is not computed here: write {write[mode]}")


def _histogram(keywords: dict[str, Any], by_position: int, values: Mapping[str, Any]) -> None:
    bins: Any = keywords.get("bins")
    if isinstance(bins, str) or np.ndim(bins) > 0:
        raise InvalidCall(f"histogram: bins is {shown(bins)}, and here it is a number, of bins of equal width: write "
                          f"gpu.function(numpy.histogram)(x, bins{given(keywords, 'range')})")
    limits = keywords.get("range")
    if isinstance(limits, (tuple, list)):
        if len(limits) != 2 or not {keywords.get("low"), keywords.get("high")} <= {None}:
            raise InvalidType(f"histogram: range is {shown(limits)}; it must be (low, high), without low= and high=")
        low, high = limits
        keywords.update(range="given", low=low, high=high)


def _is_inexact(value: Any) -> bool:
    """Whether it is an integer that a float64, as which numbers travel, does not hold."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and not -2**53 <= value <= 2**53


def _instead(kernel: str, keywords: dict[str, Any], name: str, others: Sequence[str]) -> None:
    """Refuses two arguments with the same meaning."""
    for other in others:
        if keywords.get(name) is not None and keywords.get(other) is not None:
            raise InvalidType(f"{kernel}: {name}= and {other}= say the same thing; give one of them")


def _sizes(kernel: str, name: str, keywords: dict[str, Any]) -> None:
    """Converts a shape to the kernel's sizes: the last one, and the ones before it, if any."""
    names = ("n", "rows", "batch")
    _instead(kernel, keywords, name, names)
    value = keywords.pop(name, None)
    if value is None:
        if keywords.get("n") is None:
            one = ", such as gpu.random(1)[0] for one number" if kernel == "random" else ""
            raise InvalidType(f"{kernel} needs {name}: an integer, or a tuple of them{one}")
        return
    shape: tuple[int, ...]
    try:
        shape = (operator.index(value),)
    except TypeError:
        try:
            shape = tuple(map(operator.index, value))
        except TypeError:
            raise InvalidType(f"{kernel}: {name} is {shown(value)}; it must be an integer or a tuple of integers") from None
    told = f"{kernel}: {name} is {shown(shape if len(shape) != 1 else shape[0])}"
    if any(size < 0 for size in shape):
        raise InvalidCall(f"{told}; sizes are 0 or more")
    if not 1 <= len(shape) <= 3 or 0 in shape[:-1]:
        write = "numpy.random.default_rng().random(size)" if kernel == "random" else "numpy.full(shape, fill_value)"
        raise InvalidCall(f"{told}; the daemon makes one to three axes, of which only the last may have no elements: send "
                          f"another shape, gpu.array({write})")
    keywords.update(zip(names, reversed(shape)))


# The dtypes of the kernel full.
_FILLED = ("float32", "float64", "int32", "int64")


def _name_of(dtype: Any) -> str:
    """As the daemon calls it. Of the other byte order it is another."""
    if isinstance(dtype, str) and dtype == "auto":
        return dtype
    try:
        made = np.dtype(dtype)
    except TypeError:
        return shown(dtype)
    return str(made.name) if made.isnative else made.str


_SHAPE_KIND, _SHAPE_HINT = "int or tuple of 1 to 3 ints", "Shape"

FORMS: Mapping[str, Form] = {
    "arange": Form(("start", "stop", "step", "dtype"), rewrite=_arange),
    "argsort": Form(("axis", "kind", "order"), {"a": "x"}, rewrite=_argsort),
    "cholesky": Form(),
    "eigh": Form(("UPLO",)),
    "fft": Form(("n", "axis", "norm"), {"a": "x"}, rewrite=_fft),
    "flatnonzero": Form(arrays={"a": "x"}),
    "full": Form(
        ("shape", "fill_value", "dtype", "order"),
        own={"shape": Own("elements along each axis", _SHAPE_KIND, _SHAPE_HINT, required=True),
         "fill_value": Own("every element", "float", "Real", required=True)},
        hidden=("n", "rows", "batch", "value"), rewrite=_full),
    "histogram": Form(("bins", "range", "density", "weights"), {"a": "x"}, rewrite=_histogram),
    "linspace": Form(
        ("start", "stop", "num", "endpoint", "retstep", "dtype", "axis"),
        own={"endpoint": Own("stop is the last element", "bool", "bool", default=True)}, hidden=("include_stop",),
        rewrite=_linspace),
    "matmul": Form(("out",)),
    "norm": Form(("ord", "axis", "keepdims"), rewrite=_norm),
    "qr": Form(("mode",), rewrite=_qr),
    "random": Form(
        ("size",), own={"size": Own("elements along each axis", _SHAPE_KIND, _SHAPE_HINT, required=True)},
        hidden=("n", "rows", "batch"), rewrite=_random),
    "searchsorted": Form(("side", "sorter"), {"a": "v", "v": "x"}),
    "sort": Form(("axis", "kind", "order"), {"a": "x"}),
    "svd": Form(
        ("full_matrices", "compute_uv", "hermitian"),
        own={"full_matrices": Own("False: only min(m, n) vectors on each side, as compute='thin'", "bool", "Bool", default=True),
         "compute_uv": Own("False: the singular values alone, as one array", "bool", "Bool", default=True)},
        rewrite=_svd),
}
