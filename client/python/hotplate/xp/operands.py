"""The arguments of the standard's functions as arrays of a daemon, and the daemon that a function runs on."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any, Iterator, Optional, Sequence

from .. import connection
from ..arrays import Array
from ..awaited import futures_in
from ..client import Client, connect
from ..graph import Axis, Node
from ..operations import axis_of, each, integer, made, node_of

# The client of `gpu.xp`, while one of its functions runs.
_bound: contextvars.ContextVar[Optional[Client]] = contextvars.ContextVar("hotplate_xp_client", default=None)
# The client that `connected` opened, which nobody else may hold.
_opened: list[Client] = []


@contextlib.contextmanager
def bound(client: Client) -> Iterator[None]:
    """In this block arrays are made on this client."""
    token = _bound.set(client)
    try:
        yield
    finally:
        _bound.reset(token)


def connected() -> Any:
    """The client that arrays are made on: that of `gpu.xp`, else the one connected last, else a new one."""
    own = _bound.get()
    if own is not None:
        return own
    newest = connection.newest()
    if newest is None:
        newest = connect()
        _opened[:] = [newest]
    return newest


def first_array(values: Sequence[Any]) -> Optional[Array]:
    """The first array of a daemon among arguments, also within lists and tuples."""
    for value in values:
        found = value if isinstance(value, Array) else first_array(value) if isinstance(value, (list, tuple)) else None
        if found is not None:
            return found
    return None


def client_of(*values: Any) -> Any:
    """The client of the first array of a daemon among arguments, or of the first future; without one, as `connected`."""
    found = first_array(values)
    if found is None:
        found = next(iter(futures_in(values, {})), None)
    return connected() if found is None else found._client


def array(value: Any, client: Any = None) -> Array:
    """An argument as an array of a daemon; with a client, of that client's.

    Raises:
        TypeError: it is no array, or is on another daemon.
    """
    if isinstance(value, Array):
        if client is not None and value._client is not client:
            node_of(client, value)  # which raises
        return value
    client = client_of(value) if client is None else client
    return Array._of(node_of(client, value))


def arrays(*values: Any) -> list[Array]:
    """Arguments as arrays of one daemon, that of the first that is there already.

    Raises:
        TypeError: one is no array, or is on another daemon.
    """
    client = client_of(*values)
    return [array(value, client) for value in values]


def node(value: Any) -> Node:
    """The node that an array shows now."""
    one = array(value)
    return node_of(one._client, one)


def applied(text: str, values: Sequence[Any], name: str) -> Array:
    """An operation element by element, with {} for each value; Python's numbers take the dtype of the arrays.

    Raises:
        TypeError: it does not take these dtypes.
        ValueError: the shapes do not broadcast.
    """
    found = first_array(values)
    if found is None:
        found = array(values[0])
        values = (found, *values[1:])
    return Array._of(each(found._client, text, values, name))


def indices(shape: Sequence[int]) -> list[Any]:
    """The index along each axis of a shape, as operands. Along an axis of one element it is 0, so that the operation broadcasts."""
    return [Axis(axis) if length > 1 else 0 for axis, length in enumerate(shape)]


def read(base: Any, text: str, operands: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """The elements of an array at computed places: the text is the index, in which {1} and so on are the operands."""
    source = node(base)
    if 0 in shape:
        return constant(source.client, 0, source.dtype, shape, source.device)
    return Array._of(made(source.client, "{0}[" + text + "]", (source, *operands), source.dtype, shape, 1))


def constant(client: Any, value: Any, dtype: str, shape: tuple[int, ...], device: str = "") -> Array:
    """An array whose elements are all one number of its dtype."""
    return Array._of(made(client, dtype + "({})", [value], dtype, shape, device=device))


def filled(like: Array, value: Any, dtype: str, shape: tuple[int, ...]) -> Array:
    """As `constant`, on the daemon and the device of another array."""
    return constant(like._client, value, dtype, shape, like._now().device)


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """One axis or several, counted from the first; None are all.

    Raises:
        IndexError: there is no such axis.
        TypeError: one is no integer.
    """
    if axes is None:
        return tuple(range(rank))
    return tuple(axis_of(axis, rank) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,)))


def sizes_of(shape: Any) -> tuple[int, ...]:
    """A shape, of an integer or of several.

    Raises:
        TypeError: it is none.
    """
    return tuple(integer("shape", size) for size in shape) if isinstance(shape, (tuple, list)) else (integer("shape", shape),)
