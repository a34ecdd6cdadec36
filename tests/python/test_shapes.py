"""What may be given as an array: any strides, shapes, dtypes, byte orders, lists, scalars; and memory for the result.

Hypothesis chooses the arrays; derandomized, so that a red test is red again. With NEW_EXAMPLES=500 in the environment it takes
as many that it chooses anew, and says of one that fails how to have it again. The kernels are those whose results NumPy has
bit by bit.
"""

import array
import decimal
import fractions
import os

import hotplate
import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = ("int32", "int64", "float32", "float64")

NEW = int(os.environ.get("NEW_EXAMPLES", "0"))
bounded = settings(deadline=None, derandomize=not NEW, max_examples=NEW or 60, database=None, print_blob=NEW > 0,
                   suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@st.composite
def views(draw, min_dims=0, dtypes=DTYPES):
    """Arrays as programs have them: parts of others, with gaps, backwards, transposed, repeated by broadcasting."""
    dtype = np.dtype(draw(st.sampled_from(dtypes))).newbyteorder(draw(st.sampled_from("<>")))
    whole = draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=min_dims, max_dims=4, min_side=0, max_side=7),
                            elements=st.integers(-1000, 1000)))
    for _ in range(draw(st.integers(0, 3))):
        change = draw(st.sampled_from(["slice", "transpose", "broadcast", "order", "axis"]))
        if change == "slice" and whole.ndim:
            whole = whole[tuple(slice(draw(st.integers(-9, 9)), None, draw(st.sampled_from([-3, -2, -1, 1, 2, 3])))
                                for _ in whole.shape)]
        elif change == "transpose":
            whole = whole.transpose(draw(st.permutations(range(whole.ndim))))
        elif change == "broadcast" and whole.ndim < 4:
            whole = np.broadcast_to(whole, (draw(st.integers(0, 3)), *whole.shape))
        elif change == "order":
            whole = np.asfortranarray(whole) if whole.ndim else whole
        elif change == "axis" and whole.ndim < 4:
            whole = whole[..., np.newaxis]
    return whole


def same(got, expected):
    """Bit by bit, in this machine's byte order; what has no axes comes as a scalar."""
    expected = np.asarray(expected)
    assert np.asarray(got).dtype == expected.dtype.newbyteorder("=") and np.shape(got) == expected.shape
    assert isinstance(got, np.ndarray) == (expected.ndim > 0)
    np.testing.assert_array_equal(got, expected)


@bounded
@given(x=views())
def test_any_view_is_an_input(gpu, x):
    before = x.copy()
    same(gpu.vector_add(x, x), x + x)
    np.testing.assert_array_equal(x, before)


def test_only_what_has_to_be_is_copied(gpu):
    def prepared(*inputs):
        return gpu.vector_add.plan.prepare(gpu, inputs, {}).inputs

    x = np.arange(12.0).reshape(3, 4)
    a, b = prepared(x, x[1:]).values()
    assert np.shares_memory(a, x) and np.shares_memory(b, x)
    a, b = prepared(x, x.T).values()
    assert np.shares_memory(a, x) and b.flags.c_contiguous and not np.shares_memory(b, x)
    a, b = prepared(x, x.view(type("Own", (np.ndarray,), {}))).values()
    assert np.shares_memory(a, x) and np.shares_memory(b, x)
    a, b = prepared(x, x.astype(">f8")).values()
    assert np.shares_memory(a, x) and b.dtype == x.dtype
    held = np.ones(3)
    held.flags.writeable = False
    assert all(one is held for one in prepared(held, held).values())


@bounded
@given(x=views(min_dims=1))
def test_the_last_axis_is_the_last_axis_whatever_the_strides(gpu, x):
    same(gpu.sort(x), np.sort(x))


@bounded
@given(x=views(min_dims=1, dtypes=("int32", "int64")), data=st.data())
def test_axes_and_keepdims_shape_a_reduction(gpu, x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    keepdims = data.draw(st.booleans())
    same(gpu.reduce(x, axis=axis, keepdims=keepdims), x.sum(axis=axis, keepdims=keepdims, dtype="int64"))


@bounded
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4, min_side=0),
       dtype=st.sampled_from(DTYPES))
