"""Notes operations on arrays of a daemon, with the user's lines."""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import weakref
from typing import Any, Iterator, Optional

import numpy as np

from .connection import Connection
from .graph import SENT, VIEW, Node
from .sending import compute, waiting

# Operations that wait for a value, at most: then they are computed.
MOST_NODES = 64
# Whether each operation is computed at its line.
_eager: contextvars.ContextVar[bool] = contextvars.ContextVar("hotplate_eager", default=False)
# Files whose frames are not the user's: by their beginnings, and those that were asked about.
_NOT_THE_USERS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
                  "<__array_function__")
_are_the_users: dict[str, bool] = {}


def note(client: Connection, kind: int, dtype: str, shape: tuple[int, ...], text: str, operands: tuple[Any, ...],
         bases: int = 0, space: Optional[tuple[int, ...]] = None) -> Node:
    """Notes an operation. If many wait by now, they are computed.

    Raises:
        Exception: as `compute`.
    """
    node = Node(client, kind, dtype, shape, text, operands, shape if space is None else space)
    if bases:
        node.bases = bases
    node.place = _users_line()
    weight, own = 1, None
    for operand in operands:
        if type(operand) is Node and operand.kind > SENT:
            weight += operand.weight
            own = own or weakref.ref(node)
            if operand.dependents is None:
                operand.dependents = [own]
            else:
                operand.dependents.append(own)
    node.weight = weight
    if weight >= MOST_NODES:
        node.weight = weight = sum(one.kind != VIEW for one in waiting([node]))
    if weight >= MOST_NODES or _eager.get():
        compute([node])
    return node


def _users_line() -> Optional[tuple[str, int]]:
    """Where the user's program is, outside of this package and of NumPy."""
    frame: Any = sys._getframe(3)
    while frame is not None:
        file = frame.f_code.co_filename
        users = _are_the_users.get(file)
        if users is None:
            users = _are_the_users[file] = not file.startswith(_NOT_THE_USERS)
        if users:
            return file, frame.f_lineno
        frame = frame.f_back
    return None


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """In this block each operation on a hotplate.Array is computed at its line: to find a mistake, or to measure.

    Example:
        >>> with hp.eager():
        ...     y = x * 2 + 1        # two jobs
    """
    token = _eager.set(True)
    try:
        yield
    finally:
        _eager.reset(token)
