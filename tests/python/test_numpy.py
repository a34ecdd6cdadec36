"""Kernels that have NumPy's names are NumPy's, by every parameter and by default, against NumPy: all combinations of the
values of the kernel's own parameters, and each argument of NumPy's function.

The kernel's own parameters are those of the catalogue. A choice is tried with each of its values and a bool with both; of a number the
values stand below in NUMBERS, and a parameter that has none, or that the kernel's reference does not know, fails the test.
Where NumPy raises, the kernel must refuse. What NumPy computes and the kernel does not is refused too: the reference
raises Refused, with words that the error must contain.

NumPy's arguments are those of its signature. Each is tried by itself with the values in NUMPYS, and one without values
fails the test. The kernel computes the same, or says what to write, which the test then runs where it can.
"""

import inspect
import itertools
from typing import Any, NamedTuple

import hotplate as hp
import numpy as np
import pytest

from hotplate import _core
from hotplate.forms import FORMS
from test_kernels import EPS, floating, same

DEFAULT = object()  # the parameter is left out

# Values for parameters that are numbers.
NUMBERS = {
    "arange": {"start": [0, 2, -1.5, 2.0], "stop": [0, 7, 7.0, -3, 2.5], "step": [1, 3, -2, 0.5, 0]},
    "fft": {"axes": [1, 2], "n": [1, 4, 9]},
    "full": {"n": [0, 3], "rows": [0, 2], "batch": [0, 2], "value": [0, 7, 2.0, 2.5]},
    "histogram": {"bins": [1, 7], "low": [-1.5, 2], "high": [-1.5, 2]},
    "linspace": {"start": [0, -2.5, 3], "stop": [0, 10, -1.25], "num": [0, 1, 2, 7]},
    "norm": {"p": [2.5]},
    "random": {"n": [0, 3], "rows": [0, 2], "batch": [0, 2], "seed": [0, 7], "low": [-2, 5], "high": [5, 2**31, 2**40]},
    "reduce": {"ddof": [0, 1]},
}
# Values that NumPy's users write beside a choice's own values.
SPELLED = {
    "norm": {"ord": [None, 1, np.inf, -np.inf, -1, 0, 3, 2.5, -2, "nuc"], "axis": [None, 1, (1,), (-2, -1), (0, 1), (1, 0)]},
    "histogram": {"range": [None, (-1.5, 2), [0, 1]]},
    "reduce": {"axis": [None, 1, -2]},
}
SQUARES = [{"a": (5, 5)}, {"a": (2, 4, 4)}, {"a": (0, 3, 3)}]
SHAPES = {
    "argsort": [{"x": (9,)}, {"x": (3, 4)}, {"x": (2, 3, 4)}, {"x": (0,)}],
    "cholesky": SQUARES,
    "eig": SQUARES,
    "eigh": SQUARES,
    "fft": [{"x": (6,)}, {"x": (3, 4)}, {"x": (2, 3, 5)}],
    "flatnonzero": [{"x": ()}, {"x": (40,)}, {"x": (3, 4)}, {"x": (2, 0)}],
    "histogram": [{"x": (40,)}, {"x": (4, 5)}, {"x": (0,)}],
    "matmul": [{"a": (4, 4), "b": (4, 4)}, {"a": (3, 4), "b": (4, 5)}, {"a": (4, 3), "b": (5, 4)},
               {"a": (2, 3, 4), "b": (4, 5)}, {"a": (2, 1, 3, 4), "b": (5, 4, 2)}],
    "norm": [{"x": ()}, {"x": (5,)}, {"x": (4, 5)}, {"x": (2, 3, 4)}],
    "qr": [{"a": (4, 4)}, {"a": (5, 3)}, {"a": (2, 3, 5)}, {"a": (0, 3, 2)}],
    "reduce": [{"x": ()}, {"x": (7,)}, {"x": (3, 4)}, {"x": (2, 0)}],
    "searchsorted": [{"v": (20,), "x": (3, 4)}, {"v": (0,), "x": (5,)}, {"v": (7,), "x": ()}],
    "slogdet": SQUARES,
    "solve": [{"a": (4, 4), "b": (4,)}, {"a": (4, 4), "b": (4, 3)}, {"a": (2, 4, 4), "b": (2, 4, 3)},
              {"a": (2, 4, 4), "b": (4, 3)}, {"a": (4, 4), "b": (2, 4, 3)}, {"a": (2, 4, 4), "b": (4,)},
              {"a": (4, 4), "b": (3, 2)}],
    "sort": [{"x": (9,)}, {"x": (3, 4)}, {"x": (0,)}],
    "svd": [{"a": (4, 4)}, {"a": (5, 3)}, {"a": (2, 3, 5)}, {"a": (0, 3, 2)}],
}


