"""Futures as arguments of other calls."""

import concurrent.futures
import gc
import weakref

import hotplate as hp
import numpy as np
import pytest
from conftest import PATIENCE, wait_until

A = np.random.default_rng(1).random((40, 40))
LONG = {"n": 10_000_000}


def test_a_chain_that_waits_nowhere(gpu):
    product = gpu.submit("matmul", A, A)
    for _ in range(20):
        product = gpu.submit("matmul", product, A / 20)
    expected = A @ A
    for _ in range(20):
        expected = expected @ (A / 20)
    np.testing.assert_allclose(product.result(PATIENCE), expected)


def test_the_daemon_passes_a_result_on(gpu):
    first = gpu.submit("integrate2d", **LONG)  # holds up what comes after it
    second = gpu.submit("vector_add", first.output("value"), 1.0)
    wait_until(lambda: any(job["kernel"] == "vector_add" and job["waits_for"] for job in gpu.jobs()), "the second waits for the first")
    assert first.cancel()
    with pytest.raises(hp.JobCancelled, match="was cancelled on request"):
        second.result(PATIENCE)


def test_a_failure_is_the_futures(gpu):
    singular = gpu.submit("solve", np.zeros((3, 3)), np.ones(3))
    after = gpu.submit("vector_add", singular, np.ones(3))
    with pytest.raises((hp.JobFailed, np.linalg.LinAlgError, hp.InvalidCall)) as failed:
        after.result(PATIENCE)
    assert "singular" in str(failed.value)


def test_one_of_several_results(gpu):
    parts = gpu.submit("svd", A)
    largest = gpu.submit("norm", parts.output("s"), ord=np.inf)
    assert largest.result(PATIENCE) == pytest.approx(np.linalg.norm(A, 2))
    assert gpu.norm(parts.output("s"), ord=np.inf) == pytest.approx(np.linalg.norm(A, 2))  # it is done
    with pytest.raises(TypeError, match="no result 'q'; it has u, s, vt"):
        gpu.norm(parts.output("q"))
    for several in (parts, gpu.submit("svd", A)):
        with pytest.raises(TypeError, match=r"the results u, s, vt: pass one of them, future.output\('u'\)"):
            gpu.norm(several)


def test_results_that_are_there_already(gpu):
    product = gpu.submit("matmul", A, A)
    assert product.result(PATIENCE) is not None
    np.testing.assert_allclose(gpu.matmul(product, A), A @ A @ A)


def test_blocking_calls_take_them(gpu):
    np.testing.assert_allclose(gpu.matmul(gpu.submit("matmul", A, A), A), A @ A @ A)


def test_large_ones_whose_inputs_are_on_their_way(gpu):
    large = np.ones(3_000_000)  # is uploaded first
    total = gpu.submit("vector_add", gpu.submit("vector_add", large, large), large)
    assert total.result(PATIENCE).sum() == 9_000_000


def test_functions_take_them_and_give_them(gpu):
    @gpu.function
    def double(x):
        return 2 * x

    doubled = gpu.submit(double, gpu.submit("matmul", A, A))
    np.testing.assert_allclose(gpu.matmul(doubled, A), 2 * A @ A @ A)
    np.testing.assert_allclose(double(gpu.submit("matmul", A, A)), 2 * A @ A)


def test_an_executors_futures(gpu):
    with hp.Executor(gpu, max_in_flight=1) as executor:
        first = executor.submit(gpu.matmul, A, A)
        second = gpu.submit("matmul", first, A)
        np.testing.assert_allclose(second.result(PATIENCE), A @ A @ A)


def test_a_future_of_another_library_is_refused(gpu):
    future = concurrent.futures.Future()
    with pytest.raises(TypeError, match="pass its .result"):
        gpu.matmul(future, A)
    with pytest.raises(TypeError, match="pass its .result"):
        gpu.submit("matmul", future, A).result(PATIENCE)


def test_a_cancelled_call_that_waits_for_an_argument_never_runs(gpu):
    first = gpu.submit("integrate2d", **LONG)
    second = gpu.submit("vector_add", first.output("value"), 1.0)
    assert second.cancel()
    assert first.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        second.result(PATIENCE)


def test_a_chain_does_not_keep_what_came_before(gpu):
    first = gpu.submit("matmul", A, A)
    gone = weakref.ref(first)
    second = gpu.submit("matmul", first, A)
    second.result(PATIENCE)
    del first
    wait_until(lambda: (gc.collect(), gone() is None)[1], "the first is gone")


def test_results_that_land_in_memory_of_yours(gpu):
    for _ in range(10):
        out = np.empty_like(A)
        gpu.submit("matmul", gpu.submit("matmul", A, A), A, out=out).result(PATIENCE)
        np.testing.assert_allclose(out, A @ A @ A)


def test_a_part_is_cancelled_with_its_call(gpu):
    call = gpu.submit("integrate2d", **LONG)
    part = call.output("value")
    assert not part.cancel()
    assert call.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        part.result(PATIENCE)


def test_where_they_stand_for_nothing(gpu):
    call = gpu.submit("matmul", A, A)
    with pytest.raises(TypeError, match="a result that is yet to come"):
        np.asarray(call)
    total = gpu.submit("norm", A)
    np.testing.assert_allclose(gpu.selu(A, alpha=total), np.where(A > 0, A, 0) * gpu.selu(np.ones(1))[0], rtol=1e-6)
