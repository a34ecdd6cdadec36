"""What was written and is not computed yet: the nodes of a graph of operations.

1. An operation on an array makes a Node: its text with gaps, its operands, the user's line (noting.py). Its dtype and shape are
   known.
2. What needs a value calls `compute` (sending.py). Some nodes are stored: those that a live Array holds, that are reduced, or that
   more than one expression needs. All others are parts of those, and never exist.
3. Stored nodes of one shape that do not wait for each other are one expression: one pass over memory.
4. A computed node forgets its operands. An array on the daemon goes with the last node that has it.
"""

from __future__ import annotations

import weakref
from typing import Any, Optional

import numpy as np

from . import _core
from .connection import Connection
from .receipt import Receipt

# Kinds of nodes: a stored array, one of this process that is sent along, a view of another node, an operation element by
# element, and one that is a statement by itself (a reduction).
STORED, SENT, VIEW, EACH, WHOLE = range(5)


class Stored(_core.ArrayRef):
    """An array of the daemon, as an input of calls. One that is owned is freed with the last reference to this."""

    def __init__(self, client: Connection, id: str, owned: bool) -> None:
        super().__init__(id)
        self.client = client
        self.id = id
        self.owned = owned
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
        place: the user's line, (file, number).
        holder: a weak reference to the Array that shows this node.
        dependents: weak references to nodes that have this among their operands.
        weight: not more nodes than these wait for a value below this one, with itself.
        name: of the daemon's array, if it has one.
    """

    # Of the class: most nodes have no others, and a node is made for each operation.
    value: Any = None
    bases = 0
    place: Optional[tuple[str, int]] = None
    holder: Optional[weakref.ref[Any]] = None
    dependents: Optional[list[weakref.ref[Node]]] = None
    weight = 0
    name = ""
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

    def told(self) -> str:
        """The array in the words of an error."""
        name = f" {self.name!r}" if self.name else ""
        return f"array{name} {self.dtype} {list(self.shape)}"


def stored(client: Connection, id: str, dtype: str, shape: tuple[int, ...], owned: bool, name: str = "") -> Node:
    """The node of an array that the daemon has."""
    node = Node(client, STORED, dtype, shape, None, (), shape)
    node.value = Stored(client, id, owned)
    node.name = name
    return node


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
    if base.kind > SENT:
        _depends(node, base)
        node.weight = base.weight
    return node


def _depends(node: Node, operand: Node) -> None:
    if operand.dependents is None:
        operand.dependents = [weakref.ref(node)]
    else:
        operand.dependents.append(weakref.ref(node))
