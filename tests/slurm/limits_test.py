#!/usr/bin/python3
"""The time limit of an allocation, each at its very end. A limit is a minute or more, and Slurm looks at times twice a minute:
all of these daemons are started together, and each test waits for the end of its own."""

import harness
from harness import LONG_JOB, NO_DAEMON, NO_END_TIME, end_warning, npy, wait_until


class Limits(harness.SlurmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.put_file("a.npy", npy([1.5, 2.5, 3.5]))
        # Slurm's signals are all that these have, and nothing else is on their node.
        script = cls.lab.folder / "deploy" / "slurm" / "hotplated.sbatch"
        cls.warned = cls.sbatch("-w", "gpu1", "--time=2", "--signal=B:TERM@90", script, "--device", "cpu")
        cls.unwarned = cls.submit("--squeue-interval", "0", sbatch=["-w", "gpu1", "--gpus=1", "--time=1"], script=NO_END_TIME)
        # In a step: it is ended by Slurm alone, which tells srun as well.
        cls.step = cls.sbatch("-w", "gpu2", "--time=30", "-o", "%j.out", input="#!/bin/bash\n"
                              "srun env -u SLURM_JOB_END_TIME hotplated --device cpu --drain-timeout 1s --squeue-interval 0 "
                              "--log-file $PWD/step.log\n")
        # These look at the time by themselves.
        watchful = ("--squeue-interval", "1s")
        cls.idle = cls.submit(*watchful, "--drain-timeout", "5s", sbatch=["-w", "gpu2", "--time=30"])
        cls.draining = cls.submit(*watchful, sbatch=["-w", "gpu2", "--time=30"])
        cls.shortened = cls.submit(*watchful, "--drain-timeout", "1m", sbatch=["-w", "gpu2", "--time=30"])
        for job in (cls.warned, cls.unwarned, cls.step, cls.idle, cls.draining, cls.shortened):
            cls.wait_for_records(job)
        # What is typed is a test's method, and the work has to be there before the first test waits.
        cls()._type()

    def _type(self):
        cls = type(self)
        for job in (self.step, self.idle, self.draining):
            self.hotplate("put", "a.npy", "--name", "kept", "--lease", "1h", "--server", f"lab-{job}")
        work = {job: self.answer("submit", *LONG_JOB, "--server", f"lab-{job}")["jobId"]
                for job in (self.step, self.idle, self.draining, self.shortened)}
        cls.watches = {job: self.start("watch", work[job], "--server", f"lab-{job}") for job in (self.idle, self.draining)}
        # What its watcher is told has to come when there is one.
        for watch in cls.watches.values():
            self.assertTrue(watch.stdout.readline(), "its stream is open")
        wait_until(lambda: self.answer("show", work[self.idle], "--server", f"lab-{self.idle}")["state"] == "RUNNING", "the work ran")
        # All that is typed is done: now their ends may come.
        cls.idles_end = self.leave(self.idle, 2)
        self.leave(self.draining, 2)
        self.set_limit(self.step, 1)
        for job in (self.draining, self.shortened):
            self.wait_for_end(job, self.slurms_end(job))
            self.start("down", "--drain-timeout", "10m", "--server", f"lab-{job}")
        wait_until(lambda: "draining: asked for" in self.output(self.shortened), "the daemon drained")
        self.set_limit(self.shortened, 1)

    def completed(self, job):
        """Ended by itself, with no signal; what it said."""
        fields = self.wait_for_job(job, "COMPLETED", "TIMEOUT", "CANCELLED")
        said = self.output(job)
        self.assertEqual((fields["JobState"], fields["ExitCode"]), ("COMPLETED", "0:0"), said)
        self.assertNotIn("draining: SIGTERM", said)
        self.withdrawn(job)
        return said

    def withdrawn(self, job):
        wait_until(lambda: not self.records(job), "the daemon withdrew its record")

    def saved(self, job):
        return (self.directory / "saved" / f"lab-{job}" / "kept.npy").exists()

    def watched(self, job):
        """All that the one said who watched its work, which the next daemon has."""
        out, err = self.watches[job].communicate(timeout=harness.PATIENCE)
        self.assertEqual(self.watches[job].returncode, NO_DAEMON, out + err)
        self.assertIn("goes on with the next daemon of this name", out)
        return out + err

    def test_drains_in_time_without_a_signal(self):
        said = self.completed(self.idle)
        self.assertIn("draining: the allocation ends at", said)
        told = self.watched(self.idle)
        self.assertIn(end_warning(self.idles_end), told)
        self.assertIn("draining: the allocation ends at", told)
        self.assertTrue(self.saved(self.idle), said)

    def test_a_drain_is_not_longer_than_the_allocation(self):
        said = self.completed(self.draining)
        self.assertIn("draining: asked for", said)
        self.assertNotRegex(said.split("draining: ")[1], r"\b10 m\b")
        self.watched(self.draining)
        self.assertTrue(self.saved(self.draining), said)

    def test_an_end_that_comes_nearer_shortens_a_drain(self):
        self.assertIn("draining: the allocation ends at", self.completed(self.shortened))

    def test_slurms_two_signals_to_a_step_at_the_limit_are_one(self):
        self.wait_for_job(self.step, "TIMEOUT", "COMPLETED", "FAILED")
        # srun has its signal too, and leaves its output behind.
        self.withdrawn(self.step)
        wait_until(lambda: "stopped" in self.read("step.log"), "the daemon left in order")
        said = self.read("step.log")
        self.assertIn("draining: SIGTERM", said)
        self.assertNotIn("leaving at once", said)
        self.assertIn("drained: jobs were cancelled", said)
        self.assertTrue(self.saved(self.step), said)

    def test_slurms_signal_at_the_limit(self):
        self.wait_for_job(self.unwarned, "COMPLETED", "TIMEOUT")
        self.withdrawn(self.unwarned)
        self.hotplate("status", "--server", f"lab-{self.unwarned}", code=NO_DAEMON)
        said = self.output(self.unwarned)
        self.assertIn("draining: SIGTERM", said)
        self.assertIn("stopped", said)
        self.assertNotIn("leaving at once", said)

    def test_slurms_signal_before_the_limit(self):
        self.wait_for_job(self.warned, "COMPLETED")
        self.withdrawn(self.warned)
        self.hotplate("status", "--server", f"lab-{self.warned}", code=NO_DAEMON)
        self.assertIn("draining: SIGTERM", self.read(f"hotplated-{self.warned}.out"))

    def test_nothing_is_left_on_the_nodes(self):
        for job in (self.warned, self.unwarned, self.step, self.idle, self.draining, self.shortened):
            self.wait_for_job(job, *harness.OVER)
        self.no_process_left("gpu1", "gpu2")


if __name__ == "__main__":
    harness.main()
