#!/usr/bin/env python3
"""Writes hotplate/_kernels.pyi, by which type checkers and editors know each kernel's method, from the catalogue.

The build exports the catalogue to build/PRESET/share/hotplate/catalogue.json. A test checks that the file is up to
date: after changing a kernel's spec, build and run this again.

usage: PYTHONPATH=build/release/python client/python/tools/typed_kernels.py [--check] [CATALOGUE.json]
  --check  write nothing; exit status 1 if the file is out of date
"""

import inspect
import json
import pathlib
import re
import sys
import textwrap

from hotplate.calls import Plan

ROOT = pathlib.Path(__file__).resolve().parents[3]
STUB = ROOT / "client/python/hotplate/_kernels.pyi"
CATALOGUE = ROOT / "build/release/share/hotplate/catalogue.json"

HEAD = '''"""The kernels as methods, for type checkers and editors: typed_kernels.py writes this from the catalogue, and a test
compares. At run time a client asks its daemon what there is."""

import os
from concurrent.futures import Future
from typing import Any, Callable, Coroutine, Literal, Mapping, NamedTuple, Optional, Sequence, SupportsIndex, Tuple, Union
from typing import overload

import numpy as np
import numpy.typing as npt

from .aio import AioKernel
from .arguments import Seconds
from .arrays import Array
from .kernels import Kernel
from .receipt import Receipt

Input = Union[npt.ArrayLike, Array, Future[Any], os.PathLike[str]]
Real = Union[float, np.floating[Any], np.integer[Any]]
Bool = Union[bool, np.bool_]
Shape = Union[SupportsIndex, Sequence[SupportsIndex]]
Destination = np.ndarray[Any, Any]
Destinations = Union[Tuple[Optional[Destination], ...], Mapping[str, Destination]]
Kept = Union[Literal[True], str, Mapping[str, Union[Literal[True], str]]]
Progress = Union[bool, Callable[[float, str], Any]]
'''

# Options of every call; out and keep, which go by the kernel's outputs, stand before them.
OPTIONS = [f"{name}: Optional[{kind}] = ..." for name, kind in (
    ("lease", "Seconds"), ("device", "str"), ("precision", "str"), ("deterministic", "bool"), ("priority", "int"),
    ("time_limit", "Seconds"), ("deadline", "Seconds"), ("progress", "Progress"))]

# The spec's shape has axes, and yet the result may have none: the product of two vectors.
MAY_HAVE_NO_AXIS = {"matmul"}
# The flag without which a kernel of several outputs gives one of them alone.
ONE_OUTPUT_WITHOUT = {"svd": "compute_uv"}


def spec_of(exported):
    """A kernel of the exported catalogue, as a daemon tells it to Python."""
    def plain(value):
        (number,) = value.values()
        return int(number) if "intValue" in value else number

    def argument(one):
        return {name: one[name] for name in ("name", "type", "shape", "docs")}

    return {**{name: exported[name] for name in ("name", "summary", "docs", "numerics")},
            "type_variables": [{"name": one["name"], "dtypes": [dtype[len("DTYPE_"):].lower() for dtype in one["dtypes"]]}
                               for one in exported["typeVariables"]],
            "params": [{"name": one["name"], "type": one["type"][len("PARAM_TYPE_"):], "choices": one["choices"],
                        "default_value": plain(one["defaultValue"]) if "defaultValue" in one else None,
                        "default_text": one.get("defaultText", ""),
                        "minimum": one.get("minimum"), "maximum": one.get("maximum"), "docs": one["docs"]}
                       for one in exported["params"]],
            "inputs": [argument(one) for one in exported["inputs"]],
            "outputs": [argument(one) for one in exported["outputs"]]}


def hint(plan, name):
    """The type of an argument."""
    if name in plan.inputs:
        return "Input"
    own = plan.form.own.get(name) if plan.form is not None else None
    if own is not None:
        return own.hint if own.required else f"Optional[{own.hint}]"
    param = plan.keywords[name]
    kinds = {"FLOAT": "Real", "INT": "SupportsIndex", "BOOL": "Bool"}
    if param.type in kinds:
        return f"Optional[{kinds[param.type]}]"
    if {"float32", "float64"} & set(param.choices):
        return "npt.DTypeLike"  # which has None
    words = f"Literal[{', '.join(json.dumps(choice) for choice in param.choices)}]"
    if any(re.fullmatch(r"-?\d+", choice) for choice in param.choices):
        return f"Union[{words}, Real, None]"
    return f"Optional[{words}]"


