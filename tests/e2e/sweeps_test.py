"""Sweeps: one job of many tasks, from the command line to its results, its failures and the death of its daemon."""

import json

import harness
import numpy as np
from journals import Durable


class Sweeps(Durable):
    def submit(self, *words, **options):
        return self.hotplate("submit", "--quiet", *words, **options).strip()

    def done(self, *words):
        job = self.submit(*words)
        self.hotplate("wait", job)
        return job

    def shown(self, job):
        return self.job(job)

    def load(self, job, output, code=harness.OK):
        file = self.folder / f"{output}-{job}.npy"
        self.hotplate("result", job, "-o", f"{output}={file}", code=code)
        return np.load(file)

    def test_a_kernel_s_results_are_one_array(self):
        job = self.done("integrate2d", "--each", "n=1..200", "--x-max", "1")
        values = self.load(job, "value")
        self.assertEqual(values.shape, (200,))

        def midpoint(n):
            x, y = (np.arange(n) + 0.5) / n, (np.arange(n) + 0.5) / n * np.pi
            return np.sin(x[:, None] + y[None, :]).mean() * np.pi

        np.testing.assert_allclose(values, [midpoint(n) for n in range(1, 201)], rtol=1e-6)
        for n in (1, 7, 200):
            alone = self.answer("run", "integrate2d", "--n", str(n), "--x-max", "1")
            self.assertEqual(values[n - 1], self.output(alone, "value")["value"])
        job = self.shown(job)
        self.assertEqual(job["tasks"], {"total": 200, "completed": 200, "failed": 0, "running": 0})
        self.assertEqual(job["swept"], ["n=1..200"])
        self.assertNotIn("n", job["params"])
        self.assertEqual(job["params"]["x_max"], {"intValue": 1})

    def test_a_grid_and_a_table(self):
        answer = self.answer("run", "integrate2d", "--each", "n=2,4", "--each", "x_max=1,2,3")
        tasks = answer["sweep"]["tasks"]
        self.assertEqual([task["values"] for task in tasks],
                         [{"n": n, "x_max": x} for n in (2, 4) for x in (1, 2, 3)])
        alone = [self.answer("run", "integrate2d", "--n", str(n), "--x-max", str(x)) for n in (2, 4) for x in (1, 2, 3)]
        for task, one in zip(tasks, alone):
            self.assertEqual(task["outputs"]["value"], self.output(one, "value")["value"])
        table = self.folder / "values.csv"
        table.write_text('n, x_max\n2,1\n\n4 , "3"\n')
        answer = self.answer("run", "integrate2d", "--each-file", table)
        self.assertEqual([task["outputs"]["value"] for task in answer["sweep"]["tasks"]],
                         [tasks[0]["outputs"]["value"], tasks[5]["outputs"]["value"]])
        text = self.hotplate("run", "integrate2d", "--each", "n=2,4")
        self.assertRegex(text, r"(?m)^TASK +n +value +error$")
        self.assertRegex(text, r"(?m)^ +1 +4 +[0-9.]+")

    @staticmethod
    def output(answer, name):
        return next(one for one in answer["outputs"] if one["name"] == name)

    def test_an_expression_is_swept_over_its_numbers(self):
        x = self.folder / "x.npy"
        np.save(x, np.arange(3.0))
        out = self.folder / "y.npy"
        self.hotplate("eval", "a*x + 1", f"x={x}", "--each", "a=1..4", "-o", out)
        np.testing.assert_array_equal(np.load(out), np.arange(1, 5)[:, None] * np.arange(3.0) + 1)

    def test_the_daemon_reads_and_writes_files_once(self):
        x, y = self.folder / "in.npy", self.folder / "out.npy"
        np.save(x, np.arange(4.0))
        job = self.submit("eval", "a*x", f"x=path:{x}", "--each", "a=1..3", "-o", f"path:{y}")
        self.hotplate("wait", job)
        np.testing.assert_array_equal(np.load(y), np.arange(1, 4)[:, None] * np.arange(4.0))
        self.hotplate("put", x, "--name", "X", "--replace")
        job = self.submit("eval", "a*x", "x=array:X", "--each", "a=1..3", "-o", "array:Y")
        self.hotplate("wait", job)
        self.hotplate("get", "Y", "-o", self.folder / "y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), np.load(y))

    def test_bad_words_are_refused_before_anything_runs(self):
        files = {"empty.csv": "", "heads.csv": "n\n", "ragged.csv": "n,x_max\n1,2\n3\n", "unknown.csv": "m\n1\n",
                 "word.csv": "n\none\n", "quote.csv": 'n\n"1\n', "behind.csv": 'n\n"1"2\n', "twice.csv": "n,n\n1,2\n"}
        for name, content in files.items():
            (self.folder / name).write_text(content)
        before = len(self.answer("jobs")["jobs"])
        table = [
            (["--each", "n=5..1"], "n=5..1: there is nothing from the first value to the last"),
            (["--each", "n=1..5:0"], "the step is 0"),
            (["--each", "n=1..2000000"], "2000000 values are too many; a sweep has at most 1000000 tasks"),
            (["--each", "n=1..1001", "--each", "x_max=1..1000"], "1001000 combinations are too many; a sweep has at most 1000000 tasks"),
            (["--each", "n=1..2:0.5"], 'the step "0.5" is not a whole number'),
            (["--each", "n=1.5..3"], '"1.5" is not a whole number'),
            (["--each", "n=a..b"], '"a" is not a whole number'),
            (["--each", "n=1,x"], '"x" is not a whole number'),
            (["--each", "n="], "it has no values"),
            (["--each", "m=1..5"], 'has no parameter "m"'),
            (["--each", "x_mx=1..5"], "Nearest: x_max"),
            (["--each", "n=1..5", "--n", "3"], "--n is 3 by itself, and swept over as well"),
            (["--each", "n=1..5", "--each", "n=1..5"], "n is swept over already"),
            (["--each", "n=-1..5"], "out of range"),
            (["--each-file", self.folder / "empty.csv"], "is empty"),
            (["--each-file", self.folder / "heads.csv"], "no rows below its names: the sweep has 0 tasks"),
            (["--each-file", self.folder / "ragged.csv"], "line 3 has 1 cells, the first line 2"),
            (["--each-file", self.folder / "unknown.csv"], 'has no parameter "m"'),
            (["--each-file", self.folder / "word.csv"], 'line 2: --n: "one" is not a whole number'),
            (["--each-file", self.folder / "quote.csv"], "a quote is not closed"),
            (["--each-file", self.folder / "behind.csv"], "line 2: there is text behind a closed quote"),
            (["--each-file", self.folder / "twice.csv"], "there are two columns n"),
            (["--each-file", self.folder / "missing.csv"], "No such file"),
            (["--each", "n=1..5", "--graph-of-nothing"], "no parameter or option"),
        ]
        for words, says in table:
            for verb in ("submit", "run"):
                with self.subTest(verb=verb, words=words):
                    self.hotplate(verb, "integrate2d", *words, code=harness.INVALID, says=says)
        for words, says in [(["--each", "n"], "write NAME=FIRST..LAST"), (["--max-fails", "3"], "give --each as well"),
                            (["--retries", "3"], "give --each as well"), (["--each", "n=1..5", "--retries", "101"], "101"),
                            (["--each", "n=1..5", "--each-file", "x.csv"], "give one kind of them")]:
            with self.subTest(words=words):
                self.hotplate("submit", "integrate2d", *words, code=harness.USAGE, says=says)
        self.hotplate("submit", "arange", "--each", "stop=1..3", code=harness.INVALID,
                      says=["of task 1 (stop=2) is int64 [2]", "of task 0 (stop=1) int64 [1]", "they cannot become one array"])
        self.hotplate("submit", "random", "--rows", "1", "--n", "1", "--each", "seed=1..1000000000", code=harness.INVALID,
                      says="1000000000 values are too many; a sweep has at most 1000000 tasks")
        self.hotplate("submit", "random", "--rows", "100000", "--n", "100000", "--each", "seed=1..1000",
                      code=harness.INVALID, says="array-bytes")
        self.assertEqual(len(self.answer("jobs")["jobs"]), before)
        line = json.dumps({"kernel": "integrate2d", "each": "n=1..5"})
        (self.folder / "lines").write_text(line + "\n")
        with open(self.folder / "lines") as lines:
            answer = self.hotplate("run", "--pipe", stdin=lines, code=harness.INVALID)
        self.assertIn("each", json.loads(answer.splitlines()[0])["error"]["message"])

    def failing(self, *words, values="1..6"):
        """A sweep of a program that fails for 3 and 5."""
        script = 'case $HOTPLATE_N in 3|5) echo "no $1" >&2; exit 4;; esac; echo "task $HOTPLATE_TASK: $1"'
        return self.submit(*words, "--each", f"n={values}", "exec", "sh", "-c", script, "sh", "n is {n}")

    def test_programs_are_told_their_values(self):
        job = self.failing()
        self.hotplate("wait", job, code=harness.FAILED, says=["6/6, 2 failed", "task 2 (n=3)"])
        self.assertEqual(self.hotplate("logs", job, "--task", "0"), "task 0: n is 1\n")
        self.assertEqual(self.hotplate("logs", job, "--task", "5"), "task 5: n is 6\n")
        self.hotplate("logs", job, "--task", "6", code=harness.INVALID, says="task 6 of job")
        shown = self.shown(job)
        self.assertEqual([failure["task"] for failure in shown["taskFailures"]], [2, 4])
        self.assertEqual(shown["taskFailures"][0]["values"], {"n": {"intValue": 3}})
        self.assertIn("exit code 4", shown["taskFailures"][0]["error"]["message"])
        self.hotplate("show", job, says=["6/6, 2 failed", "task 4 (n=5): "])
        self.assertRegex(self.hotplate("jobs"), rf"(?m)^{job} .*COMPLETED, 2 failed")

    def test_the_output_of_a_task_ends_with_it(self):
        script = f"echo $HOTPLATE_N; while [ $HOTPLATE_N = 1 ] && [ ! -e {self.folder}/later ]; do sleep 0.02; done"
        job = self.submit("--each", "n=0..1", "exec", "sh", "-c", script)
        harness.wait_until(lambda: self.shown(job)["tasks"]["completed"] == 1, "one had ended")
        self.assertEqual(self.hotplate("logs", "-f", job, "--task", "0"), "0\n")
        self.assertEqual(self.shown(job)["state"], "RUNNING")
        (self.folder / "later").touch()
        self.hotplate("wait", job, says="2/2")

    def test_lines_and_python(self):
        lines = self.folder / "lines.txt"
        lines.write_text("a b\n\n007\n")
        job = self.done("--each-line", lines, "python", "-c",
                        "import os, sys; print(os.environ['HOTPLATE_TASK'], os.environ['HOTPLATE_LINE'], sys.argv[1:])",
                        "--each", "{line}", "{other}")
        self.assertEqual(self.hotplate("logs", job, "--task", "0"), "0 a b ['--each', 'a b', '{other}']\n")
        self.assertEqual(self.hotplate("logs", job, "--task", "1"), "1 007 ['--each', '007', '{other}']\n")
        job = self.done("--each", "v=3.9,3.10,2.50,1.0", "--each", "x=0.50..1.00:0.25", "exec", "sh", "-c", "echo $HOTPLATE_V {x}")
        said = [self.hotplate("logs", job, "--task", str(task)).strip() for task in (0, 4, 8, 9)]
        self.assertEqual(said, ["3.9 0.5", "3.10 0.75", "2.50 1.0", "1.0 0.5"], "texts are told as they were written")
        self.hotplate("logs", self.done("exec", "true"), "--task", "7", code=harness.INVALID, says="is no sweep: it has no task 7")
        for verb in ("exec", "python"):
            self.hotplate(verb, "--each", "n=1..2", "true", code=harness.USAGE, says=("--each is for", "hotplate submit"))
        self.hotplate("submit", "--each", "task=1..2", "exec", "true", code=harness.INVALID, says="HOTPLATE_TASK")
        for name in ("endpoint", "Output", "config", "daemon_x"):
            self.hotplate("submit", "--each", f"{name}=1..2", "exec", "true", code=harness.INVALID,
                          says=f"the variable HOTPLATE_{name.upper()} is Hotplate's own")
        self.hotplate("submit", "--each", "n=1..2", "--each", "N=1..2", "exec", "true", code=harness.INVALID,
                      says='"N" and "n" would be one variable, HOTPLATE_N')

    def test_failed_tasks_run_again(self):
        marks = self.folder / "marks"
        marks.mkdir(exist_ok=True)
        script = f'f={marks}/$HOTPLATE_N; echo x >> $f; [ $HOTPLATE_N -le 2 ] || [ $(wc -l < $f) -ge 3 ]'
        words = ["--each", "n=1..4", "exec", "sh", "-c", script]
        job = self.submit("--retries", "1", *words)
        self.hotplate("wait", job, code=harness.FAILED, says="4/4, 2 failed")
        counts = {file.name: len(file.read_text().split()) for file in marks.iterdir()}
        self.assertEqual(counts, {"1": 1, "2": 1, "3": 2, "4": 2})
        self.hotplate("submit", "--failed-of", job, code=harness.INVALID, says="repeat the words of job")
        self.hotplate("submit", "--failed-of", job, "--each", "n=1..5", *words[2:], code=harness.INVALID,
                      says="that sweep was over n=1..4")
        again = self.submit("--failed-of", job, *words)
        self.hotplate("wait", again, says="2/2")
        self.assertEqual(self.shown(again)["tasks"]["total"], 2)
        counts = {file.name: len(file.read_text().split()) for file in marks.iterdir()}
        self.assertEqual(counts, {"1": 1, "2": 1, "3": 3, "4": 3})
        self.hotplate("submit", "--failed-of", again, code=harness.INVALID, says="all of its 2 tasks completed")
        whole = self.done("integrate2d", "--each", "n=1..3")
        self.hotplate("submit", "--failed-of", whole, code=harness.INVALID, says="all of its 3 tasks completed")
        one = self.done("integrate2d", "--n", "3")
        self.hotplate("submit", "--failed-of", one, code=harness.INVALID, says="is no sweep")

    def test_too_many_failures_end_it(self):
        job = self.failing("--max-fails", "0", values="3..100000")
        self.hotplate("wait", job, code=harness.FAILED, says="more than 0 end the sweep")
        shown = self.shown(job)
        self.assertEqual(shown["state"], "FAILED")
        self.assertLess(shown["tasks"]["completed"], 1000)
        self.hotplate("result", job, code=harness.INVALID, says="hotplate logs")

    def test_cancel_ends_all_of_it_and_the_rest_can_run_later(self):
        job = self.submit("integrate2d", "--each", "n=20000..20400")
        self.wait_for_state(job, "RUNNING")
        self.hotplate("cancel", job)
        self.wait_for_state(job, "CANCELLED")
        self.hotplate("wait", job, code=harness.CANCELLED)
        self.assertLess(self.shown(job)["tasks"]["completed"], 401)
        self.hotplate("cancel", self.submit("--failed-of", job))

    def test_progress_is_told(self):
        script = f"while [ ! -e {self.folder}/go$HOTPLATE_N ]; do sleep 0.02; done"
        job = self.submit("--each", "n=1..4", "exec", "sh", "-c", script)
        (self.folder / "go1").touch()
        harness.wait_until(lambda: self.shown(job)["tasks"]["completed"] == 1, "the first task had ended")
        self.assertRegex(self.hotplate("show", job), r"tasks +1/4")
        self.assertRegex(self.hotplate("jobs"), rf"(?m)^{job} .* 1/4")
        for n in (2, 3, 4):
            (self.folder / f"go{n}").touch()
        updates = [json.loads(line) for line in self.hotplate("watch", "--json", job).splitlines()]
        self.assertEqual(updates[-1]["end"]["sweep"]["counts"]["completed"], 4)

    def test_a_kill_in_the_middle_costs_only_what_ran(self):
        ran = self.folder / "ran"
        script = (f"echo $HOTPLATE_TASK >> {ran}; if [ $HOTPLATE_TASK -ge 20 ]; then "
                  f"while [ ! -e {self.folder}/go ]; do sleep 0.02; done; fi; echo done $HOTPLATE_TASK")
        job = self.submit("--each", "n=1..40", "exec", "sh", "-c", script)
        kernel = self.submit("integrate2d", "--each", "n=1..500")
        harness.wait_until(lambda: ran.exists() and len(ran.read_text().split()) > 20, "it was in the middle")
        harness.wait_until(lambda: self.shown(job)["tasks"]["completed"] == 20, "twenty had ended")
        log = self.directory / "saved" / "local.jobs" / "jobs" / job / "tasks.log"
        harness.wait_until(lambda: self.written(log) == 20, "they were written down")
        self.kill_and_restart()
        (self.folder / "go").touch()
        self.hotplate("wait", job, says="40/40")
        runs = ran.read_text().split()
        self.assertEqual(len([run for run in runs if int(run) < 20]), 20, "none of those that had ended ran again")
        self.assertEqual(set(map(int, runs)), set(range(40)))
        for task in (0, 19, 39):
            self.assertEqual(self.hotplate("logs", job, "--task", str(task)), f"done {task}\n")
        self.hotplate("wait", kernel)
        whole = self.load(kernel, "value")
        np.testing.assert_array_equal(whole, self.load(self.done("integrate2d", "--each", "n=1..500"), "value"))
        # The end and the output are there for the daemon after that.
        self.kill_and_restart()
        self.assertEqual(self.shown(job)["tasks"]["completed"], 40)
        self.assertEqual(self.hotplate("logs", job, "--task", "19"), "done 19\n")
        np.testing.assert_array_equal(self.load(kernel, "value"), whole)

    @staticmethod
    def written(log):
        """The tasks in the whole batches of a file."""
        data, at, tasks = log.read_bytes(), 0, 0
        while at + 8 <= len(data):
            end = at + 8 + int.from_bytes(data[at:at + 8], "little")
            if end + 32 > len(data):
                break
            at += 8
            while at < end:
                at += 32
                for _ in range(2):
                    at += 8 + int.from_bytes(data[at:at + 8], "little")
                tasks += 1
            at = end + 32
        return tasks

    def test_another_daemon_dies_in_the_middle_of_a_kernel_s(self):
        job = self.submit("integrate2d", "--each", "n=4000..4300")
        harness.wait_until(lambda: self.shown(job)["tasks"]["completed"] > 20, "some tasks had ended")
        self.kill_and_restart()
        self.assertGreater(self.shown(job)["tasks"]["completed"], 0, "what was written down stays done")
        self.hotplate("wait", job, says="301/301")
        values = self.load(job, "value")
        alone = self.answer("run", "integrate2d", "--n", "4150")
        self.assertEqual(values[150], self.output(alone, "value")["value"])
        self.assertTrue(np.isfinite(values).all())


if __name__ == "__main__":
    harness.main()
