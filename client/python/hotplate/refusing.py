"""What an array on the daemon does not compute: a TypeError says what to write. Nothing is fetched and computed here in silence."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .errors import InvalidType
from .operations import told

# The call to write instead of a function or a method of NumPy's, for an array A on the daemon. For all others: fetch.
INSTEAD = {
    "argsort": "gpu.sort_by_key(A, places)", "histogram": "gpu.histogram(A)", "median": "gpu.sort(A)", "partition": "gpu.sort(A)",
    "percentile": "gpu.sort(A)", "quantile": "gpu.sort(A)", "ptp": "A.max() - A.min()", "nonzero": "numpy.where(A != 0, A, B)",
    "einsum": "(A * B).sum(axis=0)", "tensordot": "gpu.matmul(A, B)", "vdot": "gpu.dot(A.ravel(), B.ravel())",
    "inv": "gpu.solve(A, numpy.eye(len(A)))", "det": "gpu.eigh(A)", "pinv": "gpu.svd(A)", "qr": "gpu.svd(A)",
    "resize": "A.reshape(-1)", "view": "A.astype('float32')", "cumsum": "gpu.function(numpy.cumsum)(A)",
    "cumprod": "gpu.function(numpy.cumprod)(A)", "diff": "A[1:] - A[:-1]", "tile": "numpy.concatenate([A, A])",
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
    """Of an attribute that there is not: raises the error that says what to write, where an ndarray has one.

    Raises:
        AttributeError: always.
    """
    if name.startswith("_") or not hasattr(np.ndarray, name):
        raise AttributeError(f"a hotplate.Array has no {name}")
    write = INSTEAD.get(name, "")
    raise AttributeError(f"a hotplate.Array has no {name}: " + (f"write {write}, or " if write else "") +
                         f"fetch the elements first, A.numpy().{name}")
