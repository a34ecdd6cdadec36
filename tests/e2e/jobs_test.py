"""Jobs over their life: cancelled, interrupted, timed out, detached, drained; and the exit code of each ending."""

import os
import pathlib
import re
import resource
import select
import signal
import time

import numpy as np

import harness


class Jobs(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        np.save(cls.folder / "x.npy", np.linspace(-1, 1, 1000, dtype=np.float32))

    def wait_for_new_running_job(self, known):
        def found():
            return next((job for job in self.answer("jobs")["jobs"]
                         if job["id"] not in known and job["state"] == "RUNNING"), None)
        return harness.wait_until(found, "a new job RUNS")["id"]

    def known(self):
        return {job["id"] for job in self.answer("jobs")["jobs"]}

    def test_cancel_takes_effect_within_the_kernels_bound(self):
        job_id = self.submit_long_job()
        self.hotplate("cancel", job_id)
        start = time.monotonic()
        job = self.wait_for_state(job_id, *harness.ENDED)
        waited = time.monotonic() - start
        self.assertEqual(job["state"], "CANCELLED")
        # 250 ms is promised; the job itself would run for hours, so this tells a cancel from an end by itself.
        self.assertLess(waited, 20)
        self.hotplate("wait", job_id, code=harness.CANCELLED)
        self.hotplate("result", job_id, code=harness.CANCELLED)

    def test_cancel_says_of_what_cannot_be_interrupted_when_it_takes_effect(self):
        long_job = self.submit_long_job()
        self.assertEqual(self.hotplate("cancel", long_job), f"✓ job {long_job} will be cancelled\n  hotplate wait {long_job}\n")
        for side in (1500, 2000, 3000):  # the best part of a second, or more where it is over before it is cancelled
            np.save(self.folder / "square.npy", np.random.default_rng(1).random((side, side)))
            job_id = self.answer("submit", "svd", "square.npy")["jobId"]
            self.wait_for_state(job_id, "RUNNING", *harness.ENDED)
            code, out, err = self.run_command("cancel", job_id)
            if "has already ended" not in out + err:
                break
        self.assertEqual(code, 0, out + err)
        self.assertIn(f"job {job_id} will be cancelled, at the latest when svd ends: it cannot be interrupted", out + err)
        self.assertTrue(self.job(job_id)["cancelRequested"])
        self.hotplate("wait", job_id, code=harness.CANCELLED)

    def test_cancelled_by_somebody_else(self):
        known = self.known()
        run = self.start("run", *harness.LONG_JOB)
        self.hotplate("cancel", self.wait_for_new_running_job(known))
        out, err = run.communicate(timeout=harness.PATIENCE)
        self.assertEqual(run.returncode, harness.CANCELLED, out + err)

    def test_interrupt_cancels_an_attached_job_and_says_so(self):
        known = self.known()
        run = self.start("run", "mandelbrot", "--resolution", "20000", "--max-iterations", "100000000", "-o", "m.png")
        job_id = self.wait_for_new_running_job(known)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=harness.PATIENCE)
        self.assertEqual(run.returncode, harness.INTERRUPTED, out + err)
        self.assertIn("cancelled", err)
        self.assertIn(job_id, err)
        self.assertIn("m.png", err)
        self.assertFalse((self.folder / "m.png").exists())
        self.assertEqual(self.wait_for_state(job_id, *harness.ENDED)["state"], "CANCELLED")

    def test_interrupting_a_watch_leaves_the_job_alone(self):
        job_id = self.submit_long_job()
        watch = self.start("watch", job_id)
        # What it prints tells that its stream is open.
        self.assertTrue(select.select([watch.stdout], [], [], harness.PATIENCE)[0], "it prints nothing")
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=harness.PATIENCE)
        # Nothing to tidy up, so the signal may end it: 130 for a shell in either case.
        self.assertIn(watch.returncode, (harness.INTERRUPTED, -signal.SIGINT))
        self.assertEqual(self.job(job_id)["state"], "RUNNING")
        self.hotplate("cancel", job_id)
        self.wait_for_state(job_id, "CANCELLED")

    def test_a_client_that_is_killed_takes_its_attached_job_along(self):
        daemon = self.start_daemon("--disconnect-grace", "100ms", name="graceful")
        run = self.start("--server", "graceful", "run", *harness.LONG_JOB)
        jobs = lambda: self.answer("--server", "graceful", "jobs")["jobs"]
        harness.wait_until(lambda: [job for job in jobs() if job["state"] == "RUNNING"], "the job ran")
        run.kill()
        harness.wait_until(lambda: [job for job in jobs() if job["state"] == "CANCELLED"], "its job was cancelled")
        self.assertEqual(self.stop_daemon(daemon), 0)

    def test_time_limit(self):
        code, out, err = self.run_command("run", *harness.LONG_JOB, "--time-limit", "200ms")
        self.assertEqual(code, harness.TIMEOUT, out + err)
        job_id = self.answer("submit", *harness.LONG_JOB, "--time-limit", "200ms")["jobId"]
        self.hotplate("wait", job_id, code=harness.TIMEOUT)
        self.assertEqual(self.job(job_id)["state"], "TIMEOUT")

    def test_timeout_of_the_whole_call_says_what_is_known(self):
        known = self.known()
        for timeout in ("1s", "5s", "20s"):  # the first in which the job came to the daemon
            code, out, err = self.run_command("run", *harness.LONG_JOB, "--timeout", timeout, "-o", "value=v.npy")
            if self.known() != known:
                break
        self.assertEqual(code, harness.TIMEOUT, out + err)
        self.assertIn("--timeout", err)
        # Asked for; nobody waited to see whether it was.
        self.assertIn("asked to cancel", err)
        self.assertNotIn("was cancelled", err)
        self.assertIn("v.npy not written", err)
        harness.wait_until(lambda: all(job["state"] in harness.ENDED for job in self.answer("jobs")["jobs"]
                                       if job["id"] not in known), "its job ended")

    def test_a_detached_job_from_other_processes(self):
        job_id = self.answer("submit", "selu", "x.npy", "--alpha", "2")["jobId"]
        self.hotplate("watch", job_id)
        self.hotplate("wait", job_id)
        self.hotplate("result", job_id, "-o", "y.npy")
        x = np.load(self.folder / "x.npy").astype(np.float64)
        wanted = 1.05 * np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0)))
        np.testing.assert_allclose(np.load(self.folder / "y.npy"), wanted, rtol=1e-6)
        # It stays: a result can be fetched again.
        self.hotplate("result", job_id, "-o", "again.npy")
        self.assertEqual((self.folder / "y.npy").read_bytes(), (self.folder / "again.npy").read_bytes())

    def test_result_of_a_job_that_goes_on(self):
        job_id = self.submit_long_job()
        self.hotplate("result", job_id, code=harness.TRY_LATER, says="RUNNING")
        self.hotplate("cancel", job_id)
        self.wait_for_state(job_id, "CANCELLED")

    def test_a_result_that_was_kept_as_an_array_comes_from_there(self):
        job_id = self.answer("submit", "selu", "x.npy", "-o", "array:KK")["jobId"]
        self.hotplate("wait", job_id)
        self.hotplate("result", job_id, "-o", "kk.npy")
        self.hotplate("get", "KK", "-o", "array.npy")
        self.assertEqual((self.folder / "kk.npy").read_bytes(), (self.folder / "array.npy").read_bytes())
        self.hotplate("free", "KK")
        self.hotplate("result", job_id, "-o", "kk.npy", code=harness.INVALID, says="output y")

    def test_a_full_disk_does_not_lose_the_result(self):
        x = np.linspace(-1, 1, 2_000_000, dtype=np.float32)
        np.save(self.folder / "large.npy", x)

        def small_files_only():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

        for words, whole in ((("selu", "large.npy"), x.shape), (("mandelbrot", "--resolution", "600"), (600, 600))):
            run = self.start("run", *words, "-o", "full.npy", preexec_fn=small_files_only)
            out, err = run.communicate(timeout=harness.PATIENCE)
            self.assertEqual(run.returncode, harness.FAILED, out + err)
            self.assertIn("full.npy", err)
            self.assertFalse((self.folder / "full.npy").exists())
            fetch = re.search(r"hotplate (result \S+ -o elsewhere.npy)", err)
            self.assertTrue(fetch, err)
            self.hotplate(*fetch[1].split())
            self.assertEqual(np.load(self.folder / "elsewhere.npy").shape, whole)

    def test_a_watch_tells_when_the_job_ended(self):
        """Also of one that ended before somebody watched, and of one that never began."""
        long = [self.submit_long_job(), *(self.answer("submit", *harness.LONG_JOB)["jobId"] for _ in range(4))]
        over = self.answer("submit", "vector_add", "x.npy", "x.npy", "--priority", "100")["jobId"]
        for job_id in reversed(long):  # those that wait first
            self.hotplate("cancel", job_id)
        for job_id in (*long, over):
            self.wait_for_state(job_id, *harness.ENDED)
        self.assertTrue([job for job in map(self.job, long) if "startTime" not in job], "one waited when it was cancelled")
        ended = {job_id: re.search(r"ended +(\S+)", self.hotplate("show", job_id))[1] for job_id in (*long, over)}
        harness.wait_until(lambda: time.strftime("%H:%M:%S") > max(ended.values()), "the clock goes on")
        for job_id, when in ended.items():
            out = self.run_command("watch", job_id)[1]
            self.assertEqual(out.splitlines()[-1].split()[0], when, out)

    def test_unknown_job(self):
        for verb in ("show", "watch", "wait", "cancel", "result"):
            self.hotplate(verb, "no-such-job", code=harness.INVALID, says="no-such-job")

    def test_plain_words_for_scripts(self):
        job_id = self.hotplate("submit", "integrate2d", "--n", "10", "--quiet").strip()
        self.assertRegex(job_id, r"^\S+$")
        self.hotplate("wait", job_id)

    def test_progress_on_a_terminal(self):
        known = self.known()
        run, shown = self.start_on_terminal("run", *harness.LONG_JOB)
        try:
            harness.wait_until(lambda: re.search(rb"\d+ ?%", shown()), "a progress bar was drawn")
        finally:
            self.run_command("cancel", self.wait_for_new_running_job(known))
            harness.wait_until(lambda: (shown(), run.poll())[1] is not None, "a cancelled run ends")
        self.assertEqual(run.returncode, harness.CANCELLED)


