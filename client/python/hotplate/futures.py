"""Calls in flight, as futures of the standard library."""

from __future__ import annotations

import threading
import time
from concurrent.futures import wait
from typing import Any, Optional, Sequence

from . import _core
from .awaited import by_reference, check_each_is_one, futures_in, is_gone, when_done
from .calls import Call, Plan
from .errors import InvalidType, NotFound
from .kernels import Kernels
from .outputs import Awaits, Output
from .receipt import Receipt

# Seconds after which a wait wakes up: a signal that arrives just before its thread falls asleep, or on another thread,
# does not wake it, and its handler would wait too.
LOOK = 1.0


class CallFuture(Awaits):
    """A concurrent.futures.Future of one call.

    It can be an argument of another call, before it is done: the daemon takes the result from the one to the other, and
    nothing waits here. A call whose argument fails raises JobFailed with the reason; of a kernel with several results
    `output` names one.

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

    def __init__(self, client: Kernels) -> None:
        super().__init__()
        self._client = client
        self._call: Optional[Call] = None
        self._flight: Optional[_core.InFlight] = None
        self._came: Optional[_core.Result] = None
        # The arguments of `_begin`, while the call may begin again.
        self._again: Optional[tuple[Plan, Sequence[Any], dict[str, Any]]] = None
        self._begun_again = False
        # It takes results of other calls that the daemon passes on.
        self._takes_references = False
        # Taken by the thread that settles it: at the call's end, or before that when it is cancelled.
        self._settled = threading.Lock()
        # True while an Executor counts this future among those at the daemon.
        self._counted = False

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

    def output(self, name: str) -> Output:
        """One of several results, as an argument of another call.

        Example:
            >>> parts = gpu.submit(gpu.svd, a)
            >>> gpu.norm(parts.output("s"))
        """
        return Output(self, name)

    def _reference(self) -> Any:
        call = self._call
        return None if call is None else self._reference_of(call.only or _sole_output(call))

    def _names(self) -> Sequence[str]:
        call = self._call
        if call is not None:
            return () if call.only or len(_outputs_of(call)) == 1 else _outputs_of(call)
        done_well = self.done() and not self.cancelled() and super().exception(0) is None
        return getattr(super().result(0), "_fields", ()) if done_well else ()

    def _check_for(self, client: Any) -> None:
        if self._client is not client and not self.done() and not client.same_daemon(self._client):
            raise InvalidType(f"a result that is yet to come is on {self._client.server}, which is another daemon than this "
                              "call's: wait for it, .result()")

    def _reference_of(self, output: str) -> Any:
        flight, call = self._flight, self._call
        if flight is None or call is None or not output or not flight.request_id or output not in _outputs_of(call):
            return None
        return _core.OutputRef(flight.request_id, output)

    def _one_of(self, value: Any, name: str) -> Any:
        """One of the call's results.

        Raises:
            TypeError: it has no such result.
        """
        has = getattr(value, "_fields", ())
        if name not in has:
            raise InvalidType(f"the call has no result {name!r}" + (f"; it has {', '.join(has)}" if has else ""))
        return getattr(value, name)

    def cancel(self) -> bool:
        """Cancels the call. The future is cancelled at once; the job ends within its kernel's bound.

        Returns:
            False if the call was over already and not by an earlier cancel.

        Example:
            >>> future.cancel()
            True
        """
        if not super().cancel():
            return False
        if self._settled.acquire(blocking=False):
            self.set_running_or_notify_cancel()
        flight = self._flight
        if flight is not None:
            flight.cancel()
        return True

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
        self._wait(timeout)
        value = super().result(0)
        if self._came is not None:
            self._client._core.remember(self._came)
        return value

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Waits as `result` does and returns the call's error, or None.

        Raises:
            concurrent.futures.TimeoutError, concurrent.futures.CancelledError, RuntimeError, KeyboardInterrupt: as
                `result`.

        Example:
            >>> failed = [future for future in futures if future.exception() is not None]
        """
        self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout: Optional[float]) -> None:
        """Waits until it is over or time is up. Separate from taking the result: an exception raised here comes from a
        signal handler and cancels the call."""
        if self.done() or (timeout is not None and timeout <= 0):
            return
        self._client._core.check_may_wait()
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while not self.done():
                left = LOOK if end is None else min(LOOK, end - time.monotonic())
                if left <= 0:
                    return
                wait([self], left)
        except BaseException:
            self.cancel()
            raise

    def _begin(self, plan: Plan, inputs: Sequence[Any], keywords: dict[str, Any]) -> None:
        """Gives a call to the daemon. What is wrong with its arguments becomes its end, as all that it raises."""
        self._again = None if self._begun_again else (plan, inputs, keywords)
        try:
            if futures := futures_in(inputs, keywords):
                for future in futures:
                    future._check_for(self._client)
                if plan.takes_one:
                    check_each_is_one(futures)
                references = None
                # Where a kernel's result lands has to fit before the call begins.
                if not self._begun_again and not (plan.takes_one and keywords.get("out") is not None):
                    references = by_reference(inputs, keywords, plan.rules if plan.takes_one else keywords)
                if references is None and not all(future.done() for future in futures):
                    self._again = None
                    when_done(futures, lambda: self._begin(plan, inputs, keywords))
                    return
                inputs, keywords = references or by_reference(inputs, keywords, keywords)
                self._takes_references = references is not None
            self._call = call = plan.prepare(self._client, inputs, keywords)
            if call.order is None:
                self._fly()
            else:
                call.order.begin(self, call)
        except BaseException as error:
            self._ended(None, error)
            if not isinstance(error, Exception):
                raise

    def _begins_again(self, call: Call) -> bool:
        """Sends a call once more that has not run: a function to a daemon that does not have it, as one that was started
        anew, and what took a result that has come here instead."""
        again, self._again = self._again, None
        if again is None or call.order is not None or self._settled.locked():
            return False
        self._begun_again = True
        # This thread is the library's, which must not wait.
        threading.Thread(target=self._begin, args=again, daemon=True).start()
        return True

    def _fly(self) -> None:
        call = self._call
        if call is None or self._settled.locked():  # it was cancelled while it waited for others
            self._ended(None, None)
            return
        flight = self._client._core.run_async(call.kernel, call.inputs, call.options, None, self._ended)
        self._flight = flight
        if self._settled.locked():  # by another thread meanwhile: it is cancelled or over
            flight.cancel()

    def _ended(self, came: Optional[_core.Result], error: Optional[BaseException]) -> None:
        call, self._call = self._call, None
        value = None
        try:
            if call is not None and call.end_progress is not None:
                call.end_progress()
            if call is not None and error is not None:
                lacks_function = call.plan.forget(error) and isinstance(error, NotFound)
                lacks_result = self._takes_references and is_gone(error)
                if (lacks_function or lacks_result) and self._begins_again(call):
                    return
            if call is not None and came is not None:
                # Even if the call was cancelled too late: the arrays that it left on the daemon are freed with it.
                value = call.finish(came)
        except BaseException as broken:  # not to be lost with this thread
            came, error = None, broken
        self._again = None  # what it was called with is not held by its result
        if not self._settled.acquire(blocking=False) or not self.set_running_or_notify_cancel():
            return
        if came is not None:
            self._came, self._flight = came, None
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(value)


def _outputs_of(call: Call) -> Sequence[str]:
    """The outputs of a kernel's call; empty for other calls, whose results are known when they have come."""
    return call.plan.outputs if isinstance(call.plan, Plan) else ()


def _sole_output(call: Call) -> str:
    outputs = _outputs_of(call)
    return outputs[0] if len(outputs) == 1 else ""


def submit(client: Kernels, plan: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> CallFuture:
    """Starts a call of a plan."""
    future = CallFuture(client)
    future._begin(plan, inputs, keywords)
    return future
