"""Why a job waits, and when it will start."""

import numpy as np
import pytest

import hotplate as hp
from conftest import wait_until


@pytest.fixture
def gpu(start_daemon):
    with start_daemon("--lanes", "1").connect() as client:
        yield client


@pytest.fixture
def blocker(gpu):
    """A job that has the only lane."""
    job = gpu.submit_detached("integrate2d", n=10_000_000)
    wait_until(lambda: gpu.job(job)["state"] == "RUNNING", "it runs")
    yield job
    gpu.cancel(job)


def test_a_waiting_job_names_who_is_in_its_way(gpu, blocker):
    waits = gpu.submit_detached("selu", np.ones(100_000))
    why = gpu.job(waits).why()
    assert why["cause"] == "PLACE" and why["job"]["state"] == "PENDING"
    assert why["in_the_way"][0]["job"]["job_id"] == str(blocker)
    assert str(why).startswith(f"job {waits} waits for a lane of cpu0; job {blocker} (integrate2d) runs on cpu0")
    assert gpu.why(waits)["cause"] == "PLACE"
    assert next(job for job in gpu.jobs() if job["id"] == str(waits)).why()["text"]


def test_history_foretells_the_run(gpu):
    for _ in range(2):
        gpu.run("integrate2d", n=1500)
    job = gpu.submit_detached("integrate2d", n=1500)
    assert gpu.why(job)["run_time"]["median_ns"] > 0
    gpu.wait(job)
    why = gpu.why(job)
    assert why["cause"] == "UNSPECIFIED" and why["waited_ns"] >= 0 and why["starts_in_ns"] is None


def test_whoever_cannot_be_asked_is_an_error(gpu):
    with pytest.raises(KeyError):
        gpu.why(12345)
    with pytest.raises(RuntimeError, match="client.why"):
        hp.jobs.Job({"id": "7"}).why()
