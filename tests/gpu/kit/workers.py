"""Users' own code: functions of their libraries on arrays that the daemon holds, a script, two workers on the device, and one that
is killed in a kernel. Functions need the package hotplate, which is in the kit for the Pythons that it was packed for."""

import json
import os
import pathlib
import tempfile

from .arrays import NUMBERS, Arrays, write
from .daemon import Daemon, wait_until
from .endurance import SLACK
from .place import HERE
from .results import NOT_RUN, PASS, Failed, NotRun

LIBRARIES = {"numpy": "NumPy", "cupy": "CuPy", "jax": "JAX", "torch": "PyTorch"}
SCRIPT = """import json, os, sys
library = sys.argv[1]
if library == "numpy":
    import numpy
    total = numpy.arange(1000).sum()
elif library == "cupy":
    import cupy
    total = cupy.arange(1000).sum()
elif library == "jax":
    import jax.numpy
    total = jax.numpy.arange(1000).sum()
elif library == "torch":
    import torch
    total = torch.arange(1000, device="cuda" if torch.cuda.is_available() else "cpu").sum()
else:
    total = sum(range(1000))
print(json.dumps({"total": int(total), "words": sys.argv[2:], "input": sys.stdin.read(), "folder": os.getcwd(),
                  "device": os.environ.get("CUDA_VISIBLE_DEVICES")}))
sys.exit(7)
"""


def on_held_array(library):
    return f"a {LIBRARIES[library]} function on a held array"


def workers_checks(_kit):
    return [*map(on_held_array, LIBRARIES), "a script", "an object that stays in its worker",
            "two workers on one device", "a worker killed in a kernel",
            "the device goes on"]


def workers(kit):
    if why := kit.one_at_a_time():
        for name in workers_checks(kit):
            kit.record(name, NOT_RUN, why)
        return
    with Daemon(kit, "--lanes", "2", "--workers", "2") as daemon:
        users = Users(kit, daemon)
        for library in LIBRARIES:
            with kit.check(on_held_array(library)) as facts:
                users.hold(library, facts)
        library = users.best()
        with kit.check("a script") as facts:
            users.script(library, facts)
        with kit.check("an object that stays in its worker") as facts:
            facts["library"] = users.need(library)
            facts |= users.ask("stay", library)
        with kit.check("two workers on one device") as facts:
            facts["library"] = users.need(library)
            facts |= users.ask("meet", library, tempfile.mkdtemp(prefix="meet-", dir=kit.folder))
        killed_in_a_kernel(kit, users, library)


class Users:
    """What a user of the daemon's does."""

    def __init__(self, kit, daemon):
        self.kit, self.daemon, self.python = kit, daemon, kit.options["python"]
        self.environment = daemon.environment | {"HOTPLATE_PYTHON": self.python, "PYTHONDONTWRITEBYTECODE": "1",
                                                 "CUPY_CACHE_DIR": os.path.join(kit.folder, "cupy")}
        folders = [self.environment.get("PYTHONPATH"), *map(str, kit.place.python_packages())]
        self.environment["PYTHONPATH"] = ":".join(folder for folder in folders if folder)
        self.worked = []  # libraries, on the daemon's device

    def ask(self, *words, program="functions.py"):
        """Runs a program of the kit's as a user, and returns the facts that it prints."""
        code, out, err = self.kit.command([self.python, str(HERE / "kit" / program), *words], self.environment, timeout=90)
        if code != 0:
            raise Failed(f"{program} {' '.join(words[:2])}: exit {code}: {err.strip()[-400:]}")
        found = json.loads(out.splitlines()[-1])
        if "missing" in found:
            raise NotRun(f"{self.python}: {found['missing']}")
        if "wrong" in found:
            raise Failed(found["wrong"])
        return found

    def hold(self, library, facts):
        if library == "cupy":
            self.kit.needs_cuda("CuPy")
        facts |= self.ask("hold", library)
        if self.kit.device == "cuda" and library != "numpy":
            if facts["where"] == "cpu":
                raise NotRun(f"{LIBRARIES[library]} {facts['version']} of {self.python} has no GPU")
            if facts["device"] != self.daemon.devices()[0]["uuid"]:
                raise Failed(f"its CUDA_VISIBLE_DEVICES was {facts['device']!r}")
        self.worked.append(library)

    def best(self):
        """A library that computes on the daemon's device, the one whose kernel is most surely a single one first."""
        wanted = ("cupy", "torch", "jax") if self.kit.device == "cuda" else ("numpy",)
        return next((library for library in wanted if library in self.worked), "")

    def need(self, library):
        if not library:
            raise NotRun("no function of CuPy, PyTorch or JAX ran on the GPU" if self.kit.device == "cuda" else "no NumPy function ran")
        return library

    def script(self, library, facts):
        """Twice: what the first one imports is warm for a later one."""
        path = pathlib.Path(self.kit.folder) / "script.py"
        path.write_text(SCRIPT, encoding="utf-8")
        hotplate = self.kit.place.program("hotplate")
        for _ in range(2):
            code, out, err = self.kit.command([*hotplate, "python", str(path), library, "a", "b c"], self.environment, stdin=b"input\n")
            if code != 7:
                raise Failed(f"exit {code} in place of the script's own, 7: {(err or out).strip()[-400:]}")
            found = json.loads(out)
            device = found.pop("device")
            if found != {"total": 499500, "words": ["a", "b c"], "input": "input\n", "folder": os.path.realpath(self.kit.folder)}:
                raise Failed(f"the script found {found}")
            if device != (self.daemon.devices()[0].get("uuid") or ""):
                raise Failed(f"the script's CUDA_VISIBLE_DEVICES was {device!r}")
        newest = next(job for job in self.daemon.answer("jobs")["jobs"] if job["kernel"] == "python")
        facts |= {"library": library, "process": newest["receipt"].get("process")}


def killed_in_a_kernel(kit, users, library):
    daemon = users.daemon
    before = memory_used(daemon)
    with kit.check("a worker killed in a kernel") as facts:
        facts["library"] = users.need(library)
        facts |= users.ask("kill", library, tempfile.mkdtemp(prefix="kill-", dir=kit.folder))
        killed = facts["pid"]
    with kit.check("the device goes on") as facts:
        if kit.recorded["a worker killed in a kernel"] != PASS:
            raise NotRun("after 'a worker killed in a kernel'")
        slack = SLACK["device_memory_beside_the_pool_bytes"]
        wait_until(lambda: memory_used(daemon) <= before + slack, "the killed worker's memory was back", patience=20)
        facts["device_memory_bytes"] = [before, memory_used(daemon)]
        facts |= users.ask("hold", library)
        if facts["pid"] == killed:
            raise Failed(f"process {killed} still answers")
        lost = [device["lost"] for device in daemon.devices() if device.get("lost")]
        if lost:
            raise Failed(f"the daemon lost its device: {lost[0]}")
        arrays = Arrays(kit, daemon)
        arrays.put(write(kit, "after", NUMBERS), "after")
        arrays.add("after", "after", "sum")
        arrays.is_there("sum", NUMBERS, 2)


def memory_used(daemon):
    """Of a GPU, by whomever. The node's memory is everybody's, and says nothing of one worker."""
    return daemon.metrics().get("hotplate_device_memory_used_bytes", 0) if daemon.kit.device == "cuda" else 0
