"""Does it hold? Several lanes at once, cancelling, a full device, a minute of everything, a kernel that faults."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import threading
import time

from . import npy
from .arrays import NUMBERS, Arrays, write
from .daemon import Daemon, wait_until
from .device_memory import hold, let_go
from .place import built_for_others
from .results import NOT_RUN, Failed, NotRun

# What one call of each chunked kernel takes that would run for many minutes. A chunked kernel without a row fails.
LONG = {
    "integrate2d": ["--n", "16000000"],
    "kmeans": ["array:long_points", "array:long_initial", "--max-iterations", "1000000", "--tolerance", "0"],
    "mandelbrot": ["--resolution", "20000", "--max-iterations", "2000000000", "--x-min=-0.1", "--x-max=0.1",
                   "--y-min=-0.1", "--y-max=0.1"],
    "pagerank": ["array:long_edges", "array:long_nodes", "--max-iterations", "1000000000", "--tolerance", "0"],
}
# What is run before, for its inputs.
BEFORE = {
    "kmeans": [["random", "--rows", rows, "--n", "64", "--dtype", "float32", "--seed", rows, "-o", f"array:{name}"]
               for rows, name in (("500000", "long_points"), ("8192", "long_initial"))],
    # Each node has one edge, to itself.
    "pagerank": [["arange", "--stop", stop, "--dtype", "int64", "-o", f"array:{name}"]
                 for stop, name in (("1000000", "long_edges"), ("1000001", "long_nodes"))],
}
# A command takes some milliseconds to start, and the daemon some to tell: what is added to twice a kernel's bound. The kit's
# own tests, beside which anything may run, allow more.
COMMAND_MS = int(os.environ.get("HOTPLATE_KIT_COMMAND_MS", "500"))


# lanes

def lanes_checks(_kit):
    return ["4 lanes at once"]


def lanes(kit):
    with kit.check("4 lanes at once") as facts:
        with Daemon(kit, "--lanes", "4") as daemon:
            work = [(kernel, case) for kernel in kit.runnable() for case in kit.cases(kernel, 3, 16 << 20)]
            work *= 1 if kit.quick else 4
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                ran = list(pool.map(lambda one: kit.run_case(daemon, *one), work))
            facts["jobs"] = len(ran)
            facts["shared_the_device"] = sum(bool(receipt.get("deviceShared")) for receipt, _ in ran)


# cancel

def chunked(kit):
    return [kernel for kernel in kit.place.kernels if kernel.get("cancelClass") == "CANCEL_CLASS_CHUNKED"]


def cancel_checks(kit):
    return [f"cancel of {kernel['name']}" for kernel in chunked(kit)]


# A command that finds its processors taken by other programs is late whatever the kernel does: one in time is enough.
CANCELS = 3


def cancelled_ms(daemon, name):
    """From the command to the end, of a job that runs."""
    job = daemon.answer("submit", name, *LONG[name])["jobId"]
    daemon.wait_for_state(job, "RUNNING")
    time.sleep(0.2)  # well inside it
    asked = time.monotonic()
    daemon.hotplate("cancel", job)
    shown = daemon.wait_for_state(job, "CANCELLED", "COMPLETED", "FAILED", "TIMEOUT")
    if shown["state"] != "CANCELLED":
        raise Failed(f"it ended as {shown['state']}")
    return (time.monotonic() - asked) * 1e3


def cancel(kit):
    with Daemon(kit) as daemon:
        for kernel in chunked(kit):
            name = kernel["name"]
            with kit.check(f"cancel of {name}") as facts:
                kit.need(name)
                if name not in LONG:
                    raise Failed(f"no long call of {name}: give it a row in tests/gpu/kit/endurance.py")
                for made in BEFORE.get(name, []):
                    daemon.answer("run", *made)
                allowed = 2 * kernel["cancelBoundMs"] + COMMAND_MS
                for attempt in range(1, CANCELS + 1):
                    took = cancelled_ms(daemon, name)
                    facts |= {"measured": took, "unit": "ms", "goal": allowed, "at_least": False, "attempts": attempt}
                    if took <= allowed:
                        break
                else:
                    raise Failed(f"{took:.0f} ms from the command to CANCELLED; the kernel promises {kernel['cancelBoundMs']} ms")
                kit.run_case(daemon, name, kit.cases(name, 2)[0])  # as healthy as before


# memory

HELD_BACK = 700 << 20  # what the holder leaves of the device
BIG_BYTES = 360 << 20  # of each of three arrays: more than that


def memory_checks(_kit):
    return ["larger than the device", "a job waits for room", "a small job beside it", "the job that waited",
            "healthy once there is room", "out of memory while it runs"]


def big(kit):
    """A call for which 700 MiB are too little: its input is a file of ones, which the daemon reads itself."""
    path = pathlib.Path(kit.folder) / "big.npy"
    if not path.exists():
        write_column(path, (BIG_BYTES // 4, 1), b"\x00\x00\x80\x3f")
    return ["vector_add", f"path:{path}", f"path:{path}"]


def fit_of(kit, daemon):
    """What --dry-run says of the big call on the first device: fit, bytesNeeded, bytesFree, bytesTotal."""
    return daemon.answer("run", *big(kit), "--dry-run")["devices"][0]


def small_job(kit, daemon):
    kit.run_case(daemon, "vector_add", next(one for one in kit.cases("vector_add", 1000, 1 << 20) if "float32" in one))


def memory(kit):
    """Another program takes all of the device but 700 MiB: a larger job waits in the queue, and runs once there is room."""
    with Daemon(kit, "--lanes", "1", "--array-bytes", "100TiB") as daemon:  # the device is the limit here, not the host
        with kit.check("larger than the device") as facts:
            kit.need("matmul")
            larger_than_the_device(kit, daemon, facts)
        why = kit.one_at_a_time() if kit.place.program("bench_bare_cuda") else "bench_bare_cuda was not built"
        if why:
            for name in memory_checks(kit)[1:]:
                kit.record(name, NOT_RUN, why)
            return
        holder, job = None, None
        try:
            with kit.check("a job waits for room") as facts:
                holder, facts["holder"] = hold(kit, HELD_BACK)

                def later():
                    facts["fit"] = fit = fit_of(kit, daemon)
                    return fit["fit"] == "LATER" and int(fit["bytesNeeded"]) > int(fit["bytesFree"])

                # The daemon looks at the device's free memory now and then.
                wait_until(later, "--dry-run said LATER on a full device, and that more is needed than is free", patience=10)
                job = daemon.answer("submit", *big(kit), "--output", "array:big")["jobId"]
                for _ in range(10):
                    shown = daemon.answer("show", job)
                    if shown["state"] != "PENDING":
                        raise Failed(f"on a full device the job is {shown['state']}: {json.dumps(shown)[:400]}")
                    time.sleep(0.1)
            with kit.check("a small job beside it"):
                small_job(kit, daemon)
            with kit.check("the job that waited") as facts:
                let_go(holder)
                if job is None:
                    raise NotRun("after 'a job waits for room'")
                shown = daemon.wait_for_state(job, "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", patience=60)
                if shown["state"] != "COMPLETED":
                    raise Failed(f"it ended as {shown['state']}: {json.dumps(shown)[:400]}")
                there = pathlib.Path(kit.folder) / "there.npy"
                daemon.hotplate("get", "big", "-o", there)
                data = there.read_bytes()
                facts["bytes"] = len(data)
                if data[-BIG_BYTES:] != b"\x00\x00\x00\x40" * (BIG_BYTES // 4):
                    raise Failed(f"1 + 1 is not 2 everywhere in its output of {len(data)} bytes")
                del data
                there.unlink()
                daemon.hotplate("free", "big")
            with kit.check("healthy once there is room"):
                for kernel in kit.runnable():
                    kit.run_case(daemon, kernel, kit.cases(kernel, 2)[0])
        finally:
            let_go(holder)
    with kit.check("out of memory while it runs") as facts:
        out_of_memory(kit, facts)


def write_column(path, shape, element=bytes(4)):
    """A .npy file of one float32 everywhere."""
    return npy.write(path, shape, element * max(shape))


def larger_than_the_device(kit, daemon, facts):
    """A column times a row: small inputs, and an output that is half as large again as the device. Nothing of it is made."""
    total = int(fit_of(kit, daemon)["bytesTotal"])
    n = int((1.5 * total / 4) ** 0.5)
    files = [write_column(pathlib.Path(kit.folder) / f"{name}.npy", shape) for name, shape in (("a", (n, 1)), ("b", (1, n)))]
    code, out, err = daemon.run("run", "matmul", *files, "--output", "array:huge")
    facts |= {"shape": [n, n], "exit": code, "said": (err or out).strip()[:400]}
    if code not in (4, 5):
        raise Failed(f"an output of [{n}, {n}] float32: exit {code} instead of a refusal (4, 5): {(err or out).strip()}")
    if not re.search(r"\d+ bytes are needed on \S+, which has \d+", err):
        raise Failed(f"the refusal does not say what is needed and what the device has: {err.strip()}")


def out_of_memory(kit, facts):
    """The device fills up between the daemon's look at it and the allocation: the job FAILS with figures. A race, so several
    tries, each with a daemon whose pool has nothing yet."""
    facts["exits"] = []
    for number in range(4):
        with Daemon(kit, "--lanes", "1", name=f"filled-{number}") as daemon:
            wait_until(lambda: fit_of(kit, daemon)["fit"] == "NOW", "the device had room again", patience=10)
            holder, _ = hold(kit, HELD_BACK)
            try:
                code, out, err = daemon.run("run", *big(kit), "--output", "array:oom", "--timeout", "1s")
            finally:
                let_go(holder)
            said = (err or out).strip()
            facts["exits"].append(code)
            if code == 1:
                facts["said"] = said[:400]
                if not re.search(r"out of device memory.*\d+ bytes needed, \d+ bytes free", said):
                    raise Failed(f"the failure does not say what was needed and what was free: {said}")
                small_job(kit, daemon)
                return
    raise NotRun("each time the daemon saw in time that the device was full, and the job waited")


# soak

def soak_checks(_kit):
    return ["soak", "memory after the soak"]


SOAK_SECONDS = 60
# What an idle daemon may hold more of than before: buffers that its lanes keep, the allocator's, another one's pool.
SLACK = {"resident_bytes": 256 << 20, "hotplate_device_pinned_bytes": 256 << 20, "device_memory_beside_the_pool_bytes": 64 << 20}


def resources(daemon):
    """What must be back at its start: bytes of arrays, of the device's memory, resident bytes of the daemon. The memory that
    the pool keeps for the next job is no loss, and comes back when somebody needs it."""
    metrics = daemon.metrics()
    found = {name: metrics[name] for name in ("hotplate_arrays_bytes", "hotplate_device_pool_used_bytes",
                                              "hotplate_device_resident_bytes", "hotplate_device_pinned_bytes") if name in metrics}
    # Pinned memory is resident, and has its own line.
    found["resident_bytes"] = metrics.get("hotplate_resident_bytes", 0)
    if "hotplate_device_pool_reserved_bytes" in metrics and "hotplate_device_memory_used_bytes" in metrics:
        found["device_memory_beside_the_pool_bytes"] = (metrics["hotplate_device_memory_used_bytes"] -
                                                        metrics["hotplate_device_pool_reserved_bytes"])
    return found


def kept_arrays(kit, daemon, path, number):
    """An upload, a job on it whose output stays, one on that, the result, and no more of them."""
    arrays, names = Arrays(kit, daemon), [f"kept-{number}-{name}" for name in "abc"]
    arrays.put(path, names[0])
    for last, name in zip(names, names[1:]):
        arrays.add(last, names[0], name)
    arrays.is_there(names[2], NUMBERS, 3)
    arrays.free(*names)


def long_calls(kit):
    return [kernel["name"] for kernel in chunked(kit) if kernel["name"] in LONG and kernel["name"] in kit.runnable()]


def soak(kit):
    with Daemon(kit, "--lanes", "3", "--result-retention", "1s") as daemon:
        work = [(kernel, case) for kernel in kit.runnable() for case in kit.cases(kernel, 3, 8 << 20)]
        path = write(kit, "kept", NUMBERS)
        long = long_calls(kit)
        before = None
        with kit.check("soak") as facts:
            # Everything once, the long calls too, on all lanes: pools, buffers and libraries are then as large as they get.
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda one: kit.run_case(daemon, *one), work))
                list(pool.map(lambda number: kept_arrays(kit, daemon, path, number), range(3)))
            for kernel in long:
                for made in BEFORE.get(kernel, []):
                    daemon.answer("run", *made)
                jobs = [daemon.answer("submit", kernel, *LONG[kernel])["jobId"] for _ in range(3)]
                daemon.wait_for_state(jobs[0], "RUNNING", patience=20)
                time.sleep(0.2)
                for job in jobs:
                    daemon.hotplate("cancel", job)
                for job in jobs:
                    daemon.wait_for_state(job, "CANCELLED", patience=20)
            time.sleep(2)  # --result-retention is 1 s
            before = resources(daemon)
            # Some time is for the calls that run at the end, and for what comes back after them.
            seconds = 5 if kit.quick else max(5, min(SOAK_SECONDS, kit.left() - 10))
            end, count, lock = time.monotonic() + seconds, [0, 0, 0], threading.Lock()
            facts |= {"measured": round(seconds, 1), "unit": "s"}
            if seconds < SOAK_SECONDS:
                facts["remark"] = "--quick" if kit.quick else f"no time for {SOAK_SECONDS} s; --only soak gives it"

            def worker(number):
                turn = number - 1  # the first turn of most keeps arrays, so that a slow machine too comes to it
                while time.monotonic() < end:
                    turn += 1
                    if turn % 7 == 0 and long:  # a cancel in the middle of everything
                        kernel = long[turn % len(long)]
                        job = daemon.answer("submit", kernel, *LONG[kernel])["jobId"]
                        daemon.hotplate("cancel", job)
                        with lock:
                            count[1] += 1
                        continue
                    if turn % 5 == 0:
                        kept_arrays(kit, daemon, path, turn * 6 + number)
                        with lock:
                            count[2] += 1
                        continue
                    kit.run_case(daemon, *work[turn % len(work)])
                    with lock:
                        count[0] += 1

            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                for done in [pool.submit(worker, number * 5) for number in range(6)]:
                    done.result()
            facts |= {"seconds": seconds, "jobs": count[0], "cancelled": count[1], "kept_arrays": count[2]}
            if any(device.get("lost") for device in daemon.devices()):
                raise Failed(f"a device was lost: {daemon.devices()}")
        with kit.check("memory after the soak") as facts:
            if before is None:
                raise NotRun("the soak did not begin")
            wait_until(lambda: daemon.metrics().get("hotplate_jobs_running") == 0, "the daemon was idle")

            def grown():
                facts["before"], facts["after"] = before, resources(daemon)
                return {name: (value, facts["after"].get(name)) for name, value in before.items()
                        if facts["after"].get(name, 0) > value + SLACK.get(name, 0)}
            try:
                # Devices are told of arrays that are gone a little later.
                wait_until(lambda: not grown(), "memory was back", patience=5)
            except Failed as why:
                raise Failed(f"not back at the start: {grown()}") from why


# a kernel that faults: in a daemon of its own, the last of all

def sticky_checks(_kit):
    return ["a faulting kernel is named", "the lost device", "jobs for the lost device", "the daemon still ends"]


def faulting_command(kit):
    """A daemon that finds a plug-in in which vector_add faults: it looks beside the program that was started."""
    plugins = sorted(kit.place.faulting.glob("libhotplate_cuda*.so"))
    if not plugins:
        raise NotRun(f"no plug-in in {kit.place.faulting}")
    folder = pathlib.Path(kit.folder) / "faulting"
    folder.mkdir()
    for plugin in plugins:
        shutil.copy(plugin, folder)
    if kit.place.bundle:
        loader = shutil.copy(kit.place.libexec / "hotplated", folder / "hotplated")
        return kit.place.loader_command("hotplated", loader)[0][0]
    return [shutil.copy(kit.place.bin / "hotplated", folder / "hotplated")]


def sticky(kit):
    daemon = None
    with kit.check("a faulting kernel is named") as facts:
        try:
            daemon = Daemon(kit, name="faulting", command=faulting_command(kit)).__enter__()
        except Failed as why:
            if reason := built_for_others("the plug-in with the fault", str(why)):
                raise NotRun(reason) from why
            raise
        case = next(one for one in kit.cases("vector_add", 1000, 1 << 20) if "float32" in one)
        folder = f"{kit.folder}/fault"
        os.mkdir(folder)
        _, out, _ = kit.command(kit.place.program("hotplate_case_files") + ["write", "vector_add", case, folder])
        words = json.loads(out)
        code, out, err = daemon.run("run", "vector_add", *words)
        facts["exit"], facts["said"] = code, err.strip()[:400]
        if code != 1 or "vector_add" not in err:
            raise Failed(f"exit {code} instead of 1 (FAILED), or the kernel is not named: {(err or out).strip()}")
    if daemon is None:
        return
    try:
        with kit.check("the lost device") as facts:
            lost = [device.get("lost") for device in daemon.devices()]
            facts["lost"] = lost
            if not lost[0] or "vector_add" not in lost[0]:
                raise Failed(f"devices says of it: {lost[0]!r}")
            if not re.search("lost", daemon.log()):
                raise Failed("the log does not say that the device was lost")
        with kit.check("jobs for the lost device") as facts:
            code, out, err = daemon.run("run", "vector_add", *words)
            facts["exit"], facts["said"] = code, err.strip()[:400]
            if code not in (4, 5) or "lost" not in err:
                raise Failed(f"exit {code}: {(err or out).strip()}")
        with kit.check("the daemon still ends") as facts:
            began = time.monotonic()
            daemon.hotplate("down", timeout=40)
            facts["seconds"] = time.monotonic() - began
    finally:
        daemon.__exit__()
