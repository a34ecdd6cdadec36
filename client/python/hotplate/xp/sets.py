"""The different elements of an array. How many there are, only their values say: the calls wait for that number."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays import Array
from ..graph import Axis
from ..indexing import positions
from ..operations import made
from .dtypes import result_type
from .operands import applied, array, arrays, client_of, filled, node
from .searching import outside, searchsorted
from .sorting import argsort, sort
from .statistics import cumulative_sum

# So many elements are compared one by one; among more they are searched for.
_FEW = 32


class UniqueAll(NamedTuple):
    """The different elements, the index of the first of each, for each element its place among them, and how many are equal."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The different elements, and how many are equal to each."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The different elements, and for each element its place among them."""

    values: Array
    inverse_indices: Array


def unique_all(x: Any, /) -> UniqueAll:
    """The different elements in ascending order, with all that is known of them. Each NaN is different.

    Args:
        x: an array of any shape and dtype.

    Returns:
        values; indices: of the first that is equal, in C order; inverse_indices: of the shape of x; counts. Integers are int64.

    Example:
        >>> hp.xp.unique_all(hp.xp.asarray([3, 1, 3])).counts
    """
    groups = _Groups(x)
    return UniqueAll(groups.values(), groups.indices(), groups.inverse(), groups.counts())


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements in ascending order, and how many are equal to each. Each NaN is different.

    Args:
        x: an array of any shape and dtype.

    Example:
        >>> hp.xp.unique_counts(hp.xp.asarray([3, 1, 3])).counts
    """
    groups = _Groups(x)
    return UniqueCounts(groups.values(), groups.counts())


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements in ascending order, and for each element of x its place among them. Each NaN is different.

    Args:
        x: an array of any shape and dtype.

    Example:
        >>> hp.xp.unique_inverse(hp.xp.asarray([3, 1, 3])).inverse_indices
    """
    groups = _Groups(x)
    return UniqueInverse(groups.values(), groups.inverse())


def unique_values(x: Any, /) -> Array:
    """The different elements in ascending order. Each NaN is different.

    Args:
        x: an array of any shape and dtype.

    Example:
        >>> hp.xp.unique_values(hp.xp.asarray([3, 1, 3]))
    """
    return _Groups(x).values()


class _Groups:
    """The elements of an array in order, so that equal ones are neighbours."""

    def __init__(self, x: Any) -> None:
        value = array(x)
        flat = value.ravel()
        self._shape = value._shape
        self._order = order_of(flat)
        self._sorted = flat[self._order]
        self._is_first = _firsts(self._sorted)
        self._starts: Array = positions(self._is_first) if flat.size else filled(value, 0, "int64", (0,))

    def values(self) -> Array:
        return self._sorted[self._starts]

    def indices(self) -> Array:
        return self._order[self._starts]

    def counts(self) -> Array:
        starts, total = node(self._starts), self._sorted.size
        count = starts.shape[0]
        if count == 0:
            return self._starts
        next_one = f"where(less({{1}},{count - 1}),{{0}}[minimum(add({{1}},1),{count - 1})],{total})"
        return Array._of(made(starts.client, f"subtract({next_one},{{0}}[{{1}}])", (starts, Axis(0)), "int64", (count,), 1))

    def inverse(self) -> Array:
        if not self._sorted.size:
            return filled(self._order, 0, "int64", self._shape)
        group = cumulative_sum(self._is_first.astype("int64")) - 1
        return group[argsort(self._order)].reshape(self._shape)


def _firsts(ordered: Array) -> Array:
    """Whether each element differs from the one before it."""
    count = ordered.size
    if count <= 1:
        return filled(ordered, True, "bool", (count,))
    source = node(ordered)
    text = "logical_or(equal({1},0),not_equal({0}[{1}],{0}[maximum(subtract({1},1),0)]))"
    return Array._of(made(source.client, text, (source, Axis(0)), "bool", (count,), 1))


def order_of(flat: Array) -> Array:
    """The indices that put a vector in order; of complex numbers by their real parts, then by their imaginary ones."""
    if not flat._dtype.startswith("complex"):
        return argsort(flat)
    by_imaginary = argsort(flat.imag)
    return by_imaginary[argsort(flat.real[by_imaginary])]


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """Whether each element of x1 is among those of x2. NaN is among none.

    Args:
        x1, x2: arrays of any shape, or numbers. An integer that the other's dtype does not have is not among its elements.
        invert: True: whether it is not.

    Returns:
        bools, of the shape of x1.

    Example:
        >>> hp.xp.isin(hp.xp.arange(5), hp.xp.asarray([1, 3]))
    """
    client = client_of(x1, x2)
    for number, other in ((x1, x2), (x2, x1)):
        if type(number) is int and type(other) is not int and outside(array(other, client), number):
            like = array(other, client)
            return filled(like, invert, "bool", like._shape if other is x1 else ())
    sought, among = arrays(x1, x2)
    # Numbers beside an array have its dtype; the elements of lists have their own.
    numbers = [one for one in (x1, x2) if type(one) in (bool, int, float, complex)]
    given = [value for value, one in ((sought, x1), (among, x2)) if type(one) not in (bool, int, float, complex)]
    dtype = result_type(*given, *numbers) if given else result_type(sought, among)
    if {sought._dtype, among._dtype} == {"int64", "uint64"} and dtype.kind == "f":  # which has not all of them
        found = isin(sought.astype("uint64"), among.astype("uint64")) & (sought < 2**63 if sought._dtype == "uint64" else sought >= 0)
        return ~found if invert else found
    sought, among = sought.astype(dtype, copy=False), among.ravel().astype(dtype, copy=False)
    if not among.size:
        found = filled(sought, False, "bool", sought._shape)
    elif among.size <= _FEW or dtype.kind == "c":
        found = (sought.reshape(sought._shape + (1,)) == among).any(-1)
    else:
        ordered = sort(among)
        at = searchsorted(ordered, sought)
        found = ordered[applied("minimum({},{})", (at, among.size - 1), "minimum")] == sought
    return ~found if invert else found
