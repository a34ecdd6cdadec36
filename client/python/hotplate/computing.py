"""The operators of an array on the daemon, and its conversions to Python's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar

import numpy as np

from .arguments import shown
from .errors import InvalidCall, InvalidType, OutOfBounds
from .methods import Methods
from .multiplying import dot, product
from .operations import Lazy, check_daemon, each, integer, node_of, told
from .refusing import refuse_attribute

Self = TypeVar("Self", bound="Computing")

_NUMBERS = frozenset((float, int, bool, complex))
_ARRAYS = (Lazy, np.ndarray, np.generic, list, tuple)


class Computing(Methods):
    """Operators, products, and the conversions by float(), bool(), len() and the like."""

    # Arrays are themselves in sets and dicts, though == compares elements.
    __hash__ = object.__hash__
    __array_priority__ = 1000.0

    if TYPE_CHECKING:  # which are set below

        def __add__(self: Self, other: Any) -> Self: ...
        def __radd__(self: Self, other: Any) -> Self: ...
        def __iadd__(self: Self, other: Any) -> Self: ...
        def __sub__(self: Self, other: Any) -> Self: ...
        def __rsub__(self: Self, other: Any) -> Self: ...
        def __isub__(self: Self, other: Any) -> Self: ...
        def __mul__(self: Self, other: Any) -> Self: ...
        def __rmul__(self: Self, other: Any) -> Self: ...
        def __imul__(self: Self, other: Any) -> Self: ...
        def __truediv__(self: Self, other: Any) -> Self: ...
        def __rtruediv__(self: Self, other: Any) -> Self: ...
        def __itruediv__(self: Self, other: Any) -> Self: ...
        def __floordiv__(self: Self, other: Any) -> Self: ...
        def __rfloordiv__(self: Self, other: Any) -> Self: ...
        def __ifloordiv__(self: Self, other: Any) -> Self: ...
        def __mod__(self: Self, other: Any) -> Self: ...
        def __rmod__(self: Self, other: Any) -> Self: ...
        def __imod__(self: Self, other: Any) -> Self: ...
        def __pow__(self: Self, other: Any) -> Self: ...
        def __rpow__(self: Self, other: Any) -> Self: ...
        def __ipow__(self: Self, other: Any) -> Self: ...
        def __and__(self: Self, other: Any) -> Self: ...
        def __rand__(self: Self, other: Any) -> Self: ...
        def __iand__(self: Self, other: Any) -> Self: ...
        def __or__(self: Self, other: Any) -> Self: ...
        def __ror__(self: Self, other: Any) -> Self: ...
        def __ior__(self: Self, other: Any) -> Self: ...
        def __xor__(self: Self, other: Any) -> Self: ...
        def __rxor__(self: Self, other: Any) -> Self: ...
        def __ixor__(self: Self, other: Any) -> Self: ...
        def __lshift__(self: Self, other: Any) -> Self: ...
        def __rlshift__(self: Self, other: Any) -> Self: ...
        def __ilshift__(self: Self, other: Any) -> Self: ...
        def __rshift__(self: Self, other: Any) -> Self: ...
        def __rrshift__(self: Self, other: Any) -> Self: ...
        def __irshift__(self: Self, other: Any) -> Self: ...
        def __eq__(self: Self, other: Any) -> Self: ...  # type: ignore[override]
        def __ne__(self: Self, other: Any) -> Self: ...  # type: ignore[override]
        def __lt__(self: Self, other: Any) -> Self: ...
        def __le__(self: Self, other: Any) -> Self: ...
        def __gt__(self: Self, other: Any) -> Self: ...
        def __ge__(self: Self, other: Any) -> Self: ...
        def __neg__(self: Self) -> Self: ...
        def __pos__(self: Self) -> Self: ...
        def __invert__(self: Self) -> Self: ...
        def __abs__(self: Self) -> Self: ...

    # Values.

    def item(self, *index: Any) -> Any:
        """One element as Python's own number; without an index, of an array that has one element. Fetches it.

        Raises:
            ValueError: it has another number of elements.

        Example:
            >>> x.sum().item()
        """
        if index:
            places = index[0] if isinstance(index[0], tuple) else index
            if len(places) == 1:
                place = integer("index", places[0])
                if not -self.size <= place < self.size:
                    raise OutOfBounds(f"index {place} is out of bounds for size {self.size} of {told(self)}")
                places = tuple(map(int, np.unravel_index(place % self.size, self._shape)))
            one: Any = self[places]
            return one.item()
        if self.size != 1:
            raise InvalidCall(f"can only convert an array of size 1 to a Python scalar; this one is {told(self)}")
        return self.numpy().item()  # type: ignore[attr-defined]

    def tolist(self) -> Any:
        """Its elements as lists of Python's own numbers. Fetches them.

        Example:
            >>> x[:3].tolist()
        """
        return self.numpy().tolist()  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise InvalidCall(f"The truth value of {told(self)} is ambiguous. Use A.any(), A.all() or A.size > 0; for whether there is "
                              "an array at all, A is not None")
        return bool(self.item())

    def __float__(self) -> float:
        return float(self._number("float"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def __index__(self) -> int:
        if self._shape or "int" not in self._dtype:
            raise InvalidType(f"only integer scalar arrays can be converted to a scalar index; this one is {told(self)}")
        return int(self.item())

    def _number(self, what: str) -> Any:
        if self.size != 1:
            raise InvalidType(f"{what}(): only arrays of one element can be converted to Python scalars; this one is {told(self)}")
        return self.item()

    def __iter__(self: Self) -> Iterator[Self]:
        if not self._shape:
            raise InvalidType(f"iteration over {told(self)}, which has no axes")
        return (self[place] for place in range(self._shape[0]))

    def __reversed__(self: Self) -> Iterator[Self]:
        return self[::-1].__iter__()

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            refuse_attribute(self, name)

    # Products: kernels, which run at their line.

    def dot(self, other: Any) -> Any:
        """numpy.dot with another array, at once: the kernel `matmul` where it takes the dtype.

        Example:
            >>> x.dot(x)
        """
        return dot(self, self._like(other))

    def __matmul__(self, other: Any) -> Any:
        return product(self, self._like(other)) if isinstance(other, _ARRAYS) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return product(self._like(other), self) if isinstance(other, _ARRAYS) else NotImplemented

    def _like(self: Self, other: Any) -> Self:
        if not isinstance(other, Computing):
            return self._of(node_of(self._client, other))
        check_daemon(self._client, other, "operand")
        return other  # type: ignore[return-value]

    def __imatmul__(self: Self, other: Any) -> Self:
        return self._update(lambda: node_of(self._client, self @ other), "matmul")

    def __divmod__(self: Self, other: Any) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self: Self, other: Any) -> tuple[Self, Self]:
        return other // self, other % self


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """The methods of a binary operator: for x + y, for y + x where y is no array of the daemon's, and for x += y."""
    text = name + "({},{})"

    def forward(self: Computing, other: Any) -> Any:
        if type(other) not in _NUMBERS and not isinstance(other, _ARRAYS) and not _is_operand(self, name, other):
            return NotImplemented
        return self._of(each(self._client, text, (self, other), name))

    def reflected(self: Computing, other: Any) -> Any:
        if type(other) not in _NUMBERS and not isinstance(other, _ARRAYS) and not _is_operand(self, name, other):
            return NotImplemented
        return self._of(each(self._client, text, (other, self), name))

    def in_place(self: Computing, other: Any) -> Any:
        if type(other) not in _NUMBERS and not isinstance(other, _ARRAYS) and not _is_operand(self, name, other):
            return NotImplemented
        if self._is_number:
            return forward(self, other)
        return self._update(lambda: each(self._client, text, (self, other), name), name)

    return forward, reflected, in_place