def arguments(plan):
    """The arguments of a call, without the options of every call."""
    told, form = [], plan.form
    for parameter in plan.signature(options=False).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in told:
            told.append("*")
        name = parameter.name
        own = form.own.get(name) if form is not None else None
        by_position = form is not None and name in form.positions
        if own is not None:
            required = own.required
        else:  # of arange's start and stop one is enough, whichever
            required = name in plan.inputs or plan.keywords[name].required and not by_position
        told.append(f"{name}: {hint(plan, name)}{'' if required else ' = ...'}")
    return told if "*" in told else [*told, "*"]


def method(words, result):
    """One __call__, an argument whole on its line."""
    whole = [word.replace(" ", "\0") for word in ["self", *words, *OPTIONS]]
    lines = textwrap.wrap(f"def\0__call__({', '.join(whole)})\0->\0{result.replace(' ', chr(0))}:\0...", 118, initial_indent="    ",
                          subsequent_indent=" " * len("    def __call__("), break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def kernel(plan):
    """The class that the method of a client is, and of its coroutine function."""
    camel = "".join(word.capitalize() for word in plan.name.split("_"))
    summary = plan.spec["summary"].replace('"""', "'''")
    words, lines = arguments(plan), []
    if len(plan.outputs) == 1:
        out = "out: Optional[Destination] = ..."
        named = [axis for axis in plan.spec["outputs"][0]["shape"].split(",") if axis.strip() not in ("", "...")]
        sure = bool(named) and plan.name not in MAY_HAVE_NO_AXIS
        result = "np.ndarray[Any, Any]" if sure else "Any"
        lines += [f"class {camel}(Kernel):", f'    """{summary}"""', "", "    @overload"]
        lines += method([*words, "keep: Kept", out], "Array")
        lines += ["    @overload"]
        lines += method([*words, f"keep: Optional[{'Literal[False]' if sure else 'bool'}] = ...", out], result)
    else:
        lines += [f"class _{plan.name}_outputs(NamedTuple):", *(f"    {output}: Any" for output in plan.outputs), ""]
        lines += [f"class {plan.name}_result(_{plan.name}_outputs):", "    receipt: Receipt", ""]
        lines += [f"class {camel}(Kernel):", f'    """{summary}"""', ""]
        out = "out: Optional[Destinations] = ..."
        keep = "keep: Union[None, bool, Kept] = ..."
        flag = ONE_OUTPUT_WITHOUT.get(plan.name)
        if flag:
            rest = [word for word in words if not word.startswith(f"{flag}:")]
            lines += ["    @overload", *method([*rest, f"{flag}: Literal[False]", keep, "out: Optional[Destination] = ..."], "Any"),
                      "    @overload"]
        lines += method([*words, keep, out], f"{plan.name}_result")
    lines += ["", f"class Aio{camel}(AioKernel):", f'    """{summary}"""', ""]
    lines += method([*words, "keep: Union[None, bool, Kept] = ...", out], "Coroutine[Any, Any, Any]")
    return camel, "\n".join(lines)


def stub(catalogue):
    """The file for an exported catalogue."""
    plans = [Plan(spec_of(exported)) for exported in catalogue["kernels"]]
    classes = {plan.name: kernel(plan) for plan in plans}
    parts = [HEAD, *(text + "\n" for _, text in classes.values())]
    for owner, prefix in (("ClientKernels", ""), ("AioKernels", "Aio")):
        lines = [f"class {owner}:"]
        for name, (camel, _) in classes.items():
            lines += ["    @property", f"    def {name}(self) -> {prefix}{camel}: ..."]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main(words):
    """Writes the file, or compares it."""
    paths = [pathlib.Path(word) for word in words if word != "--check"]
    made = stub(json.loads((paths[0] if paths else CATALOGUE).read_text(encoding="utf-8")))
    if "--check" not in words:
        STUB.write_text(made, encoding="utf-8")
        return 0
    if STUB.exists() and STUB.read_text(encoding="utf-8") == made:
        return 0
    print(f"typed_kernels.py: {STUB} is not what the catalogue makes: run client/python/tools/typed_kernels.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
