"""The calls of a client for asyncio."""

from __future__ import annotations

import asyncio
import collections
import weakref
from typing import TYPE_CHECKING, Any, AsyncIterator, Coroutine, Deque, Optional

from . import _core
from .arrays import Array, send
from .calls import Call, Plan
from .kernels import Kernels, OwnDocs, resolve
from .telemetry import Sample, Watch

if TYPE_CHECKING:
    import inspect

    from ._kernels import AioKernels
    from .arguments import Seconds
else:
    AioKernels = object  # whose methods the daemon names


class Aio(AioKernels):
    """A client's calls as coroutines: `await gpu.aio.matmul(a, b)`. Many may be in flight, none has its own thread.

    Cancelling a task (also by asyncio.wait_for or a TaskGroup) cancels its job. Arrays must not change before their call
    has ended. The loop never waits for the daemon: a kernel that was not used before is looked up on another thread, so
    that an unknown name is a KeyError of the await.

    Example:
        >>> products = await asyncio.gather(*(gpu.aio.matmul(a, b) for b in many))
    """

    def __init__(self, client: Kernels) -> None:
        self._client = client

    async def run(self, kernel: Any, /, *inputs: Any, **keywords: Any) -> Any:
        """Runs a kernel, as `Client.run` does.

        Args:
            kernel: its name, a method of the client (gpu.matmul), a functools.partial of one, or a function of your own.

        Raises:
            asyncio.CancelledError: the task was cancelled, and so is the job.
            Exception: as `Client.run`, or what the function raised.

        Example:
            >>> y = await gpu.aio.run("selu", x, alpha=1.67)
        """
        client = self._client
        loop = asyncio.get_running_loop()
        if isinstance(kernel, str) and kernel not in client._plans:
            await loop.run_in_executor(None, client._plan, kernel)  # it asks the daemon
        plan, arguments, keywords = resolve(client, kernel, inputs, keywords)
        waits = any(isinstance(one, Array) and one._waits() for one in (*arguments, *keywords.values()))
        if type(plan) is Plan and keywords.get("out") is None and not waits:
            call = plan.prepare(client, arguments, keywords)
        else:  # it may ask the daemon whether that fits, send the function, or compute an input
            call = await loop.run_in_executor(None, plan.prepare, client, arguments, keywords)
        ended = _Ended(_inbox(loop), loop.create_future(), call)
        try:
            flight = client._core.run_async(call.kernel, call.inputs, call.options, None, ended)
            value = await ended.waiter
        except asyncio.CancelledError:
            flight.cancel()
            raise
        finally:
            if call.end_progress is not None:
                call.end_progress()
        if ended.came is not None:
            client._core.remember(ended.came)
        return value

    async def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls a function of your own in a worker, as `Client.function` says; every keyword is the function's.

        Raises:
            asyncio.CancelledError: the task was cancelled; the function is interrupted.
            Exception: what the function raised.

        Example:
            >>> await gpu.aio.call(simulate, seed=3)
        """
        from .actors import ActorMethod

        if isinstance(function, ActorMethod):  # whose calls have an order
            return await asyncio.wrap_future(function(*args, **kwargs))
        return await self.run(function, *args, **kwargs)

    async def actor(self, kind: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Makes an object in a worker of its own, as `Client.actor` does; `await gpu.aio.call(actor.method, x)` calls it.

        Raises:
            Exception: what the class raised.

        Example:
            >>> model = await gpu.aio.actor(Model, "weights.npy")
            >>> await gpu.aio.call(model.predict, x)
        """
        from .actors import Actor, maker_of

        maker, making = maker_of(self._client, kind)
        return Actor(maker, await self.run(making, *args, **kwargs))

    async def array(self, data: Any, name: str = "", lease: Any = None, replace: bool = False, dtype: Any = None,
                    progress: Any = None, device: Optional[str] = None) -> Array:
        """Sends an array to the daemon, where it stays, as `Client.array` does.

        Raises:
            asyncio.CancelledError: the task was cancelled and the sent elements are freed. A complete array with a name or
                a lease stays.
            Exception: as `Client.array`.

        Example:
            >>> A = await gpu.aio.array(a, name="A")
        """
        cancellation = _core.Cancellation()
        loop = asyncio.get_running_loop()
        # The loop's own few threads: an upload is work for one of them.
        sending = loop.run_in_executor(
            None, lambda: send(self._client, data, name, lease, replace, dtype, progress, device, cancellation))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            cancellation.cancel()
            sending.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody waits for the error
            raise

    async def telemetry(self, interval: Seconds = 1.0) -> AsyncIterator[Sample]:
        """Samples of all devices, one every `interval` seconds (0.1 to 60), until you leave the loop.

        Raises:
            ValueError: `interval` is out of range.
            ConnectionError: the daemon is gone.

        Example:
            >>> async for sample in gpu.aio.telemetry(0.5):
            ...     print(sample.devices[0].utilisation)
        """
        loop = asyncio.get_running_loop()
        news = asyncio.Event()

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(news.set)
            except RuntimeError:
                pass  # the loop is closed

        watch = Watch(self._client, interval, tell)
        try:
            while True:
                news.clear()
                sample = watch.take()
                if sample is not None:
                    yield sample
                elif watch.over():
                    return
                else:
                    await news.wait()
        finally:
            watch.cancel()

    if not TYPE_CHECKING:  # see Client

        def __getattr__(self, name):
            # The call itself asks the daemon whether it exists: this is the loop's thread.
            if name.startswith("_") or hasattr(type(self._client), name):
                raise AttributeError(f"gpu.aio has run, call, actor, array, telemetry and the daemon's kernels, but no {name}")
            return AioKernel(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._client._names()})


