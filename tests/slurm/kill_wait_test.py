#!/usr/bin/python3
"""Slurm kills what is left KillWait after its signal, 5 s here. A daemon whose drain would take longer is done before."""

import harness
from harness import LONG_JOB, npy, wait_until


class KillWait(harness.SlurmCase):
    def test_a_drain_after_a_signal_is_over_before_slurm_kills(self):
        self.put_file("a.npy", npy([1.5, 2.5, 3.5]))
        job, _ = self.serve(daemon=["--drain-timeout", "1m"])
        server = ["--server", f"lab-{job}"]
        self.hotplate("put", "a.npy", "--name", "kept", "--lease", "1h", *server)
        work = self.answer("submit", *LONG_JOB, *server)["jobId"]
        self.wait_for_state(work, "RUNNING")
        wait_until(lambda: "Slurm kills 5 s after SIGTERM (its KillWait)" in self.read(f"hotplated-{job}.out"),
                   "the daemon knew KillWait")
        self.lab.lines("scancel", job)
        self.wait_for_job(job, "CANCELLED")
        wait_until(lambda: not self.records(job), "the daemon withdrew its record")
        said = self.read(f"hotplated-{job}.out")
        for text in ("not the drain timeout of 60 s", "draining: SIGTERM", "drained: jobs were cancelled", "is saved: ", "stopped"):
            self.assertIn(text, said)
        self.assertNotIn("leaving", said)
        self.assertTrue((self.directory / "saved" / f"lab-{job}" / "kept.npy").exists(), said)


if __name__ == "__main__":
    harness.main()
