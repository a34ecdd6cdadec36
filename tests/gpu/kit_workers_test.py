#!/usr/bin/env python3
"""The GPU kit's sections of users' code and of expressions where there is no GPU: on the CPU as it is, and on a fake driver with a CuPy of this test's own,
which computes with NumPy."""

import json
import pathlib
import sys
import unittest

from kit_test import KitCase, section

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kit import expressions, workers  # noqa: E402
from kit.section import Kit  # noqa: E402

CUPY = """
import time
import numpy as np
__version__ = "of the test"
int32, int64, asarray, empty_like = np.int32, np.int64, np.asarray, np.empty_like
class RawKernel:
    def __init__(self, source, name):
        assert name in source
    def __call__(self, grid, block, args):
        if len(args) == 3:
            x, y, n = args
            assert x.size == y.size == n <= grid[0] * block[0]
            y[...] = 2 * x + 1
class cuda:
    class Device:
        def synchronize(self):
            time.sleep(1000)
def arange(n):
    return np.arange(n)
"""
FUNCTIONS = ["a NumPy function on a held array", "a CuPy function on a held array", "a JAX function on a held array",
             "a PyTorch function on a held array"]
AFTER = ["a script", "an object that stays in its worker", "two workers on one device", "a worker killed in a kernel",
         "the device goes on"]


class WorkersTest(KitCase):
    def checks(self, found, said):
        checks = section(found, "workers")["checks"]
        self.assertEqual([check["name"] for check in checks], FUNCTIONS + AFTER, said)
        return {check["name"]: check for check in checks}

    def with_cupy(self, source=CUPY, code=0):
        """The checks of a run on a fake driver, with this CuPy."""
        _, _, environment = self.fake_gpu()
        packages = self.folder / "packages"
        packages.mkdir()
        (packages / "cupy.py").write_text(source, encoding="utf-8")
        found, said = self.kit("--only", "workers", env=environment | {"PYTHONPATH": str(packages)}, code=code)
        return self.checks(found, said), said

    def status(self, checks, names, wanted, said):
        for name in names:
            self.assertEqual(checks[name]["status"], wanted, f"{checks[name]}\n{said}")

    def test_on_the_cpu(self):
        found, said = self.kit("--device", "cpu", "--only", "workers")
        checks = self.checks(found, said)
        self.status(checks, [FUNCTIONS[0], *AFTER], "pass", said)
        self.assertIn("CuPy needs a GPU", checks[FUNCTIONS[1]]["reason"])
        for name in FUNCTIONS[2:]:  # where the library is
            if checks[name]["status"] != "pass":
                self.assertEqual(checks[name]["status"], "not run", said)
                self.assertIn("No module named", checks[name]["reason"])
        stays, met, killed, after = (checks[name]["facts"] for name in AFTER[1:])
        self.assertEqual(stays["type"], "numpy.ndarray")
        self.assertEqual(len(set(met["pids"])), 2)
        self.assertIn("SIGKILL", killed["said"])
        self.assertNotEqual(after["pid"], killed["pid"])

    def test_on_a_fake_driver(self):
        checks, said = self.with_cupy()
        self.status(checks, [*FUNCTIONS[:2], *AFTER], "pass", said)
        for name in AFTER[:4]:
            self.assertEqual(checks[name]["facts"]["library"], "cupy")
        for name in (FUNCTIONS[1], "two workers on one device"):
            self.assertEqual(checks[name]["facts"]["device"], "GPU-00000000-0000-0000-0000-000000000010")

    def test_a_wrong_result_fails_and_what_rests_on_it_is_not_run(self):
        checks, said = self.with_cupy(CUPY.replace("2 * x + 1", "2 * x"), code=1)
        self.assertEqual(checks[FUNCTIONS[1]]["reason"], f"{1 << 20} of {1 << 20} numbers are wrong", said)
        self.status(checks, FUNCTIONS[1:2], "fail", said)
        self.status(checks, AFTER[:1], "pass", said)
        self.status(checks, AFTER[1:], "not run", said)
        self.assertIn("no function of CuPy, PyTorch or JAX ran on the GPU", checks[AFTER[1]]["reason"])

    def test_a_kernel_that_ends_too_early_is_no_proof(self):
        checks, said = self.with_cupy(CUPY.replace("time.sleep(1000)", "return"), code=1)
        self.status(checks, ["a worker killed in a kernel"], "fail", said)
        self.status(checks, ["the device goes on"], "not run", said)

    def test_a_library_that_does_not_work_is_not_run_in_its_own_words(self):
        checks, said = self.with_cupy("raise ImportError('libcublas.so.13: cannot open shared object file')")
        self.status(checks, FUNCTIONS[1:2], "not run", said)
        self.assertIn("ImportError: libcublas.so.13: cannot open shared object file", checks[FUNCTIONS[1]]["reason"])

    def test_a_python_without_the_package_has_scripts_alone(self):
        options = {"device": "cpu", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 60}
        kit = Kit(options, {}, self.folder / "results")
        kit.environment.pop("PYTHONPATH", None)
        kit.place.python_packages = lambda: []
        workers.workers(kit)
        self.assertEqual({name for name, status in kit.recorded.items() if status == "pass"}, {"a script"}, kit.recorded)
        lines = [json.loads(line)["check"] for line in (self.folder / "results").read_text(encoding="utf-8").splitlines()]
        self.assertIn("No module named 'hotplate'", lines[0]["reason"])
        self.assertIn(sys.executable, lines[0]["reason"])


class ExpressionsTest(KitCase):
    def test_on_the_cpu(self):
        found, said = self.kit("--device", "cpu", "--only", "expressions")
        checks = section(found, "expressions")["checks"]
        self.assertEqual([check["name"] for check in checks], expressions.expressions_checks(None), said)
        for check in checks:
            self.assertEqual(check["status"], "pass", f"{check}\n{said}")
            self.assertEqual(check["facts"]["device"], "cpu0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
