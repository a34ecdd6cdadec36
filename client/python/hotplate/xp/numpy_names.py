"""NumPy's own names that the standard has not, on arrays of a daemon: concatenate, arccos, isclose and so on."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from ..array_functions import FUNCTIONS
from ..numpy_protocol import UFUNCS
from .operands import array, first_array

_MORE = ("divmod",)


def names() -> set[str]:
    """All of them."""
    return {name for name in (*UFUNCS, *FUNCTIONS, *_MORE) if "." not in name and hasattr(np, name)}


def function(name: str) -> Callable[..., Any]:
    """NumPy's function of that name, whose first argument becomes an array of a daemon if none is one.

    Raises:
        AttributeError: arrays of a daemon do not have it, or this NumPy has it not.
    """
    if name not in UFUNCS and name not in FUNCTIONS and name not in _MORE or "." in name:
        raise AttributeError(f"hotplate.xp has no {name}: for arrays of this process write numpy.{name}")
    called: Any = getattr(np, name, None)
    if called is None:
        raise AttributeError(f"hotplate.xp has no {name}: this version of NumPy has it not")

    @functools.wraps(called)
    def with_arrays(*arguments: Any, **options: Any) -> Any:
        if arguments and first_array(arguments) is None:
            arguments = (_lifted(arguments[0]), *arguments[1:])
        return called(*arguments, **options)

    return with_arrays


def _lifted(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(one, np.ndarray) for one in value):
        return [_lifted(one) for one in value]  # of concatenate
    return array(value)
