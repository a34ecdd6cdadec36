"""Operators, functions element by element and reductions of arrays on the daemon: values and dtypes are NumPy 2's."""

import itertools
import operator

import numpy as np
import pytest
from array_checks import DTYPES, X, as_numpy_2, check_as_numpy, nothing_is_left, outcome, same, values  # noqa: F401


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.and_,
          operator.or_, operator.xor, operator.lshift, operator.rshift, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
          operator.ge, np.maximum, np.arctan2, np.logical_and, np.hypot, np.copysign, np.logaddexp]


@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
def test_an_operator_is_numpys_over_all_dtypes(gpu, function):
    sent = {dtype: gpu.array(values(dtype)) for dtype in DTYPES}
    pairs = list(itertools.combinations_with_replacement(DTYPES, 2))
    for one, other in pairs[::2] + [pair[::-1] for pair in pairs[1::2]]:
        if function in (operator.lt, operator.le, operator.gt, operator.ge, np.maximum) and "complex" in one + other:
            continue  # NumPy orders complex numbers, by their real parts first; see expressions
        if function is operator.pow and "complex" in one + other:
            continue  # 0 ** 0j differs between NumPy's versions
        check_as_numpy(function, (sent[one], sent[other]), (values(one), values(other)))


@pytest.mark.parametrize("scalar", [True, 2, -1, 300, 2**40, 2**63, 2.5, float("inf"), 1j], ids=str)
def test_a_number_is_weak_as_in_numpy_2(gpu, scalar):
    for dtype, function in itertools.product(DTYPES, (operator.add, operator.mul, operator.truediv, operator.lt, operator.eq)):
        if "complex" in dtype + type(scalar).__name__ and function is operator.lt:
            continue
        if np.lib.NumpyVersion(np.__version__) < "2.0.0" and type(scalar) is int and not 0 <= scalar < 100:
            continue  # its weak promotion does not know integers that are out of range
        if dtype == "bool" and scalar == 2**63:
            continue  # NumPy's own error is of a conversion
        array = gpu.array(values(dtype))
        check_as_numpy(function, (array, scalar), (values(dtype), scalar))
        check_as_numpy(function, (scalar, array), (scalar, values(dtype)))


@pytest.mark.parametrize("scalar", [np.float32(2.5), np.float64(2.5), np.int8(3), np.uint64(7), np.bool_(True), np.complex64(1j)],
                         ids=lambda scalar: type(scalar).__name__)
def test_a_number_of_numpys_has_its_dtype(gpu, scalar):
    for dtype in ("int8", "float16", "float32", "int64"):
        array = gpu.array(values(dtype))
        check_as_numpy(operator.mul, (array, scalar), (values(dtype), scalar))
        check_as_numpy(operator.add, (scalar, array), (scalar, values(dtype)))


def test_an_integer_out_of_range_is_refused_and_compared(gpu):
    small = gpu.array(np.array([1, 100], "int8"))
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        small + 300
    same(small < 300, [True, True])
    same(300 < small, [False, False])
    same(small == -200, [False, False])
    same(small != 2**70, [True, True])
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        small ** -1


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_an_integer_out_of_range_is_a_truth_to_logical_functions(gpu, name):
    for dtype in ("int8", "uint8", "uint64", "bool", "float32"):
        data = np.array([0, 1, 2]).astype(dtype)
        array = gpu.array(data)
        for number in (0, 1, 300, -300):
            same(getattr(np, name)(array, number), getattr(np, name)(data != 0, number != 0))
            same(getattr(np, name)(number, array), getattr(np, name)(number != 0, data != 0))
    with pytest.raises(OverflowError):
        getattr(np, name)(gpu.array(np.ones(2, "int8")), 2**70)


