"""The table of operators of expressions on all dtypes, conversions, reductions, views and indices, against NumPy, which shares no code
with what is judged here. For whatever computes texts: printed CUDA on the host (tests/unit/cuda/expressions/printed_test.py), and a
daemon (kit/expression_calls.py).

A part of the table is a function of `run`: run(text, arrays, numbers={}, multiprocessors=2) returns the outputs by name, or a
Refused. It returns what is wrong, one line each.
"""

import itertools
import re
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = BOOL + INTEGERS + FLOATS + COMPLEX

# The bits are NumPy's, but for the sign of a zero that is one of two equal numbers.
EXACT = {"add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "copysign", "maximum", "minimum",
         "fmax", "fmin", "negative", "positive", "absolute", "sign", "square", "sqrt", "reciprocal", "floor", "ceil",
         "trunc", "rint", "real", "imag", "conjugate"}
ULPS = 4  # of everything else
COMPLEX_ULPS = 12  # of the absolute value

BINARY = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "power", "arctan2", "hypot",
          "copysign", "maximum", "minimum", "fmax", "fmin", "logaddexp", "bitwise_and", "bitwise_or", "bitwise_xor",
          "left_shift", "right_shift", "logical_and", "logical_or", "logical_xor", "equal", "not_equal", "less",
          "less_equal", "greater", "greater_equal"]
UNARY = ["negative", "positive", "absolute", "sign", "square", "sqrt", "cbrt", "reciprocal", "exp", "exp2", "expm1",
         "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
         "arcsinh", "arccosh", "arctanh", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit",
         "invert", "logical_not", "real", "imag", "conjugate"]
ORDER = {"less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin"}  # not of complex numbers
# NumPy's reciprocal of integers gives some number for 0; another one is no error.
LEFT_OUT = {("reciprocal", dtype) for dtype in INTEGERS}



class Refused(str):
    """Why there are no outputs, in the place of each of them."""

    def __getitem__(self, name):
        return self


def far(got, want, ulps):
    """A mask of the elements that are not within so many units in the last place; a NaN is near a NaN."""
    if got.dtype.kind not in "fc":
        return got != want
    if got.dtype.kind == "c":
        if ulps == 0:
            return far(got.real, want.real, 0) | far(got.imag, want.imag, 0)
        size = np.maximum(np.abs(want), np.finfo(got.dtype).tiny)
        near = np.abs(got - want) <= ulps * np.finfo(got.dtype).eps * size
        return ~(near | (np.isnan(got) & np.isnan(want)) | (np.isinf(got) & np.isinf(want)) | (got == want))
    wide = np.float64 if got.dtype != np.float64 else np.longdouble
    unit = np.spacing(np.abs(np.where(np.isfinite(want), want, 0))).astype(wide)
    near = np.abs(got.astype(wide) - want.astype(wide)) <= ulps * unit
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return ~(near | same)


def check(failures, what, got, want, ulps, *inputs):
    if isinstance(got, Refused):
        failures.append(f"{what}: {got}")
        return
    want = np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        failures.append(f"{what}: {got.dtype} {got.shape}, NumPy has {want.dtype} {want.shape}")
        return
    bad = np.atleast_1d(far(got, want, ulps))
    if not bad.any():
        return
    at = np.flatnonzero(bad)
    first = at[0]
    of = ", ".join(str(np.ravel(one)[first]) for one in inputs if np.ndim(one) and np.size(one) == np.size(got))
    failures.append(f"{what}: {len(at)} of {bad.size} differ; of ({of}): {np.ravel(got)[first]!r}, NumPy has {np.ravel(want)[first]!r}")


