"""The main job: a user starts a daemon, runs every kernel on real files, looks at receipts, and stops it."""

import os
import pathlib
import signal
import stat
import struct

import numpy as np

import harness


class MainJob(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rng = np.random.default_rng(7)
        up = harness.Case("run")
        up.folder, up.environment, up.processes = cls.folder, cls.environment, cls.processes
        cls.up_output = up.hotplate("up", "--local")
        cls.pid = up.answer("status")["pid"]

    def save(self, name, array):
        np.save(self.folder / name, array)
        return array

    def load(self, name):
        return np.load(self.folder / name, allow_pickle=False)

    def assert_within(self, got, wanted, bound):
        self.assertEqual(got.shape, wanted.shape)
        error = np.abs(got.astype(np.float64) - wanted)
        worst = np.argmax(error - bound) if error.size else 0
        self.assertTrue(np.all(error <= bound), f"off by {np.max(error, initial=0)} (worst at {worst})")

    def test_up_says_that_it_is_ready(self):
        self.assertIn("local", self.up_output)
        self.assertTrue(harness.alive(self.pid))

    def test_record_and_folders_are_for_the_user_alone(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.record_path()).st_mode), 0o600)
        for folder in (self.directory, self.directory / "servers"):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700, folder)
        self.assertEqual(os.readlink(self.directory / "current"), "servers/local.json")
        record = self.record()
        self.assertRegex(record["token"], r"^[0-9a-f]{64}$")
        self.assertEqual(record["pid"], self.pid)
        self.assertEqual(record["endpoints"][0]["address"], "127.0.0.1")

    def test_status(self):
        status = self.answer("status")
        self.assertEqual(status["state"], "SERVING")
        self.assertEqual(status["name"], "local")
        self.assertIn("cpu0", [device["id"] for device in status["devices"]])
        self.hotplate("status", says=["local", "OpenBLAS " + status["versions"]["libraries"]["OpenBLAS"]])

    def test_vector_add_of_every_dtype(self):
        for dtype in (np.int32, np.int64, np.float32, np.float64):
            a = self.save("a.npy", self.rng.integers(-1000, 1000, (37, 5)).astype(dtype))
            b = self.save("b.npy", self.rng.integers(-1000, 1000, (37, 5)).astype(dtype))
            self.hotplate("run", "vector_add", "a.npy", "b.npy", "-o", "c.npy")
            c = self.load("c.npy")
            self.assertEqual(c.dtype, dtype)
            np.testing.assert_array_equal(c, a + b)

    def test_trig_identity(self):
        x = self.save("x.npy", self.rng.uniform(-100, 100, 100_001).astype(np.float32))
        self.hotplate("run", "trig_identity", "x.npy", "-o", "y.npy")
        self.assert_within(self.load("y.npy"), np.ones_like(x, dtype=np.float64), 1e-6)

    def test_selu(self):
        for dtype, eps in ((np.float32, 2.0**-24), (np.float64, 2.0**-53)):
            x = self.save("x.npy", np.concatenate([self.rng.standard_normal(10_000), [0.0, -1e-4, 1e-4, np.inf, np.nan]])
                          .astype(dtype))
            self.hotplate("run", "selu", "x.npy", "--alpha", "1.5", "--lambda", "2", "-o", "y.npy")
            y = self.load("y.npy")
            self.assertEqual(y.dtype, dtype)
            self.assertTrue(np.isnan(y[-1]) and np.isposinf(y[-2]))
            wide = x[:-2].astype(np.float64)
            wanted = 2 * np.where(wide > 0, wide, 1.5 * np.expm1(np.minimum(wide, 0)))
            self.assert_within(y[:-2], wanted, 16 * eps * np.abs(wanted))

    def test_integers_are_computed_in_float64(self):
        x = self.save("x.npy", np.arange(-5, 6, dtype=np.int64))
        self.hotplate("run", "selu", "x.npy", "-o", "y.npy")
        y = self.load("y.npy")
        self.assertEqual(y.dtype, np.float64)
        self.assert_within(y, 1.05 * np.where(x > 0, x, 1.67 * np.expm1(np.minimum(x, 0).astype(float))), 1e-14)

    def test_integrate2d_prints_its_scalars(self):
        result = self.answer("run", "integrate2d", "--n", "2000", "--variant", "naive", "--x-max", "2", "--y_max", "1")
        n, wanted = 2000, np.sin(2) + np.sin(1) - np.sin(3)
        values = {output["name"]: output for output in result["outputs"]}
        self.assertEqual(set(values), {"value", "error"})
        self.assert_within(np.array(float(values["value"]["value"])), wanted, 2 * 1e-6 + 2 / n**2)
        out = self.hotplate("run", "integrate2d", "--n", "2000", "--x_max", "2", "--y_max", "1")
        self.assertIn(f"{wanted:.4f}"[:6], out)

    def test_mandelbrot_counts_and_picture(self):
        self.hotplate("run", "mandelbrot", "--resolution", "120", "--max-iterations", "60", "-o", "m.npy")
        counts = self.load("m.npy")
        self.assertEqual((counts.dtype, counts.shape), (np.int32, (120, 120)))
        c = np.linspace(-2, 0.5, 120)[None, :] + 1j * np.linspace(-1.25, 1.25, 120)[:, None]
        z, wanted = c.copy(), np.zeros(c.shape, dtype=np.int64)
        for _ in range(60):
            inside = np.abs(z) < 2
            z[inside] = z[inside] ** 2 + c[inside]
            wanted += inside
        # Rounding may decide otherwise for a few points near the boundary.
        self.assertLessEqual(np.count_nonzero(counts != wanted), 15)
        self.hotplate("run", "mandelbrot", "--resolution", "120", "--max-iterations", "60", "-o", "m.png")
        picture = (self.folder / "m.png").read_bytes()
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", picture[16:24]), (120, 120))

    def test_matmul(self):
        for dtype, u in ((np.float32, 2.0**-24), (np.float64, 2.0**-53)):
            a = self.save("a.npy", self.rng.standard_normal((70, 50)).astype(dtype))
            b = self.save("b.npy", self.rng.standard_normal((90, 50)).astype(dtype))
            self.hotplate("run", "matmul", "a.npy", "b.npy", "--transpose-b", "-o", "c.npy")
            wanted = np.einsum("ik,jk->ij", a.astype(np.longdouble), b.astype(np.longdouble))
            bound = 52 * u * np.einsum("ik,jk->ij", np.abs(a), np.abs(b))
            self.assert_within(self.load("c.npy"), wanted, bound)

    def test_big_arrays_in_fortran_order(self):
        a = self.save("a.npy", np.asfortranarray(self.rng.standard_normal((1500, 1000))))  # 12 MB: beyond what is inline
        b = self.save("b.npy", self.rng.standard_normal((1500, 1000)))
        self.hotplate("run", "vector_add", "a.npy", "b.npy", "-o", "c.npy")
        np.testing.assert_array_equal(self.load("c.npy"), a + b)

    def test_empty_and_scalar_arrays(self):
        for shape in ((0,), (3, 0, 2), ()):
            a = self.save("a.npy", np.full(shape, 2.5))
            self.hotplate("run", "vector_add", "a.npy", "a.npy", "-o", "c.npy")
            np.testing.assert_array_equal(self.load("c.npy"), a + a)

    def test_receipt(self):
        self.save("x.npy", np.ones(1000, dtype=np.float32))
        answer = self.answer("run", "selu", "x.npy", "-o", "y.npy")
        receipt = answer["receipt"]
        self.assertEqual(receipt["kernel"], "selu")
        self.assertEqual(receipt["device"], "cpu0")
        self.assertGreater(int(receipt["kernelNs"]), 0)
        self.assertGreaterEqual(int(receipt["totalNs"]), int(receipt["kernelNs"]))
        self.assertGreater(receipt["flop"], 0)
        for absent in ("compileNs", "hostToDeviceNs", "smClockMhz"):  # nothing is invented on a CPU
            self.assertNotIn(absent, receipt)
        self.assertRegex(receipt["versions"]["libraries"]["OpenBLAS"], r"^\d+\.\d+")
        self.assertNotIn("seed", receipt)
        client = answer["client"]
        self.assertEqual(set(client), {"uploadNs", "downloadNs", "totalNs", "bytesUp", "bytesDown"})
        self.assertGreaterEqual(int(client["totalNs"]), int(receipt["totalNs"]))  # it contains the daemon's part
        drawn = self.answer("run", "random", "--n", "3", "--seed", "9223372036854775807", "-o", "r.npy")["receipt"]
        self.assertEqual(drawn["seed"], "9223372036854775807")
        _, _, err = self.run_command("run", "selu", "x.npy", "-o", "y.npy")
        self.assertIn("kernel", err)

    def test_quiet_and_pipes(self):
        self.save("x.npy", np.ones(1000, dtype=np.float32))
        code, out, err = self.run_command("run", "selu", "x.npy", "-o", "y.npy", "--quiet")
        self.assertEqual((code, err), (0, ""), out)
        _, out, err = self.run_command("run", "mandelbrot", "--resolution", "800", "-o", "m.npy")
        self.assertNotIn("\r", out + err)
        self.assertNotIn("\x1b", out + err)

    def test_several_outputs_by_name(self):
        self.hotplate("run", "integrate2d", "--n", "100", "-o", "value=v.npy", "-o", "error=e.npy")
        self.assertAlmostEqual(float(self.load("v.npy")), 0.0, places=3)  # over [0, pi]^2
        self.assertEqual(self.load("e.npy").shape, ())

    def test_devices_and_top(self):
        self.assertIn("cpu0", self.hotplate("devices"))
        self.assertIn("cpu0", self.hotplate("top", "--once"))
        self.answer("devices")
        self.answer("top", "--once")

    def test_transfers_are_told_apart(self):
        self.save("a.npy", np.ones(1_000_000))  # beyond what is inline
        self.save("b.npy", np.ones(1))
        client = self.answer("run", "vector_add", "a.npy", "b.npy", "-o", "c.npy")["client"]
        self.assertEqual((client["bytesUp"], client["bytesDown"]), (8000000, 8000000))
        up, down, total = (int(client[key]) for key in ("uploadNs", "downloadNs", "totalNs"))
        self.assertGreater(min(up, down), 0)
        self.assertGreaterEqual(total, up + down)
        # Made where it is used: there is nothing to send.
        client = self.answer("run", "full", "--n", "1000000", "--value", "1", "-o", "f.npy")["client"]
        self.assertEqual((client["uploadNs"], client["bytesUp"], client["bytesDown"]), (0, 0, 8000000))
        self.assertGreater(int(client["downloadNs"]), 0)

    def test_top_on_a_terminal_redraws_and_leaves_it_as_it_was(self):
        top, read_on = self.start_on_terminal("top", "--interval", "100ms")
        harness.wait_until(lambda: read_on().count(b"\x1b[H") >= 3, "top redraws")
        top.send_signal(signal.SIGINT)
        harness.wait_until(lambda: (read_on(), top.poll())[1] is not None, "top ends")
        shown = read_on()
        self.assertEqual(top.returncode, harness.OK, shown)
        self.assertTrue(shown.startswith(b"\x1b[?1049h\x1b[?25l"), shown)
        self.assertIn(b"cpu0", shown)
        self.assertTrue(shown.endswith(b"\x1b[?25h\x1b[?1049l"), shown)

    def test_jobs_are_listed_and_shown(self):
        job_id = self.answer("run", "integrate2d", "--n", "10")["jobId"]
        self.assertIn(job_id, [job["id"] for job in self.answer("jobs")["jobs"]])
        self.assertIn("COMPLETED", self.hotplate("jobs"))
        self.assertEqual(self.job(job_id)["state"], "COMPLETED")


