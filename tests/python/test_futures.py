"""Calls in flight: futures and the executor, as users of concurrent.futures know them."""

import asyncio
import concurrent.futures
import functools
import io
import signal
import sys
import threading
import time

import hotplate
import numpy as np
import pytest
from conftest import PATIENCE, wait_until

# Hours of sines, unless it is cancelled.
LONG = {"n": 10_000_000}
A = np.arange(4, dtype=np.float32)


def long_job(gpu):
    """A future whose job runs."""
    future = gpu.submit("integrate2d", **LONG)
    wait_until(future.running, "the job ran")
    return future


def state(gpu, job_id):
    return gpu.job(job_id)["state"]


def test_a_future_is_the_standard_librarys(gpu):
    future = gpu.submit("vector_add", A, b=A)
    assert isinstance(future, concurrent.futures.Future)
    np.testing.assert_array_equal(future.result(PATIENCE), A + A)
    assert future.done() and not future.running() and not future.cancelled()
    assert future.exception() is None
    assert future.receipt.kernel == "vector_add" and future.receipt.job_id == future.job_id != ""
    assert gpu.last_receipt["job_id"] == future.job_id
    assert not future.cancel(), "it is over"


def test_a_kernel_a_name_and_a_partial_can_be_submitted(gpu):
    expected = gpu.selu(A, alpha=1.5)
    np.testing.assert_array_equal(gpu.submit(functools.partial(gpu.selu, alpha=1.5), A).result(PATIENCE), expected)
    partial = functools.partial(gpu.selu, A, alpha=9.0)
    np.testing.assert_array_equal(gpu.submit(partial, alpha=1.5).result(PATIENCE), expected)
    np.testing.assert_array_equal(gpu.submit(gpu.selu, A, alpha=1.5).result(PATIENCE), expected)
    np.testing.assert_array_equal(gpu.submit("selu", A, alpha=1.5).result(PATIENCE), expected)


def test_what_is_no_kernel_is_refused_at_once(gpu, daemon):
    for what in (3, None, A):
        with pytest.raises(TypeError, match="pass a kernel .*, its name, or a function of your own"):
            gpu.submit(what, A)
    with pytest.raises(KeyError, match="vector_add"):
        gpu.submit("vector_ad", A, A)
    with daemon.connect() as other:
        with pytest.raises(ValueError, match="not of"):
            other.submit(gpu.selu, A)


def test_what_a_call_raises_is_the_futures(gpu):
    for future, kind in ((gpu.submit("vector_add", A), TypeError), (gpu.submit("vector_add", A, A[:2]), ValueError),
                         (gpu.submit("selu", A, bogus=1), TypeError)):
        assert isinstance(future.exception(PATIENCE), kind)
        with pytest.raises(kind):
            future.result(PATIENCE)


def test_an_end_that_cannot_be_told_as_it_is_ends_the_call(gpu, monkeypatch):
    monkeypatch.setattr(hotplate.errors, "from_status", lambda *told: 1 / 0)
    for more in ({}, {"priority": 1}):
        with pytest.raises(ZeroDivisionError):
            gpu.submit("vector_add", A, A[:2], **more).result(PATIENCE)


def test_wait_as_completed_and_callbacks(gpu):
    futures = [gpu.submit(gpu.vector_add, A, A + i) for i in range(50)]
    told = []
    for future in futures:
        future.add_done_callback(told.append)
    done, missing = concurrent.futures.wait(futures, PATIENCE)
    assert not missing and len(done) == 50
    wait_until(lambda: len(told) == 50, "all callbacks were called")
    assert set(concurrent.futures.as_completed(futures, PATIENCE)) == set(futures)
    for i, future in enumerate(futures):
        np.testing.assert_array_equal(future.result(), A + A + i)


