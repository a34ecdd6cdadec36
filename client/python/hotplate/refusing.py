"""The errors for what an array on the daemon does not compute: each names the call to write instead. Elements are never fetched
and computed here without being asked for."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .errors import InvalidType
from .operations import told

# Advice in place of a function or a method of NumPy's, for an array A on the daemon. For all others it is to fetch.
INSTEAD = {
    "append": "hp.xp.concat([A.ravel(), B.ravel()])", "argsort": "numpy.argsort(A)",
    "argwhere": "hp.xp.stack(hp.xp.nonzero(A), axis=-1)", "cross": "hp.xp.linalg.cross(A, B)", "cumprod": "numpy.cumprod(A)",
    "cumsum": "numpy.cumsum(A)", "einsum": "gpu.function(numpy.einsum)(subscripts, A, B)",
    "fft2": "hp.xp.fft.fftn(A, axes=(-2, -1))", "histogram": "gpu.histogram(A)", "ifft2": "hp.xp.fft.ifftn(A, axes=(-2, -1))",
    "irfft2": "hp.xp.fft.irfftn(A, axes=(-2, -1))", "median": "gpu.function(numpy.median)(A)",
    "meshgrid": "hp.xp.meshgrid(A.ravel(), B.ravel())", "nonzero": "numpy.nonzero(A)", "partition": "gpu.sort(A)",
    "percentile": "gpu.function(numpy.percentile)(A, q)", "ptp": "A.max() - A.min()",
    "quantile": "gpu.function(numpy.quantile)(A, q)", "repeat": "numpy.repeat(A, 2)",
    "rfft2": "hp.xp.fft.rfftn(A, axes=(-2, -1))", "unique": "hp.xp.unique_values(A)",
    "vdot": "gpu.dot(A.ravel().conj(), B.ravel())",
}
# The same for attributes of other packages' arrays.
OTHERS = {
    "get": "A.numpy()", "asnumpy": "A.numpy()", "copy_to_host": "A.numpy()", "cpu": "A.numpy()", "to_numpy": "A.numpy()",
    "cuda": "A.to_device(\"gpu0\")", "copy_to_device": "gpu.array(x)", "block_until_ready": "A.compute()", "detach": "A.copy()",
    "dim": "A.ndim", "numel": "A.size", "type": "A.dtype", "float": "A.astype(\"float32\")", "double": "A.astype(\"float64\")",
}
_FETCH = "fetch the elements first, A.numpy()"


def refuse(what: str, array: Any, write: str = "") -> NoReturn:
    """Raises the error that names the call to write instead.

    Raises:
        TypeError: always.
    """
    raise InvalidType(f"{what} does not take {told(array)}: write {write}, or {_FETCH}" if write else
                      f"{what} does not take {told(array)}: {_FETCH}")


def refuse_attribute(array: Any, name: str) -> NoReturn:
    """Raises the error for an attribute that arrays do not have. If an ndarray has it, the error says what to write.

    Raises:
        AttributeError: always.
    """
    if name.startswith("_") or not hasattr(np.ndarray, name):
        raise AttributeError(f"a hotplate.Array has no {name}" + (f": write {OTHERS[name]}" if name in OTHERS else ""))
    write = INSTEAD.get(name, "")
    raise AttributeError(f"a hotplate.Array has no {name}: " + (f"write {write}, or " if write else "") +
                         f"fetch the elements first, A.numpy().{name}")