class Refused(Exception):
    """NumPy would compute it; the kernel says these words."""


def of(dtype):
    """NumPy's keyword of a dtype's choice."""
    return None if dtype == "auto" else dtype


def sizes(n, rows, batch):
    if batch and not rows:
        raise Refused("rows")
    return tuple(size for size in (batch, rows) if size) + (n,)


def whole(dtype, **values):
    """The kernels take no fractions for integers; NumPy cuts them off."""
    if dtype.startswith("int"):
        for name, value in values.items():
            if value != int(value):
                raise Refused(f"{name} is {value}")


# The result that each kernel must give, by NumPy; the defaults are NumPy's, too.


def arange(stop, start=0, step=1, dtype="auto"):
    if step:
        whole(dtype, start=start, step=step)
    return np.arange(start, stop, step, dtype=of(dtype))


def cholesky(a):
    return np.linalg.cholesky(a)


def eig(a, compute="vectors"):
    w, v = (part.astype(np.result_type(a.dtype, np.complex64)) for part in np.linalg.eig(a))
    return w, v if compute == "vectors" else v[..., :0]


def eigh(a, compute="vectors"):
    return np.linalg.eigh(a) if compute == "vectors" else (np.linalg.eigvalsh(a), np.empty((*a.shape[:-1], 0), a.dtype))


def argsort(x, axis=-1, descending=False):
    if axis in ("all", None):
        x, axis = x.ravel(), 0
    np.argsort(x, int(axis))  # refuses the axis

    def order(line):
        numbers = line.tolist()
        return np.array(sorted(range(len(numbers)), key=lambda i: (numbers[i] != numbers[i], -numbers[i] if descending else numbers[i])))
    return np.apply_along_axis(order, int(axis), x).astype(np.int64) if x.size else np.zeros(x.shape, np.int64)


def fft(x, transform="fft", axes=1, norm="backward", n=None):
    if transform == "rfft" and np.iscomplexobj(x) or transform == "irfft" and not np.iscomplexobj(x):
        raise Refused(transform)
    if axes > x.ndim:
        raise ValueError("no such axes")
    if axes == 1:
        came = getattr(np.fft, transform)(x, n, norm=norm)
    else:
        came = getattr(np.fft, transform + "2")(x, None if n is None else (x.shape[-2], n), norm=norm)
    single = {"complex128": "complex64", "float64": "float32"} if x.dtype in (np.float32, np.complex64) else {}
    return came.astype(single.get(came.dtype.name, came.dtype))


def flatnonzero(x):
    return np.flatnonzero(x)


def full(n, rows=0, batch=0, value=0.0, dtype="auto"):
    whole(dtype, value=value)
    return np.full(sizes(n, rows, batch), value, of(dtype))


def histogram(x, bins=10, range=None, low=None, high=None):
    if range == "given":
        range = (low or 0, high or 0)
    elif not {low, high} <= {None}:
        raise Refused("range")
    return np.histogram(x, bins, None if range == "data" else range)


def linspace(stop, start=0, num=50, include_stop=True, dtype=None):
    return np.linspace(start, stop, num, include_stop, dtype=dtype)


def matmul(a, b, transpose_a=False, transpose_b=False):
    return np.matmul(a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b)


