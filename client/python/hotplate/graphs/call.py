"""Calls in the block of a graph."""

from __future__ import annotations

import copy
from typing import Any, Optional, Sequence

import numpy as np

from .. import _core
from ..arguments import near, shown, words
from ..arrays import Array
from ..connection import graph_of
from ..errors import Error, InvalidCall, InvalidType, JobCancelled, JobFailed
from ..futures import CallFuture
from ..graph import Stored
from ..outputs import Awaits, Output
from .noted import Block, NotedCall, Pending

_LONGEST_NAME = 64


class GraphCall(CallFuture):
    """A call of a graph: noted in the block, and a concurrent.futures.Future of its result after it.

    Later calls of the block take it as an argument. Of a kernel with several results they take one: `parts.s`, or
    `u, s, vt = gpu.svd(a)`. `name` is the node's.

    Example:
        >>> with gpu.graph("fit") as g:
        ...     gram = gpu.matmul(a.T, a).named("gram")
        ...     values = gpu.svd(gram).s
        >>> values.result()
    """

    def __init__(self, client: Any, block: Block, noted: NotedCall) -> None:
        super().__init__(client)
        self._block = block
        self._noted: Optional[NotedCall] = noted  # while the block is open
        self._outputs: Sequence[str] = noted.call.plan.outputs if not noted.is_function else ()
        self._only = noted.call.only
        self.name = noted.name
        # From the end of the block on:
        self._takes: Sequence[GraphCall] = ()  # and comes after; their results are not freed before this one has them
        self._here = False  # its results stay on the daemon until somebody asks for them
        self._alone = False  # they are for the calls that take them
        self._request_id = ""  # by which the daemon knows the call
        self._was_sent = False
        self._failed_job = ""  # the job for which it was refused, and so has none
        self._cause: Optional[tuple[type[JobFailed], str]] = None  # what those have for an error that take its result

    # In the block.

    def named(self, name: str) -> GraphCall:
        """Names the node, and returns this.

        Args:
            name: up to 64 letters, digits, _ and -.

        Raises:
            ValueError: another name, one that is taken, or the block has ended.

        Example:
            >>> gram = gpu.matmul(a.T, a).named("gram")
        """
        noted = self._in_block("named()")
        if not isinstance(name, str) or not is_name(name):
            raise InvalidCall(f"[{self.name}] a node's name is {shown(name)}; it can have up to {_LONGEST_NAME} letters, digits, _ "
                              "and -")
        if self._block.names.get(name, noted) is not noted:
            raise InvalidCall(f"[{self.name}] there is a node {name!r} already")
        del self._block.names[self.name]
        self._block.names[name] = noted
        self.name = noted.name = name
        return self

    def after(self, *others: Awaits) -> GraphCall:
        """Has this call begin when others have completed, of which it takes nothing: a function that reads the file that another
        has written. Returns this.

        Raises:
            ValueError: one of them was noted after this one, which would be a circle as soon as it takes something of it;
                or is of no call of this block.

        Example:
            >>> report = gpu.submit(plot).after(fit)
        """
        noted = self._in_block("after()")
        for other in others:
            call = other._of if isinstance(other, Output) else other
            if not isinstance(call, GraphCall) or call._block is not self._block or call._noted is None:
                raise InvalidCall(f"[{self.name}] comes after {shown(other)}, which is no call of this block")
            if call._noted.place >= noted.place:
                raise InvalidCall(f"[{self.name}] cannot come after [{call.name}], which was noted "
                                  f"{'later' if call is not self else 'with it'}: calls follow those that were noted before them")
            noted.after.append(call._noted)
        return self

    def _in_block(self, what: str) -> NotedCall:
        if self._noted is None or self._block.state != "open":
            raise InvalidCall(f"{what} of [{self.name}] is for the block of graph {self._block.graph}, which has ended")
        return self._noted

    def output(self, name: str) -> Output:
        """One of several results.

        Raises:
            TypeError: it has no such result.

        Example:
            >>> gpu.norm(parts.output("s"))
        """
        if name not in self._outputs or self._only not in (None, name):
            has = words(self._outputs) if self._outputs else "one result, which is its array"
            raise InvalidType(f"[{self.name}] has no result {shown(name)}; it has {has}{near(name, self._outputs)}"
                              if self._outputs else f"[{self.name}] is a function, which has {has}")
        return Output(self, name)

    def __getattr__(self, name: str) -> Output:
        if name.startswith("_") or name not in self.__dict__.get("_outputs", ()):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return self.output(name)

    def __iter__(self) -> Any:
        if len(self._outputs) < 2 or self._only is not None:
            raise TypeError(f"[{self.name}] has one result: there is nothing to go through")
        return iter([self.output(name) for name in self._outputs])

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise InvalidType(f"[{self.name}] is a call of graph {self._block.graph}, and no array: other calls of its block take it, "
                          "and after the block it has a .result()")

    def __repr__(self) -> str:
        state = {"open": "noted", "left": "never sent"}.get(self._block.state) or ("over" if super().done() else "sent")
        return f"<[{self.name}] of graph {self._block.graph}, {state}>"

    # As an argument.

    def _names(self) -> Sequence[str]:
        return self._outputs if len(self._outputs) > 1 and self._only is None else ()

    def _check_for(self, client: Any) -> None:
        if self._block.state == "left":
            raise InvalidCall(self._never_sent())
        graph = graph_of(client)
        if self._block.state == "open" and (graph is None or graph._block is not self._block):
            raise InvalidCall(f"[{self.name}] is of the block of graph {self._block.graph}, which has not ended: take it in that "
                              "block, by calls of its client, or its .result() after it")
        super()._check_for(client)

    def _reference(self) -> Any:
        return self._reference_of(self._only or (self._outputs[0] if self._outputs else "a0"))

    def _reference_of(self, output: str) -> Any:
        if self._noted is not None:
            return Pending(self._noted, output)
        return super()._reference_of(output)

    # After the block.

    @property
    def _job_or_failed(self) -> str:
        """The job by which those behind it name it."""
        return self.job_id or self._failed_job

    def _never_sent(self) -> str:
        ended = "was cancelled" if self._was_sent else "was never sent"
        return f"[{self.name}] {ended}: the block of graph {self._block.graph} {self._block.why}"

    def _leave(self) -> None:
        """Ends it, since its block was left: nobody is to wait for it."""
        if self._settled.acquire(blocking=False) and self.set_running_or_notify_cancel():
            self.set_exception(InvalidCall(self._never_sent()))

    def _one_of(self, value: Any, name: str) -> Any:
        return getattr(value, name) if isinstance(value, tuple) else value

    def _check_sent(self, what: str) -> None:
        if self._block.state == "open":
            raise InvalidCall(f"{what} of [{self.name}] in the block of graph {self._block.graph}: nothing runs before its end; ask "
                              "after it")
        if self._block.state == "left":
            raise InvalidCall(self._never_sent())

    def _wait(self, timeout: Optional[float]) -> None:
        self._check_sent("result()")
        super()._wait(timeout)

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the call and returns its result, as a future of gpu.submit does.

        Raises:
            ValueError: the block has not ended, or nothing of it was sent; or the result is for the calls that take it
                alone, since no variable held it at the end of the block.
            Exception: as of hotplate.futures.CallFuture.

        Example:
            >>> largest.result()
        """
        if self._alone:
            raise InvalidCall(f"[{self.name}] has no result here: at the end of the block no variable held it, and so it was for "
                              "the calls that take it alone")
        value = super().result(timeout)
        return _fetched(value) if self._here else value

    def cancel(self) -> bool:
        """Cancels the call and those that take its result.

        Raises:
            ValueError: the block has not ended: leave it by an exception to send nothing.

        Example:
            >>> gram.cancel()
            True
        """
        self._check_sent("cancel()")
        return super().cancel()

    def _ended(self, came: Optional[_core.Result], error: Optional[BaseException]) -> None:
        if error is not None:
            error = self._told(error)
        if self._alone and came is not None:
            self._call = None  # whose results went to others
            for name in came.outputs():
                if type(value := came.take(name)) is tuple:
                    Stored(self._client, value[0], owned=True)  # and so freed
        takes, self._takes = self._takes, ()
        super()._ended(came, error)
        del takes  # now it has what it takes

    def _lacks(self) -> Optional[tuple[type[JobFailed], str]]:
        """Why this call cannot run: the kind of error, and its text, which names the first node that did not complete."""
        return next((cause for maker in self._takes if (cause := maker._cause_for_others()) is not None), None)

    def _cause_for_others(self) -> Optional[tuple[type[JobFailed], str]]:
        if not CallFuture.done(self) or self._cause is not None:
            return self._cause
        if self.cancelled():
            return JobCancelled, f"it depends on [{self.name}], which was cancelled"
        error = CallFuture.exception(self, 0)
        return None if error is None else (JobFailed, f"it depends on [{self.name}], which failed: {said(error)}")

    def _told(self, error: BaseException) -> BaseException:
        """The error with the node's name. A call that is refused since one that it takes has failed already fails for that."""
        lacks = self._lacks()
        if lacks is not None and isinstance(error, Error):
            self._cause = lacks
            kind, text = lacks
            error = error if isinstance(error, kind) else kind()
            error.args = (f"[{self.name}] {text}",)
            return error
        text = said(error)
        self._cause = ((JobCancelled, f"it depends on [{self.name}], which was cancelled") if isinstance(error, JobCancelled) else
                       (JobFailed, f"it depends on [{self.name}], which failed: {text}"))
        if isinstance(error, Error):
            noted = self._noted
            if noted is not None and _is_refusal(error):
                noted.tell(error)
            else:
                error.args = (f"[{self.name}] {text}",)
        return error

    def _refusal(self) -> Optional[Error]:
        """Why the daemon has not taken this call, once it is over; None if it has, or if one that this call takes had failed."""
        error = CallFuture.exception(self, 0) if CallFuture.done(self) and not self.cancelled() else None
        return error if isinstance(error, Error) and _is_refusal(error) else None


def copied(error: Error, text: Optional[str] = None) -> Error:
    """An error to raise once more, with another text: each time that it is raised its own would get longer."""
    other = copy.copy(error)
    other.args = (said(error) if text is None else text,)
    other.__cause__ = error.__cause__
    return other.with_traceback(error.__traceback__)


def said(error: BaseException) -> str:
    """An error's text without the traceback of a worker."""
    return Error.__str__(error) if isinstance(error, Error) else str(error)


def _is_refusal(error: Error) -> bool:
    """Whether the daemon has not taken the call, for another reason than those that it takes."""
    of_others = any(field.startswith(("inputs.", "after")) for field, _ in error.violations)
    return not (isinstance(error, JobFailed) or error.job_id or of_others)


def is_name(name: str) -> bool:
    """Whether a node can have it."""
    return 0 < len(name) <= _LONGEST_NAME and name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()


def _fetched(value: Any) -> Any:
    """A result whose arrays are on the daemon, here."""
    if isinstance(value, Array):
        here = value.numpy()
        return here if here.ndim else here[()]
    if isinstance(value, np.ndarray) and not value.ndim:
        return value[()]
    if hasattr(value, "_fields"):
        return value._replace(**{name: _fetched(getattr(value, name)) for name in value._fields})
    return value
