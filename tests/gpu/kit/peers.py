"""The same rows beside CuPy, PyTorch, JAX and Numba, where they can be imported: each in a process of its own."""

import json

from .place import HERE
from .results import Failed, NotRun

LIBRARIES = ("cupy", "torch", "jax", "numba")
SECONDS_EACH = 40
# Ours over the named peer's kernel, at least: the course's own versions, which ours must leave far behind.
COURSE_GOALS = {("integrate2d_102400_fast", "numba: shared memory, 16 threads"): 50,
                ("mandelbrot_2000", "cupy: masks"): 100}


def peers_checks(_kit):
    return [f"beside {library}" for library in LIBRARIES]


def peers(kit):
    best = {}
    for library in LIBRARIES:
        with kit.check(f"beside {library}") as facts:
            compare(kit, library, facts, best)
    for row, (ratio, who) in sorted(best.items()):
        goal = 0.97 if row.startswith("matmul") else 1.0
        kit.figure(f"{row}: best peer's kernel time over ours ({who})", ratio, "x", goal)


def compare(kit, library, facts, best):
    python = kit.options["python"]
    code, out, err = kit.command([python, "-c", f"import numpy, {library}; print({library}.__version__)"], timeout=40)
    if code != 0:
        raise NotRun(f"{python} cannot import it: {err.strip().splitlines()[-1] if err.strip() else f'exit {code}'}")
    facts["version"] = out.strip()
    script = HERE / "kit/peer.py"
    seconds = 8 if kit.quick else SECONDS_EACH
    bench = kit.place.program("bench_kernels") + ["--device", kit.device]
    # Some compile for a while: what it has printed by then still counts.
    try:
        code, out, err = kit.command([python, str(script), library, str(seconds), kit.folder, *bench], timeout=seconds + 25)
    except Failed as late:
        code, out, err = 1, "", str(late)
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    wrong = []
    for line in lines:
        if "error" in line:
            facts.setdefault("not_compared", {})[line["row"]] = line["error"]
            continue
        row, name, ratio = line["row"], line["peer"], line["peer_ns"] / line["ours_ns"]
        if not line["same"]:
            wrong.append(f"{row} beside {name}: results differ by {line['difference']:.3g}, {line['tolerance']:.3g} allowed")
        goal = COURSE_GOALS.get((row, name))
        kit.figure(f"{row}: {name}", ratio, "x", goal, ours_ms=line["ours_ns"] / 1e6, peer_ms=line["peer_ns"] / 1e6,
                   pairs=line["pairs"], difference=line["difference"])
        if goal is None and line["same"] and (row not in best or ratio < best[row][0]):
            best[row] = (ratio, name)
    facts["rows"] = len(lines)
    if wrong:
        raise Failed("; ".join(wrong))
    if code != 0 or not lines:
        raise Failed(f"exit {code} after {len(lines)} rows: {err.strip()[-300:]}")