def norm(x, ord=None, p=None, axis=None, keepdims=False):
    order = {"auto": None, "p": 3 if p is None else p, None: None}.get(ord, ord)
    order = float(order) if order not in (None, "fro", "nuc") else order
    where = {"all": None, "matrices": (-2, -1), None: None}.get(axis, axis)
    where = int(where) if isinstance(where, str) else where
    expected = np.linalg.norm(x.astype(np.float64), order, where, keepdims)
    of_matrices = x.ndim == 2 if where is None else isinstance(where, tuple) and len(where) == 2
    if where in ((0, 1), (1, 0)) and where != (x.ndim - 2, x.ndim - 1):
        raise Refused("transpose")
    if of_matrices and order in (2.0, -2.0, "nuc"):
        raise Refused("write gpu.svd(x, compute_uv=False).")
    if not of_matrices and order in (-1.0, -2.0):
        raise Refused(f"write (abs(x) ** {order!r}).sum(")
    if p is not None and ord != "p":
        raise Refused("norm: p")
    return np.asarray(expected).astype(floating(x.dtype.name))


def qr(a, mode="reduced"):
    return tuple(np.linalg.qr(a, mode))


def random(n, rows=0, batch=0, distribution="uniform", dtype="auto", seed=None, low=None, high=None):
    rng, shape = np.random.default_rng(seed), tuple(size for size in (batch, rows) if size) + (n,)
    if distribution == "integers":
        # One first, since of no numbers NumPy checks nothing.
        drawn = [rng.integers(low or 0, high or 0, size, "int64" if dtype == "auto" else dtype) for size in (1, shape)][1]
    else:
        of_distribution = {"uniform": rng.random, "normal": rng.standard_normal}[distribution]
        drawn = of_distribution(shape, "float64" if dtype == "auto" else dtype)
        if not {low, high} <= {None}:
            raise Refused("integers")
    sizes(n, rows, batch)
    return drawn


def reduce(x, operation="sum", axis=None, keepdims=False, ddof=0):
    where = None if axis in ("all", None) else int(axis)
    if x.ndim == 0 and where in (0, -1):
        raise Refused("")  # NumPy lets a number have an axis
    if operation == "std":
        return np.std(x, where, ddof=ddof, keepdims=keepdims)
    expected = getattr(np, operation)(x, axis=where, keepdims=keepdims)
    if ddof:
        raise Refused("ddof is 1")
    return expected


def searchsorted(v, x, side="left"):
    return np.searchsorted(v, x, side)


def slogdet(a):
    return tuple(np.linalg.slogdet(a))


def solve(a, b):
    if b.ndim == 1:  # NumPy 2's rule
        return np.linalg.solve(a, np.broadcast_to(b[:, np.newaxis], (*a.shape[:-1], 1)))[..., 0]
    return np.linalg.solve(a, b[(np.newaxis,) * max(0, a.ndim - b.ndim)])


def sort(x, descending=False):
    if not descending:
        return np.sort(x)
    kept = np.flip(np.sort(x), -1)
    return np.concatenate([kept[kept == kept], kept[kept != kept]]) if x.ndim == 1 else kept


def svd(a, compute=None, full_matrices=None, compute_uv=None):
    if compute is not None:
        if (full_matrices, compute_uv) != (None, None):
            raise Refused("give one of them")
        full_matrices = compute == "full"
        if compute == "values":
            m, n = a.shape[-2:]
            empty = np.empty((*a.shape[:-2], m, 0), a.dtype), np.empty((*a.shape[:-2], 0, n), a.dtype)
            return empty[0], np.linalg.svd(a, compute_uv=False), empty[1]
    return np.linalg.svd(a, full_matrices is not False, compute_uv is not False)


REFERENCES = {function.__name__: function for function in (
    arange, argsort, cholesky, eig, eigh, fft, flatnonzero, full, histogram, linspace, matmul, norm, qr, random, reduce, searchsorted, slogdet,
    solve, sort, svd)}


# Whether what came is that.


