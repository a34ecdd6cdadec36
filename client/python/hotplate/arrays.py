"""Arrays that stay on the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

import numpy as np

from . import _core
from .arguments import is_no_array, seconds, text, without_mask
from .connection import Connection
from .errors import AlreadyExists, InvalidType
from .indexing import part, span
from .refusing import Refusing

if TYPE_CHECKING:
    from .arguments import Seconds
    from .receipt import Receipt

# Bytes that can be read in the time of one more request.
_GAP = 1 << 18


class Array(Refusing):
    """An array on the daemon. Kernels take it as they take an ndarray, and nothing is sent.

    Without a name or a lease it is freed with its last reference. With a name it stays until the session ends or `free`;
    with a lease it stays until the lease ends.

    It does not compute yet: operators, comparisons, bool(), iteration and NumPy's functions (numpy.dot(A, B)) raise a
    TypeError that says what to write. A.numpy(), A[0, :5] and numpy.asarray(A) fetch elements. So does everything that
    calls numpy.asarray inside, which cannot be told from it: other packages, methods of an ndarray (V.dot(A)), lists
    (numpy.array([A, B])) and random generators (rng.choice(A)). In sets and dicts an array is itself; `A is B` tells whether two are one.

    Attributes:
        shape, dtype, ndim, size, nbytes: as of an ndarray, read-only; nbytes is in bytes.
        receipt: the Receipt of the job that made the array; None if it was sent or looked up.

    Example:
        >>> A = gpu.array(np.eye(3000), name="A")
        >>> B = gpu.matmul(A, A, keep=True)
        >>> B[0, :5]                                 # reads 40 bytes
        array([1., 0., 0., 0., 0.])
    """

    def __init__(self, client: Connection, id: str, dtype: str, shape: tuple[int, ...], name: str = "",
                 owned: bool = False, receipt: Optional[Receipt] = None) -> None:
        self._client = client
        self._id = id
        self._name = name
        self._shape = tuple(shape)
        self.receipt = receipt
        self._dtype = dtype
        self._owned = owned
        self._ref = _core.ArrayRef(id)
        if owned:
            client._core.own(id)

    @property
    def id(self) -> str:
        """The daemon's id of it, a str.

        Example:
            >>> gpu.free(A.id)
        """
        return self._id

    @property
    def name(self) -> str:
        """Its name, or "".

        Example:
            >>> gpu.array(name=A.name).shape == A.shape
            True
        """
        return self._name

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
            raise InvalidType(f"array {self.name or self.id} is {self._dtype}, which NumPy has not") from None

    @property
    def ndim(self) -> int:
        """The number of axes.

        Example:
            >>> A.ndim
            2
        """
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements.

        Example:
            >>> A.size
            9000000
        """
        count = 1
        for length in self.shape:
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

    @property
    def device(self) -> str:
        """The place of its elements: "host", or the id of the device that alone has them. Asks the daemon.

        It is "" if they are lost with their device; `describe()["lost"]` says why.

        Raises:
            KeyError: it was freed.

        Example:
            >>> A.device
            'gpu0'
        """
        return str(self.describe()["location"])

    @property
    def lease(self) -> Optional[float]:
        """The end of its lease, in seconds of the Unix clock; None without one. Asks the daemon.

        Raises:
            KeyError: it was freed.

        Example:
            >>> A.lease - time.time()   # seconds that are left
        """
        expires: Optional[float] = self.describe()["lease_expire_time"]
        return expires

    def describe(self) -> dict[str, Any]:
        """The daemon's description of it, as a dict. Sizes are in bytes, times in seconds of the Unix clock.

        Raises:
            KeyError: it was freed.

        Example:
            >>> A.describe()["location"]
            'host'
        """
        return self._client._core.describe_array(self.id)

    def numpy(self, out: Optional[np.ndarray[Any, Any]] = None) -> np.ndarray[Any, Any]:
        """Fetches its elements.

        Args:
            out: a C-contiguous ndarray of the same shape and dtype to fetch into. Default: a new one.

        Returns:
            `out`, or an ndarray of the caller's own.

        Raises:
            ValueError: `out` does not fit.
            TypeError: `out` is not an ndarray.
            KeyError: it was freed, or is lost with the device that alone had it.

        Example:
            >>> A.numpy().sum()
        """
        if out is None:
            return self._client._core.get(self.id)
        check_destination("out", out, self._dtype, self.shape)
        self._client._core.get_into(self.id, out)
        return out

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError(f"array {self.name or self.id} is on the daemon: without a copy it is not to be had here")
        fetched = self.numpy()
        return fetched if dtype is None else fetched.astype(dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        if options.pop("copy", None) is False:
            raise BufferError(f"array {self.name or self.id} is on the daemon: without a copy it is not to be had here")
        return self.numpy().__dlpack__(**{key: value for key, value in options.items() if value is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # host memory

    def __getitem__(self, index: Any) -> Any:
        """Fetches a part, as indexing an ndarray would give it.

        Integers, slices, None and ... fetch only that part, and gaps of up to 256 KiB in it. Lists and masks fetch the whole
        array.

        Raises:
            IndexError: the index is outside the array.
        """
        named = part(index, self.shape, self.dtype)
        if named is None:
            return self.numpy()[index]
        begin, shape, steps = named
        result = np.empty(shape, self.dtype)
        if result.size:
            self._read(begin, steps, result)
        # An element is a scalar; with an ellipsis, an array without axes.
        return result if shape or isinstance(index, tuple) and Ellipsis in index or index is Ellipsis else result[()]

    def _read(self, begin: int, steps: tuple[int, ...], to: np.ndarray[Any, Any]) -> None:
        """Reads the elements from byte `begin` on, so many bytes apart along each axis, into `to`."""
        low, high = span(begin, steps, to.shape, to.itemsize)
        if steps:
            widest = max(range(len(steps)), key=lambda axis: abs(steps[axis]) * (to.shape[axis] - 1))
            rest = steps[:widest] + steps[widest + 1:]
            inner_low, inner_high = span(begin, rest, to.shape[:widest] + to.shape[widest + 1:], to.itemsize)
            count = to.shape[widest]
            if count > 1 and count * (inner_high - inner_low + _GAP) < high - low:
                for i in range(count):
                    self._read(begin + i * steps[widest], rest, np.moveaxis(to, widest, 0)[i, ...])
                return
        if high - low == to.nbytes and to.flags.c_contiguous and all(step >= 0 for step in steps):
            self._client._core.get_into(self.id, to, offset=low)
            return
        block = np.empty(high - low, np.uint8)
        self._client._core.get_into(self.id, block, offset=low)
        to[...] = np.ndarray(to.shape, to.dtype, block, begin - low, steps)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def renew(self, lease: Seconds) -> None:
        """Gives it a new lease, with which it outlives this client and its session.

        Args:
            lease: the time from now: seconds, "2h" or a timedelta.

        Raises:
            KeyError: it was freed.
            ValueError: no time, or more than 10 years.

        Example:
            >>> A.renew(3600)
        """
        self._client._core.renew(self.id, seconds("lease", lease))
        self._keep()

    def free(self) -> None:
        """Frees it now, also for other clients that use it by its name.

        Raises:
            KeyError: it was freed already.

        Example:
            >>> A.free()
        """
        self._keep()
        self._client._core.free(self.id)

    def _keep(self) -> None:
        if self._owned:
            self._owned = False
            self._client._core.disown(self.id)

    def __copy__(self) -> Array:
        return self  # the daemon has it once, and frees it with the last reference

    def __deepcopy__(self, memo: Any) -> Array:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"array {self.name or self.id} is on the daemon {self._client.server} and cannot be pickled: "
                        "take its elements, numpy(), or its name")

    def __del__(self) -> None:
        # An array whose construction failed owns nothing.
        if getattr(self, "_owned", False):
            self._client._core.release_later(self.id)

    def _repr_html_(self) -> str:
        from .html import table

        rows = [("name", self.name or "–"), ("dtype", self._dtype), ("shape", list(self.shape)), ("id", self.id)]
        return table(rows, caption=f"hotplate.Array on {self._client.server}")

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<hotplate.Array{name} {self._dtype} {list(self.shape)} on {self._client.server}>"


def send(client: Connection, data: Any, name: str, lease: Optional[Seconds], replace: bool, dtype: Any, progress: Any,
         cancellation: Optional[_core.Cancellation] = None) -> Array:
    """Implements `Client.array`; `cancellation` ends it from another thread."""
    text("name", name)
    duration = None if lease is None else seconds("lease", lease)
    if data is None:
        if not name:
            raise InvalidType("array() needs data, or the name of an array that is there")
        for what, value in (("lease", lease), ("dtype", dtype), ("replace", replace or None)):
            if value is not None:
                raise InvalidType(f"array {name} is there as it is: {what}={value!r} is for data that is sent"
                                  f"{'; renew(lease) gives it another lease' if what == 'lease' else ''}")
        return described(client, client._core.describe_array(name))
    if isinstance(data, Array):
        raise InvalidType(f"data is {data!r}, which is on a daemon already: another copy is gpu.array(A.numpy())")
    plain = without_mask("data", data)
    # A Decimal, or an integer of more than 64 bits, is a number of the dtype that is asked for.
    if is_no_array(data, plain) and (dtype is None or not hasattr(data, "__float__")):
        raise InvalidType(f"data is a {type(data).__name__}, which is no array")
    value = np.asarray(plain, dtype=dtype, order="C")
    if value.dtype.kind not in "biufc":
        raise InvalidType(f"data is of dtype {value.dtype}; the arrays of a daemon are of numbers")
    if value.dtype.char in "gG":
        raise InvalidType(f"data is of dtype {value.dtype}, which each machine has its own of: take another (astype)")
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    options, end_progress = _core.Options(), None
    if progress:
        from .progress_bar import attach

        end_progress = attach(options, progress, name or "array")
    try:
        fields = client._core.put(value, name, duration, bool(replace), options.on_upload, cancellation)
    except AlreadyExists as error:
        if "is taken by" in str(error):  # not of a name that a job has been promised
            error.args = (f"{error}; replace=True frees it for this one",)
        raise
    finally:
        if end_progress is not None:
            end_progress()
    return described(client, fields, owned=not name and lease is None)


def described(client: Connection, fields: Mapping[str, Any], owned: bool = False,
              receipt: Optional[Receipt] = None) -> Array:
    """An array as the daemon describes it."""
    signature = fields["signature"]
    return Array(client, fields["id"], signature["dtype"], tuple(signature["shape"]), fields["name"], owned, receipt)


def check_destination(what: str, out: Any, dtype: str, shape: tuple[int, ...]) -> None:
    """Checks that elements of this dtype and shape can be stored in `out`.

    Raises:
        TypeError: it is not an ndarray.
        ValueError: its dtype, shape or layout is wrong, or it is read-only.
    """
    if not isinstance(out, np.ndarray):
        raise InvalidType(f"{what} is a {type(out).__name__}; it must be a numpy.ndarray")
    if isinstance(out, np.ma.MaskedArray):
        raise InvalidType(f"{what} is a masked array, whose mask would stay as it is: take its .data")
    if out.dtype != np.dtype(dtype) or out.shape != tuple(shape):
        raise ValueError(f"{what} is {out.dtype} of shape {list(out.shape)}; the result is {dtype} of shape {list(shape)}")
    if not out.flags.writeable:
        raise ValueError(f"{what} cannot be written to: it is read-only")
    if not out.flags.c_contiguous:
        raise ValueError(f"{what} is not C-contiguous (strides {out.strides}): take numpy.empty({out.shape}, '{dtype}')")
