"""The graph of the operations that were written and have not run yet.

1. An operation on an array makes a Node: its text with gaps, its operands, the user's line (noting.py). Its dtype and shape are
   known.
2. What needs a value calls `compute` (sending.py). Some nodes are stored: those that a live Array holds, that are reduced, or that
   more than one expression needs. All others are parts of those, and never exist.
3. Stored nodes of one shape that do not wait for each other are one expression: one pass over memory.
4. A computed node forgets its operands. An array on the daemon goes with the last node that has it.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Optional

import numpy as np

from . import _core
from .connection import Connection
from .receipt import Receipt
from .user_line import Place

# Kinds of nodes: a stored array, one of this process that is sent along, a view of another node, an operation element by
# element, and one that is a statement by itself (a reduction).
STORED, SENT, VIEW, EACH, WHOLE = range(5)
# In the place of an id: no array of the daemon can have it.
FREED = "(freed)"
# An array that is used in a loop has many dependents, most of which are gone: they are looked through from so many on.
_MANY_DEPENDENTS = 16
_depending = threading.Lock()


class Stored(_core.ArrayRef):
    """An array of the daemon, as an input of calls. One that is owned is freed with the last reference to this."""

    def __init__(self, client: Connection, id: str, owned: bool) -> None:
        super().__init__(id)
        self.client = client
        self.id = id
        self.owned = owned
        self.freed = False  # by `Array.free`
        if owned:
            client._core.own(id)

    def keep(self) -> None:
        """From now on it is not freed with this."""
        if self.owned:
            self.owned = False
            self.client._core.disown(self.id)

    def __del__(self) -> None:
        # One whose construction failed owns nothing.
        if getattr(self, "owned", False):
            self.client._core.release_later(self.id)


class Axis:
    """Among the operands of an operation: the index along one axis of its result."""

    __slots__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis


class Node:
    """One operation, or an array that is there.

    Attributes:
        dtype, shape: of the result; `dtype` is the daemon's name of it.
        text: of an operation, with {} for each operand; of a VIEW, (offset, shape, strides) in elements.
        operands: Nodes, Python's numbers, and Axis.
        bases: how many of the first operands are read at other places than the result's own: they have to be stored.
        space: the shape that the operation runs over.
        value: of STORED, the Stored; of SENT, the ndarray; else None.
        place: the user's line.
        holder: a weak reference to the Array that shows this node.
        dependents: weak references to nodes that have this among their operands; some may be gone, or computed.
        weight: not more nodes than these wait for a value below this one, with itself.
        name: of the daemon's array, if it has one.
        device: the id of the device that operations on it run on; empty: any.
    """

    # Most nodes keep these values. They are attributes of the class because each operation makes a node, which has to be fast.
    value: Any = None
    bases = 0
    place: Optional[Place] = None
    holder: Optional[weakref.ref[Any]] = None
    dependents: Optional[list[weakref.ref[Node]]] = None
    weight = 0
    name = ""
    device = ""
    receipt: Optional[Receipt] = None

    def __init__(self, client: Connection, kind: int, dtype: str, shape: tuple[int, ...], text: Any,
                 operands: tuple[Any, ...], space: tuple[int, ...]) -> None:
        self.client = client
        self.kind = kind
        self.dtype = dtype
        self.shape = shape
        self.text = text
        self.operands = operands
        self.space = space

    @property
    def held(self) -> bool:
        """Whether a live Array shows this node."""
        holder = None if self.holder is None else self.holder()
        return holder is not None and holder._node is self

    def depend(self, operand: Node) -> None:
        """Says that this node waits for an operand, which is not computed yet."""
        with _depending:
            known = operand.dependents or []
            if len(known) >= _MANY_DEPENDENTS and len(known) & (len(known) - 1) == 0:  # 16, 32, 64 and so on
                known = [reference for reference in known if (node := reference()) is not None and node.kind > SENT]
            known.append(weakref.ref(self))
            operand.dependents = known

    def told(self) -> str:
        """The array in the words of an error."""
        name = f" {self.name!r}" if self.name else ""
        return f"array{name} {self.dtype} {list(self.shape)}"


def stored(client: Connection, id: str, dtype: str, shape: tuple[int, ...], owned: bool, name: str = "",
           device: str = "") -> Node:
    """The node of an array that the daemon has."""
    node = Node(client, STORED, dtype, shape, None, (), shape)
    node.value = Stored(client, id, owned)
    node.name = name
    if device:
        node.device = device
    return node


def freed(node: Node) -> Node:
    """The node of an array that was freed before the daemon had it."""
    instead = stored(node.client, FREED, node.dtype, node.shape, owned=False, device=node.device)
    instead.value.freed = True
    return instead


def sent(client: Connection, value: np.ndarray[Any, Any]) -> Node:
    """The node of a small array of this process, which nobody changes any more."""
    node = Node(client, SENT, value.dtype.name, value.shape, None, (), value.shape)
    node.value = value
    return node


def view(base: Node, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Node:
    """The node of a view of another, counted in elements of that in C order."""
    node = Node(base.client, VIEW, base.dtype, shape, (offset, shape, strides), (base,), shape)
    node.bases = 1
    node.name = base.name
    if base.device:
        node.device = base.device
    if base.kind > SENT:
        node.depend(base)
        node.weight = base.weight
    return node
