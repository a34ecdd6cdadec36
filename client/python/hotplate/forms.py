"""How Python calls kernels that NumPy has too: what may stand by position, and NumPy's names for what the kernel is told."""

from __future__ import annotations

import operator
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from .arguments import shown
from .errors import InvalidCall, InvalidType


class Own(NamedTuple):
    """A keyword of Python's own, which becomes the kernel's parameters."""

    docs: str
    # As help() and the type hints name what it may be, and whether it may be left out, for this default.
    kind: str
    hint: str
    required: bool = False
    default: Any = None


class Form(NamedTuple):
    """How one kernel is called.

    Attributes:
        positions: what may be given by position behind the arrays, in this order.
        own: keywords that the kernel does not have.
        hidden: the kernel's parameters that `own` stands for. They are taken, and not shown.
        rewrite: puts the kernel's keywords in the place of Python's own, in the dict that it is given. Beside that, how
            many arguments came by position.
    """

    positions: tuple[str, ...]
    own: Mapping[str, Own] = {}
    hidden: tuple[str, ...] = ()
    rewrite: Callable[[dict[str, Any], int], None] = lambda keywords, by_position: None


def arranged(kernel: str, form: Form, inputs: Sequence[Any], arrays: int,
             keywords: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arrays, and all else as keywords of the kernel.

    Raises:
        TypeError: more than there are positions for, or one argument twice.
        ValueError: what the kernel cannot make.
    """
    behind = inputs[arrays:]
    if len(behind) > len(form.positions):
        takes = ", ".join(form.positions)
        raise InvalidType(f"{kernel} takes {'an array, ' if arrays else ''}{takes} by position; {len(inputs)} were "
                          "given. All else are keywords")
    keywords = dict(keywords)
    for name, value in zip(form.positions, behind):
        if keywords.get(name) is not None:
            raise InvalidType(f"{kernel} got {name} twice: by position and as a keyword")
        keywords[name] = value
    form.rewrite(keywords, len(behind))
    return inputs[:arrays], keywords


def _arange(keywords: dict[str, Any], by_position: int) -> None:
    # As in NumPy one number is where it ends.
    if by_position and keywords.get("stop") is None:
        keywords["start"], keywords["stop"] = None, keywords["start"]


def _linspace(keywords: dict[str, Any], by_position: int) -> None:
    _instead("linspace", keywords, "endpoint", ("include_stop",))
    if "endpoint" in keywords:
        keywords["include_stop"] = keywords.pop("endpoint")


def _full(keywords: dict[str, Any], by_position: int) -> None:
    _instead("full", keywords, "fill_value", ("value",))
    if keywords.get("shape") is not None and keywords.get("fill_value", keywords.get("value")) is None:
        raise InvalidType("full needs fill_value, the value of every element")
    if "fill_value" in keywords:
        keywords["value"] = keywords.pop("fill_value")
    value = keywords.get("value")
    if isinstance(value, int) and not isinstance(value, bool) and not -2**53 <= value <= 2**53:
        raise InvalidCall(f"full: fill_value is {shown(value)}; whole numbers are exact up to 2^53: "
                          "gpu.array(numpy.full(…)) sends one beyond")
    _sizes("full", "shape", keywords)


def _random(keywords: dict[str, Any], by_position: int) -> None:
    _sizes("random", "size", keywords)


def _instead(kernel: str, keywords: dict[str, Any], name: str, others: Sequence[str]) -> None:
    """Refuses what says the same thing twice."""
    for other in others:
        if keywords.get(name) is not None and keywords.get(other) is not None:
            raise InvalidType(f"{kernel}: {name}= and {other}= say the same thing; give one of them")


def _sizes(kernel: str, name: str, keywords: dict[str, Any]) -> None:
    """A shape as the sizes that the kernel takes: the last one's, and where there are more those before it."""
    names = ("n", "rows", "batch")
    _instead(kernel, keywords, name, names)
    value = keywords.pop(name, None)
    if value is None:
        if keywords.get("n") is None:
            raise InvalidType(f"{kernel} needs {name}: an integer, or a tuple of them")
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
        raise InvalidCall(f"{told}; the daemon makes one to three axes, of which only the last may have no elements: send "
                          "another shape, gpu.array(numpy.zeros(…))")
    keywords.update(zip(names, reversed(shape)))


_SHAPE_KIND, _SHAPE_HINT = "int or tuple of 1 to 3 ints", "Shape"

FORMS: Mapping[str, Form] = {
    "arange": Form(("start", "stop", "step", "dtype"), rewrite=_arange),
    "fft": Form(("n",)),
    "full": Form(
        ("shape", "fill_value", "dtype"),
        {"shape": Own("elements along each axis", _SHAPE_KIND, _SHAPE_HINT, required=True),
         "fill_value": Own("every element", "float", "Real", required=True)},
        ("n", "rows", "batch", "value"), _full),
    "histogram": Form(("bins", "range")),
    "linspace": Form(
        ("start", "stop", "num", "endpoint"),
        {"endpoint": Own("stop is the last element", "bool", "bool", default=True)}, ("include_stop",), _linspace),
    "norm": Form(("ord", "axis", "keepdims")),
    "random": Form(
        ("size",), {"size": Own("elements along each axis", _SHAPE_KIND, _SHAPE_HINT, required=True)},
        ("n", "rows", "batch"), _random),
}
