"""hp.up: an allocation, or a daemon on this machine, for the time of a `with` block.

This module runs `hotplate up` and `hotplate down`, shows their messages while they wait, and turns their end into a Client
or an exception. It is imported on first use, because its imports take time.
"""

from __future__ import annotations

import datetime
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time as time_module
import warnings
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, Union

from . import _core
from .arguments import seconds
from .client import Client, connect
from .errors import Busy, ConnectionFailed, DeadlineExceeded, Error, InternalError, InvalidCall, InvalidType, NotAllowed

if TYPE_CHECKING:
    from types import TracebackType

# The command's exit codes, as its manual page lists them.
_USAGE, _NO_DAEMON, _INVALID, _TRY_LATER, _NOT_ALLOWED, _SCHEDULER, _INTERRUPTED = 2, 3, 4, 5, 6, 9, 130

Progress = Union[bool, Callable[[str], None]]
Duration = Union[str, float, datetime.timedelta]


class SchedulerRefused(Error, RuntimeError):
    """Slurm (or LSF) refused the request, or ended the job before its daemon was ready. The message has its words.

    Example:
        >>> hp.up(account="nobody's", gpus=1)   # Invalid account or account/partition combination specified
    """

    code = "FAILED_PRECONDITION"


def command_path() -> str:
    """The program `hotplate` of this package, else the one in PATH.

    Raises:
        FileNotFoundError: there is no such program.

    Example:
        >>> subprocess.run([hotplate.allocation.command_path(), "status"])
    """
    name = "hotplate"
    # In a build folder it is a link beside the package; pip puts it among the scripts of the environment.
    candidates = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)]
    candidates += [os.path.join(folder, name) for folder in _script_folders()]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return os.path.realpath(candidate)
    found = shutil.which(name)
    if found:
        return found
    raise FileNotFoundError(f"no program {name}: looked for {', '.join(candidates)} and in PATH")


def _script_folders() -> list[str]:
    """The folders where pip may have put this package's scripts, the likeliest first."""
    from importlib import metadata

    folders = []
    try:
        for file in metadata.files("hotplate") or []:
            if file.name == "hotplate" and file.parent.name in ("bin", "Scripts"):
                folders.append(os.path.dirname(os.path.normpath(str(file.locate()))))
    except metadata.PackageNotFoundError:
        pass
    folders.append(sysconfig.get_path("scripts"))
    return folders


class Allocation:
    """A daemon that hp.up started. As a context manager it gives a connected Client, and ends the daemon with the block.

    Attributes:
        client: a Client of the daemon.
        name: the daemon's name, for `hp.connect(server=name)` and the command line.
        job_id: the scheduler's job id; "" for a daemon on this machine.
        node: the host it runs on.
        started: False if a daemon of that `name` was already running; the end of the block leaves it running.

    Example:
        >>> allocation = hp.up(gpus=1, time="30m")
        >>> with allocation as gpu:
        ...     print(allocation.job_id, allocation.node, gpu.devices)
    """

    def __init__(self, client: Client, name: str, started: bool, command: _Command) -> None:
        info = client.info()
        self.client = client
        self.name = name
        self.job_id: str = (info.get("allocation") or {}).get("job_id", "")
        self.node: str = info.get("node", "")
        self.started = started
        self._command = command
        self._ended = False
        self._process = os.getpid()

    def __enter__(self) -> Client:
        return self.client

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if os.getpid() != self._process:
            return  # a forked process leaves its copy of the block: the block goes on in its parent
        if not self.started:
            self.client.close()
            return
        try:
            answer = self.down()
            if answer.get("state") == "DEAD":
                warnings.warn(f"{self.name} had died before the end of the block: {answer['what']}", RuntimeWarning, stacklevel=2)
        except Exception as failed:
            # A daemon that is gone needs no release; if it is not, the caller must hear of it. An error in the block is
            # the one to show.
            if error is None and not isinstance(failed, ConnectionError):
                raise
            warnings.warn(f"{self.name} could not be released: {failed}", RuntimeWarning, stacklevel=2)

    def down(self, drain_timeout: Duration | None = None) -> dict[str, Any]:
        """Ends the daemon and releases its job, as `hotplate down` does. A second call does nothing.

        Args:
            drain_timeout: how long running jobs may take: seconds, "2m" or a timedelta (default: the daemon's setting).

        Returns:
            The answer of `hotplate down --json`; for a scheduler's job it has the GPU-minutes used. The "state" of a daemon
            that had died is "DEAD", and "what" tells what was lost with it.

        Raises:
            ConnectionError: the daemon does not answer, and its job could not be cancelled.

        Example:
            >>> allocation = hp.up(gpus=1, time="30m")
            >>> allocation.client.integrate2d()
            >>> allocation.down()["gpuMinutesUsed"]
        """
        if self._ended:
            return {}
        words = ["down", "--cancel", "--json", f"--server={self.name}"]
        if drain_timeout is not None:
            words.append(f"--drain-timeout={_duration('drain_timeout', drain_timeout)}")
        self.client.close()
        said = self._command.run(words)
        self._ended = True  # not after a failure, so that it can be tried again
        answer: dict[str, Any] = json.loads(said)
        return answer

    def __repr__(self) -> str:
        where = f"job {self.job_id} on {self.node}" if self.job_id else f"on {self.node}"
        return f"<hotplate.Allocation {self.name}, {where}{', ended' if self._ended else ''}>"