def compare(kernel, got, expected, arrays, params):
    if kernel == "random":
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        if params.get("distribution", "uniform") == "uniform":
            assert ((got >= 0) & (got < 1)).all()
        elif params["distribution"] == "integers":
            assert ((got >= params.get("low", 0)) & (got < params.get("high", 0))).all()
        return
    several = isinstance(expected, tuple)
    if kernel == "eig":  # complex, where NumPy has real numbers if all of them are
        expected = tuple(one.astype(np.result_type(one.dtype, np.complex64)) for one in expected)
    if several:
        assert [(one.dtype, one.shape) for one in got] == [(one.dtype, one.shape) for one in expected]
    if kernel == "svd" and several and "values" not in params.values():
        (u, s, vt), a = got, arrays["a"]
        same(s, expected[1], within=60)
        k = s.shape[-1]
        same(u[..., :k] * s[..., np.newaxis, :] @ vt[..., :k, :], a, within=100)
        for vectors in (u, vt.swapaxes(-1, -2)):
            product = vectors.swapaxes(-1, -2) @ vectors
            same(product, np.broadcast_to(np.eye(vectors.shape[-1], dtype=a.dtype), product.shape), within=60)
        return
    if kernel == "qr":
        (q, r), a = got, arrays["a"]
        same(q @ r, a, within=100)
        same(r, np.triu(r))
        product = q.swapaxes(-1, -2) @ q
        same(product, np.broadcast_to(np.eye(q.shape[-1], dtype=a.dtype), product.shape), within=60)
        return
    if kernel == "eig":
        (w, v), a = got, arrays["a"]
        within = 400 * EPS[w.real.dtype]
        for one, other in zip(w.reshape(-1, w.shape[-1]), expected[0].reshape(-1, w.shape[-1]), strict=True):
            nearest = np.abs(one[:, np.newaxis] - other).argmin(axis=0)
            assert sorted(nearest) == list(range(len(one))), "each is there once"
            np.testing.assert_allclose(one[nearest], other, atol=within)
        if v.size:
            np.testing.assert_allclose(a @ v, v * w[..., np.newaxis, :], atol=within)
            np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, rtol=within)
        return
    if kernel == "eigh" and "values" not in params.values():
        same(got[0], expected[0], within=100)
        same(np.abs(got[1]), np.abs(expected[1]), within=4000)  # a vector's sign is nobody's
        return
    exact = {"arange", "full", "linspace", "sort", "histogram"}
    for one, other in zip(got, expected) if several else [(got, expected)]:
        other = np.asarray(other)
        if kernel in exact or other.dtype.kind in "iu" or other.size == 0:
            same(one, other)
        else:
            assert (np.asarray(one).dtype, np.shape(one)) == (other.dtype, other.shape)
            largest = np.abs(other[np.isfinite(other)]).max(initial=1)
            np.testing.assert_allclose(one, other, rtol=0, atol=400 * EPS[other.real.dtype] * largest)


def values_of(kernel, param, parameter):
    """The values it is tried with: left out where the reference has a default, and every value of a choice."""
    values = [] if parameter.default is inspect.Parameter.empty else [DEFAULT]
    if param["type"] == "BOOL":
        return [*values, True, False]
    if param["type"] == "CHOICE":
        return [*values, *param["choices"], *SPELLED.get(kernel, {}).get(param["name"], [])]
    assert param["name"] in NUMBERS.get(kernel, {}), f"with which values is {kernel}'s {param['name']} to be tried?"
    return [*values, *NUMBERS[kernel][param["name"]]]


def params_of(spec):
    """Those of the catalogue, and NumPy's own spelling beside them."""
    own = [dict(param) for param in spec["params"]]
    form = FORMS.get(spec["name"])
    return own + [{"name": name, "type": "BOOL"} for name, one in (form.own.items() if form else ())
                  if one.kind == "bool" and not form.hidden]


def far(value):
    """An axis that no array here has: tried once, not with all the rest."""
    return isinstance(value, str) and value.lstrip("-").isdigit() and not -4 <= int(value) <= 3


def combinations(kernel, spec):
    known = inspect.signature(REFERENCES[kernel]).parameters
    params = params_of(spec)
    for param in params:
        assert param["name"] in known, f"{kernel} has a parameter {param['name']} that its reference does not know"
    names = [param["name"] for param in params]
    for chosen in itertools.product(*(values_of(kernel, param, known[param["name"]]) for param in params)):
        if sum(value is not DEFAULT for value in chosen) > 1 and any(map(far, chosen)) and kernel != "random":
            continue
        yield {name: value for name, value in zip(names, chosen) if value is not DEFAULT}


