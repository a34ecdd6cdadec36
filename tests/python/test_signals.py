"""Signals while calls are under way: handlers run, what one raises (Ctrl-C's too) ends the call and cleans up after it."""

import asyncio
import functools
import json
import os
import signal
import socket

import numpy as np
import pytest
import relay
from conftest import PATIENCE, wait_until
from script import Script, nothing_left, running

pytestmark = pytest.mark.usefixtures("nothing_of_a_test_goes_on")

LONG = {"n": 10_000_000}


@pytest.fixture
def relayed_to():
    """relayed_to(daemon, **limits): a relay to that daemon; see Relay."""
    started = []

    def start(daemon, **limits):
        record = json.loads((daemon.directory / "servers/local.json").read_text())
        started.append(relay.Relay(record["endpoints"][0]["port"], **limits))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def relayed(daemon, relayed_to):
    """relayed(**limits): a relay to the daemon of this file."""
    return functools.partial(relayed_to, daemon)


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


# Short sleeps: a signal that comes just before a sleep begins does not end it.
@pytest.mark.parametrize("wait", ["print('waits', flush=True); [time.sleep(1) for _ in range(3600)]", "tell('__exit__')"],
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
        signal.signal(signal.{name}, heard)
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


@pytest.mark.parametrize("wait", [*WAITS, "executor.shutdown()"])
def test_a_handler_runs_though_another_thread_got_the_signal(daemon, gpu, wait):
    """Then nothing wakes the main thread, as where a signal comes just before it falls asleep."""
    script = Script(daemon, f"""
        signal.signal(signal.SIGUSR1, heard)
        def elsewhere():
            sys.stdin.readline()
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        threading.Thread(target=elsewhere).start()
        executor = hp.Executor(gpu)
        future = executor.submit("integrate2d", n=10_000_000) if "executor" in {wait!r} else None
        try:
            {wait}
        except hp.JobCancelled:
            pass
        """)
    (job_id,) = wait_until(lambda: running(gpu), "the job ran")
    script.hears("\n")
    script.says("heard")
    gpu.cancel(job_id)
    script.ends()


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


def hang(daemon):
    """Stops it, and waits until it has: its threads go on until one of them was scheduled to hear of the signal."""
    daemon.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


# Each by itself has 30 seconds by its deadline.
WHILE_IT_HANGS = [
    "gpu.info()", "hp.connect()", "gpu.check('selu', A)", "gpu.free('a')", "kept.renew(60)", "gpu.job('1')", "gpu.jobs()",
    "gpu.cancel('1')", "gpu.arrays", "gpu.wait('1')", "gpu.fetch('1')", "kept.numpy()", "kept[1:]", "gpu.selu(A)",
    "gpu.integrate2d(n=10_000_000)", "gpu.integrate2d(n=10_000_000, progress=print)", "gpu.array(A)", "gpu.array(large)",
    "gpu.selu(large)", "gpu.submit_detached('selu', A)", "gpu.submit_detached('selu', large)"]


def test_ctrl_c_is_heard_while_the_daemon_hangs(start_daemon):
    daemon = start_daemon()
    # Those of one program come one after the other; of those that take two seconds, the last eight, each has one.
    programs = 8
    scripts = [Script(daemon, f"""
        kept = gpu.array(A)
        large = np.ones(300_000)
        gpu.selu(A)
        gpu.integrate2d
        print("there", flush=True)
        sys.stdin.readline()
        for call in [{", ".join("lambda: " + call for call in WHILE_IT_HANGS[first::programs])}]:
            timer = threading.Timer(0.3, os.kill, (os.getpid(), 2))
            try:
                timer.start()
                print(repr(call()))
            except KeyboardInterrupt:
                print("interrupted")
            except Exception as error:
                print(repr(error))
            timer.join()
        """) for first in range(programs)]
    for script in scripts:
        script.says("there")
    hang(daemon)
    try:
        for script in scripts:
            script.hears("\n")
        for first, script in enumerate(scripts):
            script.ends(0, "\n".join("interrupted" for _ in WHILE_IT_HANGS[first::programs]))
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def test_a_call_whose_upload_is_done_does_not_wait_long_for_a_daemon_that_hangs(start_daemon):
    daemon = start_daemon("--lanes", "1")
    script = Script(daemon, """
        sys.stdin.readline()
        try:
            gpu.selu(np.ones(300_000))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.read()
        """)
    with daemon.connect() as gpu:
        in_the_way = gpu.submit("integrate2d", **LONG)
        wait_until(in_the_way.running, "the lane was taken")
        script.hears("\n")
        wait_until(lambda: len(gpu.jobs(active_only=True)) == 2, "the call was queued")
        hang(daemon)
        try:
            script.process.send_signal(signal.SIGINT)
            script.says("interrupted")
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(gpu.jobs(active_only=True)) == 1, "its job was cancelled")
        in_the_way.cancel()
    script.ends()


