"""Texts of the daemon in Python's words: keywords in place of the command's flags."""

from __future__ import annotations

import re
from typing import Mapping, Match, Protocol, Sequence

# `hotplate run random --n 2 -o array:x`, as written in the specs' texts.
_COMMAND = re.compile(r"hotplate run (\w+)((?: --[a-z][\w-]*(?: (?!-)[^\s,]+)?)*)(?: -o array:(\w+))?")
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)(?: (-?\d[\w.]*|[a-z]\w*))?((?:,? or|,) \w+)*")
# Options of every call, with the choices that may follow them.
_SPOKEN: Mapping[str, Sequence[str]] = {"precision": ("tf32", "bf16", "f16"), "device": (), "deterministic": ()}


class Param(Protocol):
    """The part of kernel_spec.Param that is needed here; that module imports this one by way of the errors."""

    keyword: str
    type: str
    choices: Sequence[str]


def in_python(text: str, params: Mapping[str, Param]) -> str:
    """A spec's text with the command's flags replaced by keywords.

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
        # "--precision tf32, bf16 or f16": each word is a choice.
        return f"{name}=" + "".join(_literal(word) if word in choices else word for word in re.split(r"([\w-]+)", rest[1:]))
    if param is not None and param.type != "BOOL":
        if value is not None and re.fullmatch(r"-?\d[\d.e+-]*", value):
            return f"{name}={rest[1:]}"
        return f"{param.keyword}={rest}"
    if param is None and name not in _SPOKEN and value is not None:
        # A refusal speaks of the parameters of a kernel that is not at hand. A word that ends its clause is a value.
        behind = rest[len(value) + 1:] or match.string[match.end():]
        if re.fullmatch(r"-?\d[\d.e+-]*", value) or re.match(r"[,.;:)]| or |$", behind):
            return f"{name}={_literal(value)}{rest[len(value) + 1:]}"
    return f"{name}{'' if choices else '=True'}{rest}"