def values(dtype, rng, n=400):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if kind in "iu":
        info = np.iinfo(dtype)
        few = np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1], dtype)
        small = rng.integers(max(info.min, -20), 21, n).astype(dtype)
        wild = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        return np.where(rng.random(n) < 0.3, rng.choice(few, n), np.where(rng.random(n) < 0.5, small, wild))
    if kind == "f":
        info = np.finfo(dtype)
        few = np.array([0, -0.0, 1, -1, 0.5, 2, 3, -7, np.inf, -np.inf, np.nan, info.max, info.tiny, info.eps, 2.5, -0.5], dtype)
        size = (rng.random(n) * 10 - 5).astype(dtype)
        wide = (rng.choice([-1, 1], n) * 10.0 ** (rng.random(n) * 8 - 4)).astype(dtype)
        return np.where(rng.random(n) < 0.3, rng.choice(few, n), np.where(rng.random(n) < 0.5, size, wide)).astype(dtype)
    part = "float32" if dtype == "complex64" else "float64"
    whole = rng.random(n) < 0.1  # on an axis, where functions have their cuts
    re = (rng.random(n) * 8 - 4).astype(part)
    im = np.where(whole, 0, rng.random(n) * 8 - 4).astype(part)
    return np.where(rng.random(n) < 0.1, 1j * re, re + 1j * im).astype(dtype)


def numpys(name, *arrays):
    """NumPy's result, or None where it has no such function of this dtype."""
    if name in ORDER and arrays[0].dtype.kind == "c":
        return None
    x = arrays[0]
    if name in ("floor", "ceil", "trunc") and x.dtype.kind in "biu":  # as NumPy 2.1 has it
        return x
    if name == "sign" and x.dtype.kind == "c":  # as NumPy 2 has it
        return np.where(x == 0, 0, x / np.abs(x)).astype(x.dtype)
    try:
        result = getattr(np, name)(*arrays)
    except TypeError:
        return None
    return np.asarray(result)


def tolerance(name, result):
    if result.dtype.kind not in "fc" or name in EXACT - {"sqrt", "sign", "absolute", "reciprocal"}:
        return 0
    if result.dtype.kind == "c" or name in ("sign", "absolute", "reciprocal"):
        return COMPLEX_ULPS if result.dtype.kind == "c" else 1 if name == "absolute" else 0
    if name == "logaddexp" and result.dtype != np.float16:
        return 8 * ULPS  # the result is small where its two parts cancel
    return 0 if name in EXACT else 1 if result.dtype == np.float16 else ULPS


def operators(run, dtypes=DTYPES):
    failures = []
    for dtype in dtypes:
        rng = np.random.default_rng(7)
        x, y = values(dtype, rng), values(dtype, rng)
        cases = []  # (name, text, NumPy's)
        for name in BINARY + UNARY:
            arrays = (x, y) if name in BINARY else (x,)
            text = f"{name}(x, y)" if name in BINARY else f"{name}(x)"
            if name == "power" and dtype in SIGNED:  # to a negative power: refused
                arrays, text = (x, np.abs(y) & 63), "power(x, abs(y) & 63)"
            want = numpys(name, *arrays)
            if want is None or (name, dtype) in LEFT_OUT:
                continue
            cases.append((name, text, want))
        # Numbers that NumPy's loops of small types promote from Python's own.
        cases.append(("where", "where(x == y, x, y)", np.where(x == y, x, y)))
        for begin in range(0, len(cases), 24):
            some = cases[begin:begin + 24]
            got = run(";".join(f"o_{i} = {text}" for i, (_, text, _) in enumerate(some)), {"x": x, "y": y})
            for i, (name, _, want) in enumerate(some):
                check(failures, f"{name} of {dtype}", got[f"o_{i}"], want, tolerance(name, want), x, y)
    x = values("float64", np.random.default_rng(3))
    for dtype, to in (("float32", "complex64"), ("float64", "complex128")):
        a = x.astype(dtype)
        got = run("c = complex(x, y)", {"x": a, "y": a[::-1]})
        check(failures, f"complex of {dtype}", got["c"], np.array([complex(p, q) for p, q in zip(a, a[::-1])], to), 0, a)
    return failures


