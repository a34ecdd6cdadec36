"""Calls as NumPy has them: by position, by NumPy's names, and its functions that are no kernel's name. And their help."""

import doctest
import inspect
import re

import hotplate as hp
import numpy as np
import pytest
from hotplate import examples, forms, help
from hotplate.kernel_spec import OPTIONS
from hotplate.numpy_only import NUMPY_ONLY


def same(got, expected):
    """Values, shape, dtype; of integers made where NumPy has integers, see test_kernels."""
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
    assert np.shape(got) == np.shape(expected)


RNG = np.random.default_rng(1)
V, W, M = RNG.random(5), RNG.random(4), RNG.random((4, 5))


@pytest.mark.parametrize("call", [
    "arange(10)", "arange(2, 10)", "arange(2, 10, 3)", "arange(10.0, 0, -2.5)", "arange(0)", "arange(2, stop=6)",
    "arange(6, step=2)", "arange(start=1, stop=4)", "arange(0, 4, 1, 'float32')", "arange(3, dtype='int64')", "arange(3, None, 2)",
    "linspace(0, 1, 5)", "linspace(0, 1)", "linspace(-1, 1, 4, False)", "linspace(0, 1, num=3, endpoint=True)",
    "linspace(start=0, stop=3, num=4)", "full((3, 3), 1.5)", "full(4, 2.5)", "full([2, 3, 4], 0.5)", "full(0, 1.0)",
    "full((2, 0), 1.0)", "full(shape=(2,), fill_value=3.5)", "full((2, 2), 7, 'int32')", "full(np.int64(3), np.float32(2), np.float64)",
    "zeros((2, 3))", "zeros(4)", "zeros((2,), int)", "zeros((1, 2, 3), dtype=np.float32)", "ones((2, 3))", "ones(3, 'int32')",
    "eye(3)", "eye(2, 4)", "eye(3, k=-1)", "eye(2, dtype='int64')",
    "dot(V, V)", "dot(M, V)", "dot(W, M)", "dot(M, M.T)", "dot([1.0, 2.0], [3.0, 4.0])", "dot(RNG3, M.T)", "dot(V, RNG4)", "dot(RNG3, V)",
    "matmul(V, V)", "matmul(M, V)", "matmul(W, M)", "matmul(RNG3, V)", "matmul(V, RNG4)", "matmul(M, M.T)",
])
def test_a_call_as_numpy_has_it(gpu, call):
    names = {"V": V, "W": W, "M": M, "np": np, "RNG3": np.ones((3, 4, 5)) * V, "RNG4": np.ones((3, 5, 2)) * W[0]}
    expected = eval(f"np.{call}", names)
    got = eval(f"gpu.{call}", {**names, "gpu": gpu})
    same(got, expected)
    if re.search(r"dtype|'int|'float|int\)|float32|float64", call):
        assert got.dtype == expected.dtype


@pytest.mark.parametrize("call, as_keywords", [
    ("norm(M, 1, 1)", "norm(M, ord=1, axis=1)"), ("norm(M, 2, 0, True)", "norm(M, ord=2, axis=0, keepdims=True)"),
    ("histogram(M, 7)", "histogram(M, bins=7)"), ("fft(V, 8)", "fft(V, n=8)"),
    ("random((2, 3), seed=5)", "random(n=3, rows=2, seed=5)"), ("random(4, seed=5)", "random(size=4, seed=5)"),
    ("random(size=[2, 2, 2], seed=5)", "random(n=2, rows=2, batch=2, seed=5)"), ("full((2, 3), 4.0)", "full(n=3, rows=2, value=4.0)"),
])
def test_positions_are_keywords(gpu, call, as_keywords):
    got, expected = (eval(f"gpu.{one}", {"gpu": gpu, "M": M, "V": V}) for one in (call, as_keywords))
    for one, other in zip(got, expected) if isinstance(got, tuple) else [(got, expected)]:
        np.testing.assert_array_equal(one, other)


def test_arrays_on_the_daemon_by_the_same_forms(gpu):
    v, m = gpu.array(V), gpu.array(M)
    same(gpu.dot(m, v), M @ V)
    same(gpu.matmul(v, v), V @ V)
    zeros = gpu.zeros((2, 3), keep="zeros")
    assert zeros.shape == (2, 3) and zeros.name == "zeros" and not zeros.numpy().any()
    zeros.free()
    assert gpu.submit(gpu.full, (2, 2), 1.0).result().tolist() == [[1, 1], [1, 1]]
    assert gpu.submit("arange", 3.0).result().tolist() == [0, 1, 2]
    assert gpu.wait(gpu.submit_detached("linspace", 0, 1, 3)).tolist() == [0, 0.5, 1]
    assert gpu.check("random", (2, 5))["outputs"][0]["signature"]["shape"] == [2, 5]


def test_eye_sends_nothing(gpu):
    jobs = len(gpu.jobs())
    assert type(gpu.eye(3)) is np.ndarray and len(gpu.jobs()) == jobs
    with pytest.raises(TypeError):
        gpu.eye(3, keep=True)


