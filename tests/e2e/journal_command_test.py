"""hotplate journal verify, export and prune, with and without the daemons whose journals they are."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
import unittest.mock

import numpy as np

import harness
from journals import Journals


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


class Others(Journals):
    """Journals of names that no daemon has any more: the next daemon, of any name, looks after them."""

    def age(self, name, seconds):
        """As if the daemon had ended so long ago."""
        index = self.index(name)
        then = time.time_ns() - seconds * 10**9
        with contextlib.closing(sqlite3.connect(index)) as database, database:
            database.execute("UPDATE jobs SET end_ns=?, fetch_ns=CASE WHEN fetch_ns IS NULL THEN NULL ELSE ? END", (then, then))
        owner, = index.parent.glob("owner-*")
        text = owner.read_text()
        owner.write_text(re.sub(r"since-ns \d+", f"since-ns {then}", text))
        os.utime(owner, ns=(then, then))

    def test_what_is_old_goes_and_what_nobody_fetched_stays(self):
        np.save(self.folder / "x.npy", np.ones(1 << 19))
        fetched, unread = [self.run_job("vector_add", "x.npy", "x.npy") for _ in range(2)]
        self.hotplate("result", fetched, "-o", "c=got.npy")
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        self.age("local", 40 * 86400)
        self.assertTrue(self.spooled(fetched, "result-c.npy").exists())
        self.start_daemon(name="next")
        harness.wait_until(lambda: not self.spooled(fetched, "result-c.npy").exists(), "the old result was deleted")
        harness.wait_until(lambda: "old results of 1 jobs of daemon local are deleted" in self.log("next"), "it was told")
        self.assertTrue(self.spooled(unread, "result-c.npy").exists())
        self.assertCountEqual(self.ids("--server", "local"), [fetched, unread])
        self.hotplate("journal", "verify")

    def test_an_empty_one_goes(self):
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        folder, spool = self.directory / "journal" / "local", self.directory / "saved" / "local.jobs"
        self.assertTrue(folder.exists() and spool.exists())
        new = self.start_daemon(name="next")
        harness.wait_until(lambda: self.answer("history") == [] and "serving" in self.log("next"), "it looked around")
        self.assertTrue(folder.exists(), "its daemon may be about to start again")
        self.assertEqual(self.stop_daemon(new), 0)
        self.age("local", 2 * 86400)
        self.start_daemon(name="next")
        harness.wait_until(lambda: not folder.exists(), "the journal was removed")
        self.assertFalse(spool.exists())
        self.hotplate("journal", "verify")

    def test_one_of_a_living_daemon_is_left_alone(self):
        job = self.run_vector(1 << 19)
        self.hotplate("result", job, "-o", "c=got.npy")
        self.start_daemon(name="next", *("--saved-age", "1s"))
        self.run_vector(10)
        rows = [json.loads(line) for line in self.hotplate("journal", "export", "local").splitlines()]
        self.assertEqual(len([row for row in rows if row["type"] == "daemon"]), 1, "nobody else has had it")


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
        flags = ("--scratch", self.folder / "scratch")

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
