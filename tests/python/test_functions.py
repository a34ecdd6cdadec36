"""Python functions of the user's own, in workers of the daemon."""

import asyncio
import concurrent.futures
import os
import signal
import threading
import time
import tracemalloc

import hotplate as hp
import hotplate.functions
import numpy as np
import pytest
from conftest import PATIENCE, wait_until


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return found


def descendants(pid):
    found = children(pid)
    for child in found:
        try:
            found += children(child)
        except OSError:
            pass
    return found


# What goes in and comes back.

def test_a_function_runs_elsewhere_and_its_result_comes_back(gpu, daemon):
    @gpu.function
    def where(a, b=2, *more, **keywords):
        """Adds."""
        import os
        return os.getpid(), a + b, more, keywords

    assert where.__name__ == "where" and where.__doc__ == "Adds."
    pid, total, more, keywords = where(1, 2, 3, device="mine", out=4)
    assert (total, more, keywords) == (3, (3,), {"device": "mine", "out": 4})
    assert pid not in (os.getpid(), daemon.process.pid)
    assert where(5)[:2] == (pid, 7)  # the same worker
    receipt = gpu.last_receipt
    assert receipt.kernel == "function" and receipt["process"]["warm"]


@pytest.mark.parametrize("value", [
    None, True, 3, 10**30, 2.5, 1 + 2j, "text", "ä€", b"bytes", (1, (2, "3")), [1, [2]], {"a": (1, 2), 3: None},
    {1, 2}, frozenset("ab"), range(3), slice(1, 2), (), [], {}], ids=repr)
def test_plain_values_come_back_as_they_are(gpu, value):
    came = gpu.function(lambda x: x)(value)
    assert came == value and type(came) is type(value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                   "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(0,), (3,), (40, 50), (2, 0, 4), (70, 1000)])
def test_arrays_go_there_and_back(gpu, dtype, shape):
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape).astype(dtype)
    (y, z), same = gpu.function(lambda x, also: ((x, also["x"].T), x is also["x"]))(x, {"x": x})
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, x.T)
    assert y.dtype == x.dtype and y.shape == x.shape
    assert same


def test_an_array_that_stays_comes_to_each_call_as_the_same_memory(gpu):
    def memory(x):
        place = x.__array_interface__["data"][0]
        for line in open("/proc/self/maps", encoding="utf-8"):
            begin, end = (int(one, 16) for one in line.split()[0].split("-"))
            if begin <= place < end:
                return line.split()[4]  # the segment's own number

    memory = gpu.function(memory)
    kept, other = gpu.array(np.arange(100_000.0)), gpu.array(np.arange(100_000.0))
    first = memory(kept)
    assert int(first) > 0 and memory(kept) == first
    assert memory(other) != first
    made = gpu.function(lambda x: x + 1, keep=True)(kept)
    assert memory(made) == memory(made) != first


def test_orders_and_byte_orders(gpu):
    identity = gpu.function(lambda x: x)
    x = np.arange(1000.0).reshape(20, 50)
    for given in (x.T, x[::2, ::-3], np.asfortranarray(x), x.astype(">f8")):
        came = identity(given)
        np.testing.assert_array_equal(came, given)
        assert came.dtype == np.float64


def test_scalars_of_numpy(gpu):
    came = gpu.function(lambda: (__import__("numpy").float32(1.5), __import__("numpy").int8(3)))()
    assert came == (1.5, 3) and [type(one) for one in came] == [np.float32, np.int8]


def test_arrays_of_the_daemon_are_taken_and_left(gpu):
    a = gpu.array(np.arange(100_000.0))
    double = gpu.function(lambda x: {"twice": 2 * x, "sum": float(x.sum())}, keep=True)
    kept = double(a)
    assert isinstance(kept["twice"], hp.Array) and kept["sum"] == np.arange(100_000.0).sum()
    np.testing.assert_array_equal(kept["twice"].numpy(), 2 * np.arange(100_000.0))
    assert kept["twice"].receipt.kernel == "function"
    np.testing.assert_array_equal(gpu.vector_add(kept["twice"], a), 3 * np.arange(100_000.0))
    identity = kept["twice"].id
    del kept
    wait_until(lambda: identity not in {one.id for one in gpu.arrays}, "the last reference freed it")


def test_an_argument_that_is_changed_is_told(gpu):
    def change(x):
        x[0] = 1
        return x
    x = np.zeros(1000)
    with pytest.raises(ValueError, match="read-only"):
        gpu.function(change)(x)
    assert gpu.function(change, copy=True)(x)[0] == 1
    assert x[0] == 0