class AioKernel:
    """A kernel as a coroutine function, such as `gpu.aio.matmul`.

    Example:
        >>> c = await gpu.aio.matmul(a, b)
    """

    __doc__: Any = OwnDocs(__doc__)

    def __init__(self, aio: Aio, name: str) -> None:
        self._aio = aio
        self.name = self.__name__ = self.__qualname__ = name

    def __call__(self, *inputs: Any, **keywords: Any) -> Coroutine[Any, Any, Any]:
        return self._aio.run(self.name, *inputs, **keywords)

    # These two ask the daemon if the kernel was not used before.

    @property
    def __signature__(self) -> inspect.Signature:
        return self._aio._client._plan(self.name).signature()

    def docs(self) -> str:
        """The text of help(), as for `gpu.matmul`.

        Example:
            >>> print(gpu.aio.matmul.docs())
        """
        return self._aio._client._plan(self.name).docs()

    def __repr__(self) -> str:
        return f"<coroutine of the kernel {self.name}>"


class _Ended:
    """One call's end: on a thread of the package first, and then on the loop's."""

    __slots__ = ("inbox", "waiter", "call", "came", "error")

    def __init__(self, inbox: _Inbox, waiter: asyncio.Future[Any], call: Call) -> None:
        self.inbox = inbox
        self.waiter = waiter
        self.call = call
        self.came: Optional[_core.Result] = None
        self.error: Optional[BaseException] = None

    def __call__(self, came: Optional[_core.Result], error: Optional[BaseException]) -> None:
        self.came, self.error = came, error
        self.inbox.put(self)

    def tell(self) -> None:
        """On the loop's thread."""
        error, value = self.error, None
        if self.came is not None:
            try:
                # Also of one that was cancelled too late: what it left on the daemon is freed with it.
                value = self.call.finish(self.came)
            except Exception as broken:
                error = broken
        if self.waiter.done():
            return
        if isinstance(error, StopIteration):  # from a progress function: asyncio's futures cannot hold it
            stopped, error = error, RuntimeError("progress raised StopIteration")
            error.__cause__ = stopped
        if error is not None:
            self.waiter.set_exception(error)
        else:
            self.waiter.set_result(value)


class _Inbox:
    """Ended calls on their way to one loop, which is woken once for all that have ended meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._ended: Deque[_Ended] = collections.deque()
        self._woken = False

    def put(self, ended: _Ended) -> None:
        """On any thread."""
        self._ended.append(ended)
        if self._woken:
            return
        self._woken = True
        loop = self._loop()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._tell)
        except RuntimeError:
            self._ended.clear()  # the loop is closed: nobody waits

    def _tell(self) -> None:
        # First: calls that end from here on may wake it again.
        self._woken = False
        while self._ended:
            self._ended.popleft().tell()


_inboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Inbox] = weakref.WeakKeyDictionary()


def _inbox(loop: asyncio.AbstractEventLoop) -> _Inbox:
    inbox = _inboxes.get(loop)
    if inbox is None:
        inbox = _inboxes[loop] = _Inbox(loop)
    return inbox