def casts(run, dtypes=DTYPES):
    failures = []
    for dtype in dtypes:
        rng = np.random.default_rng(11)
        x = values(dtype, rng)
        if dtype in FLOATS:
            x = np.concatenate([x, np.array([1e5, -1e5, 3e9, -3e9, 65519, 65520, 70000, 300, -300, 2049, 2051, 1e-7, 6e-8, 3e-8], dtype)])
        if dtype == "float64":
            x = np.concatenate([x, [1e19, -1e19, 2.0**63, 2.0**64, -(2.0**63), 2049.0000001, 2**31 - 0.5, -2.0**31 - 0.5]])
        # A complex number's imaginary part is not dropped in silence.
        to = [other for other in DTYPES if other != dtype and (dtype not in COMPLEX or other in BOOL + COMPLEX)]
        got = run(";".join(f"o_{other} = {other}(x)" for other in to), {"x": x})
        for other in to:
            want = x.astype(other)
            # A float that the integer cannot hold becomes some number, in NumPy another one at the end of a vector.
            if np.dtype(dtype).kind == "f" and np.dtype(other).kind in "iu":
                whole, info = np.trunc(x.astype(np.longdouble)), np.iinfo(other)
                inside = np.isfinite(whole) & (whole >= info.min) & (whole <= info.max)
                if not isinstance(got, Refused):
                    check(failures, f"{dtype} as {other}", got["o_" + other][inside], want[inside], 0, x[inside])
                    continue
            check(failures, f"{dtype} as {other}", got["o_" + other], want, 0, x)
    return failures


# Sums are compared with those in more digits.
def wide(x):
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def reductions(run, dtypes=DTYPES):
    failures = []
    shapes = [((1000,), None), ((3, 700), 1), ((700, 3), 0), ((5, 40, 6), 1), ((5, 6, 40), (0, 2)), ((4, 1, 30), 1), ((70000,), None),
              ((2, 3000), None), ((200, 40), 0), ((0, 3), 0)]
    rng = np.random.default_rng(5)
    for dtype in dtypes:
        for shape, axis in shapes:
            if np.prod(shape) > 20000 and dtype not in ("float32", "float64", "int64", "complex128"):
                continue
            x = values(dtype, rng, int(np.prod(shape))).reshape(shape)
            if dtype in FLOATS:
                x = (rng.random(shape) * 4 - 1.5).astype(dtype)
            empty = x.size == 0
            words = "" if axis is None else f", axis={axis}"
            names = ["sum", "prod", "mean", "var", "std", "any", "all"]
            if dtype not in COMPLEX and not empty:
                names += ["min", "max"] + ([] if isinstance(axis, tuple) else ["argmin", "argmax"])
            got = run(";".join(f"o_{name} = {name}(x{words})" for name in names), {"x": x}, multiprocessors=132 if x.size > 5000 else 2)
            if isinstance(got, str):
                failures.append(f"reductions of {dtype} {shape}: {got}")
                continue
            for name in names:
                result = getattr(np, name)(x, axis=axis)
                what = f"{name} of {dtype} {shape} over {axis}"
                if result.dtype.kind not in "fc":
                    check(failures, what, got["o_" + name], result, 0)
                    continue
                exact = getattr(np, name)(wide(x), axis=axis)
                scale = np.sum(np.abs(wide(x)), axis=axis) if name == "sum" else np.abs(exact)
                if name == "mean":
                    scale = np.sum(np.abs(wide(x)), axis=axis) / max(x.size, 1)
                eps = np.finfo(result.dtype).eps
                if got["o_" + name].dtype != result.dtype or got["o_" + name].shape != result.shape:
                    failures.append(f"{what}: {got['o_' + name].dtype}, NumPy has {result.dtype}")
                    continue
                bound = (4 + (x.size if name == "prod" else 0)) * eps * scale + 4 * eps * np.abs(exact) + np.finfo(result.dtype).tiny
                with np.errstate(all="ignore"):
                    near = np.abs(got["o_" + name].astype(exact.dtype) - exact) <= bound
                    rounded = exact.astype(result.dtype)
                    same = (got["o_" + name] == rounded) | (np.isnan(got["o_" + name]) & np.isnan(rounded))
                    lost = (name == "prod") & ~(np.isfinite(got["o_" + name]) & np.isfinite(result))
                if not np.all(near | same | lost):
                    failures.append(f"{what}: {np.ravel(got['o_' + name])[:4]}, exact {np.ravel(exact)[:4]}")
    # argmin and argmax give the first of equal elements and the first NaN, in however many pieces the array is reduced.
    x = np.tile(np.array([3.0, 1.0, 9.0, 1.0, 9.0]), 4000)
    for change in (None, 12345):
        if change is not None:
            x[change] = x[change + 1000] = np.nan
        for multiprocessors in (1, 7, 132):
            got = run("a = argmin(x); b = argmax(x); c = min(x); d = max(x); e = sum(x); f = any(x > 8); g = all(x > 0)", {"x": x}, multiprocessors=multiprocessors)
            for name, want in (("a", np.argmin(x)), ("b", np.argmax(x)), ("c", np.min(x)), ("d", np.max(x)), ("e", np.sum(x)), ("f", True), ("g", np.all(x > 0))):
                check(failures, f"{name} with {multiprocessors}", got[name], want, 0)
    check(failures, "a sum whose parts overflow", run("s = sum(x)", {"x": np.array([np.inf, 1.0, 2.0])})["s"], np.float64(np.inf), 0)
    check(failures, "of infinities", run("s = sum(x)", {"x": np.array([np.inf, -np.inf])})["s"], np.float64(np.nan), 0)
    x = rng.random((6, 50))
    got = run("v = var(x*x, axis=1, ddof=1, keepdims=True); s = std(x, axis=(0, 1), ddof=2)", {"x": x})
    check(failures, "var", got["v"], np.var(x * x, axis=1, ddof=1, keepdims=True), 8)
    check(failures, "std", got["s"], np.std(x, ddof=2), 8)
    return failures


