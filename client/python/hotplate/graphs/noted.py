"""A call of a block, until it is sent."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Optional

from .. import _core
from ..user_line import Place, told

if TYPE_CHECKING:
    from ..calls import Call
    from .call import GraphCall


class Block:
    """The state of a block, shared by its graph and calls.

    Attributes:
        graph: the graph's name.
        state: "open", then "sent", or "left": its calls are not to run.
        why: of "left".
        detached: its jobs outlive the client.
        calls: in the order in which they were noted, which is that in which they are checked and sent.
        names: the same by name.
    """

    def __init__(self, graph: str, detached: bool) -> None:
        self.graph = graph
        self.detached = detached
        self.state = "open"
        self.why = ""
        self.calls: list[NotedCall] = []
        self.names: dict[str, NotedCall] = {}

    def note(self, name: str, call: Call, keeps: bool, line: Optional[Place]) -> NotedCall:
        """Adds a call."""
        noted = NotedCall(len(self.calls), name, call, keeps, line)
        self.calls.append(noted)
        self.names[name] = noted
        return noted

    def leave(self, why: str) -> None:
        """Its calls are not to run."""
        self.state = "left"
        self.why = why
        for noted in self.calls:
            if (future := noted.future()) is not None:
                future._leave()
        self.clear()

    def clear(self) -> None:
        """Forgets the calls as they were noted, and so their arrays."""
        self.calls = []
        self.names = {}


class Pending(_core.OutputRef):
    """In the place of an input that another call of the block makes."""

    def __init__(self, noted: NotedCall, output: str) -> None:
        super().__init__("-", output)
        self.noted = noted


class NotedCall:
    """A call of a block.

    Attributes:
        place: in the order of the block's calls.
        name: the node's.
        call: prepared, with a Pending for each input that another call makes.
        keeps: whether the user said where its results are to be.
        after: calls that it follows without taking anything of them.
        line: the user's.
        future: a weak reference to what the call returned: what nobody holds needs no result.
    """

    def __init__(self, place: int, name: str, call: Call, keeps: bool, line: Optional[Place]) -> None:
        self.place = place
        self.name = name
        self.call = call
        self.keeps = keeps
        self.line = line
        self.after: list[NotedCall] = []
        self.future: weakref.ref[GraphCall]

    @property
    def is_function(self) -> bool:
        """Whether it is a function of the user's own, whose results are known when it has ended."""
        return bool(self.call.kernel == "function")

    def takes(self) -> dict[str, Pending]:
        """Inputs that other calls make, by name."""
        return {name: value for name, value in self.call.inputs.items() if isinstance(value, Pending)}

    def tell(self, error: BaseException) -> None:
        """Adds to an error whose it is, and the user's line."""
        line = "" if self.line is None else f"\n  {told(self.line)}"
        error.args = (f"[{self.name}] {error}{line}", *error.args[1:])