def arrays_of(kernel, spec, shapes):
    """Inputs of these shapes, of every dtype."""
    if not shapes:
        yield {}
        return
    (variable,) = spec["type_variables"]
    for dtype in variable["dtypes"]:
        if dtype == "bfloat16":  # NumPy has none
            continue
        rng = np.random.default_rng(3)
        arrays = {}
        for name, shape in shapes.items():
            if dtype.startswith("int"):
                arrays[name] = rng.integers(-3, 4, shape).astype(dtype)
            else:
                arrays[name] = rng.standard_normal(shape).astype(dtype)
                if dtype.startswith("complex"):
                    arrays[name] = (arrays[name] + 1j * rng.standard_normal(shape)).astype(dtype)
            if kernel == "cholesky":
                # Beside the lower triangle nothing is read: its transpose would be another matrix.
                arrays[name] = np.tril(arrays[name]) / 4 + 3 * np.eye(shape[-1]) + 9 * np.triu(np.ones(shape), 1)
            if kernel == "sort" and dtype.startswith("float") and shape == (9,):
                arrays[name][4] = np.nan
            if name == "v":
                arrays[name].sort()
            arrays[name] = np.asarray(arrays[name], dtype)
        yield arrays


def test_kernels_of_numpys_names_are_all_here(gpu):
    named = {name for name in gpu.kernels for module in (np, np.linalg, np.fft, np.random) if hasattr(module, name)}
    assert set(REFERENCES) == named | {"reduce"} and named >= {"arange", "full", "matmul", "norm", "random", "svd"}


@pytest.mark.filterwarnings("ignore")  # means and deviations of nothing
@pytest.mark.parametrize("kernel", sorted(REFERENCES))
def test_it_is_numpys_by_every_parameter(gpu, kernel):
    spec = getattr(gpu, kernel).spec
    computed = refused = 0
    for shapes in SHAPES.get(kernel, [{}]):
        for arrays in arrays_of(kernel, spec, shapes):
            for params in combinations(kernel, spec):
                told = f"{kernel}({', '.join(f'{name} {one.dtype} {one.shape}' for name, one in arrays.items())}, {params})"
                try:
                    expected = REFERENCES[kernel](**arrays, **params)
                except Exception as error:
                    with pytest.raises((ValueError, TypeError, RuntimeError)) as raised:
                        came = getattr(gpu, kernel)(**arrays, **params)
                        pytest.fail(f"{told} is {came!r}, where NumPy has: {error}")
                    assert not isinstance(error, Refused) or str(error) in str(raised.value), f"{told}: {raised.value}"
                    refused += 1
                    continue
                try:
                    compare(kernel, getattr(gpu, kernel)(**arrays, **params), expected, arrays, params)
                except Exception as error:
                    raise AssertionError(f"{told}: {error}") from error
                computed += 1
    assert computed > 0, f"{refused} refused, and nothing was computed"


# NumPy's arguments, each by itself.


class Instead(NamedTuple):
    """A value that the kernel refuses, saying what to write, which is then computed: by `of_text`, where that is no expression."""

    value: Any
    of_text: Any = None


ORDER, KINDS = ["C", "K"], [None, "quicksort", "stable", "mergesort", "heapsort"]
Q = np.arange(12.0).reshape(3, 4)[::-1] % 5  # a matrix whose order matters
SYMMETRIC = np.array([[4.0, 1, 0], [2, 5, 1], [1, 3, 6]])  # beside its lower triangle there is another matrix
FORTRAN = "numpy.asfortranarray(…) of its result"


class Called(NamedTuple):
    """A function of NumPy's, the arrays that it is tried with, the values of its arguments, and what must be given."""

    function: Any
    arrays: dict
    values: dict
    needs: dict = {}


def steps_of(gpu, text):
    assert text == "z[1] - z[0] for the step, of its result z"
    z = gpu.linspace(1, 7)
    return z, z[1] - z[0]


def densities(gpu, text):
    assert text.endswith(", of its results")
    counts, edges = gpu.histogram(Q)
    return eval(text.partition(",")[0], {"counts": counts, "edges": edges, "numpy": np}), edges


def in_fortrans_order(result):
    def of(gpu, text):
        assert text == FORTRAN
        return np.asfortranarray(result(gpu))
    return of


