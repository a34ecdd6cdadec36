"""Turns the graph of noted operations into expressions: as few as possible, each of which is one job and one pass over memory."""

from __future__ import annotations

import re
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from . import _core
from .errors import Error, InternalError, NotFound
from .graph import EACH, SENT, STORED, VIEW, WHOLE, Axis, Node, Stored
from .receipt import Receipt
from .user_line import Place, told, warn

# The limits of one expression. A graph that is over one of them is sent in parts. The daemon's own are in
# kernels/expression/program.h: the same numbers of inputs, outputs and scalars, 64 KiB, and 1024 names, numbers and operations.
# Operations are not all words: signs and brackets count too.
_MOST_INPUTS, _MOST_OUTPUTS, _MOST_SCALARS, _MOST_BYTES, _MOST_WORDS = 64, 64, 64, 60_000, 800


def compute(nodes: Sequence[Node], here: Optional[Node] = None) -> None:
    """Computes these nodes, and stores them and those below them that a live Array holds.

    Args:
        here: one of them, of one element, which comes back at once: it is SENT then.

    Raises:
        MemoryError: a result does not fit.
        KeyError: an array was freed after it was used.
        IndexError: an index is outside.
        Exception: what a call of a kernel raises. The user's line is in the message.
    """
    if all(node.kind <= SENT for node in nodes):
        return
    client = nodes[0].client
    client._core.check_may_wait()
    with client._computing:
        while True:
            roots = [node for node in nodes if node.kind > SENT]
            if not roots:
                return
            for group in _groups(roots):
                before = _run(group, here)
                if before:
                    compute(before)
                    break


def waiting(roots: Sequence[Node]) -> list[Node]:
    """The nodes that have no value yet, each after its operands."""
    order: list[Node] = []
    seen: set[int] = set()
    for root in roots:
        if id(root) not in seen:
            _visit(root, order, seen)
    return order


def _visit(node: Node, order: list[Node], seen: set[int]) -> None:
    seen.add(id(node))
    for operand in node.operands:
        if type(operand) is Node and operand.kind > SENT and id(operand) not in seen:
            _visit(operand, order, seen)
    order.append(node)


class _Group:
    """The nodes of one expression, each after its operands. Those in `stored` are its outputs; the others are parts of them."""

    def __init__(self, space: tuple[int, ...], device: str) -> None:
        self.space = space
        self.device = device
        self.nodes: list[Node] = []
        self.stored: list[Node] = []


def _groups(roots: Sequence[Node]) -> list[_Group]:
    """The expressions that compute these nodes, in order."""
    order = waiting(roots)
    wanted = _to_be_stored(roots, order)
    while True:
        groups: dict[tuple[int, tuple[int, ...], str], _Group] = {}
        stages: dict[int, int] = {}
        group_of: dict[int, _Group] = {}
        shared = False
        for node in order:
            if id(node) not in wanted:
                continue
            parts, stage = _parts(node, wanted, stages)
            stages[id(node)] = stage
            group = groups.setdefault((stage, node.space, node.device), _Group(node.space, node.device))
            for part in parts:
                other = group_of.setdefault(id(part), group)
                if other is not group and part.kind != VIEW:
                    wanted.add(id(part))  # computed once, for both
                    shared = True
            group.stored.append(node)
            group.nodes += parts
            group.nodes.append(node)
        if not shared:
            break
    places = {id(node): place for place, node in enumerate(order)}
    for group in groups.values():
        group.nodes = sorted({id(node): node for node in group.nodes}.values(), key=lambda node: places[id(node)])
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _to_be_stored(roots: Sequence[Node], order: Sequence[Node]) -> set[int]:
    """The ids of the nodes that get an array of their own."""
    wanted = {id(root) for root in roots}
    own = {id(node) for node in order}
    for node in order:
        for base in node.operands[:node.bases]:
            if type(base) is Node and base.kind > SENT:
                wanted.add(id(base))
        kind = node.kind
        if kind == WHOLE or kind != VIEW and (node.held or node.dependents is not None and _is_needed_elsewhere(node, own)):
            wanted.add(id(node))
    return wanted


