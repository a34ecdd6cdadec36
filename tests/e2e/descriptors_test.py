"""A daemon that may have few file descriptors: whoever takes them all keeps it from answering only for as long as he has them."""

import os
import resource
import socket

import numpy as np

import harness

LIMIT = 160
SILENT = 400


def limited_to(soft, hard):
    """For Popen's preexec_fn."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class ClosedStandardStreams(harness.Case):
    """Programs whose parent closed their standard streams: no file or socket takes the place of one."""

    @staticmethod
    def closing(*descriptors):
        """For Popen's preexec_fn."""
        return lambda: [os.close(descriptor) for descriptor in descriptors]

    def test_the_command_writes_its_words_nowhere(self):
        self.start_daemon()
        code, _, err = self.run_command("run", "full", "--n", "5", "-o", "out.npy", preexec_fn=self.closing(1))
        self.assertEqual(code, harness.FAILED)
        self.assertIn("standard output cannot be written to", err)
        self.assertEqual(np.load(self.folder / "out.npy").tolist(), [0] * 5)
        self.assertEqual(self.run_command("run", "full", "--n", "5", "-o", "out.npy", preexec_fn=self.closing(0, 2))[0], harness.OK)
        self.assertIn("cannot read standard input: Bad file descriptor",
                      self.run_command("put", "-", "--name", "A", preexec_fn=self.closing(0))[2])

    def test_the_daemon_has_all_three(self):
        daemon = self.start_daemon(name="closed", preexec_fn=self.closing(0, 1, 2))
        for descriptor in range(3):
            self.assertEqual(os.readlink(f"/proc/{daemon.pid}/fd/{descriptor}"), "/dev/null")


class FewDescriptors(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # One lane, which one long job takes.
        cls.start_daemon("--lanes", "1", "--threads", "1", preexec_fn=limited_to(LIMIT, LIMIT))
        cls.port = cls.record()["endpoints"][0]["port"]

    def connect(self):
        """A connection that never says a word."""
        silent = socket.create_connection(("127.0.0.1", self.port))
        self.addCleanup(silent.close)
        return silent

    def test_a_crowd_of_silent_connections_makes_it_deaf_no_longer_than_it_stays(self):
        silent = [self.connect() for _ in range(SILENT)]
        harness.wait_until(lambda: "descriptors" in self.log() or "Too many open files" in self.log(),
                           "the daemon missed descriptors")
        for one in silent:
            one.close()
        self.hotplate("run", "integrate2d", "--n", "10")
        self.assertIn(f"new connections wait: of the {LIMIT} file descriptors", self.log())
        self.assertIn("(ulimit -n)", self.log())

    def test_a_silent_connection_is_put_out(self):
        silent = self.connect()
        silent.settimeout(60)  # it is 10 s; gRPC's own 120
        while silent.recv(4096):
            pass

    def test_inputs_by_path_leave_descriptors_for_others(self):
        np.save(self.folder / "x.npy", np.ones(10))
        by_path = ("selu", f"path:{self.folder / 'x.npy'}")
        first = self.submit_long_job()
        waiting = []
        for _ in range(LIMIT):
            code, out, err = self.run_command("submit", *by_path, "--quiet")
            if code != harness.OK:
                break
            waiting.append(out.strip())
        self.assertEqual(code, harness.TRY_LATER, err)
        self.assertIn(f"{LIMIT // 4} inputs and outputs by path", err)
        self.assertIn("try again later", err)
        self.assertEqual(len(waiting), LIMIT // 4)
        self.hotplate("submit", "integrate2d", "--n", "10")
        self.hotplate("cancel", waiting[0])
        waiting[0] = self.answer("submit", *by_path)["jobId"]
        self.hotplate("cancel", first)
        for job_id in waiting:
            self.wait_for_state(job_id, "COMPLETED")

    def test_it_takes_as_many_as_it_may(self):
        for hard, wanted in ((1000, 1000), (20_000, 16_384)):
            if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
                self.skipTest(f"this machine gives no {hard} descriptors")
            name = f"up-to-{hard}"
            daemon = self.start_daemon(name=name, preexec_fn=limited_to(LIMIT, hard))
            with open(f"/proc/{daemon.pid}/limits", encoding="ascii") as limits:
                line = next(line for line in limits if line.startswith("Max open files"))
            self.assertEqual(line.split()[3:5], [str(wanted), str(hard)])
            self.assertEqual(self.stop_daemon(daemon), 0)

    def test_its_end_is_in_order_while_connections_wait(self):
        daemon = self.start_daemon(name="ends", preexec_fn=limited_to(LIMIT, LIMIT))
        port = self.record("ends")["endpoints"][0]["port"]
        for _ in range(SILENT):
            silent = socket.create_connection(("127.0.0.1", port))
            self.addCleanup(silent.close)
        harness.wait_until(lambda: "new connections wait" in self.log("ends"), "connections waited")
        self.assertEqual(self.stop_daemon(daemon), 0)
        self.assertIn("stopped", self.log("ends"))
        self.assertNotIn("NOT handling external connection", self.log("ends"))
        self.assertFalse(self.record_path("ends").exists())


if __name__ == "__main__":
    harness.main()
