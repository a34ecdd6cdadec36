"""Jobs whose results NumPy gives to the last bit. Each follows from a seed and its number, so that it can be asked again."""

import dataclasses
import json
import random

import numpy as np
from lives import NO_DAEMON, OK, TRY_LATER, hotplate

_core = hotplate._core

SMALL, LARGE = 2_000, 300_000  # elements; LARGE float64 have 2.4 MB: inputs are uploaded, and outputs become arrays
HELD = 6  # arrays that all jobs share


@dataclasses.dataclass
class Held:
    """An input that is put on the daemon under a name before the job is asked for."""

    name: str
    values: np.ndarray
    freed: bool = False  # as soon as the job is acknowledged


@dataclasses.dataclass
class InFile:
    """An input by path."""

    name: str
    values: np.ndarray


@dataclasses.dataclass
class Call:
    kernel: str
    inputs: dict
    outputs: dict
    expression: str = ""
    # Of the command hotplate alone, with inputs in files.
    output_file: str = ""  # the daemon writes the one output there
    no_rerun: bool = False
    printed: str = ""  # by a program, which has no inputs and outputs


class Refused(hotplate.Error):
    """By the command hotplate."""

    def __init__(self, code, text):
        super().__init__(f"exit {code}: {text}")
        self.retry_after = 1 if code in (NO_DAEMON, TRY_LATER) else None  # a busy machine's daemon may be late


