"""Arrays that the daemon holds: put, used by jobs, left by jobs, fetched, listed, freed, leased."""

import numpy as np

import harness


class Arrays(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        cls.rng = np.random.default_rng(11)

    def save(self, name, array):
        np.save(self.folder / name, array)
        return array

    def load(self, name):
        return np.load(self.folder / name, allow_pickle=False)

    def names(self):
        return [array["name"] for array in self.answer("arrays").get("arrays", [])]

    def test_there_and_back(self):
        for dtype in ("float32", "float64", "int32", "int64", "uint8", "bool", "complex64"):
            a = self.save("a.npy", self.rng.integers(0, 2, (11, 3)).astype(dtype))
            self.hotplate("put", "a.npy", "--name", f"back_{dtype}")
            self.hotplate("get", f"back_{dtype}", "-o", "b.npy")
            b = self.load("b.npy")
            self.assertEqual(b.dtype, a.dtype)
            np.testing.assert_array_equal(a, b)

    def test_big_ones_in_chunks(self):
        a = self.save("big.npy", self.rng.standard_normal(3_000_001))  # 24 MB and no multiple of a chunk
        self.hotplate("put", "big.npy", "--name", "big")
        self.hotplate("get", "big", "-o", "back.npy")
        np.testing.assert_array_equal(a, self.load("back.npy"))
        self.hotplate("free", "big")
        self.assertNotIn("big", self.names())
        self.hotplate("get", "big", "-o", "x.npy", code=harness.INVALID, says="big")

    def test_jobs_take_and_leave_arrays(self):
        a = self.save("a.npy", self.rng.standard_normal((20, 30)))
        self.hotplate("put", "a.npy", "--name", "A")
        self.hotplate("run", "matmul", "array:A", "array:A", "--transpose-b", "-o", "array:G")
        self.assertIn("G", self.names())
        self.hotplate("get", "G", "-o", "g.npy")
        np.testing.assert_allclose(self.load("g.npy"), a @ a.T, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(self.load("a.npy"), a)

    def test_a_name_that_is_taken(self):
        self.save("a.npy", np.zeros(4))
        self.hotplate("put", "a.npy", "--name", "taken")
        self.hotplate("put", "a.npy", "--name", "taken", code=harness.INVALID, says="taken")

    def test_unknown_arrays_are_named(self):
        self.hotplate("free", "nothing", code=harness.INVALID, says="nothing")
        self.hotplate("run", "matmul", "array:nothing", "array:nothing", code=harness.INVALID, says="nothing")

    def test_a_lease_ends(self):
        self.save("a.npy", np.zeros(4))
        self.hotplate("put", "a.npy", "--name", "brief", "--lease", "1s")
        harness.wait_until(lambda: "brief" not in self.names(), "the lease ended")
        self.hotplate("put", "a.npy", "--name", "kept", "--lease", "1h")
        self.assertIn("kept", self.names())
        self.hotplate("put", "a.npy", "--name", "long", "--lease", "100h", code=harness.INVALID, says="lease")

    def test_inputs_by_path(self):
        a = self.save("path.npy", np.asfortranarray(self.rng.standard_normal((40, 25))))
        self.hotplate("run", "vector_add", "path:path.npy", "path:path.npy", "-o", "sum.npy")
        np.testing.assert_array_equal(self.load("sum.npy"), a + a)

    def test_paths_outside_the_roots(self):
        (self.folder / "allowed").mkdir()
        daemon = self.start_daemon("--path-root", self.folder / "allowed", name="rooted")
        self.save("outside.npy", np.zeros(4))
        np.save(self.folder / "allowed/inside.npy", np.ones(4))
        link = self.folder / "allowed/link.npy"
        link.symlink_to(self.folder / "outside.npy")
        run = ("--server", "rooted", "run", "vector_add")
        inside = f"path:{self.folder}/allowed/inside.npy"
        self.hotplate(*run, inside, inside, "-o", "s.npy")
        for outside in (f"{self.folder}/outside.npy", f"{self.folder}/allowed/../outside.npy", link):
            self.hotplate(*run, f"path:{outside}", inside, "-o", "s.npy", code=harness.NOT_ALLOWED,
                          says=[f'"{self.folder}/outside.npy" is outside the folders', f"now names {self.folder}/allowed"])
        self.stop_daemon(daemon)


class Limits(harness.Case):
    def test_more_than_the_daemon_may_hold(self):
        self.start_daemon("--array-bytes", "1MiB", "--max-array-bytes", "512KiB")
        np.save(self.folder / "large.npy", np.zeros(100_000))  # 800 kB
        self.hotplate("put", "large.npy", "--name", "large", code=harness.INVALID,
                      says="float64 [100000] has 800000 bytes; the limit max-array-bytes is 524288")
        self.hotplate("run", "full", "--n", "400", "--rows", "250", "-o", "o.npy", code=harness.INVALID,
                      says="out: an output of float64 [250, 400] has 800000 bytes; the daemon's limit max-array-bytes is 524288")
        np.save(self.folder / "small.npy", np.zeros(50_000))  # 400 kB
        self.hotplate("put", "small.npy", "--name", "one", "--lease", "1h")
        self.hotplate("put", "small.npy", "--name", "two", "--lease", "1h")
        self.hotplate("put", "small.npy", "--name", "three", "--lease", "1h", code=harness.TRY_LATER,
                      says="400000 bytes of array memory are needed, 248576 of 1048576 are free, 800000 held (limit array-bytes)")
        self.hotplate("free", "one")
        self.hotplate("put", "small.npy", "--name", "three", "--lease", "1h")


class LeftBehind(harness.Case):
    def test_the_memory_of_a_command_that_was_killed_goes_to_who_needs_it(self):
        """Not after the session timeout of ten minutes, which this test does not wait for."""
        self.start_daemon("--array-bytes", "45MB", "--disconnect-grace", "1s")
        np.save(self.folder / "x.npy", np.random.default_rng(3).normal(size=(2000, 2000)))  # 32 MB, and seconds
        process = self.start("run", "svd", "x.npy", "--compute", "values")
        harness.wait_until(lambda: any(job["state"] == "RUNNING" for job in self.answer("jobs").get("jobs", [])), "the job runs")
        process.kill()
        process.wait()
        harness.wait_until(lambda: self.run_command("put", "x.npy", "--name", "x")[0] == harness.OK, "there is room")
        self.assertIn("others need its memory", self.log())
        self.hotplate("get", "x", "-o", "back.npy")
        np.testing.assert_array_equal(np.load(self.folder / "back.npy"), np.load(self.folder / "x.npy"))


class Saved(harness.Case):
    """What becomes of arrays when their daemon ends."""

    def test_arrays_under_a_lease_are_saved_when_the_daemon_ends(self):
        for name, end in (("stopped", self.stop_daemon), ("down", lambda _: self.hotplate("down", "--server", "down")), ("idle", None)):
            with self.subTest(end=name):
                daemon = self.start_daemon("--idle-timeout", "10s" if name == "idle" else "1h", name=name)
                for seed in range(3):
                    np.save(self.folder / f"x{seed}.npy", np.random.default_rng(seed).normal(size=(50, 3 * seed + 1)))
                    self.hotplate("--server", name, "put", f"x{seed}.npy", "--name", f"X{seed}")
                self.hotplate("--server", name, "run", "matmul", "array:X1", "array:X1", "--transpose-b", "-o", "array:G")
                if end:
                    end(daemon)
                self.assertEqual(daemon.wait(timeout=harness.PATIENCE), 0)
                saved = self.directory / "saved" / name
                for seed in range(3):
                    np.testing.assert_array_equal(np.load(saved / f"X{seed}.npy"), np.load(self.folder / f"x{seed}.npy"))
                    self.assertEqual((saved / f"X{seed}.npy").stat().st_mode & 0o777, 0o600)
                    self.assertIn(f"is saved: {saved}/X{seed}.npy", self.log(name))
                x = np.load(self.folder / "x1.npy")
                np.testing.assert_allclose(np.load(saved / "G.npy"), x @ x.T, rtol=1e-12, atol=1e-12)


class Devices(harness.Case):
    """Arrays on devices, on a daemon that shows its CPU as three."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon("--cpu-devices", "3")

    def put(self, name, device):
        np.save(self.folder / "x.npy", np.arange(4.0))
        self.hotplate("put", "x.npy", "--name", name, "--device", device)

    def array(self, name):
        return next(array for array in self.answer("arrays")["arrays"] if array["name"] == name)

    def test_jobs_run_where_their_inputs_are(self):
        self.put("X", "cpu1")
        self.assertEqual(self.array("X")["device"], "cpu1")
        receipt = self.answer("eval", "x*x", "x=array:X", "-o", "array:S")["receipt"]
        self.assertEqual(receipt["device"], "cpu1")
        self.assertEqual(self.array("S")["device"], "cpu1")
        receipt = self.answer("eval", "x*x", "x=array:S", "--device", "cpu2")["receipt"]
        self.assertEqual(receipt["device"], "cpu2")

    def test_two_devices_are_refused(self):
        self.put("A", "cpu0")
        self.put("B", "cpu2")
        self.hotplate("eval", "a + b", "a=array:A", "b=array:B", code=harness.INVALID,
                      says="b is on cpu2, and a on cpu0: bring both to one device, or ask for one")
        self.hotplate("eval", "a + b", "a=array:A", "b=array:B", "--device", "cpu1")

    def test_a_device_that_is_not_there_is_named(self):
        np.save(self.folder / "x.npy", np.arange(4.0))
        self.hotplate("put", "x.npy", "--device", "gpu7", code=harness.INVALID,
                      says='no device "gpu7"; there are cpu0, cpu1, cpu2')
        self.assertEqual([array for array in self.answer("arrays").get("arrays", []) if array["name"] == "x"], [])


class HeldByResults(harness.Case):
    def test_the_memory_of_results_has_a_name(self):
        self.start_daemon()
        self.assertNotIn("results", self.hotplate("arrays"))
        job = self.answer("submit", "random", "--n", "10000")["jobId"]
        self.hotplate("wait", job)
        said = self.hotplate("arrays")
        self.assertRegex(said, r"80\.\d kB of it by results that are kept, and by jobs that run: hotplate jobs")
        self.hotplate("put", self.saved(), "--name", "A")
        self.assertRegex(self.hotplate("arrays"), r"\n80\.\d kB of it by results")

    def saved(self):
        path = self.folder / "held.npy"
        np.save(path, np.zeros(1000))
        return path


if __name__ == "__main__":
    harness.main()
