"""A connection to a daemon, and its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence

from . import _core
from .arguments import count, number_of_job, path, seconds, shown, text
from .arrays import Array, described, send
from .awaited import futures_in
from .connection import graph_of
from .errors import Error, InvalidType
from .expressions import KERNEL, Expression, evaluation
from .jobs import Job, Jobs, Why
from .kernels import Kernels, resolve, sent_once
from .namespace import of_client
from .numpy_functions import NumPyFunctions
from .receipt import Receipt

if TYPE_CHECKING:
    from ._kernels import ClientKernels
    from .actors import Actor
    from .aio import Aio
    from .arguments import JobId, Seconds, StrPath
    from .futures import CallFuture
    from .graphs import Graph
    from .sweeps import SweepResult
    from .telemetry import Devices, Sample
else:
    ClientKernels = object  # whose methods the daemon names

# .futures.submit, imported when it is first used: importing concurrent.futures takes a while, and an import statement
# in each call would be a tenth of Python's part of it.
_submit: Optional[Callable[..., CallFuture]] = None


def connect(server: StrPath = "", *, endpoint: str = "", directory: StrPath = "", session: str = "",
            contact: bool = True, deadline: Seconds = 30.0, connect_timeout: Seconds = 5.0, retries: int = 3,
            reconnect: Seconds = 120.0,
            on_connection: Optional[Callable[[Optional[Exception]], None]] = None) -> Client:
    """Connects to a daemon and finds it as the command `hotplate` does.

    Every duration is a number of seconds, a text with units ("90s", "5m", "2h", "1h30m") or a timedelta.

    Args:
        server: the daemon's name in $HOTPLATE_DIR/servers, or the path of its record. Default: HOTPLATE_SERVER, then
            `server` in ~/.config/hotplate/config.toml, then the current daemon.
        endpoint: "ADDRESS:PORT" of a port forward, used instead of the record's address. Default: HOTPLATE_ENDPOINT.
        directory: the folder of the records. Default: HOTPLATE_DIR, then `directory` in the config file, then ~/.hotplate.
        session: 32 hexadecimal digits of an existing session, to share its arrays. Default: a new session.
        contact: False does not contact the daemon yet; the first call reports what is wrong.
        deadline: the duration of a request, or of a transfer that makes no progress.
        connect_timeout: how long to wait for the first answer.
        retries: how often a safe request is repeated at once when the daemon cannot be reached.
        reconnect: how long jobs and transfers wait for a lost connection.
        on_connection: called with the error when the connection is lost, and with None when it is back.

    Raises:
        ConnectionError: there is no daemon, or it does not answer.
        PermissionError: the daemon refuses the token, or others can read the record.
        ValueError: an argument or the config file is invalid.
        RuntimeError: this process was forked after a connect.

    Example:
        >>> import hotplate as hp
        >>> gpu = hp.connect()
        >>> gpu.matmul(a, b)
    """
    if on_connection is not None and not callable(on_connection):
        raise InvalidType(f"on_connection is {shown(on_connection)}; it must be a function")
    from .settings import completed

    where = completed(path("server", server), text("endpoint", endpoint), path("directory", directory))
    client = Client(_core.connect(*where, text("session", session), bool(contact), seconds("deadline", deadline),
                                seconds("connect_timeout", connect_timeout), count("retries", retries, 1_000_000),
                                seconds("reconnect", reconnect), on_connection))
    client._where = where
    return client


class Client(Kernels, NumPyFunctions, ClientKernels):
    """A connection to a daemon; made by `connect`. Threads may share it. A context manager that closes it.

    Every kernel of the daemon is a method: `gpu.matmul(a, b)`. `help(gpu.matmul)` has its arrays, parameters and
    numerics; `gpu.kernels` lists all. `zeros`, `ones`, `eye` and `dot` are NumPy's.

    Example:
        >>> with hp.connect() as gpu:
        ...     c = gpu.matmul(a, b)
    """

    # Calls.

    def run(self, name: str, /, *inputs: Any, **keywords: Any) -> Any:
        """Runs a kernel by its name and waits for the result.

        Args:
            inputs: in the spec's order, or as keywords: ndarrays of any strides, lists, numbers, hotplate.Array, or
                pathlib.Path of a .npy file that the daemon can read.
            keywords: the kernel's parameters (None: the default), and
                out: an ndarray for the result; a tuple or a dict of ndarrays for several outputs;
                keep: True, a name, or a dict of outputs and names: the result stays on the daemon as a hotplate.Array;
                lease: how long a kept result outlives this client, in seconds or as "2h";
                device: a device's id ("gpu0", "cpu0"), or "any": the CPU if no GPU can run it. By default a GPU if the
                daemon has one, and nothing else; precision: "tf32", "bf16" or "f16";
                deterministic: True for the same bits every time on one device; priority: -100 to 100;
                time_limit: how long the job may run on the device; deadline: how long the whole call may take;
                progress: True, or a function of a fraction (0 to 1) and a text.

        Returns:
            The output: an ndarray, or a NumPy scalar if it has no axes. Several outputs are a named tuple. The tuple and
            a hotplate.Array have the call's `receipt`; an ndarray cannot, so use `last_receipt`.

        Dtypes follow NumPy: inputs of one dtype are promoted to it, and integers and bools become float64 where the kernel
        takes no integers, as in numpy.linalg. A product of integers (matmul) is a TypeError, since NumPy's result would be
        integers. An array on the daemon is never converted; a call that would need it is a TypeError.

        Raises:
            KeyError: no such kernel; the message has the nearest names.
            TypeError: an unknown or missing argument, a dtype that the kernel does not take.
            ValueError: a shape or a value that it does not take.
            hotplate.JobFailed: the job began and failed; the error has its receipt.
            MemoryError: the daemon or the device has no room.
            TimeoutError: `deadline` or `time_limit` passed.
            ConnectionError: the daemon does not answer.
            PermissionError: the daemon refuses this user.
            KeyboardInterrupt: Ctrl-C. The job is cancelled, and the daemon has 2 seconds to confirm; during an upload no
                job is made, and the part that was sent is freed. `out` is not written any more. If the job completed all
                the same, only outputs with a name or a lease stay.

        Example:
            >>> gpu.run("selu", x, alpha=1.67)
        """
        return self._called(self._plan(name), inputs, keywords)

    def sweep(self, name: str, /, *inputs: Any, max_fails: Optional[int] = None, retries: int = 0,
              **keywords: Any) -> SweepResult:
        """Runs a kernel once for each value of a parameter, as one job of many tasks, and waits for all of them.

        Args:
            name, inputs: as of `run`. The inputs are the same for all tasks.
            keywords: as of `run`; a range, a list or an array with one axis in place of a parameter's value is swept over.
                With several of them every combination is a task. time_limit is each task's.
            max_fails: more failed tasks end the sweep with hotplate.JobFailed. None: only if all fail.
            retries: how often a task that fails is run again.

        Returns:
            A SweepResult: each output is one array, whose first axes are those of the sweep. Tasks that failed have NaN
            there, or 0, and are in its `failures`.

        Raises:
            ValueError: no values, more than 1 000 000 tasks, a value that the kernel does not take (with its task), or
                outputs whose shapes differ between tasks; nothing is run then. Else as `run`.

        Example:
            >>> s = gpu.sweep("integrate2d", n=range(1, 1001))
            >>> s.value.shape
            (1000,)
        """
        from .sweeps import finished, prepared

        if self._graphs and (graph := graph_of(self)) is not None:
            raise InvalidType(f"gpu.sweep in the block of graph {graph.name}: a sweep is no node of a graph; call it before the "
                              "block or after it")
        plan = self._plan(name)
        call, values = prepared(plan, self, inputs, keywords, max_fails, retries)
        return finished(plan, call, call.came(), values)

    def eval(self, expression: str, names: Optional[Mapping[str, Any]] = None, /, **keywords: Any) -> Any:
        """Computes an expression, a line of NumPy as a text, on the daemon in one pass.

        The page expressions (`hotplate help expressions`) has its operators and functions. Dtypes follow NumPy 2.

        Args:
            expression: "where(x > 0, x, a*exp(x) - a)"; several statements, with ; between them, give several outputs.
            names, keywords: an array or a number for each name in it; `names` is for those that are options too.
                Python's numbers take the dtype of the arrays beside them, as in NumPy.
            keywords: also the options of every call: keep=, out=, device= and so on.

        Returns:
            An ndarray, or a NumPy scalar; with `keep` a hotplate.Array. Of several outputs a named tuple.

        Raises:
            SyntaxError, NameError: the text is no expression, or has a name that stands for nothing.
            ValueError, IndexError: shapes do not broadcast, or an index is outside.
            TypeError: an operator does not take these dtypes.

        Example:
            >>> gpu.eval("2*x + exp(y)", x=np.arange(3.0), y=np.zeros(3))
            array([1., 3., 5.])
        """
        return self._called(*evaluation(expression, names, keywords))

    def submit(self, kernel: Any, /, *inputs: Any, **keywords: Any) -> CallFuture:
        """Starts a call and returns at once.

        Args:
            kernel: a kernel's name, a method of this client (gpu.matmul), or a function of your own, which runs in a worker
                on the daemon's node (see `function`).
            inputs: as `run` takes them; a function's positional arguments. Futures of other calls stand for their results:
                between kernels the daemon passes these on, for functions they are fetched first. Do not change the arrays
                before the call is over: large ones are read as they are sent.
            keywords: as `run` takes them; a function's own, all of them.

        Returns:
            A concurrent.futures.Future of the result of `run`, with `receipt` and `job_id`; cancel() cancels the job. An
            error of the call is the future's exception. In a future's callback do not wait for another: see
            hotplate.futures.CallFuture.

        Raises:
            TypeError: `kernel` is neither a kernel nor a function.
            KeyError: no such kernel.

        Example:
            >>> futures = [gpu.submit(gpu.matmul, a, b) for b in many]
        """
        plan, arguments, words = resolve(self, kernel, inputs, keywords)
        if self._graphs and (graph := graph_of(self)) is not None:
            noted: CallFuture = graph.note(plan, arguments, words)
            return noted
        return self._begun(plan, arguments, words)

    def _called(self, plan: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Calls a plan and waits; in the block of a graph it is noted."""
        if self._graphs and (graph := graph_of(self)) is not None:
            return graph.note(plan, inputs, keywords)
        if futures_in(inputs, keywords):
            return self._begun(plan, inputs, keywords).result()
        return plan.prepare(self, inputs, keywords).run()

    def _begun(self, plan: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> CallFuture:
        """Starts a call of a plan."""
        global _submit
        if _submit is None:
            from .futures import submit

            _submit = submit
        return _submit(self, plan, inputs, keywords)

    def map(self, kernel: Any, /, *iterables: Iterable[Any]) -> Iterator[Any]:
        """Calls a kernel or a function with the elements of the iterables, as many as the shortest has.

        Returns:
            An iterator of the results in order. All calls are in flight together; those that are left are cancelled when
            one fails, or when the iterator is closed.

        Example:
            >>> totals = list(gpu.map(total, chunks))
        """
        once = sent_once(self, kernel)
        futures = [self.submit(once, *elements) for elements in zip(*iterables)]
        if self._graphs and graph_of(self) is not None:
            return iter(futures)

        def results() -> Iterator[Any]:
            try:
                for future in futures:
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()

        return results()

    def function(self, function: Any = None, /, **options: Any) -> Any:
        """Makes a function of your own one that runs on the daemon's node; also a decorator.

        It runs in a worker: a Python process that stays, with what it has imported, compiled and put on the GPU, so that
        the second call costs a fraction of a millisecond. It is pickled once, by value (with cloudpickle), so that it may
        come from a notebook. See hotplate.functions.Function.

        Args:
            function: the function. Without it, a decorator is returned.
            device: as of `run`. time_limit: in seconds or as "5m": it is interrupted, and its worker ended if it goes on.
            cpus: the processor's threads that it computes with (OMP_NUM_THREADS and the like). On the CPU by default one, and so
                many calls run at a time as the daemon has workers (hotplated --workers); a call of several takes as many.
            priority: -100 to 100.
            wants: "cupy", "jax" or "torch": arrays among the arguments arrive as that library's; default: NumPy's.
            copy: True: NumPy arrays arrive as private copies, which may be changed.
            returns: "object": the result may be anything that can be pickled, and is unpickled here. "ref": the result stays
                in the worker, whatever it is. Default: arrays and plain values come back, other objects stay; what stays is
                a hotplate.Ref here.
            keep: True: arrays in the result stay on the daemon, as hotplate.Array.
            progress: True: a bar here, which hotplate.progress and tqdm move in the function; or a function of a fraction and
                a phase, as of `run`.
            env: the name of an environment of the node (`hotplate env add`). Default: the daemon's own (`hotplate up
                --python`), else this interpreter, sys.executable, where the node sees the same file.
            python: the path of an interpreter on the node, in place of `env`. In a Python of another version (3.11 and 3.12)
                plain functions run as source text, and those of modules that it can import.

        Raises:
            TypeError: it cannot be pickled, or not for the environment's versions. ImportError: cloudpickle is not installed here.
            PermissionError: the daemon was started with --user-code none.
            KeyError: the node has no such environment, interpreter or folder.

        Example:
            >>> @gpu.function(time_limit="1m")
            ... def fit(x, y, degree=3):
            ...     import numpy as np
            ...     return np.polyfit(x, y, degree)
            >>> fit(x, y, degree=5)
        """
        from .functions import Function

        if function is None:
            return lambda one: Function(self, one, **options)
        return Function(self, function, **options)

    def actor(self, kind: Any, /, *args: Any, **kwargs: Any) -> Actor:
        """Makes an object of a class of your own in a worker of its own, and waits until it is there.

        Args:
            kind: the class. Options are told as of a function: gpu.actor(gpu.function(Model, device="gpu0", cpus=4), …), where
                cpus is of its methods too; time_limit, priority, wants, copy, returns and keep are each method's.
            args, kwargs: the class's own, all of them.

        Returns:
            A hotplate.Actor, whose methods return futures.

        Raises:
            Exception: what the class raised.
            hotplate.Busy: 64 actors have a worker each.

        Example:
            >>> model = gpu.actor(Model, "weights.npy")
            >>> model.predict(x).result()
        """
        from .actors import Actor, maker_of

        if self._graphs and (graph := graph_of(self)) is not None:
            raise InvalidType(f"gpu.actor in the block of graph {graph.name}: an actor is there when it is made; make it before the block")
        maker, making = maker_of(self, kind)
        return Actor(maker, making(*args, **kwargs))

    @property
    def aio(self) -> Aio:
        """The same calls for asyncio.

        Example:
            >>> c = await gpu.aio.matmul(a, b)
        """
        from .aio import Aio

        return Aio(self)

    def check(self, name: str, /, *inputs: Any, **keywords: Any) -> dict[str, Any]:
        """Checks a call without running it.

        Returns:
            A dict: the outputs with dtypes and shapes, the devices that could run it, and its cost in FLOP and bytes.

        Raises:
            TypeError, ValueError, KeyError: what `run` would raise before its job began.

        Example:
            >>> gpu.check("matmul", a, b)["outputs"]
        """
        keywords.pop("progress", None)  # nothing moves
        call = self._plan(name).prepare(self, inputs, keywords)
        return self._core.check(call.kernel, call.inputs, call.options)

    @property
    def last_receipt(self) -> Optional[Receipt]:
        """The receipt of this thread's last successful call, or None. Futures, named tuples and kept arrays have their own
        `receipt`; an ndarray cannot have one.

        Example:
            >>> c = gpu.matmul(a, b)
            >>> gpu.last_receipt.kernel_ns
        """
        result = self._core.last_result()
        return None if result is None else Receipt.of_result(result)

    # Arrays.

    @property
    def xp(self) -> Any:
        """hotplate.xp with this client: what makes arrays makes them here.

        Example:
            >>> gpu.xp.zeros((2, 3))
        """
        return of_client(self)

    def array(self, data: Any = None, name: str = "", lease: Optional[Seconds] = None, replace: bool = False,
              dtype: Any = None, progress: Any = None, device: Optional[str] = None) -> Array:
        """Sends an array to the daemon, where it stays. Without `data`, looks up the array called `name`.

        Args:
            data: an ndarray of any strides, of up to 8 axes, or anything that numpy.asarray takes.
            name: keeps the array after its last reference is gone, until the session ends.
            lease: how long the array outlives this client and its session: seconds, "2h" or a timedelta.
            replace: True replaces an array of the same name; without it that is refused.
            dtype: as in numpy.asarray.
            progress: True, or a function of a fraction (0 to 1) and a text.
            device: the id of a device of the daemon: operations on the array and its jobs run there. The elements are copied there
                at first use.

        Raises:
            ValueError: there is an array of that name already, `data` has more than 8 axes, or there is no such device.
            TypeError: the elements are not numbers; a masked array; an array that is on a daemon already; `lease`, `dtype`,
                `replace` or `device` without data.
            KeyError: without data: there is no array of that name.
            MemoryError: the daemon has no room for it.
            ConnectionError: the daemon does not answer.
            KeyboardInterrupt: Ctrl-C. The upload stops, and its part is freed: within 2 seconds, or, if the daemon hangs,
                once it goes on. An array with a name or a lease that was complete by then stays.

        Example:
            >>> A = gpu.array(np.eye(3000), name="A")
        """
        return send(self, data, name, lease, replace, dtype, progress, device)

    @property
    def arrays(self) -> list[Array]:
        """This user's arrays on the daemon. Keeping one of these objects does not keep its array.

        Raises:
            ConnectionError: the daemon does not answer.

        Example:
            >>> sum(array.nbytes for array in gpu.arrays)
        """
        return [described(self, one) for one in self._core.arrays()["arrays"]]

    def free(self, array: Any) -> None:
        """Frees an array.

        Args:
            array: a hotplate.Array, or the name or id of one.

        Raises:
            KeyError: there is no such array.
            TypeError: `array` is something else.

        Example:
            >>> gpu.free("A")
        """
        if isinstance(array, Array):
            array.free()
        else:
            self._core.free(text("array", array, "a hotplate.Array, or the name or id of one, as a str"))

    # Detached jobs: they go on without this client.

    def submit_detached(self, name: str, /, *inputs: Any, **keywords: Any) -> str:
        """Queues a job that outlives this client.

        Args:
            name, inputs, keywords: as `run` takes them, without `out`.

        Returns:
            The job's id, a str: for `wait`, `fetch`, `job`, `cancel` and the command `hotplate`.

        Raises:
            TypeError, ValueError, KeyError: as `run` before its job begins; `out` is a TypeError.
            KeyboardInterrupt: Ctrl-C. The upload stops and is freed, and no job is made. A job that was just being made
                goes on; `jobs()` has its id.

        Example:
            >>> job_id = gpu.submit_detached("svd", a)
        """
        if keywords.get("out") is not None:
            raise InvalidType(f"{name}: out= is for a call that is waited for; wait(job_id) gives the result of this one")
        if keywords.get("keep") is None:
            keywords["keep"] = False  # what has no name is fetched, not kept for nobody
        call = self._plan(name).prepare(self, inputs, keywords)
        try:
            return self._core.submit(call.kernel, call.inputs, call.options)
        finally:
            if call.end_progress is not None:
                call.end_progress()

    def wait(self, job_id: JobId) -> Any:
        """Waits for a detached job and fetches its result, as `run` returns it.

        Args:
            job_id: an int or a str.

        Raises:
            KeyError: there is no such job.
            hotplate.JobFailed: the job failed, was cancelled, or exceeded its time limit.

        Example:
            >>> u, s, vt = gpu.wait(job_id)
        """
        return self._fetched(self._core.wait(number_of_job(job_id)))

    def fetch(self, job_id: JobId) -> Any:
        """Fetches the result of a job that has ended. Does not wait.

        Args:
            job_id: an int or a str.

        Raises:
            KeyError: there is no such job.
            hotplate.Busy: the job has not ended yet.
            hotplate.JobFailed: the job failed, was cancelled, or exceeded its time limit.

        Example:
            >>> if gpu.job(job_id)["state"] == "COMPLETED":
            ...     result = gpu.fetch(job_id)
        """
        return self._fetched(self._core.fetch(number_of_job(job_id)))

    def _fetched(self, result: _core.Result) -> Any:
        kernel: str = Receipt.of_result(result).kernel
        plan = Expression("", (), result.outputs()) if kernel == KERNEL else self._plan(kernel)
        return plan.value(self, result, None, None)

    def job(self, job_id: JobId) -> Job:
        """A job's state, progress, error and receipt, as a dict: see hotplate.jobs.Job.

        Args:
            job_id: an int or a str.

        Raises:
            KeyError: there is no such job.

        Example:
            >>> gpu.job(job_id)["state"]
            'RUNNING'
        """
        return Job(self._core.job(number_of_job(job_id)), self._core)

    def why(self, job_id: JobId) -> Why:
        """Why a job waits, behind whom, and when it will probably start or end: see hotplate.jobs.Why.

        Args:
            job_id: an int or a str.

        Raises:
            KeyError: there is no such job.

        Example:
            >>> print(gpu.why(job_id))
            job 7 waits for a lane of gpu0; job 6 (svd) runs on gpu0 and ends in about 4 s; it probably starts in about 4 s
        """
        return Why(self._core.why(number_of_job(job_id)))

    def graph(self, name: str = "graph", *, detached: bool = False) -> Graph:
        """A block whose calls are one graph of jobs: `with gpu.graph("fit") as g:`.

        Calls of this client in the block, in this thread, run nothing: each returns a hotplate.graphs.GraphCall, which
        the calls after it take. At the end of the block all are checked, shapes far down included, and sent together. An
        exception in the block, or a call that is refused, leaves nothing behind. Then `x.result()` has the values. What
        a variable held at the end of the block, or nobody takes, has a result; the rest stays on the device, for the
        calls that take it. The page `hotplate help graphs` has more.

        Args:
            name: up to 40 letters, digits, _ and -; each graph gets a few digits behind it, so that runs are told apart.
            detached: True: the jobs outlive this client.

        Raises:
            ValueError: another name.

        Example:
            >>> with gpu.graph("fit") as g:
            ...     gram = gpu.matmul(a.T, a)
            ...     largest = gpu.norm(gpu.svd(gram).s, ord=np.inf)
            >>> largest.result()
        """
        from .graphs import Graph

        return Graph(self, name, detached)

    def jobs(self, own_session: bool = False, active_only: bool = False) -> Jobs:
        """This user's jobs, newest first, as a list of hotplate.jobs.Job.

        Args:
            own_session: only jobs of this client's session.
            active_only: only jobs that have not ended.

        Raises:
            ConnectionError: the daemon does not answer.

        Example:
            >>> [job["id"] for job in gpu.jobs(active_only=True)]
        """
        return Jobs(Job(fields, self._core) for fields in self._core.jobs(bool(own_session), bool(active_only)))

    def cancel(self, job_id: JobId) -> Job:
        """Asks the daemon to cancel a job, and returns the job as it is now.

        Args:
            job_id: an int or a str.

        Raises:
            KeyError: there is no such job.

        Example:
            >>> gpu.cancel(job_id)["cancel_requested"]
            True
        """
        return Job(self._core.cancel(number_of_job(job_id)), self._core)

    # The daemon.

    @property
    def devices(self) -> Devices:
        """The devices that kernels run on, as a list of hotplate.telemetry.Device.

        Raises:
            ConnectionError: the daemon does not answer.

        Example:
            >>> [device.id for device in gpu.devices]
            ['gpu0']
        """
        from .telemetry import devices

        return devices(self)

    def telemetry(self, interval: Seconds = 1.0) -> Iterator[Sample]:
        """Yields a hotplate.telemetry.Sample of all devices every `interval` seconds, until the loop ends.

        Args:
            interval: 0.1 to 60 seconds; a number, a text ("500ms") or a timedelta.

        Raises:
            ValueError: another `interval`.
            ConnectionError: in the loop, when the daemon is gone.

        Example:
            >>> for sample in gpu.telemetry(): print(sample)
        """
        from .telemetry import watch

        return watch(self, interval)

    def _repr_html_(self) -> str:
        from .html import daemon_table, table

        caption = repr(self).strip("<>")
        try:
            return daemon_table(self.info(), self.session, caption)
        except (Error, RuntimeError) as error:  # a daemon that is gone, a client that is closed
            return table([("state", error)], caption=caption)
