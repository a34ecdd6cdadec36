"""Jobs on the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

if TYPE_CHECKING:
    from . import _core


class Why(Dict[str, Any]):
    """Why a job waits, behind whom, and when it will probably start or end: a dict; as a str, a sentence.

    Its keys: text (the sentence), cause ("JOBS", "MEMORY", "PLACE", "ORDER", "TURN", "NEXT_ALLOCATION", "NEXT_DAEMON", "JOURNAL",
    "KIND", or "UNSPECIFIED" for a job that does not wait), starts_in_ns and ends_in_ns (forecasts from now on, or None), no_forecast (why
    there is none), run_time (median_ns, low_ns, high_ns and runs of earlier jobs like it, or None), in_the_way, memory,
    ahead_by_priority, ahead_of_session, ahead_by_share, waited_ns, job, and the others of hotplate.v1.WhyJobResponse.

    Example:
        >>> print(gpu.job(32).why())
        job 32 waits for a lane of gpu0; job 31 (matmul) runs on gpu0 and ends in about 4 s; it probably starts in about 4 s
    """

    def __str__(self) -> str:
        return str(self["text"])


class Job(Dict[str, Any]):
    """A job, as a dict; a table in a notebook.

    Its keys: id (a str), kernel, params, state ("PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"),
    device, priority, progress (0 to 1), queue_position, submit_time, start_time and end_time (seconds of the Unix clock,
    None before), error and receipt (None before the end), session, detached, cancel_requested, now, queue_forecast_ns (how long
    it was foretold to wait, or None).

    Example:
        >>> job = gpu.job(7)
        >>> job["state"], job["progress"]
    """

    def __init__(self, fields: Dict[str, Any], core: Optional[_core.Client] = None) -> None:
        super().__init__(fields)
        self._core = core

    def why(self) -> Why:
        """Why it waits now, behind whom, and when it will probably start or end.

        Raises:
            KeyError: the daemon does not have it any more.
            RuntimeError: it does not come from a client.

        Example:
            >>> print(gpu.job(32).why())
        """
        if self._core is None:
            raise RuntimeError(f"job {self.get('id')} does not come from a client; client.why(id) asks about a job by its id")
        return Why(self._core.why(self["id"]))

    def _repr_html_(self) -> str:
        from .html import job_table

        return job_table(self)


class Jobs(List[Job]):
    """Jobs, a list; a table in a notebook.

    Example:
        >>> gpu.jobs(active_only=True)
    """

    def _repr_html_(self) -> str:
        from .html import jobs_table

        return jobs_table(self)
