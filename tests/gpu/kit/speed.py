"""How fast is it? The device's own ceilings by bare CUDA, kernels as shares of them, and what lies around a kernel."""

import json
import os
import pathlib
import statistics
import sys
import time

from .daemon import Daemon
from .idle import idle
from .place import HERE, built_for_others
from .results import Failed, NotRun

sys.path[:0] = [str(HERE.parent / "bench/kernels"), str(HERE / "bench")]  # the repository's place, the bundle's
from pairs import BY_LIBRARY, Gpu, Kernels, Refused  # noqa: E402  (found only now)

# A row that is bound by memory is held to its goal if its data do not fit the device's caches, by this factor.
BEYOND_CACHES = 4
SHARE_OF_COPY = 0.92
# A row is run for about REPEATED_NS; the first run of one that takes longer than SLOW_NS stands for all.
SLOW_NS, REPEATED_NS = 0.5e9, 0.7e9


def bench(kit):
    command = kit.place.program("bench_kernels")
    if not command:
        raise NotRun("bench_kernels was not built")
    return Kernels(command + ["--device", kit.one_device()], env=kit.environment)


# ceilings

def ceilings_checks(_kit):
    return ["copy bandwidth", "matrix rate"]


def ceilings(kit):
    found = {}
    for name, program, mode in (("copy bandwidth", "bench_bare_cuda", "copy"), ("matrix rate", "bench_bare_matmul", "rate")):
        with kit.check(name) as facts:
            command = kit.place.program(program)
            if not command:
                raise NotRun(f"{program} was not built")
            code, out, err = kit.command(command + [mode], env=kit.linked_environment(), timeout=60)
            if code == 127 or "cannot open shared object" in err:
                raise NotRun(f"{program} does not start here: {err.strip()}")
            if code != 0 and (why := built_for_others(program, err)):
                raise NotRun(why)
            if code != 0:
                raise Failed(f"{program} {mode}: exit {code}: {err.strip()}")
            found |= json.loads(out)
            facts |= json.loads(out)
    if found:
        kit.learn(ceilings=found)


# kernels

def kernels_checks(kit):
    return [f"{name}: rows" for name in kit.place.kernel_names()]


def floor_ns(kit, name, phases):
    """(the shortest time in which the device could do it, by what it is bound), or None without measured ceilings."""
    limits = kit.facts.get("ceilings") or {}
    if "device_copy_gb_per_s" not in limits:
        return None, None
    precision = next((one for one in ("tf32", "bf16", "f16", "f64") if f"_{one}_" in name), "f32")
    rate = limits.get(f"{precision}_tflop_per_s") or 0
    by_memory = phases["bytes"] / limits["device_copy_gb_per_s"]
    by_rate = phases["flop"] / (rate * 1e3) if rate else 0
    return max(by_memory, by_rate), "memory" if by_memory >= by_rate else "arithmetic"


def goal_for(row, bound, moved, limits):
    """Only of kernels that are bound by memory and nothing else (rows.cpp says which): what sorts, gathers or draws random
    numbers has a floor by memory too, but nobody promises to come near it."""
    beyond = moved > BEYOND_CACHES * limits.get("l2_bytes", 0)
    return SHARE_OF_COPY if row["bound_by_memory"] and bound == "memory" and beyond else None


def in_turn(names, rows):
    """The kernels with rows that memory binds come first, they are what the goals speak of; those that a library
    computes come last, their rows take seconds each."""
    by_memory = {row["kernel"] for row in rows if row["bound_by_memory"]}
    return sorted(names, key=lambda name: (name not in by_memory, name in BY_LIBRARY and 1 + BY_LIBRARY.index(name)))


def more_runs(row, first):
    """How often a row is run after its first run; 0: it takes so long that the first one stands. By the device's own
    times, since a library may have been opened in that run. What memory binds has a goal, and is never judged by its
    first run."""
    took = first["kernel_ns"][0] + first["host_to_device_ns"][0] + first["device_to_host_ns"][0]
    if took > SLOW_NS and not row["bound_by_memory"]:
        return 0
    return max(3, min(25, int(REPEATED_NS / max(took, 1))))


