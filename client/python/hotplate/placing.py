"""Devices of arrays: where operations on them run."""

from __future__ import annotations

from typing import Any, Iterable, Optional

from .arguments import shown
from .connection import Connection
from .errors import InvalidCall, InvalidType

# The device of an array that is on none in particular: the daemon chooses among its GPUs, or its CPUs if it has none.
ANY = "any"


def device_named(client: Connection, device: Any) -> str:
    """Checks a device that a user named: the id of one of the daemon's, or ANY.

    Raises:
        TypeError: it is no str.
        ValueError: the daemon has no such device.
    """
    if not isinstance(device, str):
        raise InvalidType(f"device is {shown(device)}; it must be a str: the id of a device, or {ANY!r}")
    ids = client._device_ids()
    if device != ANY and device not in ids:
        raise InvalidCall(f"no device {device!r}; there are {', '.join(ids)}")
    return device


def default_device(client: Connection) -> str:
    """Where operations run that say nothing: the one GPU, without a GPU the one CPU, and ANY where there are several."""
    ids = client._device_ids()
    preferred = [one for one in ids if one.startswith("gpu")] or ids
    return preferred[0] if len(preferred) == 1 else ANY


def common(devices: Iterable[tuple[str, str]]) -> str:
    """The device that all of these are on, of (device, what is there); empty: it does not matter.

    Raises:
        ValueError: there are two.
    """
    found: Optional[tuple[str, str]] = None
    for device, what in devices:
        if not device or device == ANY:
            continue
        if found is None:
            found = device, what
        elif found[0] != device:
            raise InvalidCall(f"{found[1]} is on {found[0]}, and {what} on {device}: bring both to one device "
                              f"(A.to_device({found[0]!r}))")
    return "" if found is None else found[0]
