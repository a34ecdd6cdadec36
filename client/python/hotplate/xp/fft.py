"""Fourier transforms of the standard: `hotplate.xp.fft`. They are the kernel `fft`, which runs at their line."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from ..arguments import shown
from ..arrays import Array
from ..errors import InvalidCall, InvalidType
from ..graph import Axis
from ..operations import axis_of, dtype_name, integer, made
from .devices import named
from .manipulation import moveaxis, roll
from .operands import array, axes_of, connected

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft", "rfftfreq",
           "rfftn"]
_OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _transformed(x: Any, n: Optional[int], axis: int, norm: Optional[str], transform: str) -> Array:
    value = array(x)
    norm = _norm(norm)
    place = axis_of(axis, len(value._shape))
    if n is not None and integer("n", n) < 1:
        raise InvalidCall(f"Invalid number of FFT data points ({n}) specified: {transform} needs 1 or more")
    value = value.astype(_float(value._dtype, transform), copy=False)
    done: Array = value._client.fft.run(moveaxis(value, place, -1), None if n is None else int(n), transform=transform, norm=norm, keep=True)
    return moveaxis(done, -1, place)


def _norm(norm: Optional[str]) -> str:
    if norm not in (None, *_OTHER):
        raise InvalidCall(f"norm is {shown(norm)}; it can be 'backward', 'ortho' or 'forward'")
    return norm or "backward"


def _float(name: str, transform: str) -> str:
    """The dtype in which a transform takes numbers of a dtype."""
    if transform == "rfft" and name.startswith("complex"):
        raise InvalidType(f"rfft is of real numbers, not of {name}")
    if transform == "irfft":
        return {"float32": "complex64", "complex64": "complex64"}.get(name, "complex128")
    return name if name in ("float32", "float64", "complex64", "complex128") else "float64"


def fft(x: Any, /, *, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = "backward") -> Array:
    """The discrete Fourier transforms along an axis.

    Args:
        x: complex or real numbers, in an array with at least one axis.
        n: the number of points: the axis is cropped, or filled with zeros. Default: as many as there are.
        axis: the axis.
        norm: "backward": as it is; "forward": divided by n; "ortho": divided by sqrt(n).

    Returns:
        Complex numbers.

    Raises:
        ValueError: no points, or another norm.

    Example:
        >>> hp.xp.fft.fft(x)
    """
    return _transformed(x, n, axis, norm, "fft")


def ifft(x: Any, /, *, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = "backward") -> Array:
    """The inverse of `fft`.

    Args:
        x, n, axis: as of `fft`.
        norm: "backward": divided by n; "forward": as it is; "ortho": divided by sqrt(n).

    Raises:
        ValueError: no points, or another norm.

    Example:
        >>> hp.xp.fft.ifft(hp.xp.fft.fft(x))
    """
    return _transformed(x, n, axis, norm, "ifft")


def rfft(x: Any, /, *, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = "backward") -> Array:
    """The Fourier transforms of real numbers: the first n // 2 + 1 elements, of which the others are the conjugates.

    Args:
        x: real numbers, in an array with at least one axis.
        n, axis, norm: as of `fft`.

    Raises:
        ValueError: no points, or another norm.
        TypeError: complex numbers.

    Example:
        >>> hp.xp.fft.rfft(x)
    """
    return _transformed(x, n, axis, norm, "rfft")


def irfft(x: Any, /, *, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = "backward") -> Array:
    """The inverse of `rfft`.

    Args:
        x: complex numbers, in an array with at least one axis.
        n: the number of points of the result. Default: 2 * (m - 1) of m elements.
        axis: the axis.
        norm: as of `ifft`.

    Raises:
        ValueError: no points, or another norm.

    Example:
        >>> hp.xp.fft.irfft(hp.xp.fft.rfft(x))
    """
    return _transformed(x, n, axis, norm, "irfft")


def hfft(x: Any, /, *, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = "backward") -> Array:
    """The real Fourier transforms of numbers whose second half are the conjugates of the first, which x has.

    Args:
        x: complex numbers, in an array with at least one axis.
        n: the number of points of the result. Default: 2 * (m - 1) of m elements.
        axis, norm: as of `fft`.

    Raises:
        ValueError: no points, or another norm.

    Example:
        >>> hp.xp.fft.hfft(x)
    """
    return _transformed(array(x).conj(), n, axis, _OTHER[_norm(norm)], "irfft")


def ihfft(x: Any, /, *, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = "backward") -> Array:
    """The inverse of `hfft`.

    Args:
        x: real numbers, in an array with at least one axis.
        n, axis: as of `fft`.
        norm: as of `ifft`.

    Raises:
        ValueError: no points, or another norm.
        TypeError: complex numbers.

    Example:
        >>> hp.xp.fft.ihfft(x)
    """
    return _transformed(x, n, axis, _OTHER[_norm(norm)], "rfft").conj()


def _axes(value: Array, s: Optional[Sequence[int]], axes: Optional[Sequence[int]]) -> list[tuple[int, Optional[int]]]:
    """Each axis that is transformed, and its number of points."""
    rank = len(value._shape)
    if axes is None:
        places = tuple(range(rank)) if s is None else tuple(range(rank - len(s), rank))
    else:
        places = axes_of(list(axes), rank)
    if s is not None and len(s) != len(places):
        raise InvalidCall(f"s is {shown(s)}, and axes is {shown(axes)}; give one number for each axis")
    points: list[Optional[int]] = [None] * len(places) if s is None else [None if one == -1 else int(one) for one in s]
    return list(zip(places, points))


def _over(value: Array, axes: Sequence[tuple[int, Optional[int]]], norm: Optional[str], transform: str) -> Array:
    for axis, points in axes:
        value = _transformed(value, points, axis, norm, transform)
    return value


def fftn(x: Any, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None,
         norm: Optional[str] = "backward") -> Array:
    """The Fourier transforms over several axes.

    Args:
        x: complex or real numbers.
        s: the number of points along each axis. Default: as many as there are.
        axes: the axes. Default: all, or the last ones if there is `s`.
        norm: as of `fft`.

    Raises:
        ValueError: no points, another norm, or not a number for each axis.

    Example:
        >>> hp.xp.fft.fftn(x)
    """
    value = array(x)
    return _over(value, _axes(value, s, axes), norm, "fft")


def ifftn(x: Any, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None,
          norm: Optional[str] = "backward") -> Array:
    """The inverse of `fftn`.

    Args:
        x, s, axes: as of `fftn`.
        norm: as of `ifft`.

    Raises:
        ValueError: no points, another norm, or not a number for each axis.

    Example:
        >>> hp.xp.fft.ifftn(hp.xp.fft.fftn(x))
    """
    value = array(x)
    return _over(value, _axes(value, s, axes), norm, "ifft")


def rfftn(x: Any, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None,
          norm: Optional[str] = "backward") -> Array:
    """The Fourier transforms of real numbers over several axes; the last one has the first n // 2 + 1 elements.

    Args:
        x: real numbers.
        s, axes, norm: as of `fftn`.

    Raises:
        ValueError: no points, another norm, or not a number for each axis.
        TypeError: complex numbers.

    Example:
        >>> hp.xp.fft.rfftn(x)
    """
    value = array(x)
    *others, (last, points) = _axes(value, s, axes)
    return _over(_transformed(value, points, last, norm, "rfft"), others, norm, "fft")


def irfftn(x: Any, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None,
           norm: Optional[str] = "backward") -> Array:
    """The inverse of `rfftn`.

    Args:
        x: complex numbers.
        s: the number of points of the result along each axis.
        axes: as of `fftn`.
        norm: as of `ifft`.

    Raises:
        ValueError: no points, another norm, or not a number for each axis.

    Example:
        >>> hp.xp.fft.irfftn(hp.xp.fft.rfftn(x))
    """
    value = array(x)
    *others, (last, points) = _axes(value, s, axes)
    return _transformed(_over(value, others, norm, "ifft"), points, last, norm, "irfft")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of the elements that `fft` gives.

    Args:
        n: the number of points.
        d: the distance of two points.
        dtype: default float64.
        device: None, or the id of a device.

    Raises:
        ValueError: n is less than 1.

    Example:
        >>> hp.xp.fft.fftfreq(8)
    """
    return _frequencies(n, d, dtype, device, n, f"subtract({{0}},where(less({{0}},{(integer('n', n) + 1) // 2}),0,{integer('n', n)}))")


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of the elements that `rfft` gives.

    Args:
        n, d, dtype, device: as of `fftfreq`.

    Raises:
        ValueError: n is less than 1.

    Example:
        >>> hp.xp.fft.rfftfreq(8)
    """
    return _frequencies(n, d, dtype, device, n // 2 + 1, "{0}")


def _frequencies(n: int, d: float, dtype: Any, device: Any, count: int, place: str) -> Array:
    points = integer("n", n)
    if points < 1:
        raise InvalidCall(f"n is {points}; it must be 1 or more")
    client = connected()
    name = dtype_name(float if dtype is None else dtype)
    operands = [Axis(0), points * float(d)]
    return Array._of(made(client, f"{name}(divide({place},{{1}}))", operands, name, (count,), device=named(client, device)))


def fftshift(x: Any, /, *, axes: Any = None) -> Array:
    """The elements with the zero frequency in the middle of each axis.

    Args:
        x: an array of any dtype.
        axes: an axis or several; None are all.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.fft.fftshift(hp.xp.fft.fftfreq(8))
    """
    value = array(x)
    places = axes_of(axes, len(value._shape))
    return roll(value, tuple(value._shape[place] // 2 for place in places), axis=places)


def ifftshift(x: Any, /, *, axes: Any = None) -> Array:
    """The inverse of `fftshift`.

    Args:
        x, axes: as of `fftshift`.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> hp.xp.fft.ifftshift(hp.xp.fft.fftshift(x))
    """
    value = array(x)
    places = axes_of(axes, len(value._shape))
    return roll(value, tuple(-(value._shape[place] // 2) for place in places), axis=places)
