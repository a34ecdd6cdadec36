"""Converts arguments to what the client library takes, or raises an error with the argument's name and value."""

from __future__ import annotations

import operator
import os
import re
import reprlib
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from .errors import InvalidCall, InvalidType

if TYPE_CHECKING:
    import datetime
    from typing import SupportsIndex, Union

    JobId = Union[str, SupportsIndex]
    Seconds = Union[float, str, datetime.timedelta, np.timedelta64]
    StrPath = Union[str, os.PathLike[str]]


class _Short(reprlib.Repr):
    """As reprlib.repr. An integer with more digits than Python prints is shown by its number of bits, in all
    versions."""

    def repr_int(self, x: int, level: int) -> str:
        try:
            repr(x)
        except ValueError:
            return f"an integer of {x.bit_length()} bits"
        return super().repr_int(x, level)


_SHORT = _Short()


def shown(value: Any) -> str:
    """A short repr."""
    return _SHORT.repr(value)


def real(name: str, value: Any) -> float:
    """A number as a float.

    Raises:
        ValueError: an integer that is too large for one.
        TypeError: anything else.
    """
    # float() would accept text, and drop the unit of a time.
    if isinstance(value, (str, bytes, np.datetime64, np.timedelta64)):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        raise InvalidCall(f"{name} is {shown(value)}, which is no float: it is too large") from None


# A duration in the command's form: "500ms", "90s", "1h30m", "1 d 12 h"; a number alone is seconds.
_NUMBER = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_SPAN = re.compile(f" *{_NUMBER} *({'|'.join(_UNITS)})(?![a-z]) *")


def real_or_whole(name: str, value: Any) -> float:
    """The same, but an integer stays one, since NumPy's dtypes depend on that.

    Raises:
        ValueError, TypeError: as `real` does.
    """
    try:
        whole = operator.index(bool(value) if isinstance(value, np.bool_) else value)
    except TypeError:
        return real(name, value)
    return whole if -2**63 <= whole < 2**63 else real(name, whole)


def seconds(name: str, value: Any) -> float:
    """A duration as a number of seconds, also from a text with units, a datetime.timedelta or a numpy.timedelta64.

    Raises:
        TypeError: it is none of these.
        ValueError: it is negative, or a text of another kind.
    """
    total = getattr(value, "total_seconds", None)
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        if isinstance(value, str):
            if re.fullmatch(_NUMBER, value.strip(" ")):
                return float(value)
            spans = list(_SPAN.finditer(value))
            if not spans or "".join(span[0] for span in spans) != value:
                raise InvalidCall(f"{name} is {shown(value)}, which is no duration; say 30, '30s', '5m', '2h' or '1h30m'")
            count = sum(float(span[1]) * _UNITS[span[2]] for span in spans)
        elif isinstance(value, np.timedelta64):
            count = float(value / np.timedelta64(1, "s"))
        else:
            count = real(name, value if total is None else total())
    except TypeError:
        raise InvalidType(f"{name} is {shown(value)}; it must be seconds, a text like '2h', or a timedelta") from None
    if not count >= 0:
        raise InvalidCall(f"{name} is {value}; it must not be negative")
    return count


def text(name: str, value: Any, wanted: str = "a str") -> str:
    """Checks that a value is a str.

    Raises:
        TypeError: it is not a str.
        ValueError: it cannot be encoded in UTF-8.
    """
    if not isinstance(value, str):
        raise InvalidType(f"{name} is {shown(value)}; it must be {wanted}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidCall(f"{name} is {shown(value)}, which is no text in UTF-8") from None
    return value


def number_of_job(value: Any) -> str:
    """A job's id as the daemon's text.

    Raises:
        TypeError: it is neither an int nor a str.
    """
    if isinstance(value, str):
        return text("job_id", value)
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return str(operator.index(value))
    except TypeError:
        raise InvalidType(f"job_id is {shown(value)}; it must be the number of a job, an int or a str") from None


def path(name: str, value: Any) -> str:
    """A path, given as a str or an os.PathLike.

    Raises:
        TypeError: it is neither.
        ValueError: it cannot be encoded in UTF-8.
    """
    return text(name, os.fsdecode(value) if isinstance(value, os.PathLike) else value, "a str or a path")


def count(name: str, value: Any, most: int) -> int:
    """An integer from 0 to `most`.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is out of range.
    """
    try:
        number: int = value.__index__()
    except AttributeError:
        raise InvalidType(f"{name} is {shown(value)}; it must be an integer") from None
    if not 0 <= number <= most:
        raise InvalidCall(f"{name} is {shown(number)}; it must be from 0 to {most}")
    return number


def without_mask(name: str, value: Any) -> np.ndarray[Any, Any]:
    """The value as numpy.asarray returns it. TypeError for a masked array, whose mask would be lost."""
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidType(f"{name} is a masked array, whose mask kernels do not know: fill it (.filled(0)) or compress it")
    if isinstance(value, (str, bytes)):
        raise InvalidType(f"{name} is {shown(value)}: a file is a pathlib.Path, an array of the daemon "
                          f"gpu.array(name={shown(value)})")
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def is_no_array(value: Any, plain: Any) -> bool:
    """Whether NumPy could only wrap the value as one object: a set, a generator, a sparse matrix."""
    return isinstance(plain, np.ndarray) and plain.dtype == object and plain.ndim == 0 and not isinstance(value, np.ndarray)


def words(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def near(name: str, names: Sequence[str]) -> str:
    """The names that are like it, for the end of an error's sentence."""
    import difflib

    like = difflib.get_close_matches(name, names, n=3)
    if like:
        return f"; did you mean {words(like, 'or')}?"
    return f"; there are {words(names)}" if names else ""