def test_a_result_that_does_not_come_back_is_named(gpu):
    with pytest.raises(TypeError, match='returned an array of 10 axes.*returns="object".*returns="ref"'):
        gpu.function(lambda: __import__("numpy").zeros((1,) * 10))()
    with pytest.raises(TypeError, match="returned more than 63 arrays"):
        gpu.function(lambda: [__import__("numpy").zeros(1) for _ in range(64)])()
    with pytest.raises(TypeError, match="array of object"):
        gpu.function(lambda: __import__("numpy").array([{}], dtype=object))()


def test_any_object_by_choice(gpu):
    import fractions
    came = gpu.function(lambda x: (__import__("fractions").Fraction(1, 3), x), returns="object")(np.arange(1000))
    assert came[0] == fractions.Fraction(1, 3)
    np.testing.assert_array_equal(came[1], np.arange(1000))


def test_any_object_comes_back_as_it_is(gpu):
    def make():
        import numpy as np
        one = np.arange(5)
        return {"same": (one, one), "matrix": np.matrix([[1]]), "axes": np.zeros((1,) * 10), "many": [np.zeros(1) for _ in range(100)]}
    came = gpu.function(make, returns="object")()
    assert came["same"][0] is came["same"][1] and type(came["matrix"]) is np.matrix
    assert came["axes"].ndim == 10 and len(came["many"]) == 100


def test_many_and_strange_arrays_among_the_arguments(gpu):
    many = {i: np.full(3, i) for i in range(100)}
    assert gpu.function(lambda many: sum(float(x.sum()) for x in many.values()))(many) == 3 * sum(range(100))
    assert gpu.function(lambda x: (x.ndim, x.sum()))(np.ones((1,) * 10)) == (10, 1)
    numbers = gpu.function(lambda: [__import__("numpy").float32(i) for i in range(100)])()
    assert numbers == list(range(100)) and type(numbers[0]) is np.float32


def test_what_the_daemon_has_lost_is_sent_again(gpu):
    function = gpu.function(lambda x: x + 1)
    assert function(1) == 2
    function._ids = dict.fromkeys(function._ids, "0" * 64)  # as if it had had to go
    assert function(2) == 3
    function._ids = dict.fromkeys(function._ids, "0" * 64)
    assert function.submit(3).result(PATIENCE) == 4


def test_another_environment_is_another_worker(gpu, monkeypatch):
    function = gpu.function(lambda: (__import__("os").getpid(), __import__("os").environ.get("HP_WORD")))
    first = function()
    monkeypatch.setenv("HP_WORD", "new")
    pid, word = function()
    assert word == "new" and pid != first[0]


def test_a_function_that_prints_without_end_is_cancelled(gpu):
    def talk():
        block = b"x" * (1 << 20)
        while True:
            __import__("os").write(1, block)
    with pytest.raises(hp.JobTimeout):
        gpu.function(talk, time_limit=0.5)()


def test_what_goes_on_printing_does_not_hold_up_the_next_call(gpu):
    def leave():
        import subprocess
        subprocess.Popen(["yes"])
        return 1
    assert gpu.function(leave)() == 1
    future = gpu.submit(lambda: 2)
    assert future.result(PATIENCE) == 2
    with pytest.raises(hp.JobFailed):
        gpu.function(lambda: os._exit(1))()


def test_names_of_an_objects_own_do_not_hide_the_functions(gpu):
    class Model:
        def __init__(self):
            self.name, self.value, self.map, self.prepare = "mine", 3, None, None

        def __call__(self):
            return self.value
    assert gpu.function(Model())() == 3


def test_a_result_cannot_run_code_here(gpu):
    from hotplate.functions import _Plain
    import io
    import pickle
    with pytest.raises(hp.InvalidType, match="posix.system"):
        _Plain(io.BytesIO(pickle.dumps(os.system))).load()


def test_a_function_of_a_class_and_a_closure(gpu):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return self.factor * x

        def half(self, x):
            return x / 2
    scale = Scale(3)
    assert gpu.function(scale)(2) == 6
    assert gpu.submit(scale.half, 3).result(PATIENCE) == 1.5
    assert gpu.submit(scale, 2).result(PATIENCE) == 6
    scale.factor = 5
    assert gpu.submit(scale, 2).result(PATIENCE) == 10  # what submit takes is pickled each time


# Calls.

