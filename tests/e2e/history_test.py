"""hotplate history and show: what has run, with and without the daemons that ran it."""

import contextlib
import csv
import datetime
import fcntl
import io
import json
import os
import signal
import sqlite3
import time

import numpy as np

import harness
from journals import Journals


class History(Journals):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.began = time.time()

    def setUp(self):
        super().setUp()
        self.first = self.run_vector(1000, "--label", 'with "quotes", and a comma')
        self.second = self.run_failing()
        self.other = self.start_daemon(name="other")
        self.third = self.run_job("integrate2d", "--n", "10", server="other")

    def check_rows(self):
        rows = self.history("--limit", "3")
        self.assertEqual([row["id"] for row in rows], [self.third, self.second, self.first], "newest first")
        self.assertEqual([row["kernel"] for row in rows], ["integrate2d", "integrate2d", "vector_add"])
        self.assertEqual([row["state"] for row in rows], ["COMPLETED", "TIMEOUT", "COMPLETED"])
        self.assertEqual([row["daemon"] for row in rows], ["other", "local", "local"])
        self.assertEqual([row["label"] for row in rows], ["", "", 'with "quotes", and a comma'])
        for row in rows:
            self.assertEqual(row["device"], "cpu0")
            self.assertEqual(row["node"], os.uname().nodename)
            self.assertLessEqual(self.began, row["submitTime"])
            self.assertLessEqual(row["submitTime"], row["startTime"])
            self.assertLessEqual(row["startTime"], row["endTime"])
        self.assertGreaterEqual(rows[1]["deviceNs"], 40_000_000)
        return rows

    def test_it_is_the_same_without_daemons(self):
        rows = self.check_rows()
        text = self.hotplate("history", says=("JOB", "ENDED", "DEVICE TIME", "vector_add", "TIMEOUT", "with \"quotes\""))
        self.assertEqual(text.splitlines()[1].split()[:2], [self.third, "integrate2d"])
        self.kill()
        self.kill(self.other)
        self.assertEqual(self.check_rows(), rows)
        self.assertEqual(self.hotplate("history", "--quiet", "--limit", "3").split(), [self.third, self.second, self.first])

    # Each daemon has numbers of its own block.
    def test_newest_first_whatever_the_numbers(self):
        last = self.run_vector(10)
        self.assertLess(int(last), int(self.third))
        self.assertEqual(self.ids("--limit", "2"), [last, self.third])
        ends = [row["endTime"] for row in self.history()]
        self.assertEqual(ends, sorted(ends, reverse=True))

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.hotplate("history", "--csv"))))
        told = self.history()
        self.assertEqual(len(rows), len(told))
        for row, was in zip(rows, told):
            for name in ("id", "kernel", "label", "state", "device", "daemon"):
                self.assertEqual(row[name], was[name])
            self.assertAlmostEqual(datetime.datetime.fromisoformat(row["end_time"].replace("Z", "+00:00")).timestamp(),
                                   was["endTime"], places=4)
            self.assertAlmostEqual(float(row["device_seconds"]), was["deviceNs"] * 1e-9, places=9)
            self.assertEqual(row["energy_joules"] == "", "energyJoules" not in was)

    def test_conditions(self):
        self.assertEqual(self.ids("--server", "other", "--limit", "1"), [self.third])
        self.assertNotIn(self.first, self.ids("--server", "other"))
        self.assertEqual(self.ids("--kernel", "vector_add", "--limit", "1"), [self.first])
        self.assertEqual(self.ids("--state", "timeout", "--limit", "1"), [self.second])
        self.assertEqual(self.ids("--state", "failed,TIMEOUT", "--state", "cancelled", "--limit", "1"), [self.second])
        self.assertEqual(self.ids("--label", "nothing has it"), [])
        self.assertEqual(self.ids("--label", 'with "quotes", and a comma', "--limit", "1"), [self.first])
        self.assertEqual(self.ids("--since", "1h"), self.ids())
        harness.wait_until(lambda: not self.ids("--since", "1s"), "all had ended more than a second ago")
        self.assertEqual(len(self.ids("--limit", "2")), 2)
        self.hotplate("history", "--limit", "2", says="these are the newest 2; --limit or --csv shows more")

    def test_sums(self):
        rows = self.history()
        for by in ("kernel", "label", "day"):
            sums = {row[by]: row for row in self.history("--by", by)}
            of = {"kernel": lambda row: row["kernel"], "label": lambda row: row["label"],
                  "day": lambda row: datetime.datetime.fromtimestamp(row["endTime"]).strftime("%Y-%m-%d")}[by]
            for key in {of(row) for row in rows}:
                mine = [row for row in rows if of(row) == key]
                self.assertEqual(sums[key]["jobs"], len(mine), key)
                self.assertEqual(sums[key]["deviceNs"], sum(row["deviceNs"] for row in mine), key)
            self.assertEqual(len(sums), len({of(row) for row in rows}))
        table = list(csv.DictReader(io.StringIO(self.hotplate("history", "--by", "kernel", "--csv"))))
        self.assertEqual({row["kernel"] for row in table}, {row["kernel"] for row in rows})
        self.hotplate("history", "--by", "day", says=("DAY", "JOBS", "DEVICE TIME"))
        self.assertEqual(self.hotplate("history", "--by", "kernel").splitlines()[-1].split()[:2], ["total", str(len(rows))])
        self.assertEqual(self.history("--by", "kernel", "--kernel", "vector_add")[0]["kernel"], "vector_add")
        self.assertEqual(len(self.history("--by", "kernel", "--limit", "1")), 1)

    def test_sums_by_two(self):
        today = {row["label"]: row for row in self.history("--by", "day,label")}
        self.assertEqual({row["day"] for row in today.values()}, {time.strftime("%Y-%m-%d")})
        self.assertEqual({label: row["jobs"] for label, row in today.items()}, {"": 2, 'with "quotes", and a comma': 1})
        self.assertEqual({(row["daemon"], row["jobs"]) for row in self.history("--by", "daemon")}, {("local", 2), ("other", 1)})
        self.assertEqual(self.history("--by", "label", "--by", "day"), self.history("--by", "label,day"))
        self.hotplate("history", "--by", "label,day", says=("LABEL", "DAY", "total"))
        self.assertIn("day,kernel,jobs,", self.hotplate("history", "--by", "day,kernel", "--csv"))
        self.hotplate("history", "--by", "day,colour", code=harness.USAGE, says="--by: \"colour\" is none of day, label, kernel, daemon")

    def test_rows_have_receipts_and_errors(self):
        third, second, first = self.history()
        self.assertEqual(first["receipt"]["kernel"], "vector_add")
        self.assertNotIn("error", first)
        self.assertIn("time limit", second["error"]["message"])
        self.assertNotIn("error", third)


