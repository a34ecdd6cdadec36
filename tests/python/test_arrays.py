"""hotplate.Array: what stays on the daemon, for how long, and how it comes back."""

import concurrent.futures
import copy
import gc
import math
import pathlib
import pickle
import re
import sys
import threading
import time

import hotplate as hp
import numpy as np
import pytest
from conftest import PATIENCE, Daemon, wait_until

X = np.arange(2 * 3 * 4, dtype=float).reshape(2, 3, 4)
LARGE = np.ones(400_000)


def held(gpu):
    return len(gpu.arrays)


@pytest.fixture(autouse=True)
def nothing_is_left(gpu):
    before = held(gpu)
    yield
    gc.collect()
    wait_until(lambda: held(gpu) == before, f"the daemon holds {before} arrays again, as before the test")


def test_an_array_knows_what_it_is(gpu):
    array = gpu.array(X, name="X")
    assert (array.shape, array.dtype, array.ndim, array.size, array.nbytes, len(array)) == ((2, 3, 4), np.float64, 3, 24, 192, 2)
    assert array.name == "X" and array.location == "host" and array.lease is None
    assert repr(array[0, 0]) == "hotplate.Array([0., 1., 2., 3.])" and repr(array).endswith(", name='X')")
    array.free()
    with pytest.raises(KeyError):
        array.numpy()
    assert repr(array) == "<hotplate.Array 'X' float64 [2, 3, 4] on local>", "there is nothing to print"


@pytest.mark.parametrize("data", [X[::-1, 1:, ::2], X.T, np.float32(3), [], [[1, 2], [3, 4]], np.arange(5, dtype=">i4"),
                                  np.zeros((0, 4), np.int8), np.array([True, False]), np.ones(3, np.complex64)])
def test_what_goes_up_comes_back(gpu, data):
    array = gpu.array(data)
    back = array.numpy()
    assert array.dtype == np.asarray(data).dtype.newbyteorder("=") and array.shape == np.shape(data)
    np.testing.assert_array_equal(back, data)
    np.testing.assert_array_equal(np.asarray(array), data)
    assert np.asarray(array, dtype=np.complex128).dtype == np.complex128


def test_numpy_fills_memory_of_the_callers(gpu):
    array, out = gpu.array(X), np.zeros((2, 3, 4))
    assert array.numpy(out=out) is out and (out == X).all()
    with pytest.raises(ValueError, match=r"out is float32 of shape \[2\]; the result is float64 of shape \[2, 3, 4\]"):
        array.numpy(out=np.zeros(2, np.float32))


def test_dlpack_is_host_memory(gpu):
    array = gpu.array(X)
    assert array.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(array), X)
    assert array.__dlpack__(copy=True) is not None
    with pytest.raises(BufferError, match="without a copy"):
        array.__dlpack__(copy=False)


def test_a_copy_is_an_array_of_its_own(gpu):
    array = gpu.array(X)
    for again in (copy.copy(array), copy.deepcopy(array), copy.deepcopy([array])[0]):
        assert again is not array and again.id != array.id
        np.testing.assert_array_equal(again.numpy(), X)
    with pytest.raises(TypeError, match=r"is on the daemon local .* numpy\(\)"):
        pickle.dumps(array)


def test_kernels_take_and_give_them(gpu):
    a = gpu.array(np.eye(4))
    b = gpu.matmul(a, a, keep=True)
    c = gpu.vector_add(b, np.ones((4, 4)), keep=True)
    assert isinstance(b, hp.Array) and isinstance(c, hp.Array)
    np.testing.assert_array_equal(gpu.vector_add(c, c, keep=False), 2 * (np.eye(4) + 1))
    u, s, vt = gpu.svd(c, keep={"u": True, "vt": True})
    assert isinstance(u, hp.Array) and isinstance(s, np.ndarray) and isinstance(vt, hp.Array)
    assert all(isinstance(one, hp.Array) for one in gpu.svd(c)), "as its input is one"


def test_dtypes_are_compared_with_those_on_the_daemon(gpu):
    single = gpu.array(np.ones(3, np.float32))
    assert gpu.vector_add(single, 2).dtype == np.float32
    with pytest.raises(TypeError, match="a is float32 on the daemon and b is float64"):
        gpu.vector_add(single, np.ones(3))


