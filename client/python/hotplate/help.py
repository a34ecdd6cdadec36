"""The text that help() shows for a kernel: its spec in Python's words, and an example with its result."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Mapping

from .arguments import words
from .examples import EXAMPLES
from .flags import in_python
from .kernel_spec import OPTIONS

if TYPE_CHECKING:
    import inspect

    from .kernel_spec import KernelSpec

_WIDTH = 100


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
