"""Calls: how kernels look as methods, what they are called with, what comes back, and what is said when it does not."""

import copy
import datetime
import functools
import gc
import inspect
import pathlib
import pickle
import subprocess
import sys
import threading
import time

import hotplate as hp
import numpy as np
import pytest
from conftest import BIN, PATIENCE

A = np.arange(6.0).reshape(2, 3)
TWICE = np.empty(5)


# Kernels as methods.


def test_a_kernel_has_the_specs_signature(gpu):
    signature = inspect.signature(gpu.histogram)
    assert list(signature.parameters)[:2] == ["x", "bins"]
    assert signature.parameters["x"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert signature.parameters["low"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["bins"].default == 10
    assert inspect.signature(gpu.transfer_probe).parameters["direction"].default == "all"
    assert "lambda_" in inspect.signature(gpu.selu).parameters


def test_a_kernel_is_documented_by_its_spec(gpu):
    docs = inspect.getdoc(gpu.matmul)
    for word in ("the matrix product", "transpose_a (bool", "float32, float64, complex64 or complex128", "Returns", "Raises", "Example:\n    >>> gpu.matmul(["):
        assert word in docs
    assert docs.startswith("matmul(a, b, *, transpose_a=False, transpose_b=False, …)\n\n")
    assert gpu.mandelbrot.__doc__.startswith("mandelbrot(*, x_min=")
    assert gpu.matmul.__name__ == "matmul" and gpu.matmul.spec["name"] == "matmul"
    assert repr(gpu.matmul) == "<kernel matmul: c = a b, the matrix product>"


def test_a_kernel_is_copied_as_a_function_is(gpu):
    assert copy.copy(gpu.matmul) is gpu.matmul
    assert copy.deepcopy({"kernel": gpu.matmul})["kernel"] is gpu.matmul


def test_what_is_of_a_connection_is_copied_as_itself_and_not_pickled(gpu):
    assert copy.copy(gpu) is gpu and copy.deepcopy([gpu])[0] is gpu
    for thing in (gpu, gpu.matmul, gpu.aio, functools.partial(gpu.selu, alpha=2.0)):
        with pytest.raises(TypeError, match="<hotplate.Client of local> .* cannot be pickled: "):
            pickle.dumps(thing)


def test_completion_and_the_list_know_all_kernels(gpu):
    assert {"matmul", "svd", "selu", "run", "array"} <= set(dir(gpu))
    assert list(gpu.kernels) == sorted(gpu.kernels) and "kmeans" in gpu.kernels
    assert gpu.kernels["selu"](np.zeros(2)).tolist() == [0, 0]
    assert gpu.matmul is gpu.matmul


def test_an_unknown_kernel_is_a_key_error_with_the_nearest_names(gpu):
    with pytest.raises(KeyError) as refused:
        gpu.run("matmull", A, A)
    assert isinstance(refused.value, hp.UnknownKernel) and refused.value.code == "NOT_FOUND"
    assert str(refused.value) == 'no kernel "matmull". Nearest: matmul.'
    with pytest.raises(AttributeError, match="Nearest: matmul"):
        gpu.matmull
    assert not hasattr(gpu, "matmull") and not hasattr(gpu, "_repr_nothing_")


# Arguments.


def test_inputs_by_position_by_keyword_and_by_name_of_the_kernel(gpu):
    expected = A @ A.T
    np.testing.assert_allclose(gpu.matmul(A, A.T), expected)
    np.testing.assert_allclose(gpu.matmul(A, b=A.T), expected)
    np.testing.assert_allclose(gpu.matmul(b=A.T, a=A), expected)
    np.testing.assert_allclose(gpu.run("matmul", A, A, transpose_b=True), expected)
    np.testing.assert_allclose(gpu.matmul(A, A, transpose_b=True, transpose_a=None), expected)


def test_a_parameter_that_python_cannot_spell(gpu):
    x = np.array([1.0])
    assert gpu.selu(x, lambda_=2.0) == gpu.selu(x, **{"lambda": 2.0}) == 2.0


def test_arrays_that_numpy_has_no_dtype_for(gpu):
    x = gpu.array(A)
    x._dtype = "bfloat16"
    with pytest.raises(TypeError, match="bfloat16, which NumPy has not"):
        gpu.selu(x)
    spec = gpu.selu.spec
    taking = [{**variable, "dtypes": [*variable["dtypes"], "bfloat16"]} for variable in spec["type_variables"]]
    plan = hp.calls.Plan({**spec, "type_variables": taking})
    assert plan.prepare(gpu, [x], {}).inputs == {"x": x._ref}


def test_what_is_too_much_for_the_others_dtype_is_never_cut_off(gpu):
    few = np.array([1, 2], np.int32)
    for number in (2**40, -2**31 - 1):
        try:
            result = gpu.vector_add(few, number)
        except ValueError as refused:  # with NumPy 2
            assert isinstance(refused, hp.InvalidCall) and f"b is {number}, which is no int32" in str(refused)
        else:  # with NumPy 1, which looks at the number and takes a wider dtype
            assert result.tolist() == [1 + number, 2 + number]
    assert gpu.vector_add(few, 2**30).dtype == np.int32


@pytest.mark.parametrize("call, says", [
    (lambda gpu: gpu.matmul(A), "matmul needs a and b; b is missing"),
    (lambda gpu: gpu.vector_add(A, A, A), "vector_add takes 2 arrays (a, b); 3 were given"),
    (lambda gpu: gpu.matmul(A, A.T, None, 4), "matmul takes a, b, out by position; 4 were given"),
    (lambda gpu: gpu.matmul(A, A.T, a=A), "matmul got a twice"),
    (lambda gpu: gpu.matmul(A, A.T, transpose=True), "no argument 'transpose'; did you mean"),
    (lambda gpu: gpu.mandelbrot(10), "mandelbrot takes no arrays; 1 were given. Parameters are keywords: x_min"),
    (lambda gpu: gpu.arange(start=1), "arange needs stop=: end of the range, excluded"),
    (lambda gpu: gpu.matmul(A, A.T, transpose_a=1), "transpose_a is 1; it must be True or False"),
    (lambda gpu: gpu.selu(A, alpha="1"), "alpha is '1'; it must be a number"),
    (lambda gpu: gpu.matmul(A.astype(int), A.T.astype(int)), "takes a and b of one dtype, complex128, complex64, float32 or float64; a is int64 and b is int64"),
    (lambda gpu: gpu.selu(np.ma.masked_array([1.0, 2.0])), "x is a masked array"),
    (lambda gpu: gpu.selu(A, lease=3), "say keep=True"),
    (lambda gpu: gpu.selu(A, priority="high"), "priority is 'high'; it must be an integer from -100 to 100"),
    (lambda gpu: gpu.selu(A, device=0), "device is 0; it must be a str"),
    (lambda gpu: gpu.selu(A, time_limit=b"1h"), "time_limit is b'1h'; it must be seconds, a text like '2h', or a timedelta"),
    (lambda gpu: gpu.selu(A, keep=True, out=A), "out= and keep= exclude each other"),
    (lambda gpu: gpu.svd(A, keep="A"), "name them"),
    (lambda gpu: gpu.svd(A, keep={"q": "A"}), "svd has no output 'q'"),
    (lambda gpu: gpu.selu(A, out=[1]), "out is a list"),
    (lambda gpu: gpu.selu(A, out=np.ma.masked_array(A, A > 2)), "out is a masked array"),
    (lambda gpu: gpu.selu(A, 1.67), "selu takes 1 array (x); 2 were given. Parameters are keywords: alpha"),
    (lambda gpu: gpu.selu(None), "x is a NoneType, which is no array"),
    (lambda gpu: gpu.submit_detached("selu", A, out=A), "out= is for a call that is waited for"),
    (lambda gpu: gpu.svd(A, out=A), "out must be a tuple or a dict"),
    (lambda gpu: gpu.run(7), "the kernel's name is 7; it must be a str"),
    (lambda gpu: gpu.array(), "array() needs data"),
])
def test_a_type_error_says_what_there_is(gpu, call, says):
    with pytest.raises(TypeError) as refused:
        call(gpu)
    assert says in str(refused.value)


@pytest.mark.parametrize("call, says", [
    (lambda gpu: gpu.matmul(A, A), "inner sizes differ: a is [2, 3], b is [2, 3]"),
    (lambda gpu: gpu.kmeans(A, A, max_iterations=0), "max_iterations is 0; it must be an integer from 1 to 1000000"),
    (lambda gpu: gpu.full(n=2**70), "no 64-bit integer"),
    (lambda gpu: gpu.matmul(A, A.T, device="gpu7"), 'no device "gpu7"; there are cpu0'),
    (lambda gpu: gpu.matmul(A, A.T, precision="f8"), "precision is 'f8'"),
    (lambda gpu: gpu.matmul(A, A.T, time_limit=-1), "-1"),
    (lambda gpu: gpu.svd(A, out=(None, None)), "out has 2 arrays; svd has the outputs u, s and vt"),
    (lambda gpu: gpu.sort_by_key(A[0], A[1], out=(TWICE[:3], TWICE[2:5])),
     "out: sorted_keys and sorted_values are to land in the same memory"),
    (lambda gpu: gpu.groupby_sum(np.zeros(3, int), A[0], out={"sums": np.zeros(3)}), "the data decide"),
])
def test_a_value_error_says_what_is_wrong(gpu, call, says):
    with pytest.raises(ValueError) as refused:
        call(gpu)
    assert says in str(refused.value)


def test_a_refusal_has_its_code_and_its_fields(gpu):
    with pytest.raises(hp.InvalidCall) as refused:
        gpu.kmeans(A, A, max_iterations=0)
    assert refused.value.code == "INVALID_ARGUMENT" and refused.value.job_id == ""
    assert [field for field, _ in refused.value.violations] == ["params.max_iterations"]


def test_a_file_that_the_daemon_reads_itself(start_daemon, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", A)
    gpu = start_daemon("--path-root", tmp_path).connect()
    np.testing.assert_allclose(gpu.matmul(tmp_path / "x.npy", A.T), A @ A.T)
    assert gpu.last_receipt.load_ns is not None and gpu.last_receipt.store_ns is None
    monkeypatch.chdir(tmp_path.parent)
    np.testing.assert_allclose(gpu.matmul(pathlib.Path(tmp_path.name, "x.npy"), A.T), A @ A.T)
    with pytest.raises(Exception, match="nothing.npy"):
        gpu.selu(tmp_path / "nothing.npy")


def test_priority_device_and_durations_reach_the_job(gpu):
    assert gpu.selu(A, priority=7, device="cpu0", time_limit=datetime.timedelta(minutes=1), deadline=60).shape == (2, 3)
    newest = gpu.jobs()[0]
    assert (newest["priority"], newest["device"], newest["state"]) == (7, "cpu0", "COMPLETED")


@pytest.mark.parametrize("lease, length", [("2h", 7200), (7200, 7200), ("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("300", 300),
                                           (np.int64(90), 90), ("90500ms", 90.5), (datetime.timedelta(minutes=2), 120)])
def test_durations_are_numbers_texts_and_timedeltas(gpu, lease, length):
    for array in (gpu.array(A, lease=lease), gpu.selu(A, keep=True, lease=lease)):
        assert 0 <= length - (array.lease - time.time()) < PATIENCE
        array.renew(lease)
        array.free()


def test_durations_are_the_commands(gpu, environment):
    """One text means the same here and there; what is none is none in both."""
    for text in ("30", "30s", "1.5h", "1h30m", "500ms", "2m.5s", "", "s", "-1", "1d", "1 h", "1w 2d", " 5s ", "5 us",
                 "1 y", "1h30", "h1", "1e3", "٣s"):
        done = subprocess.run([BIN / "hotplate", "run", "integrate2d", "--n=4", "--dry-run", f"--time-limit={text}"],
                              env=environment, capture_output=True, text=True, timeout=PATIENCE)
        try:
            hp.arguments.seconds("lease", text)
            accepted = True
        except ValueError:
            accepted = False
        assert accepted == (done.returncode == 0), (text, done.stderr)


def test_ids_of_jobs_are_numbers_or_texts(gpu):
    job_id = gpu.submit_detached("vector_add", A, A)
    for same in (job_id, int(job_id), np.int64(job_id)):
        np.testing.assert_array_equal(gpu.wait(same), A + A)
        np.testing.assert_array_equal(gpu.fetch(same), A + A)
        assert gpu.job(same)["id"] == gpu.cancel(same)["id"] == job_id


def test_a_dry_run_says_what_would_come(gpu):
    before = len(gpu.jobs())
    told = gpu.check("svd", A)
    assert {output["name"]: tuple(output["signature"]["shape"]) for output in told["outputs"]} == {"u": (2, 2), "s": (2,), "vt": (3, 3)}
    assert [device["fit"] for device in told["devices"]] == ["NOW"] and len(gpu.jobs()) == before


# Results.


def test_one_output_is_itself_and_several_are_named(gpu):
    assert type(gpu.selu(A)) is np.ndarray
    assert isinstance(gpu.norm(A), np.float64) and isinstance(gpu.reduce(np.arange(3)), np.int64)
    u, s, vt = result = gpu.svd(A, full_matrices=False)
    assert result._fields == ("u", "s", "vt") and result.s is s and type(result).__name__ == "svd_result"
    np.testing.assert_allclose(u * s @ vt, A, atol=1e-12)
    assert result.receipt.kernel == "svd" and isinstance(gpu.integrate2d(n=8).value, np.float64)


def test_results_belong_to_the_caller(gpu):
    for count in (3, 400_000):
        result = gpu.vector_add(np.ones(count), np.ones(count))
        assert result.flags.writeable and result.flags.c_contiguous and result.flags.aligned
        result[:] = 5
        kept = result[-2:]
        del result
        gc.collect()
        assert kept.tolist() == [5, 5]


@pytest.mark.parametrize("n", [3, 400_000])
def test_out_is_returned_and_may_be_a_part(gpu, n):
    whole = np.zeros((3, n))
    x = np.arange(n, dtype=float)
    assert gpu.vector_add(x, x, out=whole[1]).base is whole
    np.testing.assert_array_equal(whole, [np.zeros(n), 2 * x, np.zeros(n)])


def test_out_of_some_outputs(gpu):
    # By keywords in either order: an output's shape is of the inputs by name.
    gpu.matmul(a=A, b=A.T, out=np.empty((2, 2)))
    np.testing.assert_allclose(gpu.matmul(b=A, a=A.T, out=np.empty((3, 3))), A.T @ A)
    s = np.zeros(2)
    result = gpu.svd(A, out=(None, s, None))
    assert result.s is s and s[0] > 7
    assert gpu.svd(A, out={"s": s}).s is s


# Receipts.


def test_a_receipt_is_attributes_and_a_mapping(gpu):
    gpu.matmul(A, A.T)
    receipt = gpu.last_receipt
    assert receipt.kernel == receipt["kernel"] == "matmul" and receipt.device == "cpu0"
    assert receipt.kernel_ns > 0 and receipt.total_ns >= receipt.kernel_ns
    assert receipt.energy_joules is None, "what was not measured is not 0"
    assert receipt.client["total_seconds"] > 0 and receipt.client["bytes_up"] == 0
    assert dict(receipt) == receipt.fields and "kernel_ns" in dir(receipt) and receipt.versions["hotplate"] == hp.__version__
    assert "matmul on cpu0" in repr(receipt)
    assert receipt._ipython_key_completions_() == list(receipt)
    with pytest.raises(AttributeError, match="a receipt has no speed"):
        receipt.speed


def test_the_last_receipt_is_of_the_thread_and_of_the_client(daemon, gpu):
    gpu.selu(A)
    with daemon.connect() as other:
        assert other.last_receipt is None
        other.norm(A, ord=1)
        assert (gpu.last_receipt.kernel, other.last_receipt.kernel) == ("selu", "norm")
    seen = []
    thread = threading.Thread(target=lambda: (seen.append(gpu.last_receipt), gpu.sort(A), seen.append(gpu.last_receipt.kernel)))
    thread.start()
    thread.join()
    assert seen == [None, "sort"] and gpu.last_receipt.kernel == "selu"
    assert gpu.svd(A).receipt.job_id == gpu.last_receipt.job_id


def test_a_receipt_keeps_no_arrays(gpu):
    x = np.ones(400_000)
    assert gpu.vector_add(x, x)[0] == 2
    assert gpu.last_receipt.client["bytes_down"] == x.nbytes
    assert gpu._core.last_result().take("c") is None, "it is the caller's alone"


def test_receipts_errors_and_named_tuples_go_to_other_processes(gpu):
    gpu.selu(A)
    receipt = gpu.last_receipt
    again = pickle.loads(pickle.dumps(receipt))
    assert isinstance(again, hp.Receipt) and dict(again) == dict(receipt) and copy.copy(receipt).fields == again.fields
    with pytest.raises(hp.JobFailed) as failed:
        gpu.cholesky(-np.eye(3))
    error = pickle.loads(pickle.dumps(failed.value))
    assert type(error) is hp.JobFailed and str(error) == str(failed.value) and error.job_id == failed.value.job_id
    assert error.receipt.fields == failed.value.receipt.fields
    result = gpu.svd(A)
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result) and again.receipt.fields == result.receipt.fields
    np.testing.assert_array_equal(again.s, result.s)
    other = result._replace(s=None)
    assert type(other) is type(result) and other.s is None and other.u is result.u and other.receipt is result.receipt


# Jobs that end otherwise, and jobs of others.


def test_a_job_that_fails_has_its_receipt(gpu):
    with pytest.raises(hp.JobFailed, match="not positive definite") as failed:
        gpu.cholesky(-np.eye(3))
    error = failed.value
    assert isinstance(error, RuntimeError) and error.state == "FAILED" and error.job_id
    assert error.receipt.kernel == "cholesky" and error.receipt.job_id == error.job_id
    assert gpu.job(error.job_id)["state"] == "FAILED"


def test_limits_of_time_are_timeout_errors(gpu):
    endless = {"resolution": 8000, "max_iterations": 1_000_000}
    with pytest.raises(TimeoutError) as limit:
        gpu.mandelbrot(**endless, time_limit=0.1)
    assert isinstance(limit.value, hp.JobTimeout) and limit.value.state == "TIMEOUT" and "100 ms" in str(limit.value)
    with pytest.raises(TimeoutError) as deadline:
        gpu.mandelbrot(**endless, deadline=0.1)
    assert isinstance(deadline.value, hp.DeadlineExceeded)


def test_too_much_memory_is_a_memory_error(start_daemon):
    gpu = start_daemon("--max-array-bytes", "1000000").connect()
    with pytest.raises(MemoryError) as refused:
        gpu.array(np.zeros(1_000_000))
    assert isinstance(refused.value, hp.OutOfMemory) and "8000000" in str(refused.value)


def test_nobody_there_is_a_connection_error(daemon, tmp_path):
    with pytest.raises(ConnectionError, match="hotplate up") as nobody:
        hp.connect(directory=str(tmp_path))
    assert isinstance(nobody.value, hp.ConnectionFailed) and nobody.value.code == "UNAVAILABLE"
    with pytest.raises(ConnectionError, match="There are: local"):
        hp.connect("elsewhere", directory=str(daemon.directory))
    with pytest.raises(ValueError, match="32 hexadecimal"):
        hp.connect(directory=str(daemon.directory), session="mine")


def test_a_record_that_others_can_read_is_a_permission_error(start_daemon):
    exposed = start_daemon()
    (exposed.directory / "servers/local.json").chmod(0o644)
    with pytest.raises(PermissionError) as refused:
        exposed.connect()
    assert isinstance(refused.value, hp.NotAllowed)


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(hp.errors.from_status("NOT_FOUND", "no array A", [], "", None, None)))
    assert type(error) is hp.NotFound and str(error) == "no array A"


def test_detached_jobs_outlive_the_call(daemon, gpu):
    job_id = gpu.submit_detached("vector_add", A, A)
    np.testing.assert_array_equal(gpu.wait(job_id), A + A)
    assert gpu.last_receipt.job_id == job_id
    with daemon.connect() as other:
        np.testing.assert_array_equal(other.fetch(job_id), A + A)
    with pytest.raises(KeyError):
        gpu.fetch("no-such-job")
    long = gpu.submit_detached("integrate2d", n=10_000_000)
    with pytest.raises(hp.Busy, match=f"job {long} is .* and has no result yet; wait for its end first$"):
        gpu.fetch(long)
    gpu.cancel(long)
    kept = gpu.wait(gpu.submit_detached("vector_add", A, A, keep="twice"))
    assert kept.name == "twice"
    del kept
    gc.collect()
    np.testing.assert_array_equal(gpu.array(name="twice").numpy(), 2 * A)
    gpu.free("twice")


def test_a_job_of_somebody_else_can_be_cancelled(gpu):
    job_id = gpu.submit_detached("mandelbrot", resolution=8000, max_iterations=1_000_000)
    assert gpu.cancel(job_id)["id"] == job_id
    with pytest.raises(hp.JobCancelled) as ended:
        gpu.wait(job_id)
    assert ended.value.state == "CANCELLED"


FORKED = """
import os, signal, threading
import hotplate as hp

gpu = hp.connect()
gpu.mandelbrot(resolution=10)
listens, tells = os.pipe()
child = os.fork()
if child == 0:
    os.write(tells, b".")
    signal.pause()  # KeyboardInterrupt ends it
os.read(listens, 1)
ended = []
thread = threading.Thread(target=lambda: (os.kill(child, signal.SIGINT), ended.append(os.waitpid(child, 0)[1])))
thread.start()
try:
    gpu.mandelbrot(resolution=8000, max_iterations=1_000_000, time_limit=1.0)
except hp.JobTimeout:
    thread.join()
    print("the parent went on,", "the child ended" if ended[0] else "the child did not")
"""


def test_what_interrupts_a_forked_child_is_not_for_its_parent(environment):
    done = subprocess.run([sys.executable, "-c", FORKED], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "the parent went on, the child ended\n", done.stderr


# Clients.


def test_a_closed_client_says_so(daemon):
    with daemon.connect() as client:
        client.selu(A)
        assert not client.closed and repr(client) == "<hotplate.Client of local>"
    assert client.closed and repr(client) == "<hotplate.Client, closed>"
    client.close()
    for call in (lambda: client.selu(A), lambda: client.info(), lambda: client.array(A)):
        with pytest.raises(RuntimeError, match="this client is closed"):
            call()


def test_a_session_can_be_shared(daemon, gpu):
    with daemon.connect(session=gpu.session) as other:
        kept = gpu.array(A, name="shared")
        np.testing.assert_array_equal(other.array(name="shared").numpy(), A)
        kept.free()


def test_the_daemon_tells_of_itself(gpu):
    assert gpu.info()["versions"]["hotplate"] == hp.__version__
    assert gpu.server == "local"


def test_what_the_module_has_not_it_says():
    with pytest.raises(AttributeError, match="module hotplate has no nothing"):
        hp.nothing
    assert {"connect", "Executor", "up", "JobFailed"} <= set(dir(hp)) and not {"Any", "annotations"} & set(dir(hp))