class End(harness.Case):
    def test_down_removes_the_record_and_ends_the_daemon(self):
        self.hotplate("up", "--local")
        pid = self.answer("status")["pid"]
        token = self.record()["token"]
        self.assertIn("PRIVATE KEY", self.record()["client_key_pem"])
        self.hotplate("run", "integrate2d", "--n", "10")
        self.assertNotIn(token, self.hotplate("logs"))
        self.hotplate("down")
        harness.wait_until(lambda: not harness.alive(pid), "the daemon ended")
        self.assertFalse(self.record_path().exists())
        self.assertFalse(os.path.lexists(self.directory / "current"))
        for log in (self.directory / "logs").glob("*"):
            text = log.read_text()
            self.assertNotEqual(text, "")
            self.assertNotIn(token, text)
            self.assertNotIn("PRIVATE KEY", text)
        self.hotplate("status", code=harness.NO_DAEMON, says="up --local")

    def test_no_secrets_in_logs_or_on_command_lines(self):
        daemon = self.start_daemon("--log-level", "trace", name="chatty")
        np.save(self.folder / "x.npy", np.ones(4, dtype=np.float32))
        server = ("--server", "chatty")
        self.hotplate(*server, "put", "x.npy", "--name", "X")
        self.hotplate(*server, "run", "selu", "array:X", "-o", "y.npy")
        self.hotplate(*server, "run", "nonsense", code=harness.INVALID)
        record = self.record("chatty")
        secrets = (record["token"], "PRIVATE KEY", record["client_key_pem"].splitlines()[1], "Bearer")
        for words in (("status",), ("devices",), ("jobs",), ("show", "1"), ("arrays",), ("top", "--once"), ("use",), ("metrics",)):
            for form in ((), ("--json",)):
                _, out, err = self.run_command(*server, *words, *form)
                for secret in secrets:
                    self.assertNotIn(secret, out + err, words)
        for place in ("cmdline", "environ"):
            for secret in secrets:
                self.assertNotIn(secret.encode(), pathlib.Path(f"/proc/{daemon.pid}/{place}").read_bytes())
        self.assertEqual(self.stop_daemon(daemon), 0)
        log = self.log("chatty")
        self.assertIn("selu", log)
        for secret in secrets:
            self.assertNotIn(secret, log)

    def test_a_second_daemon_follows_the_first(self):
        for _ in range(2):
            self.hotplate("up", "--local")
            self.hotplate("run", "integrate2d", "--n", "10")
            pid = self.answer("status")["pid"]
            os.kill(pid, signal.SIGTERM)
            harness.wait_until(lambda gone=pid: not harness.alive(gone), "the daemon ended")
            self.assertFalse(self.record_path().exists())


if __name__ == "__main__":
    harness.main()
