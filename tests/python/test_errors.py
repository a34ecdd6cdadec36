"""Which exception is raised for which refusal of the daemon's, and what is said of an argument that makes no sense."""

import datetime
import json
import pathlib
import pickle
import re
import subprocess

import hotplate as hp
import numpy as np
import pytest
from conftest import BIN, Daemon, wait_until

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
    assert kind(["memory"], {"state": "FAILED"}) is hp.JobOutOfMemory
    assert kind([], {"state": "FAILED"}) is kind(["outputs.out"], {"state": "FAILED"}) is hp.JobFailed
    assert kind(["memory"], {"state": "TIMEOUT"}) is hp.JobTimeout
    outside = [hp.errors.from_status("OUT_OF_RANGE", message, [], "", end, None) for end in (None, {"state": "FAILED"})]
    assert [type(error) for error in outside] == [hp.errors.OutOfBounds, hp.errors.JobOutOfBounds]


def test_a_wrong_token_is_a_permission_error(start_daemon):
    daemon = start_daemon()
    record = daemon.directory / "servers/local.json"
    told = json.loads(record.read_text())
    told["token"] = "0" * len(told["token"])
    record.write_text(json.dumps(told))
    with pytest.raises(PermissionError, match="does not accept the token") as refused:
        daemon.connect()
    assert isinstance(refused.value, hp.NotAllowed) and refused.value.code == "UNAUTHENTICATED"


# Arguments that make no sense, and such that Python users expect to be taken.