def test_futures_of_several_executors_are_waited_for_together(gpu):
    """From several threads at once, in orders of their own."""
    with concurrent.futures.ThreadPoolExecutor(8) as threads, hotplate.Executor(gpu, max_in_flight=3) as executor:
        mixed = [start(*call) for start, call in ((threads.submit, (np.add, A, A)), (executor.submit, ("vector_add", A, A)),
                                                  (gpu.submit, (gpu.vector_add, A, A))) for _ in range(20)]

        def waits(seed):
            order = list(np.random.default_rng(seed).permutation(len(mixed)))
            own = [mixed[i] for i in order]
            return (concurrent.futures.wait(own, PATIENCE).not_done,
                    set(concurrent.futures.as_completed(own, PATIENCE)) == set(mixed))

        told = [waiting.result(4 * PATIENCE) for waiting in [threads.submit(waits, seed) for seed in range(4)]]
    assert told == [(set(), True)] * 4
    for future in mixed:
        np.testing.assert_array_equal(future.result(), A + A)


@pytest.fixture
def quick_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_waits_and_callbacks_while_calls_end(gpu, quick_switches):
    """Each future's end comes at any point of what the standard library does to wait for it."""
    told, rounds, jobs = [], 60, 64
    for _ in range(rounds):
        futures = []

        def add_callbacks():
            for i in range(jobs):
                end = time.monotonic() + PATIENCE
                while i >= len(futures) and time.monotonic() < end:
                    pass  # awake: to add it as soon as it is there
                futures[i].add_done_callback(told.append)

        thread = threading.Thread(target=add_callbacks)
        thread.start()
        for _ in range(jobs):
            futures.append(gpu.submit(gpu.vector_add, A, A))
            futures[-1].add_done_callback(told.append)
        done, missing = concurrent.futures.wait(futures, PATIENCE)
        assert not missing and all(future.done() for future in futures)
        thread.join()
    wait_until(lambda: len(told) >= 2 * rounds * jobs, "all callbacks were called")
    assert len(told) == 2 * rounds * jobs


def test_the_first_that_ends_and_the_first_that_fails(gpu):
    running = long_job(gpu)
    first = concurrent.futures.wait([running, gpu.submit("vector_add", A, A)], PATIENCE, "FIRST_COMPLETED")
    failed = gpu.submit("cholesky", -np.eye(3))
    raised = concurrent.futures.wait([running, failed], PATIENCE, "FIRST_EXCEPTION")
    assert first.not_done == raised.not_done == {running} and failed in raised.done
    with pytest.raises(concurrent.futures.TimeoutError):
        running.result(0.01)
    threading.Timer(0.1, running.cancel).start()
    assert next(concurrent.futures.as_completed([running], PATIENCE)) is running


def test_what_a_callback_raises_is_logged(gpu, caplog):
    told = []
    future = gpu.submit("vector_add", A, A)
    future.result(PATIENCE)
    future.add_done_callback(lambda _: 1 / 0)
    future.add_done_callback(told.append)
    assert told == [future] and "ZeroDivisionError" in caplog.text


def test_a_callback_may_use_the_client(gpu):
    chained = concurrent.futures.Future()
    future = gpu.submit("vector_add", A, A)
    future.add_done_callback(lambda done: chained.set_result(gpu.vector_add(done.result(), A)))
    np.testing.assert_array_equal(chained.result(PATIENCE), 3 * A)


def test_a_callback_is_not_to_wait_for_another_call(gpu):
    told = concurrent.futures.Future()
    other = long_job(gpu)

    def wait(done):
        try:
            assert done.result() is not None and done.exception() is None
            with pytest.raises(concurrent.futures.TimeoutError):
                other.result(0)
            for ask in (other.result, other.exception, lambda: other.result(PATIENCE)):
                with pytest.raises(RuntimeError, match="would be for ever"):
                    ask()
            told.set_result(True)
        except BaseException as error:
            told.set_exception(error)

    gpu.submit("vector_add", A, A).add_done_callback(wait)
    assert told.result(PATIENCE)
    other.cancel()


def test_a_result_that_takes_too_long_goes_on(gpu):
    future = long_job(gpu)
    with pytest.raises(concurrent.futures.TimeoutError):
        future.result(0.01)
    assert future.running()
    assert future.cancel()


