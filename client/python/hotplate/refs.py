"""Objects that stay in the workers of functions."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Optional

from . import _core
from .connection import Connection
from .errors import InvalidCall, InvalidType, NotFound

if TYPE_CHECKING:
    from .environments import Environment
    from .receipt import Receipt


# One that may be taken again: a garbage collection under it may end a call.
_lock = threading.RLock()


class Held:
    """Stands for an object in a worker: as an argument of a function it arrives as that object."""

    @property
    def _held(self) -> Ref:
        raise NotImplementedError


class Ref(Held):
    """An object that a function left in its worker: a model, a compiled function, an array of CuPy's.

    Pass it to other functions, anywhere in their arguments: they run in that worker and get the object itself. The object
    goes with the last reference to its Ref here, with `free`, and with the session. Its worker stays meanwhile; if it has
    ended all the same, calls raise hotplate.RefLost.

    Attributes:
        type: the object's class, as "module.Name".
        worker: the process id of its worker, on the daemon's node.
        receipt: the Receipt of the call that left it there.

    Example:
        >>> model = gpu.function(train)(data)
        >>> model
        <hotplate.Ref of a sklearn.pipeline.Pipeline in worker 4711 of local>
        >>> gpu.function(lambda model, x: model.predict(x))(model, x)
    """

    def __init__(self, client: Connection, id: str, environment: Environment, receipt: Optional[Receipt] = None) -> None:
        self._client = client
        self._id = id
        self._environment = environment
        self.receipt = receipt
        self.type = ""
        self.worker = 0
        self._freed = False
        self._uses = 0  # calls that have it and have not ended; guarded by _lock, as _freed is
        self._ref = _core.ArrayRef(id)
        client._core.own(id)
        self._owned = True

    @property
    def _held(self) -> Ref:
        return self

    def _is(self, kind: Any, worker: Any) -> Ref:
        self.type, self.worker = str(kind)[:200], int(worker)
        return self

    def _check_for(self, name: str, client: Connection, chosen: Optional[Environment]) -> None:
        """That a call of this client, and in this environment if one was chosen, can have it."""
        if self._freed:
            raise InvalidCall(f"{name}: {self!r} is among the arguments, and was freed")
        its = self._client
        if its.closed:
            raise InvalidType(f"{name}: {self!r} is among the arguments, and its client is closed: it went with it")
        if its is not client:
            if not client.same_daemon(its):
                raise InvalidType(f"{name}: {self!r} is among the arguments, and is on another daemon than {client!r}")
            if its.session != client.session:
                raise InvalidType(f"{name}: {self!r} is among the arguments, and is of session {its.session}; this call is of "
                                  f"session {client.session}")
        here = self._environment
        if chosen is not None and (chosen.interpreter, chosen.name) != (here.interpreter, here.name):
            raise InvalidCall(f"{name}: {self!r} is among the arguments, in a worker of {here.who}; the function has "
                              f"{chosen.who}")

    def _used(self) -> None:
        with _lock:
            self._uses += 1

    def _left(self) -> None:
        """A call that had it has ended."""
        with _lock:
            self._uses -= 1
            last = self._freed and self._uses == 0
        if last and self._owned:
            self._owned = False
            self._client._core.release_later(self._id)

    def free(self) -> None:
        """Lets the worker let go of the object now, or after the calls that have it.

        Raises:
            KeyError: it was freed already.

        Example:
            >>> model.free()
        """
        with _lock:
            again, self._freed = self._freed, True
            now = self._uses == 0
        if again:
            raise NotFound(f"{self!r} was freed already")
        if now:
            self._keep()
            self._client._core.free(self._id)

    def _keep(self) -> None:
        if self._owned:
            self._owned = False
            self._client._core.disown(self._id)

    def __copy__(self) -> Ref:
        return self  # the object is there once, and goes with the last reference

    def __deepcopy__(self, memo: Any) -> Ref:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it is of this process alone; a function takes it as an argument")

    def __del__(self) -> None:
        if getattr(self, "_owned", False):
            self._client._core.release_later(self._id)

    def __repr__(self) -> str:
        return f"<hotplate.Ref of a {self.type} in worker {self.worker} of {self._client.server}>"
