#!/usr/bin/python3
"""The daemon with CUDA devices, as far as that goes without one: the plug-in's kernels run on the host, and libcuda and
libnvidia-ml are fakes that each daemon is told about by FAKE_CUDA. HOTPLATE_FAKES says where they are."""

import json
import os
import pathlib
import shutil
import subprocess

import harness
from harness import BIN, FAILED, INVALID, OK, PATIENCE, TRY_LATER

FAKES = pathlib.Path(os.environ["HOTPLATE_FAKES"])
PLUGIN = "libhotplate_cuda13.so"
UUID = "GPU-00000000-0000-0000-0000-0000000000"  # the fake driver's, but for the last two digits: 10, 11 ...
NPY_HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }"


class Cuda(harness.Case):
    """Each test has a daemon of its own, with plug-ins beside it as the test wants them."""

    def setUp(self):
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        shutil.copy2(BIN / "hotplated", self.bin)
        self.plug_in()
        header = NPY_HEADER.ljust(117) + b"\n"
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\x00\x00\x80\x3f" * 1000
        (self.folder / "ones.npy").write_bytes(data)

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=PATIENCE)
        shutil.rmtree(self.bin)
        for left in ("journal", "saved"):  # the next test's daemon has the same name
            shutil.rmtree(self.directory / left, ignore_errors=True)
        (self.folder / "cuda.log").unlink(missing_ok=True)

    def plug_in(self, fake="host_kernels", name=PLUGIN):
        shutil.copy2(FAKES / f"{fake}.so", self.bin / name)

    def daemon(self, *flags, fake="", env=None):
        """Starts the daemon; returns the process."""
        surroundings = self.environment | {"HOTPLATE_CUDA_DRIVER_LIBRARY": str(FAKES / "driver.so"),
                                           "HOTPLATE_NVML_LIBRARY": str(FAKES / "nvml.so"), "FAKE_CUDA": fake}
        surroundings.pop("CUDA_VISIBLE_DEVICES", None)
        process = subprocess.Popen(
            [str(self.bin / "hotplated"), "--name", "cuda", "--log-file", str(self.folder / "cuda.log"), *flags],
            cwd=self.folder, env=surroundings | (env or {}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        return process

    def serve(self, *flags, **options):
        """The same, and waits until it serves; returns the process."""
        process = self.daemon(*flags, **options)

        def published():
            self.assertIsNone(process.poll(), self.log("cuda"))
            return self.record_path("cuda").exists() and self.record("cuda")["pid"] == process.pid
        harness.wait_until(published, "hotplated published its record")
        return process

    def refuses(self, *flags, says, **options):
        """Starts a daemon that ends at once, and checks that it says each of `says`."""
        process = self.daemon(*flags, **options)
        out, _ = process.communicate(timeout=PATIENCE)
        told = out + self.log("cuda")
        self.assertNotEqual(process.returncode, 0, told)
        for text in says:
            self.assertIn(text, told)

    def add(self, *flags, code=OK, says=()):
        return self.hotplate("run", "vector_add", "ones.npy", "ones.npy", "-o", "sum.npy", *flags, code=code, says=says)

    def notes(self):
        return "\n".join(self.answer("devices").get("notes", []))

    def metric(self, name):
        found = [line for line in self.hotplate("metrics").splitlines()
                 if line.startswith(f"hotplate_device_{name}{{") and 'device="gpu0"' in line]
        return float(found[0].split()[-1]) if found else None

    def test_a_job_on_a_gpu(self):
        self.serve(fake="devices=2")
        self.add("--device", "gpu1")
        self.assertEqual((self.folder / "sum.npy").read_bytes()[128:], b"\x00\x00\x00\x40" * 1000)
        self.hotplate("devices", says=("gpu0", "gpu1", "NVIDIA Fake 90", "cpu0"))
        self.assertIn("driver for CUDA 13.0", self.log("cuda"))

    def test_the_history_tells_gpus_in_use_and_idle(self):
        process = self.serve()
        self.add("--device", "gpu0")
        self.add("--device", "cpu0")
        process.terminate()
        process.communicate(timeout=PATIENCE)
        on_cpu, on_gpu = self.answer("history")
        self.assertEqual((on_gpu["device"], on_gpu["gpuNs"]), ("gpu0", on_gpu["deviceNs"]))
        self.assertEqual((on_cpu["device"], on_cpu["gpuNs"]), ("cpu0", 0))
        total, = self.answer("history", "--by", "daemon")
        self.assertEqual(total["gpuNs"], on_gpu["gpuNs"])
        # Two GPUs, for longer than both jobs took.
        self.assertGreater(total["gpuIdleNs"] + total["gpuNs"], 2 * (on_cpu["endTime"] - on_gpu["startTime"]) * 1e9)

    def test_the_memory_that_jobs_had_is_told(self):
        self.serve(fake="devices=1")

        metric = self.metric
        harness.wait_until(lambda: metric("pool_peak_bytes") == 0, "a device at rest is told of")
        self.add("--device", "gpu0")
        harness.wait_until(lambda: metric("pool_peak_bytes") >= 12000, "the job's arrays are in the pool's peak")
        harness.wait_until(lambda: metric("pool_used_bytes") == 0, "the pool is empty after the job")
        self.assertGreaterEqual(metric("pool_reserved_bytes"), 0)
        self.assertGreater(metric("pinned_bytes"), 0)
        self.assertGreater(metric("pinned_peak_bytes"), 0)
        gpu = next(one for one in self.answer("devices")["sample"]["devices"] if one["device"] == "gpu0")
        self.assertGreaterEqual(int(gpu["poolPeakBytes"]), 12000)
        self.hotplate("devices", says=("jobs hold 0 B, peak ", "pinned "))
        self.hotplate("top", "--once", says=("jobs hold 0 B, peak ", "pinned "))

    def test_arrays_stay_on_the_device(self):
        self.serve(fake="devices=1")
        self.hotplate("put", "ones.npy", "--name", "A")
        harness.wait_until(lambda: self.metric("resident_bytes") == 4096, "the array is there before any job")
        self.hotplate("run", "vector_add", "array:A", "array:A", "-o", "array:B", "--device", "gpu0")
        harness.wait_until(lambda: self.metric("resident_bytes") == 2 * 4096, "so is what a job made of it")
        self.hotplate("run", "vector_add", "array:A", "array:B", "-o", "sum.npy", "--device", "gpu0")
        self.assertEqual((self.folder / "sum.npy").read_bytes()[128:], b"\x00\x00\x40\x40" * 1000)
        self.hotplate("free", "A", "B")
        harness.wait_until(lambda: self.metric("resident_bytes") == 0, "arrays that are freed leave the device")
        self.assertEqual(self.metric("pool_used_bytes"), 0)

    def test_a_kept_output_comes_to_the_host_when_it_is_wanted(self):
        process = self.serve(fake="devices=1")
        add = ("run", "vector_add", "ones.npy", "ones.npy", "--device", "gpu0", "--json")
        for name in ("read", "saved"):
            receipt = json.loads(self.hotplate(*add, "-o", f"array:{name}"))["receipt"]
            self.assertNotIn("deviceToHostNs", receipt)

        def place(name):
            return next(one["location"] for one in self.answer("arrays")["arrays"] if one["name"] == name)
        self.assertEqual([place("read"), place("saved")], ["gpu0", "gpu0"])
        twos = b"\x00\x00\x00\x40" * 1000
        self.hotplate("get", "read", "-o", "read.npy")
        self.assertEqual((self.folder / "read.npy").read_bytes()[128:], twos)
        self.assertEqual([place("read"), place("saved")], ["host", "gpu0"])
        process.terminate()
        process.communicate(timeout=PATIENCE)
        self.assertEqual((self.directory / "saved" / "cuda" / "saved.npy").read_bytes()[128:], twos)

    def test_an_array_that_is_lost_with_its_device_is_listed_as_lost(self):
        self.serve(fake="breaking_kernel=selu heals")
        for name in ("gone", "also", "read"):
            self.hotplate("run", "vector_add", "ones.npy", "ones.npy", "--device", "gpu0", "-o", f"array:{name}")
        self.hotplate("get", "read", "-o", "read.npy")
        self.hotplate("run", "selu", "ones.npy", "-o", "y.npy", "--device", "gpu0", code=FAILED, says="gpu0 is lost")
        why = "the only copy was on gpu0, which was lost: "

        def check():
            listed = {one["name"]: one for one in self.answer("arrays")["arrays"]}
            self.assertEqual({name: one.get("location", "") for name, one in listed.items()},
                             {"gone": "", "also": "", "read": "host"})
            for name in ("gone", "also"):
                self.assertTrue(listed[name]["lost"].startswith(why), listed[name])
            self.assertEqual(listed["read"].get("lost", ""), "")
            out = self.hotplate("arrays")
            for name in ("gone", "also"):
                self.assertRegex(out, rf"(?m)^a\d+ +{name} .* LOST +- ")
            self.assertRegex(out, r"(?m)^a\d+ +read .* READY +host, for gpu0 ")
            self.assertEqual(out.count(why), 1, out)
            self.hotplate("get", "gone", "-o", "gone.npy", code=INVALID, says=["array gone: it is lost", why])
        check()
        harness.wait_until(lambda: not self.lost(), "the device came back")
        check()

    def test_only_the_devices_that_are_named(self):
        self.serve("--device", "gpu1", fake="devices=2")
        out = self.hotplate("devices")
        self.assertIn("gpu1", out)
        self.assertNotIn("gpu0", out)
        self.assertNotIn("cpu0", out)

    def test_a_kernel_whose_library_is_missing_is_refused_and_the_others_run(self):
        self.plug_in("calls_absent")
        self.serve(fake="devices=2")
        self.add("--device", "gpu0")
        why = "CUDA's libcuabsent.so.13 is not found; load the site's CUDA module"
        self.assertIn(f"no CUDA device runs matmul: {why}", self.notes())
        self.assertEqual(self.log("cuda").count("no CUDA device runs matmul"), 1)
        ones = (self.folder / "ones.npy").read_bytes()
        (self.folder / "square.npy").write_bytes(ones.replace(b"(1000,), }  ", b"(10, 10), } ")[:128 + 400])
        words = ("run", "matmul", "square.npy", "square.npy", "-o", "product.npy")
        self.hotplate(*words, "--device", "gpu0", code=TRY_LATER,
                      says=("gpu0 cannot run matmul", why, "HOTPLATE_CUDA_LIBRARY_PATH"))
        self.hotplate("describe", "matmul", says=("gpu0 cannot run matmul", "libcuabsent.so.13"))
        self.assertNotIn("gpu0", self.hotplate("describe", "vector_add"))
        # The CPU could, and nobody asked for it.
        on_cpu = 'matmul can run on no GPU (to run it on the CPU, ask for device "cpu0", or "any"'
        for asked in (words, ("submit", "matmul", "square.npy", "square.npy")):
            self.hotplate(*asked, code=TRY_LATER, says=(on_cpu, f"gpu0, gpu1 cannot run matmul: {why}"))
        self.assertFalse((self.folder / "product.npy").exists())
        for device in ("cpu0", "any"):
            receipt = self.answer(*words, "--device", device)["receipt"]
            self.assertEqual(receipt["device"], "cpu0")
            self.assertEqual((self.folder / "product.npy").read_bytes()[128:], b"\x00\x00\x20\x41" * 100)
        # Both GPUs are free, so either may take it.
        self.assertIn(self.answer("run", "vector_add", "ones.npy", "ones.npy", "-o", "sum.npy", "--device", "any")
                      ["receipt"]["device"], ("gpu0", "gpu1"))

    def test_the_plug_in_whose_libraries_are_loaded_is_taken(self):
        self.plug_in("calls_absent")
        self.plug_in("host_kernels", "libhotplate_cuda12.so")
        self.serve(fake="devices=1")
        self.assertIn("libhotplate_cuda12.so with a driver for CUDA 13.0", self.log("cuda"))
        self.assertIn("libhotplate_cuda13.so is not used: CUDA's libraries", self.notes())
        self.assertNotIn("matmul", self.hotplate("status"))
        self.add("--device", "gpu0")

    def test_up_and_status_say_at_once_which_kernels_the_gpu_has_not(self):
        self.plug_in("calls_absent")
        self.serve(fake="devices=2")
        says = ("gpu0, gpu1 cannot run matmul: CUDA's libcuabsent.so.13 is not found", "HOTPLATE_CUDA_LIBRARY_PATH",
                "--device cpu0 or --device any")
        self.hotplate("up", "--local", "--name", "cuda", says=("already running", *says))
        self.hotplate("status", says=says)
        for words in (("up", "--local", "--name", "cuda"), ("status",)):
            told = {tuple(one["kernels"]): one for one in self.answer(*words)["unavailableKernels"]}
            self.assertEqual(told[("matmul",)]["devices"], ["gpu0", "gpu1"])
            self.assertIn("libcuabsent.so.13", told[("matmul",)]["reason"])
        self.assertIn("no CUDA device runs matmul", self.log("cuda"))

    def test_an_array_that_is_too_large_for_the_gpu_is_refused_before_it_is_sent(self):
        self.serve(fake=f"devices=1 memory_bytes={320 << 20}")
        count = 60_000_000
        header = NPY_HEADER.replace(b"1000", str(count).encode()).ljust(117) + b"\n"
        with open(self.folder / "large.npy", "wb") as large:  # zeros, of which the disk knows
            large.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
            large.truncate(128 + 4 * count)
        words = ("run", "selu", "large.npy", "-o", "y.npy")
        why = ("selu fits no GPU", "needed on gpu0", 'ask for device "cpu0", or "any"')
        for place in ("large.npy", "path:large.npy"):
            self.hotplate("run", "selu", place, "-o", "y.npy", code=INVALID, says=why)
        self.hotplate(*words, "--dry-run", code=INVALID, says=(*why, "gpu0", "never fits"))
        self.assertEqual(self.answer("arrays").get("arrays", []), [])
        self.hotplate(*words, "--dry-run", "--device", "any", says="cpu0")
        self.assertEqual(self.answer("run", "selu", "path:large.npy", "-o", "y.npy", "--device", "any")["receipt"]["device"],
                         "cpu0")
        (self.folder / "y.npy").unlink()
        (self.folder / "large.npy").unlink()

    def test_a_device_that_is_not_there(self):
        self.refuses("--device", "gpu7", fake="devices=2", says=["there is no gpu7: the driver gives gpu0 to gpu1"])
        self.refuses("--device", "cpu,gpu7", fake="devices=1",
                     says=["device gpu7 is asked for and cannot be used", "gpu0 alone"])

    def test_more_devices_than_a_daemon_serves(self):
        self.refuses(fake="devices=70", says=["71 devices are open (gpu0 to cpu0)", "a daemon serves at most 64", "--device gpu0"])
        self.refuses("--device", "cuda", fake="devices=65", says=["65 devices are open (gpu0 to gpu64)"])

    def test_a_lost_device_takes_no_more_jobs_and_says_why_and_since_when(self):
        self.serve(fake="breaking_kernel=selu")
        why, since = "gpu0 is lost: kernel selu failed", "(since 20"
        self.hotplate("run", "selu", "ones.npy", "-o", "y.npy", "--device", "gpu0", code=FAILED,
                      says=[why, "illegal memory access"])
        self.add("--device", "gpu0", code=TRY_LATER, says=[why, since])
        self.add(code=TRY_LATER, says=["vector_add can run on no GPU", "gpu0 is lost", why, '"any"'])
        self.hotplate("devices", says=[why, since])
        self.add("--device", "cpu0")
        self.add("--device", "any")
        # CUDA's context stays broken in this process, and the daemon says what to do.
        said = harness.wait_until(lambda: "cannot be reopened" in self.lost() and self.lost(), "the device was tried again")
        self.assertIn("restart hotplated", said)
        self.add("--device", "gpu0", code=TRY_LATER, says=[why, "restart hotplated"])
        self.assertIn("gpu0 stays away", self.log("cuda"))

    def lost(self):
        """Why gpu0 is lost; empty while it is not."""
        return next(one for one in self.answer("devices")["devices"] if one["id"] == "gpu0").get("lost", "")

    def test_a_lost_device_comes_back(self):
        self.serve(fake="breaking_kernel=selu heals")
        for _ in range(2):
            self.hotplate("run", "selu", "ones.npy", "-o", "y.npy", "--device", "gpu0", code=FAILED, says="gpu0 is lost")
            harness.wait_until(lambda: not self.lost(), "the device came back")
            self.add("--device", "gpu0")
            (self.folder / "sum.npy").unlink()
        self.assertNotIn("LOST", self.hotplate("status") + self.hotplate("devices"))
        for text in ("device gpu0 is lost", "device gpu0 is back and takes jobs again, on 2 of 2 lanes"):
            self.assertEqual(self.log("cuda").count(text), 2)

    def nvml(self, text):
        """The environment of a daemon whose NVML says this."""
        path = self.folder / "nvml.txt"
        path.write_text(text, encoding="utf-8")
        return {"HOTPLATE_FAKE_NVML": str(path)}

    def test_a_device_that_falls_off_says_so_and_since_when(self):
        self.serve(fake="devices=2", env=self.nvml(f"device {UUID}10 00000000:10:00.0\npower 1000\nlost_after 40\n"
                                                   f"device {UUID}11 00000000:11:00.0\npower 1000\n"))

        why = harness.wait_until(self.lost, "the driver said that the GPU is lost")
        self.assertRegex(why, r"GPU is lost.*\(since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\)")
        self.add("--device", "gpu0", code=TRY_LATER, says=["gpu0 is lost", "GPU is lost", "(since 20"])
        self.add("--device", "gpu1")

    def test_a_device_by_its_uuid(self):
        told = self.nvml("".join(f"device {UUID}{i} 00000000:{i}:00.0\npower 1000\n" for i in (10, 11, 12)))
        for value, ids in ((UUID + "11", [UUID + "11"]), (f"{UUID}12,{UUID}10", [UUID + "12", UUID + "10"])):
            process = self.serve("--require-cuda", fake="devices=3", env=told | {"CUDA_VISIBLE_DEVICES": value})
            gpus = [one for one in self.answer("devices")["devices"] if one["backend"] == "cuda"]
            self.assertEqual([one["uuid"] for one in gpus], ids)
            self.assertEqual([one["id"] for one in gpus], [f"gpu{i}" for i in range(len(ids))])
            self.assertNotIn("CUDA_VISIBLE_DEVICES", self.notes())
            self.add("--device", f"gpu{len(ids) - 1}")
            self.stop_daemon(process)

    def test_what_is_pinned_for_each_device_is_not_the_arrays(self):
        for lanes in (1, 3):
            most = {}
            for devices in (1, 2):
                process = self.serve("--lanes", str(lanes), fake=f"devices={devices}")
                status = self.answer("status")
                most[devices] = int(status.get("info", status)["limits"]["arrayBytes"])
                host = next(int(one["memoryBytes"]) for one in self.answer("devices")["devices"] if one["id"] == "cpu0")
                self.stop_daemon(process)
            buffer = 4 << 20  # four to a lane, two where the host is small, two for uploads, two for copies to the host
            large, small = ((each * lanes + 4) * buffer for each in (4, 2))
            pinned = large if large <= host / 16 else small
            self.assertEqual(most, {devices: (host - devices * pinned) // 4 * 3 for devices in (1, 2)})

    def test_what_mig_hides_is_noted(self):
        script = (f"device {UUID}10 00000000:10:00.0\nmig_mode 1\ninstance MIG-one\ninstance MIG-two\n"
                  f"device {UUID}11 00000000:11:00.0\nmig_mode 1\n")
        self.serve(fake="devices=1", env=self.nvml(script))
        self.assertIn("MIG-two is not used: CUDA shows a process one MIG instance at most", self.notes())
        self.assertNotIn("MIG-one is not used", self.notes())
        self.assertIn(f"{UUID}11 is in MIG mode and has no instances", self.notes())

    def test_require_cuda_names_a_reason_for_each_plug_in(self):
        self.plug_in(name="libhotplate_cuda14.so")
        self.plug_in("wrong_version")
        self.plug_in("no_symbol", "libhotplate_cuda12.so")
        self.refuses("--require-cuda", fake="version=13000",
                     says=["libhotplate_cuda14.so is not used: the driver supports CUDA 13.0, and this plug-in needs 14.0",
                           "libhotplate_cuda13.so is not used: it speaks version 99",
                           "libhotplate_cuda12.so is not used: it has no symbol hotplate_cuda_plugin"])
        for fake, reason in (("init_result=999", "starting the driver: unknown error"),
                             ("taken compute_mode=3", "EXCLUSIVE_PROCESS and another process has it"),
                             ("compute_mode=2", "PROHIBITED"), ("no_code compute_major=5", "compute capability 5.0")):
            self.plug_in()
            self.refuses("--require-cuda", fake=fake, says=[reason])

    def test_what_cannot_be_used_is_noted_and_the_cpu_serves(self):
        (self.bin / PLUGIN).write_text("no plug-in at all")
        self.serve()
        self.assertIn(f"{PLUGIN} is not used: ", self.notes())
        self.add()

    def test_hidden_devices_are_noted(self):
        for value, says in (("", "set and empty"), ("nonsense", "nonsense"), ("GPU-ffffffff", "GPU-ffffffff"),
                            ("MIG-00000000-1111-2222-3333-444444444444", "MIG-00000000-1111")):
            process = self.serve(env={"CUDA_VISIBLE_DEVICES": value})
            self.assertIn("CUDA_VISIBLE_DEVICES", self.notes())
            self.assertIn(says, self.notes())
            self.stop_daemon(process)

    # In an allocation.

    def allocated(self, **variables):
        return {"SLURM_JOB_ID": "17", "SLURM_CLUSTER_NAME": "fake", "SLURMD_NODENAME": "gpu1", "HOTPLATE_SQUEUE_INTERVAL": "0"} | variables

    def test_gpus_that_are_not_as_many_as_slurm_gave(self):
        for variables, says in (({"SLURM_GPUS_ON_NODE": "1", "SLURM_JOB_GPUS": "1"}, "Slurm gave 1 GPU of this node (its numbers: 1), and 2 are open"),
                                ({"SLURM_JOB_GPUS": "0-3"}, "Slurm gave 4 GPUs of this node (its numbers: 0-3), and 2 can be used"),
                                ({}, "Slurm names no GPU of this node for job 17, and 2 GPUs are open")):
            with self.subTest(variables=variables):
                daemon = self.serve("--device", "cuda", fake="devices=2", env=self.allocated(**variables))
                self.assertIn(says, " ".join(self.answer("status")["deviceNotes"]))
                self.stop_daemon(daemon)
        self.serve("--device", "cuda", fake="devices=2", env=self.allocated(SLURM_GPUS_ON_NODE="2"))
        self.assertNotIn("Slurm", " ".join(self.answer("status")["deviceNotes"]))

    def test_a_gpu_that_slurm_did_not_give_is_left_out_and_named_with_those_that_it_gave(self):
        told = self.nvml("".join(f"device {UUID}{i} 00000000:{i}:00.0\nminor {i - 10}\n" for i in (10, 11, 12)))
        for visible, given, says in (("2", "2", None), (UUID + "12", "2", None),
                                     ("1", "2", f"gpu0 is {UUID}11, and Slurm gave {UUID}12 (its numbers: 2)")):
            with self.subTest(visible=visible):
                env = self.allocated(SLURM_GPUS_ON_NODE="1", SLURM_JOB_GPUS=given, CUDA_VISIBLE_DEVICES=visible)
                if says:
                    self.refuses("--device", "cuda", fake="devices=3", env=told | env,
                                 says=[says, "It is left out"])
                    continue
                daemon = self.serve("--device", "cuda", fake="devices=3", env=told | env)
                self.assertNotIn("Slurm gave", self.notes())
                self.stop_daemon(daemon)

    def test_gpu_minutes(self):
        self.serve("--device", "cuda", fake="devices=2", env=self.allocated(SLURM_GPUS_ON_NODE="2"))
        self.add()
        allocation = self.answer("status")["allocation"]
        self.assertEqual(allocation["gpusOnNode"], 2)
        self.assertGreater(allocation["gpuMinutesIdle"], 0)
        self.assertLess(allocation["gpuMinutesIdle"], allocation["gpuMinutesUsed"])


if __name__ == "__main__":
    harness.main()
