"""Calls in flight, as futures of the standard library."""

from __future__ import annotations

import functools
import os
import threading
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures._base import CANCELLED_AND_NOTIFIED, FINISHED, LOGGER, PENDING
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Sequence

from .calls import Call, Kernel, Plan
from .receipt import Receipt

if TYPE_CHECKING:
    from . import _core
    from .client import Client


# Seconds after which a wait wakes up: a signal that arrives just before its thread falls asleep, or on another thread,
# does not wake it, and its handler would wait too.
LOOK = 1.0

_OVER = (FINISHED, CANCELLED_AND_NOTIFIED)

# Guards the state of all calls' futures, for a few lines at a time, in which no lock is waited for but a waiter's own, and
# nothing is made that the garbage collector counts: it could run anything. To make and to end one of its own for each would be
# a good part of what a call in flight takes.
_lock = threading.RLock()


class _Told:
    """One thread's wait for one future, in the words of concurrent.futures' own waiters."""

    def __init__(self) -> None:
        self._over = threading.Lock()
        self._over.acquire()

    def wait(self, seconds: float) -> bool:
        return self._over.acquire(timeout=max(seconds, 0))

    def add_result(self, future: Future[Any]) -> None:
        self._over.release()

    add_exception = add_cancelled = add_result


class CallFuture(Future):  # type: ignore[type-arg]
    """A concurrent.futures.Future of one call.

    Beside the standard library's methods: `cancel()` also cancels a job that is queued or runs on the daemon; `running()`
    is True while the job runs on a device; `receipt` is its Receipt, once it has completed; `job_id` is the job's id, once
    the daemon has given it.

    One thread runs the callbacks of `add_done_callback` for all calls. Do not wait there for a call that has not ended:
    `result`, `exception` and `Executor.shutdown` raise RuntimeError, and the standard library's `wait` and `as_completed`
    hang.

    Example:
        >>> future = gpu.submit(gpu.svd, a)
        >>> future.result(timeout=60).s
    """

    # What the standard library's has, of the class, so that making a future touches little. The state is set last.
    _state: str = PENDING
    _result: Any = None
    _exception: Optional[BaseException] = None
    _callbacks: Optional[list[Callable[[CallFuture], object]]] = None
    _told: Optional[list[Any]] = None
    _own_condition: Optional[threading.Condition] = None

    _client: Client  # set by whoever makes one
    _call: Optional[Call] = None
    _flight: Optional[_core.InFlight] = None
    _came: Optional[_core.Result] = None
    # Of an Executor's: it is one of those that are with the daemon.
    _counted = False

    if TYPE_CHECKING:  # attributes there, as the standard library declares them
        _condition: threading.Condition
        _waiters: list[Any]
    else:
        __init__ = object.__init__  # instead of the standard library's

        @property
        def _condition(self):
            """This future's own, made when the standard library's `wait` or `as_completed` asks for it, which hold those of
            all that they wait for, other executors' too, in an order of theirs: of two of them each would hold what the
            other needs if ours were one. From then on the state changes under both, and this one is taken first."""
            return self._once("_own_condition", threading.Condition())

        @property
        def _waiters(self):
            """Where the standard library's `wait` and `as_completed` put theirs, holding `_condition`."""
            return self._once("_told", [])

    def _once(self, name: str, made: Any) -> Any:
        """Its attribute of that name: `made` from the first time on."""
        with _lock:
            return self.__dict__.setdefault(name, made)

    @property
    def receipt(self) -> Optional[Receipt]:
        """The Receipt, once the call has completed; else None. The exception of a failed job has its receipt.

        Example:
            >>> future.result()
            >>> future.receipt.kernel_ns
        """
        came = self._came
        return None if came is None else Receipt.of_result(came)

    @property
    def job_id(self) -> str:
        """The job's id, once the daemon has given it; else "".

        Example:
            >>> gpu.job(future.job_id)["state"]
        """
        flight, came = self._flight, self._came
        if flight is not None:
            return flight.job_id
        return came.job_id if came is not None else ""

    def cancel(self) -> bool:
        """Cancels the call. The future is cancelled at once; the job ends within its kernel's bound.

        Returns:
            False if the call was over already and not by an earlier cancel.

        Example:
            >>> future.cancel()
            True
        """
        if not self._landed(None, None, None, CANCELLED_AND_NOTIFIED) and self._state is FINISHED:
            return False
        flight = self._flight
        if flight is not None:
            flight.cancel()
        return True

    def cancelled(self) -> bool:
        """Whether the call was cancelled before its end.

        Example:
            >>> kept = [future for future in futures if not future.cancelled()]
        """
        return self._state is CANCELLED_AND_NOTIFIED

    def done(self) -> bool:
        """Whether it is over, also by `cancel`.

        Example:
            >>> sum(future.done() for future in futures)
        """
        return self._state in _OVER

    def running(self) -> bool:
        """Whether the job runs on a device.

        Example:
            >>> [future.job_id for future in futures if future.running()]
        """
        flight = self._flight  # once: its end may come meanwhile
        return flight is not None and not self.done() and flight.running

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the call and returns its result.

        Args:
            timeout: seconds, or None to wait until the end.

        Raises:
            concurrent.futures.TimeoutError: it did not end within `timeout` seconds; it goes on.
            concurrent.futures.CancelledError: `cancel` was called.
            RuntimeError: waiting would never end: in a callback of another call, or in a process that was forked.
            KeyboardInterrupt: Ctrl-C. The call is cancelled, as by every exception that a signal handler raises meanwhile.
                Interrupted in concurrent.futures.wait or as_completed, calls go on until `cancel` or the program's end.
            Exception: the call's own error.

        Example:
            >>> c = future.result(timeout=60)
        """
        if self._state is not FINISHED:
            self._end_within(timeout)
        error = self._exception
        if error is not None:
            try:
                raise error
            finally:
                del error, self  # of which the traceback would make a circle
        came = self._came
        if came is not None:
            self._client._core.remember(came)
        return self._result

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Waits as `result` does and returns the call's error, or None.

        Raises:
            concurrent.futures.TimeoutError, concurrent.futures.CancelledError, RuntimeError, KeyboardInterrupt: as
                `result`.

        Example:
            >>> failed = [future for future in futures if future.exception() is not None]
        """
        if self._state is not FINISHED:
            self._end_within(timeout)
        return self._exception

    def add_done_callback(self, fn: Callable[[CallFuture], object]) -> None:
        """Calls `fn(future)` when the call ends, on the thread of all callbacks; at once if it is over. Errors in `fn` are
        logged.

        Example:
            >>> future.add_done_callback(lambda future: print(future.job_id, "is over"))
        """
        added = [fn]
        with _lock:
            if self._state not in _OVER:
                if self._callbacks is None:
                    self._callbacks = added
                else:
                    self._callbacks.append(fn)
                return
        self._tell(added)

    def _invoke_callbacks(self) -> None:
        with _lock:
            callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            self._tell(callbacks)

    def _tell(self, callbacks: Iterable[Callable[[CallFuture], object]]) -> None:
        for callback in callbacks:
            try:
                callback(self)
            except Exception:
                LOGGER.exception("exception calling callback for %r", self)

    def _end_within(self, timeout: Optional[float]) -> None:
        self._wait(timeout)
        if self.cancelled():
            raise CancelledError()
        if not self.done():
            raise FutureTimeoutError()

    def _wait(self, timeout: Optional[float]) -> None:
        """Waits until it is over or time is up. Separate from taking the result: an exception raised here comes from a
        signal handler and cancels the call."""
        if self.done() or (timeout is not None and timeout <= 0):
            return
        self._client._core.check_may_wait()
        end = None if timeout is None else time.monotonic() + timeout
        told = _Told()
        try:
            with _lock:
                if self._state in _OVER:
                    return
                self._waiters.append(told)
            while not told.wait(LOOK if end is None else min(LOOK, end - time.monotonic())):
                if end is not None and time.monotonic() >= end:
                    with _lock:
                        self._waiters.remove(told)
                    return
        except BaseException:
            self.cancel()
            raise

    def _begin(self, plan: Plan, inputs: Sequence[Any], keywords: dict[str, Any]) -> None:
        """Gives a call to the daemon. What is wrong with its arguments becomes its end, as all that it raises."""
        client = self._client
        try:
            if not keywords:
                start = plan.starter[0] if plan.starter is not None else plan.short_start(client)
                flight = NotImplemented if start is None else start(self._landed, *inputs)
            if keywords or flight is NotImplemented:
                self._call = call = plan.prepare(client, inputs, keywords)
                flight = client._core.run_async(call.kernel, call.inputs, call.options, None, self._ended)
        except BaseException as error:
            self._ended(None, error)
            if not isinstance(error, Exception):
                raise
            return
        self._flight = flight
        # It was settled by another thread meanwhile.
        if self._came is not None:
            self._flight = None
        elif self._state is CANCELLED_AND_NOTIFIED:
            flight.cancel()

    def _landed(self, value: Any, came: Optional[_core.Result], error: Optional[BaseException],
                state: str = FINISHED) -> bool:
        """Its end, for who waits and for the callbacks. False: it is over already."""
        with _lock:
            own = self._own_condition
            first = own is None and self._settle(value, came, error, state)
        if own is not None:
            with own, _lock:
                first = self._settle(value, came, error, state)
        if first and self._callbacks is not None:
            self._invoke_callbacks()
        return first

    def _settle(self, value: Any, came: Optional[_core.Result], error: Optional[BaseException], state: str) -> bool:
        if self._state in _OVER:
            return False
        if came is not None:
            self._came, self._flight = came, None
        self._result, self._exception = value, error
        self._state = state
        if self._told is not None:
            for waiter in self._told:
                if state is CANCELLED_AND_NOTIFIED:
                    waiter.add_cancelled(self)
                elif error is None:
                    waiter.add_result(self)
                else:
                    waiter.add_exception(self)
        return True

    def _ended(self, came: Optional[_core.Result], error: Optional[BaseException]) -> None:
        call, self._call = self._call, None
        value = None
        try:
            if call is not None and call.end_progress is not None:
                call.end_progress()
            if call is not None and came is not None:
                # Even if the call was cancelled too late: the arrays that it left on the daemon are freed with it.
                value = call.finish(came)
        except BaseException as broken:  # not to be lost with this thread
            came, error = None, broken
        self._landed(value, came, error)


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()  # another thread of the parent's may have held it


