"""The end of a block: its calls are checked, and sent."""

from __future__ import annotations

import time
from typing import Any, Sequence

import numpy as np

from .. import _core
from ..errors import Busy, JobFailed, NotFound, OutOfMemory
from ..futures import LOOK, CallFuture
from .call import GraphCall
from .detached import DetachedCall
from .noted import Block, NotedCall

# Seconds between two looks whether the daemon has taken a call.
_LOOK_FOR_JOB = 0.001
# With more, the library checks a call before it sends the inputs, beside the stream of calls (kInlineInputBytes of client.h).
_INLINE_BYTES = 1 << 20
_FAILED = ("FAILED", "CANCELLED", "TIMEOUT")


def check(client: Any, calls: Sequence[NotedCall]) -> None:
    """Has the daemon check each call, with the signatures of those before it in place of their results. Behind a call whose
    shapes the data decide, the daemon checks as it runs.

    Raises:
        Exception: what the call would raise; the message names the node.
    """
    known: dict[tuple[int, str], _core.Signature] = {}
    for noted in calls:
        makes = {name: known.get((id(value.noted), value.output)) for name, value in noted.takes().items()}
        if noted.is_function or None in makes.values():
            continue
        inputs: Any = {**noted.call.inputs, **makes}
        try:
            answer = client._core.check(noted.call.kernel, inputs, noted.call.options)
            if answer["refusal"]:
                raise OutOfMemory(answer["refusal"])
        except Exception as error:
            noted.tell(error)
            raise
        for output in answer["outputs"]:
            if not output["at_most"]:
                signature = output["signature"]
                known[id(noted), output["name"]] = _core.Signature(signature["dtype"], signature["shape"])


def _takers(calls: Sequence[NotedCall]) -> dict[int, dict[str, int]]:
    """How many calls take an output, by the call that makes it and its name."""
    takers: dict[int, dict[str, int]] = {}
    for noted in calls:
        for maker, output in {(id(value.noted), value.output) for value in noted.takes().values()}:
            its = takers.setdefault(maker, {})
            its[output] = its.get(output, 0) + 1
    return takers


def send(client: Any, block: Block, calls: Sequence[NotedCall]) -> list[GraphCall]:
    """Sends checked calls, each behind those that it takes, and waits until the daemon has taken them. If it refuses one, or one
    cannot be sent, the others are cancelled.

    Raises:
        Exception: the refusal, or what a signal handler raised; the message of a refusal names the node.
    """
    client._core.check_may_wait()
    takers = _takers(calls)
    futures: dict[int, GraphCall] = {}
    kind = DetachedCall if block.detached else GraphCall
    for noted in calls:
        held = noted.future()
        future = futures[id(noted)] = held if held is not None else kind(client, block, noted)
        _place_results(noted, future, held is not None, takers.get(id(noted), {}))
    block.state = "sent"
    sent: list[GraphCall] = []
    try:
        for noted in calls:
            future = futures[id(noted)]
            sent.append(future)
            try:
                _send_one(client, noted, future, futures)
            except Exception as error:
                noted.tell(error)
                raise
            if not future._request_id:
                _be_taken(future)
        for future in sent:
            _be_taken(future)
    except BaseException:
        cancel(sent)
        raise
    for future in futures.values():
        future._noted = None
    return list(futures.values())


def cancel(calls: Sequence[GraphCall]) -> None:
    """Cancels those that go on, the last ones first, so that none starts meanwhile."""
    for one in reversed(calls):
        try:
            one.cancel()
        except (NotFound, Busy):
            pass  # it has ended


def _place_results(noted: NotedCall, future: GraphCall, held: bool, own: dict[str, int]) -> None:
    """Where its results go. Those that others take (`own`: how many, by output) stay where they were made: for them alone if no
    variable holds the call."""
    call, block = noted.call, future._block
    if noted.is_function:
        if own:
            try:
                call.give_an_array()  # type: ignore[attr-defined]
            except Exception as error:
                noted.tell(error)
                raise
            function, environment, keep, own_worker, cpus = call.options.function or ("", "", False, False, 0)
            future._here = not keep
            call.options.function = (function, environment, keep or not block.detached, own_worker, cpus)
        return
    if not own:
        return
    if noted.keeps:  # what others take stays beside it
        if not block.detached:
            call.options.keep = {**{name: ("", None) for name in own}, **call.options.keep}
        return
    alone = {} if held else own
    future._alone = bool(alone)
    implied = call.options.keep
    call.options.for_jobs = alone
    if block.detached:
        call.options.keep = {name: how for name, how in implied.items() if name not in alone}
        return
    call.options.keep = {name: ("", None) for name in call.plan.outputs if name not in alone}
    future._here = not implied


def _send_one(client: Any, noted: NotedCall, future: GraphCall, futures: dict[int, GraphCall]) -> None:
    call = noted.call
    options = call.options
    options.graph, options.node = future._block.graph, noted.name
    takes = {id(value.noted): futures[id(value.noted)] for value in noted.takes().values()}
    after = [futures[id(other)] for other in noted.after]
    future._takes = [*takes.values(), *after]
    future._call = call
    future._was_sent = True
    # Also behind a call that has failed: the daemon refuses it then, and need not keep for it what others made.
    inputs: Any = {**call.inputs, **{name: _output_of(futures[id(value.noted)], value.output)
                                     for name, value in noted.takes().items()}}
    if isinstance(future, DetachedCall):
        options.after = [other._job_or_failed for other in after]
        try:
            future._id = client._core.submit(call.kernel, inputs, options)
        except Exception:
            for other in future._takes:
                if client._core.job(other._job_or_failed)["state"] in _FAILED:
                    future._failed_job = other._job_or_failed
                    other._wait(None)
            if future._lacks() is None:
                raise
            future._ended(None, JobFailed())
        finally:
            if call.end_progress is not None:
                call.end_progress()
            call.inputs, call.values = {}, {}  # the daemon has them
        future._hear()
        return
    options.after_requests = [other._request_id for other in after]
    if sum(value.nbytes for value in call.inputs.values() if isinstance(value, np.ndarray)) > _INLINE_BYTES:
        for other in future._takes:  # else the check may come before them
            _wait_until_taken(other)
    future._flight = flight = client._core.run_async(call.kernel, inputs, options, None, future._ended)
    # A large input is sent first; its call has to be known before those that take its results are.
    while not flight.wait_until_sent(LOOK):
        pass
    future._request_id = flight.request_id


def _wait_until_taken(future: GraphCall) -> None:
    while not future.job_id and not CallFuture.done(future):
        time.sleep(_LOOK_FOR_JOB)


def _be_taken(future: GraphCall) -> None:
    """Waits until the daemon has taken a call.

    Raises:
        hotplate.Error: it was refused, or could not be sent.
    """
    _wait_until_taken(future)
    if (refusal := future._refusal()) is not None:
        raise refusal


def _output_of(maker: GraphCall, output: str) -> Any:
    return _core.OutputRef(maker._request_id, output, maker._job_or_failed if isinstance(maker, DetachedCall) else "")
