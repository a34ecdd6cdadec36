"""What becomes of commands and jobs when the network between them and the daemon is in the way: a port forward, a break, silence."""

import os
import signal
import threading
import time

import numpy as np

import harness
import relay


class Forwarded(harness.Case):
    """A daemon on a node that cannot be reached, and a port forward to it (a relay, in place of ssh)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        cls.good = cls.record()
        cls.relay = relay.Relay(cls.good["endpoints"][0]["port"])
        cls.addClassCleanup(cls.relay.close)
        cls.near = f"localhost:{cls.relay.port}"

    def setUp(self):
        # Nobody listens at port 1.
        self.write_record(self.good | {"endpoints": [{"node": "gpu1", "address": "127.0.0.1", "port": 1}]}, name="far")

    def test_the_error_has_the_forward(self):
        command = "ssh -N -L 1:127.0.0.1:1 gpu1"
        self.hotplate("--server", "far", "status", code=harness.NO_DAEMON, says=(command, "hotplate --endpoint localhost:1"))
        self.hotplate("--server", "far", "run", "integrate2d", "--n", "10", code=harness.NO_DAEMON, says=command)
        self.assertEqual(self.answer("--server", "far", "status", "--forward"), {"command": command, "endpoint": "localhost:1"})
        self.assertEqual(self.hotplate("--server", "far", "status", "--forward", "-q"), command + "\n")
        self.hotplate("--server", "local", "status", "--forward", code=harness.TRY_LATER, says="needs no forward")

    def test_the_forward_is_used(self):
        self.hotplate("--server", "far", "--endpoint", self.near, "run", "integrate2d", "--n", "10")
        self.hotplate("run", "integrate2d", "--server=far", f"--endpoint={self.near}", "--n", "10")
        self.hotplate("status", env={"HOTPLATE_SERVER": "far", "HOTPLATE_ENDPOINT": self.near})
        # What is chosen by name is not behind the forward of the environment.
        self.hotplate("--server", "local", "status", env={"HOTPLATE_ENDPOINT": "localhost:1"})

    def test_a_forward_to_another_daemon_gets_no_token(self):
        other = self.start_daemon(name="other")
        try:
            self.write_record(self.good | {"certificate_pem": self.record("other")["certificate_pem"]}, name="wrong")
            self.hotplate("--server", "wrong", "--endpoint", self.near, "status", code=harness.NOT_ALLOWED, says="certificate")
        finally:
            self.stop_daemon(other)
        self.write_record(self.good | {"certificate_pem": ""}, name="open")
        self.hotplate("--server", "open", "--endpoint", self.near, "status", code=harness.NOT_ALLOWED, says="no certificate")

    def test_a_forward_that_is_down_is_named(self):
        self.hotplate("--server", "far", "--endpoint", "localhost:1", "status", code=harness.NO_DAEMON,
                      says=("--endpoint", "is the forward to the daemon up?"))
        # Or its near end is up, and hangs up: what to do is not to throw the record away.
        nobody = relay.Relay(1)
        self.addCleanup(nobody.close)
        _, _, err = self.run_command("--server", "far", "--endpoint", f"localhost:{nobody.port}", "status")
        self.assertIn("is the forward to the daemon up?", err)
        self.assertNotIn("remove", err)

    def test_an_endpoint_that_makes_no_sense_is_named(self):
        for wrong in ("gpu1:5000", "localhost", "localhost:0", "[::1]", "http://localhost:5"):
            self.hotplate("--endpoint", wrong, "status", code=harness.USAGE, says=(wrong, "localhost:PORT"))


class CutOff(harness.Case):
    """The network between a command and its daemon is away for a while."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # One thread: what waits here waits beside a job that is busy.
        cls.start_daemon("--disconnect-grace", "10m", "--threads", "1")

    def setUp(self):
        self.relay = relay.Relay(self.record()["endpoints"][0]["port"])
        self.addCleanup(self.relay.close)

    def follow(self, *words):
        """Starts a command; its process, and what it has said on standard error so far."""
        process = self.start(*words)
        said = []

        def listen():
            said.extend(iter(process.stderr.readline, ""))
        threading.Thread(target=listen, daemon=True).start()
        return process, said

    def wait_for_word(self, process, said, word):
        harness.wait_until(lambda: any(word in line for line in said) or process.poll() is not None,
                           f"it said {word!r}, or ended")
        self.assertTrue(any(word in line for line in said), f"exit {process.returncode}: {''.join(said)}")

    def expect_end(self, process, job_id):
        self.hotplate("cancel", job_id)
        self.assertEqual(process.wait(timeout=harness.PATIENCE), harness.CANCELLED)

    def test_a_watch_goes_on_when_the_network_is_back(self):
        address = self.record()["endpoints"][0] | {"port": self.relay.port}
        self.write_record(self.record() | {"endpoints": [address]}, name="far")
        job_id = self.submit_long_job()
        watch, said = self.follow("--server", "far", "watch", job_id)
        self.assertIn("RUNNING", watch.stdout.readline() + watch.stdout.readline())
        for _ in range(2):
            del said[:]
            self.relay.cut(silent=True)
            self.wait_for_word(watch, said, "! connection lost: daemon \"local\"")
            self.relay.mend()
            self.wait_for_word(watch, said, "! connected again")
        self.expect_end(watch, job_id)
        self.assertEqual(watch.stdout.read().count("RUNNING"), 0, "nothing is told twice")

    def test_a_run_goes_on_and_its_job_runs_once(self):
        before = {job["id"] for job in self.answer("jobs")["jobs"]}
        run, said = self.follow("--endpoint", f"localhost:{self.relay.port}", "run", *harness.LONG_JOB)

        def jobs():
            return [job["id"] for job in self.answer("jobs")["jobs"] if job["id"] not in before and job["state"] == "RUNNING"]
        job_id = harness.wait_until(jobs, "the job ran")[0]
        self.relay.cut()
        self.wait_for_word(run, said, "! connection lost")
        self.relay.mend()
        self.wait_for_word(run, said, "! connected again")
        self.assertEqual(jobs(), [job_id])
        self.expect_end(run, job_id)

    def test_short_breaks_do_not_add_up(self):
        """Of jobs that wait in the queue: a daemon that tells nothing new is not gone."""
        daemon = self.start_daemon("--disconnect-grace", "10m", "--lanes", "1", "--threads", "1", name="narrow")
        there = ("--server", "narrow")
        self.hotplate(*there, "submit", *harness.LONG_JOB)
        watched = self.hotplate(*there, "submit", *harness.LONG_JOB, "--quiet").strip()

        def waiting():
            return {job["id"] for job in self.answer(*there, "jobs")["jobs"] if job["state"] == "PENDING"}
        for words in (("watch", watched), ("run", *harness.LONG_JOB)):
            network = relay.Relay(self.record("narrow")["endpoints"][0]["port"])
            self.addCleanup(network.close)
            process, said = self.follow(*there, "--endpoint", f"localhost:{network.port}", *words)
            for breaks in range(7):
                harness.wait_until(lambda: network.settled() or process.poll() is not None, f"{words[0]} was connected")
                self.assertIsNone(process.poll(), f"{words[0]} after {breaks}: {''.join(said)}")
                if breaks < 6:
                    network.cut()
                    network.mend()
            jobs = waiting()
            self.assertEqual(len(jobs), 1, "its job runs once")
            self.hotplate(*there, "cancel", jobs.pop())
            self.assertEqual(process.wait(timeout=harness.PATIENCE), harness.CANCELLED, "".join(said))
        self.assertEqual(self.stop_daemon(daemon, signal.SIGKILL), -signal.SIGKILL)

    def cut_in(self, way, *words, server="local", **how):
        """Starts a command, and cuts the network when so much of its transfer has passed that more is to come."""
        network = relay.Relay(self.record(server)["endpoints"][0]["port"], **{way: 4 << 20})
        self.addCleanup(network.close)
        process, said = self.follow("--server", server, "--endpoint", f"localhost:{network.port}", *words)
        harness.wait_until(lambda: network.held.is_set() or process.poll() is not None, f"{words} was in its middle")
        self.assertIsNone(process.poll(), "".join(said))
        network.limits[way] = None
        network.cut(**how)
        return network, process, said

    def test_transfers_go_on_where_they_were(self):
        sent = np.arange(3_000_000, dtype=np.float64)
        np.save(self.folder / "sent.npy", sent)
        for way, words in (("up", ("put", "sent.npy", "--name", "far")), ("down", ("get", "far", "-o", "came.npy"))):
            network, process, said = self.cut_in(way, *words)
            self.wait_for_word(process, said, "! connection lost")
            network.mend()
            self.wait_for_word(process, said, "! connected again")
            self.assertEqual(process.wait(timeout=harness.PATIENCE), harness.OK, "".join(said))
        np.testing.assert_array_equal(np.load(self.folder / "came.npy"), sent)

    def test_an_upload_waits_until_the_daemon_has_noticed(self):
        """Of a network that breaks at the client's end alone: for the daemon the first stream still writes."""
        daemon = self.start_daemon("--keepalive", "5s", name="slow-to-see")
        sent = np.arange(3_000_000, dtype=np.float64)
        np.save(self.folder / "sent.npy", sent)
        network, put, said = self.cut_in("up", "put", "sent.npy", "--name", "far", server="slow-to-see", near_only=True)
        network.mend()
        self.assertEqual(put.wait(timeout=harness.PATIENCE), harness.OK, "".join(said))
        self.hotplate("--server", "slow-to-see", "get", "far", "-o", "came.npy")
        np.testing.assert_array_equal(np.load(self.folder / "came.npy"), sent)
        self.assertEqual(self.stop_daemon(daemon), 0)

    def test_a_replacement_that_is_cut_off_leaves_the_array_as_it_was(self):
        old, new = np.full(1000, 7.0), np.zeros(3_000_000)
        np.save(self.folder / "old.npy", old)
        np.save(self.folder / "new.npy", new)
        self.hotplate("put", "old.npy", "--name", "kept")
        put = ("put", "new.npy", "--name", "kept", "--replace")
        network, process, said = self.cut_in("up", *put)
        self.wait_for_word(process, said, "! connection lost")
        process.kill()
        process.wait(timeout=harness.PATIENCE)
        self.hotplate("get", "kept", "-o", "kept.npy")
        np.testing.assert_array_equal(np.load(self.folder / "kept.npy"), old)
        self.hotplate(*put)
        self.hotplate("get", "kept", "-o", "kept.npy")
        np.testing.assert_array_equal(np.load(self.folder / "kept.npy"), new)

    def test_a_run_can_be_interrupted_meanwhile(self):
        run, said = self.follow("--endpoint", f"localhost:{self.relay.port}", "run", *harness.LONG_JOB)
        job_id = harness.wait_until(lambda: [job["id"] for job in self.answer("jobs")["jobs"] if job["state"] == "RUNNING"],
                                    "the job ran")[0]
        self.relay.cut()
        self.wait_for_word(run, said, "! connection lost")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=harness.PATIENCE), harness.INTERRUPTED, "".join(said))
        self.hotplate("cancel", job_id)