class OneLane(harness.Case):
    """One job at a time, so that a job can be made to wait."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon("--lanes", "1")

    def test_a_job_that_fails(self):
        # Its input is whole when the job comes in, and cut while it waits: no check beforehand could have seen that.
        file = self.folder / "cut.npy"
        np.save(file, np.ones(1_000_000))
        first = self.submit_long_job()
        run = self.start("run", "vector_add", f"path:{file}", f"path:{file}", "-o", "sum.npy")
        job_id = harness.wait_until(lambda: next((job["id"] for job in self.answer("jobs")["jobs"]
                                                  if job["state"] == "PENDING"), None), "the job waits")
        os.truncate(file, 1000)
        self.hotplate("cancel", first)
        out, err = run.communicate(timeout=harness.PATIENCE)
        self.assertEqual(run.returncode, harness.FAILED, out + err)
        self.assertIn("1000", err)
        self.assertFalse((self.folder / "sum.npy").exists())
        self.assertEqual(self.job(job_id)["state"], "FAILED")
        for verb in ("wait", "result", "watch"):
            self.hotplate(verb, job_id, code=harness.FAILED)

    def test_the_same_request_id(self):
        ids = {self.answer("submit", "integrate2d", "--n", "50", "--request-id", "mine")["jobId"] for _ in range(3)}
        self.assertEqual(len(ids), 1)
        self.hotplate("submit", "integrate2d", "--n", "51", "--request-id", "mine", code=harness.INVALID, says="mine")
        job_id = ids.pop()
        self.hotplate("wait", job_id)
        self.hotplate("submit", "integrate2d", "--n", "50", "--request-id", "mine",
                      says=[f"job {job_id} of request id mine is COMPLETED"])

    def test_random_draws_a_seed_and_a_request_id_draws_it_once(self):
        drawn = [self.answer("run", "random", "--n", "20", "-o", f"{i}.npy", "--request-id", "drawn")["receipt"] for i in range(2)]
        self.assertEqual(drawn[0]["seed"], drawn[1]["seed"])
        self.assertEqual((self.folder / "0.npy").read_bytes(), (self.folder / "1.npy").read_bytes())
        other = self.answer("run", "random", "--n", "20", "-o", "other.npy")["receipt"]
        self.assertNotEqual(other["seed"], drawn[0]["seed"])
        self.hotplate("run", "random", "--n", "20", "--seed", str(drawn[0]["seed"]), "-o", "repeated.npy")
        self.assertEqual((self.folder / "0.npy").read_bytes(), (self.folder / "repeated.npy").read_bytes())

        self.hotplate("run", "random", "--n", "20", "--seed", "-1", code=harness.INVALID, says=["--seed", "is out of range: from 0"])

    def test_the_same_request_id_with_large_inputs(self):
        # Above what travels in the request both ways, and an output alone that is.
        np.save(self.folder / "large.npy", np.linspace(-1, 1, 1_000_000, dtype=np.float32))
        for job in (("selu", "large.npy"), ("mandelbrot", "--resolution", "1500")):
            told = [self.answer("run", *job, "-o", f"{i}.npy", "--request-id", job[0]) for i in range(3)]
            self.assertEqual(len({one["jobId"] for one in told}), 1)
            self.assertEqual([one["client"]["bytesUp"] for one in told], [4_000_000 if job[0] == "selu" else 0, 0, 0])
            self.assertEqual((self.folder / "0.npy").read_bytes(), (self.folder / "2.npy").read_bytes())
        np.save(self.folder / "large.npy", np.linspace(-1, 2, 1_000_000, dtype=np.float32))
        self.hotplate("run", "selu", "large.npy", "--request-id", "selu", code=harness.INVALID, says="another payload")
        # The name is taken by then, by the job that the second call finds.
        kept = [self.answer("run", "selu", "large.npy", "-o", "array:kept", "--request-id", "again") for _ in range(2)]
        self.assertEqual(kept[0]["jobId"], kept[1]["jobId"])
        self.hotplate("free", "kept")
        self.hotplate("run", "selu", "large.npy", "--request-id", "again", "--dry-run",
                      says=f"request id again would find job {kept[0]['jobId']} if the call is the same; nothing was run")

    def test_a_repeated_call_may_leave_its_outputs_unnamed(self):
        np.save(self.folder / "square.npy", np.eye(4) + 1)
        call = ("run", "svd", "square.npy", "-o", "u.npy", "-o", "s.npy", "-o", "vt.npy", "--request-id", "unnamed")
        self.assertEqual(*[self.answer(*call)["jobId"] for _ in range(2)])

    def test_a_dry_run_runs_nothing(self):
        before = len(self.answer("jobs")["jobs"])
        self.assertNotIn("FLOP", self.hotplate("run", "mandelbrot", "--dry-run"))
        self.hotplate("run", *harness.LONG_JOB, "--dry-run", says="cpu0")
        self.assertEqual(len(self.answer("jobs")["jobs"]), before)

    def test_how_much_comes_out_may_depend_on_the_data(self):
        random = np.random.default_rng(1)
        keys, values = random.integers(-300, 300, 5000), random.normal(size=5000)
        unique_keys, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
        np.save(self.folder / "keys.npy", keys)
        np.save(self.folder / "values.npy", values)
        call = ["run", "groupby_sum", "keys.npy", "values.npy"]
        self.hotplate(*call, "--dry-run", says="int64 [at most 5000]")
        self.hotplate("describe", "groupby_sum", says="[at most n]")
        self.hotplate(*call, "-o", "unique_keys=k.npy", "-o", "sums=s.npy", "-o", "counts=array:COUNTS")
        self.hotplate("get", "COUNTS", "-o", "c.npy")
        np.testing.assert_array_equal(np.load(self.folder / "k.npy"), unique_keys)
        np.testing.assert_allclose(np.load(self.folder / "s.npy"), np.bincount(places, weights=values), atol=1e-9)
        np.testing.assert_array_equal(np.load(self.folder / "c.npy"), counts)
        self.assertIn(f"int64 [{len(counts)}]", self.hotplate("arrays"))
        np.save(self.folder / "none.npy", keys[:0])
        self.hotplate("run", "groupby_sum", "none.npy", "none.npy", "-o", "unique_keys=k.npy")
        self.assertEqual(np.load(self.folder / "k.npy").shape, (0,))


class Queue(harness.Case):
    def test_a_full_queue_says_to_come_later(self):
        self.start_daemon("--queue", "2", "--lanes", "1")
        jobs = [self.submit_long_job()]
        codes = []
        for _ in range(4):
            code, out, err = self.run_command("submit", *harness.LONG_JOB, "--quiet")
            codes.append(code)
            if code == harness.OK:
                jobs.append(out.strip())
            else:
                self.assertIn("queue", err)
        self.assertEqual(codes[-1], harness.TRY_LATER, codes)
        for job_id in reversed(jobs):
            self.hotplate("cancel", job_id)
        for job_id in jobs:
            self.wait_for_state(job_id, "CANCELLED")

    def test_priority_goes_first(self):
        daemon = self.start_daemon("--lanes", "1", name="one-lane")
        server = ("--server", "one-lane")
        first = self.answer(*server, "submit", *harness.LONG_JOB)["jobId"]
        harness.wait_until(lambda: self.answer(*server, "show", first)["state"] == "RUNNING", "the first job RUNS")
        low = self.answer(*server, "submit", *harness.LONG_JOB, "--priority", "-5")["jobId"]
        high = self.answer(*server, "submit", *harness.LONG_JOB, "--priority", "5")["jobId"]
        self.hotplate(*server, "cancel", first)
        harness.wait_until(lambda: self.answer(*server, "show", high)["state"] == "RUNNING", "the urgent job RUNS")
        self.assertEqual(self.answer(*server, "show", low)["state"], "PENDING")
        for job_id in (low, high):
            self.hotplate(*server, "cancel", job_id)
        self.assertEqual(self.stop_daemon(daemon), 0)


class Memory(harness.Case):
    def test_a_dry_run_names_the_job_that_is_waited_for(self):
        self.start_daemon("--lanes", "2", env={"SLURM_JOB_ID": "9", "SLURM_CLUSTER_NAME": "fake", "SLURMD_NODENAME": "gpu1",
                                               "SLURM_MEM_PER_NODE": "1000", "HOTPLATE_SQUEUE_INTERVAL": "0"})
        counts = ("mandelbrot", "--max-iterations", "100000000")  # of 4 bytes each
        other = ("run", *counts, "--resolution", "13000", "--dry-run")
        self.hotplate(*other, says=["fits now", "676.0 MB needed, "])
        job_id = self.answer("submit", *counts, "--resolution", "12000")["jobId"]
        self.wait_for_state(job_id, "RUNNING")
        self.hotplate(*other, says=[f"fits after job {job_id} (mandelbrot)", "676.0 MB needed, "])
        fit = self.answer(*other)["devices"][0]
        self.assertEqual((fit["fit"], fit["afterJob"]), ("LATER", {"jobId": job_id, "kernel": "mandelbrot"}))
        self.hotplate("run", *counts, "--resolution", "30000", "--dry-run", code=harness.INVALID, says="array-bytes")
        # The memory for arrays is three quarters of all, and not waited for.
        lacks = "; free arrays or wait for jobs: hotplate arrays, hotplate jobs"
        harness.wait_until(lambda: "it would fail now" in (out := self.hotplate(*other)) and lacks in out,
                           "the running job has its output's memory")
        self.hotplate("cancel", job_id)
        self.wait_for_state(job_id, "CANCELLED")
        harness.wait_until(lambda: "fits now" in (out := self.hotplate(*other)) and "fail" not in out, "there is room again")

    def test_a_dry_run_says_what_can_never_have_its_memory(self):
        self.start_daemon("--array-bytes", "1MB", name="small")
        np.save(self.folder / "half.npy", np.zeros(150_000, np.float32))  # and as much comes out
        small = ("--server", "small", "run", "selu", "half.npy", "--dry-run")
        out = self.hotplate(*small, code=harness.INVALID, says=[
            "it can never run here: of the memory for arrays (limit array-bytes) 1.2 MB needed, ",
            "✗ refused: selu can never run here; nothing was run"])
        self.assertNotIn("would be accepted", out)
        self.assertNotIn("would fail now", out)
        self.assertEqual(self.answer(*small, code=harness.INVALID)["arrayMemory"]["bytesNeeded"], 1200000)


class Drain(harness.WithoutJournal):
    def test_term_cancels_what_does_not_finish_in_time_and_tells_watchers(self):
        daemon = self.start_daemon("--drain-timeout", "500ms")
        job_id = self.submit_long_job()
        watch = self.start("watch", job_id)
        run = self.start("run", *harness.LONG_JOB)
        harness.wait_until(lambda: sum(job["state"] == "RUNNING" for job in self.answer("jobs")["jobs"]) == 2, "both ran")
        self.assertEqual(self.stop_daemon(daemon), 0)
        self.assertFalse(self.record_path().exists())
        for command in (watch, run):
            out, err = command.communicate(timeout=harness.PATIENCE)
            # Told of the cancelled job, or, if the daemon was gone first, of the lost connection.
            self.assertIn(command.returncode, (harness.CANCELLED, harness.NO_DAEMON), out + err)
        self.assertIn("drain", self.log().lower())

    def test_term_tells_who_looks_on_in_words(self):
        daemon = self.start_daemon("--drain-timeout", "100ms")
        np.save(self.folder / "square.npy", np.random.default_rng(1).random((5000, 5000)))  # a minute or so
        job_id = self.answer("submit", "svd", "square.npy")["jobId"]
        self.wait_for_state(job_id, "RUNNING")
        watch = self.start("watch", job_id)
        top = self.start("top", "--interval", "200ms")
        for command in (watch, top):
            self.assertTrue(command.stdout.readline(), "it is past its beginnings")
        self.assertEqual(self.stop_daemon(daemon), 0)
        self.assertFalse(self.record_path().exists())
        out, err = watch.communicate(timeout=harness.PATIENCE)
        self.assertEqual(watch.returncode, harness.NO_DAEMON, out + err)
        self.assertIn(f"job {job_id} (svd) cannot be interrupted", out)
        self.assertNotIn("left its record", err)
        lost = top.stderr.readline()
        self.assertIn("connection lost: ", lost)
        self.assertNotIn("CANCELLED", lost)
        top.kill()

    def test_term_lets_a_short_job_finish(self):
        daemon = self.start_daemon("--drain-timeout", "60s")
        run = self.start("run", "integrate2d", "--n", "30000")
        harness.wait_until(lambda: self.answer("jobs")["jobs"] or run.poll() is not None, "the job came in")
        self.assertEqual(self.stop_daemon(daemon), 0)
        out, err = run.communicate(timeout=harness.PATIENCE)
        self.assertEqual(run.returncode, harness.OK, out + err)

    def test_a_draining_daemon_refuses_for_now(self):
        daemon = self.start_daemon("--drain-timeout", "30s")
        job_id = self.submit_long_job()
        daemon.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: self.answer("status")["state"] == "DRAINING", "it drains")
        code, out, err = self.run_command("run", "integrate2d", "--n", "10")
        self.assertEqual(code, harness.TRY_LATER, out + err)
        self.assertIn("drain", err)
        np.save(self.folder / "x.npy", np.ones(4))
        self.hotplate("put", "x.npy", code=harness.TRY_LATER, says=["x.npy", "drain"])
        self.hotplate("cancel", job_id)
        self.assertEqual(daemon.wait(timeout=harness.PATIENCE), 0)

    def test_down_in_a_job_that_up_did_not_submit(self):
        self.start_daemon(env={"SLURM_JOB_ID": "9", "SLURM_CLUSTER_NAME": "fake", "SLURMD_NODENAME": "gpu1",
                               "HOTPLATE_SQUEUE_INTERVAL": "0"})
        self.hotplate("down", says="job 9 was not submitted by hotplate up and ends with its script")

    def test_a_parent_that_ignores_sigchld_is_not_followed(self):
        """The programs that they run would have no exit codes."""
        deaf = {"preexec_fn": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
        daemon = self.start_daemon(**deaf)
        watch = self.start("watch", self.submit_long_job(), **deaf)
        self.assertTrue(watch.stdout.readline(), "it is past its beginnings")
        for process in (daemon, watch):
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
            self.assertEqual(int(ignored, 16) >> (signal.SIGCHLD - 1) & 1, 0, status)
        watch.kill()
        self.stop_daemon(daemon, signal.SIGKILL)

    def test_a_second_signal_ends_it_at_once(self):
        daemon = self.start_daemon("--drain-timeout", "10m")
        self.submit_long_job()
        daemon.send_signal(signal.SIGINT)
        harness.wait_until(lambda: self.answer("status")["state"] == "DRAINING", "it drains")
        daemon.send_signal(signal.SIGINT)
        self.assertIsNotNone(daemon.wait(timeout=harness.PATIENCE))


if __name__ == "__main__":
    harness.main()
