"""What ends while calls are in flight: the daemon, the interpreter, a process, the last reference. And what many calls
leave behind: nothing."""

import asyncio
import gc
import os
import sys
import weakref

import hotplate
import numpy as np
import pytest
from conftest import PATIENCE, wait_until
from script import Script, nothing_left

LONG = {"n": 10_000_000}

pytestmark = pytest.mark.usefixtures("nothing_of_a_test_goes_on")


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_many_calls_leave_nothing(gpu):
    """What each call of a kind would leave is seen: a block of Python's, a buffer of an array's size, a reference to what it
    was given, an array of the daemon's. A smaller thing outside Python is not."""
    a, out = np.arange(2048, dtype=np.float32), np.empty(2048, np.float32)
    loop = asyncio.new_event_loop()

    async def awaited():
        await asyncio.gather(*(gpu.aio.vector_add(a, a) for _ in range(15)),
                             *(gpu.aio.vector_add(a, a, priority=1) for _ in range(10)))

    def calls(rounds):
        for _ in range(rounds):
            futures = [gpu.submit("vector_add", a, a) for _ in range(35)]
            futures += [gpu.submit("vector_add", a, a, priority=1) for _ in range(10)]
            wrong = [gpu.submit("vector_add", a, a[:2]) for _ in range(10)]
            for future in futures:
                future.result(PATIENCE)
            for future in wrong:
                assert future.exception(PATIENCE) is not None
            loop.run_until_complete(awaited())
            for _ in range(10):
                gpu.vector_add(a, a)
            for _ in range(10):
                gpu.vector_add(a, a, priority=1)
                gpu.vector_add(a, a, out=out)
                gpu.vector_add(gpu.vector_add(a, a, keep=True), a)
                gpu.array(a).numpy()
        gc.collect()

    def left(arrays):
        wait_until(lambda: len(gpu.arrays) == arrays, "all arrays were freed")
        return sys.getrefcount(a), sys.getrefcount(out), len(gc.get_objects()), sys.getallocatedblocks(), resident_bytes()

    arrays = len(gpu.arrays)
    for _ in range(2):  # what is made once is there then
        calls(10)
        before = left(arrays)
    calls(100)
    after = left(arrays)
    loop.close()
    assert after[:2] == before[:2], "references to what calls were given"
    # Of each kind there were 1000 calls or more: as many blocks of Python's, or 8 MB of arrays outside it.
    objects, blocks, memory = (there - then for there, then in zip(after[2:], before[2:]))
    assert objects < 300 and blocks < 500 and memory < 4 << 20, f"{objects} objects, {blocks} blocks, {memory} bytes more"


def test_futures_and_clients_go_with_their_last_reference(daemon):
    client = daemon.connect()
    future = client.submit("integrate2d", **LONG)
    future.add_done_callback(lambda _, keep=future: None)  # a cycle
    wait_until(future.running, "the job ran")
    watched = weakref.ref(future), weakref.ref(client)
    future.cancel()
    del future, client

    def gone():
        gc.collect()
        return all(reference() is None for reference in watched)

    wait_until(gone, "the future and its client were freed")


def test_a_client_that_closes_leaves_nothing_of_its_calls(daemon, gpu):
    """Whatever they are at: inputs go up, jobs run, results come down. Autouse looks at the jobs."""
    large = np.ones(400_000)
    for _ in range(3):
        client = daemon.connect()
        futures = [client.submit("vector_add", large, 1) for _ in range(60)]
        wait_until(lambda: any(future.job_id for future in futures), "a job ran")
        client.close()
        assert all(future.done() for future in futures)
    wait_until(lambda: not gpu.arrays, "all arrays were freed")


def test_a_daemon_that_dies_is_noticed_by_all(start_daemon):
    daemon = start_daemon()
    gpu = daemon.connect(reconnect=0.0, retries=0)
    future = gpu.submit("integrate2d", **LONG)
    wait_until(future.running, "the job ran")

    async def awaited():
        await gpu.aio.integrate2d(**LONG)

    with hotplate.Executor(gpu) as executor:
        others = [executor.submit("integrate2d", **LONG) for _ in range(3)]
        daemon.kill()
        for one in (future, *others):
            with pytest.raises(ConnectionError):
                one.result(PATIENCE)
    with pytest.raises(ConnectionError):
        asyncio.run(awaited())
    with pytest.raises(ConnectionError):
        gpu.integrate2d(**LONG)
    gpu.close()


def test_a_blocking_call_notices_as_well(start_daemon):
    daemon = start_daemon()
    script = Script(daemon, """
        gpu = hp.connect(reconnect=0.0, retries=0)
        try:
            gpu.integrate2d(n=10_000_000)
        except ConnectionError as error:
            print(type(error).__name__)
        """)
    gpu = daemon.connect()
    wait_until(lambda: any(job["state"] == "RUNNING" for job in gpu.jobs()), "the job ran")
    daemon.kill()
    script.ends(0, "ConnectionFailed")


# A lack of memory or of threads.


