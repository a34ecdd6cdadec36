"""The kernels as methods, for type checkers and editors: typed_kernels.py writes this from the catalogue, and a test
compares. At run time a client asks its daemon what there is."""

import os
from concurrent.futures import Future
from typing import Any, Callable, Coroutine, Literal, Mapping, NamedTuple, Optional, Sequence, SupportsIndex, Tuple, Union
from typing import overload

import numpy as np
import numpy.typing as npt

from .aio import AioKernel
from .arguments import Seconds
from .arrays import Array
from .kernels import Kernel
from .receipt import Receipt

Input = Union[npt.ArrayLike, Array, Future[Any], os.PathLike[str]]
Real = Union[float, np.floating[Any], np.integer[Any]]
Bool = Union[bool, np.bool_]
Shape = Union[SupportsIndex, Sequence[SupportsIndex]]
Destination = np.ndarray[Any, Any]
Destinations = Union[Tuple[Optional[Destination], ...], Mapping[str, Destination]]
Kept = Union[Literal[True], str, Mapping[str, Union[Literal[True], str]]]
Progress = Union[bool, Callable[[float, str], Any]]

class Arange(Kernel):
    """start, start + step, start + 2 * step, ... up to but not including stop"""

    @overload
    def __call__(self, start: Optional[Real] = ..., stop: Optional[Real] = ..., step: Optional[Real] = ...,
                 dtype: npt.DTypeLike = ..., *, keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, start: Optional[Real] = ..., stop: Optional[Real] = ..., step: Optional[Real] = ...,
                 dtype: npt.DTypeLike = ..., *, keep: Optional[Literal[False]] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioArange(AioKernel):
    """start, start + step, start + 2 * step, ... up to but not including stop"""

    def __call__(self, start: Optional[Real] = ..., stop: Optional[Real] = ..., step: Optional[Real] = ...,
                 dtype: npt.DTypeLike = ..., *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Argsort(Kernel):
    """y = the indices that would sort x along an axis"""

    @overload
    def __call__(self, x: Input,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 *, descending: Optional[Bool] = ..., keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 *, descending: Optional[Bool] = ..., keep: Optional[bool] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...

class AioArgsort(AioKernel):
    """y = the indices that would sort x along an axis"""

    def __call__(self, x: Input,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 *, descending: Optional[Bool] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class BatchedMatvec(Kernel):
    """y[i] = a x[i], a matrix times each vector of a batch"""

    @overload
    def __call__(self, a: Input, x: Input, *, keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, a: Input, x: Input, *, keep: Optional[Literal[False]] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioBatchedMatvec(AioKernel):
    """y[i] = a x[i], a matrix times each vector of a batch"""

    def __call__(self, a: Input, x: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Cholesky(Kernel):
    """a = l l^T, the Cholesky factor of a symmetric positive definite matrix"""

    @overload
    def __call__(self, a: Input, *, keep: Kept, out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, a: Input, *, keep: Optional[Literal[False]] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioCholesky(AioKernel):
    """a = l l^T, the Cholesky factor of a symmetric positive definite matrix"""

    def __call__(self, a: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _eig_outputs(NamedTuple):
    w: Any
    v: Any

class eig_result(_eig_outputs):
    receipt: Receipt

class Eig(Kernel):
    """eigenvalues w and right eigenvectors v of a square matrix, a v = v diag(w)"""

    def __call__(self, a: Input, *, compute: Optional[Literal["vectors", "values"]] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> eig_result: ...

class AioEig(AioKernel):
    """eigenvalues w and right eigenvectors v of a square matrix, a v = v diag(w)"""

    def __call__(self, a: Input, *, compute: Optional[Literal["vectors", "values"]] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _eigh_outputs(NamedTuple):
    w: Any
    v: Any

class eigh_result(_eigh_outputs):
    receipt: Receipt

class Eigh(Kernel):
    """eigenvalues w and eigenvectors v of a symmetric matrix, a v = v diag(w)"""

    def __call__(self, a: Input, *, compute: Optional[Literal["vectors", "values"]] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> eigh_result: ...

class AioEigh(AioKernel):
    """eigenvalues w and eigenvectors v of a symmetric matrix, a v = v diag(w)"""

    def __call__(self, a: Input, *, compute: Optional[Literal["vectors", "values"]] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Fft(Kernel):
    """discrete Fourier transforms over one or two axes: fft, ifft, rfft, irfft"""

    @overload
    def __call__(self, x: Input, n: Optional[SupportsIndex] = ..., *,
                 transform: Optional[Literal["fft", "ifft", "rfft", "irfft"]] = ...,
                 axes: Optional[SupportsIndex] = ..., norm: Optional[Literal["backward", "ortho", "forward"]] = ...,
                 keep: Kept, out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, n: Optional[SupportsIndex] = ..., *,
                 transform: Optional[Literal["fft", "ifft", "rfft", "irfft"]] = ...,
                 axes: Optional[SupportsIndex] = ..., norm: Optional[Literal["backward", "ortho", "forward"]] = ...,
                 keep: Optional[Literal[False]] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioFft(AioKernel):
    """discrete Fourier transforms over one or two axes: fft, ifft, rfft, irfft"""

    def __call__(self, x: Input, n: Optional[SupportsIndex] = ..., *,
                 transform: Optional[Literal["fft", "ifft", "rfft", "irfft"]] = ...,
                 axes: Optional[SupportsIndex] = ..., norm: Optional[Literal["backward", "ortho", "forward"]] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Flatnonzero(Kernel):
    """the positions of the elements that are not zero"""

    @overload
    def __call__(self, x: Input, *, keep: Kept, out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, *, keep: Optional[Literal[False]] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioFlatnonzero(AioKernel):
    """the positions of the elements that are not zero"""

    def __call__(self, x: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Full(Kernel):
    """an array filled with one value"""

    @overload
    def __call__(self, shape: Shape, fill_value: Real, dtype: npt.DTypeLike = ..., *, keep: Kept,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, shape: Shape, fill_value: Real, dtype: npt.DTypeLike = ..., *,
                 keep: Optional[Literal[False]] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioFull(AioKernel):
    """an array filled with one value"""

    def __call__(self, shape: Shape, fill_value: Real, dtype: npt.DTypeLike = ..., *,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _groupby_sum_outputs(NamedTuple):
    unique_keys: Any
    sums: Any
    counts: Any

class groupby_sum_result(_groupby_sum_outputs):
    receipt: Receipt

class GroupbySum(Kernel):
    """distinct keys in order, with the sum and count of their values"""

    def __call__(self, keys: Input, values: Input, *, keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> groupby_sum_result: ...

class AioGroupbySum(AioKernel):
    """distinct keys in order, with the sum and count of their values"""

    def __call__(self, keys: Input, values: Input, *, keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _histogram_outputs(NamedTuple):
    counts: Any
    edges: Any

class histogram_result(_histogram_outputs):
    receipt: Receipt

class Histogram(Kernel):
    """counts of elements in bins of equal width"""

    def __call__(self, x: Input, bins: Optional[SupportsIndex] = ..., range: Optional[Literal["data", "given"]] = ...,
                 *, low: Optional[Real] = ..., high: Optional[Real] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> histogram_result: ...

class AioHistogram(AioKernel):
    """counts of elements in bins of equal width"""

    def __call__(self, x: Input, bins: Optional[SupportsIndex] = ..., range: Optional[Literal["data", "given"]] = ...,
                 *, low: Optional[Real] = ..., high: Optional[Real] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _integrate2d_outputs(NamedTuple):
    value: Any
    error: Any

class integrate2d_result(_integrate2d_outputs):
    receipt: Receipt

class Integrate2d(Kernel):
    """the integral of sin(x + y) over a rectangle, by the midpoint rule"""

    def __call__(self, *, n: Optional[SupportsIndex] = ..., x_min: Optional[Real] = ..., x_max: Optional[Real] = ...,
                 y_min: Optional[Real] = ..., y_max: Optional[Real] = ...,
                 variant: Optional[Literal["naive", "shared", "fast"]] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> integrate2d_result: ...

class AioIntegrate2d(AioKernel):
    """the integral of sin(x + y) over a rectangle, by the midpoint rule"""

    def __call__(self, *, n: Optional[SupportsIndex] = ..., x_min: Optional[Real] = ..., x_max: Optional[Real] = ...,
                 y_min: Optional[Real] = ..., y_max: Optional[Real] = ...,
                 variant: Optional[Literal["naive", "shared", "fast"]] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _kmeans_outputs(NamedTuple):
    centroids: Any
    labels: Any
    inertia: Any
    iterations: Any

class kmeans_result(_kmeans_outputs):
    receipt: Receipt

class Kmeans(Kernel):
    """k-means clustering by Lloyd's algorithm from given centroids"""

    def __call__(self, points: Input, initial: Input, *, max_iterations: Optional[SupportsIndex] = ...,
                 tolerance: Optional[Real] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> kmeans_result: ...

class AioKmeans(AioKernel):
    """k-means clustering by Lloyd's algorithm from given centroids"""

    def __call__(self, points: Input, initial: Input, *, max_iterations: Optional[SupportsIndex] = ...,
                 tolerance: Optional[Real] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Linspace(Kernel):
    """num evenly spaced numbers from start to stop"""

    @overload
    def __call__(self, start: Optional[Real] = ..., stop: Optional[Real] = ..., num: Optional[SupportsIndex] = ...,
                 endpoint: Optional[bool] = ..., *, dtype: npt.DTypeLike = ..., keep: Kept,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, start: Optional[Real] = ..., stop: Optional[Real] = ..., num: Optional[SupportsIndex] = ...,
                 endpoint: Optional[bool] = ..., *, dtype: npt.DTypeLike = ..., keep: Optional[Literal[False]] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioLinspace(AioKernel):
    """num evenly spaced numbers from start to stop"""

    def __call__(self, start: Optional[Real] = ..., stop: Optional[Real] = ..., num: Optional[SupportsIndex] = ...,
                 endpoint: Optional[bool] = ..., *, dtype: npt.DTypeLike = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Mandelbrot(Kernel):
    """iteration counts of the Mandelbrot set on a grid"""

    @overload
    def __call__(self, *, x_min: Optional[Real] = ..., x_max: Optional[Real] = ..., y_min: Optional[Real] = ...,
                 y_max: Optional[Real] = ..., max_iterations: Optional[SupportsIndex] = ...,
                 resolution: Optional[SupportsIndex] = ..., keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, *, x_min: Optional[Real] = ..., x_max: Optional[Real] = ..., y_min: Optional[Real] = ...,
                 y_max: Optional[Real] = ..., max_iterations: Optional[SupportsIndex] = ...,
                 resolution: Optional[SupportsIndex] = ..., keep: Optional[Literal[False]] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioMandelbrot(AioKernel):
    """iteration counts of the Mandelbrot set on a grid"""

    def __call__(self, *, x_min: Optional[Real] = ..., x_max: Optional[Real] = ..., y_min: Optional[Real] = ...,
                 y_max: Optional[Real] = ..., max_iterations: Optional[SupportsIndex] = ...,
                 resolution: Optional[SupportsIndex] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Matmul(Kernel):
    """c = a b, the matrix product"""

    @overload
    def __call__(self, a: Input, b: Input, *, transpose_a: Optional[Bool] = ..., transpose_b: Optional[Bool] = ...,
                 keep: Kept, out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, a: Input, b: Input, *, transpose_a: Optional[Bool] = ..., transpose_b: Optional[Bool] = ...,
                 keep: Optional[bool] = ..., out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Any: ...

class AioMatmul(AioKernel):
    """c = a b, the matrix product"""

    def __call__(self, a: Input, b: Input, *, transpose_a: Optional[Bool] = ..., transpose_b: Optional[Bool] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Norm(Kernel):
    """norms of vectors (0, 1, 2, inf, -inf, p) and of matrices (fro, 1, -1, inf, -inf)"""

    @overload
    def __call__(self, x: Input,
                 ord: Union[Literal["auto", "0", "1", "-1", "2", "inf", "-inf", "p", "fro"], Real, None] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "matrices"], Real, None] = ...,
                 keepdims: Optional[Bool] = ..., *, p: Optional[Real] = ..., keep: Kept,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input,
                 ord: Union[Literal["auto", "0", "1", "-1", "2", "inf", "-inf", "p", "fro"], Real, None] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "matrices"], Real, None] = ...,
                 keepdims: Optional[Bool] = ..., *, p: Optional[Real] = ..., keep: Optional[bool] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...

class AioNorm(AioKernel):
    """norms of vectors (0, 1, 2, inf, -inf, p) and of matrices (fro, 1, -1, inf, -inf)"""

    def __call__(self, x: Input,
                 ord: Union[Literal["auto", "0", "1", "-1", "2", "inf", "-inf", "p", "fro"], Real, None] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "matrices"], Real, None] = ...,
                 keepdims: Optional[Bool] = ..., *, p: Optional[Real] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _pagerank_outputs(NamedTuple):
    rank: Any
    iterations: Any

class pagerank_result(_pagerank_outputs):
    receipt: Receipt

class Pagerank(Kernel):
    """PageRank of a graph's nodes, by power iteration"""

    def __call__(self, indices: Input, indptr: Input, *, damping: Optional[Real] = ...,
                 tolerance: Optional[Real] = ..., max_iterations: Optional[SupportsIndex] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> pagerank_result: ...

class AioPagerank(AioKernel):
    """PageRank of a graph's nodes, by power iteration"""

    def __call__(self, indices: Input, indptr: Input, *, damping: Optional[Real] = ...,
                 tolerance: Optional[Real] = ..., max_iterations: Optional[SupportsIndex] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class PowerSum(Kernel):
    """y = x + x^2 + x^3, element by element"""

    @overload
    def __call__(self, x: Input, *, keep: Kept, out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, *, keep: Optional[bool] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...

class AioPowerSum(AioKernel):
    """y = x + x^2 + x^3, element by element"""

    def __call__(self, x: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _qr_outputs(NamedTuple):
    q: Any
    r: Any

class qr_result(_qr_outputs):
    receipt: Receipt

class Qr(Kernel):
    """a = q r, q with orthonormal columns and r upper triangular"""

    def __call__(self, a: Input, mode: Optional[Literal["reduced", "complete"]] = ..., *,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> qr_result: ...

class AioQr(AioKernel):
    """a = q r, q with orthonormal columns and r upper triangular"""

    def __call__(self, a: Input, mode: Optional[Literal["reduced", "complete"]] = ..., *,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Random(Kernel):
    """random numbers: uniform, normal, or integers in a range"""

    @overload
    def __call__(self, size: Shape, *, distribution: Optional[Literal["uniform", "normal", "integers"]] = ...,
                 dtype: npt.DTypeLike = ..., seed: Optional[SupportsIndex] = ..., low: Optional[SupportsIndex] = ...,
                 high: Optional[SupportsIndex] = ..., keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, size: Shape, *, distribution: Optional[Literal["uniform", "normal", "integers"]] = ...,
                 dtype: npt.DTypeLike = ..., seed: Optional[SupportsIndex] = ..., low: Optional[SupportsIndex] = ...,
                 high: Optional[SupportsIndex] = ..., keep: Optional[Literal[False]] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioRandom(AioKernel):
    """random numbers: uniform, normal, or integers in a range"""

    def __call__(self, size: Shape, *, distribution: Optional[Literal["uniform", "normal", "integers"]] = ...,
                 dtype: npt.DTypeLike = ..., seed: Optional[SupportsIndex] = ..., low: Optional[SupportsIndex] = ...,
                 high: Optional[SupportsIndex] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Reduce(Kernel):
    """sum, prod, min, max, argmin, argmax, mean or std, along one axis or over all elements"""

    @overload
    def __call__(self, x: Input, *,
                 operation: Optional[Literal["sum", "prod", "min", "max", "argmin", "argmax", "mean", "std"]] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 keepdims: Optional[Bool] = ..., ddof: Optional[SupportsIndex] = ..., keep: Kept,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, *,
                 operation: Optional[Literal["sum", "prod", "min", "max", "argmin", "argmax", "mean", "std"]] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 keepdims: Optional[Bool] = ..., ddof: Optional[SupportsIndex] = ..., keep: Optional[bool] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...

class AioReduce(AioKernel):
    """sum, prod, min, max, argmin, argmax, mean or std, along one axis or over all elements"""

    def __call__(self, x: Input, *,
                 operation: Optional[Literal["sum", "prod", "min", "max", "argmin", "argmax", "mean", "std"]] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 keepdims: Optional[Bool] = ..., ddof: Optional[SupportsIndex] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Scan(Kernel):
    """the sums or products of the elements up to each, along an axis"""

    @overload
    def __call__(self, x: Input, *, operation: Optional[Literal["sum", "prod"]] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 include_initial: Optional[Bool] = ..., keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, *, operation: Optional[Literal["sum", "prod"]] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 include_initial: Optional[Bool] = ..., keep: Optional[bool] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...

class AioScan(AioKernel):
    """the sums or products of the elements up to each, along an axis"""

    def __call__(self, x: Input, *, operation: Optional[Literal["sum", "prod"]] = ...,
                 axis: Union[Literal["all", "0", "1", "2", "3", "4", "5", "6", "7", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8"], Real, None] = ...,
                 include_initial: Optional[Bool] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Searchsorted(Kernel):
    """where elements of x would be put into the sorted vector v"""

    @overload
    def __call__(self, v: Input, x: Input, side: Optional[Literal["left", "right"]] = ..., *, keep: Kept,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, v: Input, x: Input, side: Optional[Literal["left", "right"]] = ..., *,
                 keep: Optional[bool] = ..., out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Any: ...

class AioSearchsorted(AioKernel):
    """where elements of x would be put into the sorted vector v"""

    def __call__(self, v: Input, x: Input, side: Optional[Literal["left", "right"]] = ..., *,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Selu(Kernel):
    """y = lambda * (x > 0 ? x : alpha * (exp(x) - 1)), element by element"""

    @overload
    def __call__(self, x: Input, *, alpha: Optional[Real] = ..., lambda_: Optional[Real] = ..., keep: Kept,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, *, alpha: Optional[Real] = ..., lambda_: Optional[Real] = ...,
                 keep: Optional[bool] = ..., out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Any: ...

class AioSelu(AioKernel):
    """y = lambda * (x > 0 ? x : alpha * (exp(x) - 1)), element by element"""

    def __call__(self, x: Input, *, alpha: Optional[Real] = ..., lambda_: Optional[Real] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _slogdet_outputs(NamedTuple):
    sign: Any
    logabsdet: Any

class slogdet_result(_slogdet_outputs):
    receipt: Receipt

class Slogdet(Kernel):
    """sign and logarithm of the magnitude of a determinant"""

    def __call__(self, a: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> slogdet_result: ...

class AioSlogdet(AioKernel):
    """sign and logarithm of the magnitude of a determinant"""

    def __call__(self, a: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Solve(Kernel):
    """x with a x = b, for one or many right-hand sides"""

    @overload
    def __call__(self, a: Input, b: Input, *, keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, a: Input, b: Input, *, keep: Optional[Literal[False]] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioSolve(AioKernel):
    """x with a x = b, for one or many right-hand sides"""

    def __call__(self, a: Input, b: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Sort(Kernel):
    """y = x sorted along the last axis"""

    @overload
    def __call__(self, x: Input, *, descending: Optional[Bool] = ..., keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, *, descending: Optional[Bool] = ..., keep: Optional[Literal[False]] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioSort(AioKernel):
    """y = x sorted along the last axis"""

    def __call__(self, x: Input, *, descending: Optional[Bool] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _sort_by_key_outputs(NamedTuple):
    sorted_keys: Any
    sorted_values: Any

class sort_by_key_result(_sort_by_key_outputs):
    receipt: Receipt

class SortByKey(Kernel):
    """keys sorted along the last axis, and values moved with their keys"""

    def __call__(self, keys: Input, values: Input, *, descending: Optional[Bool] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> sort_by_key_result: ...

class AioSortByKey(AioKernel):
    """keys sorted along the last axis, and values moved with their keys"""

    def __call__(self, keys: Input, values: Input, *, descending: Optional[Bool] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destinations] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class Spmv(Kernel):
    """y = A x for a sparse matrix A in compressed sparse rows (CSR)"""

    @overload
    def __call__(self, data: Input, indices: Input, indptr: Input, x: Input, *, keep: Kept,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, data: Input, indices: Input, indptr: Input, x: Input, *, keep: Optional[Literal[False]] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioSpmv(AioKernel):
    """y = A x for a sparse matrix A in compressed sparse rows (CSR)"""

    def __call__(self, data: Input, indices: Input, indptr: Input, x: Input, *, keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destination] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class _svd_outputs(NamedTuple):
    u: Any
    s: Any
    vt: Any

class svd_result(_svd_outputs):
    receipt: Receipt

class Svd(Kernel):
    """a = u diag(s) vt, the singular value decomposition"""

    @overload
    def __call__(self, a: Input, full_matrices: Optional[Bool] = ..., *,
                 compute: Optional[Literal["full", "thin", "values"]] = ..., compute_uv: Literal[False],
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...
    @overload
    def __call__(self, a: Input, full_matrices: Optional[Bool] = ..., compute_uv: Optional[Bool] = ..., *,
                 compute: Optional[Literal["full", "thin", "values"]] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> svd_result: ...

class AioSvd(AioKernel):
    """a = u diag(s) vt, the singular value decomposition"""

    def __call__(self, a: Input, full_matrices: Optional[Bool] = ..., compute_uv: Optional[Bool] = ..., *,
                 compute: Optional[Literal["full", "thin", "values"]] = ..., keep: Union[None, bool, Kept] = ...,
                 out: Optional[Destinations] = ..., lease: Optional[Seconds] = ..., device: Optional[str] = ...,
                 precision: Optional[str] = ..., deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class TransferProbe(Kernel):
    """rates of copies to, from and within the device, in GB/s"""

    @overload
    def __call__(self, *, bytes: Optional[SupportsIndex] = ...,
                 direction: Optional[Literal["host_to_device", "device_to_host", "device_to_device", "all"]] = ...,
                 keep: Kept, out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, *, bytes: Optional[SupportsIndex] = ...,
                 direction: Optional[Literal["host_to_device", "device_to_host", "device_to_device", "all"]] = ...,
                 keep: Optional[Literal[False]] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> np.ndarray[Any, Any]: ...

class AioTransferProbe(AioKernel):
    """rates of copies to, from and within the device, in GB/s"""

    def __call__(self, *, bytes: Optional[SupportsIndex] = ...,
                 direction: Optional[Literal["host_to_device", "device_to_host", "device_to_device", "all"]] = ...,
                 keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class TrigIdentity(Kernel):
    """y = cos(x)^2 + sin(x)^2, element by element"""

    @overload
    def __call__(self, x: Input, *, keep: Kept, out: Optional[Destination] = ..., lease: Optional[Seconds] = ...,
                 device: Optional[str] = ..., precision: Optional[str] = ..., deterministic: Optional[bool] = ...,
                 priority: Optional[int] = ..., time_limit: Optional[Seconds] = ...,
                 deadline: Optional[Seconds] = ..., progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, x: Input, *, keep: Optional[bool] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...

class AioTrigIdentity(AioKernel):
    """y = cos(x)^2 + sin(x)^2, element by element"""

    def __call__(self, x: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class VectorAdd(Kernel):
    """c = a + b, element by element"""

    @overload
    def __call__(self, a: Input, b: Input, *, keep: Kept, out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Array: ...
    @overload
    def __call__(self, a: Input, b: Input, *, keep: Optional[bool] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Any: ...

class AioVectorAdd(AioKernel):
    """c = a + b, element by element"""

    def __call__(self, a: Input, b: Input, *, keep: Union[None, bool, Kept] = ..., out: Optional[Destination] = ...,
                 lease: Optional[Seconds] = ..., device: Optional[str] = ..., precision: Optional[str] = ...,
                 deterministic: Optional[bool] = ..., priority: Optional[int] = ...,
                 time_limit: Optional[Seconds] = ..., deadline: Optional[Seconds] = ...,
                 progress: Optional[Progress] = ...) -> Coroutine[Any, Any, Any]: ...

class ClientKernels:
    @property
    def arange(self) -> Arange: ...
    @property
    def argsort(self) -> Argsort: ...
    @property
    def batched_matvec(self) -> BatchedMatvec: ...
    @property
    def cholesky(self) -> Cholesky: ...
    @property
    def eig(self) -> Eig: ...
    @property
    def eigh(self) -> Eigh: ...
    @property
    def fft(self) -> Fft: ...
    @property
    def flatnonzero(self) -> Flatnonzero: ...
    @property
    def full(self) -> Full: ...
    @property
    def groupby_sum(self) -> GroupbySum: ...
    @property
    def histogram(self) -> Histogram: ...
    @property
    def integrate2d(self) -> Integrate2d: ...
    @property
    def kmeans(self) -> Kmeans: ...
    @property
    def linspace(self) -> Linspace: ...
    @property
    def mandelbrot(self) -> Mandelbrot: ...
    @property
    def matmul(self) -> Matmul: ...
    @property
    def norm(self) -> Norm: ...
    @property
    def pagerank(self) -> Pagerank: ...
    @property
    def power_sum(self) -> PowerSum: ...
    @property
    def qr(self) -> Qr: ...
    @property
    def random(self) -> Random: ...
    @property
    def reduce(self) -> Reduce: ...
    @property
    def scan(self) -> Scan: ...
    @property
    def searchsorted(self) -> Searchsorted: ...
    @property
    def selu(self) -> Selu: ...
    @property
    def slogdet(self) -> Slogdet: ...
    @property
    def solve(self) -> Solve: ...
    @property
    def sort(self) -> Sort: ...
    @property
    def sort_by_key(self) -> SortByKey: ...
    @property
    def spmv(self) -> Spmv: ...
    @property
    def svd(self) -> Svd: ...
    @property
    def transfer_probe(self) -> TransferProbe: ...
    @property
    def trig_identity(self) -> TrigIdentity: ...
    @property
    def vector_add(self) -> VectorAdd: ...

class AioKernels:
    @property
    def arange(self) -> AioArange: ...
    @property
    def argsort(self) -> AioArgsort: ...
    @property
    def batched_matvec(self) -> AioBatchedMatvec: ...
    @property
    def cholesky(self) -> AioCholesky: ...
    @property
    def eig(self) -> AioEig: ...
    @property
    def eigh(self) -> AioEigh: ...
    @property
    def fft(self) -> AioFft: ...
    @property
    def flatnonzero(self) -> AioFlatnonzero: ...
    @property
    def full(self) -> AioFull: ...
    @property
    def groupby_sum(self) -> AioGroupbySum: ...
    @property
    def histogram(self) -> AioHistogram: ...
    @property
    def integrate2d(self) -> AioIntegrate2d: ...
    @property
    def kmeans(self) -> AioKmeans: ...
    @property
    def linspace(self) -> AioLinspace: ...
    @property
    def mandelbrot(self) -> AioMandelbrot: ...
    @property
    def matmul(self) -> AioMatmul: ...
    @property
    def norm(self) -> AioNorm: ...
    @property
    def pagerank(self) -> AioPagerank: ...
    @property
    def power_sum(self) -> AioPowerSum: ...
    @property
    def qr(self) -> AioQr: ...
    @property
    def random(self) -> AioRandom: ...
    @property
    def reduce(self) -> AioReduce: ...
    @property
    def scan(self) -> AioScan: ...
    @property
    def searchsorted(self) -> AioSearchsorted: ...
    @property
    def selu(self) -> AioSelu: ...
    @property
    def slogdet(self) -> AioSlogdet: ...
    @property
    def solve(self) -> AioSolve: ...
    @property
    def sort(self) -> AioSort: ...
    @property
    def sort_by_key(self) -> AioSortByKey: ...
    @property
    def spmv(self) -> AioSpmv: ...
    @property
    def svd(self) -> AioSvd: ...
    @property
    def transfer_probe(self) -> AioTransferProbe: ...
    @property
    def trig_identity(self) -> AioTrigIdentity: ...
    @property
    def vector_add(self) -> AioVectorAdd: ...
