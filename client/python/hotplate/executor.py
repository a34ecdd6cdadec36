"""An executor of the standard library that runs kernels and functions."""

from __future__ import annotations

import collections
import concurrent.futures
import threading
from typing import Any, Deque, Iterator, Optional, Sequence

from .calls import Plan
from .client import Client, connect
from .futures import CallFuture
from .kernels import resolve, sent_once


class Executor(concurrent.futures.Executor):
    """A concurrent.futures.Executor on a daemon: `submit`, `map` and `shutdown` as in the standard library.

    It takes functions, which run in workers on the daemon's node (see Client.function; a result may be anything that can
    be pickled), and kernels (gpu.matmul), their names, and a functools.partial of one. It starts no
    threads: at most `max_in_flight` calls wait on the daemon, the others here. A future's callback must not wait for
    another call: see hotplate.futures.CallFuture.

    A `with` block waits for all calls at its end. Ctrl-C and SystemExit in the block cancel them. During the wait at the
    end, so does anything that a signal handler raises.

    Args:
        client: the client to use. Default: hotplate.connect().
        max_in_flight: the number of calls on the daemon at the same time, at least 1.

    Example:
        >>> with hp.Executor(gpu) as executor:
        ...     products = list(executor.map(gpu.matmul, many_a, many_b))
        ...     doubled = executor.submit(functools.partial(gpu.selu, alpha=2.0), x)
    """

    def __init__(self, client: Optional[Client] = None, max_in_flight: int = 256) -> None:
        if not isinstance(max_in_flight, int) or isinstance(max_in_flight, bool) or max_in_flight < 1:
            raise ValueError(f"max_in_flight is {max_in_flight!r}; it must be an integer of at least 1")
        if client is None:
            client = connect()
        if not isinstance(client, Client):
            raise TypeError(f"client is {client!r}; it must be a hotplate.Client, or None. How many calls are with the daemon "
                            "at a time is max_in_flight=")
        self._client = client
        self._room = max_in_flight
        self._lock = threading.Lock()
        # Guarded by _lock.
        self._waiting: Deque[tuple[CallFuture, Plan, Sequence[Any], dict[str, Any]]] = collections.deque()
        self._open: set[CallFuture] = set()
        self._in_flight = 0
        self._starting = False
        self._shutdown = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> CallFuture:
        """Schedules a call.

        Args:
            fn: a function, a kernel, its name, or a functools.partial of one.
            args, kwargs: its arguments. Arrays must not change before the future is done.

        Returns:
            A future of the call's result. Errors of the call become its exception.

        Raises:
            TypeError: `fn` is something else.
            RuntimeError: after `shutdown`.

        Example:
            >>> future = executor.submit(gpu.matmul, a, b)
        """
        plan, inputs, keywords = resolve(self._client, fn, args, kwargs, returns="object")
        future = CallFuture(self._client)
        with self._lock:
            if self._shutdown:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._open.add(future)
            now = not self._waiting and self._in_flight < self._room
            if now:
                self._in_flight += 1
                future._counted = True
            else:
                self._waiting.append((future, plan, inputs, keywords))
        future.add_done_callback(self._ended)
        if now:
            future._begin(plan, inputs, keywords)
        else:
            self._start_more()  # there may be room again
        return future

    def map(self, fn: Any, *iterables: Any, timeout: Optional[float] = None, chunksize: int = 1) -> Iterator[Any]:
        """As the standard library's; a function of yours is sent once.

        Example:
            >>> products = list(executor.map(gpu.matmul, many_a, many_b))
        """
        fn = sent_once(self._client, fn, returns="object")
        return super().map(fn, *iterables, timeout=timeout, chunksize=chunksize)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more calls.

        Args:
            wait: return when all calls have ended. If a signal handler raises during the wait, they are cancelled.
            cancel_futures: cancel calls that do not run yet, here or in the daemon's queue.

        Raises:
            RuntimeError: called in a callback, where waiting for calls would never end.

        Example:
            >>> executor.shutdown(cancel_futures=True)   # a `with` block waits by itself
        """
        with self._lock:
            self._shutdown = True
            open_futures = list(self._open)
        if cancel_futures:
            for future in open_futures:
                if not future.running():
                    future.cancel()
        if not wait or all(future.done() for future in open_futures):
            return
        self._client._core.check_may_wait()  # which cancels nothing
        try:
            for future in open_futures:  # concurrent.futures.wait() would hold the locks of all of them
                future._wait(None)
        except BaseException:
            self._cancel_all()
            raise

    def __exit__(self, kind: Optional[type[BaseException]], *rest: Any) -> Optional[bool]:
        if kind is not None and not issubclass(kind, Exception):
            self._cancel_all()
        return super().__exit__(kind, *rest)  # it waits

    def _cancel_all(self) -> None:
        with self._lock:
            self._shutdown = True
            # First those that wait here, so that none of them is started in place of a cancelled one.
            open_futures = [waiting[0] for waiting in self._waiting]
            open_futures += self._open.difference(open_futures)
        for future in open_futures:
            future.cancel()

    def _start_more(self) -> None:
        # One thread at a time, and without the lock: a call that ends at once comes back here.
        with self._lock:
            if self._starting:
                return
            self._starting = True
        try:
            while self._start_next():
                pass
        except BaseException:  # Ctrl-C: ends this one, not those that wait behind it
            with self._lock:
                self._starting = False
            self._start_more()
            raise

    def _start_next(self) -> bool:
        with self._lock:
            if not self._waiting or self._in_flight >= self._room:
                self._starting = False
                return False
            future, plan, inputs, keywords = self._waiting.popleft()
            if future.done():  # cancelled
                return True
            self._in_flight += 1
            future._counted = True
        future._begin(plan, inputs, keywords)
        return True

    def _ended(self, future: concurrent.futures.Future[Any]) -> None:
        assert isinstance(future, CallFuture)
        with self._lock:
            self._open.discard(future)
            if future._counted:
                self._in_flight -= 1
            if not self._waiting:
                return
        self._start_more()
