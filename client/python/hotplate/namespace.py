"""Finds hotplate.xp, the namespace of the Array API standard, for what is below it: arrays, clients and NumPy's protocol.

It is imported when first used: a script that only calls kernels does not pay for it.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Optional


def standard() -> Any:
    """The module hotplate.xp."""
    return importlib.import_module(f"{__package__}.xp")


def of_client(client: Any) -> Any:
    """hotplate.xp with the arrays that it makes on one client."""
    return importlib.import_module(f"{__package__}.xp.bound").BoundNamespace(client, standard())


def of_numpy(name: str) -> Optional[Callable[..., Any]]:
    """The function for one of NumPy's, such as "roll" or "linalg.inv", called with NumPy's arguments; None if there is none."""
    functions: dict[str, Callable[..., Any]] = importlib.import_module(f"{__package__}.xp.for_numpy").FUNCTIONS
    return functions.get(name)
