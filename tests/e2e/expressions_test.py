"""hotplate eval: a line of NumPy over files, arrays on the daemon and numbers."""

import json

import numpy as np

import harness


class Expressions(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        random = np.random.default_rng(1)
        cls.x, cls.y = random.standard_normal((50, 40)), random.standard_normal(40)
        np.save(cls.folder / "x.npy", cls.x)
        np.save(cls.folder / "y.npy", cls.y)

    def test_files_to_a_file(self):
        self.hotplate("eval", "2*x + exp(y)", "x=x.npy", "y=y.npy", "-o", "z.npy", says="float64 [50, 40]")
        np.testing.assert_allclose(np.load(self.folder / "z.npy"), 2 * self.x + np.exp(self.y), rtol=1e-13)

    def test_numbers_are_weak(self):
        np.save(self.folder / "f.npy", self.x.astype(np.float32))
        self.hotplate("eval", "a*f + b", "f=f.npy", "a=2.5", "b=1", "-o", "z.npy", says="float32 [50, 40]")
        np.testing.assert_allclose(np.load(self.folder / "z.npy"), 2.5 * self.x.astype(np.float32) + 1, rtol=1e-6)

    def test_a_scalar_is_printed(self):
        printed = self.hotplate("eval", "sum(x*x, axis=(0, 1))", "x=x.npy", "--quiet")
        self.assertAlmostEqual(float(printed), float((self.x * self.x).sum()), places=9)
        self.assertEqual(self.hotplate("eval", "(2 + 3)*4", "--quiet").strip(), "20")

    def test_arrays_and_paths_on_the_daemon(self):
        self.hotplate("put", "x.npy", "--name", "X")
        self.hotplate("eval", "x[1:, ::2] - x[:-1, ::2]", "x=array:X", "-o", "array:D", says="on the daemon")
        self.hotplate("eval", "max(d, axis=0)", "d=array:D", "-o", "m.npy")
        difference = self.x[1:, ::2] - self.x[:-1, ::2]
        np.testing.assert_array_equal(np.load(self.folder / "m.npy"), difference.max(axis=0))
        place = self.folder / "by_path.npy"
        self.hotplate("eval", "y.T + 1", f"y=path:{self.folder / 'y.npy'}", "-o", f"path:{place}")
        np.testing.assert_array_equal(np.load(place), self.y + 1)

    def test_several_outputs(self):
        self.hotplate("eval", "_d = x - y; near = abs(_d) < 1; far = sqrt(_d*_d)", "x=x.npy", "y=y.npy", "-o", "far=far.npy",
                      "-o", "near=near.npy")
        near, far = np.load(self.folder / "near.npy"), np.load(self.folder / "far.npy")
        self.assertEqual(near.dtype, np.bool_)
        np.testing.assert_array_equal(near, abs(self.x - self.y) < 1)
        np.testing.assert_allclose(far, abs(self.x - self.y))
        self.hotplate("eval", "_d = x - y; near = abs(_d) < 1; far = sqrt(_d*_d)", "x=x.npy", "y=y.npy", "-o", "one.npy",
                      code=harness.INVALID, says=("near, far", "Name what you want"))

    def test_places(self):
        self.hotplate("eval", "broadcast_to(where(i == j, 1.0, 0.0), (3, 4))", "-o", "eye.npy")
        np.testing.assert_array_equal(np.load(self.folder / "eye.npy"), np.eye(3, 4))
        self.hotplate("eval", "y[39 - i] + 0*y", "y=y.npy", "-o", "flipped.npy")
        np.testing.assert_array_equal(np.load(self.folder / "flipped.npy"), self.y[::-1])

    def test_the_receipt_and_the_record(self):
        answer = self.answer("eval", "2*x + 1", "x=x.npy", "-o", "z.npy")
        job = self.job(answer["jobId"])
        self.assertEqual(job["kernel"], "expression")
        self.assertIn("2*x + 1", json.dumps(job["params"]))
        self.assertEqual(float(answer["receipt"]["flop"]), 2 * self.x.size)
        self.hotplate("show", answer["jobId"], says="2*x + 1")

    def test_what_is_wrong_is_shown(self):
        for words, says in (
                (["2*(x", "x=x.npy"], "^"),
                (["2*z", "x=x.npy"], 'no name "x"'),
                (["x + y[:3]", "x=x.npy", "y=y.npy"], ("[50, 40]", "[3]")),
                (["x & 1", "x=x.npy"], "float64"),
                (["esp(x)", "x=x.npy"], "exp"),
                (["x[50]", "x=x.npy"], "index 50 is out of bounds for axis 0 with size 50"),
                (["x + y", "x=x.npy"], "y"),
                (["x", "x=x.npy", "x=y.npy"], "twice"),
                (["(" * 10_000 + "x", "x=x.npy"], "200"),
        ):
            self.hotplate("eval", *words, "-o", "never.npy", code=harness.INVALID, says=says)
        self.hotplate("eval", code=harness.USAGE, says="EXPRESSION")
        self.hotplate("eval", "x", "x.npy", code=harness.USAGE, says="NAME=INPUT")
        self.assertFalse((self.folder / "never.npy").exists())

    def test_data_that_cannot_be(self):
        np.save(self.folder / "places.npy", np.array([0, 7, 40]))
        self.hotplate("eval", "y[p]", "y=y.npy", "p=places.npy", code=harness.FAILED,
                      says="index 40 is out of bounds for axis 0 with size 40")

    def test_a_division_by_zero_is_a_warning(self):
        np.save(self.folder / "n.npy", np.arange(-2, 3))
        self.hotplate("eval", "10 // n", "n=n.npy", "-o", "q.npy", says="warning: divide by zero encountered in floor_divide")
        np.testing.assert_array_equal(np.load(self.folder / "q.npy"), [-5, -10, 0, 10, 5])
        answer = self.answer("eval", "n % (n - 9)", "n=n.npy", "-o", "q.npy")
        self.assertEqual(answer["receipt"].get("warning", ""), "")

    def test_a_dry_run_and_a_daemon_without_expressions(self):
        self.hotplate("eval", "x*2", "x=x.npy", "--dry-run", says="float64 [50, 40]")
        daemon = self.start_daemon("--user-code", "none", name="none")
        self.hotplate("--server", "none", "eval", "x*2", "x=x.npy", code=harness.NOT_ALLOWED, says="--user-code none")
        self.stop_daemon(daemon)
        daemon = self.start_daemon("--user-code", "expressions", name="some")
        self.hotplate("--server", "some", "eval", "x*2", "x=x.npy")
        self.hotplate("--server", "some", "exec", "true", code=harness.NOT_ALLOWED, says="--user-code expressions")
        self.stop_daemon(daemon)


if __name__ == "__main__":
    harness.main()