def _is_needed_elsewhere(node: Node, own: set[int]) -> bool:
    """Whether an operation that is not among these waits for it."""
    for reference in node.dependents or ():
        one = reference()
        if one is not None and id(one) not in own and one.kind > SENT:
            return True
    return False


def _parts(node: Node, wanted: set[int], stages: dict[int, int]) -> tuple[list[Node], int]:
    """The nodes that are computed with this one and not stored, and the expression that they are in: the first is 0."""
    parts: dict[int, Node] = {}
    stage = 0
    ahead = [node]
    while ahead:
        one = ahead.pop()
        for place, operand in enumerate(one.operands):
            if type(operand) is not Node or operand.kind <= SENT:
                continue
            its = stages.get(id(operand))
            if its is None:
                if id(operand) not in parts:
                    parts[id(operand)] = operand
                    ahead.append(operand)
            elif (operand.kind in (EACH, VIEW) and operand.shape == node.space and operand.device == node.device and
                  place >= one.bases):
                stage = max(stage, its)  # it may be in the same pass
            else:
                stage = max(stage, its + 1)
    return list(parts.values()), stage


class _Text:
    """An expression as it is written: its statements, inputs and numbers."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.lines: list[str] = []
        self.inputs: dict[str, Any] = {}
        self.params: dict[str, Any] = {}
        self.readers: dict[str, Node] = {}
        self.names: dict[int, str] = {}

    def write(self, node: Node, output: str) -> None:
        """Adds the statement of one node; of a part without a name."""
        if node.kind == VIEW:
            text = self._view(node, node)
            if not output:
                self.names[id(node)] = text
                return
        else:
            text = node.text.format(*[self._operand(operand, node) for operand in node.operands])
        name = output or f"_{len(self.lines)}"
        self.lines.append(f"{name}={text}")
        self.names[id(node)] = name

    def is_over_a_limit(self, expression: str) -> bool:
        """Whether the daemon would refuse it. `expression` has all lines."""
        if len(self.inputs) > _MOST_INPUTS or len(self.params) > _MOST_SCALARS or len(expression) > _MOST_BYTES:
            return True
        # Counting takes time: most texts are too short to have so many words.
        return len(expression) > _MOST_WORDS and len(re.findall(r"\w+", expression)) > _MOST_WORDS

    def _operand(self, operand: Any, reader: Node) -> str:
        kind = type(operand)
        if kind is Node:
            name = self.names.get(id(operand))
            if name is not None:
                return name
            return self._input(operand, reader) if operand.kind <= SENT else self._view(operand, reader)
        if kind is Axis:
            return f"index({self.rank - len(reader.shape) + operand.axis})"
        if kind is complex or kind is int and not -2**63 <= operand < 2**63:
            return literal(operand)
        name = f"s{len(self.params)}"
        self.params[name] = operand
        return name

    def _view(self, node: Node, reader: Node) -> str:
        offset, shape, strides = node.text
        return f"strided({self._operand(node.operands[0], reader)},{offset},{shape},{strides})"

    def _input(self, node: Node, reader: Node) -> str:
        name = self.names.get(id(node.value))
        if name is None:
            self.names[id(node.value)] = name = f"x{len(self.inputs)}"
            self.inputs[name] = node.value
            self.readers[name] = reader
        return name


def literal(value: Any) -> str:
    """A Python number as the text of an expression."""
    if type(value) is complex:
        if value.imag != value.imag or abs(value.imag) == float("inf"):
            return f"complex({value.real!r},{value.imag!r})"
        return f"({value.real!r}{value.imag:+}j)" if value.imag else f"({value.real!r}+0j)"
    return f"({value!r})"


def _run(group: _Group, here: Optional[Node]) -> Sequence[Node]:
    """Runs one expression. If it is over a limit, it does not, and returns the nodes to compute before."""
    text = _Text(len(group.space))
    wanted = {id(node): f"y{number}" for number, node in enumerate(group.stored)}
    for node in group.nodes:
        text.write(node, wanted.get(id(node), ""))
    expression = ";".join(text.lines)
    if len(group.stored) > _MOST_OUTPUTS or text.is_over_a_limit(expression):
        before = _half(group)
        if before:
            return before
    client = group.stored[0].client
    options = _core.Options()
    options.expression = expression
    options.params = text.params
    options.device = group.device
    options.keep = {name: ("", None) for node, name in zip(group.stored, wanted.values()) if node is not here}
    try:
        result = client._core.run("expression", text.inputs, options)
    except Exception as error:
        _tell(error, group, text)
        raise
    warned = _warned(result.warning, group) if result.warning else None
    receipt = Receipt.of_result(result)
    for node in group.stored:
        came = result.take(wanted[id(node)])
        if node is here:
            node.value = came = np.asarray(came)
            dtype, shape = came.dtype.name, came.shape
        else:
            id_, dtype, shape = came
            node.value = Stored(client, id_, True)
        if dtype != node.dtype or shape != node.shape:
            raise InternalError(f"{options.expression} gave {dtype} {list(shape)} for {node.told()}: {_at(node)}")
        node.text, node.operands, node.bases, node.weight = None, (), 0, 0
        node.kind = SENT if node is here else STORED
        node.dependents, node.receipt = None, receipt
    if result.warning:
        warn(result.warning, warned)  # may raise, and the results are there then
    return ()


def _half(group: _Group) -> Sequence[Node]:
    """The first half of what an expression computes: no operation of it needs one of the others. None of a single operation."""
    if len(group.stored) > 1:
        return group.stored[:len(group.stored) // 2]
    operations = [node for node in group.nodes if node.kind != VIEW]
    return [operations[(len(operations) - 1) // 2]] if len(operations) > 1 else ()


def _warned(warning: str, group: _Group) -> Optional[Place]:
    """The user's line that a warning is about: the first with the operation that it names, as in "… encountered in remainder"."""
    operation = warning.rpartition(" ")[2] + "("
    named = [node for node in group.nodes if node.kind in (EACH, WHOLE) and operation in node.text]
    return next((node.place for node in (*named, *reversed(group.nodes)) if node.place is not None), None)


