"""Things that outlive a daemon: the numbers of its jobs, and words on what went with it."""

import json
import os
import signal

import numpy as np

import harness


class Ids(harness.WithoutJournal):
    def one_job(self):
        return self.answer("submit", "integrate2d", "--n", "10")["jobId"]

    def last_noted(self):
        """The last number that the current daemon of the name "local" has noted as used."""
        blocks = [json.loads(path.read_text()) for path in (self.directory / "jobs").glob("*.[0-9]")]
        return max(int(block.get("last_used", 0)) for block in blocks
                   if block["daemon"]["generation"] == self.record()["generation"])

    def test_no_id_is_given_twice(self):
        first = self.start_daemon()
        self.assertEqual([self.one_job(), self.one_job()], ["1", "2"])
        self.assertEqual(self.stop_daemon(first), 0)
        second = self.start_daemon()
        for words in (("result", "2"), ("show", "2"), ("wait", "2"), ("watch", "2"), ("cancel", "2")):
            self.hotplate(*words, code=harness.INVALID, says='job 2 was of daemon "local", which ended at ')
        self.assertEqual(self.one_job(), "3", "it goes on where the one before ended")
        # One of another name beside it, and one after a death.
        other = self.start_daemon(name="other")
        beside = self.answer("--server", "other", "submit", "integrate2d", "--n", "10")["jobId"]
        self.assertNotIn(beside, ("1", "2", "3"))
        self.hotplate("result", "90", code=harness.INVALID, says="no job 90")
        harness.wait_until(lambda: self.last_noted() >= 3, "it noted what it had used")
        self.assertEqual(self.stop_daemon(second, signal.SIGKILL), -signal.SIGKILL)
        third = self.start_daemon()
        self.assertNotIn(self.one_job(), ("1", "2", "3", beside))
        self.hotplate("result", "3", code=harness.INVALID, says='job 3 was of daemon "local", which died: it was last seen at ')
        self.hotplate("result", "90", code=harness.INVALID, says='job 90, if there was one, was of daemon "local", which died')
        self.hotplate("result", beside, code=harness.INVALID, says="hotplate --server other")
        for daemon in (third, other):
            self.assertEqual(self.stop_daemon(daemon), 0)

    def test_a_start_that_fails_takes_no_ids(self):
        refused = self.start_daemon("--listen", "192.0.2.1", name="refused", ready=False)
        refused.communicate(timeout=harness.PATIENCE)
        self.assertNotEqual(refused.returncode, 0)
        newest = max((self.directory / "jobs").glob("*.[0-9]"), key=lambda path: [int(part) for part in path.name.split(".")])
        block = json.loads(newest.read_text())
        self.assertIn("end_time", block["daemon"])
        self.assertEqual(int(block.get("last_used", 0)), int(block["first_job_id"]) - 1)


