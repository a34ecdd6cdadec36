"""Operations are noted: when they are computed, and in how few expressions."""

import functools
import operator
import pathlib
import re
import sys
import threading
import warnings

import hotplate as hp
import numpy as np
import pytest
from array_checks import X, as_numpy_2, nothing_is_left, same, watched  # noqa: F401
from hotplate import noting, sending


def test_a_chain_is_one_expression(gpu):
    A, B = gpu.array(X), gpu.array(X + 1)
    with watched(gpu) as watch:
        y = np.sqrt((A - B) ** 2 + np.exp(-A) * 2.0).sum(axis=1)
        assert not watch.expressions and y.shape == (2, 4) and y.dtype == np.float64
        same(y, np.sqrt(1 + np.exp(-X) * 2).sum(axis=1))
        assert len(watch.expressions) == 1
        y.numpy()
        assert len(watch.expressions) == 1, "it is stored"


@pytest.mark.parametrize("need", [lambda y: y.numpy(), lambda y: y.compute(), bool, repr, str, lambda y: y.id, lambda y: y._client.norm(y), float,
                                  lambda y: np.asarray(y), lambda y: y.describe()], ids=range(10))
def test_what_needs_a_value_computes_it(gpu, need):
    A = gpu.array(np.ones((1, 1)))
    with watched(gpu) as watch:
        y = A * 2 + 1
        assert y.receipt is None and not watch.expressions
        need(y)
        assert len(watch.expressions) == 1
        assert y.receipt.kernel == "expression"


def test_dead_intermediates_never_exist(gpu):
    before = len(gpu.arrays)
    A = gpu.array(X)
    t = A * 2
    y = t + 1
    del t
    y.compute()
    assert len(gpu.arrays) == before + 2
    del A, y


def test_shared_parts_are_computed_once(gpu):
    A = gpu.array(X)

    def two():
        part = np.exp(A) / 7
        return part * part, part.sum(axis=0)

    with watched(gpu) as watch:
        square, total = two()
        square.compute()
        total.compute()
        assert sum(text.count("exp(") for text in watch.expressions) == 1, watch.expressions
        same(total, (np.exp(X) / 7).sum(axis=0))
        same(square, (np.exp(X) / 7) ** 2)
        watch.expressions.clear()
        softmax = np.exp(A - A.max(axis=-1, keepdims=True))
        softmax = softmax / softmax.sum(axis=-1, keepdims=True)
        expected = np.exp(X - X.max(-1, keepdims=True))
        same(softmax, expected / expected.sum(-1, keepdims=True))
        assert sum(text.count("exp(") for text in watch.expressions) == 1, watch.expressions