def test_shapes_are_broadcast(gpu, shapes, dtype):
    a, b = (np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape) for shape in shapes.input_shapes)
    same(gpu.vector_add(a, b), a + b)


@bounded
@given(shapes=hnp.mutually_broadcastable_shapes(signature="(m,k),(k,n)->(m,n)", max_dims=2, max_side=5))
def test_matrices_are_the_last_two_axes(gpu, shapes):
    a, b = (np.arange(np.prod(shape), dtype=float).reshape(shape) for shape in shapes.input_shapes)
    same(gpu.matmul(np.asfortranarray(a), b[..., ::-1]), a @ b[..., ::-1])


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_mixed_dtypes_become_what_numpy_makes_of_them(gpu, one, other):
    a, b = np.array([1, 2, 3], one), np.array([4, 5, 6], other)
    same(gpu.vector_add(a, b), a + b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalar", [2, 2.5])
def test_a_python_number_does_not_widen_an_array(gpu, dtype, scalar):
    x = np.array([1, 2, 3], dtype)
    same(gpu.vector_add(x, scalar), x + scalar)
    same(gpu.vector_add(scalar, x), scalar + x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", ">i4", "int64"])
def test_integers_are_computed_in_float64_as_numpy_linalg_does(gpu, dtype):
    a, b = np.array([[3, 0], [0, 1]]).astype(dtype), np.array([1, 0]).astype(dtype)
    for got, expected in ((gpu.cholesky(a), np.linalg.cholesky(a)), (gpu.solve(a, b), np.linalg.solve(a, b)),
                          (gpu.svd(a).s, np.linalg.svd(a, compute_uv=False)), (gpu.eigh(a).w, np.linalg.eigvalsh(a)),
                          (gpu.eig(a).w, np.linalg.eigvals(a).astype(complex)),
                          (gpu.fft(a), np.fft.fft(a)),
                          # Also beside others, where NumPy's own promotion would be narrower.
                          (gpu.solve(a, b.astype("float32")), np.linalg.solve(a, b.astype("float32"))),
                          (gpu.solve(a.astype("float32"), b), np.linalg.solve(a.astype("float32"), b))):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-15)
    held = gpu.array(a.astype("float64"))
    np.testing.assert_allclose(gpu.solve(held, b), np.linalg.solve(a, b), rtol=1e-15)


def test_integers_become_complex_where_there_is_nothing_else(gpu):
    variables = [{**variable, "dtypes": ["complex64", "complex128"]} for variable in gpu.fft.spec["type_variables"]]
    plan = hotplate.calls.Plan({**gpu.fft.spec, "type_variables": variables})
    assert plan.prepare(gpu, [np.arange(3)], {}).inputs["x"].dtype == np.complex128
    with pytest.raises(TypeError, match="complex64 or complex128|complex128 or complex64"):
        plan.prepare(gpu, [np.zeros(3, "float16")], {})


# Of the kernels with inputs that may not be integers: those that take integers as float64, as NumPy's own function of
# that kind does. Of the others NumPy's results would be integers: there the caller is to say so.
FLOATS_OF_INTEGERS = {"cholesky", "eig", "eigh", "fft", "kmeans", "qr", "slogdet", "solve", "svd"}


def test_what_becomes_of_integers_is_decided_for_each_kernel(gpu):
    def takes_none(name):
        return any(dtypes and not any(dtype.kind in "biu" for dtype in dtypes)
                   for _, dtypes in getattr(gpu, name).plan.rules.values())

    undecided = {name for name in gpu.kernels if takes_none(name)} ^ (FLOATS_OF_INTEGERS | hotplate.calls._PRODUCTS)
    assert not undecided, "say what they make of integers, in FLOATS_OF_INTEGERS or in calls.py's _PRODUCTS"
    assert not FLOATS_OF_INTEGERS & hotplate.calls._PRODUCTS


@pytest.mark.parametrize("call", [
    lambda gpu, integers: gpu.matmul(integers, integers),  # NumPy's would be integers
    lambda gpu, integers: gpu.batched_matvec(integers, integers),
    lambda gpu, integers: gpu.cholesky(gpu.array(integers)),  # on the daemon it is what it is
    lambda gpu, integers: gpu.power_sum(integers.astype("uint8")),  # which takes other integers
])
def test_integers_are_not_converted_where_the_results_dtype_would_differ(gpu, call):
    with pytest.raises(TypeError, match="convert with astype"):
        call(gpu, np.eye(2, dtype="int64"))


def test_lists_tuples_and_scalars_are_arrays(gpu):
    same(gpu.power_sum([1.0, 2.0, 3.0]), np.array([3.0, 14.0, 39.0]))
    same(gpu.power_sum([[1, 2], [3, 4]]), np.array([[3, 14], [39, 84]]))
    same(gpu.power_sum((1, 2)), np.array([3, 14]))
    same(gpu.power_sum(range(3)), np.array([0, 3, 14]))
    same(gpu.power_sum(2.0), np.float64(14))
    same(gpu.power_sum(np.int32(2)), np.int32(14))
    same(gpu.power_sum(np.array(2, "float32")), np.float32(14))
    same(gpu.power_sum([]), np.array([]))


def test_what_has_an_array_is_one(gpu):
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2, 3], dtype)

    same(gpu.power_sum(Holder()), np.array([3, 14, 39]))
    same(gpu.power_sum(array.array("d", [1, 2])), np.array([3.0, 14.0]))
    same(gpu.power_sum(memoryview(np.array([1, 2], "int32"))), np.array([3, 14], "int32"))


