"""A graph of calls, as a block and after it."""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from ..arguments import near, seconds, shown
from ..awaited import check_each_is_one, futures_in, is_ours
from ..calls import _NOTHING_SAID
from ..errors import Error, InvalidCall, InvalidType, NotFound
from ..expressions import KERNEL
from ..html import duration, table
from ..jobs import Job, Jobs
from ..outputs import Output
from ..user_line import users_line
from .call import GraphCall, copied, is_name, said
from .detached import DetachedCall
from .noted import Block, NotedCall
from .sending import cancel, check, send

if TYPE_CHECKING:
    from ..arguments import Seconds

_LONGEST_STEM = 40
_NODES_TOLD = 60  # by repr
_MOST_NODES = 10_000  # as of graphs in files
_STATES = ("COMPLETED", "RUNNING", "PENDING", "FAILED", "TIMEOUT", "CANCELLED")


class Graph:
    """A graph of jobs, noted in a `with` block; made by `gpu.graph`.

    Attributes:
        name: by which the command finds its jobs: `hotplate show NAME`.

    Example:
        >>> with gpu.graph("fit") as g:
        ...     gram = gpu.matmul(a.T, a)
        ...     largest = gpu.norm(gpu.svd(gram).s, ord=np.inf)
        >>> g.wait()
        >>> print(g)
    """

    def __init__(self, client: Any, name: str, detached: bool) -> None:
        if not isinstance(name, str) or len(name) > _LONGEST_STEM or not is_name(name):
            raise InvalidCall(f"the graph's name is {shown(name)}; it can have up to {_LONGEST_STEM} letters, digits, _ and -")
        self._client = client
        self.name = f"{name}-r{os.urandom(2).hex()}"
        self._block = Block(self.name, bool(detached))
        self._began = False
        self._numbers: dict[str, int] = {}  # of the last node that was named so by itself
        self._calls: list[GraphCall] = []
        self._lines: list[tuple[str, str, str]] = []  # name, kernel and what it takes, of each call that was sent

    def __enter__(self) -> Graph:
        open_graphs = self._client._graphs
        other = open_graphs.get(threading.get_ident())
        if other is not None:
            raise InvalidCall(f"the block of graph {other.name} has not ended, and that of {self.name} is to begin: a graph has no "
                              "graph in it")
        if self._began:
            raise InvalidCall(f"graph {self.name} has had its block: make another by gpu.graph()")
        self._began = True
        open_graphs[threading.get_ident()] = self
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Any) -> None:
        del self._client._graphs[threading.get_ident()]
        if kind is not None:
            self._block.leave(f"was left by {kind.__name__}")
            return
        noted = self._block.calls
        self._lines = [_line(one) for one in noted]
        try:
            check(self._client, noted)
            self._calls = send(self._client, self._block, noted)
        except BaseException as refusal:
            by_itself = isinstance(refusal, Exception)
            self._block.leave(f"was refused: {refusal}" if by_itself else f"was left by {type(refusal).__name__}")
            raise
        self._block.clear()

    def note(self, plan: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> GraphCall:
        """Notes a call; the client's methods and functions do it.

        Raises:
            TypeError, ValueError: an argument that is wrong whatever the others are; too many calls.
        """
        if len(self._block.calls) == _MOST_NODES:
            raise InvalidCall(f"graph {self.name} has {_MOST_NODES} nodes, and another call is to be noted: more are not possible")
        name = self._free_name(getattr(plan, "_name", plan.name))
        client = self._client
        futures_in(inputs, keywords)  # refuses those of other libraries
        if plan.takes_one:
            self._check_keywords(name, plan, keywords)
        values = [self._taken(value) for value in inputs]
        words = {word: self._taken(value) for word, value in keywords.items()}
        call = plan.prepare(client, values, words)
        if call.order is not None:
            raise InvalidType(f"[{name}] is a method of an actor, whose calls run in your order: call it outside of graph "
                              f"{self.name}")
        if call.options is _NOTHING_SAID:
            call.options = type(call.options)()
        noted = self._block.note(name, call, plan.takes_one and bool(keywords.get("keep")), users_line(2))
        future = (DetachedCall if self._block.detached else GraphCall)(client, self._block, noted)
        noted.future = weakref.ref(future)
        return future

    def _taken(self, value: Any) -> Any:
        """An argument as the call takes it: what another call of the block makes is Pending."""
        call = value._of if isinstance(value, Output) else value
        if isinstance(call, GraphCall):
            value._check_for(self._client)
            check_each_is_one([value])
            if call._block is self._block:
                return value._reference()
        return value.result() if is_ours(value) else value

    @staticmethod
    def _check_keywords(name: str, plan: Any, keywords: Mapping[str, Any]) -> None:
        if keywords.get("out") is not None:
            raise InvalidType(f"[{name}] out= is for a call that is waited for; .result() has the result after the block")
        for word, value in keywords.items():
            if word not in plan.rules and isinstance(value, (GraphCall, Output)):
                raise InvalidType(f"[{name}] {word} is {value!r}, and a parameter's value is needed at once: gpu.eval and functions "
                                  "take results")

    def _free_name(self, name: str) -> str:
        """A name for a node, after its kernel or function."""
        stem = "eval" if name == KERNEL else re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:_LONGEST_STEM] or "call"
        name = stem
        while name in self._block.names:
            self._numbers[stem] = number = self._numbers.get(stem, 1) + 1
            name = f"{stem}-{number}"
        return name

    # After the block.

    def __getitem__(self, name: str) -> GraphCall:
        """A call by its node's name.

        Raises:
            KeyError: there is none.

        Example:
            >>> g["gram"].result()
        """
        self._check_sent()
        for call in self._calls:
            if call.name == name:
                return call
        raise NotFound(f"graph {self.name} has no node {shown(name)}{near(name, [call.name for call in self._calls])}")

    def __len__(self) -> int:
        return len(self._calls or self._block.calls)

    def wait(self, timeout: Optional[Seconds] = None) -> None:
        """Waits until all calls are over. If one fails, those that can go on do.

        Args:
            timeout: seconds, or as "5m"; None: until the end.

        Raises:
            concurrent.futures.TimeoutError: they were not over within `timeout`; they go on.
            KeyboardInterrupt: Ctrl-C, which cancels the graph; the jobs of a detached one go on.
            Exception: the error of the first that failed; the message names its node.

        Example:
            >>> g.wait()
        """
        self._check_sent()
        end = None if timeout is None else time.monotonic() + seconds("timeout", timeout)
        errors = []
        try:
            for call in self._calls:
                if (error := _error_of(call, end)) is not None:
                    errors.append(error)
        except BaseException as interruption:
            if not isinstance(interruption, Exception) and not self._block.detached:
                self.cancel()
            raise
        if not errors:
            return
        first = errors[0]
        if len(errors) > 1 and isinstance(first, Error):
            first = copied(first, f"{said(first)}\n  {len(errors) - 1} more of {len(self._calls)} nodes did not complete: "
                              f"hotplate show {self.name}")
        raise first

    def cancel(self) -> None:
        """Cancels all calls that are not over.

        Example:
            >>> g.cancel()
        """
        self._check_sent()
        cancel(self._calls)

    @property
    def jobs(self) -> Jobs:
        """Its jobs as the daemon lists them, in the order of the calls: see hotplate.jobs.Job.

        Raises:
            ValueError: the block has not ended.
            ConnectionError: the daemon does not answer.

        Example:
            >>> [(job["node"], job["state"]) for job in g.jobs]
        """
        self._check_sent()
        places = {call.name: place for place, call in enumerate(self._calls)}
        found = [job for job in self._client._core.jobs(graph=self.name) if job["node"] in places]
        return Jobs(Job(job, self._client._core) for job in sorted(found, key=lambda job: places[job["node"]]))

    def _check_sent(self) -> None:
        if self._block.state == "open":
            raise InvalidCall(f"the block of graph {self.name} has not ended: nothing of it has been sent")
        if self._block.state == "left":
            raise InvalidCall(f"nothing of graph {self.name} was sent: its block {self._block.why}")

    # To look at.

    def svg(self) -> str:
        """A picture: a box a node, with its state, and an arrow from each to those that take it. The command draws it: `hotplate show
        GRAPH --svg`.

        Raises:
            FileNotFoundError: the program hotplate is not there.
            RuntimeError: it could not draw it.

        Example:
            >>> pathlib.Path("fit.svg").write_text(g.svg())
        """
        self._check_sent()
        import subprocess

        from ..allocation import command_path

        server, endpoint, directory = self._client._where
        options = {"server": server or self._client.server, "endpoint": endpoint, "directory": directory}
        words = [f"--{name}={value}" for name, value in options.items() if value]
        done = subprocess.run([command_path(), "show", self.name, "--svg", *words], stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", check=False)
        if done.returncode:
            raise RuntimeError(f"graph {self.name} could not be drawn: {done.stderr.strip()}")
        return done.stdout

    def _rows(self) -> tuple[str, list[tuple[str, ...]]]:
        """A title, and a line for each node."""
        if self._block.state != "sent":
            told = f"{_count(len(self))} noted" if self._block.state == "open" else f"never sent: its block {self._block.why}"
            return told, [(name, "noted", kernel, "", "", "", takes) for name, kernel, takes in map(_line, self._block.calls)]
        jobs = {job["node"]: job for job in self.jobs}
        states = [job["state"] for job in jobs.values()]
        counts = [f"{states.count(state)} {state}" for state in _STATES if state in states]
        if len(jobs) < len(self._calls):
            counts.append(f"{len(self._calls) - len(jobs)} without a job")
        return f"{_count(len(self._calls))}: {', '.join(counts)}", [_row(*line, jobs.get(line[0])) for line in self._lines]

    def __repr__(self) -> str:
        try:
            title, rows = self._rows()
        except (Error, RuntimeError) as error:  # a daemon that is gone, a client that is closed
            return f"graph {self.name}   {_count(len(self))}: {error}"
        left_out = len(rows) - _NODES_TOLD
        rows = rows[:_NODES_TOLD]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        more = [f"  and {left_out} more"] if left_out > 0 else []
        return "\n".join([f"graph {self.name}   {title}", *lines, *more])

    def _repr_html_(self) -> str:
        try:
            title, rows = self._rows()
        except (Error, RuntimeError) as error:
            return table([("state", error)], caption=f"graph {self.name}")
        return table(rows, ("node", "state", "kernel", "job", "device", "kernel time", "takes"),
                     caption=f"graph {self.name}: {title}")


def _count(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def _line(noted: NotedCall) -> tuple[str, str, str]:
    names = [value.noted.name for value in noted.takes().values()] + [other.name for other in noted.after]
    return noted.name, noted.call.kernel, f"← {', '.join(dict.fromkeys(names))}" if names else ""


def _row(name: str, kernel: str, takes: str, job: Optional[Mapping[str, Any]]) -> tuple[str, ...]:
    if job is None:  # refused, since one that it takes had failed; or the daemon has forgotten it
        return name, "-", kernel, "", "", "", takes
    took = (job["receipt"] or {}).get("kernel_ns")
    return name, job["state"], kernel, f"job {job['id']}", job["device"] or "-", duration(took) if took else "", takes


def _error_of(call: GraphCall, end: Optional[float]) -> Optional[BaseException]:
    """Waits for a call; its error, also of one that was cancelled."""
    import concurrent.futures

    try:
        return call.exception(None if end is None else max(0.0, end - time.monotonic()))
    except concurrent.futures.CancelledError as error:
        return error