def test_clip_takes_limits_out_of_range(gpu):
    data = np.array([-128, -5, 0, 100, 127], "int8")
    array = gpu.array(data)
    for low, high, expected in ((0, 300, np.maximum(data, 0)), (-300, 5, np.minimum(data, 5)), (-300, None, data), (None, 300, data), (-300, 300, data),
                                (-128, 127, data), (-5, 5, np.array([-5, -5, 0, 5, 5], "int8"))):
        same(array.clip(low, high), expected)
        same(np.clip(array, low, high), expected)
    for low, high in ((300, None), (None, -300), (300, 400)):
        with pytest.raises(OverflowError):
            array.clip(low, high)
    same(array.clip(0.5, 2), np.clip(data, 0.5, 2.0))
    same(gpu.array(data.astype("float32")).clip(0, 2**70), np.maximum(data, 0).astype("float32"))


def test_numbers_of_all_kinds_are_told_apart(gpu):
    """Dtypes of results are remembered by what the operands are; see operations.signature."""
    for dtype in ("int8", "float32", "bool", "uint64"):
        array = gpu.array(values(dtype))
        for function in (np.hypot, np.add, np.copysign):
            results = [outcome(function, array, scalar)[0] for scalar in (3, 3.0, True, 2**70, 3) for _ in range(2)]
            if results[0] is not None:
                assert results[0].dtype == results[1].dtype == results[-1].dtype == function(values(dtype), 3).dtype
                assert results[2].dtype == function(values(dtype), 3.0).dtype
                assert results[4].dtype == function(values(dtype), True).dtype
    small = gpu.array(np.ones(3, "float32"))
    assert [(small * one).dtype for one in (2j, complex(1, np.inf), complex(np.nan, 1), 2j)][::3] == [np.dtype("complex64")] * 2
    with pytest.raises(OverflowError):
        gpu.array(np.ones(3, "int64")) + 2**63
    same(gpu.array(np.ones(3, "uint64")) + 2**63, np.ones(3, "uint64") + np.uint64(2**63))


@pytest.mark.parametrize("name, dtypes, options", [
    ("less", ["float64", "float64"], {"dtype": bool}), ("less", ["float64", "float64"], {"dtype": float}), ("less", ["int8", 300], {"dtype": bool}),
    ("equal", ["complex128", "complex128"], {"dtype": "bool"}), ("logical_and", ["float64", 2], {"dtype": bool}), ("isnan", ["float64"], {"dtype": bool}),
    ("isnan", ["float64"], {"dtype": "float64"}), ("add", ["int8", 1.5], {"dtype": "int8"}), ("add", ["int8", 1], {"dtype": "int8"}),
    ("add", ["int8", 300], {"dtype": "int8"}), ("add", ["int8", 300], {"dtype": "int16"}), ("add", ["uint8", 1], {"dtype": "uint8"}),
    ("add", ["float64", "float64"], {"dtype": "int8"}), ("add", ["float64", 1j], {"dtype": "float64"}), ("add", ["bool", "bool"], {"dtype": "int8"}),
    ("add", ["int8", "float32"], {"dtype": "complex64"}), ("sin", ["int8"], {"dtype": "int8"}), ("sin", ["int8"], {"dtype": "float32"}),
    ("sin", ["float64"], {"dtype": "float32"}), ("absolute", ["complex128"], {"dtype": "float64"}), ("absolute", ["complex64"], {"dtype": "float64"}),
    ("absolute", ["complex128"], {"dtype": "float32"}), ("absolute", ["float32"], {"dtype": "float64"}), ("divide", ["int8", 2], {"dtype": "int64"}),
    ("divide", ["int8", 2], {"dtype": "float32"}), ("power", ["int8", -1], {"dtype": "float64"}), ("left_shift", ["int8", 2], {"dtype": "float32"}),
    ("left_shift", ["int8", 2], {"dtype": "int64"}), ("invert", ["bool"], {"dtype": "int8"}), ("negative", ["bool"], {"dtype": "int8"}),
    ("fabs", ["int8"], {"dtype": "float64"}), ("deg2rad", ["float64"], {"dtype": "float32"}), ("maximum", ["int8", 2.5], {"dtype": "float32"}),
    ("floor", ["int8"], {"dtype": "float64"}), ("multiply", ["int64", "int64"], {"dtype": "float32"})], ids=str)