@pytest.mark.parametrize("call, kind, says", [
    (lambda gpu: gpu.free(3), TypeError, "array is 3; it must be a hotplate.Array, or the name or id of one, as a str"),
    (lambda gpu: gpu.free("\udcff"), ValueError, r"array is '\\udcff', which is no text in UTF-8"),
    (lambda gpu: gpu.array(name=5), TypeError, "name is 5; it must be a str"),
    (lambda gpu: gpu.array(A, name=b"A"), TypeError, "name is b'A'; it must be a str"),
    (lambda gpu: gpu.array(A, lease="10 min"), ValueError, "lease is '10 min', which is no duration; say 30, '30s', '5m', '2h' or '1h30m'"),
    (lambda gpu: gpu.array(A, lease=b"10m"), TypeError, "lease is b'10m'; it must be seconds, a text like '2h', or a timedelta"),
    (lambda gpu: gpu.array(A, lease=-1), ValueError, "lease is -1; it must not be negative"),
    (lambda gpu: gpu.array(A, lease=float("nan")), ValueError, "lease is nan; it must not be negative"),
    (lambda gpu: gpu.selu(A, keep=True, lease="-1h"), ValueError, "lease is '-1h', which is no duration"),
    (lambda gpu: gpu.selu(A, deadline=[1]), TypeError, r"deadline is \[1\]; it must be seconds"),
    (lambda gpu: gpu.selu(A, time_limit=datetime.timedelta(days=-1)), ValueError, "time_limit is .*; it must not be"),
    (lambda gpu: gpu.selu(A, deadline=10**400), ValueError, "deadline is 1000.*000, which is no float"),
    (lambda gpu: gpu.selu(A, deadline=[10**5000]), TypeError, "deadline is .an integer of 16610 bits.; it must be"),
    (lambda gpu: gpu.selu(A, deadline=np.timedelta64(2, "M")), TypeError, "deadline is .*; it must be seconds"),
    (lambda gpu: gpu.selu(A, deadline=np.timedelta64("NaT", "s")), ValueError, "deadline is NaT; it must not be negative"),
    (lambda gpu: gpu.selu(A, deadline=np.datetime64(9, "s")), TypeError, "deadline is .*; it must be seconds"),
    (lambda gpu: gpu.selu(A, alpha=np.timedelta64(2, "s")), TypeError, "alpha is .*; it must be a number"),
    (lambda gpu: gpu.job(3.5), TypeError, "job_id is 3.5; it must be the number of a job, an int or a str"),
    (lambda gpu: gpu.wait(3.5), TypeError, "job_id is 3.5; it must be the number of a job, an int or a str"),
    (lambda gpu: gpu.fetch(None), TypeError, "job_id is None; it must be the number of a job"),
    (lambda gpu: gpu.cancel(3.5), TypeError, "job_id is 3.5; it must be the number of a job, an int or a str"),
    (lambda gpu: gpu.run("\udcff"), ValueError, "the kernel's name is .* no text in UTF-8"),
    (lambda gpu: gpu.svd(A, keep={"u": None}), TypeError, "keep of u is None; it must be True, or a name as a str"),
    (lambda gpu: gpu.svd(A, keep={"u": 5}), TypeError, "keep of u is 5; it must be True"),
    (lambda gpu: gpu.selu(A, alpha=10**400), ValueError, "alpha is 1000.*000, which is no float"),
    (lambda gpu: gpu.selu(A, alpha=10**5000), ValueError, "alpha is an integer of 16610 bits, which is no float"),
    (lambda gpu: gpu.arange(stop=10**5000), ValueError, "stop is an integer of 16610 bits; whole numbers"),
    (lambda gpu: gpu.vector_add(np.ones(2), 10**5000), ValueError, "b is an integer of 16610 bits, which is no"),
    (lambda gpu: gpu.telemetry("2m"), ValueError, "interval is 120 seconds; it must be from 0.1 to 60"),
    (lambda gpu: gpu.telemetry(0), ValueError, "interval is 0 seconds; it must be from 0.1 to 60"),
    (lambda gpu: gpu.array(A).renew("1y"), ValueError, "lease is '1y', which is no duration"),
    (lambda gpu: hp.connect(3), TypeError, "server is 3; it must be a str or a path"),
    (lambda gpu: hp.connect(directory=3), TypeError, "directory is 3; it must be a str or a path"),
    (lambda gpu: hp.connect(endpoint=80), TypeError, "endpoint is 80; it must be a str"),
    (lambda gpu: hp.connect(session=7), TypeError, "session is 7; it must be a str"),
    (lambda gpu: hp.connect(deadline="half"), ValueError, "deadline is 'half', which is no duration"),
    (lambda gpu: hp.connect(connect_timeout=None), TypeError, "connect_timeout is None; it must be seconds"),
    (lambda gpu: hp.connect(reconnect=-2), ValueError, "reconnect is -2; it must not be negative"),
    (lambda gpu: hp.connect(retries="many"), TypeError, "retries is 'many'; it must be an integer"),
    (lambda gpu: hp.connect(retries=2**40), ValueError, "retries is 1099511627776; it must be from 0 to"),
    (lambda gpu: hp.connect(on_connection=3), TypeError, "on_connection is 3; it must be a function"),
    (lambda gpu: gpu.selu("A"), TypeError,
     r"x is 'A': a file is a pathlib.Path, an array of the daemon gpu.array\(name='A'\)"),
    (lambda gpu: gpu.array("x.npy"), TypeError, r"data is 'x.npy': .* gpu.array\(name='x.npy'\)"),
    (lambda gpu: gpu.array(np.ones(2, np.longdouble)), TypeError, "data is of dtype (float|longdouble).*astype"),
])
def test_what_makes_no_sense_is_named_with_its_value(gpu, call, kind, says):
    with pytest.raises(kind, match=says) as refused:
        call(gpu)
    assert isinstance(refused.value, hp.Error) and "_core" not in str(refused.value) and len(str(refused.value)) < 400


# The same words as the command's, for what the daemon refuses.


