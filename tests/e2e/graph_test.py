"""Jobs that depend on each other: job:ID inputs, --after, hotplate graph; and all of them over the death of a daemon."""

import json
import signal
import xml.etree.ElementTree

import numpy as np

import harness

GRAPH = """
# What stands first need not run first.
[total]
expression = "sum(abs(r))"
inputs = { r = "roots" }

[gram]
kernel = "matmul"
inputs = { a = "x.npy", b = "x.npy" }

[roots]
expression = "sqrt(abs(g)) + shift"
inputs = { g = "gram.c" }
params = { shift = 1.0 }
outputs = { out = "roots.npy" }

[told]
python = ["-c", "print('after the roots')"]
after = ["roots"]
"""

LONG_NODE = """
[long]
kernel = "integrate2d"
params = { n = 10000000 }
"""


class Graph(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        cls.x = np.random.default_rng(1).random((60, 60))
        np.save(cls.folder / "x.npy", cls.x)

    def setUp(self):
        (self.folder / "roots.npy").unlink(missing_ok=True)

    def file(self, text, name="normal.toml"):
        (self.folder / name).write_text(text)
        return name

    def lines(self, *words, **options):
        code, out, err = self.run_command(*words, "--json", **options)
        return code, [json.loads(line) for line in out.splitlines()], err

    def submit(self, *words):
        return json.loads(self.hotplate("submit", "--json", *words))["jobId"]

    def wait_for_end(self, job_id):
        return self.wait_for_state(job_id, *harness.ENDED)

    # Inputs that another job makes.

    def test_an_input_that_another_job_makes(self):
        first = self.submit("matmul", "x.npy", "x.npy")
        second = self.submit("matmul", f"job:{first}", "x.npy")
        third = self.submit("eval", "a + 1", f"a=job:{second}.c")
        self.hotplate("result", third, "--wait", "-o", "cube.npy")
        np.testing.assert_allclose(np.load(self.folder / "cube.npy"), self.x @ self.x @ self.x + 1)
        self.assertEqual(self.job(third)["dependsOn"], [second])
        self.hotplate("run", "matmul", f"job:{third}", "x.npy", "-o", "more.npy")
        np.testing.assert_allclose(np.load(self.folder / "more.npy"), (self.x @ self.x @ self.x + 1) @ self.x)

    def test_a_job_that_waits_says_for_what(self):
        first = self.submit_long_job()
        second = self.submit("integrate2d", "--n", "64", "--after", first)
        self.assertEqual(self.job(second)["waitsFor"], [first])
        self.hotplate("show", second, says=f"waits for   job {first}")
        self.assertRegex(self.hotplate("jobs", "--active"), rf"{second} +integrate2d +PENDING +after {first}")
        self.hotplate("cancel", first)
        self.assertEqual(self.wait_for_end(second)["state"], "CANCELLED")
        self.hotplate("wait", second, code=harness.CANCELLED, says=f"job {first} was cancelled on request")

    def test_a_failure_is_told_to_those_that_depend_on_it(self):
        go_on = self.folder / "go_on"
        failing = self.submit("exec", "sh", "-c", f"while [ ! -e {go_on} ]; do sleep 0.05; done; exit 1")
        after = self.submit("integrate2d", "--n", "64", "--after", failing)
        go_on.touch()
        self.assertEqual(self.wait_for_end(after)["state"], "FAILED")
        self.hotplate("wait", after, code=harness.FAILED, says=(f"job {failing} (exec) FAILED", "exit code 1"))
        # One that comes after the failure is refused.
        self.hotplate("submit", "integrate2d", "--after", failing, code=harness.INVALID, says=f"job {failing} (exec) FAILED")

    def test_programs_after_jobs_and_jobs_after_programs(self):
        first = self.submit("matmul", "x.npy", "x.npy", "-o", f"path:{self.folder / 'square.npy'}")
        script = "print(len(open('square.npy', 'rb').read()))"
        second = self.submit("python", "--after", first, "-c", script)
        third = self.submit("matmul", f"path:{self.folder / 'x.npy'}", "x.npy", "--after", f"{first},{second}")
        self.hotplate("wait", third)
        self.assertEqual(self.hotplate("logs", second), f"{128 + 8 * 3600}\n")
        self.hotplate("python", "--after", first, "-c", "pass", code=harness.USAGE, says="in the background")

    def test_wrong_references(self):
        svd = self.submit("svd", "x.npy")
        program = self.submit("exec", "true")
        for words, says in (
                (["matmul", "job:999999", "x.npy"], ("a", "no job 999999")),
                (["matmul", f"job:{svd}", "x.npy"], ("has the outputs u, s, vt", f"job:{svd}.u")),
                (["matmul", f"job:{svd}.q", "x.npy"], 'has no output "q"; it has u, s, vt'),
                (["matmul", f"job:{program}", "x.npy"], ("is a program", f"--after {program}")),
                (["matmul", "x.npy", "x.npy", "--after", "999999"], ("after", "no job 999999")),
        ):
            for verb in ("submit", "run"):
                code, out, err = self.run_command(verb, *words)
                self.assertNotEqual(code, 0)
                for text in [says] if isinstance(says, str) else says:
                    self.assertIn(text, out + err)

    # Graphs.

    def test_a_graph_from_a_file(self):
        code, lines, err = self.lines("graph", "run", self.file(GRAPH))
        self.assertEqual(code, 0, err)
        graph, ids = lines[0]["graph"], lines[0]["nodes"]
        self.assertRegex(graph, r"^normal-r[0-9a-f]{4}$")
        self.assertEqual(set(ids), {"gram", "roots", "total", "told"})
        roots = np.sqrt(abs(self.x @ self.x)) + 1
        np.testing.assert_allclose(np.load(self.folder / "roots.npy"), roots)
        total = next(line for line in lines[1:] if line["jobId"] == ids["total"])
        self.assertAlmostEqual(total["outputs"][0]["value"], roots.sum(), places=6)
        self.assertEqual(self.hotplate("logs", ids["told"]), "after the roots\n")
        # What was for other nodes alone is gone, and is no part of a result.
        self.assertEqual(self.answer("arrays").get("arrays", []), [])
        self.assertEqual(self.answer("result", ids["gram"])["outputs"], [])
        self.assertEqual(sorted(job["node"] for job in self.answer("jobs", "--graph", graph)["jobs"]), sorted(ids))

        drawn = self.hotplate("show", graph)
        self.assertIn(f"graph {graph}   4 nodes: 4 COMPLETED", drawn)
        self.assertRegex(drawn, r"└─ roots +COMPLETED +expression .*← gram")
        self.assertLess(drawn.index("gram"), drawn.index("roots"))
        self.assertIn(f'"{ids["gram"]}" -> "{ids["roots"]}";', self.hotplate("show", graph, "--dot"))
        picture = xml.etree.ElementTree.fromstring(self.hotplate("show", graph, "--svg"))
        self.assertEqual(len(picture.findall(".//{*}g")), 4)
        self.assertEqual(len(self.answer("show", graph)["jobs"]), 4)
        self.hotplate("show", "nothing-1234", "--svg", code=harness.INVALID, says="no graph")

    def test_a_graph_in_words(self):
        out = self.hotplate("graph", "run", self.file(GRAPH), "--name", "mine")
        self.assertRegex(out, r"graph mine: 4 jobs queued, \d+ to \d+")
        self.assertIn("roots.npy   float64 [60, 60]", out)

    def test_a_dry_run_checks_all_and_runs_nothing(self):
        known = {job["id"] for job in self.answer("jobs")["jobs"]}
        out = self.hotplate("graph", "run", self.file(GRAPH), "--dry-run")
        self.assertRegex(out, r"roots +expression\n +output +out +float64 \[60, 60\]")
        self.assertIn("4 jobs would be accepted; nothing was run", out)
        answer = self.answer("graph", "submit", self.file(GRAPH.replace('outputs = { out = "roots.npy" }', "")), "--dry-run")
        self.assertEqual([node["node"] for node in answer["nodes"]], ["gram", "roots", "total", "told"])
        self.assertEqual({job["id"] for job in self.answer("jobs")["jobs"]}, known)

    def test_submit_leaves_and_the_results_are_fetched_later(self):
        code, lines, err = self.lines("graph", "submit", self.file(GRAPH.replace('outputs = { out = "roots.npy" }', "")))
        self.assertEqual(code, 0, err)
        self.hotplate("wait", lines[0]["graph"])
        self.hotplate("result", lines[0]["nodes"]["total"], says="4")
        self.hotplate("graph", "submit", self.file(GRAPH), code=harness.USAGE, says=("[roots]", "roots.npy", "does not wait"))

    def test_shapes_are_told_before_anything_runs(self):
        known = {job["id"] for job in self.answer("jobs")["jobs"]}
        np.save(self.folder / "seven.npy", np.ones(7))
        wrong = GRAPH + '\n[far]\nexpression = "t + r + v"\ninputs = { t = "total", r = "roots", v = "seven.npy" }\n'
        self.hotplate("graph", "run", self.file(wrong), code=harness.INVALID, says=("[far]", "[60, 60]", "[7]", "nothing was run"))
        self.assertEqual({job["id"] for job in self.answer("jobs")["jobs"]}, known)

    def test_what_is_wrong_with_a_file(self):
        node = '[a]\nexpression = "1 + 1"\n'
        for text, says in (
                ("", "it has no node"),
                ("[a]\nkernel = ", ":2:"),
                ("a = 1\n", "[a] is no table"),
                ('["a.b"]\nexpression = "1"\n', "is no name of a node"),
                ("[a]\n", "none of kernel, expression, function, python and exec"),
                ('[a]\nkernel = "matmul"\nexpression = "1"\n', "it can be one of them"),
                (node + 'inpust = {}\n', ('unknown key "inpust"', "inputs")),
                (node + 'after = ["b"]\n', 'comes after "b"'),
                ('[a]\nexpression = "x + y"\ninputs = { x = "b", y = "c" }\n[b]\nexpression = "x"\ninputs = { x = "a" }\n[c]\n'
                 'expression = "1"\n', "circle: a needs b needs a"),
                ('[a]\nexpression = "x"\ninputs = { x = "grams.out" }\n[gram]\nexpression = "1"\n',
                 ('neither a node "grams" nor a file "grams.out"', "nearest: gram")),
                ('[a]\nexpression = "x"\ninputs = { x = "b.u" }\n[b]\nexpression = "1"\n', ('has no output "u"; it has out', "./b.u")),
                ('[a]\nexpression = "x"\ninputs = { x = "b" }\n[b]\nkernel = "svd"\ninputs = { a = "x.npy" }\n',
                 ("has the outputs u, s, vt", "b.u")),
                ('[a]\nexpression = "x"\ninputs = { x = "b" }\n[b]\nexec = ["true"]\n', "is a program"),
                ('[a]\nkernel = "matmull"\n', ("[a]", "Nearest: matmul")),
                ('[a]\nkernel = "matmul"\ninputs = { a = "x.npy" }\n', ("[a]", "input b is missing")),
                ('[a]\nkernel = "integrate2d"\nparams = { n = "x" }\n', ("[a]", "--n", "is not a whole number")),
                ('[a]\nexpression = "2"\noutputs = { out = "s.npy" }\n[b]\nexpression = "3"\noutputs = { out = "./s.npy" }\n',
                 "is the place of an output of [a] already"),
                (node + "outputs = 3\n", "outputs is no table"),
                (node + 'outputs = { out = "-" }\n', "standard output is for what the command says"),
                ('[a]\nkernel = "integrate2d"\nparams = { device = "cpu0" }\n', ("params.device", "no such parameter")),
                ('[a]\nexpression = "x"\ninputs = { x = "job:999999" }\n', "no job 999999"),
                ("".join(f'[n{i}]\nexpression = "1"\n' for i in range(10_001)), "at most 10000"),
        ):
            code, out, err = self.run_command("graph", "run", self.file(text, "wrong.toml"))
            self.assertNotEqual(code, 0, text[:200])
            for one in [says] if isinstance(says, str) else says:
                self.assertIn(one, out + err, text[:200])
        self.hotplate("graph", "run", "absent.toml", says="absent.toml", code=harness.INVALID)
        self.hotplate("graph", "walk", "wrong.toml", says='"walk" is neither run nor submit', code=harness.USAGE)

    def test_words_that_could_be_others(self):
        job = self.submit("matmul", "x.npy", "x.npy")
        text = (f'[1]\nexpression = "-a + b*0 + c"\ninputs = {{ a = "x.npy", b = "job:{job}", c = 1 }}\n'
                '[2]\nexpression = "max(a*0 + big)"\ninputs = { a = "1" }\nparams = { big = inf }\n')
        code, lines, err = self.lines("graph", "run", self.file(text, "2024.toml"))
        self.assertEqual(code, 0, err)
        self.assertRegex(lines[0]["graph"], "^2024-r")
        self.assertEqual(next(line for line in lines[1:])["outputs"][0]["value"], "Infinity")
        for name in ("1-3", "last", "7", "a,b"):
            self.hotplate("graph", "run", "2024.toml", "--name", name, code=harness.USAGE, says="graph's name cannot be")

    def test_a_node_that_fails_is_named_and_the_rest_ends(self):
        text = GRAPH + '\n[bad]\nexec = ["false"]\nafter = ["gram"]\n[worse]\nexpression = "1 + 1"\nafter = ["bad"]\n'
        code, out, err = self.run_command("graph", "run", self.file(text), "--name", "failing")
        self.assertEqual(code, harness.FAILED, out + err)
        self.assertIn("[bad]", err)
        self.assertIn("exit code 1", err)
        self.assertIn("1 more of 6 nodes did not complete", err)
        self.assertTrue((self.folder / "roots.npy").exists(), "nodes beside it are delivered")
        self.assertRegex(self.hotplate("show", "failing"), r"worse +FAILED")

    def test_interrupt_cancels_the_graph(self):
        text = LONG_NODE + '[next]\nexpression = "1 + 1"\nafter = ["long"]\n'
        graph = self.start("graph", "run", self.file(text), "--name", "interrupted")
        harness.wait_until(lambda: any(job["state"] == "RUNNING" for job in self.answer("jobs", "--graph", "interrupted")["jobs"]),
                           "a job of the graph RUNS")
        graph.send_signal(signal.SIGINT)
        out, err = graph.communicate(timeout=harness.PATIENCE)
        self.assertEqual(graph.returncode, harness.INTERRUPTED, out + err)
        self.assertIn("the jobs of graph interrupted were cancelled", err)
        for job in self.answer("jobs", "--graph", "interrupted")["jobs"]:
            self.assertEqual(self.wait_for_end(job["id"])["state"], "CANCELLED")

    def test_a_killed_command_leaves_its_graph_alone(self):
        text = GRAPH + LONG_NODE
        graph = self.start("graph", "run", self.file(text), "--name", "left")
        harness.wait_until(lambda: len(self.answer("jobs", "--graph", "left")["jobs"]) == 5, "all are queued")
        graph.kill()
        graph.communicate()
        jobs = {job["node"]: job for job in self.answer("jobs", "--graph", "left")["jobs"]}
        self.assertEqual(self.wait_for_end(jobs["total"]["id"])["state"], "COMPLETED")
        self.hotplate("cancel", jobs["long"]["id"])
        self.hotplate("result", jobs["roots"]["id"], "-o", "roots.npy")
        np.testing.assert_allclose(np.load(self.folder / "roots.npy"), np.sqrt(abs(self.x @ self.x)) + 1)


class Deaths(harness.Case):
    def setUp(self):
        np.save(self.folder / "x.npy", np.arange(9.0).reshape(3, 3))
        self.x = np.load(self.folder / "x.npy")
        self.go_on = self.folder / "go_on"
        self.go_on.unlink(missing_ok=True)

    def tearDown(self):
        self.go_on.touch()
        harness.wait_until(lambda: not self.answer("jobs", "--active").get("jobs"), "what a test left waiting has ended")
        self.stop_daemon(self.daemon)

    def start_it(self, **options):
        self.daemon = self.start_daemon("--lanes", "2", **options)

    def start_anew(self, **options):
        self.daemon.kill()
        self.daemon.wait()
        self.start_it(**options)

    def submit(self, *words):
        return json.loads(self.hotplate("submit", "--json", *words))["jobId"]

    def submit_gate(self):
        """A job that ends when the test says so."""
        return self.submit("exec", "sh", "-c", f"while [ ! -e {self.go_on} ]; do sleep 0.05; done")

    def completes(self, job_id):
        self.assertEqual(self.wait_for_state(job_id, *harness.ENDED)["state"], "COMPLETED", self.job(job_id))

    def test_a_chain_goes_on_under_the_next_daemon(self):
        self.start_it()
        first = self.submit("matmul", "x.npy", "x.npy")
        self.completes(first)
        gate = self.submit_gate()
        second = self.submit("matmul", f"job:{first}", "x.npy", "--after", gate)
        third = self.submit("eval", "a + 1", f"a=job:{second}.c", "--priority", "50")
        self.start_anew()
        self.assertEqual(self.job(second)["waitsFor"], [gate])
        self.assertEqual(self.job(third)["waitsFor"], [second])
        self.go_on.touch()
        self.hotplate("result", third, "--wait", "-o", "y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), self.x @ self.x @ self.x + 1)
        fourth = self.submit("matmul", f"job:{first}.c", "x.npy")
        self.hotplate("result", fourth, "--wait", "-o", "y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), self.x @ self.x @ self.x)

    def test_what_waits_for_one_that_has_to_wait_waits_too(self):
        self.start_it()
        gate = self.submit_gate()
        after = self.submit("integrate2d", "--n", "64", "--after", gate)
        self.start_anew(env={"HOTPLATE_USER_CODE": "none"})
        self.hotplate("cancel", "999999", code=harness.INVALID)  # it serves
        self.go_on.touch()
        self.start_anew()
        self.completes(gate)
        self.completes(after)

    def test_a_result_that_was_fetched_stays_while_others_need_it(self):
        self.start_it()
        first = self.submit("matmul", "x.npy", "x.npy")
        gate = self.submit_gate()
        second = self.submit("eval", "sum(c)", f"c=job:{first}", "--after", f"{first},{gate}")
        self.hotplate("result", first, "--wait", "-o", "y.npy")
        self.hotplate("journal", "prune", "--older-than", "0s")
        self.start_anew()
        self.go_on.touch()
        self.completes(second)
        self.hotplate("result", second, says=str(int((self.x @ self.x).sum())))

    def test_after_one_that_was_attached(self):
        self.start_it()
        attached = self.answer("run", "integrate2d", "--n", "64")["jobId"]
        gate = self.submit_gate()
        after = self.submit("exec", "--after", f"{attached},{gate}", "true")
        self.hotplate("submit", "eval", "v*2", f"v=job:{attached}.value", code=harness.INVALID, says=f"job {attached} is attached")
        self.start_anew()
        self.go_on.touch()
        self.completes(after)

    def test_a_graph_is_whole_after_a_death(self):
        self.start_it()
        gate = f'["sh", "-c", "while [ ! -e {self.go_on} ]; do sleep 0.05; done"]'
        (self.folder / "g.toml").write_text(
            '[bad]\nexec = ["false"]\n[square]\nkernel = "matmul"\ninputs = { a = "x.npy", b = "x.npy" }\n'
            f'[gate]\nexec = {gate}\n[last]\nexpression = "sum(s)"\ninputs = {{ s = "square" }}\nafter = ["gate"]\n')
        ids = self.answer("graph", "submit", "g.toml", "--name", "whole")["nodes"]
        self.wait_for_state(ids["bad"], "FAILED")
        self.completes(ids["square"])
        self.start_anew()
        self.assertEqual(len(self.answer("jobs", "--graph", "whole")["jobs"]), 4)
        self.assertIn("← gate, square", self.hotplate("show", "whole"))
        self.go_on.touch()
        self.completes(ids["last"])
        self.hotplate("wait", "whole", code=harness.FAILED)
        harness.wait_until(lambda: not self.answer("arrays").get("arrays"), "what was for other nodes is gone")
        out = self.hotplate("down", "local")
        self.assertNotIn(f"job {ids['square']}", out)
        self.start_it()


if __name__ == "__main__":
    harness.main()