def kernels(kit):
    limits = kit.facts.get("ceilings") or {}
    try:
        bench_kernels = bench(kit)
    except (Refused, NotRun) as why:
        for name in kernels_checks(kit):
            with kit.check(name):
                raise Failed(str(why))
        return
    times = {}
    gpu = Gpu(bench_kernels.facts.get("uuid", ""))
    for kernel in in_turn(kit.place.kernel_names(), bench_kernels.rows):
        with kit.check(f"{kernel}: rows") as facts:
            kit.need(kernel)
            rows = [row for row in bench_kernels.rows if row["kernel"] == kernel]
            if not rows:
                raise Failed("bench_kernels has no row of it")
            facts["rows"] = [row["name"] for row in rows]
            refused, tried = {}, rows[:2] if kit.quick else rows
            for row in sorted(tried, key=lambda row: not row["bound_by_memory"]):
                name = row["name"]
                try:
                    phases = bench_kernels.ask(f"phases {name} 1")
                    repetitions = more_runs(row, phases)
                    if repetitions:
                        phases = bench_kernels.ask(f"phases {name} {repetitions}")
                    gpu.look()
                except Refused as why:
                    refused[name] = str(why)
                    continue
                median = {key: statistics.median(phases[key]) for key in phases if key.endswith("_ns")}
                times[name] = median | {key: phases[key] for key in ("flop", "bytes", "input_bytes", "output_bytes")}
                floor, bound = floor_ns(kit, name, phases)
                facts_of_row = {"row": name, "repetitions": repetitions or 1, **times[name], "bound_by": bound}
                facts_of_row |= gpu.seen()
                if not repetitions:
                    facts_of_row["remark"] = "of one run, its first: it takes long"
                if floor is None or median["kernel_ns"] == 0:
                    kit.figure(f"{name}: kernel", median["kernel_ns"] / 1e6, "ms", **facts_of_row)
                    continue
                kit.figure(f"{name}: share of the ceiling ({bound})", floor / median["kernel_ns"], "x",
                           goal_for(row, bound, phases["bytes"], limits), **facts_of_row)
            kit.learn(kernel_times=times)  # what comes after may run out of time
            if refused:
                facts["refused"] = refused
                if len(refused) == len(tried):
                    raise Failed(f"no row ran: {refused}")
    bench_kernels.close()


# around a kernel

def around_checks(_kit):
    return ["staging", "Lane::Run", "lane overlap", "idle between jobs", "start", "first product", "end to end"]


def around(kit):
    limits = kit.facts.get("ceilings") or {}
    try:
        kernels = bench(kit)
    except (Refused, NotRun) as why:
        for name in around_checks(kit):
            with kit.check(name):
                raise Failed(str(why))
        return
    times = kit.facts.get("kernel_times") or {}

    with kit.check("staging") as facts:
        kit.needs_cuda("staging")
        sized = [(one["input_bytes"], name) for name, one in times.items() if one["host_to_device_ns"] > 0]
        if not sized or "host_to_device_gb_per_s" not in limits:
            raise NotRun("no ceiling or no row with inputs was measured before this")
        name = max(sized)[1]
        for part, size in (("host_to_device", "input_bytes"), ("device_to_host", "output_bytes")):
            rate = times[name][size] / times[name][f"{part}_ns"]
            kit.figure(f"staging {part}: share of a pinned copy", rate / limits[f"{part}_gb_per_s"], "x", 0.9, row=name,
                       gb_per_s=rate)
        facts |= {"row": name, "copy_threads": kernels.facts.get("copy_threads")}

    with kit.check("Lane::Run") as facts:
        smallest = min((row for row in kernels.rows if row["kernel"] == "vector_add"), key=lambda row: len(row["name"]))["name"]
        kernels.ask(f"phases {smallest} 200")
        phases = kernels.ask(f"phases {smallest} 2000")
        beside = [whole - kernel - up - down for whole, kernel, up, down in zip(
            phases["whole_ns"], phases["kernel_ns"], phases["host_to_device_ns"], phases["device_to_host_ns"])]
        facts["row"] = smallest
        kit.figure("Lane::Run overhead, kernel and copies taken off", statistics.median(beside) / 1e3, "us", row=smallest)

    with kit.check("lane overlap") as facts:
        name = max((row["name"] for row in kernels.rows if row["kernel"] == "trig_identity"), key=lambda one: "f32_1e7" in one)
        answer = kernels.ask(f"lanes {name} {2 if kit.device == 'cpu' else 4} {2 if kit.quick else 8}")
        facts |= answer
        kit.figure("one lane's time over that of several, same work", answer["one_lane_ns"] / answer["together_ns"], "x",
                   row=name)
    # A daemon may not find the device while bench_kernels has it (EXCLUSIVE_PROCESS).
    kernels.close()

    with kit.check("idle between jobs") as facts:
        idle(kit, facts)

    with kit.check("start") as facts:
        kit.needs_cuda("a context")
        ours, bare = process_times(kit, b"", ("bench_bare_cuda", "context"))
        facts |= {"ours_ms": ours, "bare_ms": bare}
        kit.figure("plug-in and first context over a bare program", statistics.median(ours) / statistics.median(bare), "x", 1.2,
                   at_least=False)

    with kit.check("first product") as facts:
        kit.needs_cuda("cuBLASLt")
        kit.need("matmul")
        # Both make their inputs, copy them up and the product down; both open the library for it.
        ours, bare = process_times(kit, b"kernel matmul_f64_1000 1\n", ("bench_bare_matmul", "product"))
        facts |= {"ours_ms": ours, "bare_ms": bare}
        kit.figure("a process with one product over a bare program with the same library",
                   statistics.median(ours) / statistics.median(bare), "x")

    with kit.check("end to end") as facts:
        end_to_end_times(kit, facts)


