"""Makes the node of an operation from its arguments. The rules of expressions say which dtype and shape it has."""

from __future__ import annotations

import cmath
import operator
from typing import Any, Optional, Sequence

import numpy as np

from . import _core
from .arguments import is_no_array, shown, without_mask
from .awaited import check_each_is_one, futures_in
from .connection import Connection
from .errors import InvalidCall, InvalidType
from .graph import EACH, WHOLE, Node, sent, stored
from .noting import note
from .sending import literal

# An ndarray of up to so many bytes is sent with the expression. A larger one is uploaded when the operation is noted.
_MOST_SENT = 1 << 16
# Python's numbers that an expression takes as its scalars, and what they are there. Complex ones are written into the text.
SCALARS = {bool: "bool", int: "int64", float: "float64"}
_NAMES = ("x", "y", "z", *(f"x{number}" for number in range(3, 64)))
# The dtypes that an array on the daemon can have, and the least and greatest integer of those of integers.
DTYPES = frozenset(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                    "float64", "complex64", "complex128"))
RANGES = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in DTYPES if name.lstrip("u").startswith("int")}
_AxisError = getattr(np, "exceptions", np).AxisError
# The result of comparing x with a Python integer that is below the range of x's dtype, and with one that is above it.
_COMPARISONS = {"equal": (False, False), "not_equal": (True, True), "less": (False, True), "less_equal": (False, True),
                "greater": (True, False), "greater_equal": (True, False)}
# Operations that convert integers to floats.
_INEXACT = frozenset(("divide", "arctan2", "hypot", "copysign", "logaddexp"))
# The dtype and shape of results that were asked for before: by the operation, and what its operands are.
_known: dict[Any, tuple[str, tuple[int, ...]]] = {}


class Lazy:
    """Whatever shows a node: every hotplate.Array."""

    _client: Any
    _base: Any
    _node: Any
    _dtype: str
    _shape: tuple[int, ...]

    def _now(self) -> Node:
        raise NotImplementedError


