"""The `device=` of the standard's functions."""

from __future__ import annotations

from typing import Any, Optional, TypeVar

from ..noted import Noted
from ..placing import ANY, device_named

Made = TypeVar("Made", bound=Noted)


def ids(client: Any) -> tuple[str, ...]:
    """The ids of the daemon's devices."""
    return tuple(client._device_ids())


def check(client: Any, device: Optional[str]) -> None:
    """Checks a `device=`: None, "any", or the id of a device of the daemon.

    Raises:
        TypeError: it is no str.
        ValueError: there is no such device.
    """
    if device is not None:
        device_named(client, device)


def named(client: Any, device: Optional[str]) -> str:
    """The device of a note: "" if it does not matter.

    Raises:
        TypeError, ValueError: as `check`.
    """
    return "" if device is None else device_named(client, device)


def placed(array: Made, device: Optional[str]) -> Made:
    """An array of elements that are sent, which nothing was computed with yet, on a device.

    Raises:
        TypeError, ValueError: as `check`.
    """
    if device is not None:
        array._node.device = device_named(array._client, device)
    return array


__all__ = ["ANY", "check", "ids", "named", "placed"]
