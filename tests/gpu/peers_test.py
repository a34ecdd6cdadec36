#!/usr/bin/env python3
"""The kit's peers where there is no GPU: which there are, what becomes of one that does not work, and what they compute.

usage: peers_test.py [ComparedTest|ComputedTest[.TEST]]
  ComparedTest  needs HOTPLATE_BIN_DIR, and none of the libraries
  ComputedTest  needs no build: any Python that has NumPy and a library will do
"""

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "bench/kernels")]
from kit import intervals, peer, peers  # noqa: E402
from kit.section import Kit  # noqa: E402
from kit_test import bench_rows  # noqa: E402


class ComparedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hotplate-kit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def peer(self, library, source, seconds=30):
        """(the figures, the check) of a library that is this Python source."""
        (self.folder / "packages").mkdir(exist_ok=True)
        (self.folder / f"packages/{library}.py").write_text(source, encoding="utf-8")
        options = {"device": "cpu", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 100}
        results = self.folder / f"{library}.jsonl"
        kit = Kit(options, {}, results)
        kit.environment["PYTHONPATH"] = str(self.folder / "packages")
        with kit.check("beside"):
            peers.Comparison(kit, library, {}, {}).make(seconds)
        found = [json.loads(line)["check"] for line in results.read_text(encoding="utf-8").splitlines()]
        return found[:-1], found[-1]

    def test_a_peer_that_does_not_work_here_is_not_run_in_its_own_words(self):
        (self.folder / "packages").mkdir()
        (self.folder / "packages/numpy.py").touch()
        for library, source, words in (
                ("cupy", "def ElementwiseKernel(*words): raise OSError('no NVRTC headers')", "OSError: no NVRTC headers"),
                ("torch", "class cuda: is_available = staticmethod(lambda: False)", "torch.cuda sees no GPU"),
                ("numba", "raise ImportError('libcuda is too old')", "ImportError: libcuda is too old"),
                ("jax", "import os; os.abort()", "exit -6")):
            figures, check = self.peer(library, source)
            self.assertEqual((figures, check["status"]), ([], "not run"), check)
            self.assertIn(words, check["reason"])

    def test_a_peer_that_takes_too_long_to_import_is_not_run(self):
        (self.folder / "packages").mkdir()
        (self.folder / "packages/numpy.py").touch()
        _, check = self.peer("jax", "import time; time.sleep(1000)", seconds=2)
        self.assertEqual((check["status"], check["reason"]), ("not run", "no row was compared within 2 s"))

    def test_rows_of_a_peer_that_runs_over_are_kept(self):
        """What has been printed by then counts, and a row that raises is only that row."""
        script = self.folder / "peer.py"
        script.write_text("""
import json, time
line = {"row": "selu", "peer": "p", "ours_ns": 2, "peer_ns": 3, "pairs": 1, "difference": 0, "tolerance": 1, "same": True,
        "goal": 0.97}
print("a library's own words", json.dumps(line), json.dumps({"row": "matmul", "error": "too large"}), sep="\\n", flush=True)
time.sleep(1000)
""", encoding="utf-8")
        options = {"device": "cpu", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 100}
        kit, facts, best = Kit(options, {}, self.folder / "results"), {}, {}
        one = peers.Comparison(kit, "torch", facts, best)
        code, _, _ = kit.follow([sys.executable, str(script)], 5, each_line=one.line)
        self.assertIsNone(code)
        self.assertEqual((one.rows, one.errors, best), (1, {"matmul": "too large"}, {"selu": (1.5, "p", 0.97)}))
        self.assertEqual(kit.recorded, {"selu: p": "pass"})

    def peer_names(self, rows):
        """{(row, library): names of the peer's versions of it}, without the libraries, which making one needs."""
        libraries = [object.__new__(one) for one in (peer.Cupy, peer.Torch, peer.Jax, peer.Numba)]
        for one in libraries:
            for name in ("cp", "torch", "jax", "cuda", "device", "selu", "trig", "kernels"):
                setattr(one, name, "cuda" if name == "device" else mock.MagicMock())
        with mock.patch.object(peer, "numpy", mock.MagicMock()):
            return {(row["name"], type(one).__name__): [name for name, _ in one.versions(row)] for row in rows for one in libraries}

    def test_each_kernel_has_a_peer_but_what_only_measures_the_machine(self):
        rows = bench_rows("cuda")
        versions = self.peer_names(rows)
        found = {row["kernel"]: set() for row in rows}
        for row in rows:
            found[row["kernel"]] |= {library for (name, library), names in versions.items() if name == row["name"] and names}
        self.assertEqual({kernel for kernel, names in found.items() if not names}, {"transfer_probe"})
        for kernel in ("fft", "kmeans", "spmv", "pagerank", "groupby_sum", "sort_by_key", "random"):
            self.assertLessEqual({"Cupy", "Torch"}, found[kernel], kernel)
        self.assertLessEqual({"vector_add", "trig_identity", "selu", "power_sum", "batched_matvec"},
                             {kernel for kernel, names in found.items() if "Numba" in names})
        for library, name in (("Cupy", "cupy: masks"), ("Torch", "torch: masks"), ("Jax", "jax: jit, masks"), ("Numba", "numba")):
            self.assertEqual(versions["mandelbrot_2000", library], [name])
            self.assertEqual(versions["mandelbrot_4000", library], ["numba"] if library == "Numba" else [])
        for variant in ("naive", "shared", "fast"):  # each beside both of the course's own
            self.assertEqual(versions[f"integrate2d_102400_{variant}", "Numba"],
                             ["numba: shared memory, 16 threads", "numba: naive"])

    def test_what_the_courses_goals_are_of_is_there(self):
        """A row or a version of a peer by another name would be without its goal, and nobody would know."""
        versions = self.peer_names(bench_rows("cuda"))
        self.assertEqual({row for row, _ in peers.COURSE_GOALS}, set(peer.COURSE_ROWS))
        for row, name in peers.COURSE_GOALS:
            library = next(one for one in peers.LIBRARIES if name.startswith(one)).capitalize()
            self.assertIn(name, versions.get((row, library), []))

    def test_rows_come_in_the_order_of_their_time_and_what_has_none_left_is_left_out(self):
        """By the numbers in their names SVDs of seconds came before all of 3e7 numbers, which then had no time."""
        def times(name):
            seconds = 2 if name.startswith("svd") else 5e-6 if name.endswith(("_4", "_4096", "by_10")) else 1e-3
            seconds = {"vector_add_f32_3e7": 1e-4, "trig_identity_f32_1e7": 3e-5}.get(name, seconds)
            return {"kernel_ns": seconds * 1e9, "whole_ns": seconds * 1.1e9, "input_bytes": 1e8, "output_bytes": 1e8}
        rows = bench_rows("cuda")
        known = {row["name"]: times(row["name"]) for row in rows}
        names = [row["name"] for row in sorted(rows, key=lambda row: peer.order(row, known))]
        self.assertEqual(set(names[:2]), set(peer.COURSE_ROWS))
        self.assertEqual(names[2:4], ["trig_identity_f32_1e7", "vector_add_f32_3e7"])
        short = [name for name in names if known[name]["kernel_ns"] == 5e3]
        slow = [name for name in names if name.startswith("svd")]
        huge = [name for name in names if name.endswith("_1e8")]
        self.assertEqual(names[-len(short + huge):], short + huge)
        self.assertEqual(names[-len(slow + short + huge):-len(short + huge)], slow)
        # Nothing is known: what memory binds first all the same, and an SVD after all else.
        names = [row["name"] for row in sorted(rows, key=lambda row: peer.order(row, {}))]
        self.assertLess(names.index("power_sum_f32_3e7"), names.index("sort_f32_3e7"))
        self.assertLess(names.index("sort_f32_3e7"), names.index("matmul_f32_1000"))
        self.assertLess(names.index("matmul_f16_8192"), names.index("svd_f64_3000"))
        self.assertLess(names.index("eigh_f64_4096"), names.index("svd_f64_3000"))
        # A row is begun if five pairs of it have room: of an SVD of 2 s they take half a minute, of what is short 2 s.
        row = {"name": "svd_f64_4096", "kernel": "svd"}
        self.assertAlmostEqual(peer.seconds_for(row, known, 1), 30, delta=2)
        why = peer.no_room_for(row, self.folder, 10, peer.seconds_for(row, known, 1))
        self.assertRegex(why, r"10.0 s, and it takes about 3\d")
        row = {"name": "vector_add_f32_3e7", "kernel": "vector_add"}
        self.assertAlmostEqual(peer.seconds_for(row, known, 1), 2, delta=0.5)
        self.assertEqual(peer.no_room_for(row, self.folder, 10, peer.seconds_for(row, known, 1)), "")
        self.assertGreater(peer.seconds_for(row, known, 2), 1.5 * peer.seconds_for(row, known, 1))
        self.assertGreater(peer.seconds_for(row, {}, 1), 1)

    def measured(self, launch_ns, kernel_ns, waits=False):
        """Intervals on a made-up GPU: runs are launched one after another, take so long, and may be waited for."""
        now = {"host": 0.0, "gpu": 0.0}

        class Event:
            def record(self):
                self.at = max(now["host"], now["gpu"])

            def synchronize(self):
                now["host"] = max(now["host"], self.at)

            def elapsed_time(self, end):
                return (end.at - self.at) / 1e6

        def run():
            now["host"] += launch_ns
            now["gpu"] = max(now["host"], now["gpu"]) + kernel_ns
            now["host"] = now["gpu"] if waits else now["host"]
        with mock.patch.object(intervals.time, "perf_counter_ns", lambda: now["host"]):
            measured = peer.times_by_events(run, Event)
            return measured(10), measured

    def test_a_peers_way_to_its_launch_is_no_time_of_its_kernel(self):
        """One run between two events begins on a GPU that waits: 50 us of Python came before 100 of a kernel."""
        for launch, kernel in ((50e3, 100e3), (50e3, 2e6), (50e3, 300e6)):
            times, measured = self.measured(launch, kernel)
            self.assertAlmostEqual(times[0] / kernel, 1, delta=0.01)
            self.assertFalse(peer.mostly_launch(measured))
        self.assertEqual([self.measured(50e3, kernel)[1].runs for kernel in (100e3, 2e6, 300e6)], [100, 5, 1])
        # Of a kernel that is over before the next one is launched that is all that can be seen, and it is said.
        times, measured = self.measured(50e3, 5e3)
        self.assertAlmostEqual(times[0], 50e3, delta=1e3)
        self.assertTrue(peer.mostly_launch(measured))
        # What waits for the GPU in between does so of its own.
        self.assertFalse(peer.mostly_launch(self.measured(50e3, 2e6, waits=True)[1]))
        self.assertFalse(peer.mostly_launch(lambda count: [1] * count))

    def test_no_goal_is_judged_by_what_is_mostly_launch(self):
        line = {"ours_ns": 2, "pairs": 1, "difference": 0, "tolerance": 1, "same": True, "goal": 1.0}
        fast, launched = {"peer_ns": 4, "mostly_launch": False}, {"peer_ns": 1, "mostly_launch": True, "goal": None}
        both = [("a", "p"), ("b", "p"), *peers.COURSE_GOALS]
        lines = [line | {"row": row, "peer": name} | launched for row, name in both]
        lines.append(line | {"row": "a", "peer": "q", "sm_clock_mhz": [1, 2]} | fast)

        def make(comparison, _):
            if comparison.library == "cupy":
                for each in lines:
                    comparison.row(each)
        options = {"device": "cuda", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 100}
        kit = Kit(options, {"kernel_times": {"a": {"kernel_ns": 2}}}, self.folder / "results")
        with mock.patch.object(peers.Comparison, "make", make):
            peers.peers(kit)
        self.assertEqual(set(kit.recorded.values()), {"pass"})
        best = [name for name in kit.recorded if "best peer" in name]
        self.assertEqual(best, ["a: best peer's kernel time over ours (q)"])
        lines = (self.folder / "results").read_text(encoding="utf-8").splitlines()
        found = {one["name"]: one["facts"] for one in (json.loads(line)["check"] for line in lines)}
        self.assertIn("mostly its launch", found["a: p"]["remark"])
        self.assertEqual((found["a: q"].get("remark"), found["a: q"]["sm_clock_mhz"]), (None, [1, 2]))

    def test_the_peers_products_in_short_types_are_ours(self):
        """Ours rounds float32 and gives float32; a peer that began with the short type and gave it had less to do."""
        done = []

        class Array:
            def to(self, dtype):
                done.append(f"to {dtype}")
                return self

        def mm(_a, _b, out_dtype=None):
            done.append(f"product, {out_dtype}")
            return Array()

        def older(a, b, **more):
            if more:
                raise TypeError("mm() got an unexpected keyword argument 'out_dtype'")
            return mm(a, b, "bf16")
        torch = object.__new__(peer.Torch)
        rounded = ["to bf16", "to bf16"]
        for product, told in ((mm, rounded + ["product, f32"]), (older, rounded + ["product, bf16", "to f32"])):
            torch.torch, torch.device = mock.MagicMock(mm=product, bfloat16="bf16", float32="f32"), "cuda"
            row = next(row for row in bench_rows("cuda") if row["name"] == "matmul_bf16_8192")
            (_, make), = torch.versions(row)
            run = make({"a": Array(), "b": Array()})
            for _ in range(2):
                del done[:]
                run()
                self.assertEqual(done, told)

    def test_what_is_huge_comes_last_and_where_there_is_room(self):
        rows = sorted(bench_rows("cuda"), key=lambda row: peer.order(row, {}))
        huge = [row["name"] for row in rows if peer.is_huge(row)]
        self.assertIn("vector_add_f32_1e8", huge)
        self.assertEqual([row["name"] for row in rows[-len(huge):]], huge)
        self.assertEqual(peer.no_room_for(rows[0], self.folder, 1), "")
        self.assertRegex(peer.no_room_for(rows[0], self.folder, -0.1), "no time left")
        self.assertRegex(peer.no_room_for(rows[-1], self.folder, 15), "no time left for it: 15.0 s")
        for free, why in ((5 << 30, "^$"), (3 << 30, "no room")):
            with mock.patch.object(peer.shutil, "disk_usage", lambda _, free=free: mock.Mock(free=free)):
                self.assertRegex(peer.no_room_for(rows[-1], self.folder, 30), why)

    def test_only_the_courses_slower_variants_have_no_goal(self):
        goals = {row["name"]: peer.goal_of(row) for row in bench_rows("cuda")}
        self.assertEqual({name for name, goal in goals.items() if goal is None},
                         {"integrate2d_102400_naive", "integrate2d_102400_shared"})
        self.assertEqual((goals["integrate2d_102400_fast"], goals["mandelbrot_2000"], goals["svd_f64_4096"]), (1, 1, 0.97))

    def test_the_best_peer_of_a_row_is_a_figure_with_the_rows_goal(self):
        line = {"peer": "p", "ours_ns": 2, "pairs": 1, "difference": 0, "tolerance": 1, "same": True}
        lines = [line | {"row": "svd_f64_4096", "peer_ns": 3, "goal": 0.97},
                 line | {"row": "eigh_f64_4096", "peer_ns": 1, "goal": 0.97},
                 line | {"row": "integrate2d_102400_naive", "peer_ns": 1, "goal": None}]
        options = {"device": "cuda", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 100}
        kit = Kit(options, {}, self.folder / "results")
        with mock.patch.object(peers.Comparison, "make", lambda one, _: [one.row(each) for each in lines]):
            peers.peers(kit)
        best = {name.split(":")[0]: status for name, status in kit.recorded.items() if "best peer's kernel time" in name}
        self.assertEqual(best, {"svd_f64_4096": "pass", "eigh_f64_4096": "fail", "integrate2d_102400_naive": "pass"})

    def test_the_peers_libraries_stay_their_own(self):
        options = {"device": "cuda", "quick": True, "python": sys.executable, "work": str(self.folder), "seconds": 9}
        kit = Kit(options, {"cuda_library_folders": ["/cuda/13", "/cuda/12"]}, self.folder / "results")
        self.assertEqual(kit.environment.get("LD_LIBRARY_PATH"), os.environ.get("LD_LIBRARY_PATH"))
        self.assertEqual(kit.environment["HOTPLATE_CUDA_LIBRARY_PATH"], "/cuda/13:/cuda/12")
        self.assertIn("/cuda/13:/cuda/12", kit.linked_environment()["LD_LIBRARY_PATH"])


