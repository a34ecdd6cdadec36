"""What a lane loses between jobs that wait for it, by their receipts."""

import json
import pathlib
import statistics

from . import npy
from .daemon import Daemon
from .endurance import LONG
from .results import Failed, NotRun

JOBS = 40


def idle_ns(jobs):
    """Per job, what of the time from the first one's start to the last one's end the device did nothing for them: neither
    the kernel nor a copy, by the device's own clock."""
    worked = sum(int(job["receipt"].get(part) or 0) for job in jobs for part in ("hostToDeviceNs", "kernelNs", "deviceToHostNs"))
    begin = min(job["startTime"] for job in jobs)  # seconds since 1970: of a double, a quarter of a microsecond is lost
    end = max(job["endTime"] for job in jobs)
    return (round((end - begin) * 1e9) - worked) / len(jobs)


def calls_for(daemon, nanoseconds_wanted, start=1024):
    """n of an integrate2d whose kernel takes about that long."""
    n = start
    for _ in range(8):
        took = int(daemon.answer("run", "integrate2d", "--n", n)["receipt"]["kernelNs"])
        if 0.8 * nanoseconds_wanted < took < 2 * nanoseconds_wanted:
            break
        n = max(64, min(16_000_000, int(n * min(64, max(0.1, (nanoseconds_wanted / max(took, 1)) ** 0.5)))))
    return n


def small_call(kit):
    """The words of a call whose kernel takes a few microseconds at most."""
    return ["vector_add", *(npy.write(pathlib.Path(kit.folder) / f"small-{name}.npy", (4,), bytes(16)) for name in "ab")]


def behind_a_long_job(daemon, words):
    """The small jobs, as `show` tells of them. All wait behind a job that is cancelled when the last one is in the queue."""
    long = daemon.answer("submit", "integrate2d", *LONG["integrate2d"])["jobId"]
    daemon.wait_for_state(long, "RUNNING")
    ids = [daemon.answer("submit", *words)["jobId"] for _ in range(JOBS)]
    daemon.hotplate("cancel", long)
    daemon.hotplate("wait", ids[-1], timeout=120)  # nobody asks, or listens to the others, while they run
    daemon.hotplate("wait", *ids, timeout=120)
    if daemon.answer("show", long)["state"] != "CANCELLED":
        raise NotRun("the long job was over before it was cancelled")
    return [daemon.answer("show", one) for one in ids]


def idle(kit, facts):
    kit.need("integrate2d")
    with Daemon(kit, "--lanes", "1") as daemon:
        over_50 = ["integrate2d", "--n", str(calls_for(daemon, 100_000))]
        for name, words in (("short", small_call(kit)), ("over 50 us", over_50)):
            for _ in range(3):
                daemon.answer("run", *words)
            jobs = behind_a_long_job(daemon, words)
            wrong = [job for job in jobs if job["state"] != "COMPLETED"]
            if wrong:
                raise Failed(f"a small job ended as {json.dumps(wrong[0])[:300]}")
            kernel = statistics.median(int(job["receipt"]["kernelNs"]) for job in jobs)
            facts[name] = {"kernel_ns": kernel, "words": words}
            if kit.device == "cuda" and words is over_50 and kernel <= 50_000:
                raise NotRun(f"the longer kernel took {kernel / 1e3:.3g} us")
            kit.figure(f"idle between queued jobs, kernels {name}", idle_ns(jobs) / 1e3, "us", 10, at_least=False,
                       jobs=len(jobs), kernel_ns=kernel)