def process_times(kit, question, peer):
    """Milliseconds of the whole process, in turns: bench_kernels, given that question, and a bare program."""
    program, mode = peer
    command = kit.place.program(program)
    if not command:
        raise NotRun(f"{program} was not built")
    our_command = kit.place.program("bench_kernels") + ["--device", kit.one_device()]
    ours, bare = [], []
    for turn in range(6):
        for times_of, words, said in ((ours, our_command, question), (bare, command + [mode], b"")):
            began = time.monotonic()
            code, out, err = kit.command(words, env=kit.linked_environment(), stdin=said, timeout=60)
            if code == 127 or "cannot open shared object" in err:
                raise NotRun(f"{words[0]} does not start here: {err.strip()}")
            if code != 0 and times_of is bare and (why := built_for_others(program, err)):
                raise NotRun(why)
            if code != 0 or '"error"' in out:
                raise Failed(f"{' '.join(words)}: exit {code}: {(err + out).strip()[:300]}")
            if turn > 0:  # the first one reads files from disk
                times_of.append((time.monotonic() - began) * 1e3)
    return ours, bare


def input_files(kit):
    """({kernel: (its row, the files of its inputs)} at the course's sizes, {kernel: why there are none}), by a
    bench_kernels that is over before a daemon asks for the device."""
    wanted = {"trig_identity": "f32_1e7", "selu": "f32_1e6", "matmul": "f32_3000", "integrate2d": "", "mandelbrot": ""}
    kernels, found, wrong = bench(kit), {}, {}
    for kernel in kit.runnable():
        of_size = wanted.get(kernel, "4096")
        rows = [row["name"] for row in kernels.rows if row["kernel"] == kernel and of_size in row["name"]]
        if not rows:
            continue
        folder = pathlib.Path(kit.folder) / f"times-{kernel}"
        folder.mkdir()
        try:
            kernels.ask(f"inputs {rows[0]} {folder}")
            found[kernel] = rows[0], [str(folder / name) for name in sorted(os.listdir(folder))]
        except Refused as why:
            wrong[kernel] = str(why)
    kernels.close()
    return found, wrong


def end_to_end_times(kit, facts):
    """`hotplate run` from start to exit on .npy files of the course's sizes: first call and median of the next."""
    arguments = {"integrate2d": ["--n", "102400" if kit.device == "cuda" else "4096"], "mandelbrot": ["--resolution", "2000"]}
    inputs, wrong = input_files(kit)
    with Daemon(kit) as daemon:
        for kernel, (row, files) in inputs.items():
            try:
                words = ["run", kernel, *files, *arguments.get(kernel, []), "--output", stays(kit, kernel)]
                whole, receipts = [], []
                for _ in range(3 if kit.quick else 6):
                    began = time.monotonic()
                    answer = daemon.answer(*words)
                    whole.append((time.monotonic() - began) * 1e3)
                    receipts.append(answer["receipt"])
                    daemon.hotplate("free", "end-to-end")
            except Failed as why:
                wrong[kernel] = str(why)
                continue
            kit.figure(f"hotplate run {kernel}", statistics.median(whole[1:]), "ms", first_ms=whole[0], row=row,
                       arguments=arguments.get(kernel, []), receipt=receipts[-1])
            facts[kernel] = statistics.median(whole[1:])
    if wrong:
        raise Failed(str(wrong))


def stays(kit, kernel):
    """One output stays on the daemon: its way back to a file is measured as the download elsewhere."""
    spec = next(one for one in kit.place.kernels if one["name"] == kernel)
    return f"{spec['outputs'][0]['name']}=array:end-to-end"
