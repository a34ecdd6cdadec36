"""Detached jobs outlive their daemon: it is killed, and the next one of its name has them."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import time

import numpy as np

import harness
from journals import Durable


class Results(Durable):
    def test_results_and_receipts_stay(self):
        rng = np.random.default_rng(1)
        small, large = rng.random(1000).astype(np.float32), rng.random(1 << 19)  # 4 KB come inline, 4 MB as an array
        self.save("small.npy", small)
        self.save("large.npy", large)
        jobs = [self.submit("vector_add", name, name, "--label", "twice") for name in ("small.npy", "large.npy")]
        before = [self.completed(job) for job in jobs]
        for _ in range(2):
            self.kill_and_restart()
            for job, was in zip(jobs, before):
                now = self.job(job)
                for told in ("state", "kernel", "label", "device", "receipt", "submitTime", "startTime", "endTime"):
                    self.assertEqual(now.get(told), was.get(told), told)
        for job, values in zip(jobs, (small, large)):
            np.testing.assert_array_equal(self.result(job, "c"), values + values)
            self.hotplate("wait", job)

    def test_a_failure_stays_one(self):
        job = self.submit("integrate2d", "--n", "10000000", "--time-limit", "50ms")
        harness.wait_until(lambda: self.job(job)["state"] == "TIMEOUT", "the time limit ended it")
        self.kill_and_restart()
        self.assertEqual(self.job(job)["state"], "TIMEOUT")
        self.hotplate("wait", job, code=harness.TIMEOUT, says="reached its time limit of 50 ms")

    def test_files_are_read_without_a_daemon(self):
        values = np.arange(1 << 19, dtype=np.float64)
        self.save("a.npy", values)
        job = self.submit("vector_add", "a.npy", "a.npy")
        self.completed(job)
        self.stop_daemon(self.daemon, signal.SIGKILL)
        folder = self.directory / "saved" / "local.jobs" / "jobs" / job
        np.testing.assert_array_equal(np.load(folder / "result-c.npy"), 2 * values)
        self.assertEqual(json.loads((folder / "receipt.json").read_text())["job_id"], job)
        self.assertEqual([row["name"] for row in json.loads((folder / "results.json").read_text())["files"]], ["c"])
        for path in (folder, folder / "result-c.npy", self.directory / "journal" / "local"):
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)


    def test_they_stay_where_they_are_if_new_ones_would_go_elsewhere(self):
        values = np.arange(1 << 19, dtype=np.float64)
        self.save("a.npy", values)
        job = self.submit("vector_add", "a.npy", "a.npy")
        self.completed(job)
        other = self.folder / "other"
        other.mkdir(mode=0o700, exist_ok=True)
        self.kill_and_restart("--scratch", other)
        self.assertIn(f"inputs and results of jobs are in {self.directory}/saved/local.jobs", self.log())
        np.testing.assert_array_equal(self.result(job, "c"), 2 * values)


class Waiting(Durable):
    def test_what_waits_runs_and_what_ran_runs_again(self):
        runs = self.submit_long_job("--priority", "10")
        self.save("x.npy", np.arange(6, dtype=np.float32))
        waits = [self.submit("vector_add", "x.npy", "x.npy", "--priority", str(priority)) for priority in (0, 5)]
        self.kill_and_restart()
        again = self.wait_for_state(runs, "RUNNING")
        self.assertEqual([self.job(job)["state"] for job in waits], ["PENDING", "PENDING"])
        new = self.submit("integrate2d", "--n", "10")
        self.assertGreater(int(new), int(waits[-1]), "ids go on")
        self.hotplate("cancel", runs)
        for job in waits:
            self.completed(job)
            np.testing.assert_array_equal(self.result(job, "c"), 2 * np.arange(6, dtype=np.float32))
        self.assertLess(self.job(waits[1])["startTime"], self.job(waits[0])["startTime"], "priorities are kept")
        self.assertEqual(again["state"], "RUNNING")
        self.hotplate("wait", runs, code=harness.CANCELLED)
        self.kill_and_restart()
        self.assertEqual(self.job(runs)["state"], "CANCELLED")

    def test_waiting_jobs_hold_no_descriptors(self):
        self.save("held.npy", np.ones(1000))
        self.hotplate("put", "held.npy", "--name", "H")
        runs = self.submit_long_job()
        jobs = [self.submit("vector_add", "array:H", "array:H") for _ in range(20)]
        self.kill_and_restart()
        self.wait_for_state(runs, "RUNNING")
        open_files = [os.readlink(path) for path in pathlib.Path(f"/proc/{self.daemon.pid}/fd").iterdir() if path.is_symlink()]
        self.assertEqual([path for path in open_files if path.endswith(".npy")], [])
        self.hotplate("cancel", runs)
        for job in jobs:
            self.completed(job)

    def test_a_cancel_that_was_answered_counts(self):
        # Nothing interrupts a product of matrices.
        self.save("m.npy", np.ones((3500, 3500)))
        runs = self.submit("matmul", "m.npy", "m.npy")
        self.wait_for_state(runs, "RUNNING")
        self.hotplate("cancel", runs)
        self.kill_and_restart()
        self.hotplate("wait", runs, code=harness.CANCELLED, says=f"job {runs} was cancelled on request, before it ended")

    def test_a_file_that_an_earlier_run_left_is_its_own(self):
        written = self.folder / "written.npy"
        roots = ("--path-root", str(self.folder))
        self.kill_and_restart(*roots)
        runs = self.submit("integrate2d", "--n", "150000", "-o", f"value=path:{written}")  # seconds
        self.wait_for_state(runs, "RUNNING")
        first = self.submit(*harness.LONG_JOB, "--priority", "10")
        self.kill_and_restart(*roots)
        self.wait_for_state(first, "RUNNING")
        self.assertEqual(self.job(runs)["state"], "PENDING", "it ran, and waits again")
        self.submit("integrate2d", "--n", "10")  # its acknowledgement has all that came before on the disk
        written.write_bytes(b"of a run that was cut off")
        self.kill_and_restart(*roots)
        self.hotplate("cancel", first)
        self.completed(runs)
        self.assertEqual(np.load(written).dtype, np.float64)

    def test_what_cannot_run_here_waits_for_the_next_daemon(self):
        self.kill_and_restart("--path-root", str(self.folder))
        self.submit_long_job()
        self.save("x.npy", np.ones(1000))
        waits = self.submit("vector_add", f"path:{self.folder}/x.npy", f"path:{self.folder}/x.npy", "--request-id", "mine")
        self.kill_and_restart("--path-root", "/usr")
        for command in ("show", "result"):
            self.hotplate(command, waits, code=harness.TRY_LATER, says=f"job {waits} waits in the journal for the next daemon")
        again = ("submit", "integrate2d", "--n", "10", "--request-id", "mine")
        for command in ("submit", "run"):
            self.hotplate(command, *again[1:], code=harness.TRY_LATER, says=f'request_id "mine" belongs to job {waits}')
        self.hotplate("cancel", waits)
        self.hotplate("wait", waits, code=harness.CANCELLED, says="was cancelled on request")
        self.kill_and_restart("--path-root", str(self.folder))
        self.assertEqual(self.job(waits)["state"], "CANCELLED")

    def test_no_rerun(self):
        job = self.submit_long_job("--no-rerun")
        self.kill_and_restart()
        self.hotplate("wait", job, code=harness.FAILED, says="it ran when its daemon ended, and is not to run again (--no-rerun)")

    def test_up_tells_what_waits_for_other_names(self):
        self.submit_long_job()
        self.submit("integrate2d", "--n", "10")
        self.stop_daemon(self.daemon, signal.SIGKILL)
        told = "2 jobs wait for the next daemon of the name local: hotplate up --name local"
        try:
            self.hotplate("up", "--local", "--name", "new", "--", "--device", "cpu", says=told)
        finally:
            self.hotplate("--server", "new", "down", "--yes")
        self.daemon = self.start_daemon(*self.flags)
        try:
            _, out, err = self.run_command("up", "--local", "--name", "new", "--", "--device", "cpu")
            self.assertNotIn("the next daemon of the name", out + err, "it is there")
        finally:
            self.hotplate("--server", "new", "down", "--yes")

    def test_held_arrays_are_kept_for_it(self):
        values = np.arange(100_000, dtype=np.float64)
        self.save("held.npy", values)
        self.hotplate("put", "held.npy", "--name", "H")
        runs = self.submit_long_job()
        job = self.submit("vector_add", "array:H", "array:H")
        self.hotplate("free", "H")
        self.kill_and_restart()
        self.hotplate("cancel", runs)
        self.completed(job)
        np.testing.assert_array_equal(self.result(job, "c"), 2 * values)

    def test_a_stop_leaves_jobs_to_the_next_one(self):
        done = self.submit("integrate2d", "--n", "10")
        self.completed(done)
        runs = self.submit_long_job()
        waits = self.submit("integrate2d", "--n", "10")
        watcher = self.start("watch", waits)
        self.hotplate("down", "--yes", says=(
            f"2 jobs (job {waits}, job {runs}), results of 1 job that nobody fetched (job {done})",
            "for the next daemon of this name (hotplate up --name local)"))
        self.assertIn(f"job {waits} (integrate2d) goes on with the next daemon", "".join(watcher.communicate(timeout=harness.PATIENCE)))
        self.assertEqual(self.daemon.wait(timeout=harness.PATIENCE), 0)
        self.daemon = self.start_daemon(*self.flags)
        self.hotplate("result", done)
        self.wait_for_state(runs, "RUNNING")
        self.hotplate("cancel", runs)
        self.assertEqual(self.completed(waits)["state"], "COMPLETED")


class Arrays(Durable):
    """Arrays under a lease: in a file once the daemon has ended, or at once with --durable."""

    def setUp(self):
        super().setUp()
        self.values = np.arange(100_000, dtype=np.float64)
        self.save("x.npy", self.values)

    def forget_all(self):
        super().forget_all()
        shutil.rmtree(self.directory / "saved" / "local", ignore_errors=True)

    def names(self):
        return [array["name"] for array in self.answer("arrays").get("arrays", [])]

    def restart(self):
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        self.daemon = self.start_daemon(*self.flags)

    def got(self, name):
        self.hotplate("get", name, "-o", "got.npy")
        return np.load(self.folder / "got.npy")

    def test_they_come_back_after_an_orderly_end(self):
        self.hotplate("put", "x.npy", "--name", "A", "--lease", "2h")
        self.hotplate("put", "x.npy", "--name", "B")
        lease = self.answer("arrays")["arrays"][0]["leaseExpireTime"]
        for _ in range(2):
            self.restart()
            self.assertEqual(self.names(), ["A", "B"])
            self.assertAlmostEqual(self.answer("arrays")["arrays"][0]["leaseExpireTime"], lease, delta=1)
        np.testing.assert_array_equal(self.got("A"), self.values)
        self.hotplate("run", "vector_add", "array:A", "array:B", "-o", "array:C")
        self.hotplate("free", "A")
        self.restart()
        self.assertEqual(self.names(), ["B", "C"], "A was freed")
        np.testing.assert_array_equal(self.got("C"), 2 * self.values)

    def test_a_durable_one_outlives_a_killed_daemon(self):
        file = str(self.directory / "saved/local/A.npy")
        self.hotplate("put", "x.npy", "--name", "A", "--durable", says=f"also in {file}")
        self.assertEqual(self.answer("put", "x.npy", "--name", "A", "--durable", "--replace")["file"], file)
        self.hotplate("put", "x.npy", "--name", "B")
        self.kill_and_restart()
        self.assertEqual(self.names(), ["A"])
        np.testing.assert_array_equal(self.got("A"), self.values)

    def test_another_of_that_name_takes_its_place(self):
        self.hotplate("put", "x.npy", "--name", "A", "--durable")
        self.save("y.npy", -self.values)
        self.hotplate("put", "y.npy", "--name", "A", "--replace", "--durable")
        self.kill_and_restart()
        np.testing.assert_array_equal(self.got("A"), -self.values)

    def test_one_whose_file_is_gone_is_named(self):
        self.hotplate("put", "x.npy", "--name", "A", "--durable")
        (self.directory / "saved" / "local" / "A.npy").unlink()
        self.kill_and_restart()
        self.assertEqual(self.names(), [])
        self.assertIn("array A of a daemon before this one is not back", self.log())

    def test_a_lease_that_is_over_stays_over(self):
        self.hotplate("put", "x.npy", "--name", "A", "--durable")
        self.stop_daemon(self.daemon, signal.SIGKILL)
        index = next((self.directory / "journal" / "local").glob("index-*.sqlite"))
        with contextlib.closing(sqlite3.connect(index)) as database, database:  # as hours later
            database.execute("UPDATE arrays SET lease_end_ns=?", (time.time_ns(),))
        self.daemon = self.start_daemon(*self.flags)
        self.assertEqual(self.names(), [])
        self.assertIn("array A of a daemon before this one: its lease is over", self.log())


class Numbers(Durable):
    def test_a_lost_folder_of_job_ids_gives_no_number_twice(self):
        runs = self.submit_long_job()
        self.stop_daemon(self.daemon, signal.SIGKILL)
        shutil.rmtree(self.directory / "jobs")
        self.daemon = self.start_daemon(*self.flags)
        new = self.submit("integrate2d", "--n", "10")
        self.assertGreater(int(new), int(runs))
        self.wait_for_state(runs, "RUNNING")
        self.hotplate("cancel", runs)
        self.completed(new)


class Elsewhere(Durable):
    def test_another_daemon_says_whose_a_job_is(self):
        job = self.submit("integrate2d", "--n", "10")
        self.completed(job)
        self.kill_and_restart()
        other = self.start_daemon(name="other")
        self.hotplate("--server", "other", "result", job, code=harness.INVALID,
                      says=(f'job {job}', 'is of daemon "local"; ask it: hotplate --server local'))
        self.assertEqual(self.stop_daemon(other), 0)
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        other = self.start_daemon(name="other")
        self.hotplate("--server", "other", "result", job, code=harness.INVALID,
                      says=(f"job {job}", 'was of daemon "local", which died', f"hotplate show {job}"))
        self.hotplate("--server", "other", "show", job, says="COMPLETED")
        self.assertEqual(self.stop_daemon(other), 0)


class Many(Durable):
    flags = (*Durable.flags, "--retained-jobs", "5")

    def test_ends_of_before_take_no_room_from_new_jobs(self):
        for n in range(5):
            self.completed(self.submit("integrate2d", "--n", str(10 + n)))
        self.hotplate("submit", "integrate2d", "--n", "15", code=harness.TRY_LATER, says="limit retained-jobs: 5")
        self.kill_and_restart()
        self.assertEqual(len(self.answer("jobs")["jobs"]), 5)
        self.completed(self.submit("integrate2d", "--n", "15"))


    def test_what_left_the_memory_is_read_back(self):
        values = np.arange(1 << 17, dtype=np.float64)
        self.save("a.npy", values)
        first = self.submit("vector_add", "a.npy", "a.npy")
        self.completed(first)
        self.result(first, "c")
        self.kill_and_restart()  # an array that a job owns would keep the job
        for n in range(8):
            self.completed(self.submit("integrate2d", "--n", str(10 + n)))
            self.hotplate("result", "last")
        self.assertNotIn(first, [job["id"] for job in self.answer("jobs")["jobs"]])
        self.assertEqual(self.job(first)["state"], "COMPLETED")
        np.testing.assert_array_equal(self.result(first, "c"), 2 * values)


class Little(Durable):
    flags = (*Durable.flags, "--saved-bytes", "1MB")

    def test_arrays_beyond_the_limit_need_a_file_of_their_own(self):
        values = np.arange(200_000, dtype=np.float64)
        self.save("x.npy", values)
        self.hotplate("put", "x.npy", "--name", "A")
        self.hotplate("submit", "vector_add", "array:A", "array:A", code=harness.TRY_LATER, says=(
            "the arrays that the job takes cannot be kept for it", "may have 1.0 MB", "hotplate put --durable", "hotplate run"))
        self.hotplate("run", "vector_add", "array:A", "array:A", "-o", "c.npy")
        runs = self.submit_long_job()
        self.hotplate("put", "x.npy", "--name", "A", "--durable", "--replace")
        jobs = [self.submit("vector_add", "array:A", "array:A") for _ in range(2)]
        self.save("x.npy", -values)
        self.hotplate("put", "x.npy", "--name", "A", "--durable", "--replace")
        self.kill_and_restart()
        self.hotplate("cancel", runs)
        for job in jobs:
            self.completed(job)
            np.testing.assert_array_equal(self.result(job, "c"), 2 * values)
        self.hotplate("journal", "verify")


class Old(Durable):
    flags = (*Durable.flags, "--result-retention", "1s")

    def test_a_result_that_was_fetched_long_ago_is_read_back(self):
        values = np.arange(1 << 19, dtype=np.float64)
        self.save("a.npy", values)
        job = self.submit("vector_add", "a.npy", "a.npy")
        self.completed(job)
        self.result(job, "c")
        harness.wait_until(lambda: not self.answer("jobs").get("jobs"), "it left the memory")
        np.testing.assert_array_equal(self.result(job, "c"), 2 * values)
        harness.wait_until(lambda: not self.answer("jobs").get("jobs"), "it left the memory")
        self.hotplate("wait", job)


class Requests(Durable):
    def test_a_request_id_is_one_for_run_and_submit(self):
        words = ("integrate2d", "--n", "10", "--request-id", "both")
        job = self.submit(*words)
        self.completed(job)
        self.assertEqual(self.answer("run", *words)["jobId"], job)

    def test_a_request_id_runs_once(self):
        words = ("integrate2d", "--n", "10", "--request-id", "mine")
        job = self.submit(*words)
        self.completed(job)
        self.kill_and_restart()
        self.assertEqual(self.submit(*words), job)
        self.hotplate("submit", "integrate2d", "--n", "11", "--request-id", "mine", code=harness.INVALID,
                      says=f"belongs to job {job}, which was used with another payload")


class Broken(harness.Case):
    def test_a_journal_that_cannot_be_had_refuses_detached_jobs_alone(self):
        (self.folder / "file").write_text("no folder")
        daemon = self.start_daemon("--journal", self.folder / "file")
        self.hotplate("submit", "integrate2d", "--n", "10", code=harness.TRY_LATER,
                      says=("could not be written to the journal", str(self.folder / "file"), "hotplate run"))
        self.hotplate("run", "integrate2d", "--n", "10")
        np.save(self.folder / "x.npy", np.ones(3))
        self.hotplate("put", "x.npy", "--durable", code=harness.TRY_LATER, says=("array:x is on the daemon, and in no file", "could not be written"))
        self.assertIn("no detached jobs are taken", self.log())
        self.assertEqual(self.stop_daemon(daemon), 0)

    def test_without_a_journal_jobs_end_with_the_daemon(self):
        daemon = self.start_daemon("--journal", "off", name="off")
        np.save(self.folder / "x.npy", np.ones(3))
        self.hotplate("--server", "off", "put", "x.npy", "--durable", code=harness.TRY_LATER, says="this daemon keeps no journal")
        job = self.answer("--server", "off", "submit", "integrate2d", "--n", "10")["jobId"]
        self.hotplate("--server", "off", "wait", job)
        self.stop_daemon(daemon, signal.SIGKILL)
        daemon = self.start_daemon("--journal", "off", name="off")
        self.hotplate("--server", "off", "result", job, code=harness.INVALID, says=(f'job {job}', 'was of daemon "off", which died'))
        self.assertEqual(self.stop_daemon(daemon), 0)


if __name__ == "__main__":
    harness.main()
