#!/usr/bin/env python3
"""The benchmarks' own rules, without measuring anything: which rows there are, and what they are held to."""

import ast
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "kernels"))
import pairs  # noqa: E402

PROGRAM = pathlib.Path(os.environ["HOTPLATE_BIN_DIR"]) / "bench_kernels"


def rows(device):
    said = subprocess.run([str(PROGRAM), "--device", device, "--long", "--list"], capture_output=True, check=True).stdout
    return {row["name"]: row for row in json.loads(said)}


def constant(file, name):
    """What a program's source assigns to this name, a literal."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{file} assigns nothing to {name}")


def script(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, HERE / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peers_run():
    return script("peers/run.py")


def resident_bytes(pid):
    """Without what the system may take at any time."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    kib = {key: int(value.split()[0]) for key, _, value in (line.partition(":") for line in lines)}
    return (kib["Rss"] - kib["LazyFree"]) * 1024


class Made:
    """bench_kernels with made-up times: the row's, and a triad's at 20 bytes a nanosecond."""

    def __init__(self, row_ns, moved):
        self.row_ns, self.moved = row_ns, moved

    def times(self, _, repetitions):
        return [self.row_ns] * repetitions

    def ask(self, line):
        words = line.split()
        if words[0] == "phases":
            return {"bytes": self.moved}
        return [int(words[2]) / 20] * int(words[3])


