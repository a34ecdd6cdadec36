"""Calls that nobody waits for yet, as futures of the standard library."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, Optional, Sequence

from .calls import Call, Kernel, Plan
from .receipt import Receipt

if TYPE_CHECKING:
    from . import _core
    from .client import Client


# Which of several cancels of one future is the first.
_FIRST_CANCEL = threading.Lock()


class CallFuture(Future):  # type: ignore[type-arg]
    """A concurrent.futures.Future of one call, with what the standard library's has, and

    `cancel()`: also of a call that is queued on the daemon or runs there: its job is cancelled. False only when it is over.
    `running()`: True while the job runs on a device.

    `receipt`: the Receipt, once it has ended well; `gpu.last_receipt` has it after `result()` too.
    `job_id`: the job's id, once the daemon has told it.

    Example:
        >>> future = gpu.submit(gpu.svd, a)
        >>> future.result(timeout=60).s
    """

    # Of the class, so that making a future touches little.
    _call: Optional[Call] = None
    _flight: Optional[_core.InFlight] = None
    _came: Optional[_core.Result] = None
    _cancel_told = False
    # Of an Executor's: it is one of those that are with the daemon.
    _counted = False

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    @property
    def receipt(self) -> Optional[Receipt]:
        """The Receipt, once the call has ended well; of one that failed its exception may have it."""
        return None if self._came is None else Receipt.of_result(self._came)

    @property
    def job_id(self) -> str:
        """The job's id, once the daemon has told it; else ""."""
        flight = self._flight
        if flight is not None:
            return flight.job_id
        return self._came.job_id if self._came is not None else ""

    def cancel(self) -> bool:
        """Cancels the call, wherever it is. The future is cancelled at once; the job ends within its kernel's bound.

        Returns:
            False where it is over already, and no cancel came before.
        """
        if not super().cancel():
            return False
        with _FIRST_CANCEL:
            first, self._cancel_told = not self._cancel_told, True
        if first:
            # Whoever waits for several (wait, as_completed) counts it from here on.
            self.set_running_or_notify_cancel()
        flight = self._flight
        if flight is not None:
            flight.cancel()
        return True

    def running(self) -> bool:
        """Whether the job runs on a device."""
        return not self.done() and self._flight is not None and self._flight.running

    def result(self, timeout: Optional[float] = None) -> Any:
        """What the call returns; waits for it.

        Raises:
            concurrent.futures.TimeoutError: it did not end within `timeout` seconds; it goes on.
            concurrent.futures.CancelledError: `cancel` was called.
            Exception: what the call would raise.
        """
        value = super().result(timeout)
        if self._came is not None:
            self._client._core.remember(self._came)
        return value

    def _start(self, call: Call) -> None:
        """Gives the call to the daemon; what is wrong with that becomes its end."""
        self._call = call
        try:
            flight = self._client._core.run_async(call.kernel, call.inputs, call.options, None, self._ended)
        except BaseException as error:
            self._ended(None, error)
            if not isinstance(error, Exception):
                raise
            return
        self._flight = flight
        # By another thread, in between.
        if self._came is not None:
            self._flight = None
        elif self.cancelled():
            flight.cancel()

    def _ended(self, result: Optional[_core.Result], error: Optional[BaseException]) -> None:
        call, self._call = self._call, None
        try:
            if call is None or result is None:
                if call is not None and call.end_progress is not None:
                    call.end_progress()
                self.set_exception(error)
                return
            # Also of a call that was cancelled too late: what it left on the daemon is freed with it.
            value = call.finish(result)
            self._came, self._flight = result, None
            self.set_result(value)
        except InvalidStateError:
            self._came = None  # cancelled
        except BaseException as broken:  # not to be lost with this thread
            if not self.done():
                self.set_exception(broken)


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
            raise ValueError(f"{kernel!r} is of {kernel.client!r}, not of {client!r}: take {kernel.name!r} or the other client")
        return kernel.plan, inputs, keywords
    if isinstance(kernel, str):
        return client._plan(kernel), inputs, keywords
    if isinstance(kernel, functools.partial):
        return resolve(client, kernel.func, (*kernel.args, *inputs), {**kernel.keywords, **keywords})
    what = getattr(kernel, "__name__", None) or repr(kernel)
    raise TypeError(f"{what} is a {type(kernel).__name__}, not a kernel: the daemon runs kernels of its catalogue, no Python "
                    "code. Pass a kernel (gpu.matmul), its name, or a functools.partial of one; for functions of your own "
                    "there is concurrent.futures.ThreadPoolExecutor")


def submit(client: Client, kernel: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> CallFuture:
    """Starts a call. What is wrong with its arguments becomes the future's exception, as everything that the call raises."""
    future = CallFuture(client)
    call = prepared(future, kernel, inputs, keywords)
    if call is not None:
        future._start(call)
    return future


def prepared(future: CallFuture, kernel: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> Optional[Call]:
    """The call that is to be started, or None where its arguments were its end."""
    client = future._client
    plan, inputs, keywords = resolve(client, kernel, inputs, keywords)
    try:
        return plan.prepare(client, inputs, keywords)
    except Exception as error:
        future.set_exception(error)
        return None
