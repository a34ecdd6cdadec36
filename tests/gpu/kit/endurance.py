"""Does it hold? Several lanes at once, cancelling, a full device, a minute of everything, a kernel that faults."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

from .daemon import Daemon, wait_until
from .results import Failed, NotRun

# What one call of each chunked kernel takes that would run for many minutes. A chunked kernel without a row fails.
LONG = {
    "integrate2d": ["--n", "16000000"],
    "mandelbrot": ["--resolution", "20000", "--max-iterations", "2000000000", "--x-min=-0.1", "--x-max=0.1",
                   "--y-min=-0.1", "--y-max=0.1"],
}
# A command takes some milliseconds to start, and the daemon some to tell: what is added to twice a kernel's bound.
COMMAND_MS = 500


# lanes

def lanes_checks(_kit):
    return ["4 lanes at once"]


def lanes(kit):
    with kit.check("4 lanes at once") as facts:
        with Daemon(kit, "--lanes", "4") as daemon:
            work = [(kernel, case) for kernel in kit.place.kernel_names() for case in kit.cases(kernel, 3, 16 << 20)]
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


def cancel(kit):
    with Daemon(kit) as daemon:
        for kernel in chunked(kit):
            name = kernel["name"]
            with kit.check(f"cancel of {name}") as facts:
                if name not in LONG:
                    raise Failed(f"no long call of {name}: give it a row in tests/gpu/kit/endurance.py")
                job = daemon.answer("submit", name, *LONG[name])["jobId"]
                daemon.wait_for_state(job, "RUNNING")
                time.sleep(0.2)  # well inside it
                asked = time.monotonic()
                daemon.hotplate("cancel", job)
                shown = daemon.wait_for_state(job, "CANCELLED", "COMPLETED", "FAILED", "TIMEOUT")
                took = (time.monotonic() - asked) * 1e3
                allowed = 2 * kernel["cancelBoundMs"] + COMMAND_MS
                facts |= {"measured": took, "unit": "ms", "goal": allowed, "at_least": False}
                if shown["state"] != "CANCELLED":
                    raise Failed(f"it ended as {shown['state']}")
                if took > allowed:
                    raise Failed(f"{took:.0f} ms from the command to CANCELLED; the kernel promises {kernel['cancelBoundMs']} ms")
                kit.run_case(daemon, name, kit.cases(name, 2)[0])  # as healthy as before


# memory

def memory_checks(_kit):
    return ["a full device refuses", "a small job beside it", "healthy once there is room"]


def memory(kit):
    """All but 700 MiB is held by another program; a job of 1 GiB must be refused with figures, and run once there is room."""
    held = None
    holder = kit.place.program("bench_bare_cuda")
    big = ["mandelbrot", "--resolution", "16384", "--max-iterations", "1", "--output", "array:big"]
    with kit.check("a full device refuses") as facts:
        if not holder:
            raise NotRun("bench_bare_cuda was not built")
        daemon = Daemon(kit, "--lanes", "1").__enter__()
        held = subprocess.Popen(holder + ["hold", str(700 << 20)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                env=kit.environment)
        said = held.stdout.readline()
        if not said:
            raise Failed(f"bench_bare_cuda hold ended with {held.wait(timeout=30)}")
        facts["holder"] = json.loads(said)
        code, out, err = daemon.run("run", *big)
        facts["exit"], facts["said"] = code, (err or out).strip()[:400]
        if code != 5:
            raise Failed(f"exit {code} instead of 5 (refused for now): {(err or out).strip()}")
        for word in ("need", "free"):
            if word not in err.lower():
                raise Failed(f"the refusal does not say what is {word}: {err.strip()}")
    if held is None:
        return
    try:
        with kit.check("a small job beside it"):
            kit.run_case(daemon, "vector_add", kit.cases("vector_add", 2, 1 << 20)[0])
        with kit.check("healthy once there is room"):
            held.stdin.close()
            held.wait(timeout=60)
            daemon.hotplate("run", *big)
            daemon.hotplate("free", "big")
            for kernel in kit.place.kernel_names():
                kit.run_case(daemon, kernel, kit.cases(kernel, 2)[0])
    finally:
        if held.poll() is None:
            held.kill()
        held.wait()
        daemon.__exit__()


# soak

def soak_checks(_kit):
    return ["soak", "memory after the soak"]


def resources(kit, daemon):
    """What must be back at its start: bytes of arrays, of the device's memory, resident bytes of the daemon."""
    metrics = daemon.metrics()
    found = {name: metrics[name] for name in metrics if re.search(r"arrays_bytes|pool.*bytes|pinned.*bytes", name)
             and not re.search("limit|peak", name)}
    found["resident_bytes"] = metrics.get("hotplate_resident_bytes", 0)
    if kit.device == "cuda":
        found["device_memory_used_bytes"] = metrics.get("hotplate_device_memory_used_bytes", 0)
    return found


def soak(kit):
    seconds = 5 if kit.quick else 60
    with Daemon(kit, "--lanes", "3", "--result-retention", "1s") as daemon:
        work = [(kernel, case) for kernel in kit.place.kernel_names() for case in kit.cases(kernel, 3, 8 << 20)]
        before = None
        with kit.check("soak") as facts:
            with concurrent.futures.ThreadPoolExecutor(4) as pool:  # everything once: pools and libraries are warm
                list(pool.map(lambda one: kit.run_case(daemon, *one), work))
            time.sleep(2)
            before = resources(kit, daemon)
            end, count, lock = time.monotonic() + seconds, [0, 0], threading.Lock()

            def worker(number):
                turn = number
                while time.monotonic() < end:
                    turn += 1
                    if turn % 7 == 0:  # a cancel in the middle of everything
                        kernel = list(LONG)[turn % len(LONG)]
                        job = daemon.answer("submit", kernel, *LONG[kernel])["jobId"]
                        daemon.hotplate("cancel", job)
                        with lock:
                            count[1] += 1
                        continue
                    kit.run_case(daemon, *work[turn % len(work)])
                    with lock:
                        count[0] += 1

            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                for done in [pool.submit(worker, number * 5) for number in range(6)]:
                    done.result()
            facts |= {"seconds": seconds, "jobs": count[0], "cancelled": count[1]}
            if any(device.get("lost") for device in daemon.devices()):
                raise Failed(f"a device was lost: {daemon.devices()}")
        with kit.check("memory after the soak") as facts:
            if before is None:
                raise NotRun("the soak did not begin")
            wait_until(lambda: daemon.metrics().get("hotplate_jobs_running") == 0, "the daemon was idle")
            # What pools keep for the next job may grow by a little; what jobs have of them may not.
            slack = {"resident_bytes": 64 << 20, "device_memory_used_bytes": 64 << 20,
                     "hotplate_device_pool_reserved_bytes": 64 << 20, "hotplate_device_pinned_bytes": 64 << 20}

            def back():
                facts["before"], facts["after"] = before, resources(kit, daemon)
                return all(facts["after"].get(name, 0) <= value + slack.get(name, 0) for name, value in before.items())
            try:
                wait_until(back, "memory was back", patience=15)
            except Failed as why:
                grown = {name: (before[name], facts["after"].get(name)) for name in before
                         if facts["after"].get(name, 0) > before[name] + slack.get(name, 0)}
                raise Failed(f"not back at the start: {grown}") from why


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
        daemon = Daemon(kit, name="faulting", command=faulting_command(kit)).__enter__()
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
