"""Parts of arrays on the daemon: views, and elements at indices."""

import copy

import numpy as np
import pytest
from array_checks import INDICES, X, as_numpy_2, nothing_is_left, same, watched  # noqa: F401


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_a_view(gpu, index):
    A = gpu.array(X)
    with watched(gpu) as watch:
        part = A[index]
        assert not watch.expressions and not watch.kernels
        same(part, X[index])
        assert not watch.expressions, "a view is read where it is"
        same(part * 2 + 1, X[index] * 2 + 1)
        same(np.sin(A)[index], np.sin(X)[index])


@pytest.mark.parametrize("index", [np.s_[[0, 1, 1]], np.s_[X > 3], np.s_[:, [0, 2]], np.s_[[0, 1], [2, 0], [3, 1]], np.s_[0, :, [1, 3]], np.s_[:, [[0], [2]], [1, 3]],
                                   np.s_[[1], ..., [0, 3]], np.s_[1:, [2, 0], ::2], np.s_[[True, False]], np.s_[None, [0, 1], :, 2], np.s_[[-1, -2], 0], True, np.s_[[]]],
                         ids=str)
def test_elements_at_indices_are_a_new_array(gpu, index):
    A = gpu.array(X)
    same(A[index], X[index])
    same(A[index] + 1, X[index] + 1)
    same((A * 2)[index], (X * 2)[index])


def test_indices_on_the_daemon(gpu):
    A, places = gpu.array(X), gpu.array(np.array([2, 0, 1, -1]))
    same(A[:, places], X[:, [2, 0, 1, -1]])
    same(A[0, places % 3, places % 2], X[0, [2, 0, 1, 2], [0, 0, 1, 1]])
    same(A[gpu.array(np.array(1))], X[1])
    same(A.take([1, 3], axis=2), X.take([1, 3], axis=2))
    with pytest.raises(IndexError):
        A[places + 5].numpy()


@pytest.mark.parametrize("index", [2, (0, 3), (0, 0, 4), (0, 0, 0, 0), "a", 1.5, -3, ([0, 2],), ([0, 1], [0, 1, 2])], ids=str)
def test_an_index_outside_is_an_index_error(gpu, index):
    with pytest.raises(IndexError):
        gpu.array(X)[index]


def test_shapes_are_views_where_they_can_be(gpu):
    A = gpu.array(X)
    with watched(gpu) as watch:
        for ours, theirs in ((A.T, X.T), (A.transpose(1, 0, 2), X.transpose(1, 0, 2)), (A.reshape(4, -1), X.reshape(4, -1)), (A.ravel(), X.ravel()),
                             (A.swapaxes(0, 1), X.swapaxes(0, 1)), (A[None].squeeze(0), X), (A.mT, X.swapaxes(1, 2)), (np.flip(A, 1), np.flip(X, 1)),
                             (np.broadcast_to(A[0], (2, 3, 4)), np.broadcast_to(X[0], (2, 3, 4))), (np.moveaxis(A, 0, -1), np.moveaxis(X, 0, -1)),
                             (A.diagonal(0, 1, 2), X.diagonal(0, 1, 2)), (np.expand_dims(A, 1), X[:, None]), (np.rot90(A), np.rot90(X)), (A[1].T[1:].T, X[1].T[1:].T)):
            same(ours, theirs)
        assert not watch.expressions and not watch.kernels
        same(A.T.reshape(-1), X.T.reshape(-1))
        same(A.reshape(4, 6, order="F"), X.reshape(4, 6, order="F"))
        same(A.T.flatten(), X.T.flatten())
    same(A.T + A.transpose(2, 1, 0), X.T * 2)
    same(gpu.matmul(A[0].T, A[0]), X[0].T @ X[0])
    assert [float(row.sum()) for row in A] == [row.sum() for row in X] and [row.shape for row in reversed(A)] == [(3, 4)] * 2
    assert 24.0 in A and 25.0 not in A and len(A) == 2


def test_a_view_re_reads_its_base_and_results_do_not(gpu):
    A = gpu.array(X)
    column, computed, noted = A[:, 1], (A[:, 1] * 2).compute(), A[:, 1] + 1
    A[:, 1] = 100
    same(column, np.full((2, 4), 100.0))
    same(column * 2, np.full((2, 4), 200.0))
    same(computed, X[:, 1] * 2)
    same(noted, X[:, 1] + 1)


def test_a_copy_is_another_array(gpu):
    A = gpu.array(X)
    for other in (A.copy(), copy.copy(A), copy.deepcopy([A])[0], A[:].copy()):
        A[0] = 0
        same(other, X)
        A[...] = X


def test_print_fetches_what_it_prints(gpu):
    a = np.arange(300_000.0).reshape(300, 1000)
    A = gpu.array(a)
    with watched(gpu) as watch:
        text = repr(A)
        assert watch.fetched < 30_000_000 / 100
    assert text.startswith("hotplate.Array([[0.00000e+00, 1.00000e+00,") and text.endswith("shape=(300, 1000))")
    assert str(A) == str(a) and str(A[0, :3]) == "[0. 1. 2.]" and str(A[0, 1]) == "1.0"
    assert repr(A[0, :3] > 1) == "hotplate.Array([False, False,  True])" and repr(A[:2, :0]) == "hotplate.Array([], shape=(2, 0), dtype=float64)"
    assert repr(A[0, :2].astype("int8")) == "hotplate.Array([0, 1], dtype=int8)"


def test_orders_in_memory_are_refused(gpu):
    """They were taken for the order C."""
    A = gpu.array(X[0])
    for order in "AK":
        for call in (lambda: A.T.ravel(order), lambda: A.T.flatten(order), lambda: A.T.reshape(-1, order=order), lambda: np.ravel(A.T, order=order)):
            with pytest.raises(ValueError, match="'C' or 'F'.*write order='F'"):
                call()
    for order in "CF":
        same(np.ravel(A.T, order=order), X[0].T.ravel(order))
