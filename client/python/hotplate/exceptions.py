"""Exceptions of a worker, rebuilt here."""

from __future__ import annotations

import builtins
import io
import pickle
import sys
from typing import Any, Optional

_guests: list[str] = []


def note_guest(name: str) -> None:
    """This process has connected as a guest: from now on no exception is unpickled here."""
    _guests.append(name)


def was_guest() -> bool:
    """Whether this process has ever connected as a guest. An error does not tell which connection it came by."""
    return bool(_guests)


def rebuilt(name: str, message: str, pickled: bytes) -> Optional[Exception]:
    """The exception that a function of the user's raised in its worker. In a process that has connected to a daemon as a
    guest none is unpickled: those of Python's own classes get their message alone.

    Args:
        name: its class, as "module.Name".
        message: its text.
        pickled: the exception, or nothing.

    Returns:
        None if its class is not known here, or if it would end this process (SystemExit, KeyboardInterrupt).
    """
    itself: Any = None
    try:
        if was_guest():
            raise pickle.UnpicklingError("a guest unpickles nothing")
        itself = _Exceptions(io.BytesIO(pickled)).load()
    except Exception:
        module, _, own = name.rpartition(".")
        kind = getattr(builtins, own, None) if module == "builtins" else None
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                itself = kind(message)
            except Exception:
                pass
    return itself if isinstance(itself, Exception) else None


class _Exceptions(pickle.Unpickler):
    """Rebuilds exceptions of classes that this process has imported already, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type) and issubclass(found, BaseException):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is no exception that is known here")
