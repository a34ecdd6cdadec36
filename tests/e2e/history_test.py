"""hotplate history and hotplate journal: what has run, with and without the daemons that ran it."""

import contextlib
import csv
import datetime
import io
import json
import os
import shutil
import signal
import sqlite3
import time

import numpy as np

import harness


class Journals(harness.Case):
    @classmethod
    def start_daemon(cls, *flags, **options):
        return super().start_daemon("--journal", "on", *flags, **options)

    def setUp(self):
        self.daemon = self.start_daemon()

    def tearDown(self):
        for process in self.processes:
            process.kill()
            process.communicate()
        self.processes.clear()
        shutil.rmtree(self.directory)

    def kill(self, process=None):
        self.assertEqual(self.stop_daemon(process or self.daemon, signal.SIGKILL), -signal.SIGKILL)

    def run_job(self, *words, server="local", end="COMPLETED"):
        job = self.answer("--server", server, "submit", *words)["jobId"]
        harness.wait_until(lambda: self.answer("--server", server, "show", job)["state"] == end, f"job {job} was {end}")
        return job

    def run_vector(self, count=1000, *more):
        np.save(self.folder / "x.npy", np.arange(count, dtype=np.float64))
        return self.run_job("vector_add", "x.npy", "x.npy", *more)

    def run_failing(self, *more, server="local"):
        return self.run_job("integrate2d", "--n", "10000000", "--time-limit", "50ms", *more, server=server, end="TIMEOUT")

    def spooled(self, job, file, name="local"):
        return self.directory / "saved" / f"{name}.jobs" / "jobs" / job / file

    def history(self, *words):
        return self.answer("history", *words)

    def ids(self, *words):
        return [row["id"] for row in self.history(*words)]


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
        self.hotplate("history", "--limit", "2", says="these are the newest 2; --limit shows more")

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
        self.assertEqual(self.history("--by", "kernel", "--kernel", "vector_add")[0]["kernel"], "vector_add")
        self.assertEqual(len(self.history("--by", "kernel", "--limit", "1")), 1)


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
            database.execute("INSERT INTO sums(minute, kernel, label, state, jobs, device_ns, energy_joules) VALUES(?,?,?,?,?,?,?)",
                             (int(ended // 60), "vector_add", "mine", 3, 5000, 7_000_000_000, 12.5))
        alone = self.history()[0]["deviceNs"]
        for by, name in (("kernel", "vector_add"), ("label", "mine"), ("day", time.strftime("%Y-%m-%d", time.localtime(ended)))):
            self.assertEqual(self.history("--by", by), [{by: name, "jobs": 5001, "deviceNs": 7_000_000_000 + alone, "energyJoules": 12.5}])
        self.assertEqual(self.history("--by", "kernel", "--label", "other"), [])
        self.assertEqual(self.history("--by", "kernel", "--state", "failed"), [])
        self.assertEqual(self.ids(), [job])
        self.assertIn("sum", [json.loads(line)["type"] for line in self.hotplate("journal", "export").splitlines()])


class Nothing(harness.Case):
    def test_without_any_journal(self):
        self.assertEqual(self.answer("history"), [])
        self.assertEqual(self.answer("history", "--by", "day"), [])
        self.hotplate("history", says="no such job is in a journal")
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


class Verify(Journals):
    def verify(self, code=harness.OK, says=()):
        self.hotplate("journal", "verify", code=code, says=says)
        code_, out, _ = self.run_command("journal", "verify", "local", "--json")
        self.assertEqual(code_, code)
        return json.loads(out)["journals"][0]

    def test_a_flipped_byte_and_a_missing_file(self):
        kept, flipped, missing = (self.run_vector(1 << 19) for _ in range(3))
        report = self.verify(says="all as written")
        self.assertEqual((report["name"], report["unfinished"], report["problems"]), ("local", 0, []))
        self.assertGreaterEqual(report["files"], 3)
        self.assertGreaterEqual(report["bytes"], 3 * 8 << 19)
        self.kill()
        self.assertEqual(self.verify()["problems"], [])

        file = self.spooled(flipped, "result-c.npy")
        data = bytearray(file.read_bytes())
        data[-5] ^= 1
        file.write_bytes(data)
        self.spooled(missing, "result-c.npy").unlink()
        problems = self.verify(harness.FAILED, says=(f"job {flipped}: ", "has changed since it was written: its SHA-256 is",
                                                     f"job {missing}: ", "No such file"))["problems"]
        self.assertEqual(len(problems), 2)
        self.assertFalse([one for one in problems if f"job {kept}" in one])

        self.daemon = self.start_daemon()
        self.assertEqual(len(self.verify(harness.FAILED)["problems"]), 2, "a living daemon's, too")

    def test_results_that_are_elsewhere(self):
        self.run_vector(1 << 19)
        self.kill()
        spool = self.directory / "saved" / "local.jobs"
        spool.rename(spool.with_suffix(".away"))
        self.verify(harness.FAILED, says=("inputs and results are in", "which is not there on"))
        self.hotplate("journal", "prune", code=harness.TRY_LATER, says="which is not there on")
        spool.with_suffix(".away").rename(spool)
        self.verify()

    def test_a_damaged_index(self):
        self.run_vector()
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        for file in (self.directory / "journal" / "local").glob("index-*.sqlite*"):
            file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])
        self.assertTrue(self.verify(harness.FAILED)["problems"])
        self.hotplate("history", code=harness.FAILED, says=("the journal of local in", "cannot be read"))


class Prune(Journals):
    def prune(self, *words):
        return {row["name"]: row for row in self.answer("journal", "prune", *words)["journals"]}["local"]

    def fetched_and_not(self):
        fetched, unread = self.run_vector(1 << 19), self.run_vector(1 << 19)
        self.hotplate("result", fetched, "-o", "c=got.npy")
        return fetched, unread

    def check(self, fetched, unread, what):
        self.assertEqual(self.prune("--older-than", "1h")["released"], 0, what)
        self.assertTrue(self.spooled(fetched, "result-c.npy").exists(), what)
        pruned = self.prune("local")
        self.assertEqual(pruned["released"], 1, what)
        self.assertGreaterEqual(pruned["bytes"], 8 << 19, what)
        self.assertEqual((pruned["unread"], pruned["notes"]), (1, []), what)
        self.assertFalse(self.spooled(fetched, "").exists(), what)
        self.assertTrue(self.spooled(unread, "result-c.npy").exists(), what)
        self.hotplate("journal", "prune", says=("local: nothing was removed; those of 1 job stay",))
        self.assertIn(fetched, self.ids(), "the history stays")
        self.hotplate("journal", "verify")

    def test_by_the_daemon(self):
        fetched, unread = self.fetched_and_not()
        # That it was fetched is written a moment later.
        harness.wait_until(lambda: [json.loads(line) for line in self.hotplate("journal", "export").splitlines()
                                    if '"fetch_ns"' in line], "the journal knew that it was fetched")
        self.check(fetched, unread, "with a daemon")
        self.hotplate("result", unread, "-o", "c=got.npy")
        np.testing.assert_array_equal(np.load(self.folder / "got.npy"), 2 * np.arange(1 << 19, dtype=np.float64))

    def test_without_a_daemon(self):
        fetched, unread = self.fetched_and_not()
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        self.check(fetched, unread, "without a daemon")
        self.hotplate("show", fetched, says=("COMPLETED", "results    were fetched, and deleted at"))
        self.daemon = self.start_daemon()
        self.hotplate("result", unread, "-o", "c=got.npy")
        np.testing.assert_array_equal(np.load(self.folder / "got.npy"), 2 * np.arange(1 << 19, dtype=np.float64))
        self.run_vector()  # the journal is the daemon's again

    def test_a_daemon_without_a_journal(self):
        self.run_vector()
        self.kill()
        self.daemon = self.start_daemon("--journal", "off")
        self.hotplate("journal", "prune", code=harness.TRY_LATER, says="this daemon keeps no journal")


class Export(Journals):
    def test_every_line_is_json(self):
        job = self.run_vector(1000, "--label", "mine")
        timeout = self.run_failing()
        for _ in range(2):
            lines = [json.loads(line) for line in self.hotplate("journal", "export", "local").splitlines()]
            self.assertEqual({line["journal"] for line in lines}, {"local"})
            daemons = [line for line in lines if line["type"] == "daemon"]
            self.assertEqual(daemons[-1]["name"], "local")
            jobs = {line["id"]: line for line in lines if line["type"] == "job"}
            self.assertEqual(jobs[job]["label"], "mine")
            self.assertEqual(jobs[job]["request"]["kernel"], "vector_add")
            self.assertEqual(jobs[job]["end"]["state"], "COMPLETED")
            self.assertEqual(jobs[job]["end"]["result"]["receipt"]["jobId"], job)
            self.assertEqual([file["name"] for file in jobs[job]["results"]], ["c"])
            self.assertEqual(jobs[timeout]["end"]["state"], "TIMEOUT")
            self.kill()
            self.daemon = self.start_daemon()


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
        self.hotplate("show", "last", code=harness.NO_DAEMON)

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


class Moved(harness.Case):
    def test_a_journal_that_is_elsewhere_is_found(self):
        np.save(self.folder / "x.npy", np.ones(1 << 19))
        daemon = self.start_daemon("--journal", self.folder / "journals", "--scratch", self.folder / "scratch", name="moved")
        job = self.answer("submit", "vector_add", "x.npy", "x.npy")["jobId"]
        self.hotplate("wait", job)
        self.assertEqual(self.stop_daemon(daemon), 0)
        self.assertEqual([row["daemon"] for row in self.answer("history")], ["moved"])
        report = self.answer("journal", "verify", "moved")["journals"][0]
        self.assertEqual(report["folder"], str(self.folder / "journals" / "moved"))
        self.assertTrue(report["spool"].startswith(str(self.folder / "scratch")), report["spool"])
        self.assertGreaterEqual(report["files"], 1)
        (self.folder / "journals").rename(self.folder / "gone")
        self.assertEqual(self.answer("history"), [])
        self.hotplate("journal", "verify", code=harness.FAILED, says=("moved: its journal in", "is gone"))


if __name__ == "__main__":
    harness.main()
