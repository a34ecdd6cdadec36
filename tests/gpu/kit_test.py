#!/usr/bin/env python3
"""The GPU kit where there is no GPU: what it says then, and that nothing gets lost when a section goes wrong."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# Tests must not depend on whether this machine has a GPU: the driver that they look for is not there.
NO_DRIVER = {"HOTPLATE_CUDA_DRIVER_LIBRARY": "/nonexistent/libcuda.so.1"}


def section(found, name):
    return next(one for one in found["sections"] if one["name"] == name)


class KitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hotplate-kit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kit(self, *words, env=None, code=0):
        """(what the JSON says, standard output) of a run."""
        environment = {key: value for key, value in os.environ.items() if key != "HOTPLATE_REQUIRE_CUDA"}
        out = self.folder / "out"
        done = subprocess.run([sys.executable, str(HERE / "run"), "--out", str(out), "--quick", *words], text=True,
                              env=environment | NO_DRIVER | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)
        logs = "".join(f"\n== {log.name}\n{log.read_text(errors='replace')[-4000:]}" for log in out.glob("*.log"))
        self.assertEqual(done.returncode, code, done.stdout + logs)
        return json.loads((out / "gpu-kit.json").read_text(encoding="utf-8")), done.stdout

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
        self.assertEqual([check["status"] for check in section(found, "memory")["checks"]], ["not run"] * 3)
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

    def test_a_kernel_that_faults_on_a_fake_driver(self):
        """The plug-in's executor and the daemon as they are; driver and kernels are the unit tests' fakes."""
        real, tree = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]), self.folder / "tree"
        fakes = real.parent / "tests/unit/cuda/fakes"
        (tree / "bin/faulting").mkdir(parents=True)
        for name in ("hotplate", "hotplated", "hotplate_case_files"):
            shutil.copy(real / name, tree / "bin")  # the daemon looks for plug-ins beside itself
        shutil.copytree(real.parent / "share", tree / "share")
        for folder in ("bin", "bin/faulting"):
            shutil.copy(fakes / "host_kernels.so", tree / folder / "libhotplate_cuda13.so")
        environment = {"HOTPLATE_BIN_DIR": str(tree / "bin"), "HOTPLATE_CUDA_DRIVER_LIBRARY": str(fakes / "driver.so"),
                       "HOTPLATE_REQUIRE_CUDA": "1"}
        broken = environment | {"FAKE_CUDA": "devices=1 breaking_kernel=vector_add"}
        found, said = self.kit("--only", "sticky", env=broken)
        self.assertEqual([check["status"] for check in section(found, "sticky")["checks"]], ["pass"] * 4, said)
        # A kernel that does not fault is no proof.
        found, said = self.kit("--only", "sticky", env=environment | {"FAKE_CUDA": "devices=1"}, code=1)
        self.assertEqual([check["status"] for check in section(found, "sticky")["checks"][:3]], ["fail"] * 3, said)

    def test_a_budget_that_is_over_is_said(self):
        found, _ = self.kit("--device", "cpu", "--only", "cancel", "--budget", "1")
        self.assertIn("--budget", section(found, "cancel")["checks"][0]["reason"])
        self.assertEqual(section(found, "cancel")["checks"][0]["status"], "not run")

    def test_wrong_words(self):
        done = subprocess.run([sys.executable, str(HERE / "run"), "--only", "nonsense"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no section 'nonsense'", done.stderr)


class VerifiedTest(unittest.TestCase):
    def verified(self, *words):
        return subprocess.run([sys.executable, str(HERE / "verified.py"), *words], capture_output=True, text=True, check=False)

    def test_the_readme_says_what_the_results_say(self):
        done = self.verified("--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_result_becomes_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder) / "README.md"
            readme.write_text("before\n<!-- verified on GPUs: written by tests/gpu/verified.py -->\nold\n"
                              "<!-- end of verified on GPUs -->\nafter\n", encoding="utf-8")
            run = {"what": "hotplate gpu kit", "schema_version": 1, "back_end": "cuda", "only": [], "date": "2026-01-02T03:04:05",
                   "device": {"name": "A GPU"}, "driver": "1.2", "cuda": "13.0", "git_revision": "abc",
                   "counts": {"pass": 7, "fail": 1, "not_run": 2}, "sections": []}
            fake = run | {"date": "2027-01-01T00:00:00", "device": {"name": "NVIDIA Fake 90"}}
            others = {"fake.json": fake, "undriven.json": run | {"driver": None, "device": {"name": "Another"}},
                      "cpu.json": run | {"back_end": "cpu"}, "bench.json": {"rows": []}, "gpu.json": run,
                      "older.json": run | {"date": "2025-01-01T00:00:00", "git_revision": "older"}}
            for name, whole in others.items():
                (pathlib.Path(folder) / name).write_text(json.dumps(whole), encoding="utf-8")
            words = ["--results", folder, "--readme", str(readme)]
            self.assertEqual(self.verified("--check", *words).returncode, 1)
            self.assertEqual(self.verified(*words).returncode, 0)
            text = readme.read_text(encoding="utf-8")
            self.assertIn("| A GPU | 1.2, 13.0 | [7, 1, 2](tests/bench/results/gpu.json) | not measured | abc, 2026-01-02 |", text)
            for absent in ("older", "Fake", "Another"):
                self.assertNotIn(absent, text)
            self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
            self.assertEqual(self.verified("--check", *words).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
