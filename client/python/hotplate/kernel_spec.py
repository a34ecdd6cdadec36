"""A kernel's spec in Python's words: its arguments, results and signature."""

from __future__ import annotations

import itertools
import keyword
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from .arguments import real_or_whole, shown, text, words
from .errors import InvalidCall, InvalidType
from .forms import FORMS

if TYPE_CHECKING:
    import inspect

# Keywords of every call, besides the kernel's own.
OPTIONS = ("out", "keep", "lease", "device", "precision", "deterministic", "priority", "time_limit", "deadline",
           "progress")


class Param:
    """A parameter of a kernel: its name as a Python keyword, and how a value becomes what the daemon takes."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.name: str = spec["name"]
        self.type: str = spec["type"]
        self.default = spec["default_value"]
        # "a fresh one": a default that is not a value.
        self.default_text: str = spec["default_text"]
        self.choices: Sequence[str] = spec["choices"]
        self.docs: str = spec["docs"]
        self.minimum, self.maximum = spec["minimum"], spec["maximum"]
        # "lambda" is no name for a keyword.
        self.keyword = self.name + "_" if keyword.iskeyword(self.name) else self.name

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is None and not self.default_text

    def convert(self, value: Any) -> Any:
        """An int, float, bool or str; TypeError where `value` is nothing of the kind. Its range is for the daemon to judge."""
        try:
            if self.type == "FLOAT":
                return real_or_whole(self.name, value)
            if self.type == "INT":
                number = value.__index__()
                if not -2**63 <= number < 2**63:
                    raise InvalidCall(f"{self.name} is {shown(number)}, which is no 64-bit integer")
                return number
            if self.type == "BOOL":
                if not isinstance(value, (bool, np.bool_)):
                    raise TypeError
                return bool(value)
            return self._choice(value)
        except (TypeError, AttributeError):
            wanted = {"FLOAT": "a number", "INT": "an integer", "BOOL": "True or False"}.get(
                self.type, "one of " + ", ".join(map(repr, self.choices)))
            raise InvalidType(f"{self.name} is {shown(value)}; it must be {wanted}") from None

    def _choice(self, value: Any) -> str:
        if isinstance(value, str):
            if value in self.choices:
                return value
        elif isinstance(value, (bool, np.bool_)):
            raise TypeError
        elif isinstance(value, (int, np.integer)):
            return str(int(value))
        elif isinstance(value, (float, np.floating)):
            if "inf" not in self.choices:
                raise TypeError  # an axis is a whole number
            return format(value, "g")
        if "float64" in self.choices or "float32" in self.choices:
            dtype = np.dtype(value)
            return str(dtype.name) if dtype.isnative else dtype.str
        return text(self.name, value)

    def _choices(self) -> str:
        numbers = sorted(int(choice) for choice in self.choices if choice.lstrip("-").isdigit())
        if len(numbers) < 4 or numbers[-1] - numbers[0] != len(numbers) - 1:
            return " | ".join(map(repr, self.choices))
        named = [repr(choice) for choice in self.choices if not choice.lstrip("-").isdigit()]
        return " | ".join([*named, f"int from {numbers[0]} to {numbers[-1]}"])

    def describe(self) -> str:
        """A line for a docstring."""
        kind = {"FLOAT": "float", "INT": "int", "BOOL": "bool"}.get(self.type) or self._choices()
        bounds = [f"at least {self.minimum:g}"] if self.minimum is not None else []
        bounds += [f"at most {self.maximum:g}"] if self.maximum is not None else []
        default = f"default: {self.default_text}" if self.default_text else f"default {self.default!r}"
        told = [kind, *([] if self.required else [default]), *([words(bounds)] if bounds else [])]
        return f"{self.keyword} ({', '.join(told)}): {self.docs}"


class KernelSpec:
    """A kernel's spec, as all that speak of it have it."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec
        self.name: str = spec["name"]
        self.inputs: tuple[str, ...] = tuple(argument["name"] for argument in spec["inputs"])
        self.outputs: tuple[str, ...] = tuple(argument["name"] for argument in spec["outputs"])
        self.params = {param.name: param for param in map(Param, spec["params"])}
        self.keywords = {param.keyword: param for param in self.params.values()} | self.params
        self.form = FORMS.get(self.name)
        self.required = [param for param in self.params.values() if param.required]
        variables = {variable["name"]: variable["dtypes"] for variable in spec["type_variables"]}
        # For each input its type variable, and the dtypes that it may have.
        self.rules: dict[str, tuple[str, frozenset[np.dtype[Any]]]] = {}
        # The inputs that may be bfloat16, which NumPy has not: of arrays that the daemon holds.
        self.bfloat16: set[str] = set()
        for argument in spec["inputs"]:
            names = variables.get(argument["type"], [argument["type"]])
            if "bfloat16" in names:
                self.bfloat16.add(argument["name"])
            dtypes = frozenset(np.dtype(name) for name in names if name != "bfloat16")
            self.rules[argument["name"]] = (argument["type"], dtypes)

    def signature(self, options: bool = True) -> inspect.Signature:
        """For inspect, help and completion; without what every call can be told if not `options`."""
        import inspect

        kinds, own = inspect.Parameter, self.form.own if self.form is not None else {}
        parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in self.inputs]

        def add(name: str, kind: Any, first: bool = False) -> None:
            if name in own:
                default = kinds.empty if own[name].required else own[name].default
            elif name in self.keywords:
                # Behind an array that must be there; `arange(10)` has its end first.
                default = kinds.empty if self.keywords[name].required and not first else self.keywords[name].default
            else:
                return  # of another version of the daemon
            parameters.append(kinds(name, kind, default=default))

        # Arguments behind one that only NumPy has are shown as keywords; `out` is one of every call.
        positions = tuple(itertools.takewhile(lambda name: name in own or name in self.keywords,
                                              self.form.positions if self.form is not None else ()))
        optional = any(name in self.keywords and not self.keywords[name].required for name in positions[:1])
        for name in positions:
            add(name, kinds.POSITIONAL_OR_KEYWORD, optional)
        hidden = {*positions, *(self.form.hidden if self.form is not None else ())}
        params = sorted(self.params.values(), key=lambda param: not param.required)
        for name in (*own, *(param.keyword for param in params)):
            if name not in hidden:
                add(name, kinds.KEYWORD_ONLY)
        for name in OPTIONS if options else ():
            parameters.append(kinds(name, kinds.KEYWORD_ONLY, default=False if name == "keep" else None))
        return inspect.Signature(parameters)