def test_cancel_reaches_the_running_job(gpu):
    future = long_job(gpu)
    job_id = future.job_id
    assert state(gpu, job_id) == "RUNNING"
    told = []
    future.add_done_callback(told.append)
    assert future.cancel() and future.cancelled() and future.done() and told == [future]
    assert future.cancel(), "again: it stays cancelled"
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    assert concurrent.futures.wait([future], PATIENCE).done == {future}
    wait_until(lambda: state(gpu, job_id) == "CANCELLED", "the daemon ended the job")


def test_a_cancel_is_told_at_once_and_once(gpu, caplog, quick_switches):
    """By whoever comes first: the standard library logs what ends a future twice."""
    for _ in range(30):
        futures, told = [gpu.submit(gpu.vector_add, A, A) for _ in range(20)], []
        for future in futures:
            future.add_done_callback(told.append)
        threads = [threading.Thread(target=lambda: [future.cancel() for future in futures]) for _ in range(2)]
        for thread in threads:
            thread.start()
        done, missing = concurrent.futures.wait(futures, PATIENCE)
        for thread in threads:
            thread.join()
        assert not missing and all(future.cancelled() or future.exception() is None for future in futures)
        wait_until(lambda: len(told) == len(futures), "each callback was called")
        assert set(told) == set(futures)
    assert not caplog.text


def test_who_waits_is_told_of_a_cancel_while_the_daemon_hangs(start_daemon):
    daemon = start_daemon()
    with daemon.connect() as client:
        future = long_job(client)
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            threading.Timer(0.1, future.cancel).start()
            assert concurrent.futures.wait([future], PATIENCE).done == {future}
        finally:
            daemon.process.send_signal(signal.SIGCONT)


def test_a_job_that_is_cancelled_by_another_is_told_as_such(gpu):
    future = long_job(gpu)
    gpu.cancel(future.job_id)
    error = future.exception(PATIENCE)
    assert isinstance(error, hotplate.JobCancelled) and error.state == "CANCELLED"
    assert not future.cancelled(), "nobody called cancel()"


def test_many_threads_share_a_client(gpu):
    wrong = []

    def hammer(seed):
        rng = np.random.default_rng(seed)
        futures = []
        for i in range(100):
            a, b = rng.standard_normal((2, 1 + i % 7))
            futures.append((gpu.submit(gpu.vector_add, a, b), a + b))
            if not np.array_equal(gpu.vector_add(a, b), a + b):
                wrong.append((seed, i, "run"))
            if gpu.last_receipt.kernel != "vector_add":
                wrong.append((seed, i, "receipt"))
        for i, (future, expected) in enumerate(futures):
            if not np.array_equal(future.result(PATIENCE), expected):
                wrong.append((seed, i, "submit"))

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_large_inputs_and_outputs_in_flight(gpu):
    large = np.arange(300_000, dtype=np.float64)
    futures = [gpu.submit("vector_add", large, large + i) for i in range(6)]
    for i, future in enumerate(futures):
        np.testing.assert_array_equal(future.result(PATIENCE), large + large + i)
    out = np.empty_like(large)
    assert gpu.submit("vector_add", large, large, out=out).result(PATIENCE) is out
    np.testing.assert_array_equal(out, large + large)


def test_an_array_that_stays_from_a_future(gpu):
    before = len(gpu.arrays)
    kept = gpu.submit("vector_add", A, A, keep=True).result(PATIENCE)
    assert isinstance(kept, hotplate.Array)
    np.testing.assert_array_equal(gpu.submit("vector_add", kept, A).result(PATIENCE), 3 * A)
    del kept
    wait_until(lambda: len(gpu.arrays) == before, "the array was freed with its last reference")


@pytest.mark.parametrize("count", [4, 1 << 20])
def test_a_call_keeps_its_arrays(gpu, count):
    before = len(gpu.arrays)
    x = np.ones(count)
    futures = [gpu.submit(gpu.vector_add, gpu.array(x), x) for _ in range(4)]
    with hotplate.Executor(gpu, max_in_flight=1) as executor:
        futures += [executor.submit("vector_add", x, gpu.array(x)) for _ in range(3)]

    async def awaited():
        return await asyncio.gather(*(gpu.aio.vector_add(gpu.array(x), x) for _ in range(3)))

    for result in [future.result(PATIENCE) for future in futures] + asyncio.run(awaited()):
        np.testing.assert_array_equal(result, x + x)
    del futures, result  # with an array of the daemon's among the inputs, results are such arrays
    wait_until(lambda: len(gpu.arrays) == before, "they were freed with their calls")


