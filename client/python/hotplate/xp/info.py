"""The answers of the standard's __array_namespace_info__: capabilities, devices and dtypes."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ..placing import default_device
from . import devices
from .dtypes import NAMES, isdtype
from .operands import connected


class NamespaceInfo:
    """Capabilities, devices and dtypes of hotplate.xp.

    Example:
        >>> hp.xp.__array_namespace_info__().capabilities()
    """

    def capabilities(self) -> dict[str, Any]:
        """The optional parts that there are. Masks and functions whose results' shapes depend on values wait for the values.

        Example:
            >>> hp.xp.__array_namespace_info__().capabilities()["max dimensions"]
            8
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Optional[str]:
        """The device that arrays are made on; None: the daemon chooses among several.

        Example:
            >>> hp.xp.__array_namespace_info__().default_device()
        """
        device = default_device(connected())
        return None if device == devices.ANY else device

    def devices(self) -> tuple[str, ...]:
        """The ids of the daemon's devices.

        Example:
            >>> hp.xp.__array_namespace_info__().devices()
            ('cpu0',)
        """
        return devices.ids(connected())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of arrays that are made without one, by kind.

        Raises:
            ValueError: the daemon has no such device.

        Example:
            >>> hp.xp.__array_namespace_info__().default_dtypes()["integral"]
            dtype('int64')
        """
        if device is not None:
            devices.check(connected(), device)
        return {"real floating": np.dtype(np.float64), "complex floating": np.dtype(np.complex128),
                "integral": np.dtype(np.int64), "indexing": np.dtype(np.int64)}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of arrays, by name.

        Args:
            kind: only of this kind or these kinds; see `isdtype`.

        Raises:
            ValueError: there is no such kind or device.

        Example:
            >>> hp.xp.__array_namespace_info__().dtypes(kind="real floating")
            {'float32': dtype('float32'), 'float64': dtype('float64')}
        """
        if device is not None:
            devices.check(connected(), device)
        return {name: np.dtype(name) for name in NAMES if kind is None or isdtype(name, kind)}
