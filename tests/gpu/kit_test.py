#!/usr/bin/env python3
"""The GPU kit where there is no GPU: what it says then, and that nothing gets lost when a section goes wrong."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from kit import correctness, idle, place, speed  # noqa: E402
from kit.place import Place  # noqa: E402
from kit.results import Failed, NotRun  # noqa: E402
from kit.section import Kit  # noqa: E402

# Tests must not depend on whether this machine has a GPU: the driver that they look for is not there.
NO_DRIVER = {"HOTPLATE_CUDA_DRIVER_LIBRARY": "/nonexistent/libcuda.so.1"}

# What tests/fakes/cuda/host_kernels.cpp has.
FAKE_KERNELS = ("integrate2d", "mandelbrot", "matmul", "selu", "trig_identity", "vector_add")


def section(found, name):
    return next(one for one in found["sections"] if one["name"] == name)


def bench_rows(device):
    """The rows of the bench that a device of this kind would have."""
    program = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]) / "bench_kernels"
    return json.loads(subprocess.run([str(program), "--device", device, "--list"], capture_output=True, check=True).stdout)


class KitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hotplate-kit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kit(self, *words, env=None, code=0):
        """(what the JSON says, standard output) of a run."""
        environment = {key: value for key, value in os.environ.items() if key != "HOTPLATE_REQUIRE_CUDA"}
        out = self.folder / "out"
        done = subprocess.run([sys.executable, str(HERE / "run"), "--out", str(out), "--quick", "--keep-logs", *words], text=True,
                              env=environment | NO_DRIVER | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)
        logs = "".join(f"\n== {log.name}\n{log.read_text(errors='replace')[-4000:]}" for log in out.glob("logs/*.log"))
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

    def fake_gpu(self, plugin="host_kernels"):
        """A tree of programs whose CUDA is the unit tests' fakes: (its bin folder, the fakes', the environment)."""
        real, tree = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]), self.folder / "tree"
        fakes = real.parent / "tests/unit/cuda/fakes"
        (tree / "bin/faulting").mkdir(parents=True)
        for name in ("hotplate", "hotplated", "hotplate_case_files", "conformance_test"):
            shutil.copy(real / name, tree / "bin")  # the daemon looks for plug-ins beside itself
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

    def all_pass(self, found, said, *names):
        for name in names:
            for check in section(found, name)["checks"]:
                self.assertEqual(check["status"], "pass", f"{check}\n{said}")

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
        self.assertLess(sum(limits), 480)

    def test_wrong_words(self):
        done = subprocess.run([sys.executable, str(HERE / "run"), "--only", "nonsense"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no section 'nonsense'", done.stderr)


class PartsTest(unittest.TestCase):
    """The kit's parts that only a GPU, its tools or its libraries bring into play."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hotplate-kit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_conformance_has_the_bad_data_too(self):
        """The filter by which a kernel's tests are chosen finds those of its bad data: no other has them on a GPU."""
        listed = subprocess.run([str(pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]) / "conformance_test"), "--gtest_list_tests",
                                 "--gtest_filter=" + ":".join(f"*/{name}_cuda" for name in ("cholesky", "spmv", "histogram"))],
                                capture_output=True, text=True, check=True).stdout
        self.assertRegex(listed, r"(?s)All/BadDataTest\..*EndsInTheSameWords/cholesky_cuda.*EndsInTheSameWords/histogram_cuda")

    def test_a_precision_that_the_device_has_is_not_to_be_skipped(self):
        """A device that refuses what its compute capability has is a failure, not a silence."""
        def checked(capability, skipped):
            options = {"device": "cuda", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 9}
            kit = Kit(options, {"device": {"computeCapability": capability}}, self.folder / "results")
            lines = [f"[{'  SKIPPED' if name in skipped else '       OK'} ] All/Conformance.Within/matmul_cuda_{name} (3 ms)\n"
                     for name in ("float32_1_nn", "tf32_float32_33_nn", "bf16_float32_33_nt", "f16_float32_33_tt")]
            lines.append("[  SKIPPED ] All/SameBitsOnRequest.EachTime/matmul_cuda (3 ms)\n")
            with mock.patch.object(Kit, "follow", lambda *_, **__: (0, "".join(lines), "")):
                correctness.conformance(kit)
            return kit.recorded["conformance of matmul"]
        self.assertEqual(checked("9.0", ()), "pass")
        self.assertEqual(checked("7.5", ("tf32_float32_33_nn", "bf16_float32_33_nt")), "pass")
        self.assertEqual(checked("6.1", ("tf32_float32_33_nn", "bf16_float32_33_nt", "f16_float32_33_tt")), "pass")
        self.assertEqual(checked("7.5", ("f16_float32_33_tt",)), "fail")
        self.assertEqual(checked("8.0", ("tf32_float32_33_nn",)), "fail")
        self.assertEqual(checked("12.0", ("bf16_float32_33_nt",)), "fail")

    def test_only_what_memory_alone_binds_is_held_to_the_copy_bandwidth(self):
        """Made-up ceilings and times, by which every row is bound by memory and reaches a tenth of its rate."""
        class Bench:
            rows = bench_rows("cuda")

            def ask(self, line):
                times = {f"{part}_ns": [1e7] * int(line.split()[-1]) for part in ("kernel", "whole", "host_to_device", "device_to_host")}
                return times | {"flop": 1, "bytes": 1e9, "input_bytes": 1, "output_bytes": 1}

            def close(self):
                pass

        ceilings = {"device_copy_gb_per_s": 1000, "f32_tflop_per_s": 10, "f64_tflop_per_s": 10, "l2_bytes": 50e6}
        kit = Kit({"device": "cuda", "quick": False, "python": sys.executable, "work": str(self.folder), "seconds": 9},
                  {"ceilings": ceilings}, self.folder / "results")
        with mock.patch.object(speed, "bench", lambda _: Bench()):
            speed.kernels(kit)
        found = [json.loads(line).get("check") for line in (self.folder / "results").read_text(encoding="utf-8").splitlines()]
        found = {one["facts"]["row"]: one for one in found if one and "row" in one["facts"]}
        self.assertEqual(set(found), {row["name"] for row in Bench.rows})
        held = {row["kernel"] for row in Bench.rows if found[row["name"]]["facts"]["goal"] is not None}
        self.assertEqual(held, {"vector_add", "trig_identity", "selu", "power_sum", "norm", "reduce", "arange", "linspace", "full"})
        self.assertEqual((found["vector_add_f64_1e8"]["facts"]["goal"], found["vector_add_f64_1e8"]["status"]), (0.92, "fail"))
        for name in ("sort_i64_3e7", "norm_p_f64_3e7", "vector_add_i32_4096"):
            self.assertEqual((found[name]["facts"]["goal"], found[name]["status"]), (None, "pass"), name)
        # What the caches hold, and what its arithmetic binds after all.
        row = next(row for row in Bench.rows if row["name"] == "vector_add_f64_1e8")
        self.assertIsNone(speed.goal_for(row, "memory", 100e6, ceilings))
        self.assertIsNone(speed.goal_for(row, "arithmetic", 1e9, ceilings))

    def test_idle_time_is_what_is_not_the_devices(self):
        def job(begin, end, **parts):
            return {"startTime": f"2026-01-02T03:04:{begin}Z", "endTime": f"2026-01-02T03:04:{end}Z",
                    "receipt": {name: str(ns) for name, ns in parts.items()}}
        jobs = [job("05.000001", "05.000021", hostToDeviceNs=2000, kernelNs=9000, deviceToHostNs=3000),
                job("05.0000215", "05.000041", kernelNs=12000), job("05.000041", "05.000061001", kernelNs=12000)]
        self.assertEqual(idle.idle_ns(jobs), (60001 - 38000) / 3)
        self.assertEqual(idle.nanoseconds("1970-01-01T00:00:02Z"), 2 * 10**9)

    def test_jobs_behind_a_long_one_on_the_cpu(self):
        options = {"device": "cpu", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 300}
        kit, facts = Kit(options, {}, self.folder / "results.jsonl"), {}
        idle.idle(kit, facts)
        found = [json.loads(line)["check"] for line in (self.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([one["name"] for one in found],
                         ["idle between queued jobs, kernels short", "idle between queued jobs, kernels over 50 us"])
        for one in found:
            self.assertEqual(one["facts"]["jobs"], idle.JOBS)
            self.assertGreater(one["facts"]["measured"], 0)

    def test_libraries_in_folders_of_their_own_are_all_found(self):
        """As pip has CUDA 12: a folder a library, and what they are linked with in others."""
        plugin, folders = self.folder / "libhotplate_cuda12.so", {}
        plugin.write_bytes(b"\x7fELF\0libcublasLt.so.812\0libcufft.so.811\0libcusolver.so.811\0libcuda.so.1\0libm.so.6\0")
        for package, name, needed in (("nvjitlink", "libnvJitLink.so.812", None), ("cublas", "libcublasLt.so.812", None),
                                      ("cusparse", "libcusparse.so.812", "nvjitlink/lib/libnvJitLink.so.812"),
                                      ("cufft", "libcufft.so.811", None),
                                      ("cusolver", "libcusolver.so.811", "cusparse/lib/libcusparse.so.812")):
            folders[name] = self.folder / "nvidia" / package / "lib"
            folders[name].mkdir(parents=True)
            linked = [str(self.folder / "nvidia" / needed), "-Wl,--unresolved-symbols=ignore-all"] if needed else []
            subprocess.run(["cc", "-shared", "-o", str(folders[name] / name), f"-Wl,-soname,{name}", "-Wl,--no-as-needed", *linked,
                            "-lm"], check=True)
        python = self.folder / "python"
        python.write_text(f"#!/bin/sh\necho {self.folder}\n", encoding="utf-8")
        python.chmod(0o755)
        self.assertEqual(place.find_cuda_libraries(plugin, str(python)),
                         ({name: ("site-packages", str(folder)) for name, folder in folders.items()}, {}))
        # All of them are handed on, behind what the user has named.
        with mock.patch.dict(os.environ, HOTPLATE_CUDA_LIBRARY_PATH="/the/users"):
            kit = Kit({"device": "cuda", "quick": True, "python": str(python), "work": str(self.folder), "seconds": 9}, {},
                      self.folder / "results")
            kit.place.plugins = lambda: [plugin]
            correctness.cuda_libraries(kit, {})
            handed_on = kit.environment["HOTPLATE_CUDA_LIBRARY_PATH"].split(":")
            self.assertEqual((handed_on[0], set(handed_on[1:])), ("/the/users", {str(folder) for folder in folders.values()}))
            # One that only another needs is missed as well.
            (folders["libnvJitLink.so.812"] / "libnvJitLink.so.812").unlink()
            with self.assertRaisesRegex(NotRun, r"no libnvJitLink.so.812 \(for libcusparse.so.812\) in "):
                correctness.cuda_libraries(kit, {})

    def needed_by_elf(self, names=b"libnvJitLink.so.812\0", names_at=64, names_bytes=None, name_at=0, link=1, cut=None):
        """What is found of a library with one name in its dynamic section, in which anything may be wrong."""
        dynamic_at, sections_at = 64 + len(names), 64 + len(names) + 32
        header = struct.pack("<6s34xQ10xHH2x", b"\x7fELF\x02\x01", sections_at, 64, 2)
        dynamic = struct.pack("<qQqQ", 1, name_at, 0, 0)
        sections = struct.pack("<4xI16xQQI20x", 6, dynamic_at, 32, link)
        sections += struct.pack("<4xI16xQQI20x", 3, names_at, len(names) if names_bytes is None else names_bytes, 0)
        library = self.folder / "libcusparse.so.812"
        library.write_bytes((header + names + dynamic + sections)[:cut])
        return place.needed_by(library)

    def test_a_library_that_is_not_whole_or_cannot_be_read_needs_nothing(self):
        self.assertEqual(self.needed_by_elf(), ["libnvJitLink.so.812"])
        for cut in range((self.folder / "libcusparse.so.812").stat().st_size):
            self.assertEqual(self.needed_by_elf(cut=cut), [], cut)
        for wrong in ({"names_bytes": 5}, {"names": b"libnv\xff\0"}, {"name_at": 1000}, {"link": 7},
                      *({what: number} for what in ("names_at", "names_bytes", "name_at")
                        for number in (1 << 62, 1 << 63, (1 << 64) - 1))):
            with self.subTest(wrong):
                self.assertEqual(self.needed_by_elf(**wrong), [])
        self.assertEqual(place.needed_by(self.folder), [])
        self.assertEqual(place.needed_by(self.folder / "nothing"), [])

    def test_the_plug_in_names_the_libraries_of_its_launchers(self):
        for plugin in Place().plugins():
            named = [name.split(".so")[0] for name in place.libraries_named_in(plugin)]
            launchers = (HERE.parents[1] / "kernels/cuda/launchers.cpp").read_text(encoding="utf-8")
            self.assertEqual(named, sorted({f"lib{name[1:2].lower()}{name[2:]}" for name in re.findall(r"&(kCu\w+)", launchers)}))

    def test_the_sanitizer_has_our_own_kernels_before_those_of_libraries(self):
        """A tool that does not come to an end in a library has looked at all of ours by then."""
        options = {"device": "cuda", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 100}
        kit, asked = Kit(options, {"unavailable": {"fft": "its library is missing"}}, self.folder / "results"), []
        kit.cases = lambda kernel, most, largest: ["one"]
        with mock.patch.object(correctness, "find_sanitizer", lambda: "compute-sanitizer"), \
                mock.patch.object(correctness, "callers_of_libraries", lambda _: {"fft", "matmul", "svd"}), \
                mock.patch.object(correctness, "one_tool", lambda _kit, _program, tool, filters, *_: asked.append((tool, filters))):
            correctness.sanitizer(kit)
        self.assertEqual(list(kit.recorded), correctness.sanitizer_checks(kit))
        self.assertEqual([tool for tool, _ in asked], 2 * list(correctness.TOOLS))
        libraries = ["*/matmul_cuda_one", "*/svd_cuda_one"]
        for _, filters in asked[:3]:
            self.assertIn("*/mandelbrot_cuda_one", filters)
            self.assertFalse(set(libraries) & set(filters))
        for _, filters in asked[3:]:
            self.assertEqual(filters, libraries)

    def test_the_plug_in_says_which_kernels_call_libraries(self):
        kit = Kit({"device": "cuda", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 100}, {},
                  self.folder / "results")
        launchers = (HERE.parents[1] / "kernels/cuda/launchers.cpp").read_text(encoding="utf-8")
        if kit.place.plugins():
            self.assertEqual(correctness.callers_of_libraries(kit), set(re.findall(r'\{"(\w+)",[^}]*&kCu\w+', launchers)))
        fakes = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]).parent / "tests/unit/cuda/fakes"
        kit.place.plugins = lambda: [fakes / "host_kernels.so", fakes / "calls_absent.so"]
        self.assertEqual(correctness.callers_of_libraries(kit), {"matmul"})
        for wrong, words in (("no_symbol", "has no symbol"), ("wrong_table", "of another release"), ("nothing", "cannot open")):
            kit.place.plugins = lambda wrong=wrong: [fakes / f"{wrong}.so"]
            with self.assertRaisesRegex(Failed, words):
                correctness.callers_of_libraries(kit)

    def test_reports_of_the_sanitizer(self):
        lines = """
========= COMPUTE-SANITIZER
========= Host API memory access error at host access to 0x7f of size 768 bytes
=========     Uninitialized access at 0x7f on access by cuMemcpyDtoHAsync source
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: hotplate::Staging::FromDevice(...) in staging.cpp:140
=========
========= Uninitialized __global__ memory read of size 4 bytes
=========     at cutlass::Kernel<T>+0x160
=========     by thread (0,0,0) in block (0,0,0)
=========         Host Frame: hotplate::matmul(...)
========= Program hit CUDA_ERROR_OUT_OF_MEMORY (error 2) due to "out of memory" on CUDA API call to cuMemAllocFromPoolAsync.
=========         Host Frame: hotplate::DeviceExecutor
========= ERROR SUMMARY: 3 errors
"""
        found = [correctness.judged(*report) for report in correctness.reports_of(lines)]
        self.assertEqual([mine for mine, _ in found], [False] * 3, found)
        self.assertEqual(found[0][1], "copies of padding never written")
        ours = lines.replace("cutlass::Kernel<T>", "void hotplate::cuda::Add<float>(float*)")
        self.assertEqual([mine for mine, _ in map(lambda one: correctness.judged(*one), correctness.reports_of(ours))],
                         [False, True, False])
        freed = lines.replace("Uninitialized access", "Access to freed memory")
        self.assertTrue(correctness.judged(*correctness.reports_of(freed)[0])[0])
        race = "========= Race reported between Write access at hotplate::Sum()+0x10 in sum.cu:3\n=========     and Read access\n"
        self.assertEqual([mine for mine, _ in map(lambda one: correctness.judged(*one), correctness.reports_of(race))], [True])


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
                   "counts": {"pass": 7, "fail": 1, "not_run": 2}, "sections": [{"checks": [
                       {"name": f"conformance of {name}", "status": status, "facts": {}}
                       for name, status in (("selu", "pass"), ("matmul", "pass"), ("svd", "fail"), ("cancelling", "pass"))]}]}
            fake = run | {"date": "2027-01-01T00:00:00", "device": {"name": "NVIDIA Fake 90"}}
            others = {"fake.json": fake, "undriven.json": run | {"driver": None, "device": {"name": "Another"}},
                      "cpu.json": run | {"back_end": "cpu", "only": ["conformance"]}, "bench.json": {"rows": []}, "gpu.json": run,
                      "older_cpu.json": run | {"back_end": "cpu", "date": "2025-01-01T00:00:00", "sections": [
                          {"checks": [{"name": "conformance of sort", "status": "pass", "facts": {}}]}]},
                      "no_conformance.json": run | {"back_end": "cpu", "date": "2027-01-01T00:00:00", "sections": []},
                      "older.json": run | {"date": "2025-01-01T00:00:00", "git_revision": "older"}}
            for name, whole in others.items():
                (pathlib.Path(folder) / name).write_text(json.dumps(whole), encoding="utf-8")
            places = pathlib.Path(folder) / "verified_on.txt"
            places.write_text("# where\nCPU x86-64: by hand\nAn old GPU: selu\n", encoding="utf-8")
            words = ["--results", folder, "--readme", str(readme)]
            self.assertEqual(self.verified("--check", *words).returncode, 1)
            self.assertEqual(self.verified(*words).returncode, 0)
            text = readme.read_text(encoding="utf-8")
            self.assertIn("| A GPU | 1.2, 13.0 | [7, 1, 2](tests/bench/results/gpu.json) | not measured | abc, 2026-01-02 |", text)
            for absent in ("older", "Fake", "Another"):
                self.assertNotIn(absent, text)
            self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
            self.assertEqual(places.read_text(encoding="utf-8"), "# where\nCPU x86-64: matmul selu\nA GPU: matmul selu\n")
            self.assertEqual(self.verified("--check", *words).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
