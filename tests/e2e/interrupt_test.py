"""Ctrl-C in the middle of a transfer: what was done is said, nothing half is left, the exit code is 130."""

import json
import pathlib
import signal
import socket

import numpy as np

import harness
from relay import Relay

SOME = 2_000_000  # bytes; the transfers are ten times that


def waits_for(pid, number):
    """Whether that signal was sent to the process and not taken yet."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    pending = next(line.split()[1] for line in status.splitlines() if line.startswith("ShdPnd:"))
    return int(pending, 16) >> (number - 1) & 1


class Interrupts(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.start_daemon()
        cls.x = np.linspace(-1, 1, 5_000_000, dtype=np.float32)
        np.save(cls.folder / "x.npy", cls.x)

    def relayed(self, up=None, down=None, name="relayed"):
        """A relay to the daemon that holds the transfer after so many bytes; its record has that name."""
        record = self.record()
        relay = Relay(record["endpoints"][0]["port"], up, down)
        self.addCleanup(relay.close)
        record["endpoints"] = [{"node": "relay", "address": "127.0.0.1", "port": relay.port}]
        self.write_record(record, name=name)
        return relay

    def interrupted(self, *words, up=None, down=None):
        """What the command says on standard error, interrupted once so many bytes have passed."""
        relay = self.relayed(up, down)
        process = self.start("--server", "relayed", *words)
        self.assertTrue(relay.held.wait(harness.PATIENCE), f"{words}: nothing to hold")
        process.send_signal(signal.SIGINT)
        # Taken before the rest of the transfer may pass.
        harness.wait_until(lambda: process.poll() is not None or not waits_for(process.pid, signal.SIGINT), "it heard")
        relay.release()
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.INTERRUPTED, f"{words}: {out}{err}")
        self.assertIn("interrupted", err)
        self.assertNotIn("CANCELLED", err)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.endswith(".part")], [])
        return err

    def expect_one_job(self, processes):
        ids = set()
        for process in processes:
            out, err = process.communicate(timeout=harness.PATIENCE)
            self.assertEqual(process.returncode, harness.OK, out + err)
            ids.add(json.loads(out)["jobId"])
        self.assertEqual(len(ids), 1)

    def arrays(self):
        return [array["name"] for array in self.answer("arrays").get("arrays", [])]

    def jobs(self):
        return [job["id"] for job in self.answer("jobs").get("jobs", [])]

    def test_put(self):
        self.assertIn("freed", self.interrupted("put", "x.npy", "--name", "mine", up=SOME))
        self.assertNotIn("mine", self.arrays())
        self.hotplate("put", "x.npy", "--name", "mine")  # the name is free
        self.hotplate("free", "mine")

    def test_submit_and_run_while_they_upload(self):
        before, arrays = self.jobs(), self.arrays()
        for words in (("submit", "selu", "x.npy"), ("run", "selu", "x.npy", "-o", "y.npy")):
            err = self.interrupted(*words, up=SOME)
            self.assertIn("freed", err)
            self.assertIn("no job was submitted", err)
        self.assertIn("y.npy not written", err)
        self.assertFalse((self.folder / "y.npy").exists())
        self.assertEqual(self.jobs(), before)
        self.assertEqual(self.arrays(), arrays)

    def test_run_while_its_result_comes(self):
        err = self.interrupted("run", "selu", "x.npy", "-o", "g.npy", down=SOME)
        self.assertIn("g.npy not written", err)
        job_id = self.jobs()[0]
        self.assertIn(f"hotplate result {job_id}", err)
        self.assertFalse((self.folder / "g.npy").exists())
        for name in ("g1.npy", "g2.npy"):
            self.hotplate("result", job_id, "-o", name)
            self.assertEqual(np.load(self.folder / name).shape, self.x.shape)

    def test_get_and_result(self):
        self.hotplate("put", "x.npy", "--name", "mine")
        self.assertIn("back.npy not written", self.interrupted("get", "mine", "-o", "back.npy", down=SOME))
        self.hotplate("get", "mine", "-o", "back.npy")
        np.testing.assert_array_equal(np.load(self.folder / "back.npy"), self.x)
        job_id = self.answer("submit", "selu", "array:mine")["jobId"]
        self.hotplate("wait", job_id)
        self.assertIn("late.npy not written", self.interrupted("result", job_id, "-o", "late.npy", down=SOME))
        self.hotplate("result", job_id, "-o", "late.npy")
        self.hotplate("free", "mine")

    def test_the_same_call_while_the_first_still_uploads(self):
        """It waits for what the first one sends; neither breaks the other."""
        relay = self.relayed(up=SOME)
        call = ("run", "selu", "x.npy", "--request-id", "both", "--json")
        first = self.start("--server", "relayed", *call)
        self.assertTrue(relay.held.wait(harness.PATIENCE), "nothing to hold")
        second = self.start(*call)
        relay.release()
        self.expect_one_job((first, second))

    def test_the_same_call_when_the_first_has_sent_nothing_yet(self):
        """The first has made its array and no more; the second is in the middle of filling it."""
        call = ("run", "selu", "x.npy", "--request-id", "first", "--json")
        relays, processes = [], []
        for name, up in (("first", 100_000), ("second", SOME)):
            relays.append(self.relayed(up=up, name=name))
            processes.append(self.start("--server", name, *call))
            self.assertTrue(relays[-1].held.wait(harness.PATIENCE), "nothing to hold")
        for relay in relays:
            relay.release()
        self.expect_one_job(processes)

    def test_before_anything_has_begun(self):
        """A peer that accepts and says nothing: there is nothing to tidy up, and Ctrl-C ends the command."""
        with socket.create_server(("127.0.0.1", 0)) as peer:
            record = self.record()
            record["endpoints"] = [{"node": "silent", "address": "127.0.0.1", "port": peer.getsockname()[1]}]
            self.write_record(record, name="silent")
            for words in (("get", "mine"), ("put", "x.npy"), ("result", "1"), ("submit", "selu", "x.npy")):
                process = self.start("--server", "silent", *words)
                connection, _ = peer.accept()
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=harness.PATIENCE)
                connection.close()
                self.assertEqual(process.returncode, harness.INTERRUPTED, f"{words}: {out}{err}")

    def test_waiting_for_a_result(self):
        job_id = self.submit_long_job()
        process = self.start("result", job_id, "--wait", "-o", "value=v.npy")
        harness.wait_until(lambda: [path for path in self.folder.iterdir() if path.name.endswith(".part")], "it waits")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.INTERRUPTED, out + err)
        self.assertIn(f"job {job_id} goes on", err)
        self.assertEqual([path for path in self.folder.iterdir() if path.name.endswith(".part")], [])
        self.hotplate("cancel", job_id)


if __name__ == "__main__":
    harness.main()
