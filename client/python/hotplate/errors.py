"""The exceptions of this package. Each is also the built-in exception that a Python user expects.

Each has `code` (gRPC's name, such as "INVALID_ARGUMENT"), `job_id` (or ""), `violations` (a list of (field, description))
and `retry_after` (seconds, or None).

Example:
    >>> try:
    ...     gpu.matmul(a, b)
    ... except hp.errors.Busy as error:
    ...     time.sleep(error.retry_after or 1)
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from .flags import in_python
from .receipt import Receipt


class Error(Exception):
    """The base of all errors of the daemon and of the connection to it.

    Example:
        >>> try:
        ...     gpu.matmul(a, b)
        ... except hp.Error as error:
        ...     print(error.code, error.job_id, error)
    """

    code: str = "UNKNOWN"
    job_id: str = ""
    violations: Sequence[tuple[str, str]] = ()
    retry_after: Optional[float] = None

    def __init__(self, message: str = "") -> None:
        super().__init__(message)

    def __str__(self) -> str:
        # KeyError would show the message's repr.
        return str(self.args[0]) if self.args else ""


class InvalidCall(Error, ValueError):
    """The call was refused: the kernel does not take a shape, a value or a size.

    Example:
        >>> gpu.matmul(np.ones((2, 3)), np.ones((2, 3)))   # inner sizes differ
    """

    code = "INVALID_ARGUMENT"


class InvalidType(Error, TypeError):
    """The kernel does not take a dtype, or an argument is unknown or missing.

    Example:
        >>> gpu.sort(np.zeros(3, "float16"))
    """

    code = "INVALID_ARGUMENT"


class InvalidSyntax(Error, SyntaxError):
    """The text of an expression is no expression; a caret shows the place.

    Example:
        >>> gpu.eval("2*(x", x=x)
    """

    code = "INVALID_ARGUMENT"


class UnknownName(Error, NameError):
    """An expression has a name that is no input, number or function.

    Example:
        >>> gpu.eval("2*y", x=x)
    """

    code = "INVALID_ARGUMENT"


class OutOfBounds(Error, IndexError):
    """An index is outside the array.

    Example:
        >>> gpu.eval("x[10]", x=np.arange(5))
    """

    code = "INVALID_ARGUMENT"


class NotFound(Error, KeyError):
    """There is no array or job of that id or name.

    Example:
        >>> gpu.array(name="freed")
    """

    code = "NOT_FOUND"


class NoSuchFile(NotFound, FileNotFoundError):
    """The daemon does not find the file of an input by path.

    Example:
        >>> gpu.selu(pathlib.Path("missing.npy"))
    """


class UnknownKernel(NotFound):
    """The daemon has no such kernel; the message lists the nearest names.

    Example:
        >>> gpu.run("matmull", a, b)   # Nearest: matmul.
    """


class RefLost(NotFound):
    """The worker that had the object of a hotplate.Ref, or an actor, has ended; the message says why.

    Example:
        >>> try:
        ...     predict(model, x)
        ... except hp.RefLost:
        ...     model = train(data)
    """


class AlreadyExists(Error, ValueError):
    """An array of that name exists, or a request id was used for another call.

    Example:
        >>> gpu.array(a, name="A"); gpu.array(b, name="A")   # replace=True frees the first
    """

    code = "ALREADY_EXISTS"


class ConnectionFailed(Error, ConnectionError):
    """There is no daemon, it does not answer, or the connection was lost. The fate of the call is unknown.

    Example:
        >>> hp.connect("elsewhere")
    """

    code = "UNAVAILABLE"


class DeadlineExceeded(Error, TimeoutError):
    """The call did not end before its deadline.

    Example:
        >>> gpu.svd(a, deadline=0.01)
    """

    code = "DEADLINE_EXCEEDED"


class NotAllowed(Error, PermissionError):
    """The daemon does not allow this, or others can read a file of the connection.

    Example:
        >>> os.chmod(record, 0o644); hp.connect()   # the token is in it
    """

    code = "PERMISSION_DENIED"


class OutOfMemory(Error, MemoryError):
    """A device, the daemon or this machine does not have enough memory.

    Example:
        >>> gpu.array(np.empty(10**11))
    """

    code = "RESOURCE_EXHAUSTED"


class Busy(Error, RuntimeError):
    """Refused for now: a full queue, a limit, a daemon that drains. `retry_after` says when to try again, if known.

    Example:
        >>> try:
        ...     job_id = gpu.submit_detached("svd", a)
        ... except hp.Busy as error:
        ...     time.sleep(error.retry_after or 1)
    """

    code = "RESOURCE_EXHAUSTED"


class Cancelled(Error, RuntimeError):
    """The call was cancelled before its job began.

    Example:
        >>> cancellation.cancel()   # of a call that another thread waits in
    """

    code = "CANCELLED"


class InternalError(Error, RuntimeError):
    """A defect of the daemon or of this package, or versions that do not fit together.

    Example:
        >>> try:
        ...     gpu.matmul(a, b)
        ... except hp.InternalError as error:
        ...     print("to be reported:", error.code, error)
    """

    code = "INTERNAL"


class JobFailed(Error, RuntimeError):
    """A job that began and did not complete.

    Attributes:
        state: "FAILED", "TIMEOUT" or "CANCELLED".
        receipt: its Receipt, as far as it was measured, or None.

    Example:
        >>> try:
        ...     gpu.cholesky(-np.eye(3))   # not positive definite
        ... except hp.JobFailed as error:
        ...     print(error, error.receipt.kernel_ns)
    """

    state: str = "FAILED"
    receipt: Optional[Receipt] = None


class JobTimeout(JobFailed, TimeoutError):
    """The job exceeded its time limit, or its allocation ended.

    Example:
        >>> gpu.mandelbrot(resolution=8000, max_iterations=1_000_000, time_limit=0.1)
    """

    state = "TIMEOUT"


class JobOutOfBounds(JobFailed, OutOfBounds):
    """An index that an expression computed is outside the array.

    Example:
        >>> A[places].numpy()   # places has an index that A has not
    """


class JobCancelled(JobFailed, Cancelled):
    """The job was cancelled while it waited or ran.

    Example:
        >>> gpu.cancel(job_id)
        >>> gpu.wait(job_id)
    """

    state = "CANCELLED"


class JobOutOfMemory(JobFailed, OutOfMemory):
    """The job's device ran out of memory while the job ran.

    Example:
        >>> gpu.svd(a, device="gpu0")   # beside jobs of others on that GPU
    """


class RemoteError(JobFailed):
    """A function of yours raised an exception in its worker. Exceptions of Python's own classes, and others whose class this
    process has, arrive as themselves, and this error is their cause; the others arrive as this error.

    Attributes:
        type: the exception's class, as "module.Name".
        traceback: as the worker's Python printed it.

    Example:
        >>> try:
        ...     gpu.function(lambda x: 1 / x)(0)
        ... except ZeroDivisionError as error:
        ...     print(error.__cause__.traceback)
    """

    type: str = ""
    traceback: str = ""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.traceback}".rstrip()


# Kernels report an index that an expression computed as INVALID_ARGUMENT, as all that is wrong with their inputs; only the message
# tells it from the rest. OUT_OF_RANGE needs no message.
_OUT_OF_BOUNDS = " is out of bounds for axis "
_OF_CODE = {
    "INVALID_ARGUMENT": InvalidCall,
    "OUT_OF_RANGE": OutOfBounds,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "UNAVAILABLE": ConnectionFailed,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "PERMISSION_DENIED": NotAllowed,
    "UNAUTHENTICATED": NotAllowed,
    "RESOURCE_EXHAUSTED": Busy,
    "FAILED_PRECONDITION": Busy,
    "ABORTED": Busy,
    "CANCELLED": Cancelled,
    "UNIMPLEMENTED": InternalError,
    "INTERNAL": InternalError,
    "DATA_LOSS": ConnectionFailed,
}


def _kind(code: str, message: str, fields: Sequence[str], end: Optional[Mapping[str, Any]]) -> type[Error]:
    exhausted = code == "RESOURCE_EXHAUSTED"
    if code == "NOT_FOUND" and "ref" in fields:  # told before the call's job began, or while it waited
        return RefLost
    if end is not None:
        if end["state"] == "TIMEOUT":
            return JobTimeout
        if end["state"] == "CANCELLED":
            return JobCancelled
        if code == "OUT_OF_RANGE" or code == "INVALID_ARGUMENT" and _OUT_OF_BOUNDS in message:
            return JobOutOfBounds
        return JobOutOfMemory if exhausted and "memory" in fields else JobFailed
    if code == "NOT_FOUND" and "kernel" in fields:
        return UnknownKernel
    if code == "NOT_FOUND" and any(field.split(".")[2:] == ["path"] for field in fields):
        return NoSuchFile
    # The field names the resource that is too large ("memory", "inputs.x", "device", ...); a full queue and the like
    # have none.
    if exhausted and fields:
        return InvalidCall if "message" in fields else OutOfMemory
    return _OF_CODE.get(code, InternalError)


def from_status(code: str, message: str, violations: Sequence[tuple[str, str]], job_id: str,
                end: Optional[Mapping[str, Any]], retry_after: Optional[float]) -> BaseException:
    """The exception for an error of the client library, which calls this."""
    fields = [field for field, _ in violations]
    exception: Mapping[str, Any] = ((end or {}).get("error") or {}).get("exception") or {}
    kind = _kind(code, message, fields, end)
    if exception:
        kind = RemoteError
    # Only of what is said of a call's own arguments: other flags are those of the daemon.
    if any(field in ("precision", "deterministic") or field.startswith("params.") for field in fields):
        message, violations = in_python(message, {}), [(field, in_python(text, {})) for field, text in violations]
    more = [f"\n  {field}: {text}" for field, text in violations if text not in message]
    error = kind((message or code) + "".join(more))
    error.code = code
    error.violations = list(violations)
    error.job_id = job_id
    error.retry_after = retry_after
    if isinstance(error, JobFailed) and end is not None:
        error.state = end["state"]
        receipt = (end.get("result") or {}).get("receipt")
        error.receipt = Receipt.of(receipt) if receipt else None
    if isinstance(error, RemoteError):
        from .exceptions import rebuilt

        error.type, error.traceback = exception["type"], exception["traceback"]
        itself = rebuilt(error.type, exception["message"], exception["pickle"])
        if itself is not None:
            itself.__cause__ = error
            return itself
    return error
