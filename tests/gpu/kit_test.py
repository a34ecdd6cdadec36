#!/usr/bin/env python3
"""The GPU kit where there is no GPU: what it says then, and that nothing gets lost when a section goes wrong."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# Tests must not depend on whether this machine has a GPU: the driver that they look for is not there.
NO_DRIVER = {"HOTPLATE_CUDA_DRIVER_LIBRARY": "/nonexistent/libcuda.so.1"}
# Nor on what else it does: how soon a cancel takes effect is judged where the kit is run in earnest.
UNHURRIED = {"HOTPLATE_KIT_COMMAND_MS": "60000"}

# What tests/fakes/cuda/host_kernels.cpp has.
FAKE_KERNELS = ("integrate2d", "mandelbrot", "matmul", "selu", "trig_identity", "vector_add")


def section(found, name):
    return next(one for one in found["sections"] if one["name"] == name)


def bench_rows(device):
    """The rows of the bench that a device of this kind would have."""
    program = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]) / "bench_kernels"
    return json.loads(subprocess.run([str(program), "--device", device, "--list"], capture_output=True, check=True).stdout)


class KitCase(unittest.TestCase):
    """Runs of the kit, also on what looks like a GPU."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hotplate-kit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kit(self, *words, env=None, code=0):
        """(what the JSON says, standard output) of a run."""
        environment = {key: value for key, value in os.environ.items() if key != "HOTPLATE_REQUIRE_CUDA"}
        out = self.folder / "out"
        done = subprocess.run([sys.executable, str(HERE / "run"), "--out", str(out), "--quick", "--keep-logs", *words], text=True,
                              env=environment | NO_DRIVER | UNHURRIED | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)
        logs = "".join(f"\n== {log.name}\n{log.read_text(errors='replace')[-4000:]}" for log in out.glob("logs/*.log"))
        self.assertEqual(done.returncode, code, done.stdout + logs)
        return json.loads((out / "gpu-kit.json").read_text(encoding="utf-8")), done.stdout

    def fake_gpu(self, plugin="host_kernels"):
        """A tree of programs whose CUDA is the unit tests' fakes: (its bin folder, the fakes', the environment)."""
        real, tree = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]), self.folder / "tree"
        fakes = real.parent / "tests/unit/cuda/fakes"
        (tree / "bin/faulting").mkdir(parents=True)
        for name in ("hotplate", "hotplated", "hotplate-keeper", "hotplate_case_files", "conformance_test"):
            shutil.copy(real / name, tree / "bin")  # the daemon looks for plug-ins beside itself
        (tree / "python").symlink_to(real.parent / "python")
        shutil.copytree(real.parent / "share", tree / "share")
        catalogue = tree / "share/hotplate/catalogue.json"
        known = json.loads(catalogue.read_text(encoding="utf-8"))
        known["kernels"] = [kernel for kernel in known["kernels"] if kernel["name"] in FAKE_KERNELS]
        catalogue.write_text(json.dumps(known), encoding="utf-8")
        for folder in ("bin", "bin/faulting"):
            shutil.copy(fakes / f"{plugin}.so", tree / folder / "libhotplate_cuda13.so")
        nvml = self.folder / "nvml.txt"
        joules = " ".join(str(5000 * i) for i in range(1, 5000))  # more at each reading
        nvml.write_text("device GPU-00000000-0000-0000-0000-000000000010 00000000:10:00.0\npower 50000\npower_limit 700000\n"
                        f"sm_clock 1980\nmemory_clock 2619\ntemperature 40\nenergy {joules}\n", encoding="utf-8")
        return tree / "bin", fakes, {"HOTPLATE_BIN_DIR": str(tree / "bin"), "HOTPLATE_REQUIRE_CUDA": "1",
                                     "HOTPLATE_CUDA_DRIVER_LIBRARY": str(fakes / "driver.so"), "FAKE_CUDA": "devices=1",
                                     "HOTPLATE_NVML_LIBRARY": str(fakes / "nvml.so"), "HOTPLATE_FAKE_NVML": str(nvml)}

    def all_pass(self, found, said, *names):
        for name in names:
            for check in section(found, name)["checks"]:
                self.assertEqual(check["status"], "pass", f"{check}\n{said}")


