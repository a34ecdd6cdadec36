#!/usr/bin/env python3
"""The GPU kit's parts that only a GPU, its tools or its libraries bring into play, each by itself."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from kit import correctness, device_memory, idle, place, speed  # noqa: E402
from kit.place import Place  # noqa: E402
from kit.results import Failed, NotRun  # noqa: E402
from kit.section import Kit  # noqa: E402
from kit_test import bench_rows  # noqa: E402


class PartsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hotplate-kit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kit(self, facts=None, **options):
        """One on a GPU that knows these facts."""
        options = {"device": "cuda", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 30} | options
        return Kit(options, facts or {}, self.folder / "results")

    def checks(self):
        """What has been recorded."""
        lines = (json.loads(line) for line in (self.folder / "results").read_text(encoding="utf-8").splitlines())
        return [line["check"] for line in lines if "check" in line]

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
            rows, facts = bench_rows("cuda"), {}

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

    def test_what_takes_long_comes_last_and_is_run_once(self):
        """An SVD of cuSOLVER's takes seconds: after a few of them the rows with goals had no time left."""
        asked = []

        class Bench:
            rows, facts = bench_rows("cuda"), {}

            def ask(self, line):
                asked.append(line)
                name, count = line.split()[1], int(line.split()[2])
                seconds = 2 if name.startswith("svd") else 0.7 if name == "vector_add_f64_1e8" else 1e-3
                # The library that the first product opens is no time of the product's.
                whole = [seconds + (1 if name == "matmul_f32_1000" and count == 1 else 0)] * count
                times = {"kernel_ns": [seconds * 1e9] * count, "whole_ns": [1e9 * one for one in whole]}
                times |= {"host_to_device_ns": [0] * count, "device_to_host_ns": [0] * count}
                return times | {"flop": 1, "bytes": 1e9, "input_bytes": 1, "output_bytes": 1}

            def close(self):
                pass

        with mock.patch.object(speed, "bench", lambda _: Bench()):
            speed.kernels(self.kit(quick=False))
        rows = [line.split()[1] for line in asked]
        names = list(dict.fromkeys(rows))
        self.assertEqual(set(names), {row["name"] for row in Bench.rows})
        # In a kernel, its rows that memory binds; of kernels, those that have such rows; libraries' own in the end.
        self.assertLess(names.index("vector_add_f64_1e8"), names.index("vector_add_f32_4"))
        for by_memory in ("vector_add_f64_1e8", "trig_identity_f32_1e8", "norm_2_f64_3e7"):
            for other in ("transfer_probe_all_4096", "sort_f32_3e7", "matmul_f32_1000"):
                self.assertLess(names.index(by_memory), names.index(other))
        self.assertLess(names.index("transfer_probe_all_4096"), names.index("matmul_f32_1000"))
        slow = [name for name in names if name.startswith("svd")]
        self.assertEqual(names[-len(slow):], slow)
        counts = {name: [int(line.split()[2]) for line in asked if line.split()[1] == name] for name in names}
        self.assertEqual((counts["svd_f64_4096"], counts["vector_add_f64_1e8"]), ([1], [1, 3]))
        self.assertEqual((counts["selu_f32_3e7"], counts["matmul_f32_1000"]), ([1, 25], [1, 25]))
        remarks = {one["facts"]["row"]: one["facts"].get("remark") for one in self.checks() if "row" in one["facts"]}
        self.assertIn("one run", remarks["svd_f64_4096"])
        self.assertEqual([name for name in names if remarks[name]], slow)

    def test_no_daemon_is_asked_for_the_device_while_bench_kernels_has_it(self):
        """In compute mode EXCLUSIVE_PROCESS it would not find it."""
        at_once, order = [], []

        class Bench:
            rows, facts = bench_rows("cuda"), {"copy_threads": 1}
            opened = 0

            def __init__(self):
                Bench.opened += 1

            def ask(self, line):
                order.append(line.split()[0])
                if line.startswith("lanes"):
                    return {"one_lane_ns": 2, "together_ns": 1}
                return {f"{part}_ns": [1] for part in ("whole", "kernel", "host_to_device", "device_to_host")}

            def close(self):
                Bench.opened -= 1

        class OneDaemon:
            def __init__(self, *_):
                at_once.append(Bench.opened)
                order.append("daemon")

            __enter__ = lambda self: self
            __exit__ = lambda *_: None
            hotplate = lambda *_: ""
            answer = lambda *_: {"receipt": {}}

        kit = self.kit()
        with mock.patch.multiple(speed, bench=lambda _: Bench(), Daemon=OneDaemon, idle=OneDaemon,
                                 process_times=lambda *_: ([1], [1])):
            speed.around(kit)
        self.assertEqual((at_once, Bench.opened), ([0, 0], 0))
        self.assertIn("inputs", order)
        self.assertEqual(set(kit.recorded) & set(speed.around_checks(kit)), set(speed.around_checks(kit)))
        self.assertEqual(kit.recorded["end to end"], "pass")

    def test_what_was_built_for_another_driver_is_not_run_and_not_a_failure(self):
        """The plug-in of an older CUDA may work where these programs, which only the newest builds, do not."""
        kit = self.kit()
        for said, status in (("counting: CUDA driver version is insufficient for CUDA runtime version", "not run"),
                             ("launch: no kernel image is available for execution on the device", "not run"),
                             ("memory: out of memory", "fail")):
            program = self.folder / "bare"
            program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n", encoding="utf-8")
            program.chmod(0o755)
            kit.place.program = lambda _: [str(program)]
            speed.ceilings(kit)
            with kit.check("held"):
                device_memory.hold(kit, 1)
            self.assertEqual(kit.recorded, dict.fromkeys(("copy bandwidth", "matrix rate", "held"), status), said)
        working = self.folder / "working"
        working.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        working.chmod(0o755)
        program.write_text("#!/bin/sh\necho 'launch: no kernel image is available' >&2\nexit 1\n", encoding="utf-8")
        kit.place.program = lambda name: [str(working if name == "bench_kernels" else program)]
        with self.assertRaisesRegex(NotRun, "bench_bare_cuda is not built for this driver"):
            speed.process_times(kit, b"", ("bench_bare_cuda", "context"))
        # Ours has a plug-in for each, and no such excuse.
        kit.place.program = lambda name: [str(program if name == "bench_kernels" else working)]
        with self.assertRaisesRegex(Failed, "no kernel image"):
            speed.process_times(kit, b"", ("bench_bare_cuda", "context"))
        for said in ("libx.so is not used: the driver supports CUDA 12.4, and this plug-in needs 13.0 or later",
                     "compute capability 7.0 has no code in this plug-in (it has 75 80 90)"):
            self.assertIn("the faulting one is not built for", place.built_for_others("the faulting one", said))
        self.assertEqual(place.built_for_others("the faulting one", "its compute mode is PROHIBITED"), "")

    def test_the_device_is_known_before_what_may_be_slow_is_asked(self):
        """All other sections hang on it: with no time left for nvidia-smi and the kernels, they are still made."""
        asked, kit = [], self.kit()
        kit.place.plugins = lambda: []
        first, second = ([f"A GPU, {uuid}, 580.1, 1 MiB, 0, {mode}, 1 W, 1 MHz" for uuid, mode in gpus]
                         for gpus in ((("GPU-1", "Default"), ("GPU-2", "Exclusive_Process")), (("GPU-3", "Default"),)))

        class OneDaemon:
            def __init__(self, *_):
                asked.append("daemon")

            __enter__ = lambda self: self
            __exit__ = lambda *_: asked.append("end")
            devices = lambda _: [{"id": "gpu1", "uuid": "GPU-2"}]

            def answer(self, verb, *_):
                asked.append(verb)
                return {"versions": {"driver": "580", "cuda": "13.0"}}

        def command(_, words, **__):
            asked.append("nvidia-smi")
            return 0, "\n".join(listed) if len(words) > 1 else "CUDA Version: 13.1", ""

        for listed, mode in ((first, "Exclusive_Process"), (second, "Default")):
            del asked[:]
            with mock.patch.object(correctness, "Daemon", OneDaemon), mock.patch.object(Kit, "command", command), \
                    mock.patch.object(correctness.shutil, "which", lambda _: "nvidia-smi"):
                correctness.environment(kit)
            self.assertEqual(asked[:4], ["daemon", "status", "nvidia-smi", "nvidia-smi"])
            self.assertEqual((set(asked[4:-1]), asked[-1]), ({"describe"}, "end"))
            self.assertEqual(kit.facts["nvidia_smi"]["compute_mode"], mode)  # of our device, not of the first one
            self.assertEqual(bool(kit.one_at_a_time()), mode == "Exclusive_Process")
        lines = [json.loads(line) for line in (self.folder / "results").read_text(encoding="utf-8").splitlines()]
        known = next(i for i, line in enumerate(lines) if "device" in line.get("facts", {}))
        self.assertLess(known, next(i for i, line in enumerate(lines) if "nvidia_smi" in line.get("facts", {})))

    def test_the_clock_of_the_multiprocessors_is_told_with_a_row(self):
        fakes = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]).parent / "tests/unit/cuda/fakes"
        told = self.folder / "nvml.txt"
        told.write_text("device GPU-1 00000000:10:00.0\nsm_clock 1980 1200 1410\ndevice GPU-2 00000000:20:00.0\n",
                        encoding="utf-8")
        for uuid, clock in (("GPU-1", {"sm_clock_mhz": [1200, 1980]}), ("GPU-2", {}), ("GPU-3", {}), ("", {})):
            named = {"HOTPLATE_NVML_LIBRARY": str(fakes / "nvml.so"), "HOTPLATE_FAKE_NVML": str(told)}
            with mock.patch.dict(os.environ, named):
                gpu = speed.Gpu(uuid)
            for _ in range(3):
                gpu.look()
            self.assertEqual((gpu.seen(), gpu.seen()), (clock, {}), uuid)

    def test_two_processes_have_an_exclusive_device_with_mps(self):
        for device, mode, alone in (("cuda", "EXCLUSIVE_PROCESS", True), ("cuda", "MIG", False), ("cuda", "", False),
                                    ("cuda", "EXCLUSIVE_PROCESS, MPS", False), ("cpu", "EXCLUSIVE_PROCESS", False)):
            why = self.kit({"device": {"mode": mode}}, device=device).one_at_a_time()
            self.assertEqual("EXCLUSIVE_PROCESS" in why, alone, mode)

    def test_idle_time_is_what_is_not_the_devices(self):
        def job(begin, end, **parts):
            return {"startTime": begin, "endTime": end, "receipt": parts}
        jobs = [job(5.000001, 5.000021, hostToDeviceNs=2000, kernelNs=9000, deviceToHostNs=3000),
                job(5.0000215, 5.000041, kernelNs=12000), job(5.000041, 5.000061001, kernelNs=12000)]
        self.assertEqual(idle.idle_ns(jobs), (60001 - 38000) / 3)

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
            launchers = (HERE.parents[1] / "kernels/catalogue/cuda_table.cpp").read_text(encoding="utf-8")
            of_launchers = {f"lib{name[1:2].lower()}{name[2:]}" for name in re.findall(r"&(kCu\w+)", launchers)}
            self.assertEqual(named, sorted(of_launchers | {"libnvrtc"}))  # which compiles expressions

    def sanitized(self, only):
        """(the kit, the (tool, filters) that its section has run), with a tool that says nothing."""
        kit, asked = self.kit({"unavailable": {"fft": "its library is missing"}}, seconds=100, only=only), []
        kit.cases = lambda kernel, most, largest: ["one"]
        with mock.patch.object(correctness, "find_sanitizer", lambda: "compute-sanitizer"), \
                mock.patch.object(correctness, "callers_of_libraries", lambda _: {"fft", "matmul", "svd"}), \
                mock.patch.object(correctness, "one_tool", lambda _kit, _program, tool, filters, end, _:
                                  asked.append((tool, filters, end - time.monotonic()))):
            correctness.sanitizer(kit)
        return kit, [one[:2] for one in asked] if only else asked

    def test_a_run_of_everything_has_memcheck_of_our_own_kernels_alone(self):
        """Six tools in 32 s, and most did not end."""
        kit, asked = self.sanitized(only=[])
        self.assertEqual([tool for tool, _, _ in asked], ["memcheck"])
        self.assertGreater(asked[0][2], 90)  # the section's whole time
        self.assertFalse({"*/matmul_cuda_one", "*/svd_cuda_one"} & set(asked[0][1]))
        first, *others = correctness.sanitizer_checks(kit)
        self.assertEqual(kit.recorded, {first: "pass"} | {name: "not run" for name in others})

    def test_the_sanitizer_has_our_own_kernels_before_those_of_libraries(self):
        """A tool that does not come to an end in a library has looked at all of ours by then."""
        kit, asked = self.sanitized(only=["sanitizer"])
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
        launchers = (HERE.parents[1] / "kernels/catalogue/cuda_table.cpp").read_text(encoding="utf-8")
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
