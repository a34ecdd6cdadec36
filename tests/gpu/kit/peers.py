"""The same rows beside CuPy, PyTorch, JAX and Numba, where they can be imported: each in a process of its own."""

import json
import os
import pathlib

from .place import HERE
from .results import Failed, NotRun

# The course's own versions come first: they are what the goals speak of, and little else is measured with these two.
LIBRARIES = ("numba", "cupy", "torch", "jax")
# Ours over the named peer's kernel, at least: the course's own versions, which ours must leave far behind.
COURSE_GOALS = {("integrate2d_102400_fast", "numba: shared memory, 16 threads"): 50,
                ("mandelbrot_2000", "cupy: masks"): 100}


def peers_checks(_kit):
    return [f"beside {library}" for library in LIBRARIES]


def peers(kit):
    best = {}
    # In which order a peer takes the rows, and what it has time for.
    known = json.dumps(kit.facts.get("kernel_times") or {})
    (pathlib.Path(kit.folder) / "kernel_times.json").write_text(known, encoding="utf-8")
    for number, library in enumerate(LIBRARIES):
        with kit.check(f"beside {library}") as facts:
            if why := kit.one_at_a_time():
                raise NotRun(why)
            seconds = (kit.left() - 4) / (len(LIBRARIES) - number)  # what one leaves over the next ones have
            if seconds < 2:
                raise NotRun("no time was left for it; --only peers gives it more")
            Comparison(kit, library, facts, best).make(min(seconds, 12) if kit.quick else seconds)
    for row, (ratio, who, goal) in sorted(best.items()):
        kit.figure(f"{row}: best peer's kernel time over ours ({who})", ratio, "x", goal)


class Comparison:
    """One library's rows. Each figure is recorded when it comes, so that a peer that runs over loses only what is missing."""

    def __init__(self, kit, library, facts, best):
        self.kit, self.library, self.facts, self.best = kit, library, facts, best
        self.rows, self.errors, self.wrong, self.unusable, self.ours = 0, {}, [], "", ""

    def make(self, seconds):
        kit, python = self.kit, self.kit.options["python"]
        bench = kit.place.program("bench_kernels") + ["--device", kit.one_device()]
        # The peers find their libraries as ever; cupy and numba leave caches, which are not the user's business.
        environment = kit.environment | {"CUPY_CACHE_DIR": os.path.join(kit.folder, "cupy"), "PYTHONDONTWRITEBYTECODE": "1"}
        code, _, err = kit.follow([python, str(HERE / "kit/peer.py"), self.library, str(seconds - 2), kit.folder, *bench],
                                  seconds, environment, self.line)
        self.facts["rows"] = self.rows
        if self.errors:
            self.facts["not_compared"] = self.errors
        words = err.strip().splitlines()[-1][:300] if err.strip() else ""
        if self.ours:
            raise Failed(self.ours)
        if self.wrong:
            raise Failed("; ".join(self.wrong))
        if self.rows:
            if code != 0:
                self.facts["ended"] = f"exit {code}: {words}" if code is not None else f"did not end within {seconds:.0f} s"
            return
        raise NotRun(self.unusable or next(iter(self.errors.values()), "") or
                     (f"no row was compared within {seconds:.0f} s" if code is None else f"{python}: exit {code}: {words}"))

    def line(self, text):
        try:
            line = json.loads(text)
        except ValueError:
            return  # a library's own words
        if not isinstance(line, dict):
            return
        self.facts |= {key: line[key] for key in ("version", "import_seconds") if key in line}
        self.unusable = line.get("unusable", self.unusable)
        self.ours = line.get("bench_kernels", self.ours)
        if "error" in line:
            self.errors[line["row"]] = line["error"]
        if "peer_ns" in line:
            self.row(line)

    def row(self, line):
        row, name, ratio = line["row"], line["peer"], line["peer_ns"] / line["ours_ns"]
        launched = line.get("mostly_launch", False)
        goal = None if launched else COURSE_GOALS.get((row, name))
        more = {"sm_clock_mhz": line["sm_clock_mhz"]} if "sm_clock_mhz" in line else {}
        if launched:
            more["remark"] = "the peer's time is mostly its launch: no goal is judged by it"
        self.rows += 1
        self.kit.figure(f"{row}: {name}", ratio, "x", goal, ours_ms=line["ours_ns"] / 1e6, peer_ms=line["peer_ns"] / 1e6,
                        pairs=line["pairs"], difference=line["difference"], mostly_launch=launched, **more)
        if not line["same"]:
            self.wrong.append(f"{row} beside {name}: results differ by {line['difference']:.3g}, {line['tolerance']:.3g} allowed")
        elif not launched and (row, name) not in COURSE_GOALS and (row not in self.best or ratio < self.best[row][0]):
            self.best[row] = (ratio, name, line["goal"])