def _at(node: Node) -> str:
    """The user's line of an operation."""
    while node.place is None and node.kind == VIEW:
        node = node.operands[0]
    return "of an array" if node.place is None else told(node.place)


def _tell(error: Exception, group: _Group, text: _Text) -> None:
    """Adds to an error which of the user's lines it is about, and puts what arrays are for their names in the text."""
    message = str(error)
    words = {name: _told(text.readers[name], value) for name, value in text.inputs.items()}
    fields = [field for field, _ in getattr(error, "violations", ())]
    about = [name for name, value in text.inputs.items() if f"inputs.{name}" in fields or re.search(rf"\b{name}\b", message) or
             isinstance(value, Stored) and f'"{value.id}"' in message]
    message = re.sub(r"\bx[0-9]+\b", lambda found: words.get(found[0], found[0]), message)
    for name in about:
        message += f"\n  {words[name]} is read by what was {_at(text.readers[name])}"
        value = text.inputs[name]
        # An array that was freed before that line is refused there. A view of one is not, and may be what was read.
        if isinstance(error, NotFound) and isinstance(value, Stored) and value.freed and any(
                type(one) is Node and one.value is value for one in text.readers[name].operands):
            message += "\n  It was freed after that line was written and before its value was needed."
    if not about:
        message += "".join(f"\n  {line}" for line in list(dict.fromkeys(_at(node) for node in group.stored))[:4])
    if isinstance(error, Error) or len(error.args) <= 1:
        error.args = (message,)


def _told(reader: Node, value: Any) -> str:
    return next((leaf.told() for leaf in _leaves(reader) if leaf.value is value), "an array")


def _leaves(node: Node) -> Iterator[Node]:
    for operand in node.operands:
        if type(operand) is Node:
            if operand.kind <= SENT:
                yield operand
            else:
                yield from _leaves(operand)
