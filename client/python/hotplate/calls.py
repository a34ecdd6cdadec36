"""From a Python call to a job and back: a kernel's spec is prepared once and applied to each call."""

from __future__ import annotations

import collections
import functools
import itertools
import os
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from . import _core
from .arguments import is_no_array, near, path, seconds, shown, text, without_mask, words
from .arrays import Array, check_destination, described
from .awaited import is_reference
from .connection import Connection
from .errors import InvalidCall, InvalidType
from .forms import arranged
from .kernel_spec import OPTIONS, KernelSpec
from .numpy_only import numpy_name
from .operations import told
from .placing import ANY, common
from .receipt import Receipt

_NDARRAY = np.ndarray
# Calls without keywords share these.
_NOTHING_SAID = _core.Options()

# NumPy's products of integers are integers: in float64 they would have another dtype, and not always be exact. A test
# (tests/python/test_shapes.py) requires a decision for each kernel that takes no integers.
_PRODUCTS = frozenset({"batched_matvec", "matmul", "spmv"})


class Call:
    """One call, checked as far as possible without the daemon.

    Attributes:
        kernel: the kernel's name.
        inputs, options: the arguments of `_core.Client.run`. The inputs' memory must live until the call is over.
    """

    out: Optional[dict[str, np.ndarray[Any, Any]]] = None
    end_progress: Optional[Callable[[], None]] = None
    # The one output that was asked for, if not all were.
    only: Optional[str] = None
    # hotplate.actors.Order, of a call that begins after the ones before it; else None.
    order: Optional[Any] = None

    def __init__(self, client: Connection, plan: Plan, inputs: dict[str, Any], options: _core.Options,
                 values: Mapping[str, Any]) -> None:
        self.client = client
        self.plan = plan
        self.kernel = plan.name
        self.inputs = inputs
        self.options = options
        # The original inputs. What an Array is now is among `inputs`, and is not freed before its job has it.
        self.values = values

    def came(self) -> _core.Result:
        """Runs the call and waits; returns what came."""
        try:
            return self.client._core.run(self.kernel, self.inputs, self.options)
        finally:
            if self.end_progress is not None:
                self.end_progress()

    def run(self) -> Any:
        """Runs the call and waits; returns the result of the kernel's method."""
        result = self.came()
        return self.finish(result)

    def finish(self, result: _core.Result) -> Any:
        """The Python value of a job's result."""
        keep = None if self.options is _NOTHING_SAID else self.options.keep or None
        value = self.plan.value(self.client, result, self.out, keep, self.options.device)
        return value if self.only is None else getattr(value, self.only)