@pytest.mark.parametrize("call, words", [
    (lambda gpu: gpu.vector_add(np.ones(2), np.ones(3)), ["vector_add", "two.npy", "three.npy"]),
    (lambda gpu: gpu.full(n=10**12), ["full", "--n", "1000000000000"]),
    (lambda gpu: gpu.matmull(A), ["matmull", "two.npy"]),
    (lambda gpu: gpu.selu(np.ones(2), device="gpu7"), ["selu", "two.npy", "--device", "gpu7"]),
    (lambda gpu: gpu.cholesky(-np.eye(2)), ["cholesky", "square.npy"]),
], ids=["shapes", "limit", "kernel", "device", "data"])
def test_a_refusal_says_what_the_command_says(daemon, gpu, tmp_path, call, words):
    for name, array in {"two": np.ones(2), "three": np.ones(3), "square": -np.eye(2)}.items():
        np.save(tmp_path / name, array)
    with pytest.raises((hp.Error, AttributeError)) as refused:
        call(gpu)
    command = subprocess.run([BIN / "hotplate", "run", *words], cwd=tmp_path, env=daemon.environment, capture_output=True,
                             text=True, check=False)
    # Only the command knows files.
    assert str(refused.value) in re.sub(r" \(\w+\.npy\)", "", command.stderr), command.stderr


@pytest.mark.parametrize("call, says", [
    (lambda gpu: gpu.norm(np.eye(2), 2), ["write gpu.svd(x, compute_uv=False).max("]),
    (lambda gpu: gpu.norm(np.ones((2, 2, 2)), 1), ["axis=-1", 'axis="matrices"']),
    (lambda gpu: gpu.random(3, dtype="int32"), ['distribution="integers"']),
])
def test_a_refusal_of_an_argument_speaks_python(gpu, call, says):
    with pytest.raises(ValueError) as refused:
        call(gpu)
    assert not re.search("--[a-z]", str(refused.value)) and all(text in str(refused.value) for text in says), str(refused.value)


@pytest.mark.parametrize("call, kind, says", [
    (lambda gpu: gpu.random(3, seed=-1), ValueError, "seed is -1; it must be 0 or more"),
    (lambda gpu: gpu.array(np.ones(2), lease=True), TypeError, "lease is True; it must be seconds"),
])
def test_what_numpy_and_time_would_not_take_is_refused(gpu, call, kind, says):
    with pytest.raises(kind, match=says):
        call(gpu)


def test_folders_are_paths_and_seconds_are_timedeltas(daemon, gpu):
    def seconds(count):
        return datetime.timedelta(seconds=count)

    with hp.connect(directory=pathlib.Path(daemon.directory), deadline=seconds(30), connect_timeout=seconds(5),
                    reconnect=seconds(120)) as other:
        record = pathlib.Path(daemon.directory) / "servers/local.json"
        hp.connect(record).close()
        array = other.array(A, lease=seconds(600))
        before = array.lease
        array.renew(seconds(3600))
        assert array.lease > before + 2000
        array.renew(np.timedelta64(3, "h"))  # whatever its unit
        assert array.lease > before + 9000
        other.free(array)
        samples = other.telemetry(seconds(0.1))
        assert next(samples).devices
        samples.close()


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


# Looking at what is closed or gone.


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_looking_at_what_is_gone_raises_nothing(start_daemon, end):
    daemon = start_daemon()
    gpu = daemon.connect(connect_timeout=1, reconnect=0, retries=0)
    array = gpu.array(A, name="A")
    gpu.selu(A)
    assert repr(array) == "hotplate.Array([[0., 1., 2.],\n                [3., 4., 5.]], name='A')"
    if end == "closed":
        gpu.close()
    else:
        daemon.kill()
    assert repr(array) == "<hotplate.Array 'A' float64 [2, 3] on local>" and "hotplate.Array on local" in array._repr_html_()
    assert gpu.server == "local"
    assert {"run", "array", "selu"} <= set(dir(gpu)) and "selu" in dir(gpu.aio)
    # A kernel that nobody asked for yet as one that was called: what is wrong is not its name.
    for call in (lambda: gpu.selu(A), lambda: gpu.norm(A), lambda: gpu.run("norm", A)):
        with pytest.raises(ConnectionError if end == "killed" else RuntimeError):
            call()
    gpu.close()
