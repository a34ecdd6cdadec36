"""hotplate history and hotplate journal: what has run, with and without the daemons that ran it."""

import contextlib
import csv
import datetime
import fcntl
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest.mock

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

    def index(self, name="local"):
        return next((self.directory / "journal" / name).glob("index-*.sqlite"))

    def write_ended(self, numbers, labels, attached, name="local"):
        """As a daemon that has ended would have: jobs that left no files."""
        now = time.time_ns()
        with contextlib.closing(sqlite3.connect(self.index(name))) as database, database:
            database.executemany(
                "INSERT INTO jobs(number, epoch, state, attached, may_rerun, owner, session, request_key, payload_hash, kernel,"
                " label, priority, accept_ns, end_ns, fetch_ns, release_ns, device_ns)"
                " VALUES(?, 1, 3, ?, 0, '', '', '', x'', 'copy', ?, 0, ?, ?, ?, ?, 1000)",
                [(number, attached, label, now, now + number, None if attached else now, now if attached else None)
                 for number, label in zip(numbers, labels)])
            if not attached:
                database.executemany("INSERT INTO ends VALUES(?, x'', NULL)", [(number,) for number in numbers])


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
            while prune.poll() is None:
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
        self.hotplate("history", says="No jobs found. Only daemons started with --journal on keep a history.")
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

    def test_asking_leaves_the_lock_as_it_is(self):
        job = self.run_vector(1 << 19)
        self.kill()
        self.spooled(job, "result-c.npy").unlink()
        lock = self.directory / "servers" / "local.lock"
        text = lock.read_text()
        self.verify(harness.FAILED, says="No such file")
        self.assertEqual(lock.read_text(), text)


class OneIsBad(Journals):
    def setUp(self):
        super().setUp()
        other = self.start_daemon(name="another")
        self.bad, self.good = self.run_job("integrate2d", "--n", "10", server="another"), self.run_vector()
        self.assertEqual([self.stop_daemon(other), self.stop_daemon(self.daemon)], [0, 0])

    def check_others(self, code, says):
        out = self.hotplate("history", "--quiet", code=code, says=says)
        self.assertEqual(out.split(), [self.good])
        self.assertIn(self.good, self.hotplate("show", self.good, says="COMPLETED"))
        out = self.hotplate("journal", "export", code=code, says=says)
        self.assertEqual([line["id"] for line in map(json.loads, out.splitlines()) if line["type"] == "job"], [self.good])
        self.hotplate("history", "--by", "day", code=code, says=says)

    def test_a_damaged_index_hides_no_other_journal(self):
        for file in (self.directory / "journal" / "another").glob("index-*.sqlite*"):
            file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])
        index = str(self.index("another"))
        self.check_others(harness.FAILED, ("the journal of another in", "cannot be read", index))
        self.hotplate("show", self.bad, code=harness.FAILED, says=index)
        self.hotplate("journal", "verify", code=harness.FAILED, says=("another: 1 problem", "local: 0 unfinished jobs", index))

    def test_an_index_that_is_gone_is_told(self):
        self.index("another").unlink()
        self.check_others(harness.OK, "there is no journal of another in")
        self.hotplate("journal", "verify", code=harness.FAILED, says=("another: its journal in", "is gone"))

    def test_a_stray_file_is_told(self):
        shutil.rmtree(self.directory / "journal" / "another")
        stray = self.directory / "journal" / "notes.txt"
        stray.write_text("mine")
        self.check_others(harness.OK, f"{stray} is no journal")
        self.hotplate("journal", "verify", says=f"{stray} is no journal")
        self.hotplate("journal", "prune", says=f"{stray} is no journal")


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
        self.hotplate("journal", "prune", says="local: nothing was removed; 1 unfetched result (")
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

    # It has the same id and names the same spool; what it did not know it took for a killed daemon's.
    def test_a_copy_deletes_nothing_of_the_original(self):
        fetched, unread = self.fetched_and_not()
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        backup = self.folder / "backup"
        shutil.copytree(self.directory, backup, symlinks=True)
        self.addCleanup(shutil.rmtree, backup)
        self.daemon = self.start_daemon()
        new = self.run_vector(1 << 19)
        for _ in range(2):
            self.hotplate("--directory", backup, "journal", "prune", code=harness.TRY_LATER,
                          says=f"is the spool of the journal in {self.directory / 'journal' / 'local'}")
            self.kill()
        for job in (fetched, unread, new):
            self.assertTrue(self.spooled(job, "result-c.npy").exists(), job)
        self.hotplate("journal", "verify")

    def test_another_daemon_than_that_of_the_endpoint(self):
        mine, _ = self.fetched_and_not()
        self.start_daemon(name="other")
        other = self.run_job("vector_add", "x.npy", "x.npy", server="other")
        self.hotplate("--server", "other", "result", other, "-o", "c=got.npy")
        harness.wait_until(lambda: self.hotplate("journal", "export").count('"fetch_ns"') == 2, "the journals knew of both")
        endpoint = f"127.0.0.1:{self.record()['endpoints'][0]['port']}"
        report, = self.answer("--server", "local", "--endpoint", endpoint, "journal", "prune", "other")["journals"]
        self.assertEqual((report["name"], report["released"]), ("other", 1))
        self.assertTrue(self.spooled(mine, "result-c.npy").exists())

    def test_a_daemon_without_a_journal(self):
        self.run_vector()
        self.kill()
        self.daemon = self.start_daemon("--journal", "off")
        self.hotplate("journal", "prune", code=harness.TRY_LATER, says="this daemon keeps no journal")


