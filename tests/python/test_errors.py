"""Which exception is raised for which refusal of the daemon's."""

import json
import pickle

import hotplate as hp
import numpy as np
import pytest
from conftest import Daemon, wait_until

A = np.arange(6.0).reshape(2, 3)
ENDLESS = {"resolution": 8000, "max_iterations": 1_000_000}


# Memory, and other limits.


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A client of a daemon with room for arrays of 4 MB in all, of 1 MB each."""
    running = Daemon("--array-bytes", "4000000", "--max-array-bytes", "1000000",
                     "--path-root", tmp_path_factory.getbasetemp())
    with running.connect() as client:
        yield client
    running.stop()


def saved(folder, elements):
    path = folder / "x.npy"
    np.save(path, np.zeros(elements))
    return path


@pytest.mark.parametrize("call", [
    lambda gpu, folder: gpu.array(np.zeros(1_000_000)),
    lambda gpu, folder: gpu.selu(np.zeros(1_000_000)),
    lambda gpu, folder: gpu.selu(saved(folder, 1_000_000)),
    lambda gpu, folder: gpu.full(n=1_000_000),
    lambda gpu, folder: gpu.check("full", n=1_000_000),
], ids=["array", "input", "file", "output", "check"])
def test_what_never_fits_is_a_memory_error_without_a_time_to_try_again(small, tmp_path, call):
    with pytest.raises(MemoryError, match="max-array-bytes") as refused:
        call(small, tmp_path)
    assert type(refused.value) is hp.OutOfMemory and refused.value.code == "RESOURCE_EXHAUSTED"
    assert refused.value.retry_after is None


def test_what_does_not_fit_now_is_a_memory_error_too(small):
    held = [small.array(np.zeros(120_000)) for _ in range(4)]
    with pytest.raises(MemoryError, match="array-bytes.*free arrays") as refused:
        small.array(np.zeros(120_000))
    assert type(refused.value) is hp.OutOfMemory and refused.value.retry_after > 0
    with pytest.raises(MemoryError) as failed:
        small.vector_add(held[0], held[1])
    error = failed.value
    assert type(error) is hp.JobOutOfMemory and isinstance(error, hp.JobFailed) and error.state == "FAILED"
    assert error.job_id and small.job(error.job_id)["state"] == "FAILED"
    del held


def test_a_full_queue_is_no_lack_of_memory(start_daemon):
    with start_daemon("--lanes", "1", "--queue", "1").connect() as gpu:
        running = gpu.submit_detached("mandelbrot", **ENDLESS)
        wait_until(lambda: gpu.job(running)["state"] == "RUNNING", "the job runs")
        waiting = gpu.submit_detached("mandelbrot", **ENDLESS)
        with pytest.raises(hp.Busy, match="the queue is full") as refused:
            gpu.submit_detached("mandelbrot", **ENDLESS)
        assert not isinstance(refused.value, MemoryError) and refused.value.retry_after > 0
        with pytest.raises(hp.Busy):
            gpu.mandelbrot(**ENDLESS)
        for job_id in (waiting, running):
            gpu.cancel(job_id)


@pytest.mark.parametrize("call", [
    lambda gpu: gpu.submit_detached("selu", A, device="x" * 9_000_000),
    lambda gpu: gpu.free("x" * 80_000_000),
], ids=["refused by the daemon", "refused by its gRPC"])
def test_a_message_that_is_too_large_is_a_value_error(gpu, call):
    with pytest.raises(ValueError, match="message-bytes") as refused:
        call(gpu)
    assert isinstance(refused.value, hp.InvalidCall) and refused.value.retry_after is None


@pytest.mark.parametrize("message", ["9 jobs hold 8 bytes of memory; try again later", ""])
def test_no_exception_is_chosen_by_the_words_of_its_message(message):
    def kind(fields, end=None):
        told = [(field, message) for field in fields]
        return type(hp.errors.from_status("RESOURCE_EXHAUSTED", message, told, "", end, None))

    assert kind([]) is hp.Busy
    assert kind(["memory"]) is kind(["inputs.x"]) is kind(["device"]) is hp.OutOfMemory
    assert kind(["message"]) is hp.InvalidCall
    assert kind([], {"state": "FAILED"}) is hp.JobOutOfMemory and kind([], {"state": "TIMEOUT"}) is hp.JobTimeout


def test_a_wrong_token_is_a_permission_error(start_daemon):
    daemon = start_daemon()
    record = daemon.directory / "servers/local.json"
    told = json.loads(record.read_text())
    told["token"] = "0" * len(told["token"])
    record.write_text(json.dumps(told))
    with pytest.raises(PermissionError, match="does not accept the token") as refused:
        daemon.connect()
    assert isinstance(refused.value, hp.NotAllowed) and refused.value.code == "UNAUTHENTICATED"


def test_a_file_that_is_not_there_is_a_file_not_found_error(start_daemon, tmp_path):
    with start_daemon("--path-root", tmp_path).connect() as gpu:
        with pytest.raises(FileNotFoundError, match="missing.npy") as refused:
            gpu.selu(tmp_path / "missing.npy")
        error = pickle.loads(pickle.dumps(refused.value))
        for one in (refused.value, error):
            assert type(one) is hp.errors.NoSuchFile and isinstance(one, hp.NotFound) and one.code == "NOT_FOUND"
        with pytest.raises(FileNotFoundError):
            gpu.submit(gpu.selu, tmp_path / "missing.npy").result()
        freed = gpu.array(A)
        freed.free()
        with pytest.raises(KeyError) as gone:
            gpu.selu(freed)
        assert not isinstance(gone.value, OSError)
