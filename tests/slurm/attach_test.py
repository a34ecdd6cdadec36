#!/usr/bin/python3
"""hotplate up --attach: a daemon in an allocation that alice has already."""

import signal
import subprocess

import harness
from harness import NO_DAEMON, REFUSED_BY_SLURM, TRY_LATER, wait_until

ON_CPU = ("--", "--device", "cpu")


class Attach(harness.SlurmCase):
    def setUp(self):
        # No pipe of the test's own: what salloc runs may outlive it, and would hold the other end.
        self.shell = self.lab.start("login", ["salloc", "--gres=gpu:2", "-c", "4", "-t", "10", "sleep", "1000"], env=self.environment,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(self.shell)
        self.job = wait_until(lambda: self.lab.squeue("%i", "-t", "RUNNING"), "salloc has its allocation")[0]

    def tearDown(self):
        self.lab.end_jobs()
        for folder in ("allocations", "servers"):
            for file in (self.directory / folder).glob("*"):
                file.unlink()

    def state(self):
        return self.lab.state(self.job)

    def attach(self, *words, **options):
        return self.hotplate("up", "--attach", self.job, *words, *ON_CPU, **options)

    def test_attach_run_down(self):
        self.assertIn(f"ready  lab-{self.job}", self.attach())
        status = self.answer("status")
        self.assertEqual(status["allocation"]["jobId"], self.job)
        self.assertEqual((status["allocation"]["cluster"], status["allocation"]["gpusOnNode"]), ("lab", 2))
        self.hotplate("run", "integrate2d", "--n", "64")
        # The command that started it has ended, and so may its terminal.
        self.assertIn("already running", self.attach())
        self.assertIn("serving", self.hotplate("logs").lower())
        self.assertIn("goes on", self.hotplate("down"))
        self.assertEqual(self.state(), "RUNNING", "the allocation is the user's own")
        wait_until(lambda: "hotplated" not in "".join(self.lab.lines("squeue", "-h", "-s", "-j", self.job, "-o", "%j")), "the step is gone")
        self.assertIn("ready", self.attach())
        self.hotplate("down")

    def test_the_end_of_the_allocation(self):
        self.attach()
        self.lab.run("login", ["scancel", self.job], check=True)
        wait_until(lambda: self.state() not in ("RUNNING", "COMPLETING"), "it is over")
        wait_until(lambda: self.run_command("jobs")[0] == NO_DAEMON, "the daemon is gone")
        self.hotplate("jobs", code=NO_DAEMON, says=[f"lab-{self.job} ended at", "CANCELLED"])
        # An allocation that was somebody's own is not what --again asks for.
        self.hotplate("up", "--again", code=harness.USAGE, says="no allocation of before")

    def test_a_daemon_that_has_ended_while_the_allocation_goes_on(self):
        self.attach("--name", "mine")
        self.lab.run("login", ["scancel", "--signal=TERM", f"{self.job}.0"], check=True)
        wait_until(lambda: not list((self.directory / "servers").glob("mine.json")), "it has withdrawn its record")
        self.hotplate("--server", "mine", "status", code=NO_DAEMON, says=["mine has ended", f"hotplate up --attach {self.job}"])
        self.hotplate("down", "--all")
        self.assertEqual(self.state(), "RUNNING")

    def test_a_task_of_an_array(self):
        array = self.sbatch("--array=3", "-o", "/dev/null", "--wrap", "sleep 1000")
        task = f"{array}_3"
        wait_until(lambda: self.lab.squeue("%A", "-t", "RUNNING", "-j", task), "it runs")
        number = self.lab.squeue("%A", "-j", task)[0]
        self.hotplate("up", "--attach", task, *ON_CPU, says=f"ready  lab-{number}")
        self.assertEqual(self.answer("status")["allocation"]["jobId"], number)
        self.hotplate("down")

    def test_its_end_by_the_user_ends_the_daemon_as_well(self):
        self.attach("--name", "mine")
        self.shell.send_signal(signal.SIGTERM)
        wait_until(lambda: self.run_command("--server", "mine", "jobs")[0] == NO_DAEMON, "the daemon is gone")

    def test_what_cannot_be_attached_to(self):
        waits = self.sbatch("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
        self.hotplate("up", "--attach", waits, code=TRY_LATER, says="once it runs")
        self.hotplate("up", "--attach", "4711", code=REFUSED_BY_SLURM, says="no job 4711")
        self.hotplate("up", "--attach", "x", code=harness.USAGE, says="is not a job id")
        bobs = self.lab.sbatch("-o", "/dev/null", "--wrap", "sleep 1000", user="bob")
        self.wait_for_job(bobs, "RUNNING")
        self.hotplate("up", "--attach", bobs, *ON_CPU, code=NO_DAEMON, says="before it was ready")
        self.assertEqual(self.lab.state(bobs), "RUNNING")

    def test_a_daemon_that_does_not_start(self):
        self.hotplate("up", "--attach", self.job, "--", "--no-such-option", code=NO_DAEMON, says=["--no-such-option", "before it was ready"])
        self.assertEqual(self.state(), "RUNNING")
        self.hotplate("jobs", code=NO_DAEMON)


if __name__ == "__main__":
    harness.main()
