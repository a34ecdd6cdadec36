"""The line of the user's program that an operation was written on: for errors and warnings."""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from typing import Any, Optional

import numpy as np

Place = tuple[str, int, str]  # file, line and module

# Files whose frames are not the user's: by their beginnings, and those that were asked about.
_NOT_THE_USERS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
                  "<__array_function__")
_are_the_users: dict[str, bool] = {}
# The registry of warnings for code that is in no module; each module has its own.
_warned: dict[Any, Any] = {}


def users_line(depth: int = 1) -> Optional[Place]:
    """Where the user's program is, outside of this package and of NumPy; looks from `depth` frames above this one on."""
    frame: Any = sys._getframe(depth)
    while frame is not None:
        file = frame.f_code.co_filename
        users = _are_the_users.get(file)
        if users is None:
            users = _are_the_users[file] = not file.startswith(_NOT_THE_USERS)
        if users:
            return file, frame.f_lineno, frame.f_globals.get("__name__", "<string>")
        frame = frame.f_back
    return None


def told(place: Place) -> str:
    """A line in the words of an error."""
    file, number, _ = place
    source = linecache.getline(file, number).strip()
    return f"written at {file}:{number}" + (f": {source}" if source else "")


def warn(message: str, place: Optional[Place]) -> None:
    """A RuntimeWarning as if that line had raised it: filters apply, and by default each line warns once."""
    if place is None:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return
    file, number, name = place
    module = sys.modules.get(name)
    registry = _warned if module is None else vars(module).setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, RuntimeWarning, file, number, name, registry)
