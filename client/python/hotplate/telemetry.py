"""Devices, and samples of their state."""

from __future__ import annotations

import atexit
import collections
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Deque, Iterator, List, Mapping, Optional

from . import _core
from .arguments import seconds
from .connection import Connection
from .errors import InvalidCall
from .futures import LOOK

if TYPE_CHECKING:
    from .arguments import Seconds

# Number of samples kept; further ones replace the oldest: a slow reader misses samples.
_KEPT_SAMPLES = 8


class Record(Mapping[str, Any]):
    """A read-only record of the daemon, as attributes and as a mapping. Unknown values are None.

    Example:
        >>> device = gpu.devices[0]
        >>> device.name == device["name"]
        True
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._fields[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return _wrapped(self._fields[name])
        except KeyError:
            raise AttributeError(f"there is no {name} here, but {', '.join(self._fields)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._fields)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.items() if value not in (None, "", [], {}))
        return f"<{type(self).__name__} {told}>"


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(one) for one in value]
    return value


class Sample(Record):
    """All devices and the daemon at one moment.

    Attributes:
        time: seconds of the Unix clock.
        devices: a Record of each: device, utilisation (0 to 1), memory_used_bytes, power_watts, temperature_celsius, …
        daemon: resident_bytes, jobs_running, jobs_pending, array_bytes, …

    Example:
        >>> sample = next(gpu.telemetry())
        >>> sample.devices[0].utilisation, sample.daemon.jobs_running
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        from .html import sample_table

        return sample_table(self)


class Device(Record):
    """A device that kernels run on.

    Attributes:
        id: "cpu0", "gpu0", for `device=`.
        backend: "cpu" or "cuda".
        name, uuid, memory_bytes, lanes, mode, …
        lost: "" while it is healthy, else the reason why it takes no jobs.

    Example:
        >>> [device.id for device in gpu.devices if not device.lost]
    """

    __slots__ = ()

    def __repr__(self) -> str:
        lost = f", lost: {self.lost}" if self.lost else ""
        return f"<Device {self.id}: {self.name}, {self.memory_bytes / 2**30:.1f} GiB{lost}>"


class Devices(List[Device]):
    """A daemon's devices, a list; a table in a notebook.

    Example:
        >>> gpu.devices[0].memory_bytes
    """

    def _repr_html_(self) -> str:
        from .html import devices_table

        return devices_table(self)


def devices(client: Connection) -> Devices:
    """The current state of a daemon's devices."""
    return Devices(Device(device) for device in client._core.info()["devices"])


class Watch:
    """A stream of samples from a daemon, read by a thread of its own until it is cancelled.

    Args:
        interval: seconds between samples (or a timedelta), 0.1 to 60.
        tell: called, on that thread, whenever there is a new sample or the stream is over.
    """

    def __init__(self, client: Connection, interval: Seconds, tell: Optional[Callable[[], None]] = None) -> None:
        self._interval = checked_interval(interval)
        self._core = client._core
        self._process = os.getpid()
        self._tell = tell
        self._cancellation = _core.Cancellation()
        self._news = threading.Condition()
        # Guarded by _news.
        self._samples: Deque[Sample] = collections.deque(maxlen=_KEPT_SAMPLES)
        self._ended = False
        self._error: Optional[Exception] = None
        _open.add(self)
        self._thread = threading.Thread(target=self._read, name="hotplate telemetry", daemon=True)
        self._thread.start()

    def take(self) -> Optional[Sample]:
        """Takes the oldest sample, or None."""
        with self._news:
            return self._samples.popleft() if self._samples else None

    def wait(self) -> None:
        """Waits until there is a sample, or the stream is over.

        Raises:
            RuntimeError: the stream was begun before this process was forked, and its thread is in the parent.
        """
        if os.getpid() != self._process:
            self._core.check_may_wait()
        with self._news:
            while not self._news.wait_for(lambda: self._samples or self._ended, LOOK):
                pass

    def over(self) -> bool:
        """Whether the stream is over.

        Raises:
            ConnectionError: because the daemon is gone.
        """
        with self._news:
            if self._ended and not self._samples and self._error is not None:
                raise self._error
            return self._ended and not self._samples

    def cancel(self) -> None:
        """Ends the stream. Does not wait."""
        self._cancellation.cancel()

    def join(self) -> None:
        """Waits until its thread is gone."""
        self._thread.join()

    def _read(self) -> None:
        error: Optional[Exception] = None
        try:
            self._core.watch_telemetry(self._interval, self._sampled, self._cancellation)
        except Exception as what:  # the reader gets it
            error = None if self._cancellation.cancelled else what
        with self._news:
            self._ended, self._error = True, error
            self._news.notify_all()
        if self._tell is not None:
            self._tell()

    def _sampled(self, fields: dict[str, Any]) -> bool:
        with self._news:
            self._samples.append(Sample(fields))
            self._news.notify_all()
        if self._tell is not None:
            self._tell()
        return not self._cancellation.cancelled


def checked_interval(interval: Seconds) -> float:
    """An interval in seconds.

    Raises:
        ValueError: it is out of range.
        TypeError: it is not a time.
    """
    between = seconds("interval", interval)
    if not 0.1 <= between <= 60:
        raise InvalidCall(f"interval is {between:g} seconds; it must be from 0.1 to 60")
    return between


def watch(client: Connection, interval: Seconds) -> Iterator[Sample]:
    """The samples that `Client.telemetry` returns."""
    return _samples(client, checked_interval(interval))


def _samples(client: Connection, interval: Seconds) -> Iterator[Sample]:
    source = Watch(client, interval)
    try:
        while not source.over():
            sample = source.take()
            if sample is None:
                source.wait()
            else:
                yield sample
    finally:
        source.cancel()


# At exit their threads must not come back to an interpreter that is gone.
_open: weakref.WeakSet[Watch] = weakref.WeakSet()


def _end_all() -> None:
    for source in list(_open):
        source.cancel()
    for source in list(_open):
        source.join()


atexit.register(_end_all)
