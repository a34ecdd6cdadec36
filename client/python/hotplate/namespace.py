"""NumPy's names over arrays of a daemon: hp.xp.zeros(3) is a hotplate.Array."""

from __future__ import annotations

import builtins
import math
from typing import Any, Callable, Optional

import numpy as np

from . import connection
from .arrays import Array
from .client import Client, connect
from .errors import InvalidCall
from .graph import Axis
from .numpy_protocol import FUNCTIONS, UFUNCS
from .operations import DTYPES, dtype_name, integer, made, node_of

# Names of the Array API standard that an older NumPy has not.
_ALIASES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
            "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
            "pow": "power", "concat": "concatenate", "abs": "absolute", "conj": "conjugate"}
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}


class Namespace:
    """NumPy's functions, with results on a daemon: `hp.xp`, of the client that was connected last, and `gpu.xp`.

    zeros, ones, full, empty, eye, arange, linspace, asarray and array make arrays there; nothing is sent but for the last two. The
    functions are those that hotplate.Array has, under NumPy's names and the Array API standard's.

    Example:
        >>> x = hp.xp.linspace(0, 1, 1_000_000)
        >>> float(hp.xp.exp(-x**2).mean())
    """

    def __init__(self, client: Optional[Client] = None) -> None:
        self._own = client

    @property
    def _client(self) -> Any:
        if self._own is not None:
            return self._own
        newest = connection.newest()
        return connect() if newest is None else newest

    def _made(self, text: str, operands: list[Any], dtype: str, shape: Any) -> Array:
        sizes = (integer("shape", shape),) if np.ndim(shape) == 0 else tuple(integer("shape", size) for size in shape)
        if any(size < 0 for size in sizes):
            raise InvalidCall(f"negative dimensions are not allowed: shape is {sizes}")
        return Array._of(made(self._client, text, operands, dtype, sizes))

    def full(self, shape: Any, fill_value: Any, dtype: Any = None) -> Array:
        """numpy.full.

        Example:
            >>> hp.xp.full((2, 3), 7)
        """
        name = dtype_name(np.asarray(fill_value).dtype if dtype is None else dtype)
        one = np.empty((), name)
        one[...] = fill_value
        return self._made(name + "({})", [one.item()], name, shape)

    def zeros(self, shape: Any, dtype: Any = float) -> Array:
        """numpy.zeros.

        Example:
            >>> hp.xp.zeros((2, 3))
        """
        return self.full(shape, 0, float if dtype is None else dtype)

    def ones(self, shape: Any, dtype: Any = float) -> Array:
        """numpy.ones.

        Example:
            >>> hp.xp.ones((2, 3), "float32")
        """
        return self.full(shape, 1, float if dtype is None else dtype)

    def empty(self, shape: Any, dtype: Any = float) -> Array:
        """numpy.empty; the elements are zeros.

        Example:
            >>> hp.xp.empty(3)
        """
        return self.zeros(shape, dtype)

    def eye(self, N: int, M: Optional[int] = None, k: int = 0, dtype: Any = float) -> Array:
        """numpy.eye.

        Example:
            >>> hp.xp.eye(3)
        """
        name = dtype_name(float if dtype is None else dtype)
        rows, columns = [Axis(0) if N > 1 else 0, Axis(1) if N > 1 or (M or N) > 1 else 0]
        return self._made(name + "(equal(subtract({},{}),{}))", [columns, rows, integer("k", k)], name, (N, N if M is None else M))

    def arange(self, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
        """numpy.arange.

        Example:
            >>> hp.xp.arange(10)
        """
        if stop is None:
            start, stop = 0, start
        numbers = [one.item() if isinstance(one, np.generic) else one for one in (start, stop, step)]
        name = dtype_name(np.result_type(*[np.asarray(one).dtype for one in (start, stop, step)]) if dtype is None else dtype)
        count = max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2]))
        return self._made(name + "(add(multiply({},{}),{}))", [Axis(0), numbers[2], numbers[0]], name, count)

    def linspace(self, start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Array:
        """numpy.linspace.

        Example:
            >>> hp.xp.linspace(0, 1, 5)
        """
        name = dtype_name(float if dtype is None else dtype)
        parts = max(num - 1 if endpoint else num, 1)
        text = name + "(where(equal({},{}),{},add(multiply(float64({}),{}),{})))"
        return self._made(text, [Axis(0), num - 1 if endpoint and num > 1 else -1, float(stop), Axis(0),
                                 (stop - start) / parts, float(start)], name, num)

    def asarray(self, obj: Any, dtype: Any = None, *, copy: Optional[bool] = None) -> Array:
        """An array of the daemon's as it is; anything else is sent.

        Example:
            >>> hp.xp.asarray([1.0, 2.0])
        """
        if isinstance(obj, Array):
            array = obj if dtype is None else obj.astype(dtype, copy=False)
            return array.copy() if copy and array is obj else array
        array = self._client.array(obj, dtype=dtype)
        return array

    array = asarray

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in DTYPES:
            return np.dtype(name).type
        of_numpy = _ALIASES.get(name, name)
        if of_numpy not in UFUNCS and of_numpy not in FUNCTIONS and of_numpy not in ("matmul", "divmod"):
            raise AttributeError(f"hotplate.xp has no {name}: for arrays of this process write numpy.{name}")
        return self._function(of_numpy)

    def _function(self, name: str) -> Callable[..., Any]:
        called: Any = getattr(np, name, None)
        if called is None:
            raise AttributeError(f"hotplate.xp has no {name}: this version of NumPy has it not")

        def function(*arguments: Any, **options: Any) -> Any:
            if not builtins.any(_has_array(one) for one in arguments) and arguments:
                arguments = (self._lifted(arguments[0]), *arguments[1:])
            return called(*arguments, **options)

        function.__name__ = name
        return function

    def _lifted(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and builtins.any(isinstance(one, np.ndarray) for one in value):
            return [self._lifted(one) for one in value]  # of concatenate
        return Array._of(node_of(self._client, value))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *UFUNCS, *(name for name in FUNCTIONS if "." not in name), *_ALIASES, *_CONSTANTS,
                       *DTYPES})

    def __repr__(self) -> str:
        return "<hotplate.xp>" if self._own is None else f"<NumPy's names on {self._own!r}>"


def _has_array(value: Any) -> bool:
    return isinstance(value, Array) or isinstance(value, (list, tuple)) and builtins.any(isinstance(one, Array) for one in value)


# Of the client that was connected last.
xp = Namespace()
