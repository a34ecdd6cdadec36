"""Assignment to arrays on the daemon and to their parts, by NumPy's rules."""

import contextlib
import operator

import hotplate as hp
import numpy as np
import pytest
from array_checks import INDICES, X, as_numpy_2, nothing_is_left, same, watched  # noqa: F401


@pytest.mark.parametrize("index", [*INDICES[:-1], np.s_[X > 5]], ids=str)
def test_a_part_is_assigned(gpu, index):
    shape = X[index].shape
    for value in (7, np.float32(2.5), np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape), np.arange(shape[-1] if shape else 0)):
        if np.ndim(value) and (isinstance(index, np.ndarray) or not shape):
            continue
        A, a = gpu.array(X), X.copy()
        A[index] = value
        a[index] = value
        same(A, a)
        if np.ndim(value):
            A[index] = gpu.array(value) * 2
            a[index] = value * 2
            same(A, a)


def test_assignment_is_numpys(gpu):
    A, a = gpu.array(np.arange(10)), np.arange(10)
    A[2:5] = 2.9
    a[2:5] = 2.9
    A[1:] = A[:-1]
    a[1:] = a[:-1].copy()
    A[A > 5] = -1
    a[a > 5] = -1
    same(A, a)
    A[1:3] += 5
    a[1:3] += 5
    A *= 2
    a *= 2
    A[...] = A + A[::-1]
    a[...] = a + a[::-1]
    same(A, a)
    A.fill(3)
    same(A, np.full(10, 3))
    np.copyto(A, 4, where=A > 2)
    same(A, np.full(10, 4))
    assert np.add(A, 1, out=A) is A
    same(A, np.full(10, 5))
    for index, value, kind in ((np.s_[:3], [1, 2], ValueError), (10, 0, IndexError), ([0, 1], 5, TypeError), (A > 0, [1, 2], ValueError),
                               (0, 2**70, OverflowError), (0, "a", ValueError)):
        with pytest.raises(kind):
            A[index] = value
    with pytest.raises(TypeError, match="same_kind"):
        A += 0.5
    with pytest.raises(ValueError, match="broadcast"):
        A += np.ones((2, 10), int)
    same(A, np.full(10, 5))


def test_nothing_is_assigned_through_a_view(gpu):
    A = gpu.array(X)
    row = A[0]
    for assign in (lambda: row.__setitem__(0, 1), lambda: row.fill(1), lambda: np.add(row, 1, out=row), lambda: A[0].__setitem__(1, 5),
                   lambda: np.copyto(row, 1)):
        with pytest.raises(ValueError, match="view"):
            assign()
    rows = [A[0]]
    rows[0] = rows[0] + 1
    same(A, X)


# x += y on a view changes the array behind it, as in NumPy, wherever the view is kept.
VIEWS = [np.s_[1:3], np.s_[1], np.s_[:, ::-2], np.s_[::-1, 1], np.s_[None, 2:], np.s_[..., 0], np.s_[:], np.s_[1:1], np.s_[1, 2, ...]]
OPERATORS = [operator.iadd, operator.imul, operator.itruediv, operator.ifloordiv, operator.ipow]


@pytest.mark.parametrize("index", VIEWS, ids=str)
def test_an_operator_on_a_view_changes_its_base(gpu, index):
    for operate in OPERATORS:
        A, a = gpu.array(X[0]), X[0].copy()
        A[index] = operate(A[index], 2)
        a[index] = operate(a[index], 2)
        same(A, a)
        kept = {"view": A[index]}
        kept["view"] = operate(kept["view"], 3)
        view = a[index][...]
        operate(view, 3)
        same(A, a)
        same(kept["view"], view)


def test_a_number_is_not_changed_by_an_operator(gpu):
    A, a = gpu.array(X), X.copy()
    element, number = A[0, 0, 0], a[0, 0, 0]
    element += 5
    number += 5
    total = first = A.sum()
    total += 1
    A[1, 2, 3] += 7
    a[1, 2, 3] += 7
    for one in A[0, 1]:
        one *= 2
    for row in A[0]:
        row -= 1
    a[0] -= 1
    same(A, a)
    assert (element.item(), total.item(), first.item()) == (number, X.sum() + 1, X.sum())


def test_a_view_that_is_stored_is_no_lost_assignment(gpu):
    class Holder:
        pass

    A, a = gpu.array(X), X.copy()
    rows, here, holder = {"r": A[1]}, [A[0]], Holder()
    holder.row = A[0, 1:]
    rows["r"] += 1
    a[1] += 1
    here[0] *= 2
    a[0] *= 2
    holder.row -= 3
    a[0, 1:] -= 3
    A[0][1] += 5
    a[0][1] += 5
    A[1:, 0] **= 2
    a[1:, 0] **= 2
    column = A.transpose(2, 1, 0)[1]
    column += A[:, 0, :3].T
    a.transpose(2, 1, 0)[1] += a[:, 0, :3].T.copy()
    square = A[0, :, :3]
    square @= np.eye(3) * 2
    a[0, :, :3] *= 2
    flat = A.reshape(-1)
    flat /= 2
    a /= 2
    same(A, a)
    same(rows["r"], a[1])
    same(column, a.transpose(2, 1, 0)[1])
    alias = A
    A += np.ones(4)
    a += 1
    same(alias, a)


