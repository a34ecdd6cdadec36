"""A function as bytes for a worker: by value, by its name, or as source text for a Python of another version."""

from __future__ import annotations

import functools
import os
import pickle
import sys
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from .by_source import Unfit, source_of
from .environments import check_cloudpickle, check_numpy
from .errors import InvalidType

if TYPE_CHECKING:
    from .environments import Environment


def cloudpickle_here() -> Any:
    """This interpreter's cloudpickle.

    Raises:
        ImportError: there is none.
    """
    try:
        import cloudpickle
    except ImportError:
        raise ImportError("functions of your own need the package cloudpickle here: pip install cloudpickle") from None
    return cloudpickle


@functools.lru_cache(maxsize=1)
def _sources() -> dict[str, str]:
    """cloudpickle itself, for a worker that has none."""
    cloudpickle = cloudpickle_here()
    folder = os.path.dirname(cloudpickle.__file__)
    sources = {}
    for file in ("cloudpickle.py", "__init__.py"):
        with open(os.path.join(folder, file), encoding="utf-8") as source:
            sources["cloudpickle" if file == "__init__.py" else f"cloudpickle.{file[:-3]}"] = source.read()
    return {name: sources[name] for name in sorted(sources, reverse=True)}


def name_of(function: Callable[..., Any]) -> str:
    """For messages, and for the job's name."""
    return getattr(function, "__name__", type(function).__name__)


def pack(function: Callable[..., Any], environment: Environment) -> bytes:
    """A function for a worker of this environment.

    Raises:
        TypeError: it cannot travel there; nothing has run.
        ImportError: there is no cloudpickle.
    """
    if environment.same_python:
        return _by_value(function, environment)
    packed = {"python": sys.version_info[:2], "name": name_of(function), "path": _own_folders(), "cloudpickle": {}}
    if _has_a_name(function):
        return pickle.dumps({**packed, "by_name": pickle.dumps(function, 4)}, 4)
    try:
        source = source_of(function)
    except Unfit as unfit:
        raise InvalidType(
            f"{name_of(function)} comes from Python {sys.version_info[0]}.{sys.version_info[1]}, and {environment.who} is Python "
            f"{environment.python}. Between versions a function travels as source text, which this one cannot, since {unfit}. "
            f"Name an environment of Python {sys.version_info[0]}.{sys.version_info[1]} (hotplate env add NAME --python PATH), or "
            "put the function into a module that the node sees") from None
    check_numpy(name_of(function), environment, np.__version__, source["values"], 0)
    return pickle.dumps({**packed, "source": source}, 4)


def _by_value(function: Callable[..., Any], environment: Environment) -> bytes:
    """By value where its module is none that the worker can import."""
    cloudpickle = cloudpickle_here()
    check_cloudpickle(name_of(function), environment, cloudpickle.__version__)
    try:
        code = cloudpickle.dumps(function, 5)
    except Exception as error:
        raise InvalidType(f"{name_of(function)} cannot be sent: {error}") from error
    check_numpy(name_of(function), environment, np.__version__, code, 0)
    paths = [os.path.abspath(path) for path in sys.path if path == "" or os.path.isdir(path)]
    return pickle.dumps({"python": sys.version_info[:2], "name": name_of(function), "path": paths,
                         "cloudpickle": {} if environment.cloudpickle else _sources(), "pickle": code}, 5)


def _own_folders() -> list[str]:
    """The folders of sys.path that are not this interpreter's alone."""
    prefixes = tuple({os.path.join(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)})
    paths = [os.path.abspath(path) for path in sys.path if path == "" or os.path.isdir(path)]
    return [path for path in paths if not path.startswith(prefixes) and os.path.basename(path) not in
            ("site-packages", "dist-packages")]


def _has_a_name(function: Callable[..., Any]) -> bool:
    """Whether another interpreter finds it by importing its module."""
    if getattr(function, "__module__", None) in (None, "__main__"):
        return False
    try:
        return b"__main__" not in pickle.dumps(function, 4)
    except Exception:  # a lambda, a function in a function
        return False