@pytest.mark.parametrize("call, kind, says", [
    ("arange()", TypeError, "arange needs stop=: end of the range, excluded"),
    ("arange(1, 2, 3, 'float64', 5)", TypeError, "arange takes start, stop, step, dtype by position; 5 were given"),
    ("arange(10, start=2)", TypeError, "arange got start twice: by position and as a keyword"),
    ("arange(0, 5, 0)", ValueError, "step is 0"),
    ("norm(M, 1, 0, True, 3)", TypeError, "norm takes an array, ord, axis, keepdims by position; 5 were given"),
    ("full((2, 3))", TypeError, "full needs fill_value, the value of every element"),
    ("full()", TypeError, "full needs shape: an integer, or a tuple of them"),
    ("full(2.5, 1.0)", TypeError, "full: shape is 2.5; it must be an integer or a tuple of integers"),
    ("full('ab', 1.0)", TypeError, "shape is 'ab'; it must be an integer or a tuple of integers"),
    ("full((2, -1), 1.0)", ValueError, "full: shape is (2, -1); sizes are 0 or more"),
    ("full((1, 1, 1, 1), 1.0)", ValueError, "full: shape is (1, 1, 1, 1); the daemon makes one to three axes"),
    ("full((), 1.0)", ValueError, "full: shape is (); the daemon makes one to three axes"),
    ("zeros((0, 3))", ValueError, "full: shape is (0, 3); the daemon makes one to three axes, of which only the last"),
    ("full(3, 1.0, n=3)", TypeError, "full: shape= and n= say the same thing; give one of them"),
    ("sort(a=M, x=M)", TypeError, "sort: a= and x= say the same thing; give one of them"),
    ("full(3, 1.0, value=2.0)", TypeError, "full: fill_value= and value= say the same thing"),
    ("full(3, 2**53 + 1)", ValueError, "full: fill_value is 9007199254740993; whole numbers are exact up to 2^53"),
    ("linspace(0, 1, 5, True, include_stop=False)", TypeError, "linspace: endpoint= and include_stop= say the same thing"),
    ("random()", TypeError, "random needs size: an integer, or a tuple of them, such as gpu.random(1)[0] for one number"),
    ("random((2, 3, 4, 5))", ValueError, "gpu.array(numpy.random.default_rng().random(size))"),
    ("full(3, np.nan)", ValueError, "fill_value is nan, and here it is finite: write hp.xp.full("),
    ("full(3, [1, 2, 3])", ValueError, "fill_value is [1, 2, 3], and here it is one number: write gpu.array(numpy.full("),
    ("zeros(2, 3)", ValueError, "full: dtype is '3'; it must be one of float32, float64, int32, int64: write hp.xp.full("),
    ("zeros(2, '>f8')", ValueError, "full: dtype is '>f8'"),
    ("arange(4, dtype='>f8')", ValueError, 'dtype is ">f8"'),
    ("zeros(3, float, 'F')", ValueError, "order is 'F', which is not computed here: write numpy.asfortranarray(…) of its result"),
    ("arange(2**53 + 1, 2**53 + 5)", ValueError, "arange: start is 9007199254740993; whole numbers are exact up to 2^53"),
    ("fft(V, 0)", ValueError, "fft: n is 0; it must be 1 or more, or None"),
    ("argsort(M, axis=1.0)", TypeError, "axis is 1.0; it must be one of"),
    ("matmul([[1, 2]], [[3], [4]])", TypeError, "a is int64 and b is int64: convert with numpy.asarray(…, dtype=…)"),
    ("dot(V.astype(int), V.astype(int))", TypeError, "a is int64 and b is int64: convert with astype"),
    ("norm(V, np.nan)", ValueError, "ord is nan, and there is no such norm"),
    ("eigh(M[:, :4] * 1j)", TypeError, "complex numbers are not computed here: write gpu.function(numpy.linalg.eigh)(a)"),
    ("kmeans(M * 1j, M * 1j)", TypeError, "complex numbers are not computed here: take a.real and a.imag"),
    ("sort(np.array(['a']))", TypeError, "x is <U1: the arrays of a daemon are of numbers"),
    ("array(V).get()", AttributeError, "a hotplate.Array has no get: write A.numpy()"),
    ("array(V).copy_to_host()", AttributeError, "write A.numpy()"),
    ("random(3, shape=2)", TypeError, "random has no argument 'shape'"),
    ("zeros(3, bool)", ValueError, "dtype is 'bool'; it must be one of"),
    ("dot(2.0, V)", ValueError, "dot: a is a number; a dot product is of arrays with axes"),
    ("dot(M, M[np.newaxis].swapaxes(1, 2))", ValueError, "gpu.matmul(a, b) for the products of one with one"),
    ("dot(V, W)", ValueError, "inner sizes differ: a is [5], b is [4]"),
    ("matmul(1.0, V)", ValueError, "a is a scalar, []; it must be a matrix or a vector"),
])
def test_what_is_refused_says_why(gpu, call, kind, says):
    with pytest.raises(kind) as refused:
        eval(f"gpu.{call}", {"gpu": gpu, "V": V, "W": W, "M": M, "np": np})
    assert says in str(refused.value)