def needs(library):
    there = all(importlib.util.find_spec(name) for name in ("numpy", library))
    return unittest.skipUnless(there, f"{sys.executable} has no NumPy or no {library}")


class ComputedTest(unittest.TestCase):
    """What the peers compute, beside NumPy's: Numba's kernels in its simulator, the others on the CPU."""

    def compare(self, one, rows):
        """Each version that this peer has of these rows, and that it has one of each."""
        import numpy
        import numpy_peers
        random = numpy.random.default_rng(20240501)
        for name in rows:
            kernel = next(kernel for kernel in sorted(numpy_peers.PEERS, key=len, reverse=True) if name.startswith(kernel))
            row = {"name": name, "kernel": kernel}
            names = () if kernel in ("mandelbrot", "integrate2d") else ("a", "b") if kernel == "vector_add" else ("x",)
            dtype = numpy.float64 if "_f64_" in name else numpy.float32
            # Below 0 and above it, and two blocks that are not full.
            arrays = {each: random.uniform(-10, 10, 300).astype(dtype) for each in names}
            if kernel == "batched_matvec":
                batch = (7,) if "each_of" in name else ()
                arrays = {each: random.uniform(-10, 10, shape).astype(dtype)
                          for each, shape in (("a", (*batch, 45, 30)), ("x", (7, 30)))}
            ours = numpy_peers.peer_of(row, arrays)()
            versions = list(one.versions(row))
            self.assertTrue(versions, name)
            for version, make in versions:
                theirs = one.get(make({key: one.put(array) for key, array in arrays.items()})())
                difference, tolerance = peer.differ(row, ours[0] if kernel == "integrate2d" else ours, theirs)
                self.assertLessEqual(difference, tolerance, f"{name}: {version}")

    ELEMENTWISE = tuple(f"{kernel}_{dtype}_300" for kernel in ("vector_add", "trig_identity", "selu", "power_sum")
                        for dtype in ("f32", "f64"))

    @needs("numba")
    def test_numba(self):
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # read when it is imported
        self.compare(peer.Numba(), (*self.ELEMENTWISE, "mandelbrot_100", "integrate2d_100",
                                    "batched_matvec_f32_45x30_by_7", "batched_matvec_f32_45x30_each_of_7"))

    @needs("torch")
    def test_torch(self):
        self.compare(peer.Torch("cpu"), (*self.ELEMENTWISE, "mandelbrot_100"))

    @needs("jax")
    def test_jax(self):
        self.compare(peer.Jax("cpu"), (*self.ELEMENTWISE, "mandelbrot_100"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
