"""A client whose daemon is started anew under its name: it goes over by itself, and whatever was under way begins again there."""

import threading
import time

import hotplate as hp
import numpy as np
import pytest
from conftest import PATIENCE, wait_until

BIG = np.random.default_rng(3).random((700, 700))
X = np.arange(6.0)[::-1].copy()


@pytest.fixture
def gpu(started):
    # However long the start takes: no job follows on a daemon of this machine, for which a client would wait by itself.
    with started.connect(retries=1000) as client:
        yield client


@pytest.fixture
def started(start_daemon):
    return start_daemon("--lanes", "1", "--drain-timeout", "0s")


def killed_and_started(daemon):
    daemon.kill()
    daemon.start()


def ended_and_started(daemon):
    daemon.end()
    daemon.start()


@pytest.mark.parametrize("anew", [ended_and_started, killed_and_started])
def test_the_next_call_is_the_new_ones(started, gpu, anew):
    generation = gpu.info()["generation"]
    for _ in range(2):
        anew(started)
        np.testing.assert_array_equal(gpu.sort(X), np.sort(X))
    assert gpu.info()["generation"] != generation and gpu.info()["pid"] == started.process.pid
    assert gpu.same_daemon(gpu)
    with started.connect() as other:
        assert gpu.same_daemon(other)


def test_a_client_that_is_idle_meanwhile_finds_out_whatever_it_asks_first(started, gpu):
    for ask in (gpu.info, gpu.jobs, lambda: gpu.array(X), lambda: gpu.submit(gpu.sort, X).result(), lambda: gpu.eval("x + 1", x=X),
                lambda: gpu.wait(gpu.submit_detached("sort", X)), lambda: gpu.function(np.median)(X)):
        ended_and_started(started)
        ask()


# A daemon that ends in order cancels the jobs of callers who wait, and says so; detached ones wait for the next.
@pytest.mark.parametrize("call, anew", [
    (lambda gpu: gpu.svd(BIG, compute_uv=False), killed_and_started),
    (lambda gpu: gpu.submit(gpu.svd, BIG, compute_uv=False).result(), killed_and_started),
    (lambda gpu: gpu.wait(gpu.submit_detached("svd", BIG, compute="values")).s, killed_and_started),
    (lambda gpu: gpu.wait(gpu.submit_detached("svd", BIG, compute="values")).s, ended_and_started),
], ids=["run", "submit", "detached", "detached, in order"])
def test_what_was_under_way_begins_again(started, gpu, call, anew):
    """With inputs that were uploaded, which went with the daemon."""
    blocker = gpu.submit_detached("integrate2d", n=10_000_000)  # until then nothing else runs
    came = []
    caller = threading.Thread(target=lambda: came.append(call(gpu)))
    caller.start()
    wait_until(lambda: len(gpu.jobs(active_only=True)) == 2, "the job waits")
    anew(started)
    gpu.cancel(blocker)
    caller.join(PATIENCE)
    np.testing.assert_allclose(came[0], np.linalg.svd(BIG, compute_uv=False), rtol=1e-9)


def test_arrays_with_a_name_and_a_lease_are_there_again(started, gpu):
    A, whole, B = gpu.array(X, name="A", lease="1h"), gpu.array(BIG, name="whole", lease="1h"), gpu.array(X)
    before = A.id
    with started.connect() as another:
        replaced = gpu.array(X, name="replaced", lease="1h")
        another.array(BIG, name="replaced", lease="1h", replace=True)
    ended_and_started(started)
    assert {one.name: one.id for one in gpu.arrays}["A"] == A.id == before
    with pytest.raises(KeyError):
        replaced.numpy()  # and not another's array of that name
    with pytest.raises(KeyError):
        replaced.free()
    np.testing.assert_array_equal(A.numpy(), X)
    np.testing.assert_array_equal(A[1:3].numpy(), X[1:3])
    np.testing.assert_array_equal((2 * A + 1).numpy(), 2 * X + 1)
    np.testing.assert_array_equal(gpu.sort(A).numpy(), np.sort(X))
    np.testing.assert_array_equal(whole[3, :5].numpy(), BIG[3, :5])
    A.renew("2h")
    # Of what is gone nothing else is read: ids go on behind those of before.
    there = [gpu.array(X + i) for i in range(10)]
    assert {one.id for one in there}.isdisjoint({before, B.id})
    with pytest.raises(KeyError, match=f'no array "{B.id}".*the daemon was started anew since this client connected'):
        B.numpy()
    with pytest.raises(KeyError, match=f'"{B.id}"'):
        gpu.sort(B)
    A.free()
    assert "A" not in [one.name for one in gpu.arrays]


def test_an_array_that_a_job_kept_under_a_name_too(started, gpu):
    kept = gpu.sort(X, keep="kept", lease="1h")
    ended_and_started(started)
    np.testing.assert_array_equal(kept.numpy(), np.sort(X))


def test_the_first_call_of_a_function_too_whichever_way_it_is_called(started, gpu):
    median = gpu.function(np.median)
    assert median(X) == 2.5
    for call in (lambda: median(X), lambda: median.submit(X).result(PATIENCE), lambda: next(iter(median.map([X])))):
        ended_and_started(started)
        assert call() == 2.5


def test_a_function_that_was_running_is_not_run_again(started, gpu, tmp_path):
    def once(path):
        import time

        with open(path, "a") as file:
            file.write("begun\n")
        time.sleep(3600)

    future = gpu.submit(once, str(tmp_path / "runs"))
    wait_until(lambda: (tmp_path / "runs").exists() and (tmp_path / "runs").read_text(), "it runs")
    killed_and_started(started)
    with pytest.raises(hp.ConnectionFailed, match="the function may have run in part"):
        future.result(PATIENCE)
    gpu.sort(X)
    assert (tmp_path / "runs").read_text() == "begun\n"


def test_arrays_stay_while_a_client_that_has_gone_over_is_there(start_daemon):
    daemon = start_daemon("--session-timeout", "1s", "--disconnect-grace", "200ms")
    with daemon.connect(retries=1000) as gpu:
        before = gpu.array(X)
        ended_and_started(daemon)
        A = gpu.array(X)
        time.sleep(3)  # three times as long as sessions without a client last
        np.testing.assert_array_equal(A.numpy(), X)
        with pytest.raises(KeyError):
            before.numpy()


def test_after_its_end_it_is_gone_at_once(started):
    with started.connect() as gpu:
        started.end()
        with pytest.raises(hp.ConnectionFailed, match="it has ended"):
            gpu.info()