NUMPYS = {
    "arange": Called(np.arange, {}, {
        "start": [2], "stop": [7], "step": [2], "dtype": ["float32", np.int32], "like": [None]}, {"stop": 5}),
    "argsort": Called(np.argsort, {"a": np.arange(12.0).reshape(3, 4) * 7 % 12}, {  # not all kinds keep the order of equals
        "axis": [-1, 0, 1, None], "kind": KINDS, "order": [None], "stable": [None, True]}),
    "cholesky": Called(np.linalg.cholesky, {"a": SYMMETRIC}, {"upper": [None, False, Instead(True)]}),
    "eig": Called(np.linalg.eig, {"a": SYMMETRIC}, {}),
    "eigh": Called(np.linalg.eigh, {"a": SYMMETRIC}, {"UPLO": ["L", "l", Instead("U")]}),
    "fft": Called(np.fft.fft, {"a": Q}, {
        "n": [None, 3, 9], "axis": [-1, 1, Instead(0)], "norm": ["ortho", "forward", "backward"], "out": [None]}),
    "flatnonzero": Called(np.flatnonzero, {"a": Q}, {}),
    "full": Called(np.full, {}, {
        "shape": [3, (2, 3), [2, 3]], "fill_value": [1.5, 2], "dtype": [None, "float32"], "like": [None],
        "order": ["C", Instead("F", in_fortrans_order(lambda gpu: gpu.full((2, 3), 1.5)))]}, {"shape": (2, 3), "fill_value": 1.5}),
    "histogram": Called(np.histogram, {"a": Q}, {
        "bins": [4, Instead([0.0, 1.0, 5.0]), Instead("auto")], "range": [None, (0, 3)],
        "density": [None, False, Instead(True, densities)], "weights": [None, Instead(Q + 1)]}),
    "linspace": Called(np.linspace, {}, {
        "start": [1, 2.5], "stop": [7.0], "num": [0, 5], "endpoint": [True, False], "dtype": [None, "float32", int], "axis": [0, -1],
        "retstep": [False, Instead(True, steps_of)]}, {"start": 1, "stop": 7}),
    "matmul": Called(np.matmul, {"a": Q, "b": Q.T.copy()}, {
        "casting": ["same_kind"], "subok": [True, False], "order": [*ORDER, Instead("F", in_fortrans_order(lambda gpu: gpu.matmul(Q, Q.T)))],
        "dtype": [None, Instead(np.float32)]}),
    "norm": Called(np.linalg.norm, {"x": Q}, {
        "axis": [None, 0, (0, 1), (1,)], "keepdims": [False, True],
        "ord": [None, "fro", 1, -1, np.inf, -np.inf, Instead(2), Instead(-2), Instead("nuc")]}),
    "qr": Called(np.linalg.qr, {"a": Q}, {"mode": ["reduced", "complete", Instead("r"), Instead("raw")]}),
    "searchsorted": Called(np.searchsorted, {"a": np.sort(Q.ravel()), "v": Q}, {
        "side": ["left", "right"], "sorter": [None, Instead(np.arange(12))]}),
    "slogdet": Called(np.linalg.slogdet, {"a": SYMMETRIC}, {}),
    "solve": Called(np.linalg.solve, {"a": SYMMETRIC, "b": Q[:, :2].copy()}, {}),
    "sort": Called(np.sort, {"a": Q}, {
        "axis": [-1, 1, Instead(0), Instead(None)], "kind": KINDS, "order": [None], "stable": [None, True]}),
    "svd": Called(np.linalg.svd, {"a": SYMMETRIC}, {
        "full_matrices": [True, False], "compute_uv": [True, False], "hermitian": [False, Instead(True)]}),
}


def arguments_of(function):
    """Of NumPy's function, as the installed version has them; None of one that does not tell, as those written in C."""
    try:
        return set(inspect.signature(function).parameters)
    except ValueError:
        return None


def known_to(function, name):
    return name in (arguments_of(function) or {name})


def written(gpu, text, arrays, keywords):
    """What an error says to write, computed. The arrays are those of the call, by NumPy's names and by the kernel's."""
    first = next(iter(arrays.values()), None)
    came = eval(text, {"gpu": gpu, "hp": hp, "numpy": np, "x": first, **arrays, **keywords})
    # A named tuple of NumPy 2's stays with its worker.
    return gpu.function(tuple)(came) if isinstance(came, hp.Ref) else came