def test_handlers_run_while_a_download_waits_for_its_connection(daemon, relayed):
    between = relayed(down=2_000_000)
    script = Script(daemon, f"""
        signal.signal(signal.SIGUSR1, heard)
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


# Uploads.

SOME = 2_000_000  # bytes; the uploads are twenty times that


def is_open(between):
    """Whether the first connection over that relay is, on the client's side."""
    established = 1
    return between.sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == established


def jobs_of(gpu, kernel):
    return [job["id"] for job in gpu.jobs() if job["kernel"] == kernel]


UPLOADS = ["gpu.array(large)", "gpu.array(large, name='mine')", "gpu.selu(large)",
           "gpu.selu(large, progress=lambda *_: None)", "gpu.submit_detached('selu', large)"]


@pytest.mark.parametrize("reads_on", [True, False], ids=["daemon reads on", "daemon hangs"])
def test_ctrl_c_gives_an_upload_up_and_frees_it(daemon, gpu, relayed, reads_on):
    arrays, jobs = len(gpu.arrays), jobs_of(gpu, "selu")
    betweens = [relayed(up=SOME) for _ in UPLOADS]
    # All at once: each waits for the daemon.
    scripts = [Script(daemon, f"""
        def interrupt(*_):
            heard()
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, interrupt)
        gpu = hp.connect(endpoint="localhost:{between.port}")
        large = np.ones(5_000_000)
        try:
            {upload}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.readline()
        print(float(gpu.vector_add(A, A)[0]), flush=True)
        while sys.getrefcount(large) > 2:
            gpu.info()
        print("nobody else has it", flush=True)
        sys.stdin.read()
        """) for upload, between in zip(UPLOADS, betweens)]
    for between in betweens:
        assert between.held.wait(PATIENCE), "the upload began"
    wait_until(lambda: len(gpu.arrays) == arrays + len(UPLOADS), "the daemon has a part of each")
    for script in scripts:
        script.process.send_signal(signal.SIGINT)
    for script, between in zip(scripts, betweens):
        script.says("heard")
        if reads_on:
            between.release()
    for script, between in zip(scripts, betweens):
        script.says("interrupted")
        assert is_open(between), "before the connection was given up"
        between.release()
    wait_until(lambda: len(gpu.arrays) == arrays, "what they had sent was freed")
    assert jobs_of(gpu, "selu") == jobs
    for script in scripts:
        script.hears("\n")
        script.says("2.0")
        script.says("nobody else has it")
        script.ends()


# A handler that takes its time: what it raises comes after the end of the call.
SLOW_HANDLER = """
        def slowly(*_):
            heard()
            sys.stdin.readline()
            time.sleep(1.5)
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, slowly)
"""


@pytest.mark.parametrize("call, stays", [("gpu.array(large)", 0), ("gpu.selu(large, keep=True)", 0),
                                         ("gpu.array(large, name='stays')", 1)])
def test_an_upload_that_a_handler_gives_up_when_it_is_done_leaves_nothing_unnamed(daemon, gpu, relayed, call, stays):
    between = relayed(up=SOME)
    arrays, jobs = len(gpu.arrays), len(jobs_of(gpu, "selu"))
    script = Script(daemon, SLOW_HANDLER + f"""
        gpu = hp.connect(endpoint="localhost:{between.port}")
        large = np.ones(5_000_000)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.read()
        """)
    assert between.held.wait(PATIENCE), "the upload began"
    script.process.send_signal(signal.SIGINT)
    script.says("heard")
    between.release()
    if "selu" in call:
        wait_until(lambda: len(jobs_of(gpu, "selu")) > jobs and not gpu.jobs(active_only=True), "the job was done")
        wait_until(lambda: len(gpu.arrays) == arrays + 1, "the result was there, and the upload freed")
    else:
        wait_until(lambda: [one for one in gpu._core.arrays()["arrays"] if one["state"] == "READY"
                            and one["signature"]["shape"] == [5_000_000]], "the array was there")
    script.hears("\n")
    script.says("interrupted")
    wait_until(lambda: len(gpu.arrays) == arrays + stays, "only what has a name was left")
    script.ends()
    if stays:
        gpu.free("stays")


def test_a_result_that_a_handler_gives_up_when_the_job_is_done_is_not_kept(start_daemon):
    daemon = start_daemon("--lanes", "1")
    script = Script(daemon, SLOW_HANDLER + """
        sys.stdin.readline()
        try:
            gpu.vector_add(A, A, keep=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.read()
        """)
    with daemon.connect() as gpu:
        in_the_way = gpu.submit("integrate2d", **LONG)
        wait_until(in_the_way.running, "the lane was taken")
        script.hears("\n")
        wait_until(lambda: len(gpu.jobs(active_only=True)) == 2, "the call was queued")
        script.process.send_signal(signal.SIGINT)
        script.says("heard")
        in_the_way.cancel()
        wait_until(lambda: len(gpu.arrays) == 1, "the job was done")
        script.hears("\n")
        script.says("interrupted")
        wait_until(lambda: not gpu.arrays, "its result was freed")
    script.ends()


@pytest.mark.parametrize("call, stays", [("far.reduce(large, out=out)", []),
                                         ("far.histogram(large, keep={'counts': True, 'edges': 'named'})", ["named"])],
                         ids=["out", "keep"])
def test_of_a_result_that_comes_after_ctrl_c_only_what_has_a_name_is_left(start_daemon, relayed_to, call, stays):
    daemon = start_daemon("--lanes", "1")
    between = relayed_to(daemon)
    script = Script(daemon, f"""
        far = hp.connect(endpoint="localhost:{between.port}")
        large, out = np.ones(300_000), np.full((), -1.0)
        sys.stdin.readline()
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        while sys.getrefcount(large) > 2:
            gpu.info()
        print(float(out), flush=True)
        sys.stdin.readline()
        """)
    with daemon.connect() as gpu:
        in_the_way = gpu.submit("integrate2d", **LONG)
        wait_until(in_the_way.running, "the lane was taken")
        script.hears("\n")
        wait_until(lambda: len(gpu.jobs(active_only=True)) == 2, "the call was queued")
        between.limits["up"] = 0  # it hears of the job's end, and what it says then does not come
        in_the_way.cancel()
        wait_until(lambda: not gpu.jobs(active_only=True), "the job was done")
        assert between.held.wait(PATIENCE), "the call frees its upload"
        script.process.send_signal(signal.SIGINT)
        script.says("interrupted")
        between.release()
        script.says("-1.0")  # the call, which went on by itself, is over
        # But for its upload, which it has had some seconds to free.
        assert [array.name for array in gpu.arrays if array.shape != (300_000,)] == stays
    script.ends()


def test_a_cancelled_upload_of_asyncio_is_freed(daemon, gpu, relayed):
    between = relayed(up=SOME)
    arrays = len(gpu.arrays)

    async def cancelled(client):
        sending = asyncio.create_task(client.aio.array(np.ones(5_000_000)))
        assert await asyncio.to_thread(between.held.wait, PATIENCE), "the upload began"
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    with daemon.connect(endpoint=f"localhost:{between.port}") as client:
        asyncio.run(cancelled(client))  # it waits for the loop's threads
        assert is_open(between), "before the connection was given up"
        between.release()
        wait_until(lambda: len(gpu.arrays) == arrays, "what it had sent was freed")
        assert client.selu(np.ones(4)).shape == (4,)