def test_an_array_of_another_package_is_an_operand_in_place(gpu):
    class Other:
        def __array__(self, dtype=None, copy=None):
            return np.ones(4, dtype)

    A, a = gpu.array(X), X.copy()
    alias, row = A, A[0, 0]
    A += Other()
    a += 1
    row += Other()
    a[0, 0] += 1
    assert A is alias
    same(A, a)


def test_an_operator_on_a_view_that_cannot_change_its_base_is_refused(gpu):
    A, named = gpu.array(X), gpu.array(X, name="named")
    views = [np.broadcast_to(A[0], (2, 3, 4)), A.reshape(6, 4)[1:], named[0]]
    for view in views:
        with pytest.raises(ValueError, match="assign"):
            view += 1
    whole = A[0].astype("int8")[...]
    with pytest.raises(TypeError, match="same_kind"):
        whole += 0.5
    with pytest.raises(ValueError, match="broadcast"):
        whole += np.ones((2, 3, 4), "int8")
    same(A, X)
    named.free()


SPANS = [np.s_[:2], np.s_[:0], np.s_[1:3], np.s_[::2], np.s_[::-1], np.s_[3:0:-2], np.s_[-2:], np.s_[:, 1:], np.s_[1], np.s_[:, 0], np.s_[1:, ::-1],
         np.s_[None, 1:, 2], np.s_[..., :3], np.s_[:], np.s_[2:, :1]]


@pytest.mark.parametrize("index", SPANS, ids=str)
def test_a_part_is_assigned_from_arrays_of_all_shapes_that_fit(gpu, index):
    first = np.arange(20.0).reshape(4, 5)
    shape = first[index].shape
    for given in {shape, shape[1:], (1,) * len(shape), (1,) + shape, shape[:-1] + (1,)}:
        value = np.arange(100.0, 100 + np.prod(given, dtype=int)).reshape(given)
        for ours in (value, gpu.array(value), gpu.array(value.T).T, gpu.array(value) * 1, value.astype("int8"), gpu.array(value.astype("float32"))):
            A, a = gpu.array(first), first.copy()
            A[index] = ours
            a[index] = value
            same(A, a)


def test_a_value_that_does_not_convert_is_refused_at_its_line(gpu):
    A, Z, mask = gpu.array(X), gpu.array(X + 1j), gpu.array(X > 3)
    for index, value in ((0, Z[0]), (np.s_[...], Z), (np.s_[:, 1:], Z[:, :1]), (mask, Z), (X > 3, Z), (0, 1j), (mask, 1j), (0, "a")):
        with watched(gpu) as watch, pytest.raises((TypeError, ValueError)):
            A[index] = value
        assert not watch.expressions
    same(A, X)


@pytest.mark.parametrize("dtype, number", [("int8", 300), ("int8", -129), ("uint8", -1), ("int64", 2**63), ("uint64", 2**64), ("uint64", -1)])
def test_an_integer_out_of_range_is_not_assigned(gpu, dtype, number):
    A = gpu.array(np.ones(3, dtype))
    for assign in (lambda: A.__setitem__(0, number), lambda: A.__setitem__(A > 0, number), lambda: A.fill(number), lambda: np.copyto(A, number),
                   lambda: np.full_like(A, number), lambda: hp.xp.full(3, number, dtype)):
        with pytest.raises(OverflowError, match=f"Python integer {number} out of bounds for {dtype}"):
            assign()
    same(A, np.ones(3, dtype))
    A[0] = np.array(300)  # an array is cast
    same(A, np.array([np.array(300).astype(dtype), 1, 1], dtype))
    if dtype == "int8":
        np.copyto(A, np.int64(300))
        same(A, np.full(3, 44, dtype))
        with pytest.raises(OverflowError):
            A[0] = np.int64(300)


def test_a_mask_of_another_length_is_an_index_error(gpu):
    A = gpu.array(X)
    for index in (np.s_[[True, False, True]], np.array([True]), np.s_[:, [True, False]], np.s_[..., np.ones(3, bool)], np.s_[None, np.ones(3, bool)],
                  np.ones((2, 4), bool), np.ones((2, 3, 4, 1), bool), np.s_[0, np.ones(4, bool), 0], gpu.array(np.ones(3, bool))):
        with pytest.raises(IndexError):
            A[index] = 0
        if not isinstance(index, type(A)):
            with pytest.raises(IndexError):
                A[index]
            with pytest.raises(IndexError):
                X[index]
    same(A, X)
    for index in (np.s_[..., np.array([True, False, True, True])], np.s_[:, np.array([True, False, True]), 1], np.ones((2, 3), bool), np.s_[None, [True, False]]):
        same(A[index], X[index])


