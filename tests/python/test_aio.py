"""The same calls for asyncio, and telemetry as a stream."""

import asyncio
import gc
import inspect
import threading

import hotplate
import numpy as np
import pytest
from hotplate import html
from conftest import PATIENCE, wait_until

LONG = {"n": 10_000_000}
A = np.arange(4, dtype=np.float32)


def active(gpu):
    return gpu.jobs(own_session=True, active_only=True)


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 2 * PATIENCE))


def test_a_kernel_is_awaited(gpu):
    async def calls():
        np.testing.assert_array_equal(await gpu.aio.vector_add(A, A), A + A)
        assert gpu.last_receipt.kernel == "vector_add"
        np.testing.assert_array_equal(await gpu.aio.run("selu", A, alpha=1.5), gpu.selu(A, alpha=1.5))
        np.testing.assert_array_equal(await gpu.aio.run(gpu.selu, A, alpha=1.5), gpu.selu(A, alpha=1.5))
        held = await gpu.aio.array(A, name="held-by-aio")
        np.testing.assert_array_equal(await gpu.aio.vector_add(held, A), A + A)
        held.free()

    run(calls())


def test_the_loop_does_not_wait_for_questions(daemon, monkeypatch):
    asking = []
    plan, infer = hotplate.Client._plan, hotplate.calls.Plan._infer

    def asked_plan(self, name):
        if name not in self._plans:
            asking.append(threading.get_ident())
        return plan(self, name)

    monkeypatch.setattr(hotplate.Client, "_plan", asked_plan)
    monkeypatch.setattr(hotplate.calls.Plan, "_infer",
                        lambda self, call: (asking.append(threading.get_ident()), infer(self, call))[1])

    async def calls():
        out = np.empty_like(A)
        assert await client.aio.run("vector_add", A, A, out=out) is out
        np.testing.assert_array_equal(out, A + A)
        np.testing.assert_array_equal(await client.aio.sort(A), A)
        with pytest.raises(KeyError):
            await client.aio.no_such_kernel(A)

    with daemon.connect() as client:
        run(calls())
    assert len(asking) == 4 and threading.get_ident() not in asking


def test_many_are_in_flight_and_no_thread_for_each(gpu):
    async def calls():
        await gpu.aio.vector_add(A, A)
        before = threading.active_count()
        results = await asyncio.gather(*(gpu.aio.vector_add(A, A + i) for i in range(500)))
        assert threading.active_count() == before
        return results

    for i, result in enumerate(run(calls())):
        np.testing.assert_array_equal(result, A + A + i)


def test_what_a_call_raises_comes_with_the_await(gpu):
    async def calls():
        with pytest.raises(ValueError):
            await gpu.aio.vector_add(A, A[:2])
        with pytest.raises(TypeError):
            await gpu.aio.vector_add(A)
        with pytest.raises(KeyError):
            await gpu.aio.run("no_such_kernel")
        with pytest.raises(TypeError, match="3 is a int"):
            await gpu.aio.run(3, A)
        with pytest.raises(KeyError, match="vector_add"):
            await gpu.aio.vector_ad(A, A)
        with pytest.raises(AttributeError, match="no free"):
            gpu.aio.free  # noqa: B018
        assert not hasattr(gpu.aio, "_repr_html_")

    run(calls())


@pytest.mark.parametrize("raised, comes", [(ZeroDivisionError, ZeroDivisionError), (StopIteration, RuntimeError)])
def test_what_progress_raises_comes_with_the_await(gpu, raised, comes):
    def report(fraction, text):
        raise raised

    async def calls():
        with pytest.raises(comes) as told:
            await gpu.aio.integrate2d(n=20_000, progress=report)
        assert raised in (told.type, type(told.value.__cause__))

    run(calls())
    wait_until(lambda: not active(gpu), "the job ended")


def test_cancelling_a_task_cancels_the_job(gpu):
    async def cancelled():
        task = asyncio.ensure_future(gpu.aio.integrate2d(**LONG))
        while not any(job["state"] == "RUNNING" for job in active(gpu)):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    wait_until(lambda: not active(gpu), "the job ended")


