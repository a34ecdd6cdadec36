"""Arrays that compute go with their last references, and nothing of the graph keeps them."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from array_checks import X, as_numpy_2, nothing_is_left, same, watched  # noqa: F401
from conftest import wait_until


def test_nothing_of_a_graph_is_a_cycle(gpu):
    A = gpu.array(X)
    B = np.exp(A[0] + A[1].T.reshape(3, 4)) * 2
    total = B.sum(axis=0)
    total.compute()
    B[1:] = total
    B += 1
    float(B.mean())
    nodes = [weakref.ref(one._node) for one in (A, B, total)]
    del A, B, total
    assert not gc.isenabled() and [one() for one in nodes] == [None] * 3


def test_an_array_that_is_used_often_does_not_collect_what_used_it(gpu):
    A = gpu.array(X) + 1
    for number in range(1000):
        A + number
    assert len(A._node.dependents) < 100
    kept = [A * number for number in range(100)]
    assert sum(reference() is not None for reference in A._node.dependents) == 100
    with watched(gpu) as watch:
        same(kept[3], (X + 1) * 3)
        same(kept[99], (X + 1) * 99)
        assert sum("add(" in text for text in watch.expressions) == 1


def test_threads_note_on_one_array(gpu):
    A = gpu.array(X) + 1
    kept = [[] for _ in range(4)]

    def work(mine):
        for number in range(200):
            mine.append(A * number)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in kept]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    living = {id(reference()) for reference in A._node.dependents}
    assert {id(one._node) for mine in kept for one in mine} <= living


def test_a_pending_array_is_freed_without_being_computed(gpu):
    A = gpu.array(X)
    y = A * 2
    z, row = y + 1, y[0]
    with watched(gpu) as watch:
        y.free()
        assert not watch.expressions
        same(z, X * 2 + 1)
    for use in (y.numpy, row.numpy, lambda: y + 1, lambda: (row + 1).numpy(), y.free, y.describe):
        with pytest.raises(KeyError, match="freed"):
            use()


def test_a_view_does_not_keep_what_its_base_was(gpu):
    A = gpu.array(X)
    before = len(gpu.arrays)
    view, flipped = A[1:], A[:, ::-1]
    same(view + flipped[1:], X[1:] + X[1:, ::-1])
    assert flipped.id == flipped.id, "a copy, which is kept"
    wait_until(lambda: len(gpu.arrays) == before + 1, "the sum is freed")
    A[...] = gpu.array(X * 2)
    A.compute()
    same(flipped, X[:, ::-1] * 2)
    wait_until(lambda: len(gpu.arrays) <= before + 1, "the array that A was is freed")
    same(view, X[1:] * 2)