def test_the_last_reference_frees_it(gpu):
    before = held(gpu)
    array = gpu.array(X)
    same = array
    del array
    assert held(gpu) == before + 1
    del same
    wait_until(lambda: held(gpu) == before, "the array was freed")


def test_a_name_or_a_lease_keeps_it(daemon, gpu):
    for options in ({"name": "stays"}, {"lease": 600}):
        array = gpu.array(X, **options)
        array_id = array.id
        del array
        gc.collect()
        np.testing.assert_array_equal(gpu.array(name=array_id).numpy(), X)
        gpu.free(array_id)
    kept = gpu.vector_add(X, X, keep="sum", lease=600)
    assert kept.name == "sum" and kept.lease > 0
    del kept
    with daemon.connect() as other:
        np.testing.assert_array_equal(other.array(name="sum").numpy(), 2 * X)
        other.free("sum")


def test_renewed_it_stays(gpu):
    array = gpu.array(X)
    array.renew(600)
    array_id = array.id
    del array
    gc.collect()
    assert gpu.array(name=array_id).lease > 0
    gpu.free(array_id)


def test_one_name_is_one_array(gpu):
    first = gpu.array(X, name="one")
    with pytest.raises(hp.AlreadyExists, match='"one" is taken by array a.*replace=True') as taken:
        gpu.array(X, name="one")
    assert taken.value.code == "ALREADY_EXISTS"
    second = gpu.array(2 * X, name="one", replace=True)
    np.testing.assert_array_equal(gpu.array(name="one").numpy(), 2 * X)
    gpu.free(second)
    with pytest.raises(KeyError, match="one"):
        gpu.array(name="one")
    assert first.id != second.id


@pytest.mark.parametrize("option", [{"lease": 600}, {"dtype": np.float32}, {"replace": True}], ids=str)
def test_what_is_of_data_that_is_sent_is_not_taken_without(gpu, option):
    array = gpu.array(X, name="there")
    (what, value), = option.items()
    with pytest.raises(TypeError, match=re.escape(f"array there is there as it is: {what}={value!r} is for data that is sent")):
        gpu.array(name="there", **option)
    array.free()


def test_a_name_that_a_job_was_promised_cannot_be_replaced(gpu):
    future = gpu.submit(gpu.mandelbrot, resolution=8000, max_iterations=1_000_000, keep="promised")
    wait_until(lambda: gpu.jobs(own_session=True, active_only=True), "the job is there")
    with pytest.raises(hp.AlreadyExists, match="promised to the output of a job") as taken:
        gpu.array(X, name="promised")
    assert "replace" not in str(taken.value)
    future.cancel()
    wait_until(lambda: not gpu.jobs(own_session=True, active_only=True), "the job ended")


@pytest.mark.parametrize("send", [lambda gpu, x: gpu.array(x), lambda gpu, x: gpu.power_sum(x)],
                         ids=["array", "kernel"])
def test_more_axes_than_there_may_be(gpu, send):
    send(gpu, np.ones((1,) * 8))
    with pytest.raises(ValueError, match="the array has 9 axes; there may be at most 8"):
        send(gpu, np.ones((1,) * 9))


def test_what_it_is_cannot_be_assigned(gpu):
    array = gpu.array(X)
    for name, value in (("shape", (24,)), ("name", "X"), ("id", "a1")):
        with pytest.raises(AttributeError):
            setattr(array, name, value)
    np.testing.assert_array_equal(array[:], X)


def test_what_a_job_made_has_its_receipt(gpu):
    assert gpu.array(X).receipt is None
    total = gpu.vector_add(X, X, keep="total")
    gpu.selu(X)
    assert total.receipt.kernel == "vector_add" and total.receipt.job_id != gpu.last_receipt.job_id
    assert gpu.array(name="total").receipt is None
    total.free()
    result = gpu.svd(X, keep={"u": True})
    assert result.u.receipt.fields == result.receipt.fields
    job_id = gpu.submit_detached("vector_add", X, X, keep="detached")
    fetched = gpu.wait(job_id)
    assert fetched.receipt.job_id == job_id
    fetched.free()
    assert gpu.submit(gpu.vector_add, X, X, keep=True).result().receipt.kernel == "vector_add"


@pytest.mark.parametrize("send", [lambda client: client.array(LARGE), lambda client: client.vector_add(X, X, keep=True),
                                  lambda client: client.vector_add(LARGE, 1, keep=True),
                                  lambda client: client.submit("vector_add", X, X, keep=True).result()])