class Death(harness.WithoutJournal):
    def setUp(self):
        for path in self.directory.glob("servers/*.json"):
            path.unlink()

    def held(self, generation):
        blocks = [json.loads(path.read_text()) for path in (self.directory / "jobs").glob("*.[0-9]")]
        return [block["daemon"].get("held", "") for block in blocks if block["daemon"]["generation"] == generation][-1]

    def killed(self, name="local"):
        """A daemon with a job, a result and an array; then it is killed. Returns the ids of the two jobs."""
        daemon = self.start_daemon("--lanes", "1", name=name)
        there = ("--server", name)
        np.save(self.folder / "x.npy", np.zeros(4, np.float32))
        self.hotplate(*there, "put", "x.npy", "--name", "temperatures")
        done = self.answer(*there, "submit", "integrate2d", "--n", "10")["jobId"]
        self.hotplate(*there, "wait", done)
        runs = self.answer(*there, "submit", *harness.LONG_JOB)["jobId"]
        harness.wait_until(lambda: f"job {runs}" in self.held(self.record(name)["generation"]), "it wrote down what it held")
        self.assertEqual(self.stop_daemon(daemon, signal.SIGKILL), -signal.SIGKILL)
        return done, runs

    def words(self, done, runs):
        return (f"when it held: 1 running or waiting job (job {runs})", "1 array of 16 B, results of 1 job that nobody fetched",
                f"(temperatures, job {done})")

    def test_the_next_one_tells_what_went_with_it(self):
        done, runs = self.killed()
        self.hotplate("up", "--local", "--", "--device", "cpu",
                      says=("the daemon before, local, died; it was last seen ", *self.words(done, runs)))
        self.hotplate("jobs", says=("the daemon before, local, died; it was last seen ", *self.words(done, runs)))
        self.hotplate("result", done, code=harness.INVALID, says=f'job {done} was of daemon "local", which died')
        self.assertEqual(self.answer("jobs")["jobs"], [])
        self.hotplate("down")

    def test_a_dead_one_is_shown_dead_and_cleared(self):
        done, runs = self.killed()
        last = self.log().splitlines()[-1]
        self.hotplate("status", code=harness.NO_DAEMON, says=("DEAD", "that process is gone", *self.words(done, runs), last[-30:],
                                                              "hotplate down local"))
        self.assertEqual(self.answer("status", code=harness.NO_DAEMON)["state"], "DEAD")
        self.hotplate("jobs", code=harness.NO_DAEMON, says=(*self.words(done, runs), "its last words: ", last[-30:]))
        self.hotplate("use", says="* local   (dead; clear it: hotplate down local)")
        self.assertEqual(self.answer("use")["dead"], ["local"])
        self.hotplate("down", says=("had died, and its record is removed", *self.words(done, runs)))
        self.assertFalse(self.record_path().exists())
        self.hotplate("down", code=harness.NO_DAEMON, says="no daemon is running")

    def test_what_came_after_its_last_note_is_not_denied(self):
        daemon = self.start_daemon()
        daemon.send_signal(signal.SIGSTOP)  # its next note does not come
        self.assertEqual(self.stop_daemon(daemon, signal.SIGKILL), -signal.SIGKILL)
        for words, code in ((("status",), harness.NO_DAEMON), (("jobs",), harness.NO_DAEMON), (("down",), harness.OK)):
            got, out, err = self.run_command(*words)
            self.assertEqual(got, code, out + err)
            self.assertRegex(out + err, r"it was last seen [^\n]* ago, when it held nothing")
            self.assertNotIn("went with it", out + err)

    def test_the_only_one_that_is_left_is_shown_dead_without_being_current(self):
        done, runs = self.killed(name="other")
        (self.directory / "current").unlink(missing_ok=True)
        last = self.log("other").splitlines()[-1]
        self.hotplate("status", code=harness.NO_DAEMON, says=("other  DEAD", *self.words(done, runs), last[-30:]))
        self.hotplate("jobs", code=harness.NO_DAEMON, says=(*self.words(done, runs), "its last words: ", last[-30:]))
        self.assertIn(last[-30:], self.hotplate("logs"))
        self.hotplate("down", says=("other (pid ", "had died, and its record is removed", *self.words(done, runs)))
        self.assertFalse(self.record_path("other").exists())
        # What down has told, up does not tell again.
        code, out, err = self.run_command("up", "--local", "--", "--device", "cpu")
        self.assertEqual(code, harness.OK, err)
        self.assertNotIn("died", out + err)
        self.hotplate("down")

    def test_of_several_dead_ones_none_is_chosen(self):
        for name in ("local", "other"):
            self.assertEqual(self.stop_daemon(self.start_daemon(name=name), signal.SIGKILL), -signal.SIGKILL)
        (self.directory / "current").unlink(missing_ok=True)
        for command in ("status", "jobs", "down"):
            self.hotplate(command, code=harness.NO_DAEMON, says=("local, other have ended", "hotplate down local", "hotplate down other"))
        self.hotplate("down", "local", says="had died")
        self.hotplate("--endpoint", "127.0.0.1:9", "down", code=harness.NO_DAEMON)
        self.assertTrue(self.record_path("other").exists(), "an address was asked for")
        self.hotplate("down", says="other (pid ")
        self.assertEqual(list((self.directory / "servers").glob("*.json")), [])

    def test_a_dead_one_is_not_chosen_while_another_lives(self):
        self.killed()  # and it is the current one
        other = self.start_daemon(name="other")
        (self.directory / "current").unlink()
        (self.directory / "current").symlink_to("servers/local.json")
        self.assertEqual(self.answer("status")["name"], "other")
        for command in (["status"], ["jobs"], ["run", "integrate2d", "--n", "10"]):
            code, _, err = self.run_command(*command)
            self.assertEqual(code, harness.OK, err)
            self.assertEqual(err.count("! the current daemon, local, died; other answers. Clear it: hotplate down local"), 1, err)
            for form in ("--quiet", "--json"):
                self.assertNotIn("current daemon", self.run_command(*command, form)[2])
        self.assertNotIn("current daemon", self.run_command("jobs", "--server", "other")[2], "it was asked for")
        self.hotplate("use", "local", code=harness.NO_DAEMON, says=("daemon local is dead", "hotplate down local"))
        # The current one is to end; the other is not asked for.
        self.hotplate("down", says="local (pid ")
        self.assertIsNone(other.poll())
        self.assertFalse(self.record_path().exists())
        self.hotplate("down", says="other (pid ")
        self.assertEqual(other.wait(timeout=harness.PATIENCE), 0)


    def test_of_several_that_live_one_is_to_be_chosen(self):
        for name in ("one", "two"):
            self.start_daemon(name=name)
        (self.directory / "current").unlink(missing_ok=True)
        for command in ("status", "jobs"):
            _, _, err = self.run_command(command)
            self.assertNotIn("no daemon is running", err)
            self.hotplate(command, code=harness.NO_DAEMON,
                          says=("several daemons run", "one, two; choose one: hotplate use one", "--server NAME"))
        third = self.start_daemon()
        self.hotplate("use", "local")
        self.assertEqual(self.stop_daemon(third, signal.SIGKILL), -signal.SIGKILL)
        for command in ("status", "jobs", "devices"):
            _, _, err = self.run_command(command)
            self.assertNotIn("no daemon is running", err)
            self.hotplate(command, code=harness.NO_DAEMON,
                          says=("the current daemon, local, has ended", "hotplate down local", "others run: one, two; choose one"))
        self.hotplate("down", "local", says="had died")
        for name in ("one", "two"):
            self.hotplate("down", name)