def held(seed, which):
    """One of the arrays that many jobs share: vectors, and matrices of small integers, whose products are exact."""
    rng = np.random.default_rng([seed, 1, which])
    if which >= HELD - 2:
        return Held(f"square-{which}", rng.integers(-9, 9, (640, 640)).astype(np.float64))
    return Held(f"held-{which}", rng.standard_normal(LARGE if which % 2 else LARGE // 10))


def small(rng, request):
    dtype = rng.choice(["int32", "int64", "float32", "float64"])
    shape = int(rng.integers(0, SMALL))
    a, b = (rng.integers(-1000, 1000, shape).astype(dtype) for _ in range(2))
    return Call("vector_add", {"a": a, "b": b}, {"c": a + b})


def large(rng, request):
    a, b = rng.standard_normal(LARGE), rng.standard_normal(LARGE)
    return Call("vector_add", {"a": a, "b": b}, {"c": a + b})


def two_outputs(rng, request):
    keys, values = rng.permutation(SMALL).astype(np.int32), rng.standard_normal(SMALL)
    order = np.argsort(keys)
    return Call("sort_by_key", {"keys": keys, "values": values}, {"sorted_keys": keys[order], "sorted_values": values[order]})


def expression(rng, request):
    x = rng.standard_normal(SMALL)
    y = rng.standard_normal(SMALL)
    return Call("expression", {"x": x, "y": y}, {"out": 2.0 * x - y}, expression="2.0*x - y")


def of_shared(rng, request):
    one = held(request.seed, int(rng.integers(0, HELD - 2)))
    return Call("vector_add", {"a": one, "b": one}, {"c": one.values + one.values})


def of_own(rng, request):
    own = Held(f"own-{request.number}", rng.standard_normal(int(rng.choice([SMALL, LARGE]))), freed=True)
    return Call("vector_add", {"a": own, "b": own}, {"c": own.values + own.values})


def slow(rng, request):
    one = held(request.seed, HELD - 1 - int(rng.integers(0, 2)))
    return Call("matmul", {"a": one, "b": one}, {"c": one.values @ one.values})


def of_file(rng, request):
    x = InFile(f"x-{request.number}.npy", rng.integers(-1000, 1000, SMALL))
    return Call("sort", {"x": x}, {"y": np.sort(x.values)})


def to_file(rng, request):
    x = InFile(f"x-{request.number}.npy", rng.integers(-1000, 1000, SMALL))
    return Call("sort", {"x": x}, {"y": np.sort(x.values)}, output_file=f"y-{request.number}.npy")


def no_rerun(rng, request):
    one = held(request.seed, HELD - 1)
    both = InFile(f"{one.name}.npy", one.values)
    return Call("matmul", {"a": both, "b": both}, {"c": one.values @ one.values}, no_rerun=True)


def program(rng, request):
    return Call("exec", {}, {}, printed=rng.bytes(int(rng.integers(0, SMALL))).hex())


KINDS = {small: 10, large: 3, two_outputs: 3, expression: 3, of_shared: 4, of_own: 3, slow: 3, of_file: 2}
OF_COMMANDS = {to_file: 2, no_rerun: 1, program: 2}
NOT_RERUN = "is not to run again (--no-rerun)"
RAN_OFTEN = "and its daemon ended each time before it did"


class Request:
    """A job to be asked for, under one request id however often that takes."""

    def __init__(self, seed, number, kinds):
        self.seed = seed
        self.number = number
        self.id = f"request-{seed}-{number}"
        self.jobs = set()  # ids that were answered; more than one is a fault
        self.end = ""  # the state in which it was seen to have ended
        [self.kind] = random.Random(self.id).choices(list(kinds), list(kinds.values()))

    def __str__(self):
        return f"{self.id} ({self.kind.__name__}, job {' and '.join(sorted(self.jobs)) or 'unknown'})"

    def call(self):
        return self.kind(np.random.default_rng([self.seed, 0, self.number]), self)

    def may_end(self, job):
        """Whether it may be as this job, which has not completed, says."""
        why = job["error"]["message"]
        return job["state"] == "FAILED" and (RAN_OFTEN in why or (self.kind is no_rerun and NOT_RERUN in why))

    def submit(self, life):
        """Asks for the job, and notes the id that was answered. What it holds is put there, unless it was acknowledged before:
        then its inputs are not looked at."""
        call = self.call()
        if self.kind in OF_COMMANDS:
            self._by_command(life, call)
        else:
            self._by_client(life, call)

    def _by_command(self, life, call):
        if self.kind is program:
            code, out, err = life.home.command("submit", "--json", "--request-id", self.id, "--label", self.id, "exec", "printf", "%s",
                                               call.printed)
        else:
            code, out, err = life.home.command(*self._kernel_words(life, call), "--request-id", self.id, "--label", self.id, "--json")
        if code != OK:
            raise Refused(code, out + err)
        self.jobs.add(json.loads(out)["jobId"])

    def _kernel_words(self, life, call):
        words = ["submit", call.kernel, *(f"path:{life.home.file(one.name, one.values)}" for one in call.inputs.values())]
        if call.output_file:
            life.awaited.append(life.home.folder / call.output_file)
            words += ["-o", f"path:{life.home.folder / call.output_file}"]
        if call.no_rerun:
            words.append("--no-rerun")
        return words

    def _by_client(self, life, call):
        known = bool(self.jobs)
        options = _core.Options()
        options.request_id = options.label = self.id
        options.expression = call.expression
        options.priority = self.number % 5 - 2
        inputs, freed = {}, set()
        for name, value in call.inputs.items():
            if isinstance(value, Held):
                if not known:
                    life.hold(value.name, value.values)
                inputs[name] = _core.ArrayRef(value.name)
                freed |= {value.name} if value.freed and not known else set()
            elif isinstance(value, InFile):
                inputs[name] = _core.PathRef(str(life.home.file(value.name, value.values)))
            else:
                inputs[name] = value
        self.jobs.add(life.client._core.submit(call.kernel, inputs, options))
        for name in freed:
            life.free(name)

    def compare(self, life, job):
        """"", or how its result differs from NumPy's; of a program, how what it printed differs from what it was to print."""
        if self.kind is program:
            code, out, err = life.home.command("logs", job)
            if code != OK:
                raise Refused(code, out + err)
            return "" if out == self.call().printed else f"has printed {len(out)} letters: {out[:100]}…"
        result = life.client._core.fetch(job)
        wanted = self.call().outputs
        if sorted(result.outputs()) != sorted(wanted):
            return f"has outputs {result.outputs()}, not {list(wanted)}"
        for name, want in wanted.items():
            got = result.take(name)
            got = np.load(got) if isinstance(got, str) else np.asarray(got)  # the daemon wrote it there
            if got.dtype != want.dtype or got.shape != want.shape:
                return f"output {name} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
            if got.tobytes() != want.tobytes():
                at = np.flatnonzero(got.ravel().view(np.uint8) != want.ravel().view(np.uint8))
                return f"output {name} differs in {at.size} of {want.nbytes} bytes, the first at {at[0]}"
        return ""