def test_what_comes_while_a_client_closes_is_freed(daemon, gpu, send):
    """In other threads, whose calls go on to their ends; autouse looks at what is left."""
    ends = []

    def work(client, began):
        try:
            while True:
                send(client)
                began.set()
        except Exception as error:
            ends.append(error)

    for _ in range(5):
        client = daemon.connect()
        began = [threading.Event() for _ in range(3)]
        threads = [threading.Thread(target=work, args=(client, one)) for one in began]
        for thread in threads:
            thread.start()
        for one in began:
            assert one.wait(PATIENCE)
        client.close()
        for thread in threads:
            thread.join()
    assert len(ends) == 15 and all(isinstance(end, (RuntimeError, concurrent.futures.CancelledError)) for end in ends), ends


def test_memory_goes_back_to_the_system_when_nobody_uses_the_daemon():
    """What was freed is kept for the next array, but not for long."""
    daemon = Daemon()
    try:
        def resident():
            words = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().split()
            return int(words[words.index("VmRSS:") + 1]) >> 10

        before = resident()
        with daemon.connect() as gpu:
            arrays = [gpu.array(np.ones(32 << 17)) for _ in range(4)]
            most = resident()
            assert most > before + 120, "4 arrays of 32 MiB"
            del arrays
            # gRPC keeps some for itself: 20 to 76 MiB were measured, the more the busier the machine, which malloc_trim() finds in
            # use.
            wait_until(lambda: resident() - before < (most - before) / 2,
                       f"of the {most - before} MiB more than before, the daemon has given most back")
    finally:
        daemon.stop()


def test_a_client_that_closes_leaves_nothing(daemon, gpu):
    before = held(gpu)
    other = daemon.connect()
    arrays = [other.array(X) for _ in range(3)]
    assert held(gpu) == before + 3
    other.close()
    assert held(gpu) == before
    del arrays


def test_an_array_of_another_daemon_is_refused(gpu, daemon, start_daemon):
    """Ids are a daemon's own: the other one's array of the same id would be taken in its place."""
    other = start_daemon().connect()
    ours, theirs = gpu.array(X), other.array(2 * X)
    for call in (lambda: other.vector_add(ours, theirs), lambda: other.submit("vector_add", theirs, ours).result(),
                 lambda: other.submit_detached("selu", ours), lambda: other.check("selu", ours)):
        with pytest.raises(TypeError, match=r"is <hotplate.Array .* another daemon than this call's: its elements are A.numpy"):
            call()
    with daemon.connect() as second:  # of the same daemon
        np.testing.assert_array_equal(second.vector_add(ours, X), 2 * X)
        theirs = second.array(X)
        assert gpu.same_daemon(second) and not gpu.same_daemon(other)
    with pytest.raises(TypeError, match="whose client is closed"):
        gpu.selu(theirs)


class Counted:
    """A client's core that counts the bytes it fetches."""

    def __init__(self, core):
        self._core, self.bytes = core, 0

    def get(self, array_id):
        fetched = self._core.get(array_id)
        self.bytes += fetched.nbytes
        return fetched

    def get_into(self, array_id, destination, offset=None):
        self.bytes += destination.nbytes
        self._core.get_into(array_id, destination, offset)

    def __getattr__(self, name):
        return getattr(self._core, name)


