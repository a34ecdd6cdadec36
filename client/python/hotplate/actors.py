"""Objects of classes of your own that live in a worker, and their methods."""

from __future__ import annotations

import collections
import copy
import threading
from typing import TYPE_CHECKING, Any, Deque, Mapping, Optional, Sequence

import numpy as np

from .calls import Call
from .connection import Connection
from .errors import InvalidType
from .functions import Function
from .refs import Held, Ref

if TYPE_CHECKING:
    from .futures import CallFuture

# A call with more bytes of arguments may send them before its job is made (the client library's kInlineInputBytes).
_LARGE = 1 << 19


class Actor(Held):
    """An object of a class of your own that lives in a worker of its own; made by `gpu.actor`.

    Each method returns a future, and the calls run one after the other, in the order in which you made them. Between calls
    it takes no lane or place of a device. As an argument of a function it arrives as the object itself. The object goes
    with the last reference here, with `free`, at the end of a `with` block, and with the session.

    Example:
        >>> class Model:
        ...     def __init__(self, path):
        ...         self.weights = load(path)
        ...     def predict(self, x):
        ...         return self.weights @ x
        >>> with gpu.actor(Model, "weights.npy") as model:
        ...     futures = [model.predict(x) for x in many]
        ...     results = [future.result() for future in futures]
    """

    def __init__(self, maker: Function, ref: Ref) -> None:
        self._maker = maker
        self._ref = ref
        self._order = Order()

    @property
    def _held(self) -> Ref:
        return self._ref

    def __getattr__(self, name: str) -> ActorMethod:
        if name.startswith("_"):
            raise AttributeError(f"an actor has no {name}: it has the methods of its class that begin with no underscore")
        return ActorMethod(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> CallFuture:
        return ActorMethod(self, "__call__")(*args, **kwargs)

    def free(self) -> None:
        """Lets the worker let go of the object, after the calls that are under way. A second `free` does nothing.

        Example:
            >>> model.free()
        """
        if not self._held._freed:
            self._held.free()

    def __enter__(self) -> Actor:
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._held._client.closed:  # with which it went
            self.free()

    def __copy__(self) -> Actor:
        return self

    def __deepcopy__(self, memo: Any) -> Actor:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it is of this process alone; a function takes it as an argument")

    def __repr__(self) -> str:
        return f"<hotplate.Actor of a {self._held.type} in worker {self._held.worker} of {self._held._client.server}>"


class ActorMethod(Function):
    """A method of an actor: what `actor.predict` is. Calling it starts a call and returns its future.

    Example:
        >>> future = model.predict(x)
        >>> y = await gpu.aio.call(model.predict, x)
    """

    def __init__(self, actor: Actor, name: str) -> None:
        maker = actor._maker
        self.__dict__.update(maker.__dict__)
        self.__name__ = name
        self.__qualname__ = f"{maker._name}.{name}"
        self.__doc__ = getattr(getattr(maker._function, name, None), "__doc__", None)
        self._actor = actor
        self._said = {**maker._said, "method": name}
        self._name = self.__qualname__
        self._label = self._name.encode()[:64].decode("utf-8", "ignore")

    def __call__(self, *args: Any, **kwargs: Any) -> CallFuture:
        future: CallFuture = self._client.submit(self, *args, **kwargs)
        return future

    def prepare(self, client: Connection, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Call:
        """As of a Function."""
        call = super().prepare(client, (self._actor, *inputs), keywords)
        call.order = self._actor._order
        return call

    def __repr__(self) -> str:
        return f"<method {self.__name__} of {self._actor!r}>"


class Order:
    """Begins the calls of one actor in their order: one whose arguments are large, and so are sent before it is there, has to
    end before the next begins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Guarded by _lock.
        self._waiting: Deque[tuple[CallFuture, bool]] = collections.deque()
        self._large: Optional[CallFuture] = None
        self._starting = False

    def begin(self, future: CallFuture, call: Call) -> None:
        """Begins it now, or when those before it are there."""
        large = sum(one.nbytes for one in call.inputs.values() if isinstance(one, np.ndarray)) > _LARGE
        with self._lock:
            self._waiting.append((future, large))
        self._start()

    def _start(self) -> None:
        while True:
            with self._lock:
                if self._starting or self._large is not None or not self._waiting:
                    return
                self._starting = True
                future, large = self._waiting.popleft()
                if large:
                    self._large = future
            if large:
                future.add_done_callback(self._passed)
            try:
                future._fly()
            except BaseException as error:
                future._ended(None, error)
                if not isinstance(error, Exception):
                    raise
            finally:
                with self._lock:
                    self._starting = False

    def _passed(self, future: Any) -> None:
        with self._lock:
            self._large = None
        self._start()


def maker_of(client: Connection, kind: Any) -> tuple[Function, Function]:
    """A class as a function, and as one that leaves the object that it makes in a worker of its own.

    Raises:
        TypeError: it is no class and no function.
    """
    maker = kind if isinstance(kind, Function) else Function(client, kind)
    if maker._client is not client:
        raise InvalidType(f"{kind!r} is not of {client!r}: make it there, by its class")
    making = copy.copy(maker)
    making._said = {**maker._said, "returns": "ref"}
    making._alone = True
    return maker, making