def test_futures_map_and_executors(gpu):
    square = gpu.function(lambda x: x * x)
    futures = [square.submit(i) for i in range(50)]
    assert [future.result(PATIENCE) for future in futures] == [i * i for i in range(50)]
    assert futures[0].receipt.kernel == "function"
    assert list(square.map(range(20))) == [i * i for i in range(20)]
    assert list(gpu.map(pow, [2, 3], [3, 2])) == [8, 9]
    assert gpu.submit("norm", np.ones(4)).result(PATIENCE) == 2  # kernels as before
    with hp.Executor(gpu, max_in_flight=3) as executor:
        assert list(executor.map(square, range(10))) == [i * i for i in range(10)]
        assert executor.submit(lambda a, fn=0: a + fn, 1, fn=2).result(PATIENCE) == 3


def test_asyncio(gpu):
    async def several():
        return await asyncio.gather(*(gpu.aio.call(lambda x: -x, i) for i in range(5)))
    assert asyncio.run(several()) == [0, -1, -2, -3, -4]


def test_progress_is_the_callers(gpu):
    def steps():
        import hotplate
        hotplate.progress(0.25)
        while not __import__("os").path.exists(path):
            __import__("time").sleep(0.01)
    path = f"/tmp/hotplate-test-{os.getpid()}"
    future = gpu.submit(steps)
    wait_until(lambda: future.job_id and gpu.job(future.job_id)["progress"] == 0.25, "the job has its progress")
    open(path, "w").close()
    try:
        future.result(PATIENCE)
    finally:
        os.unlink(path)
    with pytest.raises(ValueError, match="fraction is 2"):
        hp.progress(2)
    hp.progress(0.5)  # outside of a worker: nothing


def test_prints_are_kept_with_the_job(gpu, daemon):
    def talk():
        import sys
        print("to out")
        print("to err", file=sys.stderr)
    future = gpu.submit(talk)
    future.result(PATIENCE)
    import subprocess
    logs = subprocess.run([os.environ["HOTPLATE_BIN_DIR"] + "/hotplate", "logs", future.job_id], env=daemon.environment,
                          capture_output=True, text=True, check=True)
    assert (logs.stdout, logs.stderr) == ("to out\n", "to err\n")


def test_jobs_are_listed_by_their_functions_name(gpu):
    def my_simulation():
        pass
    future = gpu.submit(my_simulation)
    future.result(PATIENCE)
    assert gpu.job(future.job_id)["label"] == "my_simulation"


# Errors.

def test_an_exception_arrives_as_itself(gpu):
    def fail(kind):
        raise kind("this went wrong")
    for kind in (ValueError, ZeroDivisionError, KeyError, OSError):
        with pytest.raises(kind) as caught:
            gpu.function(fail)(kind)
        assert "this went wrong" in str(caught.value)
        cause = caught.value.__cause__
        assert isinstance(cause, hp.RemoteError)
        assert 'raise kind("this went wrong")' in cause.traceback or "in fail" in cause.traceback
        assert "hotplate_worker" not in cause.traceback and "hotplate_calls" not in cause.traceback
        assert cause.job_id and cause.receipt is not None
    with pytest.raises(np.linalg.LinAlgError):
        gpu.function(lambda: __import__("numpy").linalg.inv([[0.0]]))()
    with pytest.raises(FileNotFoundError) as missing:
        gpu.function(lambda: open("/nowhere"))()
    assert missing.value.filename == "/nowhere"


def test_an_exception_of_a_class_that_is_only_there(gpu):
    def fail():
        class Strange(Exception):
            pass
        raise Strange("what")
    with pytest.raises(hp.RemoteError, match="Strange: what"):
        gpu.function(fail)()


def test_what_would_end_this_process_does_not(gpu):
    for error in (SystemExit, KeyboardInterrupt):
        def fail():
            raise error()
        with pytest.raises(hp.RemoteError):
            gpu.function(fail)()
    assert gpu.function(lambda: 1)() == 1


@pytest.mark.parametrize("end, says", [
    (lambda: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV"), (lambda: os.abort(), "SIGABRT"),
    (lambda: os._exit(3), "exit code 3"), (lambda: os._exit(0), "left Python"),
    (lambda: os.closerange(3, 100), "worker"),
    (lambda: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(100)), "kept the program is gone")])
def test_a_worker_that_ends_is_told_and_replaced(gpu, end, says):
    with pytest.raises(hp.JobFailed, match=says):
        gpu.function(end)()
    assert gpu.function(lambda: 1)() == 1


def test_a_fork_that_returns_answers_once(gpu):
    def fork():
        return os.fork() == 0
    assert gpu.function(fork)() is False
    assert gpu.function(lambda: 5)() == 5


