"""The namespace of one client, `gpu.xp`: its arrays are made there."""

from __future__ import annotations

import functools
import types
from typing import Any

from ..client import Client
from .operands import bound


class BoundNamespace:
    """hotplate.xp, with the arrays that it makes on one client.

    Example:
        >>> gpu.xp.zeros((2, 3))
    """

    def __init__(self, client: Client, module: types.ModuleType) -> None:
        self._client = client
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__array_"):
            raise AttributeError(name)
        value = getattr(self._module, name)
        if isinstance(value, types.ModuleType):
            return BoundNamespace(self._client, value)
        if isinstance(value, type) or not callable(value):
            return value

        @functools.wraps(value)
        def function(*arguments: Any, **options: Any) -> Any:
            with bound(self._client):
                return value(*arguments, **options)

        return function

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __repr__(self) -> str:
        return f"<{self._module.__name__} on {self._client!r}>"