def up(site: str | None = None, *, gpus: int | None = None, time: str | datetime.timedelta | None = None, account: str | None = None,
       gpu_type: str | None = None, partition: str | None = None, cpus: int | None = None, memory: str | None = None,
       exclusive: bool = False, directives: Sequence[str] = (), attach: str | int | None = None, local: bool = False,
       name: str | None = None, idle_timeout: Duration | None = None, timeout: Duration | None = None, follow_on: int | None = None,
       daemon_options: Sequence[str] = (), directory: str | os.PathLike[str] | None = None, progress: Progress = True,
       **connect_options: Any) -> Allocation:
    """Starts a daemon in a batch job, waits until it is ready, and connects to it.

    In a `with` statement, the daemon ends with the block, and its job is given back to the scheduler. Otherwise it runs
    until you call `down()`, it has been idle too long, or the job ends.

    Args:
        site: the site profile (`hotplate sites` lists all). Default: HOTPLATE_SITE, else plain Slurm.
        gpus: the number of GPUs. Default: 1.
        time: the time limit: "30m", "2h", "01:30:00" or a timedelta, but not a bare number, which Slurm reads as minutes.
        account: the project to charge. Default: HOTPLATE_ACCOUNT.
        gpu_type: the kind of GPU, as the site calls it: "l40s", "a100".
        partition: the scheduler's partition or queue.
        cpus: the number of CPU cores.
        memory: host memory, such as "64G".
        exclusive: request the whole node.
        directives: more lines for the scheduler, such as ["--qos=high"].
        attach: the id of a running job of yours in which to start the daemon; the job stays at the end.
        local: start the daemon on this machine instead of asking a scheduler.
        name: the daemon's name. A daemon or job of this name that exists is used, and kept at the end. If the wait fails,
            its job stays for another try. Without a name, everything belongs to this call and is undone if it fails.
        idle_timeout: end the daemon after this long without use: seconds, "15m" or a timedelta; 0: never.
        timeout: how long to wait for the daemon, as `idle_timeout`. Default: 30 s with `local`, else no limit.
        follow_on: so many more jobs that go on under the same name, each when the one before it has ended, with jobs, results and
            named arrays. This client ends with its own daemon: connect again by the name.
        daemon_options: options for hotplated, such as ["--device", "cpu"].
        directory: the folder of records. Default: HOTPLATE_DIR, else ~/.hotplate.
        progress: True: print messages to sys.stderr; False: print nothing; a callable: call it with each line.
        connect_options: arguments for hp.connect.

    Returns:
        An Allocation: a context manager that gives the Client. If the daemon has gone or cannot be ended when the block
        ends, there is a RuntimeWarning.

    Raises:
        TypeError: an argument that neither this nor hp.connect takes; nothing was submitted.
        RuntimeError: this is a child process that was forked after a connect.
        ValueError: the request is wrong, or beyond what the site's profile allows.
        SchedulerRefused: the scheduler refused, or ended the job before its daemon was ready; with its own words.
        ConnectionError: the daemon ended before it was ready, or cannot be reached from here.
        TimeoutError: it was not ready within `timeout`.
        PermissionError: others could read or write the files, or the token was refused.
        hotplate.Busy: refused for now.
        KeyboardInterrupt: Ctrl-C while waiting; the job is cancelled first.

    Example:
        >>> with hp.up(site="hpc2n", account="hpc2n2024-142", gpus=1, time="30m") as gpu:
        ...     y = gpu.selu(x)
    """
    _core.check_not_forked()  # before a job is queued that no client of this process could use
    for option, several in (("directives", directives), ("daemon_options", daemon_options)):
        if isinstance(several, (str, bytes)):  # it would be taken letter by letter
            raise InvalidType(f"{option}={several!r} must be a list of str, as [{several!r}]")
    own_name = name is None
    # A unique name, so that it can be undone in any case and is never anybody else's.
    daemon = name if name is not None else f"py-{os.getpid()}-{secrets.token_hex(3)}"
    folder = "" if directory is None else os.fspath(directory)
    options: dict[str, Any] = {"server": daemon, "directory": folder, **_known(connect_options)}
    words = ["up", f"--name={daemon}"]
    if local:
        words.append("--local")
    if exclusive:
        words.append("--exclusive")
    for option, value in (("site", site), ("gpus", gpus), ("account", account), ("gpu-type", gpu_type),
                          ("partition", partition), ("cpus", cpus), ("memory", memory), ("attach", attach),
                          ("follow-on", follow_on)):
        if value is not None:
            words.append(f"--{option}={value}")
    for option, duration in (("time", time), ("idle_timeout", idle_timeout), ("timeout", timeout)):
        if duration is not None:
            words.append(f"--{option.replace('_', '-')}={_duration(option, duration)}")
    words += [f"--directive={directive}" for directive in directives]
    if not local:
        words.append(f"--on-interrupt={'cancel' if own_name else 'keep'}")

    command = _Command(folder, progress)
    there = False
    try:
        # Not with --json, which is silent while it waits.
        started = "already running" not in command.run(words, list(daemon_options))
        there = True
        return Allocation(connect(**options), daemon, started, command)
    except BaseException as error:
        # A command that was refused, or could not be run, has started nothing. If connect refuses, a daemon runs.
        if own_name and command.has_run and (there or not isinstance(error, InvalidCall)):
            command.undo(daemon, attempts=10 if local else 1)
        raise