INDICES = [
    np.s_[0], np.s_[-1], np.s_[1:], np.s_[:1], np.s_[0, 1], np.s_[1, 2, 3], np.s_[..., 1], np.s_[:, ::-1], np.s_[::-1, ::-2, 3:0:-2],
    np.s_[..., None, 2], np.s_[None], np.s_[0:0], np.s_[1, ..., -1], np.s_[:, 1:2, ::3], np.s_[...], np.s_[5:], np.s_[np.int64(1)],
    np.s_[1, 2, 3, ...], np.s_[..., 1, 2, 3], np.s_[1, ..., 2, 3],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_slices_are_numpys(gpu, index):
    part = gpu.array(X)[index]
    assert isinstance(part, hp.Array) and part.dtype == np.float64 and part.shape == np.shape(X[index])
    np.testing.assert_array_equal(part.numpy(), X[index])


@pytest.mark.parametrize("index", [2, (0, 3), (0, 0, 4), (0, 0, 0, 0), "a", 1.5, -3])
def test_an_index_beyond_is_an_index_error(gpu, index):
    with pytest.raises(IndexError):
        gpu.array(X)[index]


@pytest.mark.parametrize("index, elements", [(np.s_[3], 200), (np.s_[3, 7], 1), (np.s_[2:5], 600), (np.s_[50, 10:20], 10),
                                             (np.s_[:0], 0), (np.s_[::-1], 20_000)])
def test_a_slice_reads_no_more_than_itself(gpu, index, elements):
    x = np.random.default_rng(1).random((100, 200))
    array = gpu.array(x)
    counted = array._client._core = Counted(gpu._core)
    try:
        np.testing.assert_array_equal(array[index].numpy(), x[index])
    finally:
        gpu._core = counted._core
    assert counted.bytes == 8 * elements


@pytest.mark.parametrize("index", [np.s_[:, 5], np.s_[::-50, 3:5], np.s_[10:20, :, 1], np.s_[::60, 7, ::-1]], ids=str)
def test_gaps_are_stepped_over_where_they_are_long(gpu, index):
    x = np.arange(120 * 30 * 3000, dtype=np.int32).reshape(120, 30, 3000)
    array = gpu.array(x)
    counted = array._client._core = Counted(gpu._core)
    try:
        part = array[index].numpy()
    finally:
        gpu._core = counted._core
    np.testing.assert_array_equal(part, x[index])
    assert part.flags.c_contiguous and part.nbytes <= counted.bytes <= part.nbytes + x[index].shape[0] * x[0].nbytes
    assert counted.bytes < x.nbytes / 2


def test_a_number_has_no_length(gpu):
    with pytest.raises(TypeError, match="len\\(\\) of .*, which has no axes"):
        len(gpu.array(3.0))


@pytest.mark.parametrize("expression", ["np.ones(24).dot(A)", "np.array([A, A])", "np.random.default_rng(1).choice(A)"])
def test_what_cannot_be_told_from_asarray_fetches(gpu, expression):
    """As the page says: NumPy calls nothing but __array__, without a word of what it is for."""
    array = gpu.array(np.arange(24.0))
    try:
        eval(expression, {"A": array, "np": np})
    finally:
        array.free()


def test_an_array_is_itself_in_sets_and_dicts(gpu):
    one, other = gpu.array(X), gpu.array(X)
    assert {one, other, one} == {one, other} and len({one, other, one}) == 2
    names = {one: "one", other: "other"}
    assert names[one] == "one" and names[other] == "other" and hash(one) != hash(copy.copy(one))
    assert one in [one] and [one, other].index(one) == 0
    del names


def test_its_elements_are_fetched_where_that_is_said(gpu):
    array = gpu.array(X)
    for elements in (array.numpy(), np.asarray(array), np.array(array), array[...].numpy(), np.from_dlpack(array)):
        assert type(elements) is np.ndarray
        np.testing.assert_array_equal(elements, X)


def test_a_copy_that_may_not_be_is_refused(gpu):
    with pytest.raises(ValueError, match="without a copy"):
        gpu.array(X).__array__(copy=False)


@pytest.mark.parametrize("move", ["array", "numpy", "out", "slice", "input", "job", "short job", "detached"])
def test_other_threads_go_on_while_bytes_move_and_jobs_run(gpu, move):
    x = np.ones(10_000_000)
    array = gpu.array(x)
    moves = {"job": lambda: gpu.integrate2d(n=2000), "short job": lambda: gpu.norm(array),
             "detached": lambda: gpu.wait(gpu.submit_detached("integrate2d", n=2000)),
             "array": lambda: gpu.array(x), "numpy": array.numpy, "slice": lambda: array[1:].numpy(),
             "out": lambda: gpu.full(n=x.size, dtype="float64", out=x), "input": lambda: gpu.reduce(x)}
    counted, told = 0, []

    def count():
        begin = counted
        for _ in range(100):  # on a busy machine the other thread may come too late for one
            moves[move]()
            if counted > begin:
                break
        told.append(counted - begin)

    moves[move]()
    interval = sys.getswitchinterval()
    # Nobody is made to let go of the GIL: only who does so by itself.
    sys.setswitchinterval(1000)
    try:
        mover = threading.Thread(target=count)
        mover.start()
        while mover.is_alive():
            counted += 1
            time.sleep(0.0001)
    finally:
        sys.setswitchinterval(interval)
    assert told[0] > 0