def test_a_timeout_cancels_the_job(gpu):
    async def timed_out():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(gpu.aio.integrate2d(**LONG), 0.05)

    run(timed_out())
    wait_until(lambda: not active(gpu), "the job ended")


@pytest.mark.skipif(not hasattr(asyncio, "TaskGroup"), reason="TaskGroup came with Python 3.11")
def test_a_group_ends_its_jobs_when_one_fails(gpu):
    async def group():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(gpu.aio.integrate2d(**LONG))
            tasks.create_task(gpu.aio.vector_add(A, A[:2]))

    with pytest.raises(BaseException) as caught:
        run(group())
    assert any(isinstance(error, ValueError) for error in caught.value.exceptions)
    wait_until(lambda: not active(gpu), "the other job ended")


def test_a_loop_that_is_left_leaves_no_job(gpu):
    async def left():
        asyncio.ensure_future(gpu.aio.integrate2d(**LONG))
        while not active(gpu):
            await asyncio.sleep(0.01)

    run(left())  # asyncio.run cancels what is left
    wait_until(lambda: not active(gpu), "the job ended")
    run(left())


def test_kernels_look_like_themselves(gpu):
    assert str(inspect.signature(gpu.aio.selu)) == str(inspect.signature(gpu.selu))
    assert gpu.aio.selu.__doc__ == gpu.selu.__doc__
    assert "matmul" in dir(gpu.aio) and "run" in dir(gpu.aio)


# Telemetry and devices.


def no_stream():
    return "hotplate telemetry" not in [thread.name for thread in threading.enumerate()]


def test_telemetry_is_a_stream(gpu):
    stream = gpu.telemetry(interval=0.1)
    first, second = next(stream), next(stream)
    assert second.time > first.time and second["time"] == second.time
    assert [device.device for device in first.devices] == [device.id for device in gpu.devices]
    assert first.daemon.resident_bytes > 0 and "daemon" in first and len(first) == 3
    assert first.devices[0].power_watts is None, "what a device has not is None"
    with pytest.raises(AttributeError, match="there is no"):
        first.nonsense  # noqa: B018
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)
    wait_until(no_stream, "its thread ended")


def test_a_stream_that_nobody_refers_to_ends(gpu):
    for _ in gpu.telemetry(interval=0.1):
        break
    gc.collect()
    wait_until(no_stream, "its thread ended")


def test_telemetry_for_asyncio(gpu):
    async def three():
        times = []
        async for sample in gpu.aio.telemetry(0.1):
            times.append(sample.time)
            if len(times) == 3:
                return times

    times = run(three())
    assert times == sorted(set(times))


def test_an_interval_that_makes_no_sense(gpu):
    for interval in (0, -1, 61, float("nan")):
        with pytest.raises(ValueError, match="interval"):
            gpu.telemetry(interval)


def test_telemetry_of_a_daemon_that_goes(start_daemon):
    daemon = start_daemon()
    client = daemon.connect(reconnect=0.0, retries=0)
    stream = client.telemetry(interval=0.1)
    next(stream)
    daemon.kill()
    with pytest.raises(ConnectionError):
        for _ in stream:
            pass
    client.close()


def test_closing_ends_telemetry(daemon):
    client = daemon.connect()
    stream = client.telemetry(interval=0.1)
    next(stream)
    threading.Timer(0.05, client.close).start()
    for _ in stream:
        pass


def test_devices_and_tables(gpu):
    (device,) = gpu.devices
    assert device.id == "cpu0" and device["backend"] == "cpu" and device.memory_bytes > 0 and device.lost == ""
    assert "cpu0" in repr(device)
    assert "<table>" in gpu.devices._repr_html_() and "cpu0" in gpu.devices._repr_html_()
    gpu.vector_add(A, A)
    table = gpu.last_receipt._repr_html_()
    assert "vector_add" in table and "kernel" in table and "None" not in table
    assert "float32" in gpu.array(A)._repr_html_()
    assert "&lt;b&gt;" in html.table([("<b>", "&")]) and "<b>" not in html.table([("<b>", "&")])
