"""NumPy's functions that are no kernel of their own: methods of a Client beside its kernels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Sequence, SupportsIndex, Union

import numpy as np

from .errors import InvalidCall

if TYPE_CHECKING:
    import numpy.typing as npt

    Shape = Union[SupportsIndex, Sequence[SupportsIndex]]


class NumPyFunctions:
    """`zeros`, `ones`, `eye` and `dot` of a client."""

    def _kernel(self, name: str) -> Any:
        return getattr(self, name)

    def zeros(self, shape: Shape, dtype: npt.DTypeLike = "float64", order: Any = "C", **options: Any) -> Any:
        """An array of zeros, made on the daemon: the kernel `full`.

        Args:
            shape: elements along each axis, 1 to 3 of them.
            dtype: float32, float64, int32 or int64.
            order: "C"; for another, numpy.asfortranarray(…) of the result.
            options: those of every call. keep=True leaves the array on the daemon, and nothing crosses the network.

        Returns:
            An ndarray; with `keep` a hotplate.Array.

        Raises:
            ValueError: another number of axes, or another dtype.
            TypeError: `shape` is not a shape.

        Example:
            >>> gpu.zeros((2, 3))
            array([[0., 0., 0.],
                   [0., 0., 0.]])
        """
        return self._kernel("full")(shape, 0.0, dtype or "float64", order, **options)

    def ones(self, shape: Shape, dtype: npt.DTypeLike = "float64", order: Any = "C", **options: Any) -> Any:
        """An array of ones, made on the daemon: the kernel `full`.

        Args:
            shape: elements along each axis, 1 to 3 of them.
            dtype: float32, float64, int32 or int64.
            order: "C"; for another, numpy.asfortranarray(…) of the result.
            options: as for `zeros`.

        Returns:
            An ndarray; with `keep` a hotplate.Array.

        Raises:
            ValueError: another number of axes, or another dtype.
            TypeError: `shape` is not a shape.

        Example:
            >>> A = gpu.ones((3000, 3000), "float32", keep=True)
        """
        return self._kernel("full")(shape, 1.0, dtype or "float64", order, **options)

    def eye(self, N: int, M: Optional[int] = None, k: int = 0,
            dtype: npt.DTypeLike = "float64", order: Any = "C") -> np.ndarray[Any, Any]:
        """numpy.eye: ones on a diagonal. NumPy makes it here: there is no kernel for it, and nothing is sent.

        To have it on the daemon, send all of its N * M elements: gpu.array(gpu.eye(3000)). Scaling or shifting by an
        identity rarely needs one: use gpu.vector_add or gpu.solve.

        Args:
            N, M: rows and columns. Default for M: N.
            k: the diagonal: 0 is the main one, positive ones are to its right.
            dtype: the elements' dtype.
            order: "C" or "F", the order in memory.

        Raises:
            TypeError, ValueError: what numpy.eye raises.

        Example:
            >>> gpu.eye(2)
            array([[1., 0.],
                   [0., 1.]])
        """
        return np.eye(N, M, k, dtype, order)

    def dot(self, a: Any, b: Any, out: Any = None, **options: Any) -> Any:
        """numpy.dot of vectors and matrices: the kernel `matmul`.

        Args:
            a, b: arrays of a dtype that matmul takes, with one axis or more; `b` has one or two if `a` has more than one.
            options: those of every call, and matmul's own.

        Returns:
            A number for two vectors, else an ndarray; with `keep` a hotplate.Array.

        Raises:
            ValueError: numbers, which have no axis; stacks of matrices, of which numpy.dot would pair each with all
                others; inner sizes that differ.
            TypeError: a dtype that matmul does not take.

        Example:
            >>> float(gpu.dot([1.0, 2.0], [3.0, 4.0]))
            11.0
        """
        axes = [_axes(a), _axes(b)]
        for name, count in zip("ab", axes):
            if count == 0:
                raise InvalidCall(f"dot: {name} is a number; a dot product is of arrays with axes: write a * b")
        if (axes[0] or 2) > 1 and (axes[1] or 2) > 2:
            raise InvalidCall(f"dot: b has {axes[1]} axes, and numpy.dot would pair each matrix of a with each of b: write "
                              "gpu.matmul(a, b) for the products of one with one")
        return self._kernel("matmul")(a, b, out=out, **options)


def _axes(value: Any) -> Optional[int]:
    """The rank of an argument; None for a file, which only the daemon reads."""
    if isinstance(value, os.PathLike):
        return None
    axes: int = value.ndim if hasattr(value, "ndim") else np.ndim(value)
    return axes
