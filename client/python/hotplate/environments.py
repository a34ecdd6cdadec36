"""The interpreter on the node that runs functions: which it is, and whether its versions fit."""

from __future__ import annotations

import os
import re
import sys
import weakref
from typing import NamedTuple, Optional

from .connection import Connection
from .errors import InvalidType

# Not for the node, as hotplate python leaves them out.
_OWN = ("HOTPLATE_", "SSH_")
_OWN_NAMES = frozenset(("DISPLAY", "XDG_RUNTIME_DIR"))
_LEAST_CLOUDPICKLE = (2,)
# The first that knows the names by which NumPy 2 pickles.
_NUMPY_OF_TWO = (1, 26)


class Environment(NamedTuple):
    """An interpreter on the node, with the versions that it says."""

    id: str
    interpreter: str
    python: str
    numpy: str  # empty: none
    cloudpickle: str  # empty: none
    name: str  # empty: it was not chosen by name

    @property
    def same_python(self) -> bool:
        """Whether its code is this interpreter's, so that functions travel by value."""
        return numbers(self.python)[:2] == sys.version_info[:2]

    @property
    def who(self) -> str:
        """For messages: "/x/bin/python (environment torch)"."""
        return self.interpreter + (f" (environment {self.name})" if self.name else "")


_opened: weakref.WeakKeyDictionary[Connection, dict[tuple[str, str, str, int], Environment]] = weakref.WeakKeyDictionary()


def environment_of(client: Connection, python: Optional[str], name: Optional[str]) -> Environment:
    """The environment that calls run in: the named one, else with this interpreter, else the daemon's own, else this one."""
    known = _opened.setdefault(client, {})
    # Both halves of a variable as the system has them, which takes a tenth of the time of their texts.
    variables_now = getattr(os.environ, "_data", os.environ)
    key = (python or "", name or "", os.getcwd(), hash(frozenset(variables_now.items())))
    if key not in known:
        variables = [os.fsencode(variable) + b"=" + os.fsencode(value) for variable, value in os.environ.items()
                     if not variable.startswith(_OWN) and variable not in _OWN_NAMES]
        told = client._core.open_environment(python or sys.executable, variables, key[2], name or "",
                                             python is None and name is None)
        known[key] = Environment(told["environment"], told["interpreter"], told["python_version"], told["numpy"],
                                 told["cloudpickle"], told["name"])
    return known[key]


def forget(client: Connection) -> None:
    """After the daemon has said that it no longer has them."""
    _opened.pop(client, None)


def numbers(version: str) -> tuple[int, ...]:
    """"2.1.0rc1": (2, 1, 0)."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def check_cloudpickle(what: str, environment: Environment, own: str) -> None:
    """Refuses one that is too old to read what this one writes.

    Raises:
        TypeError: it is.
    """
    if environment.cloudpickle and numbers(environment.cloudpickle) < _LEAST_CLOUDPICKLE:
        raise InvalidType(f"{what} was pickled by cloudpickle {own}, which cloudpickle {environment.cloudpickle} of "
                          f"{environment.who} may not read: {environment.interpreter} -m pip install 'cloudpickle>=2'")


def check_numpy(what: str, environment: Environment, own: str, pickled: bytes, arrays: int) -> None:
    """Refuses what its NumPy cannot take: `pickled`, and a number of arrays beside it.

    Raises:
        TypeError: there is no NumPy for the arrays, or one that does not know the names in the pickle.
    """
    if arrays and not environment.numpy:
        raise InvalidType(f"{what} has arrays among its arguments, and {environment.who} has no NumPy: "
                          f"{environment.interpreter} -m pip install numpy")
    if environment.numpy and numbers(environment.numpy) < _NUMPY_OF_TWO and b"numpy._core" in pickled:
        raise InvalidType(f"{what} has objects of NumPy {own}, which NumPy {environment.numpy} of {environment.who} cannot "
                          f"read: {environment.interpreter} -m pip install 'numpy>=2', or send them as arrays or plain numbers")
