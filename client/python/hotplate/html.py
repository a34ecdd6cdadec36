"""What objects of this package look like in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

if TYPE_CHECKING:
    from .arrays import Array
    from .telemetry import Device

# A receipt's durations, in the order in which they pass.
_PHASES = (("queue_ns", "queue"), ("load_ns", "read files"), ("host_to_device_ns", "host to device"),
           ("compile_ns", "compile"), ("kernel_ns", "kernel"), ("device_to_host_ns", "device to host"),
           ("total_ns", "total"))
# What makes a measurement doubtful.
_FLAGS = (("cold", "first call on this device"), ("throttled", "clocks were held down"),
          ("device_shared", "other jobs on the device"), ("ecc_errors", "memory errors"),
          ("xid_errors", "driver errors"))


def duration(ns: float) -> str:
    """A duration in the unit that suits it."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.0f} ns"


def size(count: float) -> str:
    """A number of bytes in the unit that suits it."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def table(rows: Iterable[Sequence[Any]], heads: Sequence[str] = (), caption: str = "") -> str:
    """An HTML table; its texts are escaped."""
    parts = ["<table>"]
    if caption:
        parts.append(f"<caption>{escape(caption)}</caption>")
    if heads:
        parts.append("<tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr>")
    for first, *others in rows:
        cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in others)
        parts.append(f"<tr><th style='text-align:left'>{escape(str(first))}</th>{cells}</tr>")
    return "".join([*parts, "</table>"])


def receipt_table(receipt: Mapping[str, Any]) -> str:
    """A receipt: what took how long, where, and what else was measured. What was not measured has no row."""
    rows = [(text, duration(receipt[name])) for name, text in _PHASES if receipt.get(name) is not None]
    client = receipt.get("client") or {}
    for name, text in (("upload_seconds", "upload (client)"), ("download_seconds", "download (client)"),
                       ("total_seconds", "total (client)")):
        if client.get(name):
            rows.append((text, duration(1e9 * client[name])))
    for name, text, unit, factor in (("flop_per_second", "rate", "GFLOP/s", 1e9),
                                     ("bytes_per_second", "traffic", "GB/s", 1e9), ("energy_joules", "energy", "J", 1),
                                     ("mean_watts", "mean power", "W", 1), ("max_watts", "highest power", "W", 1)):
        if receipt.get(name) is not None:
            rows.append((text, f"{receipt[name] / factor:.4g} {unit}"))
    doubts = [text for name, text in _FLAGS if receipt.get(name)]
    if doubts:
        rows.append(("note", ", ".join(doubts)))
    where = receipt.get("device_name") or receipt.get("device") or "?"
    return table(rows, caption=f"{receipt.get('kernel', 'job')} on {where}, job {receipt.get('job_id', '?')}")


def devices_table(devices: Iterable[Device]) -> str:
    """Devices, a row each."""
    rows = [(device.id, device.name, size(device.memory_bytes),
             device.compute_capability or device.instruction_set or "", device.mode or "", device.lost or "healthy")
            for device in devices]
    return table(rows, ("device", "name", "memory", "capability", "mode", "state"))


def array_table(array: Array) -> str:
    """An array that stays on a daemon."""
    rows = [("name", array.name or "–"), ("dtype", array._dtype), ("shape", list(array.shape)), ("id", array.id)]
    return table(rows, caption=f"hotplate.Array on {array._client.server}")