def _known(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Checks the connect options. A name that hp.connect would refuse is refused before anything is submitted."""
    import inspect

    if "server" in options:
        raise InvalidType(f"server={options['server']!r}: hp.up connects to what it starts, which name= gives a name")
    taken = inspect.signature(connect).parameters
    for name, value in options.items():
        if name not in taken:
            import difflib

            names = {*inspect.signature(up).parameters, *taken} - {"server", "connect_options"}
            near = difflib.get_close_matches(name, sorted(names), 1)
            raise InvalidType(f"neither hp.up nor hp.connect has an argument {name}={value!r}"
                              + (f"; did you mean {near[0]}?" if near else ""))
    return options


def _duration(name: str, value: Duration) -> str:
    """A value in the command's form; the command reports invalid ones itself. A bare number for `time` is refused: it
    would be seconds here, and is minutes in Slurm."""
    if isinstance(value, str):
        return value
    if name == "time" and not isinstance(value, datetime.timedelta):
        raise TypeError(f'{name}={value!r} has no unit: say "30m", "2h", "01:30:00" or datetime.timedelta(minutes=30)')
    return f"{seconds(name, value):.3f}".rstrip("0").rstrip(".") + "s"


class _Command:
    """Runs the program `hotplate` for one allocation.

    Attributes:
        has_run: the program was found and has run.
    """

    def __init__(self, directory: str, progress: Progress) -> None:
        self.has_run = False
        self._prefix = [command_path()]
        self._directory = [f"--directory={directory}"] if directory else []
        self._progress = progress

    def tell(self, line: str) -> None:
        if callable(self._progress):
            self._progress(line)
        elif self._progress:
            print(line, file=sys.stderr, flush=True)

    def run(self, words: Sequence[str], rest: Sequence[str] = ()) -> str:
        """The command's output. Lines on its standard error are passed on as they come; the last ones give the reason
        of a failure."""
        line = [*self._prefix, *words, *self._directory, *(["--", *rest] if rest else [])]
        # In its own session it gets Ctrl-C only from here, and once; and it cannot ask questions.
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, encoding="utf-8", errors="replace", start_new_session=True,
                                   env={**os.environ, "HOTPLATE_OUTPUT": "text"})  # its text is parsed here
        self.has_run = True
        try:
            code, answer, said = self._follow(process)
        except BaseException:
            # Ctrl-C, or a callable that raised: the command undoes its work.
            process.send_signal(signal.SIGINT)
            try:
                process.communicate()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                process.communicate()
                raise
            raise
        if code == 0:
            return answer
        raise _error(code, said)

    def _follow(self, process: subprocess.Popen[str]) -> tuple[int, str, list[str]]:
        """Waits for the end: exit code, output, and the reason of a failure."""
        assert process.stdout is not None and process.stderr is not None
        answer: list[str] = []
        stdout = process.stdout
        reader = threading.Thread(target=lambda: answer.append(stdout.read()), daemon=True)
        reader.start()
        why: list[str] = []
        for text in process.stderr:
            text = text.rstrip("\n")
            if text.startswith("✗ ") or why:
                why.append(text)  # the command's last words are the exception's
            else:
                self.tell(text)
        code = process.wait()
        reader.join()
        stdout.close()
        process.stderr.close()
        return code, "".join(answer), why

    def undo(self, name: str, attempts: int) -> None:
        """After a failure: makes sure that no daemon of that name goes on. There may be none, or one that is just
        starting and that no scheduler knows of, so that it is searched once a second."""
        line = [*self._prefix, "down", "--cancel", "--json", *self._directory, f"--server={name}"]
        for attempt in range(attempts):
            if attempt:
                time_module.sleep(1)
            done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  start_new_session=True, check=False)
            if done.returncode == 0:
                return


def _error(code: int, said: list[str]) -> BaseException:
    """The exception for an exit code of the command, with the command's words."""
    text = "\n".join(said)
    message = text[2:] if text.startswith("✗ ") else text or f"hotplate ended with code {code} and said nothing"
    if code == _INTERRUPTED:
        return KeyboardInterrupt(message)
    if code == _NO_DAEMON and "is not ready yet" in message:
        return DeadlineExceeded(message)
    kinds = {_USAGE: InvalidCall, _INVALID: InvalidCall, _SCHEDULER: SchedulerRefused, _NO_DAEMON: ConnectionFailed,
             _TRY_LATER: Busy, _NOT_ALLOWED: NotAllowed}
    return kinds.get(code, InternalError)(message)