def shapes(run):
    failures = []
    rng = np.random.default_rng(9)
    x = rng.random((6, 8, 10))
    row, column, one = rng.random(10), rng.random((8, 1)), rng.random(())
    cases = {
        "x + row": x + row, "x * column - row": x * column - row, "row + column": row + column, "x[1:-1, ::2, 3]": x[1:-1, ::2, 3],
        "x[::-1, :, ::-3]": x[::-1, :, ::-3], "x.T": x.T, "transpose(x, 1, 0, 2) + 0": x.transpose(1, 0, 2), "x[None, ..., 1]": x[None, ..., 1],
        "x[:, :, :1] + row": x[:, :, :1] + row, "x + one": x + one, "one * 2": one * 2,
        "x + i + 10*j + 100*k": x + np.arange(6)[:, None, None] + 10 * np.arange(8)[:, None] + 100 * np.arange(10),
        "broadcast_to(i*10 + j, (3, 4))": np.arange(3)[:, None] * 10 + np.arange(4),
        "strided(row, 1, (3, 2), (3, 1))": np.lib.stride_tricks.as_strided(row[1:], (3, 2), (24, 8)),
        "x[:0] * 2": x[:0] * 2,  # no element
    }
    for text, want in cases.items():
        words = set(re.findall(r"\b[a-z]+\b", text))
        arrays = {name: array for name, array in (("x", x), ("row", row), ("column", column), ("one", one)) if name in words}
        got = run(text, arrays)
        check(failures, text, got["out"], want, 0)
    m = rng.random((7, 9))
    p = rng.integers(-7, 7, (7, 9))
    got = run("g = m[p, (j + 1) % 9]", {"m": m, "p": p})
    check(failures, "gather", got["g"], m[p, (np.arange(9) + 1) % 9], 0)
    # Each result is of one element, and each line of several results.
    first, second = rng.random((24, 1, 1)), rng.random((24, 1))
    got = run("s = sum(p*q, axis=2); m = max(p*q, axis=2)", {"p": first, "q": second})
    check(failures, "a sum of single products", got["s"], (first * second)[:, :, 0], 0)
    check(failures, "the largest of single products", got["m"], (first * second)[:, :, 0], 0)
    # More numbers than are passed by value.
    x = rng.random((2, 3, 2, 3, 2, 3))
    x = x[:, :2, :, :2, :, :2]
    orders = list(itertools.permutations(range(6)))[:80]
    text = "+".join(f"{k}.5*transpose(x, {', '.join(map(str, order))})" for k, order in enumerate(orders))
    check(failures, "many numbers", run(text, {"x": x})["out"], sum((k + 0.5) * x.transpose(order) for k, order in enumerate(orders)), 0)
    x = rng.random(5).astype("float16")
    got = run("a*x + b", {"x": x}, {"a": 2, "b": 0.1})
    check(failures, "scalars", got["out"], (2 * x.astype("float32") + np.float32(np.float16(0.1))).astype("float16"), 0)
    got = run("where(t, z, a*z)", {"z": np.array([1 + 2j, 3j])}, {"a": 2.5, "t": False})
    check(failures, "scalars of complex numbers", got["out"], np.array([2.5 + 5j, 7.5j]), 0)
    return failures
