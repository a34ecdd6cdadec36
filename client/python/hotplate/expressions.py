"""Expressions: a line of NumPy as a text, for `Client.eval`."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, Optional, Sequence

import numpy as np

from . import _core
from .arguments import is_no_array, near, path, shown, without_mask
from .arrays import Array
from .awaited import is_reference
from .calls import Call, Plan
from .connection import Connection
from .errors import InvalidType, UnknownName
from .kernel_spec import OPTIONS
from .operations import SCALARS, is_scalar
from .sending import literal
from .user_line import users_line, warn

KERNEL = "expression"


class Expression(Plan):
    """A text as the plan of a call: its inputs are the arrays that it names."""

    def __init__(self, text: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        super().__init__({"name": KERNEL, "params": [], "type_variables": [],
                          "inputs": [{"name": name, "type": "float64"} for name in inputs],
                          "outputs": [{"name": name} for name in outputs]})
        self.text = text
        self._place = users_line(2)

    def value(self, client: Connection, result: _core.Result, out: Optional[Mapping[str, np.ndarray[Any, Any]]],
              keep: Optional[Mapping[str, tuple[str, Optional[float]]]], device: str = "") -> Any:
        """The value of the outputs. Warns as NumPy does, at the line that the expression was written on."""
        value = super().value(client, result, out, keep, device)
        if result.warning:
            warn(result.warning, self._place)
        return value

    def call(self, client: Connection, values: Mapping[str, Any], numbers: Mapping[str, Any],
             options: Mapping[str, Any]) -> Call:
        """The call for these arrays and numbers, checked as far as possible without the daemon."""
        for name, value in values.items():
            if isinstance(value, Array) and value._client is not client:
                self._check_is_there(client, name, value)
        inputs = {name: value._ref if isinstance(value, Array) else value for name, value in values.items()}
        call = Call(client, self, inputs, _core.Options(), values)
        call.options.expression = self.text
        call.options.params = dict(numbers)
        self._options(call, options)
        return call


class Evaluation:
    """A text as what can be called with values for its names, as a kernel's Plan is."""

    name = KERNEL
    rules: Mapping[str, Any] = {}  # no keyword is an array: values are positional
    takes_one = True

    def __init__(self, text: Any, names: Sequence[str]) -> None:
        if not isinstance(text, str):
            raise InvalidType(f"eval: the expression is {shown(text)}; it must be a str")
        self.text = text
        self.names = names

    def prepare(self, client: Connection, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Call:
        """The call of values for the names, in their order.

        Raises:
            TypeError: a name stands for what is neither an array nor a number.
        """
        return evaluated(client, self.text, dict(zip(self.names, inputs)), keywords)

    def forget(self, error: BaseException) -> bool:
        """As of a Plan."""
        return False


def evaluation(text: Any, names: Optional[Mapping[str, Any]],
               keywords: Mapping[str, Any]) -> tuple[Evaluation, Sequence[Any], dict[str, Any]]:
    """The plan, values and options of a `Client.eval`.

    Raises:
        TypeError: the text is no str.
    """
    given = {**(names or {}), **{name: value for name, value in keywords.items() if name not in OPTIONS}}
    options = {name: value for name, value in keywords.items() if name in OPTIONS}
    return Evaluation(text, list(given)), list(given.values()), options


def evaluated(client: Connection, text: str, given: Mapping[str, Any], options: Mapping[str, Any]) -> Call:
    """The call of a text with values for its names.

    Raises:
        TypeError: a name stands for what is neither an array nor a number.
    """
    taken, outputs = _core.expression_names(text)
    values: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for name, value in given.items():
        if name not in taken:
            raise InvalidType(f"eval: the expression has no name {name!r}{near(name, [*taken, *OPTIONS])}")
        if is_scalar(value):
            numbers[name] = value
        elif type(value) in (int, complex):
            if name in outputs:
                raise UnknownName(f"eval: {name} is a number that is given; give the result another name")
            text = _with_number(text, name, value)
        else:
            values[name] = _input(name, value)
    if not any(map(is_reference, values.values())):
        _core.check_expression(text, [(name, str(value.dtype), value.shape) for name, value in values.items()],
                               [(name, SCALARS[type(value)]) for name, value in numbers.items()])
    return Expression(text, list(values), outputs).call(client, values, numbers, options)


def _with_number(text: str, name: str, value: Any) -> str:
    """The text with a number for a name: it is weak, as Python's numbers are. Attributes and keywords of the name stay."""
    return re.sub(rf"(?<!\.)\b{name}\b(?!\s*=[^=])", literal(value), text)


def _input(name: str, value: Any) -> Any:
    if isinstance(value, (Array, _core.OutputRef)):
        return value
    if isinstance(value, os.PathLike):
        return _core.PathRef(path(name, value))
    plain = without_mask(name, value)
    if is_no_array(value, plain) or plain.dtype.kind not in "biufc":
        raise InvalidType(f"eval: {name} is {shown(value)}, which is neither an array of numbers nor a number")
    return np.ascontiguousarray(plain.astype(plain.dtype.newbyteorder("="), copy=False)).reshape(plain.shape)
