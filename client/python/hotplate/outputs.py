"""Futures that can be arguments of other calls, and those that are one of a call's results."""

from __future__ import annotations

import weakref
from concurrent.futures import Future
from typing import Any, Callable, Optional, Sequence

from .errors import InvalidType


class Awaits(Future):  # type: ignore[type-arg]
    """A future that can be an argument of another call."""

    _client: Any  # hotplate.Client

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise InvalidType(f"a {type(self).__name__} is a result that is yet to come, and no array: wait for it, .result()")

    def __reduce__(self) -> Any:
        raise InvalidType(f"{self!r} is a result that is yet to come, and cannot be pickled: pass it as an argument by itself, or "
                          "its .result()")

    def _reference(self) -> Any:
        """A reference by which the daemon knows the result; None if there is none."""
        return None

    def _names(self) -> Sequence[str]:
        """The names of several results; empty if there is one alone, or if they are not known yet."""
        return ()

    def _check_for(self, client: Any) -> None:
        """Raises TypeError if a call of this client cannot take it."""


class Output(Awaits):
    """One of several results of a call: `parts.output("s")`, and `gpu.svd(a).s` in the block of a graph.

    Example:
        >>> s = gpu.submit("svd", a).output("s")
        >>> s.result()
    """

    def __init__(self, of: Any, name: str) -> None:  # of a CallFuture
        super().__init__()
        self._of = of
        self._client = of._client
        self._name = name
        own = weakref.ref(self)  # a call goes as soon as nobody holds it or an output of it

        def settle(_: Any) -> None:
            if (output := own()) is not None:
                output._settle()

        Future.add_done_callback(of, settle)

    def _settle(self) -> None:
        """For the standard library's wait and as_completed. The methods ask the call."""
        if self._of.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
        elif (error := self.exception(0)) is not None:
            self.set_exception(error)
        else:
            self.set_result(None)

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the call and returns this one of its results.

        Raises:
            TypeError: it has no such result.
            Exception: as of the call.

        Example:
            >>> s.result()
        """
        return self._of._one_of(self._of.result(timeout), self._name)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """The call's error, or None.

        Example:
            >>> s.exception()
        """
        error: Optional[BaseException] = self._of.exception(timeout)
        if error is None:
            try:
                self._of._one_of(Future.result(self._of, 0), self._name)
            except InvalidType as none:
                return none
        return error

    def done(self) -> bool:
        """Whether the call is over.

        Example:
            >>> s.done()
        """
        return bool(self._of.done())

    def running(self) -> bool:
        """Whether the call runs.

        Example:
            >>> s.running()
        """
        return bool(self._of.running())

    def cancelled(self) -> bool:
        """Whether the call was cancelled.

        Example:
            >>> s.cancelled()
        """
        return bool(self._of.cancelled())

    def cancel(self) -> bool:
        """False: it is the call that can be cancelled."""
        return False

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        """As of the call."""
        self._of.add_done_callback(lambda _: fn(self))

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self._of.__array__()

    def __repr__(self) -> str:
        return f"<{self._name} of {self._of!r}>"

    def _reference(self) -> Any:
        return self._of._reference_of(self._name)

    def _check_for(self, client: Any) -> None:
        self._of._check_for(client)