def test_a_call_for_which_there_is_no_thread_says_so(daemon):
    Script(daemon, """
        end = threading.Event()
        # Those whose stacks could be used again.
        for _ in range(8):
            threading.Thread(target=end.wait).start()
        def limited(more):
            with open("/proc/self/statm") as statm:
                there = int(statm.read().split()[0]) * os.sysconf("SC_PAGESIZE")
            resource.setrlimit(resource.RLIMIT_AS, (there + more, resource.RLIM_INFINITY))
        limited(1 << 20)
        try:
            gpu.info()
        except RuntimeError as error:
            print("thread" in str(error))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        end.set()
        print(len(gpu.info()) > 0)
        """).ends(0, "True\nTrue")


def test_a_call_that_finds_no_memory_on_its_way_raises_memory_error(daemon):
    # Its text is copied when it is given, where there is room, and once more for the request, on another thread.
    Script(daemon, """
        size = 256 << 20
        job_id = "x" * size
        with open("/proc/self/statm") as statm:
            there = int(statm.read().split()[0]) * os.sysconf("SC_PAGESIZE")
        resource.setrlimit(resource.RLIMIT_AS, (there + size * 3 // 2, resource.RLIM_INFINITY))
        try:
            gpu.job(job_id)
        except MemoryError:
            print("MemoryError")
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(float(gpu.vector_add(A, A)[0]))
        """).ends(0, "MemoryError\n2.0")


def test_progress_comes_to_the_thread_that_called(daemon):
    Script(daemon, """
        threads = set()
        gpu.selu(np.ones(2_000_000), progress=lambda *_: threads.add(threading.current_thread()))
        print(threads == {threading.main_thread()})
        """).ends(0, "True")


def test_a_fork_is_told_and_harms_nobody(daemon):
    Script(daemon, """
        future = gpu.submit("integrate2d", n=10_000_000)
        while not future.running():
            time.sleep(0.01)
        kept = gpu.array(A)
        stream = gpu.telemetry(60)
        next(stream)
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads, since Python 3.12
        child = os.fork()
        if child == 0:
            told = 0
            for call in (lambda: gpu.vector_add(A, A), lambda: gpu.submit("vector_add", A, A).result(10), gpu.info,
                         hp.connect, kept.numpy, lambda: asyncio.run(gpu.aio.vector_add(A, A)),
                         lambda: next(gpu.telemetry()), future.result, lambda: future.exception(60), lambda: next(stream)):
                try:
                    call()
                except RuntimeError as error:
                    told += "fork" in str(error)
            told += future.cancel()  # here, and not the parent's job
            del kept, future, stream
            sys.exit(100 + told)  # destructors and all
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(float(gpu.vector_add(A, kept)[0]), future.running(), future.cancel())
        """).ends(0, "111\n2.0 True True")


@pytest.mark.parametrize("what", [
    "futures = [gpu.submit('integrate2d', n=10_000_000) for _ in range(5)]",
    "executor = hp.Executor(gpu, max_in_flight=2)\n"
    "futures = [executor.submit('integrate2d', n=10_000_000) for _ in range(5)]",
    "future = gpu.submit('integrate2d', n=10_000_000)\nfuture.add_done_callback(lambda f: gpu.closed)",
    "stream = gpu.telemetry(0.1)\nnext(stream)",
    "kept = [gpu.array(A) for _ in range(3)]\nkept.append(kept)",
    "for _ in range(300): gpu.submit('vector_add', A, A)",
    "loop = asyncio.new_event_loop()\ntask = loop.create_task(gpu.aio.integrate2d(n=10_000_000))\n"
    "loop.run_until_complete(asyncio.sleep(0.2))\ntask.cancel()\n"
    "loop.run_until_complete(asyncio.sleep(0))\nloop.close()",
    "import atexit\natexit.register(lambda: gpu.closed or gpu.vector_add(A, A))",
    "large = np.ones(2_000_000)\nfutures = [gpu.submit('vector_add', large, large) for _ in range(4)]",
    "future = gpu.submit('integrate2d', n=10_000_000)\n"
    "gpu.submit('vector_add', A, A).add_done_callback(lambda _: concurrent.futures.wait([future]))\ntime.sleep(0.2)",
    "os.kill(os.getpid(), 0)\ngpu.close()\ngpu.close()",
])
def test_the_interpreter_ends_without_a_word(daemon, gpu, what):
    Script(daemon, what + "\nprint('end', flush=True)").ends(0, "end")
    nothing_left(gpu)


def test_a_thread_that_waits_at_the_end_is_left_alone(daemon, gpu):
    script = Script(daemon, """
        threading.Thread(target=gpu.integrate2d, kwargs={"n": 10_000_000}, daemon=True).start()
        while not gpu.jobs(own_session=True, active_only=True):
            time.sleep(0.01)
        """)
    script.ends()
    # The daemon gives such a job its grace; this test does not.
    for job in gpu.jobs(active_only=True):
        gpu.cancel(job["id"])
    nothing_left(gpu)