def test_what_a_cancelled_call_left_behind_is_freed(gpu):
    before = len(gpu.arrays)
    for _ in range(20):
        gpu.submit("vector_add", A, A, keep=True).cancel()
    wait_until(lambda: len(gpu.arrays) == before and not gpu.jobs(own_session=True, active_only=True),
               "no array of a cancelled call is left")


def test_closing_ends_what_is_in_flight(daemon):
    client = daemon.connect()
    futures = [client.submit("integrate2d", **LONG) for _ in range(3)]
    wait_until(futures[0].running, "the first job ran")
    client.close()
    for future in futures:
        assert future.done(), "told when close() is back"
        assert isinstance(future.exception(), hotplate.Cancelled)
    with pytest.raises(RuntimeError, match="closed"):
        client.submit("integrate2d", **LONG).result(PATIENCE)


def test_a_call_keeps_its_client(daemon):
    client = daemon.connect()
    future = client.submit("vector_add", A, A)
    del client
    np.testing.assert_array_equal(future.result(PATIENCE), A + A)


def test_closing_in_a_callback(daemon):
    client = daemon.connect()
    closed = threading.Event()

    def close(_):
        client.close()
        closed.set()

    client.submit("vector_add", A, A).add_done_callback(close)
    assert closed.wait(PATIENCE)


# The executor.


def test_map_is_the_standard_librarys(gpu):
    many = [np.full(3, i, np.float64) for i in range(40)]
    with hotplate.Executor(gpu, max_in_flight=4) as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        results = executor.map(gpu.vector_add, many, many, timeout=PATIENCE, chunksize=8)
        for i, result in enumerate(results):
            np.testing.assert_array_equal(result, 2 * many[i])
        # The shortest iterable ends it, and the exception comes where its value would.
        results = executor.map("vector_add", [many[0], many[1]], [many[0], many[1][:2], many[2]])
        np.testing.assert_array_equal(next(results), 2 * many[0])
        with pytest.raises(ValueError):
            next(results)


def test_an_executor_shuts_down(gpu):
    executor = hotplate.Executor(gpu)
    futures = [executor.submit(gpu.vector_add, A, A) for _ in range(20)]
    executor.shutdown()
    assert all(future.done() for future in futures)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(gpu.vector_add, A, A)
    executor.shutdown()


def test_an_executor_is_not_shut_down_in_a_callback(gpu):
    executor = hotplate.Executor(gpu)
    first, other = (executor.submit("integrate2d", **LONG) for _ in range(2))
    told = concurrent.futures.Future()

    def shut_down(_):
        try:
            with pytest.raises(RuntimeError, match="would be for ever"):
                executor.shutdown()
            other.cancel()
            executor.shutdown()  # nothing is left to wait for
            told.set_result(True)
        except BaseException as error:
            told.set_exception(error)

    first.add_done_callback(shut_down)
    wait_until(first.running, "the first call ran")
    gpu.cancel(first.job_id)
    assert told.result(PATIENCE)


def test_shutdown_can_cancel_what_does_not_run(gpu):
    executor = hotplate.Executor(gpu, max_in_flight=1)
    first = executor.submit("integrate2d", **LONG)
    queued = [executor.submit("integrate2d", **LONG) for _ in range(5)]
    wait_until(first.running, "the first call ran")
    assert not any(future.running() for future in queued)
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in queued)
    assert not first.cancelled()
    assert first.cancel()
    executor.shutdown()


def test_no_more_are_in_flight_than_asked_for(gpu):
    executor = hotplate.Executor(gpu, max_in_flight=2)
    futures = [executor.submit("integrate2d", **LONG) for _ in range(4)]

    def mine():
        return gpu.jobs(own_session=True, active_only=True)

    wait_until(lambda: len(mine()) == 2, "two jobs were with the daemon")
    assert futures[2].job_id == futures[3].job_id == ""
    assert futures[3].cancel(), "one that waits here"
    assert futures[0].cancel()
    wait_until(lambda: futures[2].job_id, "the next one was started in its place")
    for future in futures:
        future.cancel()
    executor.shutdown()
    wait_until(lambda: not mine(), "all jobs ended")


