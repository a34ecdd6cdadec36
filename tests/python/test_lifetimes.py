"""What ends while calls are in flight: the daemon, the interpreter, a process, the last reference. And what many calls
leave behind: nothing."""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import weakref

import hotplate
import numpy as np
import pytest
import relay
from conftest import PATIENCE, wait_until

LONG = {"n": 10_000_000}
A = np.arange(4, dtype=np.float32)


# tell(name): says so when the main thread waits in a function of that name. Sooner a signal's handler could raise where
# nothing of the package's sees it.
HEAD = """
import hotplate as hp, numpy as np
import asyncio, concurrent.futures, os, resource, signal, sys, threading, time
gpu = hp.connect()
A = np.ones(4, np.float32)

def tell(name):
    def waits():
        frame, names = sys._current_frames()[threading.main_thread().ident], []
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        return names[0] == "wait" and name in names
    def watch():
        while not waits():
            time.sleep(0.01)
        print("waits", flush=True)
    threading.Thread(target=watch).start()

def submitted(name="result"):
    future = gpu.submit("integrate2d", n=10_000_000)
    tell(name)
    return future
"""


class Script:
    """A Python program of a test's own, with the daemon's client as `gpu`. It ends with the test at the latest."""

    started = []

    def __init__(self, daemon, text, **options):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + textwrap.dedent(text)], env=daemon.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.started.append(self.process)

    def says(self, line):
        """This must be the next line that it says; it may wait for the end of its input meanwhile."""
        killer = threading.Timer(PATIENCE, self.process.kill)
        killer.start()
        try:
            said = self.process.stdout.readline().strip()
            if said != line:
                self.process.kill()
                raise AssertionError(f"it said {said!r}, not {line!r}\n{self.process.communicate()}")
        finally:
            killer.cancel()

    def ends(self, code=0, out="", err="", patience=PATIENCE):
        """It must end by itself, with this code and having said just this. Its input ends before."""
        try:
            got_out, got_err = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end\n{self.process.communicate()}") from None
        assert (self.process.returncode, got_out.strip(), got_err.strip()) == (code, out, err)


@pytest.fixture(autouse=True)
def nothing_of_a_test_goes_on(gpu):
    """One that failed must not take the daemon's lanes from those after it."""
    yield
    while Script.started:
        process = Script.started.pop()
        process.kill()
        process.wait()
    for job in gpu.jobs(active_only=True):
        gpu.cancel(job["id"])


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_many_calls_leave_nothing(gpu):
    def calls(count):
        for i in range(0, count, 100):
            futures = [gpu.submit("vector_add", A, A) for _ in range(80)]
            futures.append(gpu.submit("vector_add", A, A[:2]))
            for future in futures[:-1]:
                future.result(PATIENCE)
            assert futures[-1].exception(PATIENCE) is not None
            for _ in range(15):
                gpu.vector_add(A, A)
            kept = gpu.vector_add(A, A, keep=True)
            gpu.vector_add(kept, A)
            gpu.array(A).numpy()
        del kept
        gc.collect()

    arrays = len(gpu.arrays)
    calls(1000)
    wait_until(lambda: len(gpu.arrays) == arrays, "all arrays were freed")
    objects, memory = len(gc.get_objects()), resident_bytes()
    calls(10_000)
    wait_until(lambda: len(gpu.arrays) == arrays, "all arrays were freed")
    assert len(gc.get_objects()) < objects + 500
    # 100 bytes a call would be 1 MB; an allocator may keep some.
    assert resident_bytes() < memory + (6 << 20), f"{(resident_bytes() - memory) >> 10} KiB more than before"


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


def running(gpu):
    return [job["id"] for job in gpu.jobs(active_only=True) if job["state"] == "RUNNING"]


def nothing_left(gpu):
    wait_until(lambda: not gpu.jobs(active_only=True), "nothing was left running")


@pytest.mark.parametrize("wait", ["gpu.integrate2d(n=10_000_000)", "gpu.run('integrate2d', n=10_000_000)",
                                  "submitted().result()", "submitted().result(3600)",
                                  "submitted('exception').exception()",
                                  "asyncio.run(gpu.aio.integrate2d(n=10_000_000))"])
def test_ctrl_c_cancels(daemon, gpu, wait):
    script = Script(daemon, f"""
        try:
            {wait}
        except KeyboardInterrupt:
            print("interrupted", float(gpu.vector_add(A, A)[0]), flush=True)
        sys.stdin.read()
        """)
    if "submitted" in wait:
        script.says("waits")
    (job_id,) = wait_until(lambda: running(gpu), "the job ran")
    script.process.send_signal(signal.SIGINT)
    script.says("interrupted 2.0")
    # While the program goes on: at its end all of its jobs are cancelled.
    wait_until(lambda: gpu.job(job_id)["state"] == "CANCELLED", "the job was cancelled")
    script.ends()


def test_what_a_handler_raises_in_a_shutdown_cancels_the_executors_calls(daemon, gpu):
    script = Script(daemon, """
        def handle(*_):
            raise LookupError("of a handler")
        signal.signal(signal.SIGUSR1, handle)
        executor = hp.Executor(gpu, max_in_flight=2)
        futures = [executor.submit("integrate2d", n=10_000_000) for _ in range(4)]
        tell("shutdown")
        try:
            executor.shutdown()
        except LookupError:
            print([future.cancelled() for future in futures], flush=True)
        sys.stdin.read()
        """)
    script.says("waits")
    wait_until(lambda: running(gpu), "a job ran")
    script.process.send_signal(signal.SIGUSR1)
    script.says("[True, True, True, True]")
    nothing_left(gpu)
    script.ends()


@pytest.mark.parametrize("wait", ["print('waits', flush=True); time.sleep(3600)", "tell('__exit__')"],
                         ids=["in the block", "at its end"])
