#!/usr/bin/python3
"""What Slurm does by control groups, with each version of the kernel's that this machine has: a job has its own devices alone,
nothing that it started outlives it, and the daemon takes the memory and the processors that its group has for all that there is."""

import contextlib
import os
import signal

import control_groups
import harness
from harness import INVALID, wait_until

MIB = 1 << 20
# Out of the session, with nothing of the job's open, and deaf to all that can be refused.
STRAY = "(trap '' HUP INT TERM; exec setsid sleep 3600 </dev/null >/dev/null 2>&1) &"


class Groups:
    @classmethod
    def setUpClass(cls):
        kind = {1: control_groups.Version1, 2: control_groups.Version2}[cls.OPTIONS["version"]]
        if reason := kind("none").why_not():
            raise harness.unittest.SkipTest(reason)
        super().setUpClass()

    def tearDown(self):
        self.lab.end_jobs()

    def test_a_job_has_its_own_device_files_alone(self):
        look = "".join(f"cat {path}; " for path in self.lab.devices("gpu1"))
        jobs = [self.sbatch("-w", "gpu1", "--gres=gpu:1", "-o", f"{name}.out", "--wrap", f"echo gpu $SLURM_JOB_GPUS; {look} sleep 600")
                for name in ("first", "second")]
        for job, name in zip(jobs, ("first", "second")):
            self.wait_for_job(job, "RUNNING")
            wait_until(lambda name=name: self.read(f"{name}.out").count("nvidia") == 2, "the job has tried both devices")
        for number, name in enumerate(("first", "second")):
            said = self.read(f"{name}.out").splitlines()
            self.assertEqual(said[0], f"gpu {number}")
            self.assertIn("No such device or address", said[1 + number])
            self.assertIn("Operation not permitted", said[2 - number])

    def test_what_it_left_running_dies_with_it(self):
        def down(record, _):
            self.hotplate("down", "--server", record["name"])

        def killed(*_):
            for pid, words in self.strays("gpu1").items():
                if words.startswith("hotplated "):
                    with contextlib.suppress(ProcessLookupError):  # a child of one that was killed before it
                        os.kill(pid, signal.SIGKILL)

        def cancelled(_, job):
            self.lab.lines("scancel", str(job))

        for end, state in ((down, "COMPLETED"), (killed, "FAILED"), (cancelled, "CANCELLED")):
            with self.subTest(end=end.__name__):
                job = self.submit(sbatch=["-w", "gpu1", "--gres=gpu:1"], script=STRAY)
                [record] = self.wait_for_records(job)
                wait_until(lambda: "sleep 3600" in self.strays("gpu1").values(), "what it leaves running ran")
                end(record, job)
                self.wait_for_job(job, state)
                self.no_process_left("gpu1")

    def test_what_an_attached_daemon_left_running_dies_with_the_job(self):
        job = self.sbatch("-w", "gpu1", "-o", "/dev/null", input=f"#!/bin/bash\n{STRAY}\nsleep 1000\n")
        self.wait_for_job(job, "RUNNING")
        self.hotplate("up", "--attach", job, "--", "--device", "cpu")
        self.lab.lines("scancel", str(job))
        self.wait_for_job(job, "CANCELLED")
        self.no_process_left("gpu1")


class Version1(Groups, harness.SlurmCase):
    OPTIONS = {"version": 1, "limits": True}

    def status_without(self, *variables):
        """Of a daemon with a processor and 300 MiB, from which Slurm's variables that say so are kept: its name, and its status."""
        job = self.submit("--lanes", "1", sbatch=["-w", "gpu1", "-c1", "--mem=300"], script=f"unset {' '.join(variables)}")
        [record] = self.wait_for_records(job)
        status = self.answer("status", "--server", record["name"])
        self.assertFalse([note for note in status.get("deviceNotes", []) if any(name in note for name in variables)])
        return record["name"], status

    def test_the_memory_is_the_groups(self):
        name, status = self.status_without("SLURM_MEM_PER_NODE")
        self.assertEqual(int(status["devices"][0]["memoryBytes"]), 300 * MIB)
        # 400 MB: refused, and not tried until the kernel ends the daemon.
        self.hotplate("run", "arange", "--stop", "50000000", "-o", "array:big", "--server", name, code=INVALID, says="limit")
        self.hotplate("run", "integrate2d", "--n", "1000", "--server", name)

    def test_the_processors_are_the_groups(self):
        if not self.lab.cores:
            self.skipTest("all jobs have the one processor that this machine has, or that is ours of it")
        _, status = self.status_without("SLURM_CPUS_ON_NODE")
        self.assertEqual(status["devices"][0]["threadsPerLane"], 1)


class Version2(Groups, harness.SlurmCase):
    OPTIONS = {"version": 2}


if __name__ == "__main__":
    harness.main()