def test_ctrl_c_in_one_start_leaves_the_others(gpu, monkeypatch):
    executor = hotplate.Executor(gpu, max_in_flight=1)
    first = executor.submit("integrate2d", **LONG)
    futures = [executor.submit("vector_add", A, A) for _ in range(3)]
    begin, interrupted = hotplate.futures.CallFuture._begin, []

    def interrupt(future, *call):
        if future is futures[0]:
            interrupted.append(True)
            future._ended(None, KeyboardInterrupt())
            raise KeyboardInterrupt
        begin(future, *call)

    monkeypatch.setattr(hotplate.futures.CallFuture, "_begin", interrupt)
    with pytest.raises(KeyboardInterrupt):
        # On this thread, as the first one's end would on its own.
        executor._room = 2
        executor._start_more()
    assert interrupted
    for future in futures[1:]:
        np.testing.assert_array_equal(future.result(PATIENCE), A + A)
    first.cancel()
    executor.shutdown()


def test_an_executor_without_a_client_connects(daemon, monkeypatch):
    monkeypatch.setenv("HOTPLATE_DIR", str(daemon.directory))
    with hotplate.Executor() as executor:
        np.testing.assert_array_equal(executor.submit("vector_add", A, A).result(PATIENCE), A + A)


def test_an_executor_is_of_a_client(gpu):
    with pytest.raises(TypeError, match="client is 4; it must be a hotplate.Client, or None.* max_in_flight"):
        hotplate.Executor(4)  # as a ThreadPoolExecutor counts its threads


def test_an_executor_says_what_it_takes(gpu):
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="max_in_flight"):
            hotplate.Executor(gpu, max_in_flight=bad)
    with hotplate.Executor(gpu) as executor:
        with pytest.raises(TypeError, match="3 is a int: pass a kernel"):
            executor.submit(3, A)


def test_progress_is_told(gpu):
    told = []
    gpu.submit("integrate2d", n=20_000, progress=lambda fraction, text: told.append((fraction, text))).result(PATIENCE)
    assert all(0 <= fraction <= 1 for fraction, _ in told)
    texts = [text for _, text in told]
    assert "running" in texts
    with pytest.raises(ZeroDivisionError):
        gpu.submit("integrate2d", progress=lambda fraction, text: 1 / 0, **LONG).result(PATIENCE)
    assert isinstance(gpu.submit("selu", A, progress=3).exception(PATIENCE), TypeError)


def test_progress_as_a_bar_of_tqdm(daemon, gpu, monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto")
    bars = []

    class Bar(tqdm.tqdm):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            bars.append(self)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    for call in (lambda: gpu.integrate2d(n=20_000, progress=True),
                 lambda: gpu.submit("integrate2d", n=20_000, progress=True).result(PATIENCE)):
        shown = io.StringIO()
        monkeypatch.setattr("sys.stderr", shown)
        call()
        assert "integrate2d: running" in shown.getvalue() and "%|" in shown.getvalue()
        assert bars.pop().disable, "closed"
    with pytest.raises(ValueError):
        gpu.integrate2d(n=-1, progress=True)
    assert bars.pop().disable, "closed after an error"
    with daemon.connect() as closed:
        closed.integrate2d(n=10)
    for call in (lambda: closed.submit("integrate2d", n=10, progress=True).result(),
                 lambda: asyncio.run(closed.aio.integrate2d(n=10, progress=True))):
        with pytest.raises(RuntimeError, match="this client is closed"):
            call()
        assert bars.pop().disable, "closed with nothing begun"


def test_progress_as_a_line_on_a_terminal(gpu, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    monkeypatch.setattr("sys.stderr", terminal)
    gpu.integrate2d(n=20_000, progress=True)
    assert "integrate2d: running" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r"), "the line is cleared at the end"
    monkeypatch.setattr("sys.stderr", io.StringIO())
    gpu.integrate2d(n=2000, progress=True)
    assert not sys.stderr.getvalue(), "not a terminal"
