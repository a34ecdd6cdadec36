"""Programs that were submitted outlive their daemon, and so does what they printed."""

import json
import os
import shutil
import signal

import harness
from journals import Durable

SECRET = "a-word-that-only-the-program-may-know"


class Programs(Durable):
    def setUp(self):
        super().setUp()
        self.go = self.folder / "go"
        self.ran = self.folder / "ran"
        for file in (self.go, self.ran):
            file.unlink(missing_ok=True)

    def submit(self, *words, **options):
        return self.hotplate("submit", "--quiet", *words, **options).strip()

    def submit_gated(self, *flags):
        """A program that says that it runs, waits until it may end, and prints."""
        script = f"echo x >> {self.ran}; while [ ! -e {self.go} ]; do sleep 0.05; done; echo done; echo so >&2"
        job = self.submit(*flags, "exec", "sh", "-c", script)
        harness.wait_until(self.ran.exists, "the program ran")
        return job

    def runs(self):
        return len(self.ran.read_text().splitlines())

    def printed(self, job):
        return [json.loads(line) for line in self.hotplate("logs", "--json", job).splitlines()]

    def with_requests(self):
        """The jobs of which the journal has the request, and so the environment."""
        jobs = [json.loads(line) for line in self.hotplate("journal", "export").splitlines()]
        return {job["id"] for job in jobs if "request" in job}

    def test_what_ran_runs_again_and_what_waited_runs(self):
        runs = self.submit_gated()
        waits = self.submit("python", "-c", "print('it waited')")
        self.kill_and_restart()
        harness.wait_until(lambda: self.runs() == 2, "it ran again")
        self.assertEqual(self.job(waits)["state"], "PENDING")
        self.go.touch()
        self.assertEqual(self.completed(runs)["state"], "COMPLETED")
        self.assertCountEqual(self.printed(runs), [{"stream": "out", "text": "done\n"}, {"stream": "err", "text": "so\n"}])
        self.completed(waits)
        self.hotplate("logs", waits, says="it waited")

    def test_what_it_printed_stays_and_its_exit_code(self):
        job = self.submit("exec", "sh", "-c", "seq 300000; echo hm >&2; exit 7")
        harness.wait_until(lambda: self.job(job)["state"] == "FAILED", "it had ended")
        before, printed = self.job(job), self.hotplate("logs", job)
        self.assertTrue(printed.startswith("1\n2\n"))
        self.kill_and_restart()
        after = self.job(job)
        for told in ("state", "kernel", "label", "error", "receipt", "submitTime", "startTime", "endTime"):
            self.assertEqual(after.get(told), before.get(told), told)
        self.assertEqual(after["receipt"]["process"]["exitCode"], 7)
        self.assertEqual(self.hotplate("logs", job, says="bytes are not kept"), printed)
        # Once more, when the memory has let it go, and without a daemon.
        self.kill_and_restart("--retained-bytes", "1")
        self.assertEqual(self.hotplate("logs", job), printed)
        self.stop_daemon(self.daemon, signal.SIGKILL)
        self.assertEqual(self.hotplate("logs", job), printed)
        folder = self.directory / "saved" / "local.jobs" / "jobs" / job
        self.assertTrue((folder / "result-stdout.txt").read_text().startswith("1\n2\n"))
        self.assertIn("hm\n", (folder / "result-stderr.txt").read_text())
        self.assertEqual(os.stat(folder / "result-stdout.txt").st_mode & 0o077, 0)
        self.hotplate("journal", "verify", says="2 files")

    def test_its_environment_is_its_own(self):
        self.environment["NOT_TO_BE_SHOWN"] = SECRET
        self.addCleanup(self.environment.pop, "NOT_TO_BE_SHOWN")
        job = self.submit_gated()
        self.assertEqual(self.with_requests(), {job})
        told = self.hotplate("journal", "export")
        self.assertIn(job, [json.loads(line).get("id") for line in told.splitlines()])
        for words in (("show", job), ("show", "--json", job), ("jobs", "--json"), ("history", "--json")):
            told += self.hotplate(*words)
        self.assertNotIn(SECRET, told + self.log())
        for path in (self.directory / "journal" / "local").iterdir():
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)
        self.kill_and_restart()
        harness.wait_until(lambda: self.runs() == 2, "it ran again")
        self.go.touch()
        self.completed(job)
        shown = self.submit("exec", "sh", "-c", "echo $NOT_TO_BE_SHOWN")
        self.completed(shown)
        self.hotplate("logs", shown, says=SECRET)
        self.assertEqual(self.with_requests(), set(), "nothing of what has ended")

    def test_its_environment_is_not_left_on_the_disk(self):
        self.environment["NOT_TO_BE_SHOWN"] = SECRET
        self.addCleanup(self.environment.pop, "NOT_TO_BE_SHOWN")
        self.completed(self.submit("exec", "true"))
        self.assertEqual(self.stop_daemon(self.daemon), 0)
        for path in self.directory.rglob("*"):
            if path.is_file():
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)

    def test_one_that_takes_its_daemon_along_does_not_do_so_for_ever(self):
        job = self.submit("exec", "sh", "-c", f"echo x >> {self.ran}; kill -9 $(cat {self.go}) && sleep 1000")
        harness.wait_until(self.ran.exists, "it ran")  # and found no daemon to kill
        self.completed_or_failed(job)
        self.ran.unlink()
        self.go.write_text(str(self.daemon.pid))
        job = self.submit("exec", "sh", "-c", f"echo x >> {self.ran}; kill -9 $(cat {self.go}); sleep 1000")
        for runs in range(1, 6):
            harness.wait_until(lambda: self.daemon.poll() is not None, "it took its daemon along")
            self.assertEqual(self.runs(), runs)
            self.go.unlink()
            if runs == 5:
                break
            os.mkfifo(self.go)  # it waits for the next daemon's id
            self.daemon = self.start_daemon(*self.flags)
            harness.wait_until(lambda: self.runs() == runs + 1, "it ran again")
            self.go.write_text(str(self.daemon.pid))
        self.daemon = self.start_daemon(*self.flags)
        self.hotplate("wait", job, code=harness.FAILED, says="it has run 5 times")
        self.assertEqual(self.runs(), 5)
        self.assertEqual(self.hotplate("logs", job), "")

    def completed_or_failed(self, job):
        harness.wait_until(lambda: self.job(job)["state"] in ("COMPLETED", "FAILED"), "it had ended")

    def test_what_a_failed_one_printed_is_kept_until_it_is_read(self):
        job = self.submit("exec", "sh", "-c", "echo the reason; exit 3")
        self.completed_or_failed(job)
        self.stop_daemon(self.daemon)
        self.hotplate("journal", "prune", "--older-than", "1ms")
        self.hotplate("logs", job, says="the reason")
        self.daemon = self.start_daemon(*self.flags)
        self.hotplate("logs", job, says="the reason")
        self.stop_daemon(self.daemon)
        self.hotplate("journal", "prune", "--older-than", "1ms")
        self.hotplate("logs", job, says="what it printed was deleted at")

    def test_a_request_id_runs_once_also_where_the_memory_is_small(self):
        words = ("--request-id", "loud", "exec", "sh", "-c", f"echo x >> {self.ran}; seq 1000")
        job = self.submit(*words)
        self.completed(job)
        self.kill_and_restart("--retained-bytes", "1")
        self.assertIn(job, [one["id"] for one in self.answer("jobs")["jobs"]])
        self.assertEqual(self.submit(*words), job)
        self.assertEqual(self.runs(), 1)
        self.assertEqual(self.hotplate("logs", job), "".join(f"{i}\n" for i in range(1, 1001)))

    def test_no_rerun(self):
        job = self.submit_gated("--no-rerun")
        self.kill_and_restart()
        self.hotplate("wait", job, code=harness.FAILED, says="is not to run again (--no-rerun)")
        self.assertEqual(self.hotplate("logs", job), "")
        self.assertEqual(self.runs(), 1)
        self.hotplate("exec", "--no-rerun", "true", code=harness.USAGE, says="hotplate submit exec")

    def test_a_cancel_counts(self):
        self.submit_gated()
        waits = self.submit("exec", "touch", self.folder / "made")
        self.hotplate("cancel", waits)
        self.kill_and_restart()
        self.assertEqual(self.job(waits)["state"], "CANCELLED")
        self.assertFalse((self.folder / "made").exists())

    def test_a_request_id_runs_once(self):
        words = ("--request-id", "once", "exec", "sh", "-c", f"echo x >> {self.ran}")
        job = self.submit(*words)
        self.completed(job)
        for _ in range(2):
            self.assertEqual(self.submit(*words), job)
            self.kill_and_restart()
        self.assertEqual(self.runs(), 1)
        self.hotplate("submit", "--request-id", "once", "exec", "true", code=harness.INVALID, says="once")

    def test_a_folder_that_is_gone_fails_it_by_name(self):
        place = self.folder / "place"
        place.mkdir()
        self.submit_gated()
        job = self.submit("exec", "pwd", cwd=place)
        shutil.rmtree(place)
        self.kill_and_restart()
        self.hotplate("wait", job, code=harness.FAILED, says=(f"job {job}", f"has no folder \"{place}\""))


if __name__ == "__main__":
    harness.main()
