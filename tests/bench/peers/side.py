"""One library beside Hotplate, in turns, on the same data; prints a JSON line for each row and version. Run by run.py:

usage: side.py LIBRARY DEVICE FOLDER SETTINGS

SETTINGS is JSON: bench_kernels (its command), hotplate (its path), rows (names; empty: all), pairs, seconds.

Kernel times: ours by the device's clock, the peer's warm and with its arrays where it computes. End to end, on both sides
from .npy files to .npy files: ours is a whole `hotplate run`, from process start to exit, against a daemon that is up; the
peer's is a call in a Python that runs already, with everything imported and compiled.
"""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/bench/kernels"), str(ROOT / "tests/gpu/kit")]
import peer as on_gpu  # noqa: E402
import pairs  # noqa: E402
from pairs import Gpu, Kernels, Refused, compare, compared, goal_of, time_of  # noqa: E402

say, words_of = on_gpu.say, on_gpu.words_of


def library_of(name, device):
    """The library's peer and its version; whatever it raises is the reason why it is not used."""
    module = importlib.import_module(name)
    if name in ("torch", "jax"):
        peer = {"torch": on_gpu.Torch, "jax": on_gpu.Jax}[name](device)
    elif device == "cpu":
        from on_cpu import Numba, Numpy
        peer = {"numpy": Numpy, "numba": Numba}[name]()
    else:
        peer = {"cupy": on_gpu.Cupy, "numba": on_gpu.Numba}[name]()
    return peer, getattr(module, "__version__", "unknown")


class Row:
    def __init__(self, row, spec, kernels, folder, hotplate):
        import numpy
        self.np, self.row, self.spec, self.folder, self.hotplate = numpy, row, spec, folder, hotplate
        self.inputs = self.files(kernels, "inputs")
        self.outputs = {name: numpy.load(path) for name, path in self.files(kernels, "outputs").items()}

    def files(self, kernels, what):
        folder = self.folder / what
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.npy"):
            old.unlink()
        kernels.ask(f"{what} {self.row['name']} {folder}")
        return {path.stem: path for path in sorted(folder.glob("*.npy"))}

    def loaded(self):
        arrays = {one["name"]: self.np.load(self.inputs[one["name"]]) for one in self.spec["inputs"]}
        if "own_transpose" in self.row["name"]:
            arrays["b"] = arrays["a"].T
        return on_gpu.with_more(self.row, arrays)

    def command(self):
        command = [self.hotplate, "run", self.row["kernel"], "--quiet"]
        command += [f"path:{self.inputs[one['name']]}" for one in self.spec["inputs"]]
        for name, value in self.row["params"].items():
            option = "--" + name.replace("_", "-")
            command += [option] if value == "true" else [f"{option}={value}"]
        for one in self.spec["outputs"]:
            if one["shape"]:
                command += ["-o", f"{one['name']}={self.folder / 'ours'}-{one['name']}.npy"]
        return command

    def ours_end_to_end(self):
        subprocess.run(self.command(), check=True, stdout=subprocess.DEVNULL)

    def theirs_end_to_end(self, peer, make):
        value = make({name: peer.put(array) for name, array in self.loaded().items()})()
        for place, part in enumerate(value if isinstance(value, (tuple, list)) else [value]):
            self.np.save(self.folder / f"theirs-{place}.npy", peer.get(part))


def differ(row, device, ours, theirs):
    if device == "cpu":
        from numpy_peers import differ as on_cpu
        return on_cpu(row, ours, theirs)
    return on_gpu.differ(row, ours, theirs)


# Two processors of a virtual machine put a pair off by some percent, and of a call of seconds the first time has three.
NEAR, MORE_PAIRS, LONGER = 1.1, 3, 25


def apart_from_goal(goal, measure, settings):
    """What measure(pairs, seconds) finds, compare()'s answer; where its ratio is too near its goal to be told from it, or below,
    what it finds when it takes longer."""
    found = measure(settings["pairs"], settings["seconds"])
    if goal is None or found[2] >= NEAR * goal:
        return found
    return measure(MORE_PAIRS * settings["pairs"], LONGER * settings["seconds"])


def one_version(peer, device, kernels, one, name, make, settings):
    row = one.row
    run = make({key: peer.put(array) for key, array in one.loaded().items()})
    measured = peer.times(run)
    began = time.perf_counter_ns()
    value = run()
    ours, theirs = compared(row, one.outputs, value)
    theirs = peer.get(theirs)
    first_ns = time.perf_counter_ns() - began
    difference, tolerance = differ(row, device, ours, theirs)
    line = {"row": row["name"], "kernel": row["kernel"], "peer": name, "difference": difference, "tolerance": tolerance,
            "same": bool(difference <= tolerance), "first_call_ns": first_ns, "goal": goal_of(row)}
    if line["same"] and not settings["check"]:
        gpu = Gpu(kernels.facts["uuid"]) if device == "cuda" else None
        found = apart_from_goal(line["goal"], lambda *limits: compare(lambda n: kernels.times(row["name"], n), measured,
                                                                      *limits, gpu), settings)
        line |= dict(zip(("ours_ns", "peer_ns", "ratio", "pairs"), found)) | (gpu.seen() if gpu else {})
        if on_gpu.mostly_launch(measured):
            line |= {"goal": None, "mostly_launch": True}
        found = compare(lambda n: time_of(one.ours_end_to_end, min(n, 3)),
                        lambda n: time_of(lambda: one.theirs_end_to_end(peer, make), min(n, 3)), 3, settings["seconds"])
        line |= dict(zip(("ours_end_to_end_ns", "peer_end_to_end_ns", "end_to_end_ratio", "end_to_end_pairs"), found))
    say(**line)


def main():
    library, device, folder, settings = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), json.loads(sys.argv[4])
    pairs.eldest = os.getppid()  # run.py's, which has the daemon too
    try:
        began = time.monotonic()
        peer, version = library_of(library, device)
        say(version=version, import_seconds=round(time.monotonic() - began, 2), python=sys.version.split()[0])
    except (Exception, SystemExit) as why:
        say(unusable=words_of(why))
        return
    specs = json.loads(subprocess.run([settings["hotplate"], "kernels", "--json"], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout)["kernels"]
    specs = {spec["name"]: spec for spec in specs}
    try:
        kernels = Kernels(settings["bench_kernels"])
    except Refused as why:
        say(bench_kernels=str(why))
        return
    for row in kernels.rows:
        if settings["rows"] and row["name"] not in settings["rows"]:
            continue
        try:
            versions = list(peer.versions(row))
            one = Row(row, specs[row["kernel"]], kernels, folder, settings["hotplate"]) if versions else None
            for name, make in versions:
                one_version(peer, device, kernels, one, name, make, settings)
        except Exception as why:  # not this row, then
            say(row=row["name"], error=words_of(why))
    kernels.close()


if __name__ == "__main__":
    main()
