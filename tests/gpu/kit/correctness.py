"""Is it right? The environment, the conformance suite, compute-sanitizer, the daemon and its command line."""

import contextlib
import json
import os
import platform
import re
import shutil
import glob
import sys
import time

from .daemon import Daemon
from .place import cuda_library_folders, find_cuda_libraries
from .results import Failed, NotRun


# environment

def environment_checks(_kit):
    return ["CUDA's libraries", "device", "environment", "kernels that can run"]


SMI_FIELDS = ["name", "uuid", "driver_version", "memory.total", "pci.bus_id", "compute_mode", "power.limit",
              "clocks.max.sm"]


def nvidia_smi(kit):
    """{field: text} of our device, or of the first where that has no name of its own there, or why there is none."""
    program = shutil.which("nvidia-smi")
    if not program:
        return None, "no nvidia-smi in PATH"
    code, out, err = kit.command([program, f"--query-gpu={','.join(SMI_FIELDS)}", "--format=csv,noheader"], timeout=20)
    if code != 0 or not out.strip():
        return None, f"nvidia-smi: exit {code}: {(out + err).strip()[:200]}"
    gpus = [dict(zip(SMI_FIELDS, (word.strip() for word in line.split(",")))) for line in out.strip().splitlines()]
    ours = (kit.facts.get("device") or {}).get("uuid")
    found = next((one for one in gpus if one.get("uuid") == ours), gpus[0])
    found["count"] = len(gpus)
    version = re.search(r"CUDA Version:\s*([\d.]+)", kit.command([program], timeout=20)[1])
    found["cuda"] = version.group(1) if version else None
    return found, ""


def environment(kit):
    """What all other sections hang on comes first: the device. What may be slow, nvidia-smi and a question for each
    kernel, comes when that is known."""
    with kit.check("CUDA's libraries") as facts:
        facts["folders"] = [f"{origin}: {folder}" for origin, folder in cuda_library_folders(kit.options["python"])]
        cuda_libraries(kit, facts)

    with contextlib.ExitStack() as until_the_end:
        daemon = None
        with kit.check("device") as facts:
            words = ["--require-cuda"] if kit.device == "cuda" else []
            try:
                daemon = until_the_end.enter_context(Daemon(kit, *words))
            except Failed as why:
                if kit.device != "cuda":
                    raise
                found = re.search(r"no usable CUDA device: (.*?)(?:; use --device cpu|$)", str(why), re.DOTALL)
                reason = found.group(1) if found else f"the daemon does not start: {why}"
                kit.learn(no_device=reason)
                if not found:
                    raise  # a daemon that crashes where there may be a GPU is no missing GPU
                raise NotRun(reason) from why
            facts["devices"] = devices = daemon.devices()
            kit.learn(device=devices[0])
            status = daemon.answer("status")
            facts["versions"] = versions = status.get("info", status).get("versions") or {}
            if versions.get("driver"):
                kit.learn(driver=versions["driver"], cuda=versions.get("cuda"))

        with kit.check("environment") as facts:
            of_this_machine(kit, facts)

        with kit.check("kernels that can run") as facts:
            if daemon is None or "device" not in kit.facts:
                raise NotRun(kit.facts.get("no_device") or "after 'device'")
            facts["unavailable"] = unavailable = unavailable_kernels(kit, daemon, kit.facts["device"]["id"])
            kit.learn(unavailable=unavailable)


def of_this_machine(kit, facts):
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    with open("/proc/meminfo", encoding="utf-8") as lines:
        memory = int(lines.readline().split()[1]) * 1024
    machine = {"system": platform.platform(), "glibc": "-".join(platform.libc_ver()), "python": sys.version.split()[0],
               "processor": names[0] if names else platform.machine(), "processors": len(os.sched_getaffinity(0)),
               "memory_bytes": memory, "load": os.getloadavg()[0]}
    facts |= machine
    kit.learn(machine=machine)
    smi, why = nvidia_smi(kit)
    facts["nvidia_smi"] = smi or why
    kit.learn(nvidia_smi=smi)
    if smi:
        kit.learn(driver=smi["driver_version"], cuda=smi["cuda"])


