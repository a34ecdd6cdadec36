#!/usr/bin/python3
"""What befalls a daemon in an allocation: Slurm ends it in different ways, the network goes, Slurm itself goes, it is killed.

After each test there is no process left on the node."""

import os
import signal

import harness
from harness import LONG_JOB, NO_DAEMON, wait_until

RUN = ("run", "integrate2d", "--n", "1000")


class Faults(harness.SlurmCase):
    def setUp(self):
        self.mine = []

    def tearDown(self):
        self.lab.mend("gpu1")
        for job in self.mine:
            self.lab.lines("scancel", job)
        for job in self.mine:
            self.wait_for_job(job, "CANCELLED", "COMPLETED", "FAILED", "NODE_FAIL")
        self.no_process_left("gpu1")

    def on_gpu1(self, *words, **options):
        """A daemon there; returns its job and its name, which each command is told."""
        job, [record] = self.serve("-w", "gpu1", *words, **options)
        self.mine.append(job)
        return job, record["name"]

    def ended(self, job, name, *states):
        self.wait_for_job(job, *states)
        wait_until(lambda: not self.records(job), "the daemon withdrew its record")
        self.hotplate("status", "--server", name, code=NO_DAEMON)

    def process(self):
        return next(pid for pid, words in self.strays("gpu1").items() if "bin/hotplated" in words)

    # Slurm ends it.

    def test_scancel(self):
        job, name = self.on_gpu1()
        self.lab.run("login", ["scancel", job], check=True)
        self.ended(job, name, "CANCELLED")
        self.assertIn("stopped", self.read(f"hotplated-{job}.out"))

    def test_scancel_of_all_that_a_user_has(self):
        job, name = self.on_gpu1()
        queued = self.sbatch("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
        bobs = self.lab.sbatch("-w", "gpu2", "-o", "/dev/null", "--wrap", "sleep 1000", user="bob")
        self.addCleanup(self.lab.lines, "scancel", bobs)
        self.wait_for_job(bobs, "RUNNING")
        self.lab.run("login", ["scancel", "-u", "alice"], check=True)
        self.ended(job, name, "CANCELLED")
        self.assertIn("stopped", self.read(f"hotplated-{job}.out"))
        self.assertEqual(self.lab.state(queued), "CANCELLED")
        self.assertEqual(self.lab.state(bobs), "RUNNING")

    def test_scancel_while_a_job_runs(self):
        job, name = self.on_gpu1(daemon=["--drain-timeout", "1s"])
        work = self.answer("submit", *LONG_JOB, "--server", name)["jobId"]
        watch = self.start("watch", work, "--server", name)
        self.assertTrue(watch.stdout.readline(), "its stream is open")
        wait_until(lambda: self.answer("show", work, "--server", name)["state"] == "RUNNING", "the job ran")
        self.lab.run("login", ["scancel", job], check=True)
        out, err = watch.communicate(timeout=harness.PATIENCE)
        self.assertEqual(watch.returncode, NO_DAEMON, out + err)
        self.assertIn(f"job {work} (integrate2d) goes on with the next daemon of this name", out)
        self.ended(job, name, "CANCELLED")

    def test_scancel_of_a_stopped_process(self):
        job, name = self.on_gpu1()
        os.kill(self.process(), signal.SIGSTOP)
        self.hotplate("status", "--server", name, code=NO_DAEMON, says=["does not answer", name])
        self.lab.run("login", ["scancel", job], check=True)  # wakes it
        self.ended(job, name, "CANCELLED")

    def test_requeue(self):
        job, name = self.on_gpu1("--requeue")
        [first] = self.records(job)
        top = self.start("top", "--json", "--interval", "500ms", "--server", name)
        self.assertIn(first["generation"], top.stdout.readline())
        self.lab.requeue(job)
        [second] = wait_until(lambda: [record for record in self.records(job) if record["generation"] != first["generation"]],
                              "the daemon published itself again")
        self.assertEqual(second["name"], name)
        self.assertNotEqual(second["token"], first["token"])
        self.assertTrue(any(second["generation"] in line for line in top.stdout), "top ended over the requeue")
        top.terminate()
        self.assertIn("! connected again", top.communicate(timeout=harness.PATIENCE)[1])
        self.hotplate(*RUN, "--server", name)
        self.hotplate("down", "--server", name)
        self.ended(job, name, "COMPLETED")

    def test_node_down(self):
        job, name = self.on_gpu1("--no-requeue")
        self.lab.set_down("gpu1")
        try:
            self.ended(job, name, "NODE_FAIL")
        finally:
            self.no_process_left("gpu1")
            self.lab.resume("gpu1")

    # Network and controller.

    def test_cut_off_and_restored(self):
        job, name = self.on_gpu1()
        work = self.answer("submit", *LONG_JOB, "--server", name)["jobId"]
        wait_until(lambda: self.answer("show", work, "--server", name)["state"] == "RUNNING", "the job ran")
        self.lab.cut("gpu1")
        self.hotplate("status", "--server", name, code=NO_DAEMON, says=[name, "10.77.0.11", "does not answer"])
        self.lab.mend("gpu1")
        wait_until(lambda: self.run_command("show", work, "--server", name)[0] == 0, "the daemon was reached again")
        self.assertEqual(self.answer("show", work, "--server", name)["state"], "RUNNING")
        self.hotplate("cancel", work, "--server", name)
        wait_until(lambda: self.answer("show", work, "--server", name)["state"] == "CANCELLED", "the job was cancelled")
        self.assertEqual(self.lab.state(job), "RUNNING")

    def test_controller_away_and_back(self):
        job, name = self.on_gpu1()
        self.lab.stop("slurmctld")
        self.hotplate("status", "--server", name)
        self.hotplate(*RUN, "--server", name)
        self.lab.start_controller()
        self.lab.wait_for_registration()
        self.hotplate(*RUN, "--server", name)
        self.hotplate("down", "--server", name)
        self.ended(job, name, "COMPLETED")

    # It dies.

    def test_killed(self):
        job, name = self.on_gpu1()
        os.kill(self.process(), signal.SIGKILL)
        self.wait_for_job(job, "FAILED")
        # Nobody was there to withdraw the record.
        self.assertEqual(len(self.records(job)), 1)
        for words in (["status"], RUN, ["down"]):
            self.hotplate(*words, "--server", name, code=NO_DAEMON, says=name)
        self.hotplate("status", "--server", name, code=NO_DAEMON, says=["ended", f"job {job}", "FAILED"])
        # The next one is not in its way.
        _, next_name = self.on_gpu1()
        self.assertEqual(self.answer("status", "--server", next_name)["name"], next_name)


if __name__ == "__main__":
    harness.main()