def same_as_numpys(kernel, got, expected, told):
    for one, other in zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]:
        one = one.numpy() if isinstance(one, hp.Array) else one
        if kernel in ("eigh", "svd"):  # a vector's sign is nobody's
            one, other = np.abs(one), np.abs(other)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=told)
        assert np.shape(one) == np.shape(other), told


def test_numpys_functions_are_all_here():
    assert set(NUMPYS) == set(REFERENCES) - {"reduce", "random"}  # np.random.random has only `size`


@pytest.mark.parametrize("kernel", sorted(NUMPYS))
def test_each_argument_of_numpys_is_its_own_or_says_what_to_write(gpu, kernel):
    function, arrays, values, needs = NUMPYS[kernel]
    takes = arguments_of(function)
    if takes is not None and kernel != "matmul":  # whose arrays have no names, and which has arguments of all ufuncs
        assert takes - set(arrays) - {"device", "start_or_stop"} <= set(values), "every argument of NumPy's is tried; a device is one of ours"
        assert set(arrays) <= takes, "arrays by NumPy's names"
    for name, one in [(None, None), *((name, one) for name, ones in values.items() for one in ones)]:
        refused = isinstance(one, Instead)
        keywords = {} if name is None else {name: one.value if refused else one}
        given, told = needs | keywords, f"{kernel}({keywords})"
        expected = function(*arrays.values(), **given) if all(known_to(function, one) for one in given) else None
        if not refused:
            for got in (getattr(gpu, kernel)(*arrays.values(), **given), getattr(gpu, kernel)(**arrays, **given)):
                if expected is not None:
                    compare(kernel, got, expected, arrays, {"compute": "values"} if kernel == "svd" and given.get("compute_uv") is False else {})
            continue
        with pytest.raises(ValueError, match=f"{kernel}: {name} is .*: write ") as raised:
            getattr(gpu, kernel)(*arrays.values(), **given)
        text = str(raised.value).partition(": write ")[2]
        came = one.of_text(gpu, text) if one.of_text else written(gpu, text, arrays, keywords)
        if expected is not None:
            same_as_numpys(kernel, came, expected, f"{told}: {text}")


@pytest.mark.parametrize("kernel, call, numpys", [
    ("norm", {"ord": -1}, {}), ("norm", {"ord": -2.5, "axis": 0}, {}), ("norm", {"ord": -1, "axis": 1, "keepdims": True}, {}),
    ("norm", {"ord": 1e-3, "axis": (0,)}, {}), ("norm", {"ord": 2, "keepdims": True}, {}), ("norm", {"ord": "nuc", "axis": (-2, -1)}, {}),
    ("norm", {"ord": -2, "axis": (1, 2), "keepdims": True}, {}), ("norm", {"ord": "2", "axis": "matrices"}, {"ord": 2, "axis": (-2, -1)}),
    ("fft", {"axis": 0, "n": 5, "norm": "ortho"}, {}), ("fft", {"axis": 0, "transform": "ifft"}, {}),
    ("sort", {"axis": 0, "descending": True}, None), ("searchsorted", {"sorter": np.arange(12), "side": "right"}, {}),
    ("eigh", {"UPLO": "U", "compute": "values"}, None), ("histogram", {"weights": Q, "bins": 3, "range": (0, 4)}, {}),
    ("svd", {"hermitian": True, "compute_uv": False}, {}),
])
def test_what_to_write_keeps_the_other_arguments(gpu, kernel, call, numpys):
    """`numpys`: NumPy's words for the call, where they are others; None: it has none."""
    arrays = {**NUMPYS[kernel].arrays}
    if kernel == "norm":
        axis = call.get("axis")
        arrays["x"] = np.stack([Q, Q + 2]) + 1 if axis in ((1, 2), "matrices") else Q[0] + 1 if call == {"ord": -1} else Q + 1
    with pytest.raises(ValueError, match="write ") as raised:
        getattr(gpu, kernel)(*arrays.values(), **call)
    text = str(raised.value).partition(": write ")[2]
    came = written(gpu, text, arrays, call)
    if numpys is None:
        expected = {"sort": lambda: -np.sort(-Q, axis=0), "eigh": lambda: (np.linalg.eigvalsh(SYMMETRIC, "U"), np.empty((3, 0)))}[kernel]()
    else:
        function = np.fft.ifft if call.get("transform") == "ifft" else NUMPYS[kernel].function
        expected = function(*arrays.values(), **{name: one for name, one in {**call, **numpys}.items() if name != "transform"})
    same_as_numpys(kernel, came, expected, text)


