"""Why jobs wait, what is foretold of them, and what becomes of a job that will not end before the allocation does."""

import csv
import io
import json
import os
import time

import harness


class Why(harness.Case):
    def setUp(self):
        self.daemon = self.start_daemon("--lanes", "1")

    def tearDown(self):
        self.forget_daemons()

    def why(self, job, *words):
        return self.answer("why", job, *words)

    def submit_program(self, *words):
        return json.loads(self.hotplate("submit", "exec", "--json", *words))["jobId"]

    def nap(self, *words):
        """A program whose time is known once it has run: by its command line, or its label."""
        return self.submit_program(*words, "sleep", "0.3")

    def naps(self, count, *words):
        for _ in range(count):
            self.wait_for_state(self.nap(*words), "COMPLETED")

    def test_a_lane(self):
        runs = self.submit_long_job()
        waits = self.nap()
        self.hotplate("why", waits, says=[f"job {waits} waits for a lane of cpu0", f"job {runs} (integrate2d) runs on cpu0"])
        why = self.why(waits)
        self.assertEqual((why["cause"], why["inTheWay"][0]["job"]["jobId"]), ("WAIT_CAUSE_PLACE", runs))
        self.assertEqual(why["job"]["state"], "PENDING")
        self.hotplate("why", "all", says=[f"job {runs} has run on cpu0 for", f"job {waits} waits"])
        self.assertIn(f"job {waits} waits", self.hotplate("why", "--quiet", waits))
        later = self.nap("--priority", "-1")
        why = self.why(later)
        self.assertEqual((why["cause"], why["aheadByPriority"]), ("WAIT_CAUSE_ORDER", 1))
        self.hotplate("cancel", runs)
        self.wait_for_state(later, "COMPLETED")
        self.hotplate("why", later, says=f"job {later} is COMPLETED; it waited")
        self.hotplate("why", "999", code=harness.INVALID, says="no job 999")

    def test_jobs_that_it_depends_on(self):
        runs = self.submit_long_job()
        held = self.submit_program("--after", runs, "true")
        last = self.submit_program("--after", held, "true")
        why = self.why(last)
        self.assertEqual((why["cause"], why["inTheWay"][0]["waitsFor"]), ("WAIT_CAUSE_JOBS", runs))
        self.hotplate("why", last, says=f"job {held} (exec) waits itself for job {runs}")

    def test_starts_are_foretold_and_kept_beside_what_happened(self):
        self.naps(2)
        first, second = self.nap(), self.nap()
        why = self.why(second)
        self.assertGreater(int(why["runTime"]["medianNs"]), 0.3e9)
        if why["job"]["state"] == "PENDING":  # on a machine that is not too busy
            self.assertIn("startsInNs", why)
        receipt = self.wait_for_state(second, "COMPLETED")["receipt"]
        self.assertGreater(int(receipt["queueForecastNs"]), 0)
        self.wait_for_state(first, "COMPLETED")
        self.hotplate("why", second, says="the forecast was")
        self.hotplate("history", says="start forecasts: ")
        rows = {row["id"]: row for row in self.answer("history")}
        self.assertEqual(rows[second]["receipt"]["queueForecastNs"], receipt["queueForecastNs"])
        told = {row["id"]: row["foretold_wait_seconds"] for row in csv.DictReader(io.StringIO(self.hotplate("history", "--csv")))}
        self.assertAlmostEqual(float(told[second]), int(receipt["queueForecastNs"]) * 1e-9, places=5)

    def test_the_next_daemon_knows_what_ran(self):
        job = self.answer("submit", "integrate2d", "--n", "3000")["jobId"]
        self.wait_for_state(job, "COMPLETED")
        self.naps(1, "--label", "nap")
        self.stop_daemon(self.daemon)
        self.daemon = self.start_daemon("--lanes", "1")
        self.submit_long_job()
        kernel = self.answer("submit", "integrate2d", "--n", "3000")["jobId"]
        for waits in (kernel, self.nap("--label", "nap")):
            self.assertEqual(self.why(waits)["runTime"]["runs"], 1)


class End(harness.Case):
    """A daemon whose allocation ends when a squeue of the test's own says so."""

    def setUp(self):
        self.programs = self.folder / "programs"
        self.programs.mkdir(exist_ok=True)
        self.end, self.line = self.folder / "end", self.folder / "line"
        squeue = self.programs / "squeue"
        squeue.write_text(f'#!/bin/sh\ncase "$*" in *--states=PENDING*) cat {self.line};; *) cat {self.end};; esac\n')
        squeue.chmod(0o755)
        self.line.write_text("")
        self.ends_in(3600)

    def tearDown(self):
        self.forget_daemons()

    def ends_in(self, seconds):
        now = int(time.time())
        self.end.write_text(f"41|RUNNING|{now}|{now + seconds}||{os.getuid()}|None\n")
        self.ends_at = now + seconds

    def start_in_allocation(self):
        return self.start_daemon(
            "--listen", "127.0.0.1", "--lanes", "1", "--drain-timeout", "1s",
            env={"SLURM_JOB_ID": "41", "SLURM_CLUSTER_NAME": "fake", "SLURMD_NODENAME": "gpu1", "HOTPLATE_SQUEUE_INTERVAL": "1s",
                 "SLURM_JOB_END_TIME": str(self.ends_at), "PATH": f"{self.programs}:{os.environ['PATH']}"})

    def run_time(self, n):
        """Seconds that integrate2d of this size will probably take, once it has run."""
        job = self.answer("submit", "integrate2d", "--n", n)["jobId"]
        self.wait_for_state(job, "COMPLETED")
        return int(self.answer("why", job)["runTime"]["medianNs"]) * 1e-9

    def size_of(self, seconds):
        """A size of which three runs foretell that four times as much (16 times the work) takes so long, about."""
        n = 3000
        while (took := max(self.run_time(n), 1e-3)) < seconds / 32:
            n = int(n * min((seconds / 16 / took) ** 0.5, 4) + 1)
        for _ in range(3):
            self.run_time(n)
        return 4 * n

    def test_what_will_not_end_in_time_is_refused_or_left_for_the_successor(self):
        daemon = self.start_in_allocation()
        n = str(self.size_of(40))
        self.hotplate("submit", "--dry-run", "integrate2d", "--n", n)
        self.ends_in(15 + 12)  # the daemon's own part, and the jobs'
        words = ("submit", "integrate2d", "--n", n)
        harness.wait_until(lambda: "are left" in self.run_command(*words, "--dry-run")[2], "the daemon knows the new end")
        self.hotplate(*words, code=harness.TRY_LATER, says=["integrate2d of this size takes about", "left of the allocation",
                                                          "--follow-on"])
        self.line.write_text("42|local|afterany:41(unfulfilled)\n")
        left = harness.wait_until(lambda: (found := self.run_command(*words, "--json"))[0] == 0 and found[1], "it was accepted")
        left = left.split('"jobId":"')[1].split('"')[0]
        self.hotplate("why", left, says=f"job {left} waits for the next daemon: it takes about")
        self.assertEqual(self.answer("why", left)["cause"], "WAIT_CAUSE_NEXT_ALLOCATION")
        self.assertEqual(daemon.wait(timeout=harness.PATIENCE), 0, self.log())
        self.ends_in(3600)
        self.start_in_allocation()
        self.wait_for_state(left, "RUNNING")
        self.hotplate("cancel", left)


if __name__ == "__main__":
    harness.main()
