"""What ends while calls are in flight: the daemon, the interpreter, a process, the last reference. And what many calls
leave behind: nothing."""

import asyncio
import gc
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
from conftest import PATIENCE, wait_until

LONG = {"n": 10_000_000}
A = np.arange(4, dtype=np.float32)


class Script:
    """A Python program of a test's own, with the daemon's client as `gpu`. It ends with the test at the latest."""

    started = []

    def __init__(self, daemon, text, **options):
        head = ("import hotplate as hp, numpy as np, sys, os, threading, time, asyncio, concurrent.futures\n"
                "gpu = hp.connect()\nA = np.ones(4, np.float32)\n")
        self.process = subprocess.Popen(
            [sys.executable, "-c", head + textwrap.dedent(text)], env=daemon.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.started.append(self.process)

    def says(self, line):
        """This must be the next line that it says; it may wait for the end of its input meanwhile."""
        killer = threading.Timer(PATIENCE, self.process.kill)
        killer.start()
        try:
            assert self.process.stdout.readline().strip() == line, self.process.poll()
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
def no_script_is_left():
    yield
    while Script.started:
        process = Script.started.pop()
        process.kill()
        process.wait()


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
                                  "submitted().result()", "submitted().result(3600)", "submitted().exception()",
                                  "asyncio.run(gpu.aio.integrate2d(n=10_000_000))"])
def test_ctrl_c_cancels(daemon, gpu, wait):
    script = Script(daemon, f"""
        def waits():
            frame = sys._current_frames()[threading.main_thread().ident]
            return frame.f_code.co_name == "wait" and frame.f_back.f_code.co_name in ("result", "exception")
        def tell():  # sooner it could be interrupted where the future does not know of it
            while not waits():
                time.sleep(0.01)
            print("waits", flush=True)
        def submitted():
            future = gpu.submit("integrate2d", n=10_000_000)
            threading.Thread(target=tell).start()
            return future
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


def test_ctrl_c_among_an_executors_calls_cancels_them_all(daemon, gpu):
    script = Script(daemon, """
        try:
            with hp.Executor(gpu, max_in_flight=2) as executor:
                futures = [executor.submit("integrate2d", n=10_000_000) for _ in range(4)]
                print("waits", flush=True)
                time.sleep(3600)
        except KeyboardInterrupt:
            print([future.cancelled() for future in futures], flush=True)
        sys.stdin.read()
        """)
    script.says("waits")
    wait_until(lambda: running(gpu), "a job ran")
    script.process.send_signal(signal.SIGINT)
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
        import signal
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


@pytest.mark.parametrize("wait", WAITS[:2])
def test_what_a_handler_of_a_signal_raises_ends_the_call(daemon, gpu, wait):
    script = Script(daemon, f"""
        import signal
        def stop(*_):
            raise LookupError("the time is over")
        signal.signal(signal.SIGALRM, stop)
        try:
            {wait}
        except LookupError as error:
            print(error, flush=True)
        sys.stdin.read()
        """)
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