class Plan(KernelSpec):
    """A kernel's spec, and how a call of it is prepared."""

    # Takes one result of a call that has several.
    takes_one = True

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec)
        self._signatures: dict[Any, list[dict[str, Any]]] = {}

    # A call.

    def prepare(self, client: Connection, inputs: Sequence[Any], keywords: dict[str, Any]) -> Call:
        """The call of these arguments.

        Raises:
            TypeError: an argument that is unknown or missing, or has a dtype that the kernel does not take.
            ValueError: an `out` that does not fit.
        """
        only = None
        if self.form is not None:
            inputs, keywords, only = arranged(self.name, self.form, inputs, self.inputs, keywords)
        values = dict(zip(self.inputs, inputs))
        if len(inputs) > len(self.inputs):
            arrays = "array" if len(self.inputs) == 1 else "arrays"
            takes = f"{len(self.inputs)} {arrays} ({', '.join(self.inputs)})" if self.inputs else "no arrays"
            raise InvalidType(f"{self.name} takes {takes}; {len(inputs)} were given. Parameters are keywords: "
                              f"{', '.join(param.keyword for param in self.params.values()) or 'it has none'}")
        params, special = self._sorted(values, keywords) if keywords else (None, None)
        if len(values) < len(self.inputs):
            missing = [name for name in self.inputs if name not in values]
            raise InvalidType(f"{self.name} needs {words(self.inputs)}; {words(missing)} "
                              f"{'is' if len(missing) == 1 else 'are'} missing")
        for param in self.required:
            if keywords.get(param.keyword, keywords.get(param.name)) is None:
                raise InvalidType(f"{self.name} needs {param.keyword}=: {param.docs}")
        prepared = self._arrays(client, values)
        stays = prepared is not values and any(isinstance(value, Array) for value in values.values())
        options = _core.Options() if keywords or stays else _NOTHING_SAID
        call = Call(client, self, prepared, options, values)
        if only is not None:
            call.only = only
        if params:
            options.params = params
        if special or stays:
            self._options(call, special or {})
        return call

    def _sorted(self, values: dict[str, Any], keywords: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """A call's keywords: inputs go to `values`, parameters and what every call can be told are returned."""
        params: dict[str, Any] = {}
        special: dict[str, Any] = {}
        for name, value in keywords.items():
            param = self.keywords.get(name)
            if param is not None:
                if value is not None:  # None: the default
                    params[param.name] = param.convert(value)
            elif name in self.rules:
                if name in values:
                    raise InvalidType(f"{self.name} got {name} twice: by position and as a keyword")
                values[name] = value
            elif name in OPTIONS:
                special[name] = value
            else:
                known = [*self.inputs, *self.params, *(self.form.own if self.form else ()), *OPTIONS]
                raise InvalidType(f"{self.name} has no argument {name!r}{near(name, known)}")
        return params, special

    def _check_is_there(self, client: Connection, name: str, array: Array) -> None:
        """Ids of arrays are a daemon's own: another daemon may have another array of the same id."""
        if array._client.closed:
            raise InvalidType(f"{self.name}: {name} is {told(array)}, whose client is closed: what stays is gpu.array(name=…)")
        if not client.same_daemon(array._client):
            raise InvalidType(f"{self.name}: {name} is {told(array)}, and that is another daemon than this call's: its elements "
                              "are A.numpy()")

    def _arrays(self, client: Connection, values: dict[str, Any]) -> dict[str, Any]:
        """The inputs as the client library takes them: mostly as they are."""
        chosen: dict[str, np.dtype[Any]] = {}
        for name, value in values.items():
            if type(value) is not _NDARRAY or not value.flags.c_contiguous:
                return self._converted(client, values)
            variable, dtypes = self.rules[name]
            dtype = value.dtype
            if dtype not in dtypes or chosen.setdefault(variable, dtype) != dtype:
                return self._converted(client, values)
        return values

    def _converted(self, client: Connection, values: dict[str, Any]) -> dict[str, Any]:
        """The inputs as C-ordered ndarrays of one dtype for each type variable, and references."""
        for name, value in values.items():
            if isinstance(value, Array) and value._client is not client:
                self._check_is_there(client, name, value)
        plain = {name: _plain(name, value) for name, value in values.items()}
        converted: dict[str, Any] = {}
        for variable in dict.fromkeys(variable for variable, _ in self.rules.values()):
            names = [name for name, (its, _) in self.rules.items() if its == variable]
            dtype = self._dtype_for(names, values, plain)
            for name in names:
                value = plain[name]
                if isinstance(value, Array):
                    converted[name] = value._ref
                elif is_reference(value):
                    converted[name] = value
                else:
                    self._check_fits(name, values[name], dtype)
                    converted[name] = np.asarray(value, dtype=dtype, order="C")
        return {name: converted[name] for name in values}

    def _check_fits(self, name: str, value: Any, dtype: np.dtype[Any]) -> None:
        """Checks the range: Python's integers have no width, and numpy.asarray would truncate them to the others'
        dtype."""
        if type(value) is not int:
            return
        info: Any = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
        if not int(info.min) <= value <= int(info.max):
            raise InvalidCall(f"{self.name}: {name} is {shown(value)}, which is no {dtype}, the dtype of this call")

    def _dtype_for(self, names: Sequence[str], values: Mapping[str, Any], plain: Mapping[str, Any]) -> np.dtype[Any]:
        """The common dtype of the inputs of one type variable, by NumPy's rules."""
        dtypes = self.rules[names[0]][1]
        here = [name for name in names if not is_reference(plain[name])]
        held = [plain[name] for name in here]
        if held and names[0] in self.bfloat16 and all(isinstance(one, Array) and one._dtype == "bfloat16" for one in held):
            return np.dtype(np.float64)  # empty lists: there is nothing to convert
        known = [self._counts_as(value, dtypes) for value in held]
        if not known:
            return np.dtype(np.float64)
        natural: Optional[np.dtype[Any]] = None
        if all(dtype == known[0] for dtype in known):
            natural = known[0].newbyteorder("=")
        else:
            # Python's own numbers do not decide the width.
            weighed = [values[name] if type(values[name]) in (int, float, complex) else
                       plain[name] if isinstance(plain[name], _NDARRAY) and plain[name].dtype == dtype else dtype
                       for name, dtype in zip(here, known)]
            try:
                natural = np.result_type(*weighed)
            except TypeError:
                pass
        # Lists and numbers have no dtype of their own; arrays of other packages (a Series, a Tensor) do.
        if natural is not None and natural not in dtypes and not any(hasattr(values[name], "dtype") for name in names):
            whole = natural.kind in "biu" and self.name in _PRODUCTS
            wider = [dtype for dtype in dtypes if not whole and np.can_cast(natural, dtype, "safe")]
            natural = max(wider, key=lambda dtype: (dtype == np.float64, -dtype.itemsize)) if wider else None
        if natural in dtypes and all(value.dtype == natural for value in held if isinstance(value, Array)):
            return natural
        for name in here:
            if type(values[name]) is int and plain[name].dtype == np.dtype(object):
                raise InvalidCall(f"{self.name}: {name} is {shown(values[name])}, which is no 64-bit integer")
        are = words([f"{name} is {_told(values[name], plain[name])}" for name in here])
        one = "of one dtype, " if len(names) > 1 else ""
        takes = words(sorted(map(str, dtypes)), "or")
        advice = "" if any(is_no_array(values[name], plain[name]) for name in here) else self._conversion(
            [values[name] for name in here], {plain[name].dtype.kind for name in here})
        raise InvalidType(f"{self.name} takes {words(names)} {one}{takes}; {are}{advice}")

    def _conversion(self, given: Sequence[Any], kinds: set[str]) -> str:
        """Advice on arrays of other dtypes; empty if there is none."""
        if kinds - set("biufc"):
            return ": the arrays of a daemon are of numbers"
        if "c" in kinds and not any(dtype.kind == "c" for _, dtypes in self.rules.values() for dtype in dtypes):
            by_numpy = f"write gpu.function({numpy_name(self.name)})({', '.join(self.inputs)}), or " if numpy_name(self.name) else ""
            return f": complex numbers are not computed here: {by_numpy}take a.real and a.imag"
        of_lists = not any(hasattr(value, "dtype") for value in given)
        return ": convert with numpy.asarray(…, dtype=…)" if of_lists else ": convert with astype"

    def _counts_as(self, value: Any, dtypes: frozenset[np.dtype[Any]]) -> np.dtype[Any]:
        """The array's dtype; float64 (complex128) for integers and bools if the kernel takes none, as in
        numpy.linalg."""
        dtype: np.dtype[Any] = value.dtype
        if dtype.kind not in "biu" or self.name in _PRODUCTS or any(taken.kind in "biu" for taken in dtypes):
            return dtype
        return next((wide for wide in (np.dtype("float64"), np.dtype("complex128")) if wide in dtypes), dtype)

    # Options of every call.

    def _options(self, call: Call, given: Mapping[str, Any]) -> None:
        options = call.options
        outputs = self.outputs if call.only is None else (call.only,)
        for name in ("device", "precision", "deterministic", "priority"):
            if given.get(name) is not None:
                self._set(options, name, given[name])
        if not options.device:
            options.device = common((value._now().device, f"{self.name}'s {name}") for name, value in call.values.items()
                                    if isinstance(value, Array))
        for name in ("time_limit", "deadline"):
            if given.get(name) is not None:
                setattr(options, name, seconds(f"{self.name}: {name}", given[name]))
        keep = given.get("keep")
        if keep is None and given.get("out") is None and any(isinstance(value, Array) for value in call.values.values()):
            keep = True  # with an array of the daemon's among the inputs, results are the daemon's too
        if keep is not None and keep is not False:
            options.keep = self._keep(outputs, keep, given.get("lease"))
        elif given.get("lease") is not None:
            raise InvalidType(f"{self.name}: lease= is for results that stay on the daemon; say keep=True or keep='name' too")
        if given.get("out") is not None:
            if options.keep:
                raise InvalidType(f"{self.name}: out= and keep= exclude each other: a result comes back or stays")
            call.out = self._destinations(outputs, call, given["out"])
            options.out = call.out
        if given.get("progress"):
            from .progress_bar import attach

            call.end_progress = attach(options, given["progress"], self.name)

    def _set(self, options: _core.Options, name: str, value: Any) -> None:
        try:
            setattr(options, name, value)
        except TypeError:
            wanted = {"priority": "an integer from -100 to 100", "deterministic": "True or False"}.get(name, "a str")
            raise InvalidType(f"{self.name}: {name} is {value!r}; it must be {wanted}") from None

    def _keep(self, outputs: Sequence[str], keep: Any, lease: Any) -> dict[str, tuple[str, Optional[float]]]:
        duration = None if lease is None else seconds(f"{self.name}: lease", lease)
        if keep is True:
            return {output: ("", duration) for output in outputs}
        if isinstance(keep, str):
            if len(outputs) != 1:
                raise InvalidType(f"{self.name} has the outputs {words(outputs)}: name them, "
                                  f"keep={{{outputs[0]!r}: {keep!r}}}")
            return {outputs[0]: (text(f"{self.name}: keep", keep), duration)}
        if not isinstance(keep, Mapping):
            raise InvalidType(f"keep is {keep!r}; it must be True, a name, or a dict of outputs and names")
        for output in keep:
            if output not in outputs:
                raise InvalidType(f"{self.name} has no output {output!r}{near(output, outputs)}")
        wanted = "True, or a name as a str"
        return {output: ("" if name is True else text(f"{self.name}: keep of {output}", name, wanted), duration)
                for output, name in keep.items()}

    def _destinations(self, outputs: Sequence[str], call: Call, out: Any) -> dict[str, np.ndarray[Any, Any]]:
        if isinstance(out, Mapping):
            given = dict(out)
        elif isinstance(out, tuple):
            given = {name: array for name, array in zip(outputs, out) if array is not None}
            if len(out) != len(outputs):
                raise ValueError(f"out has {len(out)} arrays; {self.name} has the outputs {words(outputs)}")
        elif len(outputs) == 1:
            given = {outputs[0]: out}
        else:
            raise InvalidType(f"{self.name} has the outputs {words(outputs)}: out must be a tuple or a dict of arrays")
        signatures = {output["name"]: output for output in self._infer(call)}
        for name, array in given.items():
            output = signatures.get(name)
            if output is None:
                raise InvalidType(f"{self.name} has no output {name!r} here{near(name, list(signatures))}")
            if output["at_most"]:
                raise ValueError(f"out={name}: how large it is, the data decide; take the result as it comes")
            check_destination(name if len(outputs) > 1 else "out", array, output["signature"]["dtype"],
                              tuple(output["signature"]["shape"]))
        for one, other in itertools.combinations(given, 2):
            if np.may_share_memory(given[one], given[other]):
                raise ValueError(f"out: {one} and {other} are to land in the same memory")
        return given

    def _infer(self, call: Call) -> list[dict[str, Any]]:
        """The outputs' signatures; asks the daemon for inputs that were not asked about before."""
        def ask() -> list[dict[str, Any]]:
            outputs: list[dict[str, Any]] = call.client._core.check(self.name, call.inputs, call.options)["outputs"]
            return outputs

        shapes = []
        for name in self.inputs:  # in the spec's order, not in that of the caller's keywords
            value = call.inputs[name]
            if not isinstance(value, _NDARRAY):
                return ask()
            shapes.append((value.dtype, value.shape))
        # 1 and 1.0 are the same key but not the same dtype.
        key = (tuple(shapes), tuple(sorted((name, type(value), value) for name, value in call.options.params.items())))
        found = self._signatures.get(key)
        if found is None:
            found = ask()
            if len(self._signatures) >= 256:
                self._signatures.clear()
            self._signatures[key] = found
        return found

    def forget(self, error: BaseException) -> bool:
        """As of a hotplate.functions.Function, after an error; a kernel stays where it is, so that there is nothing to forget."""
        return False

    # Results.

    def value(self, client: Connection, result: _core.Result, out: Optional[Mapping[str, np.ndarray[Any, Any]]],
              keep: Optional[Mapping[str, tuple[str, Optional[float]]]], device: str = "") -> Any:
        """One output by itself; several as a named tuple. `device`: the one that was asked for."""
        if len(self.outputs) == 1:
            return _output(client, result, self.outputs[0], out, keep, device)
        came = result.outputs()
        values = [_output(client, result, name, out, keep, device) if name in came else None for name in self.outputs]
        return _result(self.name, self.outputs, values, Receipt.of_result(result))

    def docs(self) -> str:
        """A docstring, from the spec, in lines for a terminal."""
        from .help import docs

        return docs(self)


def _plain(name: str, value: Any) -> Any:
    """An ndarray in any order, an Array or a reference to a file."""
    if isinstance(value, (Array, _core.OutputRef)):
        return value
    if isinstance(value, os.PathLike):
        return _core.PathRef(path(name, value))
    return without_mask(name, value)


def _told(value: Any, plain: Any) -> str:
    if is_no_array(value, plain):
        return f"a {type(value).__name__}, which is no array"
    return f"{plain.dtype}{' on the daemon' if isinstance(plain, Array) else ''}"


def _output(client: Connection, result: _core.Result, name: str, out: Optional[Mapping[str, np.ndarray[Any, Any]]],
            keep: Optional[Mapping[str, tuple[str, Optional[float]]]], device: str) -> Any:
    value = result.take(name)
    if value is None:
        return out[name] if out else None
    if type(value) is tuple:
        if keep is None:  # of a job that was fetched: kept by a name or a lease
            return described(client, client._core.describe_array(value[0]), receipt=Receipt.of_result(result))
        array_name, lease = keep[name]
        array_id, dtype, shape = value
        return Array(client, array_id, dtype, shape, array_name, owned=not array_name and lease is None,
                     receipt=Receipt.of_result(result), device="" if device == ANY else device)
    return value


@functools.lru_cache(maxsize=None)
def _result_type(kernel: str, outputs: tuple[str, ...]) -> type:
    names = collections.namedtuple("Result", outputs)  # type: ignore[misc]
    # No slots: the tuple has its receipt as an attribute.
    return type(f"{kernel}_result", (names,), {
        "__module__": __name__, "__doc__": f"The outputs of {kernel}, and `receipt`.",
        "_replace": lambda self, **others: _result(kernel, outputs, names._replace(self, **others), self.receipt),
        "__reduce__": lambda self: (_result, (kernel, outputs, tuple(self), self.receipt))})


def _result(kernel: str, outputs: tuple[str, ...], values: Sequence[Any], receipt: Receipt) -> Any:
    """A result tuple. Also called by pickle, since the tuple's type cannot be imported."""
    named = _result_type(kernel, outputs)(*values)
    named.receipt = receipt
    return named