def test_a_ufunc_has_a_dtype(gpu, name, dtypes, options):
    theirs = [values(one) if isinstance(one, str) else one for one in dtypes]
    ours = [gpu.array(one) if isinstance(one, np.ndarray) else one for one in theirs]
    if np.lib.NumpyVersion(np.__version__) < "2.0.0" and any(type(one) in (int, float) and not (type(one) is int and 0 <= one < 100) for one in dtypes):
        # Its weak promotion does not know integers that are out of range, and casts 1.5 to an integer.
        expected, refused = {"less": (np.ones(3, bool), None), "add": (None, (TypeError, OverflowError)), "power": (1 / theirs[0], None),
                             "maximum": (np.maximum(theirs[0], 2.5).astype("float32"), None)}[name]
        if options["dtype"] == "int16":
            expected, refused = theirs[0].astype("int16") + np.int16(300), None
    else:
        expected, refused = outcome(lambda *given: getattr(np, name)(*given, **options), *theirs)
        refused = None if refused is None else next(kind for kind in (TypeError, OverflowError) if isinstance(refused, kind))
    if refused is not None:
        with pytest.raises(refused):
            getattr(np, name)(*ours, **options)
    else:
        same(getattr(np, name)(*ours, **options), expected)


UNARY = ["negative", "absolute", "sign", "square", "sqrt", "cbrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
         "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "floor", "ceil", "trunc",
         "rint", "isnan", "isinf", "isfinite", "signbit", "logical_not", "invert", "conjugate", "positive", "deg2rad", "degrees", "fabs"]


@pytest.mark.parametrize("name", UNARY)
def test_a_function_is_numpys(gpu, name):
    for dtype in ("bool", "int32", "float32", "float64", "complex128"):
        data = values(dtype) if name not in ("arcsin", "arccos", "arctanh") or dtype in ("bool", "int32") else values(dtype) / 4
        if dtype == "complex128" and name in ("sign", "exp2", "cbrt", "log2", "log10", "log1p", "expm1", "arctanh", "rint", "floor", "ceil",
                                              "trunc"):
            continue  # not of complex numbers, or not by NumPy's own rules in all versions
        if dtype in ("bool", "int32") and name in ("floor", "ceil", "trunc") and np.__version__ < "2.1":
            continue  # integers stay integers from NumPy 2.1 on
        check_as_numpy(getattr(np, name), (gpu.array(data),), (data,))


REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "std", "var"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}],
                         ids=str)
def test_a_reduction_is_numpys(gpu, name, options):
    if name.startswith("arg") and isinstance(options.get("axis"), tuple):
        with pytest.raises(TypeError):
            getattr(gpu.array(X), name)(**options)
        return
    for dtype in ("bool", "int8", "uint8", "int64", "float16", "float32", "float64"):
        data = (X % 5 / (2 if np.dtype(dtype).kind == "f" else 1)).astype(dtype)
        array = gpu.array(data)
        same(getattr(array, name)(**options), getattr(data, name)(**options), rtol=1e-4)
        same(getattr(np, name)(array, **options), getattr(np, name)(data, **options), rtol=1e-4)
    view = gpu.array(X)[:, ::-1, 1:]
    same(getattr(view * 2, name)(**options), getattr(X[:, ::-1, 1:] * 2, name)(**options))


def test_reductions_have_options(gpu):
    a = X.astype("int8")
    A = gpu.array(a)
    same(A.sum(dtype="float32"), a.sum(dtype="float32"))
    same(A.mean(axis=0, dtype="float32"), a.mean(axis=0, dtype="float32"))
    same(A.std(axis=0, ddof=1), a.std(axis=0, ddof=1))
    same(A.trace(axis1=1, axis2=2), a.trace(axis1=1, axis2=2))
    out = gpu.array(np.zeros((3, 4), "int64"))
    assert A.sum(axis=0, out=out) is out
    same(out, a.sum(axis=0))
    assert (float(A.max()), int(A.argmax()), bool((A > 3).any()), A.sum().item()) == (24.0, 23, True, 300)