def test_what_it_leaves_behind_goes_with_the_worker(gpu, daemon):
    def leave():
        import subprocess
        return subprocess.Popen(["sleep", "1000"], start_new_session=True).pid
    left = gpu.function(leave)()
    assert os.path.exists(f"/proc/{left}")
    with pytest.raises(hp.JobFailed):
        gpu.function(lambda: os._exit(1))()
    wait_until(lambda: not os.path.exists(f"/proc/{left}"), "it was killed with its worker")


def test_cancel_interrupts_an_endless_function(gpu):
    def endless():
        while True:
            pass
    future = gpu.submit(endless)
    wait_until(future.running, "it runs")
    job_id = future.job_id
    assert future.cancel()
    wait_until(lambda: gpu.job(job_id)["state"] == "CANCELLED", "the job is cancelled")

    def it_stays():
        pid = gpu.function(os.getpid)()
        with pytest.raises(hp.JobTimeout):
            gpu.function(endless, time_limit=0.2)()
        return gpu.function(os.getpid)() == pid
    # On a busy machine it may not hear in time.
    wait_until(it_stays, "it has heard the interrupt, and stays")


def test_cancel_ends_a_function_that_does_not_listen(gpu):
    def deaf():
        import signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            pass
    future = gpu.submit(deaf)
    wait_until(future.running, "it runs")
    job_id = future.job_id
    future.cancel()
    wait_until(lambda: gpu.job(job_id)["state"] == "CANCELLED", "the job is cancelled")


def test_a_client_that_goes_away_takes_its_call_with_it(daemon, gpu):
    other = daemon.connect()
    future = other.submit(lambda: __import__("time").sleep(1000))
    wait_until(future.running, "it runs")
    job_id = future.job_id
    other.close()
    wait_until(lambda: gpu.job(job_id)["state"] == "CANCELLED", "the job is cancelled")


# Refusals.

def test_what_cannot_be_sent_is_named(gpu):
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot be sent"):
        gpu.function(lambda: lock)()
    with pytest.raises(TypeError, match="an argument cannot be pickled"):
        gpu.function(len)(lock)
    with pytest.raises(TypeError, match="3 is no function"):
        gpu.function(3)
    with pytest.raises(TypeError, match="3 is a int"):
        gpu.submit(3)
    with pytest.raises(ValueError, match="wants is 'numpy'"):
        gpu.function(len, wants="numpy")
    with pytest.raises(ValueError, match="returns is 'all'"):
        gpu.function(len, returns="all")
    with pytest.raises(KeyError, match="no program \"/no/python\""):
        gpu.function(len, python="/no/python")([])


def test_a_module_that_is_not_there(gpu):
    with pytest.raises(ModuleNotFoundError, match="cupy"):
        gpu.function(lambda x: x, wants="cupy")(np.zeros(1000))


def test_a_daemon_without_users_code(start_daemon):
    with start_daemon("--user-code", "none").connect() as other, pytest.raises(PermissionError, match="--user-code none"):
        other.function(len)([])


def meet(folder, many, me):
    """The process, once so many have come."""
    open(f"{folder}/{me}", "w").close()
    while len(os.listdir(folder)) < many:
        time.sleep(0.01)
    return os.getpid()


def test_on_the_cpu_as_many_calls_run_as_it_has_workers_whatever_the_lanes(start_daemon, tmp_path):
    with start_daemon("--lanes", "1", "--workers", "5").connect() as gpu:
        assert [device["workers"] for device in gpu.info()["devices"]] == [5]
        pids = list(gpu.function(meet).map([str(tmp_path)] * 5, [5] * 5, range(5)))
        assert len(set(pids)) == 5


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def test_functions_and_kernels_do_not_wait_for_each_other(start_daemon, tmp_path):
    with start_daemon("--lanes", "1", "--workers", "1").connect() as gpu:
        go = str(tmp_path / "go")
        futures = [gpu.submit(wait_for, go) for _ in range(2)]
        wait_until(futures[0].running, "the first one runs")
        assert gpu.vector_add([1.0], [2.0]) == [3.0]
        assert not futures[1].running()
        (tmp_path / "go").touch()
        for future in futures:
            future.result(PATIENCE)


