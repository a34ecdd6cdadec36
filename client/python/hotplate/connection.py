"""A connection to a daemon: what arrays, calls and streams of a client hold on to."""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from typing import Any, Optional, TypeVar

from . import _core
from .errors import NotAllowed
from .exceptions import note_guest

Self = TypeVar("Self", bound="Connection")


class Connection:
    """A connection to a daemon; every hotplate.Client is one. A context manager that closes it.

    Example:
        >>> with hp.connect() as gpu:
        ...     print(gpu.server, gpu.info()["state"])
    """

    def __init__(self, core: _core.Client) -> None:
        self._core = core
        self._server = core.server_name  # also of one that is closed
        self._guest = core.guest  # "" for its owner's connection
        if self._guest:
            note_guest(self._guest)
        self._generation = ""  # see same_daemon
        self._computing = threading.RLock()  # while an expression of its arrays runs: see sending.compute
        self._ids: list[str] = []  # see _device_ids
        self._ids_of = 0  # how often the client had moved then
        self._number = next(_numbers)
        self._where = ("", "", "")  # server, endpoint and directory, as `connect` found the daemon
        self._graphs: dict[int, Any] = {}  # whose blocks are open, by thread: see graphs/graph.py
        _open.add(self)

    @property
    def server(self) -> str:
        """The daemon's name.

        Example:
            >>> gpu.server
            'local'
        """
        return self._server

    @property
    def session(self) -> str:
        """This client's session: 32 hexadecimal digits for `connect(session=…)`.

        Raises:
            RuntimeError: this client is closed.

        Example:
            >>> other = hp.connect(session=gpu.session)   # sees the same arrays by name
        """
        return self._core.session

    @property
    def closed(self) -> bool:
        """Whether `close` was called.

        Example:
            >>> if gpu.closed:
            ...     gpu = hp.connect()
        """
        return self._core.closed

    def close(self) -> None:
        """Closes the connection: cancels pending calls of `submit` and `aio`, and frees arrays without a name or a lease.

        A call that another thread waits for completes. A second `close` does nothing.

        Example:
            >>> gpu.close()   # a `with` block does it by itself
        """
        self._core.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __copy__(self: Self) -> Self:
        return self  # it is a connection

    def __deepcopy__(self: Self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} is a connection of this process and cannot be pickled: connect where it is needed "
                        "(hotplate.connect(session=…) sees the same arrays by name)")

    def __repr__(self) -> str:
        return "<hotplate.Client, closed>" if self.closed else f"<hotplate.Client of {self.server}>"

    def info(self) -> dict[str, Any]:
        """Versions, devices, limits and allocation of the daemon, as a dict. Sizes are in bytes, durations in seconds, times
        in seconds of the Unix clock.

        Raises:
            ConnectionError: the daemon does not answer.

        Example:
            >>> gpu.info()["versions"]["hotplate"]
        """
        return self._core.info()

    def _device_ids(self) -> list[str]:
        """The ids of the daemon's devices, which stay as they are. Asks each start of the daemon once."""
        moves = self._core.moves
        if not self._ids or self._ids_of != moves:
            self._ids, self._ids_of = [str(device["id"]) for device in self.info()["devices"]], moves
        return self._ids

    def _refuse_pickles(self, what: str) -> None:
        """Raises NotAllowed on a guest's connection: the daemon is somebody else's, and a pickle can run any code here."""
        if self._guest:
            raise NotAllowed(f"you are guest {self._guest!r} of {self._server}, and {what} is a pickle: it could run code of the "
                             "daemon's owner here, so nothing is unpickled. Guests have kernels, expressions and arrays")

    def same_daemon(self, other: Connection) -> bool:
        """Whether both clients are connected to the same start of a daemon; names do not tell. Asks each once, and again if they
        seem not to be: one may have gone over to another start.

        Raises:
            ConnectionError: a daemon does not answer.
            RuntimeError: a client is closed.

        Example:
            >>> gpu.same_daemon(hp.connect())
            True
        """
        for client in (self, other):
            client._generation = client._generation or str(client.info()["generation"])
        if self._generation != other._generation:
            for client in (self, other):
                client._generation = str(client.info()["generation"])
        return self._generation == other._generation


def graph_of(client: Connection) -> Any:
    """The hotplate.graphs.Graph whose block is open in this thread, so that calls are noted; else None."""
    return client._graphs.get(threading.get_ident())


# At exit their threads must not come back to an interpreter that is gone.
_open: weakref.WeakSet[Connection] = weakref.WeakSet()


_numbers = itertools.count()


def newest() -> Optional[Connection]:
    """The client that was connected last, of those that are open."""
    clients = sorted((client for client in list(_open) if not client.closed), key=lambda client: client._number)
    return clients[-1] if clients else None


def _close_all() -> None:
    for client in list(_open):
        client.close()


atexit.register(_close_all)
