"""Calls of a graph as futures of the standard library, their order, and the errors along them."""

import concurrent.futures
import gc
import threading
import weakref

import hotplate as hp
import numpy as np
import pytest
from conftest import PATIENCE, wait_until
from test_graphs import BOTH, LONG, A

SINGULAR = np.zeros((3, 3)), np.ones(3)


# Order.


@BOTH
def test_a_name_leaves_a_call_in_its_place(gpu, detached):
    with gpu.graph(detached=detached) as g:
        gram = gpu.matmul(A, A)
        norm = gpu.norm(gram)
        assert gram.named("gram") is gram
        with pytest.raises(ValueError, match="there is a node 'gram' already"):
            norm.named("gram")
        gpu.norm(A).named("matmul")  # which is free
    assert norm.result(PATIENCE) == pytest.approx(np.linalg.norm(A @ A))
    assert [call.name for call in g._calls] == [job["node"] for job in g.jobs] == ["gram", "norm", "matmul"]
    with pytest.raises(ValueError, match=r"named\(\) of \[gram\] is for the block .* which has ended"):
        gram.named("late")


def test_a_call_of_a_block_that_was_left_has_no_new_name(gpu):
    with pytest.raises(ZeroDivisionError):
        with gpu.graph():
            square = gpu.matmul(A, A)
            1 / 0  # noqa: B018
    with pytest.raises(ValueError, match=r"named\(\) of \[matmul\] is for the block"):
        square.named("late")


def test_as_many_calls_as_a_graph_has(gpu):
    before = gpu.jobs()[0]["id"] if gpu.jobs() else ""
    with pytest.raises(ValueError, match=r"graph long-r\w+ has 10000 nodes, and another call is to be noted"):
        with gpu.graph("long"):
            last = gpu.norm(A)
            for _ in range(9_999):
                last = gpu.norm(A).after(last)
            gpu.norm(A)
    assert (gpu.jobs()[0]["id"] if gpu.jobs() else "") == before


# Refusals.


@BOTH
def test_a_refusal_cancels_the_rest(start_daemon, detached):
    with start_daemon("--queue", 3).connect() as gpu:
        with pytest.raises(hp.errors.Busy, match=r"\[vector_add-\d\] the queue is full: (.|\n)*written at .*test_graph_futures.py") as refused:
            with gpu.graph(detached=detached):
                first = gpu.integrate2d(**LONG)
                rest = [gpu.vector_add(first.value, 1.0) for _ in range(8)]
        assert str(refused.value).count("[vector_add") == 1
        wait_until(lambda: {job["state"] for job in gpu.jobs()} == {"CANCELLED"}, "all are cancelled")
        with pytest.raises(ValueError, match=r"\[integrate2d\] was cancelled: the block of graph graph-r\w+ was refused: .*queue is full"):
            first.result()
        with pytest.raises(ValueError, match=r"\[vector_add-8\]"):
            rest[-1].result()
        assert concurrent.futures.wait([first, *rest], PATIENCE).not_done == set()


# Futures.


@BOTH
def test_what_is_done_has_a_result_at_once(gpu, detached):
    large = np.ones(3_000_000)
    for _ in range(3):
        with gpu.graph(detached=detached):
            double = gpu.vector_add(large, large)
        wait_until(double.done, "it is over")
        assert double.result(0)[-1] == 2
    with gpu.graph(detached=detached) as g:
        endless = gpu.integrate2d(**LONG)
    with pytest.raises(concurrent.futures.TimeoutError):
        endless.result(0)
    g.cancel()


@BOTH
def test_callbacks_of_the_block_come(gpu, detached):
    came = []
    with gpu.graph(detached=detached):
        product = gpu.matmul(A, A)
        product.add_done_callback(came.append)
        s = gpu.svd(product).s
        s.add_done_callback(came.append)
    wait_until(lambda: len(came) == 2, "both callbacks have come")
    assert set(map(id, came)) == {id(product), id(s)}
    np.testing.assert_allclose(product.result(0), A @ A)


