"""The tables that notebooks show for objects of this package."""

from __future__ import annotations

import time
from html import escape
from typing import Any, Iterable, Mapping, Optional, Sequence

# A receipt's durations, in the order in which they pass.
_PHASES = (("queue_ns", "queue"), ("load_ns", "load"), ("host_to_device_ns", "host to device"),
           ("compile_ns", "compile"), ("kernel_ns", "kernel"), ("device_to_host_ns", "device to host"),
           ("store_ns", "store"), ("total_ns", "total"))
# Reasons to doubt a measurement.
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
    """A receipt: times, places, and other measurements. Unmeasured values have no row."""
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


def devices_table(devices: Iterable[Mapping[str, Any]]) -> str:
    """Devices, a row each."""
    rows = [(device["id"], device["name"], size(device["memory_bytes"]),
             device["compute_capability"] or device["instruction_set"] or "", device["mode"] or "", device["lost"] or "healthy")
            for device in devices]
    return table(rows, ("device", "name", "memory", "capability", "mode", "state"))


def clock(seconds: Optional[float]) -> str:
    """A time of the Unix clock, shown in local time; a dash for None."""
    return "–" if seconds is None else time.strftime("%H:%M:%S", time.localtime(seconds))


def daemon_table(info: Mapping[str, Any], session: str, caption: str) -> str:
    """A client's daemon: where it is, what it has, when it ends."""
    allocation = info.get("allocation") or {}
    left = None if allocation.get("end_time") is None else allocation["end_time"] - info["now"]
    told = [("node", info["node"]), ("state", info["state"].lower()),
            ("devices", ", ".join(f"{device['id']}: {device['name']}, {size(device['memory_bytes'])}"
                                  for device in info["devices"])),
            ("job", allocation.get("job_id")), ("partition", allocation.get("partition")),
            ("ends", None if left is None else f"{clock(allocation['end_time'])}, in {duration(1e9 * max(left, 0))}"),
            ("ends without use", None if not info["idle_timeout"] else f"after {duration(1e9 * info['idle_timeout'])}"),
            ("version", info["versions"]["hotplate"]), ("session", session)]
    return table([row for row in told if row[1]], caption=caption)


def jobs_table(jobs: Iterable[Mapping[str, Any]]) -> str:
    """Jobs, a row each."""
    rows = [(job["id"], job["kernel"], _state(job), job["device"] or "–", clock(job["submit_time"]), _took(job, "queue_ns"),
             _took(job, "kernel_ns")) for job in jobs]
    return table(rows, ("job", "kernel", "state", "device", "submitted", "queued", "kernel time"))


def job_table(job: Mapping[str, Any]) -> str:
    """One job: its state, its parameters, and its error."""
    rows: list[tuple[str, object]] = [("state", _state(job)), ("device", job["device"] or "–"),
                                      ("submitted", clock(job["submit_time"])), ("started", clock(job["start_time"])),
                                      ("ended", clock(job["end_time"])), ("queued", _took(job, "queue_ns")),
                                      ("kernel time", _took(job, "kernel_ns"))]
    rows += [(name, value) for name, value in job["params"].items()]
    if job["error"]:
        rows.append(("error", job["error"]["message"] if isinstance(job["error"], Mapping) else job["error"]))
    return table(rows, caption=f"job {job['id']}: {job['kernel']}")


def _state(job: Mapping[str, Any]) -> str:
    told = job["state"].lower()
    return f"{told}, {job['progress']:.0%}" if job["state"] == "RUNNING" and job["progress"] else str(told)


def _took(job: Mapping[str, Any], name: str) -> str:
    took = (job["receipt"] or {}).get(name)
    return "–" if took is None else duration(took)


def sample_table(sample: Mapping[str, Any]) -> str:
    """A sample: a row for each device, and the daemon's jobs and arrays above."""
    def share(value: Optional[float]) -> str:
        return "–" if value is None else f"{value:.0%}"

    def measured(value: Optional[float], unit: str) -> str:
        return "–" if value is None else f"{value:.0f} {unit}"

    rows = [(device["device"], share(device.get("utilisation")),
             f"{size(device['memory_used_bytes'])} of {size(device['memory_total_bytes'])}",
             measured(device.get("power_watts"), "W"), measured(device.get("temperature_celsius"), "°C"),
             device["jobs_running"]) for device in sample["devices"]]
    daemon = sample["daemon"]
    return table(rows, ("device", "busy", "memory", "power", "temperature", "jobs"),
                 caption=f"{clock(sample['time'])}: {daemon['jobs_running']} running, {daemon['jobs_pending']} queued, "
                         f"{size(daemon['array_bytes'])} of arrays")