class GpuTime(Journals):
    """The daemons here have no GPU, so that what they would have written is put into the index."""

    def alter(self, *statements):
        with contextlib.closing(sqlite3.connect(self.index())) as database, database:
            for statement, values in statements:
                database.execute(statement, values)

    def setUp(self):
        super().setUp()
        job = self.run_vector(10, "--label", "mine")
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        # Two GPUs from 22:00 to 02:00, and a job on one of them from 23:00 to 00:30.
        midnight = time.mktime((2026, 3, 11, 0, 0, 0, 0, 0, -1))
        hour = 3600 * 10**9
        self.midnight_ns, self.hour = int(midnight) * 10**9, hour
        self.alter(("UPDATE daemons SET start_ns=?, end_ns=?, gpus=2", (self.midnight_ns - 2 * hour, self.midnight_ns + 2 * hour)),
                   ("UPDATE jobs SET device='gpu0', end_ns=?, device_ns=?, gpu_ns=? WHERE number=?",
                    (self.midnight_ns + hour // 2, 3 * hour // 2, 3 * hour // 2, int(job))))

    def test_time_goes_to_the_day_on_which_it_passed(self):
        after, before = self.history("--by", "day")
        self.assertEqual([before["day"], after["day"]], ["2026-03-10", "2026-03-11"])
        self.assertEqual([before["jobs"], after["jobs"]], [0, 1])
        self.assertEqual([before["gpuNs"], after["gpuNs"]], [self.hour, self.hour // 2])
        self.assertEqual([before["gpuIdleNs"], after["gpuIdleNs"]], [3 * self.hour, 7 * self.hour // 2])
        self.assertEqual([before["deviceNs"], after["deviceNs"]], [self.hour, self.hour // 2])
        self.hotplate("history", "--by", "day", says=("GPU TIME", "GPU IDLE"))
        row, = csv.DictReader(io.StringIO(self.hotplate("history", "--by", "daemon", "--csv")))
        self.assertEqual((float(row["gpu_seconds"]), float(row["gpu_idle_seconds"])), (5400, 4 * 2 * 3600 - 5400))

    def test_idle_time_has_no_label(self):
        row, = self.history("--by", "label")
        self.assertEqual(row["gpuNs"], 3 * self.hour // 2)
        self.assertNotIn("gpuIdleNs", row)
        self.assertNotIn("gpuIdleNs", self.history("--by", "day", "--label", "mine")[0])
        self.assertNotIn("GPU IDLE", self.hotplate("history", "--by", "label", says="GPU TIME"))
        self.assertEqual(self.history()[0]["gpuNs"], 3 * self.hour // 2)

    def test_only_time_since_then_counts(self):
        since = time.strftime("%Y-%m-%d", time.localtime(self.midnight_ns / 1e9))
        row, = self.history("--by", "day", "--since", since)
        self.assertEqual((row["day"], row["gpuNs"], row["gpuIdleNs"]), ("2026-03-11", self.hour // 2, 7 * self.hour // 2))
        row, = self.history("--by", "daemon", "--since", since)
        self.assertEqual((row["gpuNs"], row["gpuIdleNs"]), (self.hour // 2, 7 * self.hour // 2))

    def test_a_job_that_runs_is_no_idle_time(self):
        self.alter(("UPDATE jobs SET state=2, start_ns=?, end_ns=NULL", (self.midnight_ns - self.hour,)))
        row, = self.history("--by", "daemon")
        self.assertEqual((row["jobs"], row["gpuNs"], row["gpuIdleNs"]), (0, 3 * self.hour, 5 * self.hour))

    def test_a_killed_daemon_had_its_gpus_until_it_was_last_seen(self):
        self.alter(("UPDATE daemons SET end_ns=NULL, seen_ns=?", (self.midnight_ns + self.hour,)))
        self.assertEqual(self.history("--by", "daemon")[0]["gpuIdleNs"], 3 * 2 * self.hour - 3 * self.hour // 2)

    def test_the_next_daemon_writes_when_the_one_before_was_last_seen(self):
        self.daemon = self.start_daemon()
        self.kill()
        owner, = (self.directory / "journal" / "local").glob("owner-*")
        seen = owner.stat().st_mtime
        self.daemon = self.start_daemon()
        rows = [json.loads(line) for line in self.hotplate("journal", "export").splitlines()]
        lives = [row for row in rows if row["type"] == "daemon"]
        self.assertEqual([row["epoch"] for row in lives], [1, 2, 3])
        self.assertEqual(["end_ns" in row for row in lives], [True, False, False])
        self.assertAlmostEqual(lives[1]["last_seen_ns"] / 1e9, seen, places=3)


class Attached(Journals):
    def test_attached_jobs_are_in_it(self):
        np.save(self.folder / "x.npy", np.ones(4))
        ran = [self.answer("run", "vector_add", "x.npy", "x.npy", "--label", "attached")["jobId"] for _ in range(3)]
        harness.wait_until(lambda: self.ids("--label", "attached") == ran[::-1], "the journal had them")
        self.assertEqual(self.history("--by", "label")[0]["label"], "attached")
        self.assertEqual(self.history("--by", "label")[0]["jobs"], 3)

    def test_sums_of_small_calls_count(self):
        job = self.run_vector(1000, "--label", "mine")
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        ended = self.history()[0]["endTime"]
        # As a daemon writes those beyond 100 a second.
        index, = (self.directory / "journal" / "local").glob("index-*.sqlite")
        with contextlib.closing(sqlite3.connect(index)) as database, database:
            database.execute("INSERT INTO sums(minute, kernel, label, state, jobs, device_ns, gpu_ns, energy_joules)"
                             " VALUES(?,?,?,?,?,?,?,?)",
                             (int(ended // 60), "vector_add", "mine", 3, 5000, 7_000_000_000, 6_000_000_000, 12.5))
        alone = self.history()[0]["deviceNs"]
        for by, name in (("kernel", "vector_add"), ("label", "mine"), ("day", time.strftime("%Y-%m-%d", time.localtime(ended)))):
            sums = self.history("--by", by)
            self.assertEqual(sums[0].pop("gpuIdleNs", None), 0 if by == "day" else None)
            self.assertEqual(sums, [{by: name, "jobs": 5001, "deviceNs": 7_000_000_000 + alone, "gpuNs": 6_000_000_000,
                                     "energyJoules": 12.5}])
        self.assertEqual(self.history("--by", "kernel", "--label", "other"), [])
        self.assertEqual(self.history("--by", "kernel", "--state", "failed"), [])
        self.assertEqual(self.ids(), [job])
        self.assertIn("sum", [json.loads(line)["type"] for line in self.hotplate("journal", "export").splitlines()])


    def test_show_says_nothing_of_results_that_nobody_kept(self):
        np.save(self.folder / "x.npy", np.ones(4))
        job = self.answer("run", "vector_add", "x.npy", "x.npy")["jobId"]
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        self.assertNotIn("fetched", self.hotplate("show", job, says="COMPLETED"))


class Many(Journals):
    def setUp(self):
        super().setUp()
        self.run_vector()
        self.assertEqual(self.stop_daemon(self.daemon), 0)

    def test_programs_get_all_rows_and_people_a_thousand(self):
        self.write_ended(range(10_000, 12_500), [f"label {i}" for i in range(2500)], attached=True)
        self.assertEqual(len(self.history()), 2501)
        self.assertEqual(self.hotplate("history", "--csv").count("\n"), 2502)
        self.assertEqual(self.hotplate("history", "--quiet").split(), self.ids())
        self.assertEqual(len(set(self.ids())), 2501)
        self.assertEqual(self.hotplate("history", says="these are the newest 1000").count("\n"), 1001)
        self.assertEqual(len(self.history("--limit", "1500")), 1500)
        self.assertEqual(len(self.history("--by", "label")), 2501)
        self.assertEqual(self.hotplate("history", "--by", "label", "--csv").count("\n"), 2502)
        self.assertEqual(self.hotplate("history", "--by", "label", says="these are the first 1000").count("\n"), 1002)

    def test_csv_obeys_no_terminal(self):
        self.write_ended([10_000], ["red \x9b31m and \x1b[31m, é"], attached=True)
        self.assertIn('"red ?31m and ?[31m, é"', self.hotplate("history", "--csv"))
        self.assertIn('"red ?31m and ?[31m, é"', self.hotplate("history", "--by", "label", "--csv"))

    def test_an_export_that_nobody_reads_leaves_nothing(self):
        self.write_ended(range(10_000, 12_500), ["x" * 100] * 2500, attached=True)
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        process = self.start("journal", "export", env={"TMPDIR": str(temporary)})
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=harness.PATIENCE), -signal.SIGPIPE)
        process.stdout = None
        self.assertEqual(list(temporary.iterdir()), [])

    # A daemon could not start, for as long as it took.
    def test_a_prune_lets_the_name_go_now_and_then(self):
        self.write_ended(range(10_000, 70_000), [""] * 60_000, attached=False)
        prune = self.start("journal", "prune", "--json")
        held = []
        with open(self.directory / "servers" / "local.lock", "rb") as lock:
            until = time.monotonic() + harness.PATIENCE
            while prune.poll() is None and time.monotonic() < until:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    fcntl.flock(lock, fcntl.LOCK_UN)
                    now = False
                except BlockingIOError:
                    now = True
                if held[-1:] != [now]:
                    held.append(now)
                time.sleep(0.005)
        self.assertEqual(json.loads(prune.communicate()[0])["journals"][0]["released"], 60_000)
        self.assertGreater(held.count(True), 1, held)

    def test_a_prune_by_the_daemon_takes_as_long_as_it_takes(self):
        self.write_ended(range(10_000, 110_000), [""] * 100_000, attached=False)
        self.daemon = self.start_daemon()
        report, = self.answer("journal", "prune")["journals"]
        self.assertEqual((report["released"], report["unread"]), (100_000, 1))


class Nothing(harness.Case):
    def test_without_any_journal(self):
        self.assertEqual(self.answer("history"), [])
        self.assertEqual(self.answer("history", "--by", "day"), [])
        self.hotplate("history", says="No jobs found. Daemons started with --journal off keep no history.")
        self.assertEqual(self.hotplate("history", "--csv").count("\n"), 1)
        self.assertEqual(self.answer("journal", "verify"), {"journals": []})
        self.assertEqual(self.hotplate("journal", "export"), "")
        self.hotplate("history", "--server", "nobody", code=harness.INVALID, says='no daemon "nobody" has a journal')

    def test_bad_values(self):
        for words, text in (
                (("history", "--since", "tomorrow"), '--since: "tomorrow" is neither a duration'),
                (("history", "--since", "2999-01-01"), '--since: "2999-01-01" is not in the past'),
                (("history", "--since", "-1h"), '--since: "-1h"'),
                (("history", "--state", "RUNNING"), '--state: "RUNNING" is none of COMPLETED, FAILED, CANCELLED, TIMEOUT'),
                (("history", "--state", ""), '--state: "" is none of'),
                (("history", "--limit", "0"), "--limit"),
                (("history", "--limit", "many"), '--limit: "many"'),
                (("history", "--by", "week"), '--by: "week" is none of day, label, kernel'),
                (("history", "--csv", "--json"), "--csv and --json: give one of them"),
                (("history", "more"), '"more" is one word too many'),
                (("journal",), "ACTION"),
                (("journal", "mend"), 'journal "mend": give verify, export or prune'),
                (("journal", "verify", "--older-than", "1d"), "--older-than is for prune only"),
                (("journal", "prune", "--older-than", "soon"), '--older-than: "soon"'),
                (("journal", "prune", "a", "b"), '"b" is one word too many')):
            self.hotplate(*words, code=harness.USAGE, says=text)
        for action in ("verify", "export", "prune"):
            self.hotplate("journal", action, "no/body", code=harness.INVALID, says='no daemon "no/body" has a journal')


class Show(Journals):
    def test_a_job_without_its_daemon(self):
        job, waits = self.run_vector(1 << 19, "--label", "mine"), self.run_failing()
        told = self.job(job)
        self.kill()
        kept = self.job(job)
        for name in ("id", "kernel", "state", "label", "device", "submitTime", "startTime", "endTime", "receipt"):
            self.assertEqual(kept[name], told[name], name)
        self.assertEqual(kept["journal"], str(self.directory / "journal" / "local"))
        self.assertEqual(kept["results"], [str(self.spooled(job, "result-c.npy"))])
        self.hotplate("show", job, waits, says=("COMPLETED", "receipt", "the journal of daemon \"local\" has", "result-c.npy",
                                                "TIMEOUT", "reached its time limit of 50 ms"))
        self.hotplate("show", "999999", code=harness.NO_DAEMON)
        self.hotplate("show", "all", code=harness.NO_DAEMON)
        self.hotplate("show", "500-600", code=harness.NO_DAEMON)
        self.assertEqual(self.job("last")["id"], waits)
        for words in ((f"{job},{waits}",), (f"{job}-{waits}",), (f"{job}-{waits}", "last", job)):
            self.assertEqual(self.hotplate("show", "--quiet", *words).split(), ["COMPLETED", "TIMEOUT"], words)

    def test_the_last_of_one_daemon(self):
        other = self.start_daemon(name="other")
        theirs, mine = self.run_job("integrate2d", "--n", "10", server="other"), self.run_vector()
        self.assertEqual([self.stop_daemon(other), self.stop_daemon(self.daemon)], [0, 0])
        self.assertEqual(self.job("last")["id"], mine)
        self.assertEqual(self.answer("--server", "other", "show", "last")["id"], theirs)

    def test_a_job_of_another_daemon(self):
        job = self.run_vector()
        self.start_daemon(name="other")
        self.hotplate("--server", "other", "show", job, says=("COMPLETED", "the journal of daemon \"local\" has"))
        self.hotplate("--server", "other", "show", "999999", code=harness.INVALID)

    def test_one_that_waits_for_the_next_daemon(self):
        job = self.submit_long_job()
        self.kill()
        self.hotplate("show", job, says=("integrate2d", "a daemon of that name has it, or the next one will"))
        self.daemon = self.start_daemon()
        self.hotplate("cancel", job)


if __name__ == "__main__":
    harness.main()
