#!/usr/bin/python3
"""hotplate up --follow-on on a real Slurm: what goes on when one allocation ends and the next one begins."""

import numpy as np

import harness
from harness import wait_until

ON_CPU = ("--", "--device", "cpu", "--drain-timeout", "1s")
LONG = ("integrate2d", "--n", "10000000")


class FollowOn(harness.SlurmCase):
    def tearDown(self):
        self.lab.end_jobs()

    def up(self, *words):
        """A daemon with jobs that follow on; the ids of all of them."""
        ready = self.answer("up", "--name", "work", "--time", "10m", *words)
        return [ready["jobId"], *ready["followOn"]]

    def answer(self, *words):
        at = words.index("--") if "--" in words else len(words)
        return harness.e2e.json.loads(self.hotplate(*words[:at], "--json", *words[at:]))

    def save(self, name, array):
        path = self.lab.folder / name
        np.save(path, array)
        self.put_file(name, path.read_bytes())

    def state(self, job):
        return self.lab.state(job)

    def test_the_next_job_takes_over(self):
        first, second, third = self.up("--follow-on", "2", *ON_CPU)
        self.assertEqual([self.state(job) for job in (second, third)], ["PENDING", "PENDING"])
        values = np.arange(1000, dtype=np.float64)
        self.save("x.npy", values)
        self.hotplate("put", "x.npy", "--name", "A")
        done = self.answer("submit", "vector_add", "x.npy", "x.npy")["jobId"]
        self.hotplate("wait", done)
        runs = self.answer("submit", *LONG)["jobId"]
        wait_until(lambda: self.answer("show", runs)["state"] == "RUNNING", "the job runs")
        waits = self.answer("submit", "vector_add", "array:A", "array:A", "--priority", "-1")["jobId"]
        waiter = self.start("wait", waits)

        self.lab.lines("scancel", first)  # as at its time limit: SIGTERM first
        self.wait_for_records(second)
        self.assertEqual(self.answer("status")["allocation"]["jobId"], second)
        wait_until(lambda: self.answer("show", runs)["state"] == "RUNNING", "what ran runs again")
        self.assertEqual(self.answer("show", done)["state"], "COMPLETED")
        self.assertEqual([array["name"] for array in self.answer("arrays")["arrays"]], ["A"])
        self.hotplate("cancel", runs)
        self.assertEqual(waiter.wait(harness.PATIENCE), 0, waiter.stderr.read())
        self.hotplate("result", waits, "-o", "c.npy")
        self.lab.run("login", ["cp", "c.npy", str(self.lab.folder / "c.npy")])
        self.assertIn("hotplated", self.hotplate("logs"))

        told = self.hotplate("down")
        self.assertIn(f"job {second} released", told)
        wait_until(lambda: self.state(third) == "CANCELLED", "down cancels what was to follow")

    def test_a_daemon_that_nobody_uses_cancels_what_was_to_follow(self):
        _, second, third = self.up("--follow-on", "2", "--idle-timeout", "3s", *ON_CPU)
        for job in (second, third):
            wait_until(lambda: self.state(job) == "CANCELLED", f"job {job} is cancelled")

    def test_down_in_the_queue_cancels_all(self):
        blocker = self.sbatch("-N2", "--gres=gpu:2", "-t", "30", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_for_job(blocker, "RUNNING")
        submitted = self.answer("up", "--name", "work", "--time", "10m", "--follow-on", "1", "--detach", *ON_CPU)
        jobs = [submitted["jobId"], *submitted["followOn"]]
        self.assertEqual(len(jobs), 2)
        self.hotplate("down", "work")
        for job in jobs:
            wait_until(lambda: self.state(job) == "CANCELLED", f"job {job} is cancelled")


if __name__ == "__main__":
    harness.main()
