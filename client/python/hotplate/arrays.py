"""Arrays that stay on the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

import numpy as np

from . import _core, fetching, namespace, numpy_protocol
from .arguments import is_no_array, seconds, text, without_mask
from .computing import Computing
from .connection import Connection
from .errors import AlreadyExists, Error, InvalidCall, InvalidType, NotFound
from .graph import EACH, FREED, SENT, STORED, Node, Stored, freed, stored
from .noting import note
from .operations import told
from .placing import ANY, default_device, device_named
from .receipt import Receipt
from .sending import compute

if TYPE_CHECKING:
    from .arguments import Seconds


class Array(Computing):
    """An array on the daemon. It computes as NumPy's do, and its work happens there.

    Operators, NumPy's functions (numpy.exp(A)) and methods note what to compute. What needs a value sends it, as one expression:
    numpy(), a kernel that takes the array, bool(), print(), `compute()`. Slices and transposes are views. Kernels take an Array as
    they take an ndarray, and nothing is sent; they then return Arrays.

    Without a name or a lease it is freed with its last reference. With a name it stays until the session ends or `free`;
    with a lease it stays until the lease ends.

    A.numpy() and numpy.asarray(A) fetch elements. So does everything that calls numpy.asarray inside, which cannot be told from
    it: other packages, methods of an ndarray (V.dot(A)), lists (numpy.array([A, B])) and random generators (rng.choice(A)). What
    arrays on the daemon do not have is a TypeError that says what to write. In sets and dicts an array is itself; `A is B` tells
    whether two are one.

    Attributes:
        shape, dtype, ndim, size, nbytes: as of an ndarray, read-only; nbytes is in bytes.
        receipt: the Receipt of the job that made the array; None if it was sent or looked up, or is not computed yet.

    Example:
        >>> A = gpu.array(np.eye(3000), name="A")
        >>> B = 2 * A + 1                            # is noted
        >>> B[0, :3]                                 # is computed; reads 24 bytes
        hotplate.Array([3., 1., 1.])
    """

    def __init__(self, client: Connection, id: str, dtype: str, shape: tuple[int, ...], name: str = "",
                 owned: bool = False, receipt: Optional[Receipt] = None, device: str = "") -> None:
        self._client = client
        self._shape = tuple(shape)
        self._dtype = dtype
        self._node = stored(client, id, dtype, self._shape, owned, name, device)
        self._node.receipt = receipt
        self._is_number = not self._shape and receipt is not None  # the result of a kernel

    @property
    def _ref(self) -> Stored:
        """It as an input of calls: of a view, a copy. Computes it."""
        node = self._now()
        compute([node])
        if node.kind == SENT:
            self._upload(node)
        if self._base is not None and node is not self._base._node:
            self._copied = node
        _check_is_there(node)
        value: Stored = node.value
        return value

    def _upload(self, node: Node) -> None:
        with self._client._computing:
            if node.kind == SENT:
                there = self._client._core.put(node.value, device="" if node.device == ANY else node.device)
                node.kind, node.value = STORED, Stored(self._client, there["id"], True)

    def _waits(self) -> bool:
        """Whether it is computed, or copied, before a call can have it."""
        return self._now().kind != STORED

    def _own(self) -> Stored:
        """The array of the daemon that it is, or is a view of. Computes it."""
        whole = self if self._base is None else self._base
        return whole._ref  # type: ignore[no-any-return]

    @property
    def id(self) -> str:
        """The daemon's id of it, a str. Computes it; of a view, the id of a copy.

        Example:
            >>> gpu.free(A.id)
        """
        value: str = self._ref.id
        return value

    @property
    def receipt(self) -> Optional[Receipt]:
        """The Receipt of the job that made it; None if it was sent or looked up, or is not computed yet.

        Example:
            >>> (A + 1).compute().receipt.kernel_ns
        """
        return self._now().receipt if self._base is None else None

    @property
    def _name(self) -> str:
        name: str = self._node.name if self._base is None else ""
        return name

    @property
    def name(self) -> str:
        """Its name, or "".

        Example:
            >>> gpu.array(name=A.name).shape == A.shape
            True
        """
        return self._name

    @property
    def device(self) -> str:
        """The id of the device that operations on it run on; "any" if the daemon chooses among several.

        It is the device that `gpu.array(…, device=…)` or `to_device` named, or that of the arrays it was made of, else the daemon's
        GPU, or CPU if it has none.

        Example:
            >>> gpu.array([1, 2, 3], device="gpu1").device
            'gpu1'
        """
        return self._now().device or default_device(self._client)

    def to_device(self, device: str, /, *, stream: None = None) -> Array:
        """A copy on another device; the array itself if it is there.

        Args:
            device: the id of a device of the daemon, or "any".
            stream: None: the daemon has streams of its own.

        Raises:
            ValueError: there is no such device; a stream.

        Example:
            >>> A.to_device("cpu0").device
            'cpu0'
        """
        if stream is not None:
            raise InvalidCall(f"to_device: stream is {stream!r}; the daemon has streams of its own")
        wanted, node = device_named(self._client, device), self._now()
        if wanted == (node.device or ANY) or not node.device and wanted == default_device(self._client):
            return self
        return self._of(note(self._client, EACH, self._dtype, self._shape, "{}", (node,), bases=1, device=wanted))

    @property
    def location(self) -> str:
        """The place of its elements: "host", or the id of the device that alone has them. Asks the daemon.

        It is "" if they are lost with their device; `describe()["lost"]` says why.

        Raises:
            KeyError: it was freed.

        Example:
            >>> A.location
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
        description: dict[str, Any] = self._client._core.describe_array(self._own().id)
        return description

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
        if out is not None:
            check_destination("out", out, self._dtype, self.shape)
        node = self._node if self._base is None else self._base._node
        compute([node], node if self._base is None and self.size == 1 else None)
        _check_is_there(node)
        if self._base is None and node.kind == STORED:
            if out is not None:
                self._client._core.get_into(node.value.id, out)
                return out
            fetched: np.ndarray[Any, Any] = self._client._core.get(node.value.id)
            return fetched
        to = np.empty(self._shape, self.dtype) if out is None else out
        shape, offset, strides = self._where()
        if node.kind == SENT:
            if to.size:
                to[...] = np.lib.stride_tricks.as_strided(node.value.reshape(-1)[offset:], shape,
                                                          [step * to.itemsize for step in strides])
        else:
            fetching.read(self._client._core, node.value.id, offset * to.itemsize, tuple(step * to.itemsize for step in strides),
                          to)
        return to

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError(f"{told(self)} is on the daemon: without a copy it is not to be had here")
        fetched = self.numpy()
        return fetched if dtype is None else fetched.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return numpy_protocol.ufunc(self, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return numpy_protocol.function(self, function, arguments, options)

    def __array_namespace__(self, /, *, api_version: Optional[str] = None) -> Any:
        module = namespace.standard()
        if api_version is not None and api_version not in module.VERSIONS:
            raise InvalidCall(f"api_version is {api_version!r}; hotplate.xp is of {', '.join(module.VERSIONS)}")
        return module

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Optional[bool] = None) -> Any:
        if copy is False:
            raise BufferError(f"{told(self)} is on the daemon: without a copy it is not to be had here")
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        return self.numpy().__dlpack__(**{key: value for key, value in options.items() if value is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # host memory

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
        self._check_is_no_view("gets a lease")
        own = self._ref
        self._client._core.renew(own.id, seconds("lease", lease))
        own.keep()

    def make_durable(self) -> str:
        """Has the daemon write it to a file: the next daemon of the same name has it, whatever becomes of this one.

        It needs a name and a lease, and a daemon with a journal (all but those with `--journal off`). Submitted jobs that take it
        share this file, which becomes read-only, instead of copying it.

        Returns:
            The .npy file: a path on the daemon's node.

        Raises:
            KeyError: it was freed.
            ValueError: it is a view.
            hotplate.errors.Busy: it has no name or no lease; the daemon keeps no journal; there is no room for the file, or it
                cannot be written.

        Example:
            >>> A = gpu.array(x, name="A", lease="2h")
            >>> A.make_durable()
        """
        self._check_is_no_view("is saved")
        file: str = self._client._core.save_array(self._ref.id)
        return file

    def free(self) -> None:
        """Frees it now, also for other clients that use it by its name. Using it afterwards raises KeyError.

        If it is not computed yet, it never is: what you computed from it before still works. If it is on the daemon, results that
        you noted with it and that are not computed yet raise KeyError when they are needed.

        Raises:
            KeyError: it was freed already.
            ValueError: it is a view.

        Example:
            >>> A.free()
        """
        self._check_is_no_view("is freed")
        with self._client._computing:
            node = self._node
            if node.kind != STORED:
                self._node = freed(node)
                return
        own: Stored = node.value
        _check_is_there(node)
        own.keep()
        self._client._core.free(own.id)
        own.freed = True

    def _check_is_no_view(self, what: str) -> None:
        if self._base is not None:
            raise InvalidCall(f"{told(self)} is a view: it {what} with the array that it is a view of")

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def __reduce__(self) -> Any:
        raise TypeError(f"{told(self)} is on the daemon {self._client.server} and cannot be pickled: "
                        "take its elements, numpy(), or its name")

    def _repr_html_(self) -> str:
        from .html import table

        rows = [("name", self.name or "–"), ("dtype", self._dtype), ("shape", list(self.shape)), ("elements", self._printed())]
        return table(rows, caption=f"hotplate.Array on {self._client.server}")

    def _printed(self) -> str:
        try:
            return fetching.printed(self, "", " ")
        except (NotFound, ConnectionError, RuntimeError) as error:
            return f"({error})"

    def __str__(self) -> str:
        return fetching.printed(self, "", " ")

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if not self._shape else format(str(self), form)

    def __repr__(self) -> str:
        node = self._node if self._base is None else self._base._node
        try:
            # Errors of what was written are the user's; of an array that is gone there are some words.
            compute([node], node if self._base is None and self.size == 1 else None)
            try:
                return fetching.represented(self, self.name)
            except (NotFound, TypeError):  # freed; of a dtype that NumPy has not
                return told(self)
        except ConnectionError:
            return told(self)
        except RuntimeError as error:
            if isinstance(error, Error):
                raise
            return told(self)  # its client is closed


def _check_is_there(node: Node) -> None:
    """Checks that an array was not freed before the daemon had it: the daemon could not say which it is.

    Raises:
        KeyError: it was.
    """
    if node.kind == STORED and node.value.freed and node.value.id == FREED:
        raise NotFound(f"{node.told()} was freed before it was computed")


def send(client: Connection, data: Any, name: str, lease: Optional[Seconds], replace: bool, dtype: Any, progress: Any,
         device: Optional[str] = None, cancellation: Optional[_core.Cancellation] = None) -> Array:
    """Implements `Client.array`; `cancellation` ends it from another thread."""
    text("name", name)
    if device is not None:
        device = device_named(client, device)
    duration = None if lease is None else seconds("lease", lease)
    if data is None:
        if not name:
            raise InvalidType("array() needs data, or the name of an array that is there")
        for what, value in (("lease", lease), ("dtype", dtype), ("replace", replace or None), ("device", device)):
            if value is not None:
                raise InvalidType(f"array {name} is there as it is: {what}={value!r} is for data that is sent"
                                  f"{'; renew(lease) gives it another lease' if what == 'lease' else ''}")
        return described(client, client._core.describe_array(name))
    if isinstance(data, Array):
        raise InvalidType(f"data is {told(data)}, which is on a daemon already: another copy is A.copy()")
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
        fields = client._core.put(value, name, duration, bool(replace), device if device and device != ANY else "", options.on_upload, cancellation)
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
    return Array(client, fields["id"], signature["dtype"], tuple(signature["shape"]), fields["name"], owned, receipt,
                 fields.get("device", ""))


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
