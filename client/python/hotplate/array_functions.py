"""NumPy's functions that are no ufuncs, over arrays on the daemon. Those that join arrays are in joining.py, products in products.py."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from .computing import Computing
from .errors import InvalidCall, InvalidType
from .operations import check_daemon, check_range, dtype_name, each, integer, made, node_of, number_of, told
from .refusing import refuse
from .views import all_viewed

Function = Callable[..., Any]
# By name; each is called with an array of the daemon's, which says where, and then with NumPy's own arguments.
FUNCTIONS: dict[str, Function] = {}

_NUMBERS = frozenset((bool, int, float, complex))


def named(*names: str) -> Callable[[Function], Function]:
    """Makes a function the one of these names of NumPy's."""
    def add(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return add


def array_of(array: Computing, value: Any) -> Computing:
    """A value as an array of the daemon's, as another array is.

    Raises:
        TypeError: it is no array, or is on another daemon.
    """
    if not isinstance(value, Computing):
        return array._of(node_of(array._client, value))
    check_daemon(array._client, value, "operand")
    return value


def said(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not what NumPy takes without them."""
    unsaid = {"subok": True, "casting": "same_kind", "order": "K", "where": True, "out": None, "dtype": None}
    return {name: value for name, value in options.items()
            if not (name in unsaid and (value is unsaid[name] or isinstance(value, str) and value == unsaid[name]))
            and value is not np._NoValue}  # type: ignore[attr-defined]


# Methods and views.

def _method(name: str) -> Function:
    def call(array: Computing, a: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(array_of(array, a), name)(*arguments, **said(options))

    return call


for _name in ("sum prod min max any all argmin argmax mean var std round clip squeeze swapaxes diagonal trace take astype "
              "copy").split():
    FUNCTIONS[_name] = _method(_name)
FUNCTIONS.update(amin=_method("min"), amax=_method("max"), around=_method("round"), round_=_method("round"))


def _view_of(function: Function) -> Function:
    return lambda array, a, *arguments, **options: array_of(array, a)._viewed(lambda whole: function(whole, *arguments, **options))


for _name in "transpose moveaxis rollaxis flip fliplr flipud rot90 expand_dims broadcast_to matrix_transpose permute_dims".split():
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


def _view_of_each(function: Function) -> Function:
    several = type(function(0, 0))  # a list, or since NumPy 2 a tuple

    def call(array: Computing, *arrays: Any) -> Any:
        views = [array_of(array, one)._viewed(function) for one in arrays]
        return views[0] if len(views) == 1 else several(views)

    return call


for _function in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
    FUNCTIONS[_function.__name__] = _view_of_each(_function)


@named("reshape")
def _reshape(array: Computing, a: Any, shape: Any = None, order: str = "C", newshape: Any = None, copy: Optional[bool] = None) -> Any:
    if (shape is None) == (newshape is None):
        raise InvalidType("reshape() takes one shape: shape=, which older versions of NumPy call newshape=")
    value = array_of(array, a)
    shaped = value.reshape(newshape if shape is None else shape, order=order)
    if copy:
        return shaped.copy()
    if copy is False and shaped._base is not (value if value._base is None else value._base):
        raise InvalidCall(f"reshape: {told(value)} has no such view; without copy=False it is copied")
    return shaped


FUNCTIONS["ravel"] = lambda array, a, order="C": array_of(array, a).ravel(order)
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


# Choices and comparisons.

@named("where")
def _chosen(array: Computing, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        refuse("numpy.where without values", array, "hp.xp.nonzero(M), or numpy.where(M, A, B)")
    return array._of(each(array._client, "where({},{},{})", [condition, x, y], "where"))


@named("isclose")
def _isclose(array: Computing, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    # As in NumPy 2: Python's numbers stay weak; arrays of integers become floats, since the least integer has no magnitude.
    x, y = (one if type(one) in _NUMBERS else array_of(array, one) for one in (a, b))
    if isinstance(y, (bool, int)):
        y = float(y)
    elif isinstance(y, Computing) and (y._dtype == "bool" or "int" in y._dtype):
        y = y.astype("float64")
    near = "less_equal(absolute(subtract({0},{1})),add({3},multiply({2},absolute({1}))))"
    text = f"logical_or(logical_and({near},isfinite({{1}})),equal({{0}},{{1}}))"
    if equal_nan:
        text = f"logical_or({text},logical_and(isnan({{0}}),isnan({{1}})))"
    return array._of(each(array._client, text, [x, y, rtol, atol]))


@named("allclose")
def _allclose(array: Computing, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    return bool(_isclose(array, a, b, rtol, atol, equal_nan).all())


@named("array_equal")
def _array_equal(array: Computing, a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = array_of(array, a1), array_of(array, a2)
    if x._shape != y._shape:
        return False
    text = "logical_or(equal({0},{1}),logical_and(isnan({0}),isnan({1})))" if equal_nan else "equal({0},{1})"
    return bool(array._of(each(array._client, text, [x, y])).all())


@named("array_equiv")
def _array_equiv(array: Computing, a1: Any, a2: Any) -> bool:
    try:
        return bool((array_of(array, a1) == a2).all())
    except ValueError:
        return False


# Arrays like another.

def _full(array: Computing, a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    like = array_of(array, a)
    name = like._dtype if dtype is None else dtype_name(dtype)
    sizes = like._shape if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (integer("shape", shape),)
    return array._of(made(array._client, name + "({})", [number_of(value, name, "full_like")], name, tuple(map(int, sizes)),
                          device=like._now().device))


FUNCTIONS["zeros_like"] = FUNCTIONS["empty_like"] = (
    lambda array, a, dtype=None, order="K", subok=True, shape=None, **options: _full(array, a, 0, dtype, shape))
FUNCTIONS["ones_like"] = lambda array, a, dtype=None, order="K", subok=True, shape=None, **options: _full(array, a, 1, dtype, shape)
FUNCTIONS["full_like"] = (
    lambda array, a, fill_value, dtype=None, order="K", subok=True, shape=None, **options: _full(array, a, fill_value, dtype,
                                                                                                 shape))


@named("nan_to_num")
def _nan_to_num(array: Computing, x: Any, copy: bool = True, nan: float = 0.0, posinf: Optional[float] = None,
                neginf: Optional[float] = None) -> Any:
    value = array_of(array, x)
    text = "where(isnan({0}),{1},where(equal({0},inf),{2},where(equal({0},-inf),{3},{0})))"
    if value._dtype.startswith("complex"):
        text = f"complex({text.replace('{0}', 'real({0})')},{text.replace('{0}', 'imag({0})')})"
    elif not value._dtype.startswith("float"):
        return value.copy() if copy else value
    limits = np.finfo(value._dtype)
    high, low = (float(limits.max) if posinf is None else posinf), (float(limits.min) if neginf is None else neginf)
    node = each(array._client, text, [value, float(nan), float(high), float(low)])
    return array._into(node, None if copy else value, "nan_to_num")


# Other reductions.

@named("average")
def _average(array: Computing, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
             keepdims: Any = False) -> Any:
    if weights is not None or returned:
        refuse("numpy.average with weights", array, "(A * W).sum() / W.sum()")
    return array_of(array, a).mean(axis, keepdims=keepdims is True)


@named("count_nonzero")
def _count_nonzero(array: Computing, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return (array_of(array, a) != 0).sum(axis, keepdims=keepdims)


@named("ptp")
def _ptp(array: Computing, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    value, kept = array_of(array, a), keepdims is True
    range_ = value.max(axis, keepdims=kept) - value.min(axis, keepdims=kept)
    return array._into(range_._now(), out, "ptp")


@named("copyto")
def _copyto(array: Computing, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Computing):
        raise InvalidType(f"numpy.copyto: dst is an ndarray, and src is on the daemon: fetch it, {told(array)}.numpy(out=dst)")
    # NumPy itself says whether it would cast: Python's numbers as they are, all else by its dtype.
    if type(src) is int and dst._dtype != "bool":
        check_range(src, dst._dtype, "copyto")
    like = src if type(src) in _NUMBERS else np.zeros(1, array_of(array, src).dtype)
    np.copyto(np.zeros(1, dst.dtype), like, casting)  # type: ignore[arg-type]
    if where is True:
        dst[...] = np.asarray(src) if isinstance(src, np.generic) else src  # which NumPy casts here, and does not assign
        return
    kept = src if type(src) in _NUMBERS else array_of(array, src).astype(dst.dtype, copy=False)
    dst[...] = _chosen(array, where, kept, dst)