@pytest.mark.parametrize("name, raises", [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "SystemExit")])
def test_what_ends_the_program_cancels_all_of_an_executors_calls(daemon, gpu, name, raises, wait):
    script = Script(daemon, f"""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
        try:
            with hp.Executor(gpu, max_in_flight=2) as executor:
                futures = [executor.submit("integrate2d", n=10_000_000) for _ in range(4)]
                {wait}
        except {raises}:
            print([future.cancelled() for future in futures], flush=True)
        sys.stdin.read()
        """)
    script.says("waits")
    wait_until(lambda: running(gpu), "a job ran")
    script.process.send_signal(getattr(signal, name))
    script.says("[True, True, True, True]")
    nothing_left(gpu)
    script.ends()


# What waits on this thread, what waits on another, what waits in Python.
WAITS = ["gpu.integrate2d(n=10_000_000)", "gpu.wait(gpu.submit_detached('integrate2d', n=10_000_000))",
         "gpu.submit('integrate2d', n=10_000_000).result()"]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("name", ["SIGINT", "SIGUSR1"])
def test_a_handler_of_a_signal_runs_while_a_call_waits(daemon, gpu, name, wait):
    script = Script(daemon, f"""
        signal.signal(signal.{name}, lambda *_: print("heard", flush=True))
        try:
            {wait}
        except hp.JobCancelled:
            print("cancelled by another")
        except concurrent.futures.CancelledError:
            print("cancelled here")
        """)
    (job_id,) = wait_until(lambda: running(gpu), "the job ran")
    for _ in range(2):
        script.process.send_signal(getattr(signal, name))
        script.says("heard")
    assert gpu.job(job_id)["state"] == "RUNNING"
    gpu.cancel(job_id)
    script.ends(0, "cancelled by another")


# What an alarm would raise, also one that looks like a timeout of the wait's own, and sys.exit.
@pytest.mark.parametrize("raises", ["LookupError", "concurrent.futures.TimeoutError", "SystemExit"])
@pytest.mark.parametrize("wait", [*WAITS[:2], "submitted().result(3600)", "submitted('exception').exception()"])
def test_what_a_handler_of_a_signal_raises_ends_the_call(daemon, gpu, wait, raises):
    script = Script(daemon, f"""
        def stop(*_):
            raise {raises}("the time is over")
        signal.signal(signal.SIGALRM, stop)
        try:
            {wait}
        except {raises} as error:
            print(error, flush=True)
        sys.stdin.read()
        """)
    if "submitted" in wait:
        script.says("waits")
    (job_id,) = wait_until(lambda: running(gpu), "the job ran")
    script.process.send_signal(signal.SIGALRM)
    script.says("the time is over")
    if "detached" in wait:
        gpu.cancel(job_id)
    wait_until(lambda: gpu.job(job_id)["state"] == "CANCELLED", "the job was cancelled")
    script.ends()


def test_ctrl_c_is_heard_while_the_daemon_hangs(start_daemon):
    daemon = start_daemon()
    script = Script(daemon, """
        def interrupted(call):
            timer = threading.Timer(0.3, os.kill, (os.getpid(), 2))
            timer.start()
            try:
                return repr(call())
            except KeyboardInterrupt:
                return ""
            except Exception as error:
                return repr(error)
            finally:
                timer.join()
        kept = gpu.array(A)
        gpu.selu(A)
        gpu.integrate2d
        print("there", flush=True)
        sys.stdin.readline()
        calls = [gpu.info, hp.connect, lambda: gpu.check("selu", A), lambda: gpu.free("a"), lambda: kept.renew(60),
                 lambda: gpu.job("1"), gpu.jobs, lambda: gpu.cancel("1"), lambda: gpu.arrays, lambda: gpu.wait("1"),
                 lambda: gpu.fetch("1"), kept.numpy, lambda: kept[1:], lambda: gpu.selu(A),
                 lambda: gpu.integrate2d(n=10_000_000), lambda: gpu.integrate2d(n=10_000_000, progress=print)]
        for call in calls:
            print(interrupted(call), end=".", flush=True)
        print()
        """)
    script.says("there")
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        script.process.stdin.write("\n")
        # Each by itself has 30 seconds by its deadline.
        script.ends(0, "." * 16, patience=60)
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def test_a_call_whose_upload_is_done_does_not_wait_long_for_a_daemon_that_hangs(start_daemon):
    daemon = start_daemon("--lanes", "1")
    script = Script(daemon, """
        try:
            gpu.selu(np.ones(300_000))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.read()
        """)
    with daemon.connect() as gpu:
        in_the_way = gpu.submit("integrate2d", **LONG)
        wait_until(in_the_way.running, "the lane was taken")
        wait_until(lambda: len(gpu.jobs(active_only=True)) == 2, "the call was queued")
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            script.process.send_signal(signal.SIGINT)
            script.says("interrupted")
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(gpu.jobs(active_only=True)) == 1, "its job was cancelled")
        in_the_way.cancel()
    script.ends()


def test_handlers_run_while_a_download_waits_for_its_connection(daemon):
    record = json.loads((daemon.directory / "servers/local.json").read_text())
    between = relay.Relay(record["endpoints"][0]["port"], down=2_000_000)
    try:
        script = Script(daemon, f"""
            signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
            gpu = hp.connect(endpoint="localhost:{between.port}")
            print(len(gpu.full(n=1_000_000)))
            """)
        assert between.held.wait(PATIENCE), "the download began"
        between.limits["down"] = None  # of the connections to come
        between.cut()
        between.release()
        for _ in range(3):
            script.process.send_signal(signal.SIGUSR1)
            script.says("heard")
        between.mend()
        script.ends(0, "1000000")
    finally:
        between.close()


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
