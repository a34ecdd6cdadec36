"""Jobs on the daemon."""

from __future__ import annotations

from typing import Any, Dict, List


class Job(Dict[str, Any]):
    """A job, as a dict; a table in a notebook.

    Its keys: id (a str), kernel, params, state ("PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"),
    device, priority, progress (0 to 1), queue_position, submit_time, start_time and end_time (seconds of the Unix clock,
    None before), error and receipt (None before the end), session, detached, cancel_requested, now.

    Example:
        >>> job = gpu.job(7)
        >>> job["state"], job["progress"]
    """

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