class Down(harness.WithoutJournal):
    def serving(self):
        self.hotplate("up", "--local", "--", "--device", "cpu", "--lanes", "1", "--drain-timeout", "0s")
        done = self.answer("submit", "integrate2d", "--n", "10")["jobId"]
        self.hotplate("wait", done)
        fetched = self.answer("submit", "integrate2d", "--n", "11")["jobId"]
        self.hotplate("wait", fetched)
        self.hotplate("result", fetched)
        return done, fetched, self.submit_long_job()

    def test_it_lists_what_is_lost(self):
        done, fetched, runs = self.serving()
        np.save(self.folder / "x.npy", np.zeros(4, np.float32))
        self.hotplate("put", "x.npy", "--name", "saved")
        out = self.hotplate("down")
        self.assertIn(f"went with it: 1 cancelled job (job {runs}), results of 1 job that nobody fetched (job {done})", out)
        self.assertNotIn("saved", out.split("went with it")[1])
        self.hotplate("up", "--local", "--", "--device", "cpu",
                      says=("the daemon before, local, ended (", f"1 cancelled job (job {runs})"))
        self.assertEqual(self.answer("down")["lost"], "")

    def ask(self, answer, *words):
        process, shown = self.start_on_terminal("down", *words)
        if answer is not None:
            harness.wait_until(lambda: b"[y/N]" in shown(), "it asked")
            os.write(self.controller_of(shown), answer)
        harness.wait_until(lambda: (shown(), process.poll() is not None)[1], "it ended")
        return process.returncode, shown().decode()

    @staticmethod
    def controller_of(shown):
        return next(cell.cell_contents for cell in shown.__closure__ if isinstance(cell.cell_contents, int))

    def test_on_a_terminal_it_asks(self):
        done, _, runs = self.serving()
        code, shown = self.ask(b"n\n")
        self.assertEqual(code, harness.INTERRUPTED, shown)
        self.assertIn(f"1 running or waiting job (job {runs}), results of 1 job that nobody fetched (job {done})", shown)
        self.assertIn("hotplate down --yes", shown)
        self.hotplate("status")
        code, shown = self.ask(None, "--yes")
        self.assertEqual(code, harness.OK, shown)
        self.assertNotIn("[y/N]", shown)
        # Nothing to lose, nothing to ask: the result's array was fetched with it.
        self.hotplate("up", "--local", "--", "--device", "cpu")
        job = self.answer("submit", "random", "--rows", "1", "--n", "500000")["jobId"]
        self.hotplate("wait", job)
        self.hotplate("result", job, "-o", "z.npy")
        code, shown = self.ask(None)
        self.assertEqual(code, harness.OK, shown)
        self.assertNotIn("[y/N]", shown)


class Logs(harness.Case):
    def test_a_log_that_is_no_file_is_refused(self):
        (self.directory / "logs").mkdir(mode=0o700, parents=True)
        os.mkfifo(self.directory / "logs" / "local.log")
        self.hotplate("logs", code=harness.INVALID, says=(str(self.directory / "logs" / "local.log"), "is not a regular file"))


if __name__ == "__main__":
    harness.main()