@pytest.mark.parametrize("name, says", [
    ("sum", "has no kernel sum: write hp.xp.sum(…), of arrays on the daemon: gpu.array(x)"), ("inv", "write hp.xp.linalg.inv(…)"),
    ("einsum", "write gpu.function(numpy.einsum)"), ("median", "write gpu.function(numpy.median)(…)"), ("ifft", "transform='ifft'"),
    ("asnumpy", "write A.numpy()"), ("identity", "write gpu.eye(n)"), ("matmull", "Nearest: matmul"),
])
def test_a_function_that_is_no_kernel_is_elsewhere(gpu, name, says):
    with pytest.raises(AttributeError) as missing:
        getattr(gpu, name)
    assert says in str(missing.value)
    assert not hasattr(gpu, name)


def test_signatures_are_as_it_is_called(gpu):
    def shown(name):
        return [one for one, parameter in inspect.signature(gpu.kernels[name]).parameters.items()
                if parameter.kind == parameter.POSITIONAL_OR_KEYWORD]

    assert shown("full") == ["shape", "fill_value", "dtype"]
    assert shown("random") == ["size"] and shown("linspace") == ["start", "stop", "num", "endpoint"]
    assert shown("norm") == ["x", "ord", "axis", "keepdims"] and shown("matmul") == ["a", "b"]
    inspect.signature(gpu.arange).bind(10)
    inspect.signature(gpu.full).bind((3, 3), 1.0, keep=True)
    assert not {"n", "rows", "value"} & set(inspect.signature(gpu.full).parameters)


def test_a_default_that_is_no_value_is_told_in_words(gpu):
    assert inspect.signature(gpu.random).parameters["seed"].default is None
    assert "seed (int, default: a fresh one, at least 0)" in gpu.random.__doc__ and " -1" not in gpu.random.__doc__


def test_forms_name_what_kernels_have(gpu):
    for name, form in forms.FORMS.items():
        plan = gpu.kernels[name].plan
        assert set(form.positions) <= {*form.own, *plan.keywords, *OPTIONS, *NUMPY_ONLY.get(name, {})}, name
        assert set(form.hidden) <= set(plan.keywords) and set(form.arrays.values()) <= set(plan.inputs), name
        assert not set(NUMPY_ONLY.get(name, {})) & set(plan.keywords), name
    assert set(NUMPY_ONLY) <= set(forms.FORMS)


# Help.


def test_help_speaks_python(gpu):
    """No flags of the command's: keywords, and what they may be."""
    for name, kernel in gpu.kernels.items():
        docs = kernel.__doc__
        assert not re.search(r"(?<!\w)--\w|hotplate run", docs), f"{name}: {docs}"
    docs = " ".join(gpu.matmul.__doc__.split())
    assert 'precision="tf32", "bf16" or "f16" a GPU multiplies' in docs and "only with deterministic=True, since" in docs


@pytest.mark.parametrize("text, says", [
    ("on the CPU only with --deterministic, since", "on the CPU only with deterministic=True, since"),
    ("--precision tf32, bf16 or f16 a GPU", 'precision="tf32", "bf16" or "f16" a GPU'),
    ("leave --precision out", "leave precision out"),
    ("with --descending, and more", "with descending=True, and more"),
    ("with --ord p", 'with ord="p"'),
    ("matmul with --transpose-b (x", "matmul with transpose_b=True (x"),
    ("drawn: hotplate run random --rows 8 --dtype float32 -o array:initial, between", 'drawn: gpu.random(rows=8, '
     'dtype="float32", keep="initial"), between'),
    ("a -- b, 1e-5 and x--y", "a -- b, 1e-5 and x--y"),
    ("svd --compute values); add --new 0 or --new 1", 'svd compute="values"); add new=0 or new=1'),
    ("it is for --mode p, and mode is 2", 'it is for mode="p", and mode is 2'),
])
def test_flags_become_keywords(gpu, text, says):
    params = {**gpu.norm.plan.params, **gpu.sort.plan.params}
    assert help.in_python(text, params) == says


def test_every_kernel_has_an_example(gpu):
    assert set(gpu.kernels) <= set(examples.EXAMPLES)
    assert set(examples.EXAMPLES) <= set(gpu.kernels)


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_the_example_of_help_gives_what_it_shows(gpu, name):
    docs = gpu.kernels[name].__doc__
    test = doctest.DocTestParser().get_doctest(docs, {"gpu": gpu, "np": np, "hp": hp}, name, None, 0)
    assert f"gpu.{name}(" in docs and any(one.want for one in test.examples), "it shows a result"
    told = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=told.append).failed == 0, "".join(told)


def test_a_kernel_of_another_version_has_help_too(gpu):
    plan = hp.calls.Plan({**gpu.selu.spec, "name": "newer", "params": [{**gpu.selu.spec["params"][0], "default_value": None}]})
    assert "Example:\n    >>> gpu.newer(x, alpha=10)" in plan.docs()
