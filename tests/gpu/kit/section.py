"""One section while it runs, in a process of its own. Every check is written down when it ends, so that a crash of a later
one loses nothing."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
import traceback

from .place import Place
from .results import FAIL, NOT_RUN, PASS, Failed, NotRun


class Kit:
    """What a section works with: the programs, the device, a folder, and where results go."""

    def __init__(self, options, facts, results_file):
        self.place = Place()
        self.options = options
        self.device = options["device"]
        self.quick = options["quick"]
        self.facts = facts
        self.results_file = pathlib.Path(results_file)
        self.recorded = {}
        self.folder = tempfile.mkdtemp(prefix="hotplate-kit-", dir=options["work"])
        self.environment = {key: value for key, value in os.environ.items()
                            if key not in ("HOTPLATE_DIR", "HOTPLATE_SERVER", "HOTPLATE_BIN_DIR", "HOTPLATE_REQUIRE_CUDA")}
        self.environment |= {"NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
        self.end = time.monotonic() + options["seconds"]
        self.use_libraries_of(facts.get("cuda_library_folders"))

    def use_libraries_of(self, folders):
        """CUDA's libraries for our own programs alone: in LD_LIBRARY_PATH they would displace those of the peers."""
        named = [folder for folder in self.environment.get("HOTPLATE_CUDA_LIBRARY_PATH", "").split(":") if folder]
        if folders:
            self.environment["HOTPLATE_CUDA_LIBRARY_PATH"] = ":".join(dict.fromkeys(named + folders))

    def linked_environment(self):
        """For the one program that is linked with cuBLASLt and so has the loader look for it."""
        folders = [self.environment.get("LD_LIBRARY_PATH"), *self.facts.get("cuda_library_folders", [])]
        return self.environment | {"LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}

    def left(self):
        """Seconds until the section ought to end by itself, rather than be ended."""
        return self.end - time.monotonic()

    def one_device(self):
        """What a daemon is started with: the one device that the figures and the other programs are of, once it is known."""
        known = (self.facts.get("device") or {}).get("id")
        return known if known and self.device == "cuda" else self.device

    def need(self, kernel):
        """Not run without this kernel: a library that it calls is not there, say."""
        if kernel in self.facts.get("unavailable", {}):
            raise NotRun(self.facts["unavailable"][kernel])

    def runnable(self):
        """Names of the kernels that the device has."""
        return [name for name in self.place.kernel_names() if name not in self.facts.get("unavailable", {})]

    def write(self, line):
        with open(self.results_file, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def record(self, name, status, reason="", **facts):
        self.recorded[name] = status
        self.write({"check": {"name": name, "status": status, "reason": reason, "facts": facts}})

    def learn(self, **facts):
        """Facts for the sections after this one."""
        self.facts.update(facts)
        self.write({"facts": facts})

    @contextlib.contextmanager
    def check(self, name):
        """A check; what the body puts into the dict it gets is kept as facts."""
        facts = {}
        status, reason = PASS, ""
        try:
            yield facts
        except NotRun as why:
            status, reason = NOT_RUN, str(why)
        except Failed as why:
            status, reason = FAIL, str(why)
        except Exception as why:  # a defect of the kit is a failure, not a silence
            status, reason = FAIL, f"{type(why).__name__}: {why}"
            traceback.print_exc()
        self.record(name, status, reason, **facts)

    def figure(self, name, measured, unit, goal=None, at_least=True, **facts):
        """A measured figure. Goals are for GPUs: on the CPU back-end none is judged."""
        if self.device != "cuda":
            goal = None
        met = goal is None or (measured >= goal if at_least else measured <= goal)
        reason = "" if met else "missed its goal"
        self.record(name, PASS if met else FAIL, reason, measured=measured, unit=unit, goal=goal, at_least=at_least, **facts)

    def one_at_a_time(self):
        """Why two processes cannot have the device at once; empty where they can. MPS lets them."""
        by_daemon = (self.facts.get("device") or {}).get("mode")
        mode = by_daemon or (self.facts.get("nvidia_smi") or {}).get("compute_mode", "").upper()
        if self.device != "cuda" or "EXCLUSIVE_PROCESS" not in mode or "MPS" in mode:
            return ""
        return "the device's compute mode is EXCLUSIVE_PROCESS, and this takes two processes on it at once"

    def needs_cuda(self, what="it"):
        if self.device != "cuda":
            raise NotRun(f"{what} needs a GPU; this run is on the CPU back-end")

    def command(self, words, env=None, timeout=60, stdin=None):
        """(exit code, standard output, standard error)."""
        try:
            done = subprocess.run(words, env=env or self.environment, cwd=self.folder, input=stdin, timeout=timeout,
                                  stdin=subprocess.DEVNULL if stdin is None else None, capture_output=True, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(words)[:200]} did not end within {timeout} s") from late
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def follow(self, words, timeout, env=None, each_line=None):
        """The same for what may run out of time: the exit code is then None, and what it had said is still there. Each line
        of standard output is handed over when it comes."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="follow-", dir=self.folder))
        end, said = time.monotonic() + timeout, b""
        with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err, open(folder / "out", "rb") as lines:
            process = subprocess.Popen(words, env=env or self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err)
            try:
                while True:
                    code = process.poll()  # before reading: what came before the end is then read
                    said += lines.read()
                    *whole, said = said.split(b"\n")
                    for line in whole if each_line else []:
                        each_line(line.decode(errors="replace"))
                    if code is not None or time.monotonic() > end:
                        break
                    time.sleep(0.05)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return (code, *((folder / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")))

    def cases(self, kernel, most, largest=64 << 20):
        """Up to `most` cases of the kernel's suite that any device takes, with data in their results, from small to large."""
        code, out, err = self.command(self.place.program("hotplate_case_files") + ["list", kernel], timeout=120)
        if code != 0:
            raise Failed(f"hotplate_case_files list {kernel}: exit {code}: {err.strip()}")
        cases = [json.loads(line) for line in out.splitlines()]
        cases = sorted((one for one in cases if one["output_bytes"] > 0 and one["bytes"] <= largest and one["precision"] == "default"),
                       key=lambda one: one["bytes"])
        if len(cases) <= most:
            return [one["case"] for one in cases]
        return [cases[round(i * (len(cases) - 1) / (most - 1))]["case"] for i in range(most)]

    def run_case(self, daemon, kernel, case, *more):
        """Runs a case of the suite through the command line, has the verifier judge the files, returns the receipt."""
        folder = tempfile.mkdtemp(prefix=f"{kernel}-", dir=self.folder)
        files = self.place.program("hotplate_case_files")
        code, out, err = self.command(files + ["write", kernel, case, folder])
        if code != 0:
            raise Failed(f"writing the inputs of {kernel} {case}: {err.strip()}")
        answer = daemon.answer("run", kernel, *json.loads(out), *more)
        code, out, err = self.command(files + ["verify", kernel, case, folder])
        if code != 0:
            raise Failed(f"{kernel} {case}: wrong result: {err.strip()}")
        subprocess.run(["rm", "-rf", folder], check=False)
        return answer["receipt"], float(out)