class RowsTest(unittest.TestCase):
    def test_the_courses_rows_are_there_on_both_back_ends(self):
        run = HERE / "peers/run.py"
        courses, long = constant(run, "COURSES"), constant(run, "LONG")
        for device, names in courses.items():
            self.assertEqual(set(names + long) - set(rows(device)), set(), device)

    def test_the_courses_sizes_are_measured_on_both_back_ends(self):
        run = HERE / "peers/run.py"
        for device, names in constant(run, "COURSES").items():
            measured = set(names + constant(run, "LONG"))
            products = {f"matmul_{kind}_{n}" for kind in ("f32", "f64") for n in (1000, 3000)}
            integrals = {f"integrate2d_102400_{variant}" for variant in ("naive", "shared", "fast")}
            self.assertLessEqual(products | integrals | {
                "vector_add_f32_1e8", "vector_add_i32_4096", "trig_identity_f32_1e7", "selu_f32_1e6", "mandelbrot_2000",
                "matmul_f32_3000_own_transpose", "svd_f64_3000", "svd_f32_3000", "svd_f32_9000x1000"}, measured, device)

    def test_a_row_that_is_not_there_is_a_wrong_word_beside_others_too(self):
        words = ["--only", "vector_add_i32_4096", "--only", "integrate2d_102400_nave", "--library", "numpy"]
        no_driver = os.environ | {"HOTPLATE_CUDA_DRIVER_LIBRARY": "/nonexistent/libcuda.so.1"}
        for device in ("cpu", "cuda"):
            done = subprocess.run([sys.executable, "-B", str(HERE / "peers/run.py"), "--device", device, *words], env=no_driver,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("no row integrate2d_102400_nave; there are vector_add_f32_4, ", done.stderr)
            self.assertIn(", integrate2d_102400_naive, ", done.stderr)

    def test_the_table_beside_peers_judges_only_rows_with_a_goal(self):
        line = {"peer": "p", "ours_ns": 2e6, "ratio": 0.5, "end_to_end_ratio": 1, "ours_end_to_end_ns": 3e6}
        told = peers_run().table([line | {"row": "naive", "goal": None}, line | {"row": "fast", "goal": 1.0}]).splitlines()[2:]
        self.assertEqual(told, ["| naive | 2 ms | 0.50 | - | 3 ms | 1.00 |",
                                "| fast | 2 ms | 0.50 | ≥ 1, **missed** | 3 ms | 1.00 |"])

    def test_the_table_beside_peers_does_not_judge_by_a_launch(self):
        """A peer whose time is mostly its launch has a ratio and no goal, whichever of them comes first."""
        line = {"row": "row", "ours_ns": 1, "ours_end_to_end_ns": 1, "end_to_end_ratio": 1}
        launched = line | {"peer": "p", "ratio": 0.5, "goal": None}
        judged = line | {"peer": "q", "ratio": 1.1, "goal": 1.0}
        for lines in ([launched, judged], [judged, launched]):
            self.assertIn("| ≥ 1 |", peers_run().table(lines))
        self.assertIn("**missed**", peers_run().table([launched, judged | {"ratio": 0.9}]))

    def test_rows_for_which_our_own_time_differs_between_libraries_are_told(self):
        measured = [{"row": row, "peer": peer, "ours_ns": ns} for row, peer, ns in (
            ("quiet", "numpy", 80), ("quiet", "numba", 100), ("loud", "numpy", 80), ("loud", "numba", 90), ("loud", "jax", 101),
            ("louder", "numpy", 300), ("louder", "jax", 100), ("alone", "numpy", 1))]
        self.assertEqual(peers_run().disturbed(measured), [
            {"row": "louder", "ours_ns": {"numpy": 300, "jax": 100}, "apart": 3.0},
            {"row": "loud", "ours_ns": {"numpy": 80, "numba": 90, "jax": 101}, "apart": 101 / 80}])

    def test_a_peer_that_is_not_installed_is_named(self):
        run, functions = script("python/run.py"), sys.modules["functions"]

        def absent():
            raise ImportError("No module named 'absent'")

        rows = run.Rows(1)
        with mock.patch.multiple(functions, PEERS={"Absent": absent}, cancels=mock.DEFAULT, p50_us=lambda _: 3.0), \
                mock.patch("builtins.print"):
            functions.beside_functions(rows, mock.Mock(calls_us=lambda _: 2.0))
        said, report = self.report(rows)
        self.assertEqual([(row["peer_name"], row["ratio"], row["met"]) for row in report["rows"]], [("smallest kernel", 1.5, True)])
        self.assertEqual(report["not_compared"], [{"peer_name": "Absent", "not_compared": "No module named 'absent'"}])
        self.assertIn("not compared with Absent: No module named 'absent'\n", said)

    def test_a_goal_of_our_own_time_does_not_depend_on_the_peer(self):
        rows = script("python/run.py").Rows()
        with mock.patch("builtins.print"):
            for measured in (49, 51):
                rows.compare("back", "ms", 3, lambda: measured, "peer", lambda: 1000, 50, False, goal_of="measured")
        said, report = self.report(rows)
        self.assertEqual([row["met"] for row in report["rows"]], [True, False])
        self.assertEqual(said.count("<= 50 ms "), 2, said)

    def test_what_a_library_cannot_do_has_no_goal(self):
        script("python/run.py")
        for name, peer in sys.modules["function_peers"].PEERS.items():
            self.assertLessEqual(set(peer.goals), {"call", "burst", *(["held"] if peer.held else [])}, name)

    def report(self, rows):
        """What report.py says, and what it writes."""
        with tempfile.TemporaryDirectory() as folder:
            file, out = pathlib.Path(folder) / "rows.json", pathlib.Path(folder) / "report.json"
            file.write_text(json.dumps(rows), encoding="utf-8")
            said = subprocess.run([sys.executable, str(HERE / "report.py"), "--out", str(out), "--command", "test", str(file)],
                                  capture_output=True, text=True, check=True).stdout
            return said, json.loads(out.read_text(encoding="utf-8"))

    def test_a_ratio_near_its_goal_is_measured_again_and_longer(self):
        side, asked = script("peers/side.py"), []

        def measure(pairs, seconds):
            asked.append((pairs, seconds))
            return 1, 1, [first, 0.99][len(asked) - 1], pairs

        for goal, first, ratio, runs in ((0.97, 1.07, 1.07, 1), (None, 0.2, 0.2, 1), (0.97, 1.06, 0.99, 2), (0.97, 0.5, 0.99, 2)):
            asked.clear()
            self.assertEqual(side.apart_from_goal(goal, measure, {"pairs": 7, "seconds": 0.6})[2], ratio)
            self.assertEqual(asked, [(7, 0.6), (21, 15)][:runs])

    def test_the_tables_that_are_kept_are_those_of_the_files_beside_them(self):
        kept = sorted((HERE / "results").glob("peers-*.md"))
        self.assertTrue(kept)
        for path in kept:
            report = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            self.assertEqual(path.read_text(encoding="utf-8"), peers_run().page(report) + "\n", path.name)
            for one in peers_run().disturbed([line for line in report["rows"] if "ratio" in line]):
                self.assertIn(f"disturbed: {one['row']} took us ", path.read_text(encoding="utf-8"))

    def test_it_is_seen_that_a_child_still_works(self):
        # A grandchild's work is seen as well.
        with subprocess.Popen(["sh", "-c", "while :; do :; done & echo $!; wait"], stdout=subprocess.PIPE, text=True) as child:
            busy = int(child.stdout.readline())
            try:
                processes = pairs.family()
                self.assertLessEqual({os.getpid(), child.pid, busy}, set(processes))
                self.assertNotIn(os.getppid(), processes)
                before, end = pairs.processor_seconds(processes)[busy], time.monotonic() + 60
                while pairs.processor_seconds(processes)[busy] < before + 0.1:
                    self.assertLess(time.monotonic(), end, "its time stands still")
                    time.sleep(0.01)
            finally:
                os.kill(busy, signal.SIGKILL)
        self.assertNotIn(child.pid, pairs.processor_seconds([child.pid]), "it is over")

    def test_the_end_of_one_process_does_not_hide_that_another_works(self):
        readings = [{1: 5.0, 2: 1.0}, {2: 1.02}, {2: 1.04}, {2: 1.041}, {2: 1.041}]
        with mock.patch.object(pairs, "processor_seconds", lambda _: readings.pop(0)), \
                mock.patch.object(time, "sleep"), mock.patch.object(time, "monotonic", lambda: 0):
            pairs.settle()
        self.assertEqual(readings, [{2: 1.041}])

    def test_a_gpu_works_before_each_side_is_timed(self):
        """It rests until everybody has settled, and its clocks sink meanwhile."""
        said, now = [], [0.0]

        def side(name, seconds, count):
            said.append((name, count))
            now[0] += seconds * count
            return [1e9 * seconds] * count

        gpu = pairs.Gpu("")
        gpu.look = lambda: said.append("look")
        with mock.patch.object(pairs, "settle", lambda: said.append("settled")), \
                mock.patch.object(time, "monotonic", lambda: now[0]):
            pairs.compare(lambda n: side("ours", 4e-4, n), lambda n: side("peer", 6e-4, n), 1, gpu=gpu)
            begun = said.index("settled")
            ours, theirs = 1 + said[begun:].count(("ours", 1)), said[begun:].count(("peer", 1))
            self.assertEqual(said[begun:], ["settled", *[("ours", 1)] * (ours - 1), ("ours", 10), "look",
                                            "settled", *[("peer", 1)] * theirs, ("peer", 10), "look"])
            for worked in (ours * 4e-4, theirs * 6e-4):
                self.assertTrue(0.05 < worked < 0.1, worked)
            # What takes long raises the clocks by itself, and on a processor nothing is done but what is timed.
            for took, gpu, repetitions in ((0.2, gpu, 1), (5e-4, None, 10)):
                del said[:]
                pairs.compare(lambda n, took=took: side("ours", took, n), lambda n, took=took: side("peer", took, n), 1,
                              gpu=gpu)
                timed = [one for one in said[said.index("settled"):] if one not in ("settled", "look")]
                self.assertEqual(timed, [("ours", repetitions), ("peer", repetitions)])
        self.assertEqual(pairs.Gpu("GPU-of-nobody").seen(), {})

    def test_what_is_bound_by_memory_beside_a_triad_of_its_own_bytes(self):
        with mock.patch.object(pairs, "settle", lambda *_: None):
            for moved in (1.2e7, 4e7):  # a fifth faster than the triad, whatever the size
                ours, triad, ratio, _ = pairs.beside("triad", Made(moved / 24, moved), {"name": "row"}, 3)
                self.assertEqual((ours, triad), (moved / 24, moved / 20))
                self.assertAlmostEqual(ratio, 1.2)

    def test_what_only_writes_is_held_to_a_loop_that_only_writes(self):
        found = {name: pairs.bare_peers(row) for name, row in rows("cpu").items()}
        self.assertEqual(found["vector_add_f32_5e7"], {"triad": 0.9})
        self.assertEqual(found["matmul_f32_1000"], {})
        self.assertEqual(found["vector_add_f32_4000x1_and_2500"], {"triad": None, "broadcast": 0.9})
        for name in ("full_f32_1e7", "arange_f64_1e7", "linspace_f64_1e7"):
            self.assertEqual(found[name], {"triad": None, "fill": 0.9}, name)

    def test_a_bare_loop_is_of_the_bytes_that_were_asked_for(self):
        kernels = pairs.Kernels([str(PROGRAM)])
        try:
            for bare in ("triad", "fill", "broadcast"):
                self.assertEqual(len(kernels.ask(f"bare {bare} 1200 3")), 3)
                for wrong in ("0", "11", "-5", str(1 << 40), "many"):
                    with self.assertRaisesRegex(pairs.Refused, f"a {bare} of 12 to"):
                        kernels.ask(f"bare {bare} {wrong} 1")
                kernels.ask(f"bare {bare} 240000000 1")
                self.assertGreaterEqual(resident_bytes(kernels.process.pid), 240_000_000)
                kernels.ask(f"bare {bare} 12000 1")  # and then no longer of those
                self.assertLess(resident_bytes(kernels.process.pid), 240_000_000)
            with self.assertRaisesRegex(pairs.Refused, 'no bare loop "copy"'):
                kernels.ask("bare copy 12000 1")
        finally:
            kernels.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
