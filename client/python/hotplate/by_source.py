"""A plain function as source text, for a Python whose byte code is another."""

from __future__ import annotations

import __future__
import ast
import dis
import inspect
import io
import pickle
import re
import textwrap
import types
from typing import Any, Iterator


# How a call is made, not what is called.
_CALLS = frozenset(("PUSH_NULL", "PRECALL", "CALL", "CALL_METHOD", "CALL_FUNCTION", "NOP", "CACHE", "EXTENDED_ARG"))

_NULL = re.compile(r"( \+ )?NULL(\|self)?( \+ )?")


class Unfit(Exception):
    """A function that its source text does not say whole. Its text continues "…, since "."""


def source_of(function: Any) -> dict[str, Any]:
    """The parts from which a worker makes the function anew: hotplate_calls.py reads them.

    Raises:
        Unfit: it is no plain function, or uses what cannot travel.
    """
    texts: dict[str, str] = {}
    defaults: dict[str, tuple[Any, Any]] = {}
    imports: dict[str, str] = {}
    values: dict[str, Any] = {}
    todo = [function]
    while todo:
        one = todo.pop()
        texts[one.__name__] = _text_of(one)
        defaults[one.__name__] = (one.__defaults__, one.__kwdefaults__)
        for name in sorted(_globals_of(one.__code__)):
            if name not in one.__globals__ or name in texts or name in imports or name in values:
                continue  # built in, or nothing at all, which the call will say
            value = one.__globals__[name]
            if isinstance(value, types.ModuleType):
                imports[name] = value.__name__
            elif isinstance(value, types.FunctionType) and value.__module__ == "__main__":
                if value.__globals__ is not function.__globals__ or value.__name__ != name:
                    raise Unfit(f"it uses {name}, a function of another module's variables")
                todo.append(value)
            else:
                values[name] = value
    return {"name": function.__name__, "module": function.__module__, "texts": texts, "imports": imports,
            "values": _pickled(values, defaults)}


def _text_of(function: Any) -> str:
    """Its source without decorators, annotations and defaults, which travel as values."""
    if type(function) is not types.FunctionType:
        raise Unfit(f"it is a {type(function).__name__}")
    if function.__name__ == "<lambda>":
        raise Unfit("it is a lambda: write it with def")
    if function.__closure__:
        raise Unfit(f"it uses variables of the function around it: {', '.join(function.__code__.co_freevars)}")
    if hasattr(function, "__wrapped__"):
        raise Unfit("it wraps another function")
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError) as error:
        raise Unfit(f"its source is not to be had ({error})") from None
    node = tree.body[0]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != function.__code__.co_name:
        raise Unfit("its source is not to be had (it is not what its file has in its place)")
    node.decorator_list = []
    node.returns = None
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    nothing = ast.Constant(None)
    arguments.defaults = [nothing for _ in arguments.defaults]
    arguments.kw_defaults = [None if default is None else nothing for default in arguments.kw_defaults]
    text = ast.unparse(ast.fix_missing_locations(ast.Module([node], [])))
    if function.__code__.co_flags & __future__.annotations.compiler_flag:  # of functions in it
        text = f"from __future__ import annotations\n{text}"
    made = next(const for const in compile(text, "", "exec", dont_inherit=True).co_consts if isinstance(const, types.CodeType))
    if list(_meaning(made)) != list(_meaning(function.__code__)):
        raise Unfit("its file has changed since it was imported, or something else has changed its code")
    return text


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _meaning(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """Its instructions, as far as they do not depend on what stands around the function: names that a module imports are
    called by other instructions."""
    for one in _codes(code):
        yield one.co_name, str(one.co_varnames)
        for instruction in dis.get_instructions(one):
            if instruction.opname in _CALLS:
                continue
            is_code = isinstance(instruction.argval, types.CodeType)
            yield (instruction.opname.replace("_METHOD", "_ATTR"),
                   "" if is_code or "JUMP" in instruction.opname or "FOR_ITER" in instruction.opname
                   else _NULL.sub("", instruction.argrepr))


def _globals_of(code: types.CodeType) -> set[str]:
    """The global variables that it reads."""
    names = set()
    for one in _codes(code):
        for instruction in dis.get_instructions(one):
            if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                raise Unfit(f"it sets the global variable {instruction.argval}")
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(instruction.argval)
    return names


class _Pickler(pickle.Pickler):
    """Nothing of __main__, which is another module in a worker."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == "__main__":
            raise Unfit(f"it uses {value.__qualname__} of the script or notebook")
        return NotImplemented


def _pickled(values: dict[str, Any], defaults: dict[str, tuple[Any, Any]]) -> bytes:
    for name, value in values.items():
        try:
            _Pickler(io.BytesIO(), 4).dump(value)
        except Unfit:
            raise
        except Exception as error:
            raise Unfit(f"its global variable {name} cannot be pickled ({error})") from None
    stream = io.BytesIO()
    try:
        _Pickler(stream, 4).dump((values, defaults))
    except Unfit:
        raise
    except Exception as error:
        raise Unfit(f"a default value cannot be pickled ({error})") from None
    return stream.getvalue()