def test_what_others_may_read_is_not_assigned_to(gpu):
    named = gpu.array(X, name="named")
    with pytest.raises(ValueError, match="'named'.*A.copy()"):
        named[0] = 1
    own = named.copy()
    own[0] = 1
    assert own[0, 0, 0] == 1 and named[0, 1, 0] == X[0, 1, 0]
    named.free()


def test_what_a_call_was_given_is_not_what_was_assigned_then(gpu):
    A = gpu.array(np.zeros(300_000))
    futures = []
    for number in range(5):
        A += 1
        futures.append(gpu.submit(gpu.reduce, A, operation="max", keep=False))
    assert [future.result() for future in futures] == [1, 2, 3, 4, 5]


def test_a_mask_of_the_first_axes_takes_values_as_numpys(gpu):
    rows = np.array([True, False, True])
    for shape in ((1, 4), (1, 1), (1, 1, 1, 1), (1, 1, 4), (2, 1), (2, 4), (1, 2, 4), (1, 2, 1)):
        A, a = gpu.array(np.zeros((3, 4))), np.zeros((3, 4))
        value = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        A[rows], a[rows] = value, value
        same(A, a)
    A = gpu.array(np.zeros(3))
    with pytest.raises(TypeError, match="0 or 1-dimensional"):
        A[rows] = np.ones((1, 1))
    same(A, np.zeros(3))


def test_a_mask_without_elements_selects_nothing(gpu):
    """As in NumPy. It left arrays that could not be computed."""
    for shape, mask in (((3,), (0,)), ((3, 4), (3, 0)), ((3, 4), (0, 4)), ((3, 4), (0,))):
        for of_daemon in (False, True):
            A, empty = gpu.array(np.zeros(shape)), np.zeros(mask, bool)
            A[gpu.array(empty) if of_daemon else empty] = 1
            same(A, np.zeros(shape))


@pytest.mark.parametrize("index", [np.s_[:, X[0, 0] > 2], np.s_[X[0, :, 0] > 1, 1], np.s_[X[0, :, 0] > 1, 1:3], np.s_[..., X[0, 0] > 2],
                                   np.s_[::-1, X[0, 0] > 2], np.s_[0:0, X[0, 0] > 2], np.s_[X[0, :, 0] > 1, ...], np.s_[None, :, X[0, 0] > 2]],
                         ids=str)
def test_a_number_is_assigned_with_a_mask_beside_other_keys(gpu, index):
    ours = tuple(gpu.array(key) if isinstance(key, np.ndarray) else key for key in index)
    for keys in (index, ours):
        A, a = gpu.array(X[0]), X[0].copy()
        A[keys], a[index] = -7, -7
        same(A, a)
    with pytest.raises(TypeError, match="mask beside other keys"):
        A[index] = np.ones(a[index].shape)
    same(A, a)


def test_assignment_to_a_freed_array_says_so(gpu):
    for A in (gpu.array([1.0, 2.0]), gpu.array([1.0, 2.0]) * 2):
        A.free()
        for use in (lambda: A.fill(0), lambda: operator.iadd(A, 1), A.numpy, lambda: A + 1):
            with pytest.raises(KeyError, match="freed|no array") as lost:
                use()
            assert "has a name" not in str(lost.value) and "(freed)" not in str(lost.value) and "after that line" not in str(lost.value)
            del lost


# An element is a number, which keeps its value when its array changes.


def swapped(a):
    kept = a[0]
    a[0] = a[1]
    a[1] = kept


def exchanged(a):
    a[0], a[1] = a[1], a[0]


def sorted_by_swaps(a):
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]


def held(a):
    elements = list(a)
    a += 10
    a[2] = elements[0] * elements[1]
    a[3] = elements[3]


def of_a_row(a):
    matrix = a.reshape(2, 2).copy()
    row, element = matrix[1], matrix[1, 0]
    matrix[1, 0] = 77
    a[0], a[1] = row[0], element  # a row is a view, an element is not


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("change", [swapped, exchanged, sorted_by_swaps, held, of_a_row])
def test_an_element_keeps_its_value(gpu, change, eager):
    values = np.array([3.0, 1.0, 2.0, 0.5])
    expected = values.copy()
    change(expected)
    with hp.eager() if eager else contextlib.nullcontext():
        array = gpu.array(values)
        change(array)
    np.testing.assert_array_equal(array.numpy(), expected)


def test_views_of_an_element_are_of_its_value(gpu):
    array = gpu.array(np.arange(4.0))
    element = array[1]
    seen = [element[...], element.reshape(1), element[None], element.T]
    array[1] = 50
    assert [float(one.numpy().sum()) for one in seen] == [1, 1, 1, 1] and float(element) == 1


def test_an_element_without_axes_of_its_array_too(gpu):
    array = gpu.array(np.float64(5))
    element = array[()]
    array[()] = 7
    assert (float(element), float(array)) == (5, 7)


def test_elements_that_nobody_holds_are_forgotten(gpu):
    array = gpu.array(np.arange(4.0))
    kept = array[1]
    for _ in range(100):
        array[0]
    assert len(array._elements) == 1
    array[1] = 9
    assert array._elements is None and float(kept) == 1
