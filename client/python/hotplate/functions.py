"""Python functions of your own, on the daemon's node."""

from __future__ import annotations

import functools
import io
import os
import pickle
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from .arguments import seconds, shown
from .arrays import Array
from .calls import Call
from .connection import Connection
from .errors import Error, InvalidCall, InvalidType, NotFound
from .prints import Printer
from .receipt import Receipt
from .refs import Held, Ref

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .arguments import Seconds
    from .progress_bar import Report

# Beside the other arguments, which are pickled; what is more is pickled too.
_MOST_ARRAYS = 63
_MOST_AXES = 8
_LIBRARIES = ("cupy", "jax", "torch")
# The dtypes of the daemon's arrays.
_DTYPES = frozenset(np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128"))
# Nothing else in a result is rebuilt here.
_PLAIN: dict[tuple[str, str], Any] = {("builtins", kind.__name__): kind for kind in (complex, bytearray, range, slice, set, frozenset)}
_PLAIN |= {("numpy", "dtype"): np.dtype, ("numpy.core.multiarray", "scalar"): np.float64(0).__reduce__()[0]}
# Not for the node, as hotplate python leaves them out.
_OWN = ("HOTPLATE_", "SSH_")
_OWN_NAMES = frozenset(("DISPLAY", "XDG_RUNTIME_DIR"))


class Function:
    """A Python function that runs in a worker on the daemon's node; made by `gpu.function`.

    A worker is a process that keeps what it has imported, compiled and put on the GPU. Each call takes a lane of a device,
    as a kernel does. Arguments and results are pickled; NumPy arrays and the daemon's arrays among the arguments arrive as
    NumPy arrays that cannot be written to. Arrays, numbers, texts, and tuples, lists, dicts and sets of them come back; any
    other object in a result stays in the worker and comes back as a hotplate.Ref. What it prints is printed here as it comes.

    Example:
        >>> @gpu.function
        ... def spectrum(x):
        ...     import numpy as np
        ...     return np.abs(np.fft.rfft(x))
        >>> spectrum(np.random.rand(1000)).shape
        (501,)
    """

    def __init__(self, client: Any, function: Callable[..., Any], *, device: str = "",
                 time_limit: Optional[Seconds] = None, priority: int = 0, wants: Optional[str] = None, copy: bool = False,
                 returns: Optional[str] = None, keep: bool = False, python: Optional[str] = None,
                 progress: Union[bool, Report, None] = None) -> None:
        if not callable(function):
            raise InvalidType(f"{shown(function)} is no function: gpu.function takes one, or is a decorator of one")
        if wants is not None and wants not in _LIBRARIES:
            raise InvalidCall(f"wants is {shown(wants)}; it can be 'cupy', 'jax' or 'torch', or None for NumPy's arrays")
        if returns not in (None, "object", "ref"):
            raise InvalidCall(f"returns is {shown(returns)}; it can be 'object', for anything that can be pickled, 'ref', for "
                              "what stays in the worker, or None")
        functools.update_wrapper(self, function, updated=())
        self._client = client
        self._function = function
        self._name = getattr(function, "__name__", type(function).__name__)
        self._device = device
        self._time_limit = None if time_limit is None else seconds(f"{self._name}: time_limit", time_limit)
        self._priority = priority
        self._said = {name: value for name, value in (
            ("wants", wants), ("copy", copy), ("returns", returns), ("bars", bool(progress))) if value}
        self._keep = bool(keep)
        self._python = python
        self._progress = progress
        self._alone = False  # in a worker of its own: of an actor
        self._label = ""
        self._id: Optional[str] = None  # once it was sent
        # A worker of another interpreter may have no cloudpickle.
        self._with_cloudpickle = python is not None and python != sys.executable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function and waits.

        Raises:
            Exception: what the function raised; its cause is a hotplate.RemoteError with the worker's traceback.
            hotplate.JobFailed: its worker ended, or the result cannot come back.
            TypeError: an argument that cannot be pickled.
            hotplate.JobTimeout: time_limit passed.
        """
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
        arguments, arrays = _packed(self._name, client, self._said, self._python, inputs, keywords)
        options = _core.Options()
        options.device = self._device
        options.priority = self._priority
        options.time_limit = self._time_limit
        options.label = self._label
        in_worker = any(isinstance(one, Ref) for one in arrays)  # whose environment it is then
        options.function = (self._sent(client), "" if in_worker else environment_of(client, self._python), self._keep,
                            self._alone)
        values: dict[str, Any] = {"arguments": np.frombuffer(arguments, np.uint8)}
        held: dict[str, Any] = {}
        for index, array in enumerate(arrays):
            values[f"a{index}"] = array._ref if isinstance(array, (Array, Ref)) else array
            held[f"a{index}"] = array
        call = Call(client, self, values, options, held)  # type: ignore[arg-type]
        options.on_printed = Printer()
        if self._progress:
            from .progress_bar import attach

            call.end_progress = attach(options, self._progress, self._name)
        return call

    name = "function"

    def _sent(self, client: Connection) -> str:
        if self._id is None:
            name = self._name.encode()[:64].decode("utf-8", "ignore")
            self._id = client._core.put_function(name, pack(self._function, self._with_cloudpickle))
        return self._id

    def forget(self, error: BaseException) -> bool:
        """Whether the error says that the daemon has no longer got what was sent once; the next call sends it again."""
        lost = {field for field, _ in getattr(error, "violations", ())} & {"function", "environment"}
        if lost and isinstance(error, NotFound):
            self._id = None
            _environments.pop(self._client, None)
        return bool(lost)

    def value(self, client: Connection, result: _core.Result, out: Any, keep: Any) -> Any:
        """The result of a call, whose arrays are taken out of the job's."""
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
            refs.append(Ref(client, result.take(f"r{len(refs)}")[0], self._python or sys.executable, Receipt.of_result(result)))
        data = io.BytesIO(np.asarray(result.take("value")).tobytes())
        unpickler: Any = (pickle.Unpickler if self._said.get("returns") == "object" else _Plain)(data)
        unpickler.persistent_load = lambda place: refs[place[0]]._is(*place[1:]) if type(place) is tuple else arrays[place]
        return unpickler.load()


class _Plain(pickle.Unpickler):
    """Rebuilds nothing but plain values and NumPy's scalars: the worker's bytes must not run code here."""

    def find_class(self, module: str, name: str) -> Any:
        kind = _PLAIN.get((module.replace("numpy._core.", "numpy.core."), name))
        if kind is None:
            raise InvalidType(f"the result names {module}.{name}, which is not rebuilt here without returns='object'")
        return kind


def _packed(name: str, client: Connection, said: Mapping[str, Any], python: Optional[str], args: Sequence[Any],
            kwargs: Mapping[str, Any]) -> tuple[bytes, list[Any]]:
    """The pickled arguments, and the arrays that travel beside them, with the Refs."""
    arrays: list[Any] = []
    places: dict[int, int] = {}
    seen: list[Any] = []  # so that no other object gets the id of one of them

    def persistent_id(value: Any) -> Optional[int]:
        if isinstance(value, Held):
            value = value._held
            value._check_for(name, client, python)
        elif isinstance(value, Array):
            if value._client is not client and not client.same_daemon(value._client):
                raise InvalidType(f"{name}: {value!r} is on another daemon than this call's: its elements are A.numpy()")
        elif type(value) is not np.ndarray or value.dtype not in _DTYPES or value.ndim > _MOST_AXES:
            return None
        if id(value) not in places:
            if len(arrays) == _MOST_ARRAYS:
                if type(value) is np.ndarray:
                    return None
                raise InvalidCall(f"{name}: there are more than {_MOST_ARRAYS} arrays and Refs among the arguments, and this one "
                                  f"is the daemon's: {value!r}")
            places[id(value)] = len(arrays)
            seen.append(value)
            arrays.append(value if isinstance(value, (Array, Ref)) else
                          np.asarray(value, value.dtype.newbyteorder("="), order="C"))
        return places[id(value)]

    stream = io.BytesIO()
    pickle.dump(said, stream, 5)
    plain = io.BytesIO()
    pickler: Any = pickle.Pickler(plain, 5)
    pickler.persistent_id = persistent_id
    try:
        pickler.dump((tuple(args), dict(kwargs)))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if isinstance(error, Error):
            raise
        # Functions of __main__, lambdas and the like.
        arrays.clear()
        places.clear()
        plain = io.BytesIO()
        cloud: Any = _cloudpickle().CloudPickler(plain, 5)
        cloud.persistent_id = persistent_id
        try:
            cloud.dump((tuple(args), dict(kwargs)))
        except Error:
            raise
        except Exception as worse:
            raise InvalidType(f"{name}: an argument cannot be pickled: {worse}") from None
    return stream.getvalue() + plain.getvalue(), arrays


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError:
        raise ImportError("functions of your own need the package cloudpickle here: pip install cloudpickle") from None
    return cloudpickle


@functools.lru_cache(maxsize=1)
def _sources() -> dict[str, str]:
    """cloudpickle itself, for a worker that has none."""
    cloudpickle = _cloudpickle()
    folder = os.path.dirname(cloudpickle.__file__)
    sources = {}
    for file in ("cloudpickle.py", "__init__.py"):
        with open(os.path.join(folder, file), encoding="utf-8") as source:
            sources["cloudpickle" if file == "__init__.py" else f"cloudpickle.{file[:-3]}"] = source.read()
    return {name: sources[name] for name in sorted(sources, reverse=True)}


def pack(function: Callable[..., Any], with_cloudpickle: bool = False) -> bytes:
    """A function for a worker, by value where its module is none that the worker can import.

    Args:
        function: the function.
        with_cloudpickle: send cloudpickle along, for a worker that has none.

    Raises:
        TypeError: it cannot be pickled.
        ImportError: there is no cloudpickle.
    """
    cloudpickle = _cloudpickle()
    try:
        code = cloudpickle.dumps(function, 5)
    except Exception as error:
        name = getattr(function, "__name__", repr(function))
        raise InvalidType(f"{name} cannot be sent: {error}") from error
    paths = [os.path.abspath(path) for path in sys.path if path == "" or os.path.isdir(path)]
    return pickle.dumps({"python": sys.version_info[:2], "name": getattr(function, "__name__", type(function).__name__),
                         "path": paths, "cloudpickle": _sources() if with_cloudpickle else {}, "pickle": code}, 5)


_environments: weakref.WeakKeyDictionary[Connection, dict[tuple[str, str, int], str]] = weakref.WeakKeyDictionary()


def environment_of(client: Connection, python: Optional[str]) -> str:
    """The id of the environment that calls run in: this one, with this interpreter or another one."""
    known = _environments.setdefault(client, {})
    # Both halves of a variable as the system has them, which takes a tenth of the time of their texts.
    variables_now = getattr(os.environ, "_data", os.environ)
    key = (python or sys.executable, os.getcwd(), hash(frozenset(variables_now.items())))
    if key not in known:
        variables = [os.fsencode(name) + b"=" + os.fsencode(value) for name, value in os.environ.items()
                     if not name.startswith(_OWN) and name not in _OWN_NAMES]
        known[key] = client._core.open_environment(key[0], variables, key[1])
    return known[key]


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