def node_of(client: Connection, value: Any, what: str = "operand") -> Node:
    """The node of an array, or of anything that numpy.asarray takes: its value now, whatever becomes of it.

    Raises:
        TypeError: it is neither, or is on another daemon.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, Lazy):
        check_daemon(client, value, what)
        node: Node = value._node if value._base is None else value._now()
        return node
    if futures_in((value,), {}):
        check_each_is_one([value])
        return node_of(client, value.result(), what)
    plain = without_mask(what, value)
    if is_no_array(value, plain):
        raise InvalidType(f"the {what} is {shown(value)}, a {type(value).__name__}, which is no array")
    if plain.dtype.name not in DTYPES:
        raise InvalidType(f"the {what} is of dtype {plain.dtype}; the arrays of a daemon are of numbers")
    if plain.nbytes <= _MOST_SENT:
        return sent(client, np.array(plain, plain.dtype.newbyteorder("="), order="C"))
    there = client._core.put(np.asarray(plain, plain.dtype.newbyteorder("="), order="C"))
    return stored(client, there["id"], plain.dtype.name, plain.shape, owned=True)


def check_daemon(client: Connection, array: Any, what: str) -> None:
    """Checks that an array is on a client's daemon.

    Raises:
        TypeError: it is on another.
    """
    if array._client is not client and not client.same_daemon(array._client):
        raise InvalidType(f"the {what} {told(array)} is on another daemon: its elements are A.numpy()")


def told(array: Any) -> str:
    """An array in the words of an error: nothing is computed for it."""
    name = f" {array.name!r}" if getattr(array, "name", "") else ""
    return f"<hotplate.Array{name} {array._dtype} {list(array._shape)} on {array._client.server}>"


def each(client: Connection, text: str, values: Sequence[Any], name: str = "") -> Node:
    """Notes an operation element by element. `text` has {} for each value; `name` is NumPy's, for errors.

    Raises:
        TypeError: the operation does not take these dtypes, or a value is no array.
        ValueError: the shapes do not broadcast.
        OverflowError: a number is outside of the array's dtype.
    """
    operands: list[Any] = []
    whole = False
    for value in values:
        kind = type(value)
        if kind is int:
            whole = True
        elif kind not in SCALARS and kind is not complex:
            own = isinstance(value, Lazy) and value._base is None and value._client is client
            value = value._node if own else node_of(client, value)
        operands.append(value)
    if whole:
        outside = _whole_numbers(operands, name)
        if outside is not None:
            other, true = outside
            text, operands = ("logical_or(equal({},{}),True)" if true else "logical_and(equal({},{}),False)"), [other, other]
    dtype, shape = signature(text, operands)
    return note(client, EACH, dtype, shape, text, tuple(operands))


def signature(text: str, operands: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
    """The dtype and shape that an operation gives on nodes and Python's numbers.

    Raises:
        TypeError, ValueError, IndexError: the operation does not take these.
    """
    key: list[Any] = [text]
    for operand in operands:
        kind = type(operand)
        if kind is Node:
            key.append(operand.dtype)
            key.append(operand.shape)
        elif is_scalar(operand) or kind is complex and cmath.isfinite(operand):
            key.append(kind)
        else:
            key.append(literal(operand))  # whose dtype depends on its value
    known_by = tuple(key)
    known = _known.get(known_by)
    if known is None:
        known = _checked(text, operands)
        if len(_known) >= 4096:
            _known.clear()
        _known[known_by] = known
    return known


def is_scalar(value: Any) -> bool:
    """Whether an expression takes it as a scalar by name. Complex numbers and integers of more than 64 bits are literals."""
    kind = type(value)
    return kind in SCALARS and not (kind is int and not -2**63 <= value < 2**63)


def _checked(text: str, operands: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
    """The dtype and shape of an operation, from the expression language's own rules."""
    nodes = [operand for operand in operands if type(operand) is Node]
    # With names of the daemon's arrays an error says more; it costs nothing where there is none.
    given = [node.name for node in nodes]
    own = all(name.isidentifier() and not name.startswith("_") for name in given) and len(set(given)) == len(given)
    try:
        return _check(text, operands, given if own else _NAMES)
    except NameError:
        return _check(text, operands, _NAMES)  # a name that is also a function's