def test_an_array_of_another_package_has_a_dtype_of_its_own(gpu):
    class Tensor:
        def __init__(self, array):
            self._array, self.dtype = array, f"tensor.{array.dtype}"

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self._array, dtype)

    same(gpu.power_sum(Tensor(np.array([1, 2], "float32"))), np.array([3, 14], "float32"))
    for dtype in ("int8", "float16"):
        for given in (np.ones(2, dtype), Tensor(np.ones(2, dtype))):
            with pytest.raises(TypeError, match=f"x is {dtype}: convert with astype"):
                gpu.power_sum(given)


def test_what_has_dlpack_alone_is_an_array(gpu):
    class Exchanged:
        def __dlpack__(self, **options):
            return np.arange(1.0, 4.0).__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    same(gpu.power_sum(Exchanged()), np.array([3.0, 14.0, 39.0]))
    same(gpu.array(Exchanged()).numpy(), np.arange(1.0, 4.0))


@pytest.mark.parametrize("thing", [{1, 2}, {1: 2}, (i for i in range(3)), scipy.sparse.eye(2, format="csr")],
                         ids=lambda thing: type(thing).__name__)
def test_what_is_no_array_is_named(gpu, thing):
    for call in (gpu.power_sum, gpu.array):
        with pytest.raises(TypeError, match=f"is a {type(thing).__name__}, which is no array$"):
            call(thing)


@pytest.mark.parametrize("number", [10**30, decimal.Decimal("1.5"), fractions.Fraction(1, 4)],
                         ids=lambda number: type(number).__name__)
def test_a_number_that_numpy_has_not_becomes_one_of_the_dtype(gpu, number):
    assert gpu.array(number, dtype="float64").numpy() == float(number)
    with pytest.raises(TypeError, match="which is no array$"):
        gpu.array(number)


@pytest.mark.parametrize("offset", range(1, 8))
def test_memory_may_begin_anywhere(gpu, offset):
    x = np.frombuffer(bytearray(offset) + np.arange(5.0).tobytes(), np.float64, offset=offset)
    same(gpu.vector_add(x, x), x + x)


