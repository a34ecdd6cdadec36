"""Python functions of your own, on the daemon's node."""

from __future__ import annotations

import functools
import io
import pickle
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from .arguments import seconds, shown
from .arrays import Array
from .awaited import check_each_is_one, first_of, futures_in, is_ours, may_be_awaited
from .calls import Call
from .connection import Connection, graph_of
from .environments import check_numpy, environment_of
from .environments import forget as forget_environments
from .errors import Error, InvalidCall, InvalidType, NotFound
from .function_code import cloudpickle_here, name_of, pack
from .operations import told
from .prints import Printer
from .receipt import Receipt
from .refs import Held, Ref

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .arguments import Seconds
    from .environments import Environment
    from .progress_bar import Report

# Beside the other arguments, which are pickled; what is more is pickled too.
_MOST_ARRAYS = 63
_MOST_AXES = 8
_MOST_CPUS = 4096
_MEANT = {"python": "the path of an interpreter on the node", "env": "the name of an environment (hotplate env)"}
_LIBRARIES = ("cupy", "jax", "torch")
# The dtypes of the daemon's arrays.
_DTYPES = frozenset(np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128"))
# Nothing else in a result is rebuilt here.
_PLAIN: dict[tuple[str, str], Any] = {("builtins", kind.__name__): kind for kind in (complex, bytearray, range, slice, set, frozenset)}
_PLAIN |= {("numpy", "dtype"): np.dtype, ("numpy.core.multiarray", "scalar"): np.float64(0).__reduce__()[0]}


class Function:
    """A Python function that runs in a worker on the daemon's node; made by `gpu.function`.

    A worker is a process that keeps what it has imported, compiled and put on the GPU. On a GPU each call takes a lane, as
    a kernel does; on the CPU as many run as there are processors, of one thread each. Arguments and results are pickled;
    NumPy arrays and the daemon's arrays among the arguments arrive as NumPy arrays that cannot be written to. Arrays,
    numbers, texts, and tuples, lists, dicts and sets of them come back; any other object in a result stays in the worker
    and comes back as a hotplate.Ref. What it prints is printed here as it comes.

    Example:
        >>> @gpu.function
        ... def spectrum(x):
        ...     import numpy as np
        ...     return np.abs(np.fft.rfft(x))
        >>> spectrum(np.random.rand(1000)).shape
        (501,)
    """

    def __init__(self, client: Any, function: Callable[..., Any], *, device: str = "", cpus: Optional[int] = None,
                 time_limit: Optional[Seconds] = None, priority: int = 0, wants: Optional[str] = None, copy: bool = False,
                 returns: Optional[str] = None, keep: bool = False, python: Optional[str] = None,
                 env: Optional[str] = None, progress: Union[bool, Report, None] = None) -> None:
        if not callable(function):
            raise InvalidType(f"{shown(function)} is no function: gpu.function takes one, or is a decorator of one")
        if wants is not None and wants not in _LIBRARIES:
            raise InvalidCall(f"wants is {shown(wants)}; it can be 'cupy', 'jax' or 'torch', or None for NumPy's arrays")
        if returns not in (None, "object", "ref"):
            raise InvalidCall(f"returns is {shown(returns)}; it can be 'object', for anything that can be pickled, 'ref', for "
                              "what stays in the worker, or None")
        if python is not None and env is not None:
            raise InvalidCall(f"python={shown(python)} and env={shown(env)}: give one of the two, an interpreter or an environment")
        for option, value in (("python", python), ("env", env)):
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidType(f"{option} is {shown(value)}; it must be a str, as {_MEANT[option]}, or None")
        if cpus is not None and (type(cpus) is not int or not 1 <= cpus <= _MOST_CPUS):
            raise InvalidType(f"cpus is {shown(cpus)}; it must be an int from 1 to {_MOST_CPUS}, or None")
        functools.update_wrapper(self, function, updated=())
        self._client = client
        self._function = function
        self._name = name_of(function)
        self._device = device
        self._cpus = cpus or 0
        self._time_limit = None if time_limit is None else seconds(f"{self._name}: time_limit", time_limit)
        self._priority = priority
        self._said = {name: value for name, value in (
            ("wants", wants), ("copy", copy), ("returns", returns), ("bars", bool(progress))) if value}
        self._keep = bool(keep)
        self._python = python
        self._env = env
        self._progress = progress
        self._alone = False  # in a worker of its own: of an actor
        self._label = ""
        self._ids: dict[tuple[str, str, str], str] = {}  # once it was sent, by the versions that it was sent to

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function and waits.

        Raises:
            Exception: what the function raised; its cause is a hotplate.RemoteError with the worker's traceback.
            hotplate.JobFailed: its worker ended, or the result cannot come back.
            TypeError: an argument that cannot be pickled.
            hotplate.JobTimeout: time_limit passed.
        """
        client: Any = self._client  # which has a `submit`, as every Client
        if client._graphs and (graph := graph_of(client)) is not None:
            return graph.note(self, args, kwargs)
        if futures_in(args, kwargs):
            return client.submit(self, *args, **kwargs).result()
        try:
            return self.prepare(self._client, args, kwargs).run()
        except NotFound as error:
            if not self.forget(error):
                raise
        return self.prepare(self._client, args, kwargs).run()  # nothing has run

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Starts a call and returns at once.

        Returns:
            A concurrent.futures.Future of the result (hotplate.futures.CallFuture); cancel() interrupts the function.

        Example:
            >>> futures = [spectrum.submit(x) for x in many]
        """
        future: Future[Any] = self._client.submit(self, *args, **kwargs)
        return future

    def map(self, *iterables: Iterable[Any]) -> Iterator[Any]:
        """Calls the function with the elements of the iterables, in flight together; yields the results in order.

        Example:
            >>> list(spectrum.map(many))
        """
        results: Iterator[Any] = self._client.map(self, *iterables)
        return results

    def __repr__(self) -> str:
        return f"<function {self._name} on {self._client!r}>"

    # As a kernel's Plan.

    def prepare(self, client: Connection, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Call:
        """The call of these arguments; sends the function if the daemon has not got it."""
        held = first_of(Held, (inputs, keywords))
        ref = None if held is None else held._held
        waits = may_be_awaited(client, (inputs, keywords))
        chosen = environment_of(client, self._python, self._env) if self._python or self._env else None
        # A call with Refs runs in their worker.
        environment = ref._environment if ref is not None else chosen or environment_of(client, None, None)
        try:
            said, arguments, arrays = _packed(self._name, client, environment, chosen, self._said, inputs, keywords, waits)
            refs = [one for one in arrays if isinstance(one, Ref)]
            if refs and refs[0]._environment != environment:  # they are inside other objects
                environment = refs[0]._environment
                said, arguments, arrays = _packed(self._name, client, environment, chosen, self._said, inputs, keywords, waits)
            function = self._sent(client, environment)
        except InvalidType:
            forget_environments(client)  # the interpreter may be mended by the next call
            raise
        options = _core.Options()
        options.device = self._device
        options.priority = self._priority
        options.time_limit = self._time_limit
        options.label = self._label
        options.function = (function, "" if refs else environment.id, self._keep, self._alone, self._cpus)
        values: dict[str, Any] = {"arguments": _told_with(said, arguments)}
        originals: dict[str, Any] = {}
        for index, array in enumerate(arrays):
            values[f"a{index}"] = array._ref if isinstance(array, (Array, Ref)) else array
            originals[f"a{index}"] = array
        call = FunctionCall(client, self, values, options, originals, environment)
        options.on_printed = Printer()
        if self._progress:
            from .progress_bar import attach

            call.end_progress = attach(options, self._progress, self._name)
        return call

    name = "function"
    takes_one = False  # a result of several arrays is an argument too

    def _sent(self, client: Connection, environment: Environment) -> str:
        versions = (environment.python, environment.numpy, environment.cloudpickle)
        if versions not in self._ids:
            name = self._name.encode()[:64].decode("utf-8", "ignore")
            self._ids[versions] = client._core.put_function(name, pack(self._function, environment))
        return self._ids[versions]

    def forget(self, error: BaseException) -> bool:
        """Whether the error says that the daemon has no longer got what was sent once; the next call sends it again."""
        lost = {field for field, _ in getattr(error, "violations", ())} & {"function", "environment"}
        if lost and isinstance(error, NotFound):
            self._ids.clear()
            forget_environments(self._client)
        return bool(lost)

    def value(self, client: Connection, result: _core.Result, environment: Environment) -> Any:
        """The result of a call in this environment, whose arrays are taken out of the job's.

        Raises:
            NotAllowed: this is a guest's connection.
        """
        client._refuse_pickles(f"the result of {name_of(self._function)}")
        came = set(result.outputs())
        arrays: list[Any] = []
        while f"a{len(arrays)}" in came:
            array = result.take(f"a{len(arrays)}")
            if type(array) is tuple:
                array_id, dtype, shape = array
                array = Array(client, array_id, dtype, shape, owned=True, receipt=Receipt.of_result(result))
            arrays.append(array)
        refs: list[Ref] = []
        while f"r{len(refs)}" in came:
            refs.append(Ref(client, result.take(f"r{len(refs)}")[0], environment, Receipt.of_result(result)))
        data = io.BytesIO(np.asarray(result.take("value")).tobytes())
        unpickler: Any = (_Unpickler if self._said.get("returns") == "object" else _Plain)(data)
        unpickler.persistent_load = lambda place: refs[place[0]]._is(*place[1:]) if type(place) is tuple else arrays[place]
        return unpickler.load()


class FunctionCall(Call):
    """A call of a function, which knows where it runs."""

    _refs: Sequence[Ref] = ()

    def __init__(self, client: Connection, function: Function, inputs: dict[str, Any], options: _core.Options,
                 held: Mapping[str, Any], environment: Environment) -> None:
        client._refuse_pickles(f"the result of {name_of(function._function)}")  # before it runs for nothing
        super().__init__(client, function, inputs, options, held)  # type: ignore[arg-type]
        self._function = function
        self._environment = environment
        self._refs = [one for one in held.values() if isinstance(one, Ref)]
        for ref in self._refs:
            ref._used()

    def run(self) -> Any:
        """As of a kernel's call."""
        try:
            return super().run()
        finally:
            self._let_go()

    def give_an_array(self) -> None:
        """Its result is for other jobs, which take an array: a number is one, and all else an error.

        Raises:
            ValueError: it is to return something else.
        """
        told_with = io.BytesIO(self.inputs["arguments"])
        said = pickle.load(told_with)
        if "returns" in said:
            raise InvalidCall(f"it has returns={said['returns']!r}, and other calls take an array of it: leave that out")
        self.inputs["arguments"] = _told_with({**said, "array": "always"}, told_with.read())

    def _let_go(self) -> None:
        refs, self._refs = self._refs, []
        for ref in refs:
            ref._left()

    def __del__(self) -> None:
        self._let_go()

    def finish(self, result: _core.Result) -> Any:
        """The value that the function returned."""
        return self._function.value(self.client, result, self._environment)


# From Python 3.13 on, only those of a class in Python take a persistent_load or persistent_id of their own.
class _Unpickler(pickle.Unpickler):
    pass


class _Pickler(pickle.Pickler):
    pass


class _Plain(pickle.Unpickler):
    """Rebuilds nothing but plain values and NumPy's scalars: the worker's bytes must not run code here."""

    def find_class(self, module: str, name: str) -> Any:
        kind = _PLAIN.get((module.replace("numpy._core.", "numpy.core."), name))
        if kind is None:
            raise InvalidType(f"the result names {module}.{name}, which is not rebuilt here without returns='object'")
        return kind


def _packed(name: str, client: Connection, environment: Environment, chosen: Optional[Environment], said: Mapping[str, Any],
            args: Sequence[Any], kwargs: Mapping[str, Any],
            waits: bool) -> tuple[Mapping[str, Any], bytes, list[Any]]:
    """The worker's instructions, the pickled arguments, and the arrays that travel beside them, with the Refs and, if it
    `waits`, the references to what other jobs make."""
    arrays: list[Any] = []
    places: dict[int, int] = {}
    seen: list[Any] = []  # so that no other object gets the id of one of them

    def later(value: Any) -> tuple[int]:
        """The place of what another job has yet to make; as a tuple it stands for a number where it has no axes."""
        reference = value
        if not isinstance(value, _core.OutputRef):
            value._check_for(client)
            check_each_is_one([value])
            reference = value._reference()
        if reference is None:
            raise InvalidType(f"{name}: a result that is yet to come is inside of another argument: pass it as an argument by "
                              "itself, or its .result()")
        if len(arrays) == _MOST_ARRAYS:
            raise InvalidCall(f"{name}: there are more than {_MOST_ARRAYS} arrays, Refs and results of other calls among the "
                              "arguments")
        arrays.append(reference)
        return (len(arrays) - 1,)

    def persistent_id(value: Any) -> Optional[int]:
        if isinstance(value, Held):
            value = value._held
            value._check_for(name, client, chosen)
        elif isinstance(value, Array):
            if value._client is not client and not client.same_daemon(value._client):
                raise InvalidType(f"{name}: {told(value)} is on another daemon than this call's: its elements are A.numpy()")
        elif type(value) is not np.ndarray or value.dtype not in _DTYPES or value.ndim > _MOST_AXES:
            return None
        if id(value) not in places:
            if len(arrays) == _MOST_ARRAYS:
                if type(value) is np.ndarray:
                    return None
                raise InvalidCall(f"{name}: there are more than {_MOST_ARRAYS} arrays and Refs among the arguments, and this one "
                                  f"is the daemon's: {told(value) if isinstance(value, Array) else value!r}")
            places[id(value)] = len(arrays)
            seen.append(value)
            arrays.append(value if isinstance(value, (Array, Ref)) else
                          np.asarray(value, value.dtype.newbyteorder("="), order="C"))
        return places[id(value)]

    def waiting_id(value: Any) -> Union[int, tuple[int], None]:
        if isinstance(value, _core.OutputRef) or isinstance(value, future) and is_ours(value):
            return later(value)
        return persistent_id(value)

    future = sys.modules["concurrent.futures"].Future if waits else ()
    id_of = waiting_id if waits else persistent_id  # it is called for each object
    plain = io.BytesIO()
    pickler: Any = _Pickler(plain, 5)
    pickler.persistent_id = id_of
    try:
        pickler.dump((tuple(args), dict(kwargs)))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if isinstance(error, Error):
            raise
        # Functions of __main__, lambdas and the like.
        if not environment.same_python:
            raise InvalidType(
                f"{name}: an argument cannot be pickled without its code ({error}), and {environment.who} is Python "
                f"{environment.python}, not {sys.version_info[0]}.{sys.version_info[1]}: code travels between equal versions "
                "alone") from None
        arrays.clear()
        places.clear()
        plain = io.BytesIO()
        cloud: Any = cloudpickle_here().CloudPickler(plain, 5)
        cloud.persistent_id = id_of
        try:
            cloud.dump((tuple(args), dict(kwargs)))
        except Error:
            raise
        except Exception as worse:
            raise InvalidType(f"{name}: an argument cannot be pickled: {worse}") from None
    check_numpy(name, environment, np.__version__, plain.getvalue(), sum(not isinstance(one, Ref) for one in arrays))
    return said if environment.same_python else {**said, "plain": True}, plain.getvalue(), arrays


def _told_with(said: Mapping[str, Any], arguments: bytes) -> np.ndarray[Any, Any]:
    """The input of a call: the worker's instructions, and the pickled arguments."""
    return np.frombuffer(pickle.dumps(said, 5) + arguments, np.uint8)


def progress(fraction: float) -> None:
    """Called in a function that runs in a worker: moves the bar of its caller, if `gpu.function` got progress=True or a
    function, and the job's progress in any case. Elsewhere it does nothing.

    Args:
        fraction: of the work, 0 to 1.

    Raises:
        ValueError: it is not between 0 and 1.

    Example:
        >>> @gpu.function
        ... def train(epochs):
        ...     for epoch in range(epochs):
        ...         hp.progress(epoch / epochs)
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction is {fraction!r}; it must be between 0 and 1")
    worker = sys.modules.get("__hotplate_calls__")
    if worker is not None:
        worker.progress(float(fraction))