os.register_at_fork(after_in_child=_renew_lock)


def resolve(client: Client, kernel: Any, inputs: Sequence[Any],
            keywords: dict[str, Any]) -> tuple[Plan, Sequence[Any], dict[str, Any]]:
    """The plan of what is to be called, and all its arguments.

    Raises:
        TypeError: it is no kernel: nothing runs Python on the daemon.
        KeyError: the daemon has no kernel of that name.
        ValueError: a kernel of another client.
    """
    if type(kernel) is Kernel:
        if kernel.client is not client:
            raise ValueError(f"{kernel!r} is of {kernel.client!r}, not of {client!r}: take {kernel.name!r}, or that "
                             "client")
        return kernel.plan, inputs, keywords
    if isinstance(kernel, str):
        return client._plan(kernel), inputs, keywords
    if isinstance(kernel, functools.partial):
        return resolve(client, kernel.func, (*kernel.args, *inputs), {**kernel.keywords, **keywords})
    what = getattr(kernel, "__name__", None) or repr(kernel)
    raise TypeError(f"{what} is a {type(kernel).__name__}, not a kernel: the daemon runs kernels of its catalogue, no "
                    "Python code. Pass a kernel (gpu.matmul), its name, or a functools.partial of one; for functions "
                    "of your own there is concurrent.futures.ThreadPoolExecutor")


def submit(client: Client, kernel: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> CallFuture:
    """Starts a call."""
    if type(kernel) is Kernel and kernel.client is client:
        plan = kernel.plan
    else:
        plan, inputs, keywords = resolve(client, kernel, inputs, keywords)
    future = CallFuture()
    future._client = client
    future._begin(plan, inputs, keywords)
    return future