def _check(text: str, operands: Sequence[Any], names: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    inputs: list[tuple[str, str, tuple[int, ...]]] = []
    scalars: list[tuple[str, str]] = []
    words = []
    for operand in operands:
        if type(operand) is Node:
            name = names[len(inputs)]
            inputs.append((name, operand.dtype, operand.shape))
        elif is_scalar(operand):
            name = f"s{len(scalars)}"
            scalars.append((name, SCALARS[type(operand)]))
        else:
            name = literal(operand)
        words.append(name)
    (_, dtype, shape), = _core.check_expression(text.format(*words), inputs, scalars)
    return dtype, tuple(shape)


def _whole_numbers(operands: list[Any], name: str) -> Optional[tuple[Node, bool]]:
    """Applies NumPy 2's rules for Python's integers beside arrays of integers: they must be in the range of the dtype. Comparisons
    take all integers. Changes `operands`.

    Returns:
        For a comparison that is decided without the elements: an operand, which has the shape, and the result. Else None.

    Raises:
        OverflowError: an integer is outside of the range.
        ValueError: a negative power.
    """
    dtypes = [operand.dtype for operand in (operands[1:] if name == "where" else operands) if type(operand) is Node]
    dtype = np.result_type(*dtypes).name if len(set(dtypes)) > 1 else dtypes[0] if dtypes else "int64"
    low, high = RANGES.get("int64" if dtype == "bool" else dtype, (-2**63, 2**63 - 1))
    for place, operand in enumerate(operands):
        if type(operand) is not int:
            continue
        if name.startswith("logical_") and (-2**63 <= operand < 2**63 or low <= operand <= high):
            operands[place] = operand != 0
        elif dtype not in RANGES and dtype != "bool" or name in _INEXACT:
            if not -2**63 <= operand < 2**63:
                operands[place] = float(operand)
        elif low <= operand <= high:
            if name == "power" and place == 1 and operand < 0:
                raise InvalidCall("power: Integers to negative integer powers are not allowed.")
        elif name in _COMPARISONS:
            below, above = _COMPARISONS[name]
            return operands[1 - place], above if (operand < low) == (place == 0) else below
        else:
            check_range(operand, dtype, name or "this operation")
    return None


def check_range(value: int, dtype: str, what: str) -> None:
    """Checks that a dtype can hold a Python integer.

    Raises:
        OverflowError: it cannot.
    """
    low, high = RANGES.get("int64" if dtype == "bool" else dtype, (value, value))
    if not low <= value <= high:
        raise OverflowError(f"{what}: Python integer {shown(value)} out of bounds for {dtype}")


def number_of(value: Any, dtype: str, what: str) -> Any:
    """A number as an element of an array, by NumPy 2's rules for assignment.

    Raises:
        OverflowError: an integer that the dtype cannot hold.
        TypeError, ValueError: it is no number.
    """
    if dtype != "bool" and (type(value) is int or isinstance(value, np.integer)):
        check_range(int(value), dtype, what)
    one = np.empty((), dtype)
    one[...] = value
    return one.item()


def reduced(client: Connection, operation: str, value: Any, options: str) -> Node:
    """Notes a reduction; `options` are as the text has them: ", axis=1".

    Raises:
        ValueError, IndexError: an axis that there is not, or no elements where there must be some.
        TypeError: the operation does not take this dtype.
    """
    node = node_of(client, value)
    text = operation + "({}" + options + ")"
    dtype, shape = signature(text, [node])
    return note(client, WHOLE, dtype, shape, text, (node,), space=node.shape)


def made(client: Connection, text: str, operands: Sequence[Any], dtype: str, shape: tuple[int, ...], bases: int = 0,
         device: str = "") -> Node:
    """Notes an array of a given shape. The text says its element at each place; the first `bases` operands are read at other
    places than that."""
    return note(client, WHOLE, dtype, shape, f"broadcast_to({text},{shape})", tuple(operands), bases, device=device)


def gathered(client: Connection, base: Node, indices: Sequence[Any], shape: tuple[int, ...]) -> Node:
    """Notes the elements of `base` at computed indices, each a node of the result's shape, an Axis or an int."""
    text = "{}[" + ",".join(["{}"] * len(indices)) + "]"
    return note(client, EACH, base.dtype, shape, text, (base, *indices), 1)


def converted(client: Connection, value: Any, dtype: str) -> Node:
    """Notes a conversion, as astype does it."""
    return each(client, dtype + "({})", [value])


def check_conversion(node: Node, dtype: str) -> None:
    """Checks that elements can be converted, which is done where they are used.

    Raises:
        TypeError: complex numbers to real ones.
    """
    if node.dtype != dtype:
        signature(dtype + "({})", [node])


def integer(what: str, value: Any) -> int:
    """An integer argument.

    Raises:
        TypeError: it is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidType(f"{what} is {shown(value)}; it must be an integer") from None


def axis_of(axis: Any, rank: int) -> int:
    """The axis of an array with so many, where negative ones count from the end.

    Raises:
        TypeError: it is no integer.
        numpy.AxisError: there is no such axis.
    """
    place = integer("axis", axis)
    if not -rank <= place < rank:
        raise _AxisError(place, rank)
    return place % rank


def dtype_name(dtype: Any) -> str:
    """The daemon's name of a dtype.

    Raises:
        TypeError: the daemon has no such dtype.
    """
    name = np.dtype(dtype).name
    if name not in DTYPES:
        raise InvalidType(f"dtype is {shown(dtype)}; the arrays of a daemon are of numbers")
    return name