def cuda_libraries(kit, facts):
    """Where those are that the plug-ins' kernels call. One plug-in that has all of its own is enough: the driver decides which
    is used, and what it then lacks its kernels say."""
    plugins = kit.place.plugins()
    if not plugins:
        raise NotRun("no CUDA plug-in was built")
    found, lacking = {}, []
    for plugin in plugins:
        there, missing = find_cuda_libraries(plugin, kit.options["python"])
        found |= {name: place for name, place in there.items() if name not in found}
        lacking.append(", ".join(f"{name} (for {who})" for name, who in missing.items()))
    facts["found"] = {name: f"{origin}: {folder}" for name, (origin, folder) in found.items()}
    # The system's own folders are looked through in any case, and named first they would displace more than CUDA.
    folders = list(dict.fromkeys(folder for origin, folder in found.values() if origin != "system"))
    kit.learn(cuda_library_folders=folders)
    kit.use_libraries_of(folders)
    if all(lacking):
        reason = (f"no {'; no '.join(lacking)} in HOTPLATE_CUDA_LIBRARY_PATH, CUDA_HOME, LD_LIBRARY_PATH, /usr/local/cuda*, "
                  "Python's site-packages or the system's folders")
        kit.learn(libraries_missing=reason)
        raise NotRun(reason)


def unavailable_kernels(kit, daemon, device):
    """{name: why} of the kernels that cannot run here, by the daemon's own word: a library that they call is missing. (One
    that the plug-in has not is a defect, and fails where it is used.)"""
    found = {}
    for name in kit.place.kernel_names():
        reasons = [why for why in daemon.answer("describe", name).get("unavailable", [])
                   if why.startswith(f"{device} cannot run ") and "has no such kernel" not in why]
        if reasons:
            found[name] = reasons[0]
    return found


# conformance

def conformance_checks(kit):
    return [f"conformance of {name}" for name in kit.place.kernel_names()] + ["conformance of cancelling"]


def kernel_of(test, kernels, backend):
    """The kernel whose test this is: names are KERNEL_BACKEND_CASE."""
    return next((name for name in sorted(kernels, key=len, reverse=True) if test.startswith(f"{name}_{backend}")), None)


# The compute capability's major from which on a device multiplies in these precisions, as LeastComputeMajor in traits.h has it.
LEAST_COMPUTE_MAJOR = {"tf32": 8, "bf16": 8, "f16": 7}


def wrongly_skipped(tests, capability):
    """Those of these tests that a device of this compute capability ("9.0") must not skip: it has their precision."""
    major = int((capability or "0").split(".")[0])
    return [test for test in tests for precision, least in LEAST_COMPUTE_MAJOR.items()
            if re.search(rf"_{precision}_", test) and major >= least]


def the_gpu(kit):
    """What tells conformance_test which GPU the daemon has found first."""
    number = re.fullmatch(r"gpu(\d+)", kit.one_device())
    return {"HOTPLATE_TEST_GPU": number.group(1)} if number else {}


def conformance(kit):
    kernels, backend = kit.place.kernel_names(), kit.device
    kit.environment["HOTPLATE_REQUIRE_CUDA"] = "1" if backend == "cuda" else "0"
    kit.environment |= the_gpu(kit)
    words = kit.place.program("conformance_test")
    words.append("--gtest_filter=" + ":".join(f"*/{name}_{backend}{end}" for name in kit.runnable() for end in ("", "_*")))
    seconds = max(5, kit.left() - 3)
    code, out, err = kit.follow(words, timeout=seconds)
    tests = re.findall(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where.*)? \(\d+ ms\)$", out, re.MULTILINE)
    groups = {name: [] for name in kernels + [None]}
    for status, test in tests:
        group = None if "Cancellation" in test else kernel_of(test.rsplit("/", 1)[1], kernels, backend)
        groups[group].append((status, test.rsplit("/", 1)[1] if group else test))
    ended = "" if code in (0, 1, None) else f"; conformance_test ended with {code}: {err.strip()[-300:]}"
    for name, found in groups.items():
        with kit.check(f"conformance of {name or 'cancelling'}") as facts:
            kit.need(name)
            # A precision that the device has not, and the same bits of a library that cannot promise them.
            facts["refused"] = [test for status, test in found if status == "SKIPPED"]
            wrong = wrongly_skipped(facts["refused"], kit.facts.get("device", {}).get("computeCapability"))
            found = [(status, test) for status, test in found if status != "SKIPPED" or test in wrong]
            wrong = [test for status, test in found if status != "OK"]
            facts["tests"], facts["wrong"] = len(found), wrong
            if code is None and not wrong:
                raise NotRun(f"conformance_test did not end within {seconds:.0f} s; {len(found)} of its tests had passed")
            if wrong or not found or ended:
                raise Failed(f"{len(wrong)} of {len(found)} tests failed{': ' if wrong else ''}{', '.join(wrong[:5])}{ended}")


