"""What ends while calls are in flight: the daemon, the interpreter, a process, the last reference. And what many calls
leave behind: nothing."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import weakref

import hotplate
import numpy as np
import pytest
from conftest import PATIENCE, wait_until

LONG = {"n": 10_000_000}
A = np.arange(4, dtype=np.float32)


class Script:
    """A Python program of a test's own, with the daemon's client as `gpu`."""

    def __init__(self, daemon, text, **options):
        head = ("import hotplate as hp, numpy as np, sys, os, threading, time, asyncio, concurrent.futures\n"
                "gpu = hp.connect()\nA = np.ones(4, np.float32)\n")
        self.process = subprocess.Popen(
            [sys.executable, "-c", head + textwrap.dedent(text)], env=daemon.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def ends(self, code=0, out="", err=""):
        """It must end by itself, with this code and having said just this."""
        try:
            got_out, got_err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end\n{self.process.communicate()}") from None
        assert (self.process.returncode, got_out.strip(), got_err.strip()) == (code, out, err)


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


@pytest.mark.parametrize("wait", ["gpu.integrate2d(n=10_000_000)", "gpu.run('integrate2d', n=10_000_000)",
                                  "gpu.submit('integrate2d', n=10_000_000).result()",
                                  "asyncio.run(gpu.aio.integrate2d(n=10_000_000))"])
def test_ctrl_c_cancels(daemon, gpu, wait):
    script = Script(daemon, f"""
        try:
            {wait}
        except KeyboardInterrupt:
            print("interrupted", float(gpu.vector_add(A, A)[0]), flush=True)
        """)

    def running():
        return [job["id"] for job in gpu.jobs(active_only=True) if job["state"] == "RUNNING"]

    (job_id,) = wait_until(running, "the job ran")
    script.process.send_signal(signal.SIGINT)
    script.ends(0, "interrupted 2.0")
    wait_until(lambda: gpu.job(job_id)["state"] == "CANCELLED", "the job was cancelled")


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
    wait_until(lambda: not gpu.jobs(active_only=True), "nothing was left running")


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
    wait_until(lambda: not gpu.jobs(active_only=True), "nothing was left running")