def test_callbacks_come_when_the_daemon_is_gone(start_daemon, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda told: pytest.fail(f"a thread ended by {told.exc_value!r}"))
    daemon = start_daemon()
    with daemon.connect(reconnect=0, retries=0, connect_timeout=1) as gpu:
        came = []
        with gpu.graph(detached=True):
            endless = gpu.integrate2d(**LONG)
        endless.add_done_callback(came.append)
        wait_until(endless.running, "it runs")
        daemon.kill()
        wait_until(lambda: came, "the callback has come")
        with pytest.raises(hp.errors.ConnectionFailed, match=r"\[integrate2d\]"):
            endless.result(0)


@BOTH
def test_one_of_several_results_ends_with_its_call(gpu, detached):
    with gpu.graph(detached=detached):
        s = gpu.svd(A).s
        endless = gpu.integrate2d(**LONG).value
    if not detached:  # else the library does not hear of it
        assert concurrent.futures.wait([s, endless], PATIENCE, "FIRST_COMPLETED").done == {s}
    wait_until(s.done, "it is over")
    assert s.exception(0) is None and not s.cancelled()
    np.testing.assert_allclose(s.result(0), np.linalg.svd(A)[1])
    assert not s.cancel() and not endless.done()
    assert endless._of.cancel()
    if not detached:
        assert concurrent.futures.wait([endless], PATIENCE).done == {endless} and endless.cancelled()


def test_one_of_several_results_outside_of_blocks(gpu):
    u, wrong = (gpu.submit("svd", A).output(name) for name in ("u", "q"))
    assert concurrent.futures.wait([u, wrong], PATIENCE).not_done == set()
    assert u.result(0).shape == (40, 40)
    assert isinstance(wrong.exception(0), TypeError)
    came = []
    gpu.submit("svd", A).output("s").add_done_callback(came.append)  # which nobody holds
    gc.collect()
    wait_until(lambda: came and came[0].result(0).shape == (40,), "the callback has come")


def test_a_call_that_was_never_sent_is_not_cancelled(gpu):
    with gpu.graph(detached=True) as g:
        singular = gpu.solve(*SINGULAR)
        behind = gpu.vector_add(singular, np.ones(3))
    with pytest.raises(hp.JobFailed):
        behind.result(PATIENCE)
    behind._id = ""  # as of one behind a job that had failed before it was sent
    assert behind.cancel() is False and singular.cancel() is False
    g.cancel()


def test_a_detached_call_does_not_hold_its_arrays(gpu):
    x = np.ones(1000)
    held = weakref.ref(x)
    with gpu.graph(detached=True):
        first = gpu.integrate2d(**LONG)
        double = gpu.vector_add(x, x).after(first)
    del x
    gc.collect()
    assert held() is None and not double.done()
    first.cancel()


# Errors.


def test_the_first_cause_is_told_along_a_chain(gpu):
    with gpu.graph() as g:
        first = gpu.solve(*SINGULAR).named("first")
        last = first
        for _ in range(60):
            last = gpu.vector_add(last, np.ones(3))
    with pytest.raises(hp.JobFailed) as failed:
        last.result(PATIENCE)
    assert str(failed.value).startswith("[vector_add-60] it depends on ")
    wait_until(lambda: all(call.done() for call in g._calls), "all are over")
    causes = [str(error) for call in g._calls[1:] if (error := call.exception(0))]
    assert len(causes) == 60 and all("singular" in cause and len(cause) < 300 for cause in causes)
    # The daemon's words, if the end of the one behind it came first.
    assert all("it depends on [first], which failed: " in cause or "(solve) FAILED: " in cause for cause in causes)


def test_a_cancelled_call_is_the_cause(gpu):
    with gpu.graph():
        first = gpu.integrate2d(**LONG)
        second = gpu.vector_add(first.value, 1.0)
        third = gpu.vector_add(second, 1.0)
    first.cancel()
    for call in (second, third):
        with pytest.raises(hp.JobCancelled, match=rf"^\[{call.name}\] it depends on \[integrate2d\], which was cancelled$"):
            call.result(PATIENCE)


@BOTH
def test_waiting_twice_tells_the_same(gpu, detached):
    with gpu.graph(detached=detached) as g:
        singular = gpu.solve(*SINGULAR)
        gpu.vector_add(singular, np.ones(3))
    told = []
    for _ in range(3):
        with pytest.raises(hp.Error, match="1 more of 2 nodes did not complete") as failed:
            g.wait()
        told.append(str(failed.value))
    assert told[0] == told[1] == told[2]
    assert "more of" not in str(singular.exception())
