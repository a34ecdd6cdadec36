"""A call of a block, until it is sent."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Optional

from .. import _core
from ..user_line import Place, told

if TYPE_CHECKING:
    from ..calls import Call
    from .call import GraphCall


class Block:
    """What a graph and its calls know of its block.

    Attributes:
        graph: the graph's name.
        state: "open", then "sent" or "left": nothing was sent.
        why: of "left".
        detached: its jobs outlive the client.
    """

    def __init__(self, graph: str, detached: bool) -> None:
        self.graph = graph
        self.detached = detached
        self.state = "open"
        self.why = ""
        self.names: dict[str, NotedCall] = {}

    def leave(self, why: str) -> None:
        """Nothing of it is sent."""
        self.state = "left"
        self.why = why
        self.names.clear()


class Pending(_core.OutputRef):
    """In the place of an input that another call of the block makes."""

    def __init__(self, noted: NotedCall, output: str) -> None:
        super().__init__("-", output)
        self.noted = noted


class NotedCall:
    """A call of a block.

    Attributes:
        name: the node's.
        call: prepared, with a Pending for each input that another call makes.
        keeps: whether the user said where its results are to be.
        after: calls that it follows without taking anything of them.
        place: the user's line.
        future: a weak reference to what the call returned: what nobody holds needs no result.
    """

    def __init__(self, name: str, call: Call, keeps: bool, place: Optional[Place]) -> None:
        self.name = name
        self.call = call
        self.keeps = keeps
        self.place = place
        self.after: list[NotedCall] = []
        self.future: weakref.ref[GraphCall]

    @property
    def is_function(self) -> bool:
        """Whether it is a function of the user's own, whose results are known when it has ended."""
        return bool(self.call.kernel == "function")

    def takes(self) -> dict[str, Pending]:
        """What others make, by input."""
        return {name: value for name, value in self.call.inputs.items() if isinstance(value, Pending)}

    def tell(self, error: BaseException) -> None:
        """Adds to an error whose it is, and the user's line."""
        line = "" if self.place is None else f"\n  {told(self.place)}"
        error.args = (f"[{self.name}] {error}{line}", *error.args[1:])
