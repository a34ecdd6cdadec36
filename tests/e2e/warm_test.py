"""Scripts that are forked from a warm Python behave as if Python had started anew for them, and leave nothing behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sysconfig
import textwrap

import harness
import warm_scripts

PYTHON = "/usr/bin/python3"

INPUT = "one\ntwo\nthree\n"


class Warm(harness.Case):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment |= {"HOTPLATE_PYTHON": PYTHON, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        cls.daemon = cls.start_daemon()
        cls.work = cls.folder / "work"
        cls.work.mkdir()

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def venv(self, name):
        """(its interpreter, its site-packages), of an environment of its own."""
        folder = self.folder / name
        subprocess.run([PYTHON, "-m", "venv", "--system-site-packages", "--without-pip", folder], check=True)
        return folder / "bin/python", next(folder.glob("lib/python*/site-packages"))

    def newest(self):
        return self.answer("jobs")["jobs"][0]["receipt"]["process"]

    def run_python(self, *words, python=PYTHON, code=0, **env):
        """(standard output, the receipt's process) of a script."""
        out = self.hotplate("python", *words, code=code, env={"HOTPLATE_PYTHON": str(python)} | env)
        return out, self.newest()

    def wait_for_warm(self, python=PYTHON, *words, **env):
        """Runs scripts until one is warm."""
        return harness.wait_until(lambda: self.run_python(*(words or ("-c", "pass")), python=python, **env)[1]["warm"],
                                  f"a script of {python} is warm")

    # As if Python had started anew.

    def prepare(self):
        (self.work / "beside.py").write_text("import sys\nif __name__ == '__main__':\n"
                                             "    print(sys.argv, sys.path[0], __spec__.name, __file__, sorted(globals()))\n")
        (self.work / "empty").mkdir()
        for name in ("folder", "package"):
            (self.work / name).mkdir()
            (self.work / name / "__main__.py").write_text("import sys\nprint(sys.argv, sys.path[0], __name__, __file__, __package__)\n")
            (self.work / name / "inner.py").write_text("import sys\nprint(sys.argv, sys.path[0], __file__)\n1 / 0\n")
        (self.work / "package" / "__init__.py").write_text("")
        (self.work / "package" / "raises.py").write_text("raise ValueError('of mine')\n")
        (self.work / "link.py").symlink_to("folder/inner.py")
        (self.work / "bare").write_text("print(__file__)\n")
        (self.work / "data.json").write_text('{"a": [1, 2]}')
        subprocess.run([PYTHON, "-m", "zipapp", "folder", "-o", "packed.pyz"], cwd=self.work, check=True)
        subprocess.run([PYTHON, "-c", "import py_compile; py_compile.compile('folder/inner.py', 'compiled.pyc')"],
                       cwd=self.work, check=True)

    def outcome(self, command, environment):
        done = subprocess.run(command, cwd=self.work, env=environment, input=INPUT, capture_output=True, text=True,
                              timeout=harness.PATIENCE, check=False)
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        # What the command itself says of a program that a signal ended.
        err = re.sub(r"✗ .* was ended by SIG.*\n", "", done.stderr)
        blind = lambda text: re.sub(r"0x[0-9a-f]+|in 0\.\d+s", "…", text)
        return {"out": blind(done.stdout), "err": blind(err), "code": code}

    def test_it_is_as_a_python_that_starts_anew(self):
        self.prepare()
        self.wait_for_warm()
        # The environment as a program gets it.
        out, _ = self.run_python("-c", "import json, os; print(json.dumps(dict(os.environ)))")
        environment = json.loads(out)
        environment.pop("LSAN_OPTIONS", None)  # harness.py's
        calls = []
        for number, (name, text) in enumerate(warm_scripts.SCRIPTS.items()):
            path = self.work / f"script{number}.py"
            path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
            calls.append((name, [path.name]))
        (self.work / "statistics.py").write_text("mine = 'beside it'\n")
        calls += [(name, [word.format(self.work) if name != "-c" else word for word in words]) for name, words in warm_scripts.WORDS.items()]
        for name, words in calls:
            with self.subTest(name):
                plain = self.outcome([PYTHON, *words], environment)
                warm = self.outcome([str(harness.BIN / "hotplate"), "python", *words], self.environment)
                self.assertEqual(warm, plain)
                receipt = self.newest()
                self.assertTrue(receipt["warm"], receipt)


if __name__ == "__main__":
    harness.main()
