"""NumPy's own functions over arrays on the daemon: numpy.exp(A), numpy.where(M, A, 0), numpy.linalg.norm(A)."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from .computing import Computing
from .errors import InvalidCall, InvalidType
from .graph import Axis
from .operations import converted, dtype_name, each, integer, made, node_of, told
from .refusing import INSTEAD, refuse
from .views import all_viewed

# NumPy's functions element by element, by their names there. Their texts in an expression are the same but for these.
UFUNCS: Mapping[str, str] = {**{name: name + "({})" for name in (
    "negative positive absolute sign square sqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos "
    "arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isnan isinf isfinite signbit logical_not invert "
    "conjugate").split()}, **{name: name + "({},{})" for name in (
        "add subtract multiply divide floor_divide remainder fmod power maximum minimum fmax fmin hypot copysign logaddexp arctan2 "
        "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
        "left_shift right_shift").split()},
    "fabs": "absolute({})", "deg2rad": "multiply({},0.017453292519943295)", "radians": "multiply({},0.017453292519943295)",
    "rad2deg": "multiply({},57.29577951308232)", "degrees": "multiply({},57.29577951308232)"}
_REDUCTIONS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_or": "any", "logical_and": "all"}
_OF_FLOATS = frozenset(("fabs", "deg2rad", "radians", "rad2deg", "degrees"))
_FFT = ("fft", "ifft", "rfft", "irfft")


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say something."""
    unsaid = {"subok": True, "casting": "same_kind", "order": "K", "where": True, "out": None, "dtype": None}
    return {name: value for name, value in options.items()
            if not (name in unsaid and (value is unsaid[name] or isinstance(value, str) and value == unsaid[name]))
            and value is not np._NoValue}  # type: ignore[attr-defined]