def _is_operand(array: Computing, name: str, other: Any) -> bool:
    """Whether an object of another package is an array."""
    if other is None and name in ("equal", "not_equal"):
        raise InvalidType(f"{told(array)} is compared with None: write A is None, or A is not None")
    if hasattr(other, "__array__") or hasattr(other, "__dlpack__"):
        return getattr(other, "__array_ufunc__", 0) is not None
    if name in ("equal", "not_equal") and isinstance(other, (str, bytes)):
        raise InvalidType(f"{told(array)} is compared with {shown(other)}, which is no number")
    return False


def _unary(name: str) -> Callable[[Computing], Any]:
    text = name + "({})"
    return lambda self: self._of(each(self._client, text, (self,), name))


for _name, _function in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"),
                         ("floordiv", "floor_divide"), ("mod", "remainder"), ("pow", "power"), ("and", "bitwise_and"),
                         ("or", "bitwise_or"), ("xor", "bitwise_xor"), ("lshift", "left_shift"), ("rshift", "right_shift")):
    for _prefix, _method in zip(("", "r", "i"), _binary(_function)):
        setattr(Computing, f"__{_prefix}{_name}__", _method)
for _name, _function in (("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"),
                         ("ge", "greater_equal")):
    setattr(Computing, f"__{_name}__", _binary(_function)[0])
for _name, _function in (("neg", "negative"), ("pos", "positive"), ("invert", "invert"), ("abs", "absolute")):
    setattr(Computing, f"__{_name}__", _unary(_function))
