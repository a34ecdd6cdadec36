"""The text that help() shows for a kernel: its spec in Python's words, and an example with its result."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any, Mapping, Match, Sequence

from .arguments import words
from .examples import EXAMPLES
from .kernel_spec import OPTIONS

if TYPE_CHECKING:
    import inspect

    from .kernel_spec import KernelSpec, Param

_WIDTH = 100

# `hotplate run random --n 2 -o array:x`, as the specs have it in their texts.
_COMMAND = re.compile(r"hotplate run (\w+)((?: --[a-z][\w-]*(?: (?!-)[^\s,]+)?)*)(?: -o array:(\w+))?")
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)(?: (-?\d[\w.]*|[a-z]\w*))?((?:,? or|,) \w+)*")
# Options of every call, with the choices that may follow them.
_SPOKEN: Mapping[str, Sequence[str]] = {"precision": ("tf32", "bf16", "f16"), "device": (), "deterministic": ()}


def in_python(text: str, params: Mapping[str, Param]) -> str:
    """A spec's text, which speaks of the command's flags, with keywords in their place.

    Example:
        >>> in_python("faster with --precision tf32", {})
        'faster with precision="tf32"'
    """
    return _FLAG.sub(lambda match: _keyword(match, params), _COMMAND.sub(lambda match: _call(match, params), text))


def _literal(word: str) -> str:
    return word if re.fullmatch(r"-?\d[\d.e+-]*", word) else f'"{word}"'


def _call(match: Match[str], params: Mapping[str, Param]) -> str:
    arguments = []
    for flag in match[2].split(" --")[1:]:
        name, _, value = flag.partition(" ")
        arguments.append(f"{name.replace('-', '_')}={_literal(value) if value else 'True'}")
    if match[3]:
        arguments.append(f'keep="{match[3]}"')
    return f"gpu.{match[1]}({', '.join(arguments)})"


def _keyword(match: Match[str], params: Mapping[str, Param]) -> str:
    name, value = match[1].replace("-", "_"), match[2]
    param = params.get(name)
    choices = param.choices if param is not None else _SPOKEN.get(name, ())
    rest = match[0][len(f"--{match[1]}"):]
    if value in choices:
        # "--precision tf32, bf16 or f16": each of them is a choice.
        return f"{name}=" + "".join(_literal(word) if word in choices else word for word in re.split(r"([\w-]+)", rest[1:]))
    if param is not None and param.type != "BOOL":
        if value is not None and re.fullmatch(r"-?\d[\d.e+-]*", value):
            return f"{name}={rest[1:]}"
        return f"{param.keyword}={rest}"
    return f"{name}{'' if choices else '=True'}{rest}"


def docs(plan: KernelSpec) -> str:
    """A docstring for a kernel, in lines for a terminal."""
    spec = plan.spec
    variables = {variable["name"]: variable["dtypes"] for variable in spec["type_variables"]}

    def spoken(text: str) -> str:
        return in_python(text, plan.params)

    def argument(one: Mapping[str, Any]) -> str:
        dtypes = words(variables.get(one["type"], [one["type"]]), "or")
        letter = f"{one['type']}: " if one["type"] in variables else ""
        told = f": {spoken(one['docs'])}" if one["docs"] else ""
        return f"    {one['name']} ({letter}{dtypes}; [{one['shape']}]){told}"

    own = plan.signature(options=False)
    keywords = any(one.kind == one.KEYWORD_ONLY for one in own.parameters.values())
    call = f"{plan.name}{str(own)[:-1]}{', ' if own.parameters else ''}{'…' if keywords else '*, …'})"
    lines: list[str] = [call, "", spoken(spec["summary"]), "", spoken(spec["docs"]), ""]
    lines += ["Args:", *map(argument, spec["inputs"])]
    lines += [_parameter(plan, name, spoken) for name in own.parameters if name not in plan.inputs]
    lines += [f"    {', '.join(OPTIONS)}: see hotplate.Client.run", ""]
    lines += ["Returns:" if len(plan.outputs) == 1 else "Returns a named tuple:", *map(argument, spec["outputs"]), ""]
    lines += ["Raises:", "    TypeError: a dtype that the kernel does not take, an unknown argument.",
              "    ValueError: a shape or a value that it does not take.",
              "    hotplate.JobFailed: it began, and failed by what is in the data; it has the receipt.",
              "    MemoryError, TimeoutError, ConnectionError: see hotplate.Client.run", "",
              f"Numerics: {spoken(spec['numerics'])}", "", "Example:"]
    return "\n".join([*map(_fold, lines), *_example(plan, own)])


def _parameter(plan: KernelSpec, name: str, spoken: Any) -> str:
    own = plan.form.own.get(name) if plan.form is not None else None
    if own is None:
        return f"    {spoken(plan.keywords[name].describe())}"
    default = "" if own.required else f", default {own.default!r}"
    return f"    {name} ({own.kind}{default}): {own.docs}"


def _example(plan: KernelSpec, own: inspect.Signature) -> list[str]:
    """One that was run; of a kernel that this package does not know, how it is called."""
    known = EXAMPLES.get(plan.name)
    if known is not None:
        return [f"    {line}" for line in known.strip().splitlines()]
    required = [f"{one.keyword}=10" for one in plan.required]
    return [f"    >>> gpu.{plan.name}({', '.join([*plan.inputs, *required])})"]


def _fold(line: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(line, _WIDTH, subsequent_indent=indent and indent + "    ")