class Completion(Journals):
    def test_names_of_daemons(self):
        for words, offered in ((("journal", ""), "verify export prune"), (("journal", "verify", ""), "local")):
            listed = " ".join(f"'{word}'" for word in ("hotplate", *words))
            script = f'eval "$(hotplate completion bash)"; COMP_WORDS=({listed}); COMP_CWORD={len(words)}; _hotplate; echo ${{COMPREPLY[@]}}'
            told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True,
                                  env=self.environment | {"PATH": f"{harness.BIN}:{os.environ['PATH']}"}).stdout
            self.assertEqual(told.strip(), offered)


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
        # A copy where a journal is by default.
        stale = self.directory / "journal" / "moved"
        stale.parent.mkdir(exist_ok=True)
        shutil.copytree(self.folder / "journals" / "moved", stale)
        daemon = self.start_daemon("--journal", self.folder / "journals", "--scratch", self.folder / "scratch", name="moved")
        self.hotplate("result", job, "-o", "c=got.npy")
        new = self.answer("submit", "vector_add", "x.npy", "x.npy")["jobId"]
        self.hotplate("wait", new)
        self.assertEqual(self.stop_daemon(daemon), 0)
        self.assertEqual([row["id"] for row in self.answer("history")], [new, job])
        self.hotplate("history", says=f"the journal in {stale} is an older copy of another one, and does not count")
        self.assertEqual(self.answer("history", "--by", "kernel")[0]["jobs"], 2)
        pruned, = self.answer("journal", "prune")["journals"]
        self.assertEqual((pruned["released"], pruned["unread"]), (1, 1))
        self.hotplate("journal", "verify")
        shutil.rmtree(stale)
        (self.folder / "journals").rename(self.folder / "gone")
        self.assertEqual(self.answer("history"), [])
        self.hotplate("journal", "verify", code=harness.FAILED, says=("moved: its journal in", "is gone"))


class Copied(harness.Case):
    # Both have one journal id, and their spools one path.
    def test_a_daemon_of_a_copied_folder_leaves_the_originals_files_alone(self):
        np.save(self.folder / "x.npy", np.ones(1 << 19))
        backup = self.folder / "backup"
        flags = ("--journal", "on", "--scratch", self.folder / "scratch")

        def run():
            job = self.answer("submit", "vector_add", "x.npy", "x.npy")["jobId"]
            self.hotplate("wait", job)
            return job

        daemon = self.start_daemon(*flags)
        first = run()
        self.assertEqual(self.stop_daemon(daemon), 0)
        shutil.copytree(self.directory, backup, symlinks=True)
        daemon = self.start_daemon(*flags)
        second = run()
        self.assertEqual(self.stop_daemon(daemon), 0)
        with unittest.mock.patch.dict(self.environment, {"HOTPLATE_DIR": str(backup)}), \
             unittest.mock.patch.object(type(self), "directory", backup):
            daemon = self.start_daemon(*flags)
            np.save(self.folder / "x.npy", np.zeros(1 << 19))
            own = run()
            self.hotplate("result", own, "-o", "zeros.npy")
            small = self.answer("submit", "integrate2d", "--n", "10")["jobId"]
            self.hotplate("wait", small)
            self.hotplate("result", small)
            self.assertEqual(self.stop_daemon(daemon), 0)
        report, = self.answer("journal", "verify")["journals"]
        self.assertEqual((report["files"], report["problems"], report["notes"]), (3, [], []), (first, second))
        whose = f"is the spool of the journal in {self.folder / 'hotplate' / 'journal' / 'local'}"
        self.assertIn(whose, self.log())
        np.testing.assert_array_equal(np.load(self.folder / "zeros.npy"), np.zeros(1 << 19))


if __name__ == "__main__":
    harness.main()