def test_a_field_of_records_is_an_array_and_records_are_none(gpu):
    records = np.array([(1, 2.5), (3, 4.5)], [("count", "int32"), ("value", "float64")])
    same(gpu.vector_add(records["value"], 1.0), np.array([3.5, 5.5]))
    with pytest.raises(TypeError, match="vector_add.*count|count.*vector_add"):
        gpu.vector_add(records, records)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint64", "float16", "complex128", "U3", "object",
                                   "datetime64[s]"])
def test_a_dtype_that_the_kernel_does_not_take_is_named(gpu, dtype):
    with pytest.raises(TypeError, match=r"int32.*float64|float32.*float64") as refused:
        gpu.power_sum(np.zeros(3, dtype))
    assert str(np.zeros(3, dtype).dtype) in str(refused.value) and "power_sum" in str(refused.value)


@pytest.mark.parametrize("data, says", [
    (["a", "b"], "data is of dtype <U1"),
    ([1, None], "data is of dtype object"),
    (np.zeros(3, "datetime64[s]"), "datetime64"),
    (np.zeros(3, [("count", "int32")]), "count"),
    (np.ma.masked_array([1.0, 2.0], [False, True]), "data is a masked array"),
])
def test_what_is_no_numbers_cannot_stay_on_the_daemon(gpu, data, says):
    with pytest.raises(TypeError, match=says):
        gpu.array(data)


def test_lists_of_different_lengths_are_no_array(gpu):
    with pytest.raises(ValueError):
        gpu.power_sum([[1, 2], [3]])


def test_shapes_that_do_not_fit_are_named(gpu):
    with pytest.raises(ValueError, match="matmul") as refused:
        gpu.matmul(np.zeros((3, 4)), np.zeros((5, 6)))
    assert "4" in str(refused.value) and "5" in str(refused.value)


@pytest.mark.parametrize("megabytes", [0.9, 3])  # within the request, and uploaded
def test_large_views_arrive_whole(gpu, megabytes):
    n = int(megabytes * 2**20 / 8 / 100)
    x = np.arange(3 * 100 * 2 * n).reshape(3, 100, 2 * n)[1, ::-1, ::2]
    same(gpu.vector_add(x, 1), x + 1)
    same(gpu.power_sum(x.T), x.T + x.T**2 + x.T**3)


# Memory for the result.


@bounded
@given(x=views(min_dims=1))
def test_out_receives_the_result(gpu, x):
    out = np.full(x.shape, 7, x.dtype.newbyteorder("="))
    assert gpu.vector_add(x, x, out=out) is out
    np.testing.assert_array_equal(out, x + x)


@pytest.mark.parametrize("megabytes", [0.1, 3])
def test_out_may_be_an_input(gpu, megabytes):
    x = np.arange(int(megabytes * 2**20 / 8))
    expected = x + x
    assert gpu.vector_add(x, x, out=x) is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("n", [10, 300_000])
@pytest.mark.parametrize("what, out", [
    ("shape", lambda n: np.zeros(n + 1)),
    ("float32", lambda n: np.zeros(n, "float32")),
    ("contiguous", lambda n: np.zeros(2 * n)[::2]),
    ("writ|read-only", lambda n: np.broadcast_to(0.0, n)),
    ("byte|>f8", lambda n: np.zeros(n, ">f8")),
])
def test_memory_that_does_not_fit_is_refused_and_left_alone(gpu, n, what, out):
    out = out(n)
    before = out.copy()
    with pytest.raises(ValueError, match=f"(?is)out.*({what})"):
        gpu.vector_add(np.ones(n), np.ones(n), out=out)
    np.testing.assert_array_equal(out, before)


def test_out_is_no_list(gpu):
    with pytest.raises(TypeError, match="out"):
        gpu.vector_add([1.0], [2.0], out=[0.0])


def test_several_outputs_have_memory_each(gpu):
    keys, values = np.array([2, 1, 2]), np.array([1.0, 2.0, 3.0])
    into = np.zeros(3, int), np.zeros(3)
    got = gpu.sort_by_key(keys, values, out=into)
    assert got.sorted_keys is into[0] and got.sorted_values is into[1]
    assert into[0].tolist() == [1, 2, 2] and into[1].tolist() == [2, 1, 3]
