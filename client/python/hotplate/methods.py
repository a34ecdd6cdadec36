"""The methods of an array on the daemon, as an ndarray has them. Each is noted, not computed at its line."""

from __future__ import annotations

from typing import Any, Optional, TypeVar

import numpy as np

from .arguments import shown
from .errors import InvalidCall, InvalidType
from .noted import Noted
from .operations import RANGES, axis_of, converted, dtype_name, each, integer, reduced, told
from .views import in_order, is_in_order

Self = TypeVar("Self", bound="Methods")


class Methods(Noted):
    """Views of other shapes, elements and reductions."""

    # Views of other shapes.

    @property
    def T(self: Self) -> Self:
        """The view with its axes in reverse order.

        Example:
            >>> x.T.shape
        """
        return self.transpose()

    @property
    def mT(self: Self) -> Self:
        """The view whose last two axes are exchanged.

        Example:
            >>> x.mT.shape
        """
        if len(self._shape) < 2:
            raise InvalidCall(f"matrix transpose with ndim < 2 is undefined: {told(self)}")
        return self.swapaxes(-1, -2)

    def transpose(self: Self, *axes: Any) -> Self:
        """The view with its axes in another order; without one, in reverse.

        Example:
            >>> x.transpose(1, 0).shape
        """
        return self._viewed(lambda whole: whole.transpose(*axes))

    def swapaxes(self: Self, axis1: int, axis2: int) -> Self:
        """The view with two axes exchanged.

        Example:
            >>> x.swapaxes(0, 1).shape
        """
        return self._viewed(lambda whole: whole.swapaxes(axis1, axis2))

    def squeeze(self: Self, axis: Any = None) -> Self:
        """The view without axes of one element.

        Example:
            >>> x[None].squeeze(0).shape
        """
        return self._viewed(lambda whole: whole.squeeze(axis))

    def diagonal(self: Self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The view of a diagonal.

        Example:
            >>> (x @ x.T).diagonal().shape
        """
        return self._viewed(lambda whole: whole.diagonal(offset, axis1, axis2))

    def reshape(self: Self, *shape: Any, order: str = "C") -> Self:
        """The same elements in another shape: a view where they are one after the other, else a copy.

        Raises:
            ValueError: the shape has another number of elements; an order other than "C" and "F".

        Example:
            >>> x.reshape(2, -1).shape
        """
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        wanted = self._sizes([integer("shape", size) for size in sizes])
        if order == "F":
            return self.T.reshape(wanted[::-1]).T
        if order != "C":
            raise InvalidCall(f"order is {shown(order)}; it can be 'C' or 'F': only NumPy knows the order of an array in memory, which "
                              "'A' and 'K' name; of x.T write order='F'")
        whole = self._where()
        if not is_in_order(whole):
            return self.copy().reshape(wanted)
        return self._view((wanted, whole[1], in_order(wanted)))

    def _sizes(self, sizes: list[int]) -> tuple[int, ...]:
        count: int = self.size
        product = 1
        for size in sizes:
            product *= size if size != -1 else 1
        if sizes.count(-1) == 1 and product > 0 and count % product == 0:
            sizes = [count // product if size == -1 else size for size in sizes]
            product = count
        if product != count or any(size < 0 for size in sizes):
            raise InvalidCall(f"cannot reshape array of size {count} into shape {tuple(sizes)}: {told(self)}")
        return tuple(sizes)

    def ravel(self: Self, order: str = "C") -> Self:
        """Its elements along one axis: a view where they are one after the other, else a copy.

        Example:
            >>> x.ravel().shape
        """
        return self.reshape(-1, order=order)

    def flatten(self: Self, order: str = "C") -> Self:
        """A copy along one axis.

        Example:
            >>> x.flatten().shape
        """
        return self.copy().reshape(-1, order=order)

    # Elements.

    def take(self: Self, indices: Any, axis: Optional[int] = None) -> Self:
        """The elements at indices along an axis; without one, of the array in C order.

        Example:
            >>> x.take([0, 2], axis=1)
        """
        if axis is None:
            return self.ravel()[indices]
        keys: tuple[Any, ...] = (slice(None),) * axis_of(axis, len(self._shape)) + (indices,)
        return self[keys]

    def copy(self: Self, order: str = "C") -> Self:
        """Another array of the same elements.

        Example:
            >>> y = x.copy(); y[0] = 1
        """
        return self._of(converted(self._client, self, self._dtype))

    def astype(self: Self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Self:
        """Its elements as another dtype.

        Example:
            >>> x.astype("float32")
        """
        name = dtype_name(dtype)
        if not np.can_cast(self._dtype, name, casting):  # type: ignore[arg-type]
            raise InvalidType(f"Cannot cast array data from dtype('{self._dtype}') to dtype('{name}') according to the rule '{casting}'")
        if name == self._dtype and not copy:
            return self
        return self._of(converted(self._client, self, name))

    @property
    def real(self: Self) -> Self:
        """The real parts; of real numbers, the array itself.

        Example:
            >>> z.real
        """
        return self._of(each(self._client, "real({})", [self])) if self._dtype.startswith("complex") else self

    @property
    def imag(self: Self) -> Self:
        """The imaginary parts.

        Example:
            >>> z.imag
        """
        return self._of(each(self._client, "imag({})", [self]))

    def conj(self: Self) -> Self:
        """The complex conjugates.

        Example:
            >>> z.conj()
        """
        return self._of(each(self._client, "conjugate({})", [self])) if self._dtype.startswith("complex") else self

    conjugate = conj

    def round(self: Self, decimals: int = 0, out: Any = None) -> Self:
        """Rounds to so many decimals, halves to even.

        Example:
            >>> x.round(2)
        """
        whole = "int" in self._dtype
        if whole and decimals >= 0:
            node = converted(self._client, self, self._dtype)
        elif decimals == 0:
            node = each(self._client, "rint({})", [self])
        else:
            power = 10.0 ** abs(decimals)
            text = "divide(rint(multiply({},{})),{})" if decimals > 0 else "multiply(rint(divide({},{})),{})"
            node = each(self._client, text, [self, power, power])
            if whole:
                node = converted(self._client, node, self._dtype)
        return self._into(node, out, "round")

    def __round__(self, ndigits: Optional[int] = None) -> Any:
        if not self._shape:
            return round(self.numpy().item(), ndigits)  # type: ignore[attr-defined]
        return self.round(ndigits or 0)

    def clip(self: Self, min: Any = None, max: Any = None, out: Any = None) -> Self:
        """Its elements, but not below `min` and not above `max`.

        Example:
            >>> x.clip(0, 1)
        """
        low, high = RANGES.get(self._dtype, (None, None))
        if low is not None and type(min) is int and min <= low:
            min = None  # no limit, though the dtype cannot hold it
        if high is not None and type(max) is int and max >= high:
            max = None
        if min is None and max is None:
            node = converted(self._client, self, self._dtype)
        elif max is None:
            node = each(self._client, "maximum({},{})", [self, min], "clip")
        elif min is None:
            node = each(self._client, "minimum({},{})", [self, max], "clip")
        else:
            node = each(self._client, "clip({},{},{})", [self, min, max], "clip")
        return self._into(node, out, "clip")

    # Reductions.

    def _reduced(self: Self, operation: str, axis: Any, keepdims: bool, out: Any = None, more: str = "") -> Self:
        if isinstance(axis, (tuple, list)) and not axis:  # each element by itself
            return self[..., None]._reduced(operation, -1, False, out, more)
        options = ""
        if axis is not None:
            axes = tuple(self._axis(one) for one in axis) if isinstance(axis, (tuple, list)) else self._axis(axis)
            options = f", axis={axes}"
        if keepdims:
            options += ", keepdims=True"
        return self._into(reduced(self._client, operation, self, options + more), out, operation)

    def _axis(self, axis: Any) -> int:
        # A number has an axis 0 for NumPy.
        return axis_of(axis, len(self._shape)) if self._shape else integer("axis", axis)

    def sum(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Self:
        """The sum, of all elements or along axes.

        Example:
            >>> x.sum(axis=0)
        """
        return self._reduced("sum", axis, keepdims, out, "" if dtype is None else f", dtype={dtype_name(dtype)}")

    def prod(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Self:
        """The product, of all elements or along axes.

        Example:
            >>> x.prod()
        """
        return self._reduced("prod", axis, keepdims, out, "" if dtype is None else f", dtype={dtype_name(dtype)}")

    def min(self: Self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Self:
        """The smallest element, of all or along axes.

        Example:
            >>> x.min()
        """
        return self._reduced("min", axis, keepdims, out)

    def max(self: Self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Self:
        """The largest element, of all or along axes.

        Example:
            >>> x.max(axis=1)
        """
        return self._reduced("max", axis, keepdims, out)

    def any(self: Self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Self:
        """Whether an element is true, of all or along axes.

        Example:
            >>> bool((x > 3).any())
        """
        return self._reduced("any", axis, keepdims, out)

    def all(self: Self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Self:
        """Whether each element is true, of all or along axes.

        Example:
            >>> bool((x > 3).all())
        """
        return self._reduced("all", axis, keepdims, out)

    def argmin(self: Self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Self:
        """The index of the smallest element, of all or along an axis.

        Example:
            >>> int(x.argmin())
        """
        return self._reduced("argmin", axis, keepdims, out)

    def argmax(self: Self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Self:
        """The index of the largest element, of all or along an axis.

        Example:
            >>> int(x.argmax())
        """
        return self._reduced("argmax", axis, keepdims, out)

    def mean(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Self:
        """The mean, of all elements or along axes.

        Example:
            >>> x.mean(axis=0)
        """
        return self._as(dtype)._reduced("mean", axis, keepdims, out)

    def var(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Self:
        """The variance, of all elements or along axes.

        Example:
            >>> x.var(ddof=1)
        """
        return self._as(dtype)._reduced("var", axis, keepdims, out, f", ddof={ddof}" if ddof else "")

    def std(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Self:
        """The standard deviation, of all elements or along axes.

        Example:
            >>> x.std(axis=0, ddof=1)
        """
        return self._as(dtype)._reduced("std", axis, keepdims, out, f", ddof={ddof}" if ddof else "")

    def _as(self: Self, dtype: Any) -> Self:
        return self if dtype is None else self.astype(dtype, copy=False)

    def trace(self: Self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The sum of a diagonal.

        Example:
            >>> (x @ x.T).trace()
        """
        return self.diagonal(offset, axis1, axis2).sum(-1)