def test_a_call_that_takes_several_processors(start_daemon, tmp_path):
    def threads():
        return os.environ["OMP_NUM_THREADS"]
    daemon = start_daemon("--workers", "4")
    with daemon.connect() as gpu, daemon.connect() as other:
        assert gpu.function(threads)() == "1"
        assert gpu.function(threads, cpus=3)() == "3"
        with pytest.raises(ValueError, match=r"threads: cpus is 5, and cpu0 has 4 for functions \(hotplated --workers\)"):
            gpu.function(threads, cpus=5)()
        go = str(tmp_path / "go")
        first, second = (gpu.function(wait_for, cpus=3).submit(go) for _ in range(2))
        wait_until(first.running, "the first one runs")
        assert other.function(threads)() == "1"  # of another session, and there is room for it
        assert not second.running()
        (tmp_path / "go").touch()
        second.result(PATIENCE)
        first.result(PATIENCE)


def test_cpus_are_what_the_shell_says_unless_the_function_says_it(start_daemon, monkeypatch):
    def threads():
        return os.environ["OMP_NUM_THREADS"]
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with start_daemon("--workers", "2").connect() as gpu:
        assert gpu.function(threads)() == "7"
        assert gpu.function(threads, cpus=2)() == "2"


@pytest.mark.parametrize("cpus", [0, -1, 5000, 1.0, "2", True])
def test_wrong_cpus(gpu, cpus):
    with pytest.raises(TypeError, match=f"cpus is {cpus!r}; it must be an int from 1 to 4096, or None"):
        gpu.function(len, cpus=cpus)


def test_nothing_is_left(start_daemon):
    daemon = start_daemon()
    before = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    with daemon.connect() as gpu:
        for _ in range(3):
            assert gpu.function(lambda x: x.sum())(np.ones(100_000)) == 100_000
            with pytest.raises(hp.JobFailed):
                gpu.function(lambda: os._exit(1))()
    # A connection, and a worker's five descriptors where one waits; warm Pythons have four each.
    wait_until(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/fd")) <= before + 8, "its descriptors are closed")
    started = descendants(daemon.process.pid)
    daemon.kill()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started), "all its processes ended")


def test_waiting_is_by_the_standard_library(gpu):
    futures = [gpu.submit(time.sleep, 0) for _ in range(4)]
    done, rest = concurrent.futures.wait(futures, PATIENCE)
    assert len(done) == 4 and not rest


def test_joblib(gpu):
    joblib = pytest.importorskip("joblib", reason="no joblib (deploy/install-deps.sh --tests installs it)")
    hp.register_joblib(gpu)

    def scaled(x, factor):
        return factor * x.sum(), __import__("os").getpid()
    with joblib.parallel_backend("hotplate"):
        came = joblib.Parallel(n_jobs=-1)(joblib.delayed(scaled)(np.ones(2000), i) for i in range(20))
        assert [total for total, _ in came] == [2000 * i for i in range(20)]
        assert os.getpid() not in {pid for _, pid in came}
        with pytest.raises(ZeroDivisionError):
            joblib.Parallel(n_jobs=2)(joblib.delayed(divmod)(1, i) for i in (1, 0))


def test_objects_are_looked_at_for_futures_only_where_there_may_be_some(gpu, monkeypatch):
    looked = []

    class Pickler(hp.functions._Pickler):
        def dump(self, value):
            looked.append(self.persistent_id.__name__)
            super().dump(value)

    monkeypatch.setattr(hp.functions, "_Pickler", Pickler)
    assert gpu.submit(len, [1, 2]).result(PATIENCE) == 2
    endless = gpu.submit("integrate2d", n=10_000_000)
    behind = gpu.submit(len, {"x": [endless.output("value")]})
    endless.cancel()
    with pytest.raises(hp.JobCancelled):
        behind.result(PATIENCE)
    with gpu.graph():
        total = gpu.submit(sum, [1, 2])
    assert total.result(PATIENCE) == 3
    assert looked == ["persistent_id", "waiting_id", "waiting_id"]

    class Deep:
        inside = property(lambda self: self.__dict__["held"])

    deep = Deep()
    deep.held = gpu.submit("norm", [3.0, 4.0])
    with pytest.raises(TypeError, match="is a result that is yet to come, and cannot be pickled: pass it as an argument by itself"):
        gpu.function(lambda x: 1)(deep)


def test_a_call_holds_its_pickled_arguments_once(gpu):
    call = gpu.function(len).prepare(gpu, ["warm"], {})
    text = "x" * 10_000_000
    tracemalloc.start()
    call = gpu.function(len).prepare(gpu, [text], {})
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert call.inputs["arguments"].nbytes > 10_000_000 and held < 15_000_000
    call.give_an_array()
    assert call.run() == len(text)