class SilentPeer(harness.Case):
    """A client that is there and says nothing any more, as behind a network that is gone."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon("--keepalive", "2s", "--disconnect-grace", "100ms", "--lanes", "1")

    def run_of(self, state, job=harness.LONG_JOB):
        before = {job["id"] for job in self.answer("jobs")["jobs"]}
        run = self.start("run", *job)

        def found():
            return [job["id"] for job in self.answer("jobs")["jobs"] if job["id"] not in before and job["state"] == state]
        return run, harness.wait_until(found, f"a job was {state}")[0]

    def expect_cancelled(self, run, job_id):
        os.kill(run.pid, signal.SIGSTOP)
        try:
            job = self.wait_for_state(job_id, "CANCELLED")
        finally:
            os.kill(run.pid, signal.SIGCONT)
        self.assertIn("client", job["error"]["message"])
        out, err = run.communicate(timeout=harness.PATIENCE)
        self.assertNotEqual(run.returncode, harness.OK, out + err)

    def test_its_job_is_cancelled_in_the_middle(self):
        self.expect_cancelled(*self.run_of("RUNNING"))

    def test_also_after_a_long_time_without_a_word(self):
        self.addCleanup(self.hotplate, "cancel", self.submit_long_job())  # the one lane is taken
        run, job_id = self.run_of("PENDING")
        # Several keepalives during which there is nothing to send: the stream stays, and is watched over all the same.
        silence = time.monotonic() + 10
        harness.wait_until(lambda: time.monotonic() > silence, "time passed")
        self.assertEqual(self.job(job_id)["state"], "PENDING")
        self.expect_cancelled(run, job_id)


if __name__ == "__main__":
    harness.main()
