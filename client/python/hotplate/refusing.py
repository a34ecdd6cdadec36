"""Refusals of an array on the daemon: until arrays compute, nothing fetches one and computes here in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NoReturn

from .errors import InvalidType

# The call to write instead of a function of NumPy's, for arrays A and B on the daemon. For all others: fetch.
_KERNELS = {
    "add": "gpu.vector_add(A, B)", "matmul": "gpu.matmul(A, B)", "dot": "gpu.dot(A, B)",
    "argsort": "gpu.sort_by_key(A, places)", "cholesky": "gpu.cholesky(A)", "eigh": "gpu.eigh(A)",
    "eigvalsh": 'gpu.eigh(A, compute="values")', "histogram": "gpu.histogram(A)", "norm": "gpu.norm(A)",
    "solve": "gpu.solve(A, B)", "sort": "gpu.sort(A)", "svd": "gpu.svd(A)", "ndim": "A.ndim", "shape": "A.shape",
    "size": "A.size",
    **{name: f'gpu.reduce(A, operation="{name}")'
       for name in ("argmax", "argmin", "max", "mean", "min", "prod", "std", "sum")},
    "amax": 'gpu.reduce(A, operation="max")', "amin": 'gpu.reduce(A, operation="min")',
    **{name: f'gpu.fft(A, transform="{name}")' for name in ("fft", "ifft", "rfft", "irfft")},
    **{f"{name}2": f'gpu.fft(A, transform="{name}", axes=2)' for name in ("fft", "ifft", "rfft", "irfft")},
}
_FETCH = "fetch the elements first, A.numpy()"

# Operators: the symbol, the call to write instead, and Python's names for it.
_OPERATORS = (
    [(symbol, "", (f"__{name}__",)) for symbol, name in (
        ("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("unary -", "neg"), ("unary +", "pos"), ("~", "invert"),
        ("abs()", "abs"), ("round()", "round"))] +
    [(symbol, _KERNELS.get(name, ""), (f"__{name}__", f"__r{name}__")) for symbol, name in (
        ("+", "add"), ("-", "sub"), ("*", "mul"), ("@", "matmul"), ("/", "truediv"), ("//", "floordiv"), ("%", "mod"),
        ("divmod()", "divmod"), ("**", "pow"), ("<<", "lshift"), (">>", "rshift"), ("&", "and"), ("|", "or"),
        ("^", "xor"))])


def refuse(what: str, array: Any, write: str = "") -> NoReturn:
    """Raises the error that names the call to write instead.

    Raises:
        TypeError: always.
    """
    raise InvalidType(f"{what} does not take {array!r}: write {write}, or {_FETCH}" if write else
                      f"{what} does not take {array!r}: {_FETCH}")


class Refusing:
    """Arithmetic, comparisons, truth, iteration and NumPy's functions: each raises a TypeError that says what to write.

    Two arrays are the same if they are the same object (`is`): so hashing and sets work, and `==` raises like the other
    operators. `numpy()`, indexing and numpy.asarray fetch elements, because they ask for it.
    """

    __hash__ = object.__hash__

    if not TYPE_CHECKING:  # without these for mypy, which then finds `for row in A` and numpy.sqrt(A) before they run

        def __eq__(self, other):
            raise InvalidType(f"== does not compare {self!r}: write A.numpy() == B.numpy() for its elements, A is B for "
                              "one and the same array")

        def __ne__(self, other):
            raise InvalidType(f"!= does not compare {self!r}: write A.numpy() != B.numpy() for its elements, A is not B "
                              "for another array")

        def __bool__(self):
            raise InvalidType(f"{self!r} is neither true nor false: write A is not None, A.size > 0 or A.numpy().any()")

        def __iter__(self):
            raise InvalidType(f"{self!r} is not iterated over, which would fetch all of it: iterate over A.numpy(), or "
                              "read parts, A[i]")

        __reversed__ = __iter__

        def __contains__(self, element):
            raise InvalidType(f"`in` does not search {self!r}: write element in A.numpy()")

        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            called = f"numpy.{ufunc.__name__}"
            if method == "__call__":
                refuse(called, self, _KERNELS.get(ufunc.__name__, ""))
            refuse(f"{called}.{method}", self)

        def __array_function__(self, function, types, inputs, options):
            refuse(f"{function.__module__}.{function.__name__}", self, _KERNELS.get(function.__name__, ""))


def _refusing(symbol: str, write: str) -> Callable[..., NoReturn]:
    def operator(self: Refusing, *others: Any) -> NoReturn:
        refuse(symbol, self, write)

    return operator


def _no_number(name: str) -> Callable[[Refusing], NoReturn]:
    def convert(self: Refusing) -> NoReturn:
        raise InvalidType(f"{name}() does not take {self!r}: write {name}(A.numpy().item())")

    return convert


for _symbol, _write, _names in _OPERATORS:
    for _name in _names:
        setattr(Refusing, _name, _refusing(_symbol, _write))
for _name in ("float", "int", "complex"):
    setattr(Refusing, f"__{_name}__", _no_number(_name))
