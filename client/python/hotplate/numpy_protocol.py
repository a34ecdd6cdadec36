"""NumPy's own functions over arrays on the daemon: numpy.exp(A), numpy.where(M, A, 0), numpy.linalg.norm(A)."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import joining, namespace, products  # noqa: F401: the functions of two are in FUNCTIONS
from .array_functions import FUNCTIONS, array_of, said
from .computing import Computing
from .errors import InvalidType
from .multiplying import product
from .operations import converted, dtype_name, each, node_of
from .refusing import INSTEAD, refuse

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
# Functions with results of bools. Their operands are not converted first.
_TESTS = frozenset(("equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not isnan isinf "
                    "isfinite signbit").split())
_NUMBERS = frozenset((bool, int, float, complex))


def ufunc(array: Computing, called: Any, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Implements __array_ufunc__.

    Raises:
        TypeError: the function, the method or an option is none that arrays on the daemon have.
    """
    name = called.__name__
    given = said(options)
    out = given.pop("out", None)
    if method == "reduce" and name in _REDUCTIONS:
        given.setdefault("axis", 0)
        return _taken(f"numpy.{name}.reduce", getattr(array_of(array, inputs[0]), _REDUCTIONS[name]), out=out, **given)
    if method == "outer" and name in UFUNCS and not given:
        first, second = (array_of(array, one) for one in inputs)
        shape = first.shape + (1,) * len(second._shape)
        return ufunc(array, called, "__call__", (first.reshape(shape), second), {"out": out})
    if method != "__call__":
        refuse(f"numpy.{name}.{method}", array)
    if name == "matmul" and not given:
        done = product(*[array_of(array, one) for one in inputs])
        return done if out is None else array._into(done._now(), out, name)
    if name == "vecdot" and not set(given) - {"axis"}:
        done = namespace.standard().vecdot(*[array_of(array, one) for one in inputs], axis=given.get("axis", -1))
        return done if out is None else array._into(done._now(), out, name)
    if name == "divmod" and not given and out is None:
        return tuple(array._of(each(array._client, UFUNCS[one], inputs, one)) for one in ("floor_divide", "remainder"))
    text = UFUNCS.get(name)
    if text is None:
        refuse(f"numpy.{name}", array, INSTEAD.get(name, ""))
    values: Sequence[Any] = inputs
    if "dtype" in given:
        values = _as_dtype(array, called, inputs, dtype_name(given.pop("dtype")))
    if name in _OF_FLOATS and values and type(values[0]) not in (bool, int, float):
        value = node_of(array._client, values[0])
        values = [converted(array._client, value, called(np.zeros(1, value.dtype)).dtype.name)]
    if given:
        refuse(f"numpy.{name} with {', '.join(f'{option}=' for option in given)}", array)
    return array._into(each(array._client, text, values, name), out, name)


def _as_dtype(array: Computing, called: Any, inputs: Sequence[Any], dtype: str) -> list[Any]:
    """The operands of a ufunc with dtype=, which is that of its result.

    Raises:
        TypeError: as NumPy does: the function never gives that dtype, or an operand is not cast to it.
    """
    values = [value if type(value) in _NUMBERS else node_of(array._client, value) for value in inputs]
    # NumPy itself says so, of arrays of one element. A Python integer is cast to all integers; `each` checks its range.
    like = [type(value)() if type(value) in (bool, int) else np.zeros(1, type(value) if type(value) in _NUMBERS else value.dtype)
            for value in values]
    try:
        with np.errstate(all="ignore"):
            called(*like, dtype=dtype)
    except TypeError as error:
        raise InvalidType(str(error)) from None
    if called.__name__ in _TESTS:
        return values
    if called.__name__ == "absolute" and like[0].dtype.kind == "c":
        dtype = np.result_type(dtype, np.complex64).name
    return [value if type(value) in _NUMBERS else converted(array._client, value, dtype) for value in values]


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
        standard = namespace.of_numpy(name)
        if standard is not None:
            return _taken(f"{module}.{called.__name__}", standard, *arguments, **options)
        refuse(f"{module}.{called.__name__}", array, INSTEAD.get(called.__name__, ""))
    return _taken(f"{module}.{called.__name__}", found, array, *arguments, **options)


def _taken(name: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of a call. Of a keyword that arrays on the daemon do not have, the error names NumPy's function."""
    try:
        return call(*arguments, **options)
    except TypeError as error:
        if "unexpected keyword argument" in str(error) and not isinstance(error, InvalidType):
            keyword = str(error).rpartition("argument ")[2]
            raise InvalidType(f"{name} of arrays on the daemon has no argument {keyword}") from None
        raise
