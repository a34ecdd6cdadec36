"""The functions of the standard that work element by element. They are noted, and fuse with each other into one pass."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..arrays import Array
from ..errors import InvalidType
from ..numpy_protocol import UFUNCS
from .operands import applied, array, arrays, first_array

_NUMBERS, _REAL, _FLOATS = "numbers", "real numbers", "floats or complex numbers"
_REAL_FLOATS, _WHOLE, _BOOLS, _ANY = "floats", "integers or bools", "bools", "any dtype"


def _docs(function: Any, name: str, summary: str, kinds: str, arguments: str, call: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    broadcast = " Their shapes broadcast." if "," in arguments else ""
    function.__doc__ = (f"{summary}\n\nArgs:\n    {arguments}: {kinds}, in arrays of any shape.{broadcast}\n\n"
                        "Raises:\n    TypeError: another dtype." + (" ValueError: the shapes do not broadcast." if broadcast else "") +
                        f"\n\nExample:\n    >>> hp.xp.{name}({call})\n")


def _one(name: str, numpy_name: str, kinds: str, summary: str) -> Callable[[Any], Array]:
    text = UFUNCS.get(numpy_name, numpy_name + "({})")

    def function(x: Any, /) -> Array:
        return applied(text, (x,), numpy_name)

    _docs(function, name, summary, kinds, "x", "x")
    return function


def _two(name: str, numpy_name: str, kinds: str, summary: str, call: str = "x, 2") -> Callable[[Any, Any], Array]:
    text = UFUNCS[numpy_name]

    def function(x1: Any, x2: Any, /) -> Array:
        return applied(text, (x1, x2), numpy_name)

    _docs(function, name, summary, kinds, "x1, x2", call)
    return function


# One array.

abs = _one("abs", "absolute", _NUMBERS, "The magnitudes; of complex numbers they are real.")
acos = _one("acos", "arccos", _FLOATS, "The angles whose cosines these are, in radians.")
acosh = _one("acosh", "arccosh", _FLOATS, "The inverse hyperbolic cosines.")
asin = _one("asin", "arcsin", _FLOATS, "The angles whose sines these are, in radians.")
asinh = _one("asinh", "arcsinh", _FLOATS, "The inverse hyperbolic sines.")
atan = _one("atan", "arctan", _FLOATS, "The angles whose tangents these are, in radians.")
atanh = _one("atanh", "arctanh", _FLOATS, "The inverse hyperbolic tangents.")
bitwise_invert = _one("bitwise_invert", "invert", _WHOLE, "The integers with each bit changed.")
ceil = _one("ceil", "ceil", _REAL, "The smallest whole numbers that are not less.")
cos = _one("cos", "cos", _FLOATS, "The cosines of angles in radians.")
cosh = _one("cosh", "cosh", _FLOATS, "The hyperbolic cosines.")
exp = _one("exp", "exp", _FLOATS, "e to the power of each element.")
expm1 = _one("expm1", "expm1", _FLOATS, "exp(x) - 1, exact also near 0.")
floor = _one("floor", "floor", _REAL, "The largest whole numbers that are not greater.")
isfinite = _one("isfinite", "isfinite", _NUMBERS, "Whether each element is neither infinite nor NaN.")
isinf = _one("isinf", "isinf", _NUMBERS, "Whether each element is infinite.")
isnan = _one("isnan", "isnan", _NUMBERS, "Whether each element is NaN.")
log = _one("log", "log", _FLOATS, "The natural logarithms.")
log1p = _one("log1p", "log1p", _FLOATS, "log(1 + x), exact also near 0.")
log2 = _one("log2", "log2", _FLOATS, "The logarithms to base 2.")
log10 = _one("log10", "log10", _FLOATS, "The logarithms to base 10.")
logical_not = _one("logical_not", "logical_not", _BOOLS, "Whether each element is false.")
negative = _one("negative", "negative", _NUMBERS, "The elements with the other sign.")
positive = _one("positive", "positive", _NUMBERS, "The elements as they are.")
reciprocal = _one("reciprocal", "reciprocal", _FLOATS, "1 / x.")
round = _one("round", "round", _NUMBERS, "The nearest whole numbers; halves go to the even one.")
sign = _one("sign", "sign", _NUMBERS, "-1, 0 or 1, as each element is; of complex numbers x / abs(x).")
signbit = _one("signbit", "signbit", _REAL_FLOATS, "Whether the sign of each element is minus, also of zeros and NaN.")
sin = _one("sin", "sin", _FLOATS, "The sines of angles in radians.")
sinh = _one("sinh", "sinh", _FLOATS, "The hyperbolic sines.")
sqrt = _one("sqrt", "sqrt", _FLOATS, "The square roots.")
square = _one("square", "square", _NUMBERS, "x * x.")
tan = _one("tan", "tan", _FLOATS, "The tangents of angles in radians.")
tanh = _one("tanh", "tanh", _FLOATS, "The hyperbolic tangents.")
trunc = _one("trunc", "trunc", _REAL, "The whole parts.")

# Two arrays, of which one may be a number of Python's.

add = _two("add", "add", _NUMBERS, "x1 + x2.")
atan2 = _two("atan2", "arctan2", _REAL_FLOATS, "The angles of the points (x2, x1), in radians from -pi to pi.", "y, x")
bitwise_and = _two("bitwise_and", "bitwise_and", _WHOLE, "x1 & x2, bit by bit.")
bitwise_left_shift = _two("bitwise_left_shift", "left_shift", "integers", "x1 << x2.")
bitwise_or = _two("bitwise_or", "bitwise_or", _WHOLE, "x1 | x2, bit by bit.")
bitwise_right_shift = _two("bitwise_right_shift", "right_shift", "integers", "x1 >> x2.")
bitwise_xor = _two("bitwise_xor", "bitwise_xor", _WHOLE, "x1 ^ x2, bit by bit.")
copysign = _two("copysign", "copysign", _REAL_FLOATS, "The magnitudes of x1 with the signs of x2.")
divide = _two("divide", "divide", _FLOATS, "x1 / x2; of integers it is float64.")
equal = _two("equal", "equal", _ANY, "Whether x1 == x2.")
floor_divide = _two("floor_divide", "floor_divide", _REAL, "x1 // x2.")
greater = _two("greater", "greater", _REAL, "Whether x1 > x2.")
greater_equal = _two("greater_equal", "greater_equal", _REAL, "Whether x1 >= x2.")
hypot = _two("hypot", "hypot", _REAL_FLOATS, "sqrt(x1**2 + x2**2), without overflow on the way.")
less = _two("less", "less", _REAL, "Whether x1 < x2.")
less_equal = _two("less_equal", "less_equal", _REAL, "Whether x1 <= x2.")
logaddexp = _two("logaddexp", "logaddexp", _REAL_FLOATS, "log(exp(x1) + exp(x2)), without overflow on the way.")
logical_and = _two("logical_and", "logical_and", _BOOLS, "Whether both are true.", "x > 0, x < 1")
logical_or = _two("logical_or", "logical_or", _BOOLS, "Whether one of them is true, or both.", "x < 0, x > 1")
logical_xor = _two("logical_xor", "logical_xor", _BOOLS, "Whether one of them is true, and not both.", "x < 0, x > 1")
maximum = _two("maximum", "maximum", _REAL, "The larger of the two; NaN if one is NaN.")
minimum = _two("minimum", "minimum", _REAL, "The smaller of the two; NaN if one is NaN.")
multiply = _two("multiply", "multiply", _NUMBERS, "x1 * x2.")
not_equal = _two("not_equal", "not_equal", _ANY, "Whether x1 != x2.")
pow = _two("pow", "power", _NUMBERS, "x1 ** x2.")
remainder = _two("remainder", "remainder", _REAL, "x1 % x2, with the sign of x2.")
subtract = _two("subtract", "subtract", _NUMBERS, "x1 - x2.")


def conj(x: Any, /) -> Array:
    """The complex conjugates; real numbers stay as they are.

    Args:
        x: numbers, in an array of any shape.

    Example:
        >>> hp.xp.conj(z)
    """
    return array(x).conj()


def real(x: Any, /) -> Array:
    """The real parts; real numbers stay as they are.

    Args:
        x: numbers, in an array of any shape.

    Example:
        >>> hp.xp.real(z)
    """
    return array(x).real


def imag(x: Any, /) -> Array:
    """The imaginary parts; of real numbers they are zeros.

    Args:
        x: numbers, in an array of any shape.

    Example:
        >>> hp.xp.imag(z)
    """
    return array(x).imag


def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """The elements, but not below `min` and not above `max`. The dtype stays that of x.

    Args:
        x: real numbers, in an array of any shape.
        min, max: numbers or arrays; None is no limit. The shapes broadcast.

    Raises:
        ValueError: the shapes do not broadcast.
        OverflowError: the dtype of x cannot hold a limit.

    Example:
        >>> hp.xp.clip(x, 0, 1)
    """
    value, *limits = arrays(x, *[limit for limit in (min, max) if first_array([limit]) is not None])
    result = value.clip(min, max)
    return result if result._dtype == value._dtype else result.astype(value._dtype)


def nextafter(x1: Any, x2: Any, /) -> Array:
    """The next number of the dtype from x1 towards x2.

    Args:
        x1, x2: floats, in arrays whose shapes broadcast.

    Raises:
        TypeError: another dtype.

    Example:
        >>> hp.xp.nextafter(x, hp.xp.inf)
    """
    value = first_array((x1, x2))
    value = array(x1) if value is None else value
    dtype = value.dtype
    if dtype.name not in ("float32", "float64"):
        raise InvalidType(f"nextafter is of float32 and float64, not of {dtype}")
    x1, x2 = (one if hasattr(one, "dtype") else array(np.asarray(one, dtype), value._client) for one in (x1, x2))
    limits = np.finfo(dtype)
    unit, least, largest = float(limits.eps) / 2, float(limits.smallest_subnormal), float(limits.max)
    # Rump, Zimmermann, Boldo and Melquiond, Computing predecessor and successor in rounding to nearest, 2009: the sum of x and
    # this step rounds to the neighbour. Up to 2 * smallest_normal all neighbours are as far away as the smallest number.
    step = "add(multiply(absolute({0}),{2}),{3})"
    up = f"add({{0}},where(logical_and(greater_equal({{0}},-{{5}}),less({{0}},{{5}})),{{3}},{step}))"
    down = f"subtract({{0}},where(logical_and(greater({{0}},-{{5}}),less_equal({{0}},{{5}})),{{3}},{step}))"
    up = f"where(equal({{0}},-inf),-{{4}},where(equal({{0}},-{{3}}),-0.0,{up}))"
    down = f"where(equal({{0}},inf),{{4}},{down})"
    text = (f"where(logical_or(isnan({{0}}),isnan({{1}})),add({{0}},{{1}}),where(equal({{0}},{{1}}),{{1}},"
            f"where(less({{0}},{{1}}),{up},{down})))")
    return applied(text, (x1, x2, unit * (1 + 2 * unit), least, largest, 2 * float(limits.smallest_normal)), "nextafter")
