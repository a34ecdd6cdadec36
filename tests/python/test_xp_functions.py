"""hotplate.xp beside NumPy: creation, shapes, order, sets, sums. The standard's own suite is run by array_api/run.py."""

import hotplate as hp
import hotplate.xp as xp
import numpy as np
import pytest
from array_checks import same, watched

RNG = np.random.default_rng(3)
M = RNG.normal(size=(4, 5))
I = RNG.integers(-9, 9, (4, 5))
C = M + 1j * RNG.normal(size=(4, 5))
NAN = np.array([3.0, np.nan, -0.0, 1.0, 0.0, np.nan, 3.0, -np.inf])
ALL = [np.asarray(I % 5, dtype) for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")]


def triangle(x, k, keep):
    row, column = np.indices(x.shape[-2:])
    return np.where(keep(column - row, k), x, np.zeros((), x.dtype))


CASES = [
    (lambda: xp.zeros((2, 3)), np.zeros((2, 3))),
    (lambda: xp.ones(3, dtype=xp.uint8), np.ones(3, np.uint8)),
    (lambda: xp.full((2, 0), 7), np.full((2, 0), 7)),
    (lambda: xp.full((), True), np.full((), True)),
    (lambda: xp.full(2, 2**64 - 1, dtype=xp.uint64), np.full(2, 2**64 - 1, np.uint64)),
    (lambda: xp.full_like(xp.asarray(I), 3, dtype=xp.float32), np.full((4, 5), 3, np.float32)),
    (lambda: xp.zeros_like(xp.asarray(C)), np.zeros_like(C)),
    (lambda: xp.eye(3, 5, k=1), np.eye(3, 5, 1)),
    (lambda: xp.eye(1, 3, k=2), np.eye(1, 3, 2)),
    (lambda: xp.arange(2, 20, 3), np.arange(2, 20, 3)),
    (lambda: xp.arange(5, 0, -2), np.arange(5, 0, -2)),
    (lambda: xp.arange(2**64 - 3, 2**64 - 1, dtype=xp.uint64), np.array([2**64 - 3, 2**64 - 2], np.uint64)),
    (lambda: xp.arange(0.0, 1.0, 0.3), np.arange(0.0, 1.0, 0.3)),
    (lambda: xp.linspace(0, 1, 7), np.linspace(0, 1, 7)),
    (lambda: xp.linspace(0, 1, 0, endpoint=False), np.linspace(0, 1, 0, endpoint=False)),
    (lambda: xp.linspace(1j, 2, 3), np.linspace(1j, 2, 3)),
    (lambda: xp.asarray([[1, 2], [3, 4]], dtype=xp.int8), np.array([[1, 2], [3, 4]], np.int8)),
    (lambda: xp.asarray([xp.asarray(1.5), 2]), np.array([1.5, 2])),
    (lambda: xp.from_dlpack(np.arange(3.0)), np.arange(3.0)),
    (lambda: xp.meshgrid(xp.arange(3), xp.arange(2))[1], np.meshgrid(np.arange(3), np.arange(2))[1]),
    (lambda: xp.meshgrid(xp.arange(3), xp.arange(2), indexing="ij")[0], np.meshgrid(np.arange(3), np.arange(2), indexing="ij")[0]),
    (lambda: xp.tril(xp.asarray(I), k=1), np.tril(I, 1)),
    (lambda: xp.triu(xp.asarray(C), k=-1), np.triu(C, -1)),
    (lambda: xp.tril(xp.asarray(I > 0)), np.tril(I > 0)),
    (lambda: xp.broadcast_arrays(xp.arange(3), xp.zeros((2, 1)))[0], np.broadcast_to(np.arange(3), (2, 3))),
    (lambda: xp.concat([xp.asarray(I), xp.asarray(M)], axis=1), np.concatenate([I, M], 1)),
    (lambda: xp.concat([xp.asarray(I), xp.arange(2)], axis=None), np.concatenate([I, np.arange(2)], None)),
    (lambda: xp.stack([xp.asarray(I), xp.asarray(I)], axis=-1), np.stack([I, I], -1)),
    (lambda: xp.expand_dims(xp.asarray(I), axis=(0, -1)), I[None, ..., None]),
    (lambda: xp.flip(xp.asarray(I), axis=0), I[::-1]),
    (lambda: xp.flip(xp.asarray(I)), I[::-1, ::-1]),
    (lambda: xp.moveaxis(xp.zeros((2, 3, 4)), 0, -1), np.zeros((3, 4, 2))),
    (lambda: xp.permute_dims(xp.asarray(I), (1, 0)), I.T),
    (lambda: xp.squeeze(xp.ones((1, 3)), axis=0), np.ones(3)),
    (lambda: xp.reshape(xp.asarray(I).T, (2, 10)), I.T.reshape(2, 10)),
    (lambda: xp.roll(xp.asarray(I), 3), np.roll(I, 3)),
    (lambda: xp.roll(xp.asarray(I), (1, -2), axis=(0, 1)), np.roll(I, (1, -2), (0, 1))),
    (lambda: xp.roll(xp.asarray(I), -7, axis=-1), np.roll(I, -7, -1)),
    (lambda: xp.tile(xp.asarray(I), (2, 1, 2)), np.tile(I, (2, 1, 2))),
    (lambda: xp.tile(xp.asarray(I), (0,)), np.tile(I, 0)),
    (lambda: xp.repeat(xp.asarray(I), 2), np.repeat(I, 2)),
    (lambda: xp.repeat(xp.asarray(I), 3, axis=0), np.repeat(I, 3, 0)),
    (lambda: xp.repeat(xp.asarray(I), xp.asarray([1, 0, 2, 3]), axis=0), np.repeat(I, [1, 0, 2, 3], 0)),
    (lambda: xp.unstack(xp.asarray(I), axis=1)[2], I[:, 2]),
    (lambda: xp.unstack(xp.arange(3))[1], np.array(1)),
    (lambda: xp.take(xp.asarray(I), xp.asarray([2, -1]), axis=1), np.take(I, [2, -1], 1)),
    (lambda: xp.take_along_axis(xp.asarray(I), xp.asarray([[1], [0], [-1], [2]]), axis=1), np.take_along_axis(I, np.array([[1], [0], [-1], [2]]), 1)),
    (lambda: xp.argmax(xp.asarray(M), axis=0, keepdims=True), M.argmax(0, keepdims=True)),
    (lambda: xp.count_nonzero(xp.asarray(I), axis=1), np.count_nonzero(I, axis=1)),
    (lambda: xp.nonzero(xp.asarray(I > 0))[1], np.nonzero(I > 0)[1]),
    (lambda: xp.nonzero(xp.asarray(C))[0], np.nonzero(C)[0]),
    (lambda: xp.searchsorted(xp.asarray([1.0, 2.0, 2.0, 5.0]), xp.asarray([[2.0, 9.0]]), side="right"),
     np.searchsorted([1.0, 2.0, 2.0, 5.0], [[2.0, 9.0]], "right")),
    (lambda: xp.searchsorted(xp.asarray([3, 1, 2]), xp.asarray([2]), sorter=xp.asarray([1, 2, 0])), np.array([1])),
    (lambda: xp.where(xp.asarray(I > 0), xp.asarray(I), 0), np.where(I > 0, I, 0)),
    (lambda: xp.sort(xp.asarray(M), axis=0), np.sort(M, 0)),
    (lambda: xp.sort(xp.asarray(I), descending=True), -np.sort(-I)),
    (lambda: xp.argsort(xp.asarray(I), axis=0), np.argsort(I, 0, "stable")),
    (lambda: xp.argsort(xp.asarray(I), descending=True), np.argsort(-I, -1, "stable")),
    (lambda: xp.argsort(xp.asarray(NAN)), np.argsort(NAN, kind="stable")),
    (lambda: xp.isin(xp.arange(10), xp.asarray([1, 3])), np.isin(np.arange(10), [1, 3])),
    (lambda: xp.isin(xp.arange(100), xp.arange(0, 300, 3), invert=True), ~np.isin(np.arange(100), np.arange(0, 300, 3))),
    (lambda: xp.sum(xp.asarray(I), axis=()), I),
    (lambda: xp.std(xp.asarray(M), axis=0, correction=1), M.std(0, ddof=1)),
    (lambda: xp.cumulative_sum(xp.asarray(I), axis=1), np.cumsum(I, 1)),
    (lambda: xp.cumulative_sum(xp.arange(4), include_initial=True), np.array([0, 0, 1, 3, 6])),
    (lambda: xp.cumulative_sum(xp.asarray(I), axis=1, dtype=xp.int8), np.cumsum(I, 1, np.int8)),
    (lambda: xp.cumulative_prod(xp.asarray(M), axis=0), np.cumprod(M, 0)),
    (lambda: xp.all(xp.asarray(I), axis=1, keepdims=True), I.all(1, keepdims=True)),
    (lambda: xp.diff(xp.asarray(I), n=2, axis=0), np.diff(I, 2, 0)),
    (lambda: xp.diff(xp.arange(3), prepend=xp.asarray([7])), np.diff(np.arange(3), prepend=[7])),
    (lambda: xp.clip(xp.asarray(I, dtype=xp.int8), -3, 3), np.clip(I, -3, 3).astype(np.int8)),
    (lambda: xp.nextafter(xp.asarray(M), 9.0), np.nextafter(M, 9.0)),
    (lambda: xp.round(xp.asarray(M)), M.round()),
    (lambda: xp.real(xp.asarray(C)), C.real),
    (lambda: xp.imag(xp.asarray(M)), np.zeros((4, 5))),
    (lambda: xp.pow(xp.asarray(I), 2), I**2),
    # Python's values are compared as they are; they were cast to the array's dtype.
    (lambda: np.isin(xp.asarray([1, 2, 3]), [1.5]), np.array([False] * 3)),
    (lambda: np.isin(xp.asarray([44], dtype=xp.uint8), 300), np.array([False])),
    (lambda: np.isin(xp.asarray([0.1], dtype=xp.float32), 0.1), np.array([False])),
    (lambda: xp.isin(xp.asarray([0.1], dtype=xp.float32), 0.1), np.array([True])),
    (lambda: xp.isin(xp.asarray([44, 1], dtype=xp.uint8), 300), np.array([False, False])),
    (lambda: xp.isin(xp.asarray([2**63 - 1]), 2**63, invert=True), np.array([True])),
    (lambda: xp.isin(300, xp.asarray([44], dtype=xp.uint8)), np.array(False)),
    (lambda: xp.isin(xp.asarray([44, 1], dtype=xp.int8), [300, 1]), np.array([False, True])),
    (lambda: np.isin(xp.asarray([2**53 + 1, 2**63 + 5], dtype=xp.uint64), xp.asarray([2**53, -2**63 + 5])), np.array([False, False])),
    (lambda: np.isin(xp.asarray([2**53 + 1, -1, 7]), xp.asarray([2**53, 2**64 - 1, 7], dtype=xp.uint64)), np.array([False, False, True])),
    (lambda: np.isin(xp.asarray([2**24, 3], dtype=xp.float32), 2**24 + 1), np.array([False, False])),
    (lambda: np.isin([1.5, 2], xp.asarray([1, 2])), np.array([False, True])),
    (lambda: xp.searchsorted(xp.asarray([1, 50, 100], dtype=xp.int8), 300), np.array(3)),
    (lambda: xp.searchsorted(xp.asarray([1, 50, 100], dtype=xp.uint8), -1, side="right"), np.array(0)),
    (lambda: xp.searchsorted(xp.asarray([2**64 - 3, 2**64 - 1], dtype=xp.uint64), 2**64 - 2), np.array(1)),
    (lambda: xp.searchsorted(xp.asarray([1, 2], dtype=xp.float32), 1 + 1e-9), np.array(1)),
    (lambda: xp.searchsorted(xp.arange(3), 2**70), np.array(3)),
    (lambda: np.searchsorted(xp.arange(3), [1, 2]), np.array([1, 2])),
    (lambda: np.searchsorted(xp.arange(3), [0.5, 300]), np.array([1, 3])),
    (lambda: np.searchsorted(xp.arange(3), []), np.zeros(0, np.int64)),
    (lambda: np.searchsorted(xp.zeros(0), [[1.0]]), np.array([[0]])),
    (lambda: np.diff(xp.asarray([4, 6]), prepend=0), np.array([4, 2])),
    (lambda: np.diff(xp.asarray(I), axis=0, prepend=1, append=2.5), np.diff(I, axis=0, prepend=1, append=2.5)),
    (lambda: np.argsort(xp.asarray(5)), np.array([0])),
    (lambda: np.argsort(xp.asarray(5), axis=0), np.array([0])),
    (lambda: np.cumsum(xp.asarray(5), axis=0), np.array([5])),
    (lambda: np.cumprod(xp.asarray(5), axis=-1), np.array([5])),
    (lambda: np.repeat(xp.arange(0), []), np.zeros(0, np.int64)),
    (lambda: np.repeat(xp.arange(2), [True, False]), np.array([0])),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values_are_those_of_numpy(gpu, number):
    ours, expected = CASES[number]
    same(ours(), expected)


@pytest.mark.parametrize("value", ALL, ids=lambda value: str(value.dtype))
def test_order_of_every_dtype(gpu, value):
    x = xp.asarray(value)
    same(xp.sort(x, axis=1), np.sort(value, 1))
    same(xp.argsort(x, axis=1), np.argsort(value, 1, "stable"))
    same(xp.unique_values(x), np.unique(value))
    row = np.sort(value[0])
    same(xp.searchsorted(xp.asarray(row), x), np.searchsorted(row, value))
    if value.dtype == np.uint64:  # beyond what int64 holds
        large = value + np.uint64(2**63 - 2)
        same(xp.sort(xp.asarray(large), axis=1), np.sort(large, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_next_number_is_the_next_one(gpu, dtype):
    limits = np.finfo(dtype)
    numbers = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1 / 3, limits.max, -limits.max, limits.tiny, -limits.tiny, 2 * limits.tiny,
               limits.smallest_subnormal, -limits.smallest_subnormal, np.inf, -np.inf, np.nan, limits.tiny * 1.5, 2 * limits.tiny * (1 - limits.eps)]
    x = np.asarray([*numbers, *(2.0 ** np.arange(-100, 100))], dtype)
    for towards in (np.inf, -np.inf, 0.0, 1.0, np.nan):
        got = xp.nextafter(xp.asarray(x), towards).numpy()
        with np.errstate(over="ignore"):
            expected = np.nextafter(x, x.dtype.type(towards))
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got)[~np.isnan(x)], np.signbit(expected)[~np.isnan(x)])


def test_the_different_elements(gpu):
    everything = xp.unique_all(xp.asarray(NAN.reshape(2, 4)))
    same(everything.values, [-np.inf, -0.0, 1.0, 3.0, np.nan, np.nan])
    same(everything.indices, [7, 2, 3, 0, 1, 5])
    same(everything.counts, [1, 2, 1, 2, 1, 1])
    same(everything.inverse_indices, [[3, 4, 1, 2], [1, 5, 3, 0]])
    values, counts = xp.unique_counts(xp.asarray([1j, 2, 1j]))
    same(values, [1j, 2]), same(counts, [2, 1])
    assert xp.unique_all(xp.zeros((0, 3))).inverse_indices.shape == (0, 3)
    values, inverse = xp.unique_inverse(xp.asarray(I))
    same(values[inverse], I)


def test_masks_select_and_are_assigned_to(gpu):
    x, mask = xp.asarray(M), xp.asarray(M) > 0
    same(x[mask], M[M > 0])
    same(x[mask[:, 0]], M[M[:, 0] > 0])
    same(x[:, mask[0]], M[:, M[0] > 0])
    same(x[xp.asarray(True)], M[np.asarray(True)])
    y, expected = xp.asarray(x, copy=True), M.copy()
    y[mask], expected[M > 0] = 0, 0
    same(y, expected)
    y[mask], expected[M > 0] = xp.arange(xp.count_nonzero(mask)), np.arange((M > 0).sum())
    same(y, expected)


REFUSED = [
    (lambda: xp.zeros(-1), ValueError, "negative"), (lambda: xp.full(2, 300, dtype=xp.int8), OverflowError, "300"),
    (lambda: xp.asarray([1], copy=False), ValueError, "copy=False"), (lambda: xp.asarray("text"), TypeError, "text"),
    (lambda: xp.meshgrid(xp.zeros((2, 2))), ValueError, "vectors"), (lambda: xp.meshgrid(xp.zeros(2), indexing="xx"), ValueError, "'xx'"),
    (lambda: xp.tril(xp.zeros(3)), ValueError, "matrices"), (lambda: xp.expand_dims(xp.zeros(3), axis=2), IndexError, "axis 2"),
    (lambda: xp.squeeze(xp.zeros(3), axis=0), ValueError, "size"), (lambda: xp.concat([]), ValueError, "at least one"),
    (lambda: xp.roll(xp.zeros(3), (1, 2), axis=(0, 0, 0)), ValueError, "shift"), (lambda: xp.repeat(xp.zeros(3), -1), ValueError, "-1"),
    (lambda: xp.repeat(xp.zeros(3), xp.asarray([1, 2])), ValueError, "repeats"), (lambda: xp.take(xp.zeros(3), xp.asarray([0.5])), IndexError, "integer"),
    (lambda: xp.nonzero(xp.asarray(1)), ValueError, "axes"), (lambda: xp.searchsorted(xp.zeros(3), xp.zeros(1), side="up"), ValueError, "'up'"),
    (lambda: xp.sort(xp.asarray(C)), TypeError, "complex128"), (lambda: xp.cumulative_sum(xp.zeros((2, 2))), ValueError, "axis"),
    (lambda: xp.astype(xp.asarray(C), xp.float64), TypeError, "real"), (lambda: xp.finfo(xp.int8), ValueError, "int8"),
    (lambda: xp.iinfo(xp.float32), ValueError, "float32"), (lambda: xp.isdtype(xp.int8, "whole"), ValueError, "'whole'"),
    (lambda: xp.result_type(1, 2), TypeError, "array or a dtype"), (lambda: xp.zeros(3, device="gpu7"), ValueError, "gpu7"),
    (lambda: xp.reshape(xp.asarray(M).T, (20,), copy=False), ValueError, "copy=False"), (lambda: xp.nextafter(xp.zeros(2, dtype=xp.int8), 1), TypeError, "int8"),
    (lambda: np.repeat(xp.arange(3), [1, -1, 2]), ValueError, "-1"), (lambda: np.repeat(xp.arange(3), xp.asarray([1, -1, 2])), ValueError, "-1"),
    (lambda: np.repeat(xp.arange(3), [1.7, 1, 2]), TypeError, "float64"), (lambda: xp.repeat(xp.arange(3), xp.asarray([1.7])), TypeError, "float64"),
    (lambda: xp.arange(0, 1, 0), ZeroDivisionError, "step"), (lambda: xp.arange(0, 1, 0.0), ZeroDivisionError, "step"),
    (lambda: xp.take_along_axis(xp.arange(3), xp.asarray([0]), axis=0.5), TypeError, "axis"),
    (lambda: np.take_along_axis(xp.arange(3), xp.asarray([0.0]), axis=0), IndexError, "integer"),
    (lambda: np.cumsum(xp.asarray(5), axis=1), IndexError, "axis 1"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_wrong_is_refused_by_name(gpu, number):
    call, kind, words = REFUSED[number]
    with pytest.raises(kind, match=words):
        call()


def test_dtypes(gpu):
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.asarray(M), xp.float32)
    assert xp.result_type(xp.float32, 1) == np.float32 and xp.result_type(xp.int8, 1.0) == np.float64
    assert xp.result_type(xp.float32, 1j) == np.complex64 and xp.result_type(xp.bool, 1) == np.int64
    assert xp.isdtype(xp.uint8, ("bool", "integral")) and not xp.isdtype(xp.float32, "integral") and xp.isdtype(xp.int8, xp.int8)
    assert xp.iinfo(xp.uint8)[:3] == (8, 255, 0) and isinstance(xp.finfo(xp.complex64).eps, float)


def test_functions_note_and_do_not_run(gpu):
    before = gpu.last_receipt
    y = xp.tril(xp.exp(-xp.linspace(0, 1, 9)).reshape(3, 3)) + xp.eye(3)
    assert gpu.last_receipt is before or gpu.last_receipt == before
    same(y, np.tril(np.exp(-np.linspace(0, 1, 9)).reshape(3, 3)) + np.eye(3))


def test_arrays_of_this_process_go_along(gpu):
    assert isinstance(xp.exp(np.zeros(3)), hp.Array)
    large = np.arange(100_000.0)
    same(xp.asarray(large) + 1, large + 1)


@pytest.fixture
def connected_last(start_daemon):
    """A client of another daemon than that of `gpu`."""
    with start_daemon().connect() as client:
        yield client


OF_TWO_DAEMONS = [
    lambda a, b: xp.take_along_axis(a, b), lambda a, b: xp.take(a, b), lambda a, b: xp.searchsorted(a, b), lambda a, b: xp.concat([a, b]),
    lambda a, b: xp.isin(a, b), lambda a, b: xp.repeat(a, b), lambda a, b: xp.asarray([a, b]), lambda a, b: xp.diff(a, prepend=b),
]


def test_arrays_of_two_daemons_do_not_mix(gpu, connected_last):
    """take_along_axis and others read elements of another array on their own daemon."""
    a, b = gpu.array([0, 1, 2]), connected_last.array([2, 1, 0])
    for call in OF_TWO_DAEMONS:
        with pytest.raises(TypeError, match="another daemon"):
            call(a, b)


def test_numbers_beside_an_array_go_to_its_daemon(gpu, connected_last):
    """The numbers of a list became arrays of the daemon connected last."""
    a = gpu.array([7.0, 8.0])
    same(xp.asarray([a.sum(), 1.0]), [15.0, 1.0])
    same(xp.asarray([[a.sum(), 1.0], [2, a[0]]]), [[15.0, 1.0], [2.0, 7.0]])
    same(xp.repeat([1, 2], gpu.array([1, 2])), [1, 2, 2])


def test_empty_results_stay_on_the_device(gpu):
    x = xp.asarray(np.arange(3.0), device="cpu0")
    none, square = x[:0], xp.zeros((0, 0), device="cpu0")
    for made in (np.cumsum(none), xp.concat([none, none]), xp.stack([none, none]), xp.repeat(x, 0), xp.repeat(x, [0, 0, 0]), xp.tile(x, 0),
                 xp.take_along_axis(x, xp.arange(0)), xp.searchsorted(none, 1.0), xp.isin(x, none), xp.unique_counts(none).counts,
                 *xp.linalg.qr(square), xp.linalg.matrix_power(square, 0), xp.linalg.matrix_power(square, 2), *xp.linalg.svd(square),
                 *xp.linalg.eig(square), *xp.linalg.eigh(square), *xp.linalg.slogdet(square), xp.linalg.inv(square)):
        assert made._now().device == "cpu0"


def test_arrays_are_made_on_the_device_asked_for(gpu):
    """Within `eager` they were made where the daemon chose, and then said to be elsewhere."""
    asked = []
    with watched(gpu), hp.eager():
        run = gpu._core.run
        gpu._core.run = lambda kernel, inputs, options, *more: asked.append(options.device) or run(kernel, inputs, options, *more)
        for make in (lambda **on: xp.zeros(3, **on), lambda **on: xp.eye(3, **on), lambda **on: xp.arange(3, **on), lambda **on: xp.linspace(0, 1, 3, **on),
                     lambda **on: xp.ones_like(xp.asarray(2), **on), lambda **on: xp.fft.fftfreq(3, **on)):
            assert make(device="cpu0").device == "cpu0"
    assert asked == ["cpu0"] * 6
