"""What a client does for which it is killed, and what has to be true afterwards.

Each attempt has a number. Its inputs follow from it, so that a result that is another attempt's is seen.
"""

import json
import sys

import numpy as np
from lives import BIN, OK

SMALL, MIDDLE, LARGE = 1_000, 150_000, 400_000  # float64: MIDDLE and LARGE do not go inside a message

SUBMIT_DETACHED = """
import sys, numpy, hotplate
with hotplate.connect() as gpu:
    a, b = (numpy.load(path) for path in sys.argv[1:3])
    print(gpu.submit_detached("vector_add", a, b), flush=True)
"""


class Work:
    """One kind of work on inputs of one size."""

    def __init__(self, campaign, size):
        self.campaign = campaign
        self.home = campaign.home
        self.size = size
        self.name = f"{type(self).__name__}-{size}"

    def label(self, number):
        return f"{self.name}-{number}"

    def values(self, number):
        return np.random.default_rng([self.campaign.seed, self.size, number]).standard_normal(self.size)

    def inputs(self, number):
        """Two files. The second is the same for all numbers."""
        return [self.home.file(f"{self.size}-{which}.npy", self.values(which)) for which in (number, 0)]

    def forget(self, number):
        """Removes the file that only this attempt has."""
        if number != 0:
            (self.home.folder / f"{self.size}-{number}.npy").unlink(missing_ok=True)

    def wanted(self, number):
        """What vector_add of those has to give."""
        return self.values(number) + self.values(0)

    # For each kind:

    def begin(self):
        """Before the first client is started."""

    def words(self, number):
        """The command line."""
        raise NotImplementedError

    def after(self, number, printed, done):
        """After the client was killed, or was `done` before that. `printed` is what it has printed."""

    def end(self):
        """After the last one."""


class Submits(Work):
    """Detached jobs that are asked for again after the kill."""

    def id_in(self, printed):
        """The id that was acknowledged; nothing if it was not printed in full."""
        return json.loads(printed)["jobId"] if printed.endswith("\n") else ""

    def after(self, number, printed, done):
        label = self.label(number)
        job = self.id_in(printed)
        if job:
            self.campaign.acknowledge(label, job, self.check(number))
        code, out, err = self.home.command(*self.words(number)[1:])
        if code != OK:
            self.campaign.fault(f"{label}, asked for again: exit {code}: {out}{err}")
        else:
            self.campaign.acknowledge(label, self.id_in(out), self.check(number))

    def check(self, number):
        """A function of a job's id that says what is wrong with its result."""
        raise NotImplementedError


class Submit(Submits):
    def words(self, number):
        label = self.label(number)
        return [BIN / "hotplate", "submit", "vector_add", *self.inputs(number), "--request-id", label, "--label", label, "--json"]

    def check(self, number):
        return lambda job: self.campaign.compare_result(job, self.wanted(number))


class SubmitPython(Submits):
    """Of a script of this many letters."""

    def text(self, number):
        return f"{number}-" + "x" * self.size

    def words(self, number):
        label = self.label(number)
        script = self.home.folder / f"{label}.py"
        script.write_text(f"print({self.text(number)!r}, end='')")
        return [BIN / "hotplate", "submit", "python", "--request-id", label, "--label", label, "--json", script]

    def check(self, number):
        return lambda job: self.campaign.compare_logs(job, self.text(number))


class PythonClient(Work):
    """gpu.submit_detached. It has no request ids of the user's, so that it is not asked for again, and no labels: what a job
    gives says which attempt's it is."""

    def begin(self):
        self.before = {job["id"] for job in self.campaign.life.client._core.jobs()}
        self.numbers = {}  # by what their jobs give

    def words(self, number):
        self.numbers[self.wanted(number).tobytes()] = number
        return [sys.executable, "-B", "-c", SUBMIT_DETACHED, *self.inputs(number)]

    def acknowledge(self, number, job):
        self.campaign.acknowledge(self.label(number), job, lambda job: self.campaign.compare_result(job, self.wanted(number)))

    def after(self, number, printed, done):
        if printed.endswith("\n"):
            self.acknowledge(number, printed.strip())

    def end(self):
        for job in self.campaign.life.client._core.jobs():
            if job["label"] or job["id"] in self.before:
                continue
            result = self.campaign.life.client._core.fetch(job["id"])
            number = self.numbers.get(result.take(*result.outputs()).tobytes())
            if number is None:
                self.campaign.fault(f"{self.name}: job {job['id']} gives what nobody asked for")
            else:
                self.acknowledge(number, job["id"])