class KitTest(KitCase):
    def test_without_a_gpu_every_check_is_not_run_and_says_why(self):
        found, said = self.kit()
        self.assertEqual(found["schema_version"], 1)
        self.assertEqual(found["exit_status"], 0)
        self.assertIsNone(found["device"])
        self.assertGreater(len(found["sections"]), 10)
        for one in found["sections"]:
            for check in one["checks"]:
                if check["name"] in ("environment", "CUDA's libraries"):
                    continue
                self.assertEqual(check["status"], "not run", check)
                self.assertIn("/nonexistent/libcuda.so.1", check["reason"])
        self.assertIn("0 failed", said)
        self.assertLess(found["budget_s"], 560)
        # What can be carried away: two files, and the logs beside them only on request.
        self.assertEqual(sorted(one.name for one in (self.folder / "out").iterdir()), ["gpu-kit.json", "logs", "logs.tar.gz"])
        with tarfile.open(self.folder / "out/logs.tar.gz") as tar:
            self.assertIn("logs/environment.log", tar.getnames())
        # Each kernel of the catalogue, without anybody having named it here.
        names = [check["name"] for check in section(found, "conformance")["checks"]]
        kernels = subprocess.run([str(pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]) / "hotplate"), "kernels", "--json"],
                                 capture_output=True, text=True, check=True).stdout
        for kernel in json.loads(kernels)["kernels"]:
            self.assertIn(f"conformance of {kernel['name']}", names)

    def test_a_required_gpu_that_is_not_there_fails(self):
        found, _ = self.kit("--only", "conformance", env={"HOTPLATE_REQUIRE_CUDA": "1"}, code=1)
        self.assertTrue(found["require_cuda"])
        for check in section(found, "conformance")["checks"]:
            self.assertEqual(check["status"], "fail", check)
            self.assertIn("HOTPLATE_REQUIRE_CUDA=1", check["reason"])

    def test_on_the_cpu_the_sections_do_their_work(self):
        found, said = self.kit("--device", "cpu", "--only", "end_to_end", "--only", "lanes", "--only", "cancel", "--only", "memory")
        for name in ("end_to_end", "lanes", "cancel"):
            for check in section(found, name)["checks"]:
                self.assertEqual(check["status"], "pass", said)
        self.assertEqual([check["status"] for check in section(found, "memory")["checks"]], ["not run"] * 6)
        self.assertEqual(found["device"]["backend"], "cpu")

    def test_a_section_that_fails_and_crashes_loses_nothing_of_the_others(self):
        found, said = self.kit("--device", "cpu", "--only", "lanes", "--only", "cancel", env={"HOTPLATE_KIT_BREAK": "lanes"}, code=1)
        broken = section(found, "lanes")["checks"]
        self.assertEqual([check["status"] for check in broken], ["fail", "fail"], said)
        self.assertIn("broken on purpose", broken[0]["reason"])
        self.assertIn("signal 11", broken[1]["reason"])
        for check in section(found, "cancel")["checks"]:
            self.assertEqual(check["status"], "pass", said)
        self.assertEqual(found["exit_status"], 1)

    def full_gpu(self):
        """The same, with memory that another program can take: (the environment, bytes of the device)."""
        programs, fakes, environment = self.fake_gpu()
        total, held = 3 << 30, self.folder / "held"
        (self.folder / "libcuda.so.1").symlink_to(fakes / "driver.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(self.folder / "full.so"), str(HERE / "full_device.c"),
                        "-Wl,--no-as-needed", str(fakes / "driver.so"), f"-Wl,-rpath,{self.folder}", "-ldl"], check=True)
        holder = programs / "bench_bare_cuda"
        holder.write_text(f"""#!{sys.executable}
import os, sys
path, held = {str(held)!r}, {total} - int(sys.argv[2])
with open(path + ".draft", "w") as file:
    file.write(str(held))
os.rename(path + ".draft", path)
print('{{"held_bytes": %d}}' % held, flush=True)
sys.stdin.read()
os.unlink(path)
""", encoding="utf-8")
        holder.chmod(0o755)
        return environment | {"FAKE_CUDA": f"devices=2 memory_bytes={total}", "FULL_DEVICE": str(held),
                              "FULL_DEVICE_DRIVER": str(fakes / "driver.so"),
                              "HOTPLATE_CUDA_DRIVER_LIBRARY": str(self.folder / "full.so")}

    def test_a_kernel_that_faults_on_a_fake_driver(self):
        """The plug-in's executor and the daemon as they are; driver and kernels are the unit tests' fakes."""
        _, _, environment = self.fake_gpu()
        broken = environment | {"FAKE_CUDA": "devices=2 breaking_kernel=vector_add"}
        found, said = self.kit("--only", "sticky", env=broken)
        self.assertEqual([check["status"] for check in section(found, "sticky")["checks"]], ["pass"] * 4, said)
        # A kernel that does not fault is no proof.
        found, said = self.kit("--only", "sticky", env=environment | {"FAKE_CUDA": "devices=1"}, code=1)
        self.assertEqual([check["status"] for check in section(found, "sticky")["checks"][:3]], ["fail"] * 3, said)

    def test_a_full_device_on_a_fake_driver(self):
        found, said = self.kit("--only", "memory", env=self.full_gpu())
        checks = section(found, "memory")["checks"]
        self.assertEqual([check["status"] for check in checks[:5]], ["pass"] * 5, said)
        self.assertEqual(checks[1]["facts"]["fit"]["fit"], "LATER")
        self.assertIn(checks[5]["status"], ("pass", "not run"), said)  # a race

    def test_no_context_is_made_on_gpus_that_are_not_asked_for(self):
        """They may be somebody else's: bench_kernels and conformance_test opened all, and used the first."""
        programs, _, environment = self.fake_gpu()
        environment["HOTPLATE_REQUIRE_CUDA"] = "0"
        shutil.copy(pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]) / "bench_kernels", programs)
        suite = [str(programs / "conformance_test"), "--gtest_filter=*/selu_cuda_*"]
        bench = [str(programs / "bench_kernels"), "--device"]

        def said(words, gpus, **more):
            done = subprocess.run(words, capture_output=True, text=True, input="list\n", check=False,
                                  env=os.environ | environment | more | {"FAKE_CUDA": gpus})
            return done.stdout + done.stderr
        # Each that is opened says that it is taken.
        for words in (bench + ["cuda"], suite):
            told = said(words, "devices=3 taken")
            opened = re.findall(r"(gpu\d+)[^\n;]*(?:DEVICE_UNAVAILABLE|another process)", told)
            self.assertEqual(set(opened), {"gpu0"}, told)
        for device, uuid in (("cuda", "10"), ("gpu0", "10"), ("gpu2", "12")):
            self.assertRegex(said(bench + [device], "devices=3"), f'"uuid": "GPU-[0-]+{uuid}"')
        self.assertIn("there is no gpu7", said(bench + ["gpu7"], "devices=3"))
        self.assertRegex(said(suite, "devices=3", HOTPLATE_TEST_GPU="2"), r"PASSED  \] [1-9]")
        self.assertIn("there is no gpu7", said(suite, "devices=3", HOTPLATE_TEST_GPU="7"))
        self.assertIn("usage:", said(bench + ["gpu"], "devices=3"))

    def test_a_device_that_takes_one_process_at_a_time(self):
        environment = self.full_gpu()
        environment["FAKE_CUDA"] += " compute_mode=3"
        found, said = self.kit("--only", "memory", "--only", "resident", "--only", "peers", env=environment)
        for name, made in (("memory", 1), ("resident", 5), ("peers", 0)):
            checks = section(found, name)["checks"]
            self.assertEqual([check["status"] for check in checks[:made]], ["pass"] * made, said)
            for check in checks[made:]:
                self.assertEqual(check["status"], "not run", said)
                self.assertIn("EXCLUSIVE_PROCESS", check["reason"])
        self.assertFalse((self.folder / "held").exists())

    def test_a_plug_in_with_a_fault_for_another_driver_is_not_run(self):
        """Only the newest CUDA's is built; with an older driver the kit's other sections have an older plug-in."""
        programs, _, environment = self.fake_gpu()
        (programs / "libhotplate_cuda13.so").rename(programs / "libhotplate_cuda12.so")
        found, said = self.kit("--only", "sticky", env=environment | {"FAKE_CUDA": "devices=1 version=12040"})
        checks = section(found, "sticky")["checks"]
        self.assertEqual([check["status"] for check in checks], ["not run"] * 4, said)
        self.assertIn("this plug-in needs 13.0 or later", checks[0]["reason"])

    def test_arrays_that_stay_on_a_fake_driver(self):
        found, said = self.kit("--only", "resident", env=self.full_gpu())
        self.all_pass(found, said, "resident")
        crowded = next(one for one in section(found, "resident")["checks"] if one["name"] == "more than the device holds")
        self.assertGreater(crowded["facts"]["put_bytes"], crowded["facts"]["resident_bytes"])

    def test_what_a_driver_is_told_and_tells_on_a_fake_one(self):
        _, _, environment = self.fake_gpu()
        found, said = self.kit("--only", "bad_input", "--only", "telemetry", env=environment)
        self.all_pass(found, said, "bad_input", "telemetry")
        # One that tells less.
        (self.folder / "nvml.txt").write_text("device GPU-00000000-0000-0000-0000-000000000010 00000000:10:00.0\npower 50000\n",
                                              encoding="utf-8")
        found, said = self.kit("--only", "telemetry", env=environment)
        checks = section(found, "telemetry")["checks"]
        self.assertEqual([check["status"] for check in checks], ["not run", "not run", "pass"], said)
        self.assertIn("energyJoules", checks[0]["reason"])

    def test_everything_at_once_on_a_fake_driver(self):
        _, _, environment = self.fake_gpu()
        environment["FAKE_CUDA"] = f"devices=2 memory_bytes={12 << 30}"  # the long calls have large outputs
        found, said = self.kit("--only", "end_to_end", "--only", "lanes", "--only", "cancel", "--only", "soak", env=environment)
        self.all_pass(found, said, "end_to_end", "lanes", "cancel", "soak")
        soak, memory = section(found, "soak")["checks"]
        self.assertGreater(soak["facts"]["kept_arrays"], 0)
        self.assertEqual(soak["facts"]["remark"], "--quick")
        self.assertEqual(memory["facts"]["after"]["hotplate_device_resident_bytes"], 0)

    def test_kernels_whose_library_is_missing_are_not_run_and_the_others_are(self):
        _, _, environment = self.fake_gpu("calls_absent")
        words = ("--only", "conformance", "--only", "end_to_end", "--only", "lanes")
        found, said = self.kit(*words, env=environment | {"HOTPLATE_REQUIRE_CUDA": "0"})
        self.all_pass(found, said, "lanes")
        for name, product in (("conformance", "conformance of matmul"), ("end_to_end", "matmul from files")):
            checks = {check["name"]: check for check in section(found, name)["checks"]}
            missing = checks.pop(product)
            self.assertEqual(missing["status"], "not run", said)
            self.assertIn("libcuabsent.so.13", missing["reason"])
            self.assertEqual({check["status"] for check in checks.values()}, {"pass"}, said)
        # Where all of CUDA is required, that is a failure, and of these alone.
        found, said = self.kit(*words, env=environment, code=1)
        failed = {check["name"]: check["reason"] for one in found["sections"] for check in one["checks"] if check["status"] == "fail"}
        self.assertEqual(set(failed), {"CUDA's libraries", "conformance of matmul", "matmul from files"}, said)
        for reason in failed.values():
            self.assertRegex(reason, "HOTPLATE_REQUIRE_CUDA=1: .*libcuabsent.so.13")

    def test_the_sanitizer_by_itself_has_the_time_of_a_long_command(self):
        found, _ = self.kit("--only", "sanitizer")
        self.assertEqual(found["budget_s"], 590)

    def test_a_budget_that_is_over_is_said(self):
        found, _ = self.kit("--device", "cpu", "--only", "cancel", "--budget", "1")
        self.assertIn("--budget", section(found, "cancel")["checks"][0]["reason"])
        self.assertEqual(section(found, "cancel")["checks"][0]["status"], "not run")

    def test_a_section_that_runs_over_is_not_run_and_not_a_failure(self):
        found, said = self.kit("--device", "cpu", "--only", "soak", "--budget", "5")  # the soak alone takes longer
        checks = section(found, "soak")["checks"]
        self.assertEqual(checks[0]["status"], "not run", said)
        self.assertRegex(checks[0]["reason"], "did not end within|--budget")

    def test_the_sections_fit_into_eight_minutes(self):
        done = subprocess.run([sys.executable, str(HERE / "run"), "--list"], capture_output=True, text=True, check=True)
        limits = [int(seconds) for seconds in re.findall(r"\(at most (\d+) s\)", done.stdout)]
        self.assertGreater(len(limits), 10)
        self.assertLess(sum(limits), 560)

    def test_wrong_words(self):
        done = subprocess.run([sys.executable, str(HERE / "run"), "--only", "nonsense"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no section 'nonsense'", done.stderr)


class VerifiedTest(unittest.TestCase):
    def verified(self, *words):
        return subprocess.run([sys.executable, str(HERE / "verified.py"), *words], capture_output=True, text=True, check=False)

    def test_the_page_says_what_the_results_say(self):
        done = self.verified("--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_result_becomes_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "verified.md"
            page.write_text("before\n<!-- verified on GPUs: written by tests/gpu/verified.py -->\nold\n"
                            "<!-- end of verified on GPUs -->\nafter\n", encoding="utf-8")
            run = {"what": "hotplate gpu kit", "schema_version": 1, "back_end": "cuda", "only": [], "date": "2026-01-02T03:04:05",
                   "device": {"name": "A GPU"}, "driver": "1.2", "cuda": "13.0", "git_revision": "abc",
                   "sections": [{"name": "conformance", "checks": [
                       {"name": f"conformance of {name}", "status": status, "facts": {}}
                       for name, status in (("selu", "pass"), ("matmul", "pass"), ("svd", "fail"), ("cancelling", "pass"))]},
                    {"name": "sanitizer", "checks": [{"name": "memcheck", "status": "not run", "facts": {}}]}]}
            fake = run | {"date": "2027-01-01T00:00:00", "device": {"name": "NVIDIA Fake 90"}}
            others = {"fake.json": fake, "undriven.json": run | {"driver": None, "device": {"name": "Another"}},
                      "cpu.json": run | {"back_end": "cpu", "only": ["conformance"]}, "bench.json": {"rows": []}, "gpu.json": run,
                      "older_cpu.json": run | {"back_end": "cpu", "date": "2025-01-01T00:00:00", "sections": [
                          {"name": "conformance", "checks": [{"name": "conformance of sort", "status": "pass", "facts": {}}]}]},
                      "before.json": run | {"date": "2026-01-01T00:00:00", "git_revision": "cba", "sections": [
                          {"name": name, "checks": [{"name": name, "status": status, "facts": {}}]}
                          for name, status in (("conformance", "pass"), ("soak", "not run"))] + [
                              {"name": "sanitizer", "checks": [{"name": "memcheck", "status": "pass", "facts": {}}]}]},
                      "no_conformance.json": run | {"back_end": "cpu", "date": "2027-01-01T00:00:00", "sections": []},
                      "older.json": run | {"date": "2025-01-01T00:00:00", "git_revision": "older"}}
            for name, whole in others.items():
                (pathlib.Path(folder) / name).write_text(json.dumps(whole), encoding="utf-8")
            places = pathlib.Path(folder) / "verified_on.txt"
            places.write_text("# where\nCPU x86-64: by hand\nAn old GPU: selu\n", encoding="utf-8")
            words = ["--results", folder, "--page", str(page), "--places", str(places)]
            self.assertEqual(self.verified("--check", *words).returncode, 1)
            self.assertEqual(self.verified(*words).returncode, 0)
            text = page.read_text(encoding="utf-8")
            # The older run's other check of conformance, and its sanitizer, are of the newest that ran them.
            self.assertIn("| A GPU | 1.2, 13.0 | 3; 5, 1, 1 | not measured |", text)
            self.assertIn("- A GPU: `gpu.json`, of abc\n- A GPU: `before.json`, of cba\n", text)
            for absent in ("older", "Fake", "Another"):
                self.assertNotIn(absent, text)
            self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
            self.assertEqual(places.read_text(encoding="utf-8"), "# where\nCPU x86-64: matmul selu\nA GPU: matmul selu\n")
            self.assertEqual(self.verified("--check", *words).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
