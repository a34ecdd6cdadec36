"""Graph files whose nodes are functions and programs of the user's own."""

import json
import sys

import numpy as np

import harness

MODEL = """
import numpy as np

def fit(x, shift=0.0, times=1):
    assert type(x) is np.ndarray and not x.flags.writeable
    print("fits", x.shape, shift, times)
    return times * x + shift

def total(x):
    return float(np.sum(x))

def told(n):
    print("told", type(n).__name__, n)

def pair(x):
    return {"x": x}
"""

GRAPH = """
[gram]
kernel = "matmul"
inputs = { a = "x.npy", b = "x.npy" }

[fitted]
function = "model:fit"
inputs = { x = "gram", times = 2 }
params = { shift = 0.5 }
outputs = { out = "fitted.npy" }

[roots]
expression = "sqrt(f)"
inputs = { f = "fitted" }

[sum]
function = "model:total"
inputs = { x = "roots.out" }

[shown]
function = "model:told"
inputs = { n = "sum" }

[files]
python = "report.py"
args = ["--lines", 3]
after = ["shown"]

[counted]
exec = ["wc", "-l", "report.txt"]
after = ["files"]
"""


class GraphFunctions(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment |= {"HOTPLATE_PYTHON": sys.executable}  # which has NumPy
        cls.start_daemon()
        cls.x = np.random.default_rng(1).random((30, 30))
        np.save(cls.folder / "x.npy", cls.x)

    def setUp(self):
        self.module(MODEL)
        (self.folder / "report.py").write_text("import sys\nopen('report.txt', 'w').write('a\\n' * int(sys.argv[2]))\n")
        self.file(GRAPH)

    def module(self, text, name="model.py"):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def file(self, text, name="mixed.toml"):
        (self.folder / name).write_text(text)
        return name

    def lines(self, *words, **options):
        code, out, err = self.run_command(*words, "--json", **options)
        self.assertEqual(code, 0, out + err)
        return [json.loads(line) for line in out.splitlines()]

    def test_functions_and_programs_among_kernels(self):
        lines = self.lines("graph", "run", "mixed.toml")
        ids = lines[0]["nodes"]
        fitted = 2 * (self.x @ self.x) + 0.5
        np.testing.assert_allclose(np.load(self.folder / "fitted.npy"), fitted)
        self.assertEqual(self.hotplate("logs", ids["fitted"]), "fits (30, 30) 0.5 2\n")
        self.assertRegex(self.hotplate("logs", ids["shown"]), r"^told float64 \d+\.\d+\n$")
        self.assertEqual(float(self.hotplate("logs", ids["shown"]).split()[-1]), float(f"{np.sqrt(fitted).sum():.17g}"))
        self.assertEqual(self.hotplate("logs", ids["counted"]).split(), ["3", "report.txt"])
        self.assertEqual(self.job(ids["roots"])["dependsOn"], [ids["fitted"]])
        self.assertEqual(self.job(ids["sum"])["label"], "total")

    def test_a_result_that_nobody_takes_is_printed(self):
        self.file('[sum]\nfunction = "model:total"\ninputs = { x = "x.npy" }\n', "one.toml")
        lines = self.lines("graph", "run", "one.toml")
        self.assertAlmostEqual(lines[1]["outputs"][0]["value"], self.x.sum())
        self.file('[sum]\nfunction = "model:told"\ninputs = { n = 3 }\n', "one.toml")
        self.hotplate("graph", "run", "one.toml")

    def test_a_module_that_was_edited_is_imported_anew(self):
        self.file('[sum]\nfunction = "model:total"\ninputs = { x = "x.npy" }\n', "one.toml")
        self.lines("graph", "run", "one.toml")
        self.module(MODEL.replace("float(np.sum(x))", "float(np.sum(x)) + 1000"))
        self.assertAlmostEqual(self.lines("graph", "run", "one.toml")[1]["outputs"][0]["value"], self.x.sum() + 1000)

    def test_modules_are_those_beside_the_file(self):
        self.module("def who():\n    return 1.0\n", "first/tools.py")
        self.module("def who():\n    return 2.0\n", "second/tools.py")
        self.module("", "second/inner/__init__.py")
        self.module("class Kind:\n    @staticmethod\n    def who():\n        return 3.0\n", "second/inner/deep.py")
        for folder, function, value in (("first", "tools:who", 1), ("second", "tools:who", 2), ("second", "inner.deep:Kind.who", 3)):
            self.file(f'[who]\nfunction = "{function}"\n', f"{folder}/who.toml")
            self.assertEqual(self.lines("graph", "run", f"{folder}/who.toml")[1]["outputs"][0]["value"], value)

    def test_a_dry_run_says_what_it_can(self):
        known = {job["id"] for job in self.answer("jobs")["jobs"]}
        out = self.hotplate("graph", "run", "mixed.toml", "--dry-run")
        self.assertRegex(out, r"fitted +function model:fit\n +.*/model.py\n +in Python 3\.[0-9.]+ \(.*\), NumPy [0-9.]+\n +its result is known when")
        self.assertRegex(out, r"counted +exec\n +wc -l report.txt\n +in .*, on any device, after files\n +it begins, and is found, when it runs")
        self.assertRegex(out, r"roots +expression\n +its inputs are known, and checked, when they are made")
        self.assertIn("7 jobs would be accepted; nothing was run", out)
        nodes = {node["node"]: node for node in self.answer("graph", "run", "mixed.toml", "--dry-run")["nodes"]}
        self.assertIn("NumPy", nodes["fitted"]["python"])
        self.assertIsNone(nodes["fitted"]["check"])
        self.assertIsNotNone(nodes["gram"]["check"])
        self.assertEqual({job["id"] for job in self.answer("jobs")["jobs"]}, known)

    def test_what_is_wrong(self):
        for text, says in (
                ('[a]\nfunction = "model"\n', '[a] function is "model"; it is written "MODULE:FUNCTION"'),
                ('[a]\nfunction = "model:fit:x"\n', "it is written"),
                ('[a]\nfunction = "modle:fit"\n', ('[a] function is "modle:fit", and there is no module "modle" in', "modle.py")),
                ('[a]\nfunction = "model:fit"\ninputs = { x = "b.u" }\n[b]\nfunction = "model:total"\ninputs = { x = "x.npy" }\n',
                 'has no output "u"; it has out'),
                ('[a]\nfunction = "model:fit"\ninputs = { x = "b" }\n[b]\nexec = ["true"]\n', "is a program"),
                ('[a]\nfunction = "model:fit"\ninputs = { x = "x.npy" }\noutputs = { out = "array:A" }\n', "goes to a file here"),
                ('[a]\nfunction = "model:fit"\ndeterministic = true\n', "deterministic is not for a function"),
                ('[a]\nfunction = "model:fit"\nargs = ["x"]\n', "args, which is for python and exec"),
                ('[a]\nfunction = "model:total"\nenv = "nowhere"\n', ("[a]", "nowhere")),
                ('[a]\nexpression = "x"\ninputs = { x = "b" }\n[b]\nfunction = "model:fit"\ninputs = { x = "a" }\n', "circle: a needs b needs a"),
        ):
            code, out, err = self.run_command("graph", "run", self.file(text, "wrong.toml"))
            self.assertNotEqual(code, 0, text)
            for one in [says] if isinstance(says, str) else says:
                self.assertIn(one, out + err, text)

    def test_what_fails_as_it_runs(self):
        for function, says in (("model:absent", ("[a]", "has no attribute 'absent'")),
                               ("model:pair", ("[a]", "returned a dict, and calls that take its result take one array")),
                               ("model:told", ("[a]", "unexpected keyword argument 'x'"))):
            text = f'[a]\nfunction = "{function}"\ninputs = {{ x = "x.npy" }}\n[b]\nexpression = "sum(x)"\ninputs = {{ x = "a" }}\n'
            code, out, err = self.run_command("graph", "run", self.file(text, "wrong.toml"))
            self.assertEqual(code, harness.FAILED, out + err)
            for one in (*says, "1 more of 2 nodes did not complete"):
                self.assertIn(one, out + err)

    def test_a_function_ends_with_its_daemon(self):
        self.module("import os, time\n\ndef gate(x):\n    while not os.path.exists('go_on'):\n        time.sleep(0.05)\n    return x\n")
        daemon = self.start_daemon(name="mortal")
        words = ("--server", "mortal")
        self.file('[gate]\nfunction = "model:gate"\ninputs = { x = "x.npy" }\n'
                  '[behind]\nexpression = "1 + 1"\nafter = ["gate"]\n'
                  '[taker]\nexpression = "sum(x)"\ninputs = { x = "gate" }\n'
                  '[lasting]\nexpression = "2 + 2"\n', "mortal.toml")
        ids = json.loads(self.hotplate("graph", "submit", "mortal.toml", "--json", *words))["nodes"]
        self.hotplate("wait", ids["lasting"], *words)
        daemon.kill()
        daemon.wait()
        self.start_daemon(name="mortal")
        jobs = {job["node"]: job for job in json.loads(self.hotplate("jobs", "--json", *words))["jobs"]}
        self.assertEqual({name: job["state"] for name, job in jobs.items()}, {"lasting": "COMPLETED", "behind": "FAILED"})
        self.assertIn(f"no job {ids['gate']}", jobs["behind"]["error"]["message"])

    def test_without_a_journal(self):
        self.start_daemon("--journal", "off", name="plain")
        lines = self.lines("graph", "run", "mixed.toml", "--server", "plain")
        self.assertEqual(len(lines[0]["nodes"]), 7)


if __name__ == "__main__":
    harness.main()