def ufunc(array: Computing, called: Any, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Implements __array_ufunc__.

    Raises:
        TypeError: the function, the method or an option is none that arrays on the daemon have.
    """
    name = called.__name__
    said = _said(options)
    out = said.pop("out", None)
    if method == "reduce" and name in _REDUCTIONS:
        said.setdefault("axis", 0)
        return getattr(array_of(array, inputs[0]), _REDUCTIONS[name])(out=out, **said)
    if method == "outer" and name in UFUNCS and not said:
        first, second = (array_of(array, one) for one in inputs)
        shape = first.shape + (1,) * len(second._shape)
        return ufunc(array, called, "__call__", (first.reshape(shape), second), {"out": out})
    if method != "__call__":
        refuse(f"numpy.{name}.{method}", array)
    if name == "matmul" and not said:
        product = array._client.matmul(*inputs, keep=True)
        return product if out is None else out[0]._assign(product._node, name)
    if name == "divmod" and not said and out is None:
        return divmod(array_of(array, inputs[0]), inputs[1])
    text = UFUNCS.get(name)
    if text is None:
        refuse(f"numpy.{name}", array, INSTEAD.get(name, ""))
    values: list[Any] = list(inputs)
    if "dtype" in said:
        dtype = dtype_name(said.pop("dtype"))
        values = [value if type(value) in (bool, int, float, complex) else converted(array._client, node_of(array._client, value),
                                                                                     dtype)
                  for value in values]
    if name in _OF_FLOATS and values and type(values[0]) not in (bool, int, float):
        value = node_of(array._client, values[0])
        values = [converted(array._client, value, called(np.zeros(1, value.dtype)).dtype.name)]
    if said:
        refuse(f"numpy.{name} with {', '.join(f'{option}=' for option in said)}", array)
    return array._into(each(array._client, text, values, name), out, name)


def array_of(array: Computing, value: Any) -> Computing:
    """A value as an array of the daemon's, as another array is."""
    return value if isinstance(value, Computing) else array._of(node_of(array._client, value))


# NumPy's functions that are no ufuncs: by name, each called with an array of the daemon's, and then NumPy's own arguments.

Function = Callable[..., Any]
FUNCTIONS: dict[str, Function] = {}


def _named(*names: str) -> Callable[[Function], Function]:
    def add(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return add


def _method(name: str) -> Function:
    def call(array: Computing, a: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(array_of(array, a), name)(*arguments, **_said(options))

    return call


for _name in ("sum prod min max any all argmin argmax mean var std round clip reshape ravel squeeze swapaxes diagonal trace take "
              "astype copy").split():
    FUNCTIONS[_name] = _method(_name)
FUNCTIONS.update(amin=_method("min"), amax=_method("max"), around=_method("round"), round_=_method("round"))


def _view_of(function: Function) -> Function:
    return lambda array, a, *arguments, **options: array_of(array, a)._viewed(lambda whole: function(whole, *arguments, **options))


for _name in ("transpose moveaxis rollaxis flip fliplr flipud rot90 expand_dims broadcast_to atleast_1d atleast_2d atleast_3d "
              "matrix_transpose permute_dims").split():
    if hasattr(np, _name):
        FUNCTIONS[_name] = _view_of(getattr(np, _name))


def _views_of(function: Function) -> Function:
    def call(array: Computing, a: Any, *arguments: Any, **options: Any) -> Any:
        whole = array_of(array, a)
        return [whole._view(one) for one in all_viewed(whole._where(), lambda part: function(part, *arguments, **options))]

    return call


for _name in "split array_split hsplit vsplit dsplit unstack".split():
    if hasattr(np, _name):
        FUNCTIONS[_name] = _views_of(getattr(np, _name))


FUNCTIONS["real"] = lambda array, a: array_of(array, a).real
FUNCTIONS["imag"] = lambda array, a: array_of(array, a).imag
FUNCTIONS["shape"] = lambda array, a: a.shape
FUNCTIONS["ndim"] = lambda array, a: len(a.shape)
FUNCTIONS["size"] = lambda array, a, axis=None: a.size if axis is None else a.shape[axis]
FUNCTIONS["iscomplexobj"] = lambda array, a: a.dtype.kind == "c"
FUNCTIONS["isrealobj"] = lambda array, a: a.dtype.kind != "c"
FUNCTIONS["result_type"] = lambda array, *values: np.result_type(*_dtypes(values))
FUNCTIONS["can_cast"] = lambda array, a, to, casting="safe": np.can_cast(a.dtype, to, casting)
FUNCTIONS["may_share_memory"] = FUNCTIONS["shares_memory"] = lambda array, a, b, **options: _root(a) is _root(b)


def _root(value: Any) -> Any:
    return (value if value._base is None else value._base) if isinstance(value, Computing) else value


def _dtypes(values: Sequence[Any]) -> list[Any]:
    return [value.dtype if isinstance(value, Computing) else value for value in values]


@_named("where")
def _where(array: Computing, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        refuse("numpy.where without values", array, "numpy.where(M, A, B)")
    return array._of(each(array._client, "where({},{},{})", [condition, x, y], "where"))


@_named("isclose")
def _isclose(array: Computing, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    x, y = array_of(array, a), array_of(array, b)
    if y._dtype == "bool" or "int" in y._dtype:
        y = y.astype("float64")
    client = array._client
    both = "logical_and(isfinite({0}),isfinite({1}))"
    near = "less_equal(absolute(subtract({0},{1})),add({3},multiply({2},absolute({1}))))"
    same = "equal({0},{1})"
    if equal_nan:
        same = f"logical_or({same},logical_and(isnan({{0}}),isnan({{1}})))"
    return array._of(each(client, f"where({both},{near},{same})", [x, y, float(rtol), float(atol)]))


@_named("allclose")
def _allclose(array: Computing, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(_isclose(array, a, b, rtol, atol, equal_nan).all())


@_named("array_equal")
def _array_equal(array: Computing, a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = array_of(array, a1), array_of(array, a2)
    if x._shape != y._shape:
        return False
    text = "logical_or(equal({0},{1}),logical_and(isnan({0}),isnan({1})))" if equal_nan else "equal({0},{1})"
    return bool(array._of(each(array._client, text, [x, y])).all())


@_named("array_equiv")
def _array_equiv(array: Computing, a1: Any, a2: Any) -> bool:
    try:
        return bool((array_of(array, a1) == a2).all())
    except ValueError:
        return False


def _full(array: Computing, a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    name = (array_of(array, a)._dtype) if dtype is None else dtype_name(dtype)
    sizes = array_of(array, a)._shape if shape is None else tuple(shape) if isinstance(shape, (tuple,
                                                                                               list)) else (integer("shape", shape),)
    one = np.empty((), name)
    one[...] = value
    return array._of(made(array._client, name + "({})", [one.item()], name, tuple(map(int, sizes))))


FUNCTIONS["zeros_like"] = FUNCTIONS["empty_like"] = (
    lambda array, a, dtype=None, order="K", subok=True, shape=None, **options: _full(array, a, 0, dtype, shape))
FUNCTIONS["ones_like"] = lambda array, a, dtype=None, order="K", subok=True, shape=None, **options: _full(array, a, 1, dtype, shape)
FUNCTIONS["full_like"] = (
    lambda array, a, fill_value, dtype=None, order="K", subok=True, shape=None, **options: _full(array, a, fill_value, dtype,
                                                                                                 shape))


@_named("nan_to_num")
def _nan_to_num(array: Computing, x: Any, copy: bool = True, nan: float = 0.0, posinf: Optional[float] = None,
                neginf: Optional[float] = None) -> Any:
    value = array_of(array, x)
    if not value._dtype.startswith("float"):
        return value.copy()
    limits = np.finfo(value._dtype)
    high, low = (float(limits.max) if posinf is None else posinf), (float(limits.min) if neginf is None else neginf)
    return array._of(each(array._client, "where(isnan({0}),{1},where(equal({0},inf),{2},where(equal({0},-inf),{3},{0})))",
                          [value, float(nan), float(high), float(low)]))


@_named("concatenate", "concat")
def _concatenate(array: Computing, arrays: Sequence[Any], axis: Optional[int] = 0, out: Any = None, *, dtype: Any = None,
                 casting: str = "same_kind") -> Any:
    parts = [array_of(array, one) for one in arrays]
    if axis is None:
        parts, axis = [part.ravel() for part in parts], 0
    rank = len(parts[0]._shape)
    if not rank:
        raise InvalidCall("zero-dimensional arrays cannot be concatenated")
    if not -rank <= axis < rank:
        raise InvalidCall(f"axis {axis} is out of bounds for array of dimension {rank}")
    axis %= rank
    others = {part._shape[:axis] + part._shape[axis + 1:] for part in parts}
    if len(others) > 1 or any(len(part._shape) != rank for part in parts):
        raise InvalidCall("all the input array dimensions except for the concatenation axis must match exactly: " +
                          ", ".join(told(part) for part in parts))
    name = dtype_name(dtype) if dtype is not None else np.result_type(*[part.dtype for part in parts]).name
    shape = parts[0]._shape[:axis] + (sum(part._shape[axis] for part in parts),) + parts[0]._shape[axis + 1:]
    parts = [part for part in parts if 0 not in part._shape]
    if len(parts) > 50:
        half = len(parts) // 2
        return _concatenate(array, [_concatenate(array, parts[:half], axis), _concatenate(array, parts[half:], axis)], axis, out,
                            dtype=dtype)
    if not parts:
        return array._into(made(array._client, name + "(0)", [], name, shape), out, "concatenate")
    text, operands, begin = "", [part._now() for part in parts] + [Axis(place) for place in range(rank)], 0
    places = [f"{{{len(parts) + place}}}" if shape[place] > 1 else "0" for place in range(rank)]
    open_, last = "", len(parts) - 1
    for number, part in enumerate(parts):
        length = part._shape[axis]
        own = list(places)
        own[axis] = f"clip(subtract({places[axis]},{begin}),0,{length - 1})"
        element = f"{name}({{{number}}}[{','.join(own)}])"
        begin += length
        text += element if number == last else f"where(less({places[axis]},{begin}),{element},"
        open_ += "" if number == last else ")"
    return array._into(made(array._client, text + open_, operands, name, shape, len(parts)), out, "concatenate")


@_named("stack")
def _stack(array: Computing, arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None,
           casting: str = "same_kind") -> Any:
    parts = [array_of(array, one) for one in arrays]
    if len({part._shape for part in parts}) > 1:
        raise InvalidCall("all input arrays must have the same shape: " + ", ".join(told(part) for part in parts))
    return _concatenate(array, [part._viewed(lambda whole: np.expand_dims(whole, axis)) for part in parts], axis, out,
                        dtype=dtype)


@_named("vstack", "row_stack")
def _vstack(array: Computing, tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return _concatenate(array, [array_of(array, one)._viewed(np.atleast_2d) for one in tup], 0, dtype=dtype)


@_named("hstack")
def _hstack(array: Computing, tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [array_of(array, one)._viewed(np.atleast_1d) for one in tup]
    return _concatenate(array, parts, 0 if len(parts[0]._shape) == 1 else 1, dtype=dtype)


@_named("outer")
def _outer(array: Computing, a: Any, b: Any, out: Any = None) -> Any:
    x, y = array_of(array, a).ravel(), array_of(array, b).ravel()
    return array._into(each(array._client, "multiply({},{})", [x[:, None], y]), out, "outer")


@_named("average")
def _average(array: Computing, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
             keepdims: Any = False) -> Any:
    if weights is not None or returned:
        refuse("numpy.average with weights", array, "(A * W).sum() / W.sum()")
    return array_of(array, a).mean(axis, keepdims=keepdims is True)


@_named("count_nonzero")
def _count_nonzero(array: Computing, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return (array_of(array, a) != 0).sum(axis, keepdims=keepdims)


@_named("ptp")
def _ptp(array: Computing, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    value, kept = array_of(array, a), keepdims is True
    return value.max(axis, keepdims=kept) - value.min(axis, keepdims=kept)


@_named("copyto")
def _copyto(array: Computing, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Computing):
        raise InvalidType(f"numpy.copyto: dst is an ndarray, and src is on the daemon: fetch it, {told(array)}.numpy(out=dst)")
    if where is True:
        dst[...] = src
    else:
        dst[...] = _where(array, where, src, dst)


# Products and the like: the daemon's kernels, which run at their line.


def _kernel(name: str, **fixed: Any) -> Function:
    def call(array: Computing, *arguments: Any, **options: Any) -> Any:
        return getattr(array._client, name)(*arguments, keep=True, **fixed, **_said(options))

    return call


FUNCTIONS.update({
    "dot": _kernel("dot"), "inner": _kernel("dot"), "matvec": _kernel("matmul"), "linalg.norm": _kernel("norm"),
    "linalg.solve": _kernel("solve"), "linalg.cholesky": _kernel("cholesky"), "linalg.eigh": _kernel("eigh"),
    "linalg.eigvalsh": lambda array, a, UPLO="L": array._client.eigh(a, compute="values", keep=True).w,
    "linalg.svd": lambda array, a, full_matrices=True, compute_uv=True, hermitian=False: array._client.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, keep=True),
    "linalg.svdvals": lambda array, x: array._client.svd(x, compute_uv=False, keep=True),
    "linalg.matmul": _kernel("matmul"), "sort": lambda array, a, axis=-1, **options: _sorted(array, array_of(array, a), axis)})
for _name in _FFT:
    FUNCTIONS[f"fft.{_name}"] = (
        lambda array, a, n=None, axis=-1, norm=None, out=None, _own=_name: _transformed(array, a, n, axis, norm, _own))


def _sorted(array: Computing, value: Any, axis: Optional[int]) -> Any:
    if axis is None:
        return array._client.sort(value.ravel(), keep=True)
    last = value._viewed(lambda whole: np.moveaxis(whole, axis, -1))
    return array._client.sort(last, keep=True)._viewed(lambda whole: np.moveaxis(whole, -1, axis))


def _transformed(array: Computing, a: Any, n: Optional[int], axis: int, norm: Optional[str], transform: str) -> Any:
    value = array_of(array, a)
    last = value._viewed(lambda whole: np.moveaxis(whole, axis, -1))
    done = array._client.fft(last, 0 if n is None else n, transform=transform, norm=norm or "backward", keep=True)
    return done if axis in (-1, len(value._shape) - 1) else done._viewed(lambda whole: np.moveaxis(whole, -1, axis))


def function(array: Computing, called: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Implements __array_function__.

    Raises:
        TypeError: the function is none that arrays on the daemon have.
    """
    module = called.__module__ or "numpy"
    own = f"{module.rpartition('.')[2]}." if module.startswith(("numpy.linalg", "numpy.fft")) else ""
    name = own + called.__name__
    found = FUNCTIONS.get(name)
    if found is None:
        refuse(f"{module}.{called.__name__}", array, INSTEAD.get(called.__name__, ""))
    try:
        return found(array, *arguments, **options)
    except TypeError as error:
        if "unexpected keyword argument" in str(error) and not isinstance(error, InvalidType):
            raise InvalidType(f"{module}.{called.__name__} of arrays on the daemon: {error}".replace("Computing.", "")) from None
        raise