# compute-sanitizer

TOOLS = ("memcheck", "racecheck", "initcheck")
# Kernels that call CUDA's libraries come after all others: a tool takes such a library apart when it is loaded, for longer
# than all our own kernels take, and what it finds there is not ours to mend.
SETS = {"": False, ", kernels that call libraries": True}


def callers_of_libraries(kit):
    """Names of the kernels that call CUDA's libraries, by the plug-ins' own word."""
    callers = set()
    for plugin in kit.place.plugins():
        code, out, err = kit.command(kit.place.program("hotplate_plugin_kernels") + [str(plugin)])
        if code != 0:
            raise Failed(f"exit {code}: {err.strip()}")
        callers |= {name for name, library in json.loads(out).items() if library}
    return callers


def find_sanitizer():
    places = [shutil.which("compute-sanitizer")]
    for toolkit in [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]:
        places += [f"{toolkit}/bin/compute-sanitizer", f"{toolkit}/compute-sanitizer/compute-sanitizer",
                   f"{toolkit}/extras/compute-sanitizer/compute-sanitizer"]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def reports_of(text):
    """[(what is reported, its lines)]: a report begins with ======= and one space; its further lines are indented."""
    found = []
    for line in re.findall(r"^=+ .*$", text, re.MULTILINE):
        body = line.lstrip("=")
        if body.startswith("  "):
            if found:
                found[-1][1].append(body.strip())
        elif body.strip() and not re.match(r" (COMPUTE-SANITIZER|\w+ SUMMARY|LEAK|Target|This tool)", body):
            found.append((body.strip(), []))
    return found


def judged(what, lines):
    """(is it ours to mend, in words): libraries' own kernels are not. Host frames name us in every report of this process."""
    where = [line for line in lines if re.match(r"(at|and) ", line)]
    if what.startswith("Host API memory access error"):
        # Outputs lie in one block and come in one copy, with the padding between them that nobody writes or reads.
        padding = any(line.startswith("Uninitialized access") for line in lines)
        return not padding, "copies of padding never written" if padding else f"{what}: {lines[0] if lines else ''}"
    if what.startswith(("Invalid", "Uninitialized", "Error", "Warning", "Race", "Potential", "Misaligned", "Barrier", "Divergent")):
        ours = next((one for one in [what, *where] if "hotplate" in one), None)
        return ours is not None, f"{what} {ours}" if ours and ours != what else what
    return False, what  # what CUDA's calls answered, the tool's own remarks


def sanitizer_checks(_kit):
    return [f"compute-sanitizer {tool}{which}" for which in SETS for tool in TOOLS]


def sanitizer(kit):
    program = find_sanitizer()
    named = "sanitizer" in kit.options.get("only", [])
    for which, calling in SETS.items():
        filters = []
        for number, tool in enumerate(TOOLS):
            with kit.check(f"compute-sanitizer {tool}{which}") as facts:
                if not program:
                    raise NotRun("no compute-sanitizer in PATH, CUDA_HOME or /usr/local/cuda*")
                if not named and (calling or number > 0):
                    raise NotRun("a run of everything has no time for it; --only sanitizer makes it")
                if not filters:  # the same tests for each: small ones, of every kernel
                    callers = callers_of_libraries(kit)
                    for kernel in kit.runnable():
                        if (kernel in callers) == calling:
                            filters += [f"*/{kernel}_cuda_{case}" for case in kit.cases(kernel, 5, 1 << 20)]
                if not filters:
                    raise NotRun("none of these kernels runs here")
                facts["tests"], facts["program"] = filters, program
                tools_left = len(TOOLS) - number if named else 1
                one_tool(kit, program, tool, filters, time.monotonic() + (kit.left() - 3) / tools_left, facts)