class ToFile(Work):
    """Commands that write a file: it is there as a whole or not at all, and the next command removes what a killed one left."""

    def path(self, number):
        return self.campaign.outputs / f"{self.label(number)}.npy"

    def content(self, number):
        raise NotImplementedError

    def check(self, number, has_to_be):
        path = self.path(number)
        if not path.exists():
            if has_to_be:
                self.campaign.fault(f"{self.label(number)}: {path.name} is missing")
        elif path.read_bytes() != self.npy(self.content(number)):
            self.campaign.fault(f"{self.label(number)}: {path.name} is wrong")

    def once_more(self, number):
        return self.words(number)

    def npy(self, values):
        path = self.home.folder / "wanted.npy"
        np.save(path, values)
        return path.read_bytes()

    def after(self, number, printed, done):
        self.check(number, has_to_be=done)
        self.path(number).unlink(missing_ok=True)
        code, out, err = self.home.command(*self.once_more(number)[1:])
        if code != OK:
            self.campaign.fault(f"{self.label(number)}, once more: exit {code}: {out}{err}")
        self.check(number, has_to_be=True)
        self.path(number).unlink(missing_ok=True)
        for path in self.campaign.outputs.iterdir():
            self.campaign.fault(f"{self.label(number)}: {path.name} is left")
            path.unlink()


class Run(ToFile):
    """Attached jobs: one of a killed client is cancelled, or has ended before that was noticed."""

    def words(self, number):
        return [BIN / "hotplate", "run", "vector_add", *self.inputs(number), "-o", self.path(number), "--label", self.label(number)]

    def once_more(self, number):
        return [*self.words(number)[:-1], f"{self.label(number)}-again"]

    def content(self, number):
        return self.wanted(number)


class Get(ToFile):
    def begin(self):
        code, out, err = self.home.command("put", self.inputs(0)[0], "--name", self.name)
        if code != OK:
            self.campaign.fault(f"put {self.name}: exit {code}: {out}{err}")

    def words(self, number):
        return [BIN / "hotplate", "get", self.name, "-o", self.path(number)]

    def content(self, number):
        return self.values(0)

    def end(self):
        self.campaign.free(self.name)


class Result(ToFile):
    def begin(self):
        label = f"{self.name}-{self.campaign.acknowledged}"
        code, out, err = self.home.command("submit", "vector_add", *self.inputs(1), "--label", label, "--json")
        if code != OK:
            raise AssertionError(f"submit: exit {code}: {out}{err}")
        self.job = json.loads(out)["jobId"]
        self.campaign.acknowledge(label, self.job, lambda job: self.campaign.compare_result(job, self.wanted(1)))
        self.campaign.wait_for_jobs()

    def words(self, number):
        return [BIN / "hotplate", "result", self.job, "-o", self.path(number)]

    def content(self, number):
        return self.wanted(1)


class Put(Work):
    """Arrays under a new name each: one is there as a whole or not at all."""

    def words(self, number):
        return [BIN / "hotplate", "put", self.inputs(number)[0], "--name", self.label(number)]

    def after(self, number, printed, done):
        if done:
            self.check(number)

    def check(self, number):
        values = self.campaign.life.client._core.get(self.label(number))
        if values.tobytes() != self.values(number).tobytes():
            self.campaign.fault(f"array {self.label(number)} has other elements")

    def end(self):
        """What was not complete keeps its place for a few minutes; until then it can be replaced."""
        for array in self.campaign.settled_arrays():
            number = array["name"].removeprefix(f"{self.name}-")
            if number == array["name"]:
                continue
            if array["state"] != "READY":
                code, out, err = self.home.command(*self.words(int(number))[1:], "--replace")
                if code != OK:
                    self.campaign.fault(f"put {array['name']} after its client was killed: exit {code}: {out}{err}")
            self.check(int(number))
            self.campaign.free(array["name"])


class Replace(Work):
    """The old array stays until the new one is complete."""

    def begin(self):
        self.put(0)

    def words(self, number):
        return [BIN / "hotplate", "put", self.inputs(number)[0], "--name", self.name, "--replace"]

    def put(self, number):
        code, out, err = self.home.command(*self.words(number)[1:])
        if code != OK:
            self.campaign.fault(f"{self.label(number)}: exit {code}: {out}{err}")
        self.old = number

    def after(self, number, printed, done):
        got = self.campaign.life.client._core.get(self.name).tobytes()
        allowed = [number] if done else [self.old, number]
        of = [which for which in allowed if got == self.values(which).tobytes()]
        if not of:
            self.campaign.fault(f"array {self.name} has not the elements of {allowed}")
        self.old = of[0] if of else number

    def end(self):
        self.campaign.free(self.name)


class Exec(Work):
    """An attached program, and a process that it leaves behind."""

    def words(self, number):
        return [BIN / "hotplate", "exec", "--label", self.label(number), "sh", "-c", f"sleep 600 & printf {'x' * self.size}"]

    def after(self, number, printed, done):
        if done and printed != "x" * self.size:
            self.campaign.fault(f"{self.label(number)} has printed {len(printed)} letters")
