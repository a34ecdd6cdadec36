"""Hotplate: kernels on GPUs that a daemon keeps warm.

>>> import hotplate as hp
>>> gpu = hp.connect()
>>> c = gpu.matmul(a, b)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, errors
from ._core import __version__
from .arrays import Array
from .client import Client, connect
from .errors import (AlreadyExists, Busy, Cancelled, ConnectionFailed, DeadlineExceeded, Error, InternalError,
                     InvalidCall, InvalidSyntax, InvalidType, JobCancelled, JobFailed, JobOutOfBounds, JobOutOfMemory, JobTimeout,
                     NotAllowed, NotFound, OutOfBounds, OutOfMemory, RefLost, RemoteError, UnknownKernel, UnknownName)
from .noting import eager
from .receipt import Receipt

if TYPE_CHECKING:
    from . import xp
    from .actors import Actor
    from .allocation import Allocation, SchedulerRefused, up
    from .executor import Executor
    from .functions import progress
    from .joblib_backend import register_joblib
    from .refs import Ref

__version__ = _core.__version__

__all__ = ["Actor", "Allocation", "AlreadyExists", "Array", "Busy", "Cancelled", "Client", "ConnectionFailed",
           "DeadlineExceeded", "Error", "Executor", "InternalError", "InvalidCall", "InvalidSyntax", "InvalidType", "JobCancelled",
           "JobFailed", "JobOutOfBounds", "JobOutOfMemory", "JobTimeout", "NotAllowed", "NotFound", "OutOfBounds", "OutOfMemory", "Receipt", "Ref", "RefLost", "RemoteError",
           "SchedulerRefused", "UnknownKernel", "UnknownName", "__version__", "connect", "eager", "errors", "progress",
           "register_joblib", "up", "xp"]

# Imported when first used: a script that only calls kernels does not pay for them.
_LATER = {"Actor": "actors", "Allocation": "allocation", "Executor": "executor", "SchedulerRefused": "allocation", "progress": "functions",
          "Ref": "refs", "register_joblib": "joblib_backend", "up": "allocation", "xp": "xp"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module hotplate has no {name}")
    import importlib

    module = importlib.import_module(f".{_LATER[name]}", __name__)
    value = module if name == _LATER[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER} - {"Any", "TYPE_CHECKING", "annotations"})
