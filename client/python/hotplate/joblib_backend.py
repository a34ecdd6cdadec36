"""joblib's calls in workers of a daemon: scikit-learn's grid search and all else that uses joblib.Parallel."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable, Optional

from .executor import Executor
from .functions import Function

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .client import Client


def register_joblib(client: Client, name: str = "hotplate") -> None:
    """Makes the daemon of `client` a back-end of joblib.

    Args:
        client: whose workers run the calls; n_jobs=-1 means as many as the GPUs have lanes, and without a GPU as
            many as the CPU has workers.
        name: for joblib.parallel_config.

    Raises:
        ImportError: joblib is not installed here.

    Example:
        >>> hp.register_joblib(gpu)
        >>> with joblib.parallel_config("hotplate"):
        ...     search.fit(X, y)
    """
    import joblib.parallel

    class Backend(_Backend, joblib.parallel.ParallelBackendBase):  # type: ignore[misc]
        pass

    joblib.parallel.register_parallel_backend(name, lambda **options: Backend(client, **options))


class _Backend:
    """The methods that joblib.parallel.ParallelBackendBase asks for."""

    supports_retrieve_callback = True
    default_n_jobs = -1
    parallel: Any

    def __init__(self, client: Client, **options: Any) -> None:
        super().__init__(**options)
        self._client = client
        self._call = Function(client, operator.methodcaller("__call__"), returns="object")
        self._executor: Optional[Executor] = None

    def effective_n_jobs(self, n_jobs: Optional[int]) -> int:
        """The number of calls at a time."""
        if n_jobs == 0:
            raise ValueError("n_jobs is 0; it must be a number of calls at a time, or -1 for as many as run at a time")
        devices = self._client.info()["devices"]
        gpus = [device for device in devices if device["backend"] != "cpu"]
        at_once = sum(int(device["lanes"]) for device in gpus) or sum(int(device.get("workers", 0)) for device in devices)
        return max(at_once, 1) if n_jobs is None or n_jobs < 0 else n_jobs

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        """Begins a Parallel."""
        n_jobs = self.effective_n_jobs(n_jobs)
        self._executor = Executor(self._client, max_in_flight=2 * n_jobs)
        self.parallel = parallel
        return n_jobs

    def terminate(self) -> None:
        """Ends a Parallel."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None

    def submit(self, func: Callable[[], Any], callback: Optional[Callable[[Any], None]] = None) -> Future[Any]:
        """Schedules a batch of calls."""
        assert self._executor is not None
        # The batch is an argument: its arrays travel as arrays, and the function is the same for all.
        future = self._executor.submit(self._call, func)
        future.get = future.result  # type: ignore[attr-defined]  # what joblib asks before version 1.3
        if callback is not None:
            future.add_done_callback(callback)
        return future

    apply_async = submit  # its name before joblib 1.4

    def retrieve_result_callback(self, out: Any) -> Any:
        """The result of a batch that has ended."""
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """After an error: cancels what has not ended."""
        if self._executor is not None:
            self._executor._cancel_all()
            self._executor = None
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)
