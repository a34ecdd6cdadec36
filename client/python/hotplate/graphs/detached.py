"""Calls of a graph whose jobs outlive the client."""

from __future__ import annotations

import threading
import time
from concurrent.futures import wait
from typing import Any, Callable, Optional

from .. import _core
from ..errors import ConnectionFailed, NotFound
from ..futures import LOOK, CallFuture
from .call import GraphCall

_OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


class DetachedCall(GraphCall):
    """A call of a graph whose jobs outlive the client: it asks the daemon about its job. The standard library's `wait` and
    `as_completed` do not hear of its end."""

    _id = ""  # the job's
    _over = False  # the job, as the daemon has said; its result may not have come here
    _has_callbacks = False
    _is_heard = False  # a thread waits

    @property
    def job_id(self) -> str:
        """The job's id.

        Example:
            >>> gpu.job(gram.job_id)
        """
        return self._id

    def _reference_of(self, output: str) -> Any:
        return super()._reference_of(output) if self._noted is not None else _core.OutputRef("", output, self._id)

    def done(self) -> bool:
        """Whether the job is over. Asks the daemon.

        Example:
            >>> if gram.done(): print(gram.result())
        """
        if super().done() or not self._id or self._over:
            return super().done() or self._over
        try:
            self._over = self._client._core.job(self._id)["state"] in _OVER
        except NotFound:
            self._over = True  # long ago
        return self._over

    def running(self) -> bool:
        """Whether the job runs on a device. Asks the daemon.

        Example:
            >>> gram.running()
        """
        return bool(self._id) and not CallFuture.done(self) and self._client._core.job(self._id)["state"] == "RUNNING"

    def cancel(self) -> bool:
        """Cancels the job and those that take its result.

        Returns:
            False if it was over already, or never sent since one that it takes had failed.

        Example:
            >>> gram.cancel()
            True
        """
        self._check_sent("cancel()")
        if not self._id or self.done():
            return False
        return self._client._core.cancel(self._id)["state"] not in ("COMPLETED", "FAILED", "TIMEOUT")

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        """As of any future; a thread waits for the job."""
        super().add_done_callback(fn)
        self._has_callbacks = True
        self._hear()

    def _hear(self) -> None:
        """Starts the thread that waits, once there are a job and callbacks."""
        if self._has_callbacks and self._id and not self._is_heard and not CallFuture.done(self):
            self._is_heard = True
            threading.Thread(target=self._wait_for_callbacks, daemon=True).start()

    def _wait_for_callbacks(self) -> None:
        try:
            self._wait(None)
        except Exception as error:  # the daemon is gone: callbacks come all the same
            self._ended(None, error)

    def _wait(self, timeout: Optional[float]) -> None:
        self._check_sent("result()")
        if CallFuture.done(self) or not self._id or timeout is not None and timeout <= 0 and not self.done():
            return
        self._client._core.check_may_wait()
        if self._over:
            timeout = None  # the result is fetched
        stop = _core.Cancellation()
        alarm = None if timeout is None else threading.Timer(timeout, stop.cancel)
        end = None if timeout is None else time.monotonic() + timeout
        if alarm is not None:
            alarm.start()
        try:
            self._ended(self._client._core.wait(self._id, stop), None)
        except ConnectionFailed:
            raise
        except Exception as error:
            if stop.cancelled:
                return
            self._ended(None, error)
        finally:
            if alarm is not None:
                alarm.cancel()
        while not CallFuture.done(self):  # another thread has it, and is about to say so
            wait([self], LOOK if end is None else max(0, min(LOOK, end - time.monotonic())))