@pytest.mark.parametrize("call, says", [
    (lambda gpu: gpu.eigh(SYMMETRIC, "X"), "UPLO is 'X', which is not computed here: give 'L' or 'U'"),
    (lambda gpu: gpu.norm(Q, 3), "norm: ord is 3, and matrices have no such norm: give 'fro', 'nuc', 1, -1, 2"),
    (lambda gpu: gpu.norm(Q[0], "nuc"), "only matrices have that norm"), (lambda gpu: gpu.norm(Q, "--1"), "--1"),
    (lambda gpu: gpu.sort(Q, kind="bogo"), "kind is 'bogo', which is not computed here: leave it out"),
    (lambda gpu: gpu.matmul(Q, Q.T, axes=[(0, 1)] * 3), "write gpu.matmul of numpy.moveaxis(a, …)"),
    (lambda gpu: gpu.sort(gpu.array(Q), axis=0), "write hp.xp.sort(x, axis=0)"),
    (lambda gpu: gpu.argsort(Q, 0, axis=None), "argsort got axis twice"),
])
def test_a_refusal_names_what_there_is(gpu, call, says):
    with pytest.raises((ValueError, TypeError)) as raised:
        call(gpu)
    assert says in str(raised.value)


# random, whose numbers are its own.


def test_random_draws_a_fresh_seed_and_its_receipt_repeats_it(gpu):
    first = gpu.random(n=100)
    seed = gpu.last_receipt.seed
    second = gpu.random(n=100, seed=None)
    assert (first != second).all() and gpu.last_receipt.seed != seed
    same(gpu.random(n=100, seed=seed), first)
    assert gpu.last_receipt.seed == seed
    same(gpu.random(n=100, seed=0), gpu.random(n=100, seed=0))


def test_two_jobs_of_one_request_id_are_one_job_with_one_seed(gpu):
    options = _core.Options()
    options.params, options.request_id = {"n": 10}, "the-same"
    first, again = (gpu._core.submit("random", {}, options) for _ in range(2))
    assert first == again
    same(gpu.wait(first), gpu.random(n=10, seed=int(gpu.job(first)["params"]["seed"])))


def test_numpys_spelling_of_singular_values(gpu):
    a = np.arange(12.0).reshape(4, 3)
    alone = gpu.svd(a, compute_uv=False)
    assert type(alone) is np.ndarray and alone.shape == (3,)
    future = gpu.submit(gpu.svd, a, compute_uv=False)
    same(future.result(), alone)
    kept = gpu.svd(a, compute_uv=False, keep="values")
    same(kept.numpy(), alone)
    kept.free()
    s = np.empty(3)
    assert gpu.svd(a, compute_uv=False, out=s) is s
    same(s, alone)
    assert {"full_matrices", "compute_uv"} <= set(inspect.signature(gpu.svd).parameters)
    assert "compute_uv (bool, default True)" in gpu.svd.__doc__
    with pytest.raises(TypeError, match="compute_uv is 'no'; it must be True or False"):
        gpu.svd(a, compute_uv="no")


def test_numbers_have_the_dtype_that_numpy_gives_them(gpu):
    same(gpu.arange(stop=np.int32(3)), np.arange(3))
    same(gpu.arange(stop=np.float32(3)), np.arange(3.0))
    same(gpu.full(n=2, value=np.float32(3)), np.full(2, np.float32(3)))
    same(gpu.full(n=2, value=np.int32(3)), np.full(2, np.int32(3)))
    for value in (True, np.float16(1), np.uint8(1)):
        with pytest.raises(ValueError, match="give dtype="):
            gpu.full(n=2, value=value)
    # A dtype that one call was told is not another's.
    same(gpu.arange(stop=4, out=np.empty(4, np.int64)), np.arange(4))
    same(gpu.arange(stop=4.0, out=np.empty(4)), np.arange(4.0))
