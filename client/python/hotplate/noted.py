"""An array that shows a node of the graph, or a view of one that does: what it is, parts of it, and assignment to them."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional, TypeVar

import numpy as np

from .assigning import assigned, at_home, placed
from .errors import InvalidCall, InvalidType, NotFound
from .graph import STORED, Node, view
from .indexing import gather, keys_of, part
from .operations import Lazy, check_daemon, converted, told
from .sending import compute
from .views import Geometry, in_order, is_in_order, viewed

Self = TypeVar("Self", bound="Noted")


class Noted(Lazy):
    """An array that is no view shows a node of its own, `_node`. A view has a base, and shows of that what it is at the time."""

    _base: Any = None
    _geometry: Geometry
    # A view remembers its base's node and its own, while something else holds them, and the copy that `id` or a kernel asked for.
    _seen: Optional[tuple[weakref.ref[Node], weakref.ref[Node]]] = None
    _copied: Optional[Node] = None
    # Whether it is a number in NumPy, a result or an element without axes: then x += 1 makes another.
    _is_number = False
    # Elements of this array that somebody holds, by their identity: numbers, which keep their value when the array changes.
    _elements: Optional[weakref.WeakValueDictionary[int, Noted]] = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its length along each axis.

        Example:
            >>> A.shape
            (3000, 3000)
        """
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The elements' dtype.

        Raises:
            TypeError: NumPy does not have this dtype (bfloat16).

        Example:
            >>> A.dtype
            dtype('float64')
        """
        try:
            return np.dtype(self._dtype)
        except TypeError:
            raise InvalidType(f"{told(self)} is {self._dtype}, which NumPy has not") from None

    @property
    def ndim(self) -> int:
        """The number of axes.

        Example:
            >>> A.ndim
            2
        """
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements.

        Example:
            >>> A.size
            9000000
        """
        count = 1
        for length in self._shape:
            count *= length
        return count

    @property
    def nbytes(self) -> int:
        """The number of bytes.

        Raises:
            TypeError: NumPy does not have this dtype (bfloat16).

        Example:
            >>> A.nbytes
            72000000
        """
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len() of {told(self)}, which has no axes")
        return self.shape[0]

    @classmethod
    def _of(cls: type[Self], node: Node) -> Self:
        """A new array that shows a node."""
        array = object.__new__(cls)
        array._client = node.client
        array._node = node
        array._dtype = node.dtype
        array._shape = node.shape
        array._is_number = not node.shape
        node.holder = weakref.ref(array)
        return array

    def _view(self: Self, geometry: Geometry) -> Self:
        """A view of this array, or of the one that it is a view of. Of an element, of what it is."""
        if self._is_number and self._base is not None:
            shape, offset, strides = geometry
            geometry = shape, offset - self._geometry[1], strides
            self._detach()
        array = object.__new__(type(self))
        array._client = self._client
        array._node = None
        array._base = self if self._base is None else self._base
        array._dtype = self._dtype
        array._shape = geometry[0]
        array._geometry = geometry
        return array

    def _now(self) -> Node:
        """The node that it shows now."""
        if self._base is None:
            node: Node = self._node
            return node
        base: Node = self._base._node
        if self._shape == base.shape and is_in_order(self._geometry):
            return base
        if self._seen is not None and self._seen[0]() is base:
            seen = self._seen[1]()
            if seen is not None:
                return seen
        shown = view(base, *self._geometry)
        self._seen = weakref.ref(base), weakref.ref(shown)
        self._copied = None
        return shown

    def _where(self) -> Geometry:
        """The elements that it shows, of its base or of itself."""
        return self._geometry if self._base is not None else (self._shape, 0, in_order(self._shape))

    def compute(self: Self) -> Self:
        """Computes it now, if it is not computed yet, and waits. It stays on the daemon.

        Returns:
            The array itself.

        Raises:
            MemoryError: there is no room for it.
            Exception: what the computation raises, with the line that it was written at.

        Example:
            >>> y = (x * 2 + 1).compute()
        """
        compute([self._now() if self._base is None else self._base._node])
        return self

    def _viewed(self: Self, how: Callable[[np.ndarray[Any, Any]], Any]) -> Self:
        return self._view(viewed(self._where(), how))

    def _into(self: Self, node: Node, out: Any, name: str) -> Self:
        """A result, or the array that it is to be in."""
        if isinstance(out, tuple) and len(out) == 1:
            out, = out
        if out is None:
            return self._of(node)
        if not isinstance(out, Noted):
            raise InvalidType(f"{name}: out is a {type(out).__name__}; the result of arrays on the daemon stays there: fetch it, "
                              "A.numpy(out=…)")
        check_daemon(node.client, out, f"out of {name}")
        into: Any = out._assign(node, name)
        return into  # type: ignore[no-any-return]

    # Parts.

    def __getitem__(self: Self, index: Any) -> Self:
        """A part, as of an ndarray: integers, slices, None and ... give a view, and nothing is copied. Arrays of integers give
        a new array.

        Raises:
            IndexError: the index is outside the array.
            TypeError: a mask on the daemon.
        """
        keys = keys_of(index, self._shape)
        geometry = part(self._where(), keys)
        if geometry is None:
            return self._of(gather(self, keys))
        array = self._view(geometry)
        array._is_number = not array._shape and not any(key is Ellipsis for key in keys)
        if array._is_number:
            base = array._base
            if base._elements is None:
                base._elements = weakref.WeakValueDictionary()
            base._elements[id(array)] = array
        return array

    def __setitem__(self, index: Any, value: Any) -> None:
        """Assigns to a part. Views of this array show it; what was computed from it before does not.

        Raises:
            ValueError: this is a view, or has a name or a lease; the value does not fit.
            IndexError: the index is outside the array.
            TypeError: the value is complex, and this array is not; an index has arrays of integers.
            OverflowError: the dtype cannot hold the value, an integer.
            KeyError: this array was freed.
        """
        if self._is_part(value, index):
            return  # A[1:3] += 1 has changed this array, and assigns A[1:3] to itself
        self._check_may_change()
        node = assigned(self, index, value)
        if node is not None:
            self._becomes(node)

    def _is_part(self, value: Any, index: Any) -> bool:
        """Whether a value is the view that an index of this array gives."""
        if not isinstance(value, Noted) or value._base is None or value._base is not (self if self._base is None else self._base):
            return False
        return part(self._where(), keys_of(index, self._shape)) == value._geometry

    def _check_may_change(self) -> None:
        if self._base is not None:
            raise InvalidCall(f"assignment destination is a view: nothing is assigned through {told(self)}; assign to the array "
                              "itself, A[1:3] = …, or to a copy, V.copy()")
        if self._node.kind == STORED and self._node.value.freed:
            raise NotFound(f"{told(self)} was freed: nothing is assigned to it")
        if self._node.kind == STORED and not self._node.value.owned:
            raise InvalidCall(f"assignment destination is read-only: {told(self)} has a name or a lease, and others may read it; assign "
                              "to a copy of your own, A.copy()")

    def _becomes(self, node: Node) -> None:
        """From now on it shows another node, of the same dtype and shape, and stays on its device.

        Raises:
            ValueError: the node is on another device.
        """
        node = at_home(self._node, node)
        if self._elements:
            elements, self._elements = list(self._elements.values()), None
            for element in elements:
                element._detach()
        self._node = node
        node.holder = weakref.ref(self)

    def _detach(self) -> None:
        """A view, from now on an array of its own that has the elements of this moment."""
        self._node = self._now()
        self._node.holder = weakref.ref(self)
        self._base = self._seen = None

    def _assign(self: Self, node: Node, name: str = "assignment") -> Self:
        """Becomes the result of an operation, in its own dtype."""
        self._check_may_change()
        self._becomes(self._fitted(node, name))
        return self

    def _update(self: Self, how: Callable[[], Node], name: str) -> Self:
        """Becomes the result of x += y and the like. A view changes the array that it is a view of, as in NumPy."""
        whole = self if self._base is None else self._base
        whole._check_may_change()
        node: Optional[Node] = self._fitted(how(), name)
        if self._base is not None:
            node = placed(whole, self._geometry, node)
        if node is not None:
            whole._becomes(node)
        return self

    def _fitted(self, node: Node, name: str) -> Node:
        """A result in the dtype of this array, if NumPy would store it here."""
        if node.shape != self._shape:
            raise InvalidCall(f"{name}: non-broadcastable output operand with shape {self._shape} doesn't match the broadcast shape "
                              f"{node.shape}")
        if node.dtype == self._dtype:
            return node
        if not np.can_cast(node.dtype, self._dtype, "same_kind"):
            raise InvalidType(f"Cannot cast ufunc '{name}' output from dtype('{node.dtype}') to dtype('{self._dtype}') with casting "
                              "rule 'same_kind'")
        return converted(self._client, node, self._dtype)

    def fill(self, value: Any) -> None:
        """Assigns one number to all elements.

        Example:
            >>> x.fill(0)
        """
        self[...] = value