def test_what_is_held_is_stored_once(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        d = A - 3
        y = d * d
        y.compute()
        assert len(watch.expressions) == 1
        d.numpy()
        z = d + y
        z.compute()
        assert len(watch.expressions) == 2 and "subtract" not in watch.expressions[1]
        total, spread = d.mean(), d.std()
        float(total), float(spread)
        assert len(watch.expressions) == 4


def test_an_ndarray_is_read_at_its_line(gpu):
    A = gpu.array(np.zeros(20_000))
    for size in (1, 20_000):
        x = np.ones(size)
        y = A + x
        x[:] = 5
        same(y, np.ones(20_000))


def test_arrays_beside_lists_and_others(gpu):
    A = gpu.array(np.arange(3.0))
    same(A + [1, 2, 3], [1.0, 3.0, 5.0])
    same([1, 2, 3] - A, [1.0, 1.0, 1.0])
    same(np.ones((2, 3)) * A, np.ones((2, 3)) * np.arange(3.0))
    same(A + np.arange(3, dtype=">f4"), np.arange(3.0) * 2)
    x = np.ones(3)
    x[...] = np.asarray(A)
    with pytest.raises(TypeError):
        x += A


def test_a_freed_input_is_told_with_its_line(gpu):
    A, B = gpu.array(X), gpu.array(X, name="B")
    y = A + B  # this line
    B.free()
    with pytest.raises(KeyError) as lost:
        y.numpy()
    line = next(number for number, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if text.endswith("# this " + "line"))
    assert f"test_array_graph.py:{line}: y = A + B" in str(lost.value) and "array 'B' float64 [2, 3, 4]" in str(lost.value)
    assert "freed after that line" in str(lost.value)
    del lost  # whose traceback has this frame
    same(A + 1, X + 1)


def test_an_index_outside_is_told_with_its_line(gpu):
    A, places = gpu.array(X), gpu.array(np.array([0, 7]))
    y = A[places] * 2
    with pytest.raises(IndexError, match="test_array_graph.py:.*A.places."):
        y.numpy()


def test_eager_computes_at_the_line(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        with hp.eager():
            y = A * 2
            assert len(watch.expressions) == 1
            y = y + 1
            assert len(watch.expressions) == 2
        y = y + 1
        assert len(watch.expressions) == 2
    same(y, X * 2 + 2)


def test_graphs_are_flushed_at_64_nodes(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        y = A
        for _ in range(63):
            y = y + 1
        assert not watch.expressions
        y = y + 1
        assert len(watch.expressions) == 1
        for _ in range(200):
            y = y + 1
        assert len(watch.expressions) == 4
        same(y, X + 264)
        y = A
        watch.expressions.clear()
        for _ in range(20):
            y = y * 0.5 + y * 0.5
        assert not watch.expressions, "60 operations, though each half is used twice"
        same(y, X)


def scalars(gpu):
    y = gpu.array(np.zeros(3))
    for number in range(50):
        y = y.clip(number - 60, number + 60) + 1
    return y


def outputs(gpu):
    A, results = gpu.array(np.zeros(3)), []
    for number in range(150):
        results.append(A + number)
    return sum(results[1:], results[0])


def words(gpu):
    A = gpu.array(np.zeros((2, 1, 2, 1, 2)))
    joined = [np.concatenate([A + number] * 20, axis=2) for number in range(4)]
    return sum(joined[1:], joined[0])


# Each crosses one of the limits of an expression, with what it gives.
LARGE = {
    "inputs": (lambda gpu: sum(gpu.array(np.full(3, float(number))) for number in range(150)), np.full(3, float(sum(range(150))))),
    "outputs": (outputs, np.full(3, float(sum(range(150))))),
    "scalars": (scalars, np.full(3, 50.0)),
    "words": (words, np.full((2, 1, 40, 1, 2), 6.0)),
}
LIMITS = {"_MOST_INPUTS": 2, "_MOST_OUTPUTS": 2, "_MOST_SCALARS": 2, "_MOST_BYTES": 100, "_MOST_WORDS": 20}


@pytest.mark.parametrize("name", LARGE)
def test_a_graph_over_a_limit_is_sent_in_parts(gpu, monkeypatch, name):
    write, expected = LARGE[name]
    monkeypatch.setattr(noting, "MOST_NODES", 100_000)
    with watched(gpu) as watch:
        y = write(gpu)
        assert not watch.expressions
        same(y, expected)
        assert len(watch.expressions) > 1
        for text in watch.expressions:
            inputs, outs, numbers = (len(set(re.findall(rf"\b{letter}[0-9]+\b", text))) for letter in "xys")
            assert max(inputs, outs, numbers) <= 64 and len(text) < 1 << 16


@pytest.mark.parametrize("limit", LIMITS)
def test_each_limit_splits_a_graph(gpu, monkeypatch, limit):
    monkeypatch.setattr(sending, limit, LIMITS[limit])
    A, B = gpu.array(X), gpu.array(X + 1)
    with watched(gpu) as watch:
        held = [A * 2, B * 3, A - 1.0, np.sqrt(B)]
        y = (held[0] + held[1] * 2 + 1).sum(axis=1) + (held[2] * held[3] + gpu.array(X * 7) * 3).sum(axis=1)
        same(y, (X * 2 + (X + 1) * 6 + 1).sum(1) + ((X - 1) * np.sqrt(X + 1) + X * 21).sum(1))
        assert len(watch.expressions) > 2, "two shapes are two expressions within the limits"
    for got, expected in zip(held, (X * 2, (X + 1) * 3, X - 1, np.sqrt(X + 1))):
        same(got, expected)


def test_joined_arrays_of_many_axes_are_within_the_limit_of_words(gpu):
    for rank in (1, 3, 8):
        parts = [gpu.array(np.full((1,) * (rank - 1) + (2,) * 1, float(number))) for number in range(60)]
        twos = [part.reshape((2,) + (1,) * (rank - 1)) for part in parts]
        wide = [np.broadcast_to(part, (2,) * rank) for part in twos]
        same(np.concatenate(wide), np.concatenate([np.full((2,) * rank, float(number)) for number in range(60)]))


def warned(write, **options):
    """The warnings of a program, as (its line, its file's name)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        for action, given in options.items():
            warnings.filterwarnings(action, **given)
        write()
    return [(one.lineno, pathlib.Path(one.filename).name) for one in caught if one.category is RuntimeWarning]


def test_a_warning_is_of_the_users_line_and_repeats_as_usual(gpu):
    A = gpu.array(np.array([1, 0, 2]))

    def line(text):
        return next(number for number, one in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if one.endswith(text))

    def divide():
        for _ in range(3):
            y = 7 // A  # divided here
            z = y + 1
            z.compute()

    def evaluate():
        for _ in range(3):
            gpu.eval("7 // x", x=np.array([1, 0]))  # evaluated here

    for write, text in ((divide, "# divided " + "here"), (evaluate, "# evaluated " + "here")):
        here = (line(text), pathlib.Path(__file__).name)
        assert warned(write) == [here], "by default once at each place"
        assert warned(write) == [here], "and again where filters were changed"
        assert warned(write, always={}) == [here] * 3
        assert warned(write, ignore={"module": "test_array_graph"}) == []
    names = {"gpu": gpu, "A": A}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        exec(compile("for _ in range(2): (7 // A).numpy()", "<cell>", "exec"), names)
    assert [(one.filename, one.lineno) for one in caught] == [("<cell>", 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = 7 // A
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            y.compute()
        same(y, [7, 0, 3])


def test_many_inputs_and_many_outputs(gpu):
    arrays = [gpu.array(np.full(3, float(number))) for number in range(150)]
    same(functools.reduce(operator.add, arrays), np.full(3, float(sum(range(150)))))
    results, y = [], arrays[1]
    for _ in range(150):
        y = y * 1.0 + 1
        results.append(y)
    same(y, np.full(3, 151.0))
    same(results[70], np.full(3, 72.0))
    same(np.concatenate(arrays), np.repeat(np.arange(150.0), 3))
    del arrays, results


def test_shapes_of_one_graph(gpu):
    a, v = X[0], np.arange(4.0)
    A, V = gpu.array(a), gpu.array(v)
    centred = A - A.mean(axis=0)
    scaled = centred / (A.std(axis=0) + 1e-9)
    covariance = (scaled[:, :, None] * scaled[:, None, :]).mean(axis=0)
    c = (a - a.mean(0)) / (a.std(0) + 1e-9)
    same(covariance, (c[:, :, None] * c[:, None, :]).mean(0))
    grown = V * 2
    table = np.exp(grown)[:, None] + grown
    same(table, np.exp(v * 2)[:, None] + v * 2)
    same((V - V.min()) / (V.max() - V.min()), v / 3)
    same(V[1:] - V[:-1], np.diff(v))
    same((V * 2)[1:] - (V * 2)[:-1], np.diff(v * 2))


def test_threads_share_a_graph(gpu):
    A = gpu.array(X)
    part = np.exp(A)
    results = [part + number for number in range(8)]
    got = [None] * 8

    def work(number):
        got[number] = results[number].numpy()

    with watched(gpu) as watch:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(text.count("exp(") for text in watch.expressions) == 1
    for number, value in enumerate(got):
        np.testing.assert_allclose(value, np.exp(X) + number)


def test_arrays_of_two_clients(gpu, daemon, start_daemon):
    with daemon.connect() as second:
        ours, theirs = gpu.array(X), second.array(X)
        same(ours + theirs, 2 * X)
    other = start_daemon().connect()
    with pytest.raises(TypeError, match="another daemon"):
        ours + other.array(X)
    other.close()


def test_a_thousand_operations_need_no_deep_stack(gpu):
    A = gpu.array(np.zeros(3))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        for _ in range(1000):
            A = A + 1
        same(A, np.full(3, 1000.0))
    finally:
        sys.setrecursionlimit(limit)


def test_arrays_of_two_daemons_are_not_joined(gpu, start_daemon):
    with start_daemon().connect() as other:
        A, B = gpu.array([1.0, 2.0]), other.array([3.0, 4.0])
        for call in (lambda: np.concatenate([A, B]), lambda: np.stack([A, B]), lambda: np.add(A, 1, out=B), lambda: A @ B, lambda: np.inner(A, B),
                     lambda: np.sum(A, out=other.array(0.0))):
            with pytest.raises(TypeError, match="is on another daemon"):
                call()
        same(B, [3.0, 4.0])
