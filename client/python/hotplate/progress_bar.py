"""The progress of a call: `progress=True` or `progress=function`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Optional, TextIO, Union

if TYPE_CHECKING:
    from . import _core

Report = Callable[[float, str], None]

_STATES = {"PENDING": "queued", "RUNNING": "running", "COMPLETED": "done"}


def attach(options: _core.Options, progress: Union[bool, Report], kernel: str) -> Optional[Callable[[], None]]:
    """Reports the progress of a call.

    Args:
        progress: a function of a fraction (0 to 1) and the name of the phase ("uploading", "queued", "running",
            "downloading"), called during the call; its exceptions cancel the call. True: tqdm's bar if it is installed,
            else a line on the terminal, else nothing.
        kernel: the kernel's name.

    Returns:
        A function to call at the end of the call, or None.

    Raises:
        TypeError: `progress` is neither.
    """
    bar: Optional[_Bar] = None
    if progress is True:
        bar = _bar(kernel)
        if bar is None:
            return None
        report: Report = bar.report
    elif callable(progress):
        report = progress
    else:
        raise TypeError(f"progress is {progress!r}; it must be True or a function of a fraction and a text")

    def on_update(update: dict[str, Any]) -> None:
        if "progress" in update:
            report(update["progress"]["fraction"], "running")
        elif "state_change" in update:
            state = update["state_change"]["state"]
            report(1.0 if state == "COMPLETED" else 0.0, _STATES.get(state, state.lower()))
        elif "notice" in update:
            report(0.0, update["notice"]["text"])

    options.on_update = on_update
    options.on_upload = lambda done, total: report(done / total if total else 1.0, "uploading")
    options.on_download = lambda done, total: report(done / total if total else 1.0, "downloading")
    return bar.close if bar is not None else None


class _Bar:
    """Something that shows a fraction and a text until it is closed."""

    def report(self, fraction: float, text: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class _TqdmBar(_Bar):
    def __init__(self, tqdm: Any, kernel: str) -> None:
        self._kernel = kernel
        self._tqdm = tqdm(total=100, desc=kernel, leave=False, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}")

    def report(self, fraction: float, text: str) -> None:
        self._tqdm.set_description(f"{self._kernel}: {text}", refresh=False)
        self._tqdm.n = round(100 * fraction)
        self._tqdm.refresh()

    def close(self) -> None:
        self._tqdm.close()


class _Line(_Bar):
    def __init__(self, stream: TextIO, kernel: str) -> None:
        self._stream = stream
        self._kernel = kernel
        self._shown = ""

    def report(self, fraction: float, text: str) -> None:
        line = f"{self._kernel}: {text} {100 * fraction:3.0f} %"
        if line != self._shown:
            self._stream.write("\r" + line.ljust(len(self._shown)))
            self._stream.flush()
            self._shown = line

    def close(self) -> None:
        if self._shown:
            self._stream.write("\r" + " " * len(self._shown) + "\r")
            self._stream.flush()
            self._shown = ""


def _bar(kernel: str) -> Optional[_Bar]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        terminal = sys.stderr is not None and sys.stderr.isatty()
        return _Line(sys.stderr, kernel) if terminal else None
    return _TqdmBar(tqdm, kernel)
