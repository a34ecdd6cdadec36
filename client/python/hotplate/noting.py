"""Notes operations on arrays of a daemon, with the user's lines."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any, Iterator, Optional

from .connection import Connection
from .errors import NotFound
from .graph import SENT, STORED, VIEW, Node
from .placing import common
from .sending import compute, waiting
from .user_line import users_line

# Operations that wait for a value, at most: then they are computed.
MOST_NODES = 64
# Whether each operation is computed at its line.
_eager: contextvars.ContextVar[bool] = contextvars.ContextVar("hotplate_eager", default=False)


def note(client: Connection, kind: int, dtype: str, shape: tuple[int, ...], text: str, operands: tuple[Any, ...],
         bases: int = 0, space: Optional[tuple[int, ...]] = None, device: str = "") -> Node:
    """Notes an operation. If many wait by now, they are computed.

    Args:
        device: where it runs, wherever its operands are.

    Raises:
        ValueError: its operands are on two devices.
        KeyError: one of them was freed by `Array.free`.
        Exception: as `compute`.
    """
    node = Node(client, kind, dtype, shape, text, operands, shape if space is None else space)
    if bases:
        node.bases = bases
    node.place = users_line(3)
    weight = 1
    asked = device
    for operand in operands:
        if type(operand) is not Node:
            continue
        if operand.kind > SENT:
            weight += operand.weight
            node.depend(operand)
        elif operand.kind == STORED and operand.value.freed:
            raise NotFound(f"{operand.told()} was freed, and is used after that")
        if operand.device and operand.device != device and not asked:
            device = common((one.device, one.told()) for one in operands if type(one) is Node)
    if device:
        node.device = device
    node.weight = weight
    if weight >= MOST_NODES:
        node.weight = weight = sum(one.kind != VIEW for one in waiting([node]))
    if weight >= MOST_NODES or _eager.get():
        compute([node])
    return node


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
