"""The receipt of a job: its time, its place and its conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional

if TYPE_CHECKING:
    from . import _core


class Receipt(Mapping[str, Any]):
    """The figures of one job, as attributes and as a mapping.

    Durations are in nanoseconds on the daemon's clock (`queue_ns`, `kernel_ns`, `host_to_device_ns`, `total_ns`, …).
    `load_ns` is the reading of inputs by path and their copying from another device, `store_ns` the writing of outputs
    by path.
    `client` has the client's part, in seconds and bytes on this machine's clock. An unmeasured value is None, never 0.

    Example:
        >>> c = gpu.matmul(a, b)
        >>> gpu.last_receipt.kernel_ns / 1e6, gpu.last_receipt["device_name"]
    """

    __slots__ = ("_make", "_fields", "_result")

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        # Read on demand: a call does not pay for a receipt that nobody reads.
        self._make: Optional[Callable[[], dict[str, Any]]] = make
        self._fields: dict[str, Any] = {}
        self._result: Optional[_core.Result] = None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Receipt:
        """A receipt with these fields.

        Example:
            >>> hp.Receipt.of(json.loads(line))   # as `json.dumps(receipt.fields)` wrote it
        """
        return cls(lambda: fields)

    @classmethod
    def of_result(cls, result: _core.Result) -> Receipt:
        """The receipt of a result.

        Example:
            >>> Receipt.of_result(client._core.last_result())
        """
        receipt = cls(lambda: {**result.receipt(), "client": result.timings()})
        receipt._result = result
        return receipt

    def __reduce__(self) -> Any:
        return Receipt.of, (self.fields,)

    @property
    def fields(self) -> dict[str, Any]:
        """All fields, as a dict.

        Example:
            >>> json.dumps(gpu.last_receipt.fields)
        """
        if self._make is not None:
            self._fields = self._make()
            self._make = None
        return self._fields

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"a receipt has no {name}; it has {', '.join(self.fields)}") from None

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.fields]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.fields)

    def __repr__(self) -> str:
        fields = self.fields
        kernel = "" if fields.get("kernel_ns") is None else f", kernel {fields['kernel_ns'] / 1e6:.3f} ms"
        return (f"<Receipt of job {fields['job_id']}: {fields['kernel']} on {fields['device']}{kernel}, "
                f"total {fields['total_ns'] / 1e6:.3f} ms>")

    def _repr_html_(self) -> str:
        from .html import receipt_table

        return receipt_table(self)