def one_tool(kit, program, tool, filters, end, facts):
    said = ""
    for command, more in kit.place.loader_command("conformance_test"):
        words = [program, "--tool", tool, "--error-exitcode", "86", "--print-limit", "200", *command,
                 f"--gtest_filter={':'.join(filters)}"]
        seconds = end - time.monotonic()
        if seconds < 2:
            raise NotRun(f"no time was left for it; give it more: --only sanitizer. {said}".strip())
        environment = kit.environment | {"HOTPLATE_REQUIRE_CUDA": "1"} | the_gpu(kit) | more
        code, out, err = kit.follow(words, seconds, environment)
        text = out + err
        passed = len(re.findall(r"^\[ +OK +\] .* ms\)$", out, re.MULTILINE))
        summaries = re.findall(r"^=+ +((?:ERROR|RACECHECK) SUMMARY: .*)$", text, re.MULTILINE)
        reports = [judged(*report) for report in reports_of(text)]
        ours = [words for mine, words in reports if mine]
        facts |= {"passed": passed, "summary": summaries, "ours": ours[:5],
                  "not_ours": sorted({words for mine, words in reports if not mine})[:10]}
        if ours:
            raise Failed(f"{len(ours)} reports of ours: {ours[0]}")
        failed = re.findall(r"^\[ +FAILED +\] (\S+).* ms\)$", out, re.MULTILINE)
        if failed:
            raise Failed(f"under the tool these tests fail: {', '.join(failed[:5])}")
        if code is None:
            raise NotRun(f"it did not end within {seconds:.0f} s; {passed} tests had passed, with no report of ours")
        if passed and summaries:
            if code not in (0, 86):
                raise Failed(f"exit {code} after {passed} tests: {text.strip()[-300:]}")
            return
        said = f"exit {code}: {text.strip()[-300:]}"  # the tool did not get hold of the program: the next way
    raise NotRun(f"compute-sanitizer does not run the tests here: {said}")


# end to end

def end_to_end_checks(kit):
    return ["up, status, down"] + [f"{name} from files" for name in kit.place.kernel_names()] + ["refusal of bad input"]


def end_to_end(kit):
    with kit.check("up, status, down"):
        environment = kit.environment | {"HOTPLATE_DIR": f"{kit.folder}/up"}
        hotplate = kit.place.program("hotplate")
        for words in (["up", "--local", "--", "--device", kit.device], ["status", "--json"], ["down"]):
            code, out, err = kit.command(hotplate + words, env=environment, timeout=90)
            if code != 0:
                raise Failed(f"hotplate {' '.join(words)}: exit {code}: {(err or out).strip()}")
    with Daemon(kit) as daemon:
        device = daemon.devices()[0]
        for kernel in kit.place.kernel_names():
            with kit.check(f"{kernel} from files") as facts:
                kit.need(kernel)
                cases = kit.cases(kernel, 2 if kit.quick else 4)
                errors = []
                for case in cases:
                    receipt, error = kit.run_case(daemon, kernel, case)
                    errors.append(error)
                    check_receipt(receipt, kernel, device)
                facts["cases"], facts["largest_error_in_bounds"], facts["receipt"] = cases, max(errors, default=0), receipt
        with kit.check("refusal of bad input"):
            # One that needs nothing to be given with it.
            kernel = next(one["name"] for one in kit.place.kernels if one["name"] in kit.runnable() and not one["inputs"]
                          and all("defaultValue" in param or param["defaultText"] for param in one["params"]))
            code, _, err = daemon.run("run", kernel, "--device", "gpu77")
            if code not in (2, 4, 5) or "gpu77" not in err:
                raise Failed(f"--device gpu77: exit {code}: {err.strip()}")


def check_receipt(receipt, kernel, device):
    """The receipt names the device that ran it, and has its times."""
    wanted = {"kernel": kernel, "device": device["id"], "deviceName": device["name"], "deviceUuid": device["uuid"]}
    for field, value in wanted.items():
        if receipt.get(field) != value:
            raise Failed(f"the receipt's {field} is {receipt.get(field)!r}, not {value!r}")
    needed = ["kernelNs", "totalNs"] + (["deviceToHostNs"] if device["backend"] == "cuda" else [])
    for field in needed:
        if int(receipt.get(field) or 0) <= 0:
            raise Failed(f"the receipt has no {field}: {json.dumps(receipt)[:300]}")
