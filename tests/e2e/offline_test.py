"""What works without a daemon: help, the catalogue, completion, the version."""

import json
import pathlib
import re
import shutil
import subprocess

import harness

DOCS = [path for folder in ("client/docs", "deploy/docs")
        for path in sorted((pathlib.Path(__file__).parents[2] / folder).glob("*.md"))]

# Of those in the catalogue.
KERNELS = ("arange", "full", "histogram", "integrate2d", "linspace", "mandelbrot", "matmul", "random", "selu",
           "trig_identity", "vector_add")
COMMANDS = ("up", "down", "status", "logs", "kernels", "describe", "run", "submit", "jobs", "show", "watch", "wait",
            "cancel", "result", "put", "get", "arrays", "free", "devices", "top", "completion")


class Offline(harness.Case):
    def test_version(self):
        self.assertRegex(self.hotplate("--version"), r"^hotplate \d+\.\d+\.\d+")
        self.assertEqual("hotplate " + self.answer("--version")["version"], self.hotplate("--version").strip())
        for program in ("hotplate", "hotplated"):
            text = subprocess.run([harness.BIN / program, "--version", "-v"], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertRegex(text, rf"^{program} \d+\.\d+\.\d+\n  gRPC +\d")
            self.assertRegex(text, r"\n  SQLite +3\.")
        self.assertIn("gRPC", [library["name"] for library in self.answer("--version", "-v")["libraries"]])

    def test_help_lists_every_command_and_each_has_its_own(self):
        text = self.hotplate("--help")
        for command in COMMANDS:
            self.assertIn(command, text)
            with self.subTest(command):
                own = self.hotplate(command, "--help")
                self.assertIn(f"hotplate {command}", own)
                self.assertIn("xample", own)

    def test_a_copied_program_shows_every_page(self):
        self.assertGreater(len(DOCS), 10)
        copied = self.folder / "elsewhere"
        shutil.copy(harness.BIN / "hotplate", copied)
        overview, completion = self.hotplate("help"), self.hotplate("completion", "bash")
        manual = self.hotplate("help", "--man").replace("\\", "")
        for page in DOCS:
            with self.subTest(page.stem):
                done = subprocess.run([copied, "help", page.stem], cwd="/", env=self.environment, text=True, check=True,
                                      stdout=subprocess.PIPE)
                title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
                self.assertIn(title + "\n", done.stdout)
                # Links are for those who read the file. (The parameters of a C++ lambda have a space in them.)
                self.assertNotRegex(done.stdout, r"\]\([^ )]+\)")
                self.assertRegex(overview, rf"(?m)^  {page.stem} +{title.split(': ')[1]}$")
                self.assertTrue(re.search(rf"offered_words=.* {page.stem}[ \"]", completion), "completion does not offer it")
                self.assertTrue(f"\n.B {page.stem}\n" in manual, "the manual page does not list it")

    def test_a_command_and_a_topic_of_one_name_are_both_shown(self):
        text = self.hotplate("help", "sites")
        self.assertIn("hotplate sites [NAME]", text)
        self.assertIn("Write a profile", text)
        self.assertNotIn("Write a profile", self.hotplate("sites", "--help"))

    def test_an_unknown_topic_names_the_nearest(self):
        self.hotplate("help", "securty", code=harness.USAGE, says=['no command or topic "securty"', "Nearest: security",
                                                                   "hotplate help"])

    def test_kernels(self):
        text = self.hotplate("kernels")
        for kernel in KERNELS:
            self.assertIn(kernel, text)
        names = [kernel["name"] for kernel in self.answer("kernels")["kernels"]]
        self.assertEqual(names, sorted(names))
        self.assertLessEqual(set(KERNELS), set(names))

    def test_describe(self):
        for kernel in KERNELS:
            text = self.hotplate("describe", kernel)
            for heading in ("params" if kernel not in ("vector_add", "trig_identity") else "outputs", "outputs", "example"):
                self.assertIn(heading, text)
        self.assertIn("1.67", self.hotplate("describe", "selu"))
        self.hotplate("describe", "matmull", code=harness.INVALID, says=["matmull", "matmul"])

    def test_help_of_a_kernel_shows_its_parameters(self):
        text = self.hotplate("run", "mandelbrot", "--help")
        self.assertIn("max", text)
        self.assertIn("resolution", text)

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("hotplate", self.hotplate("completion", shell))

    def test_with_a_daemon_its_answer_is_the_same(self):
        without = self.answer("kernels")
        daemon = self.start_daemon()
        try:
            self.assertEqual(json.dumps(self.answer("kernels")["kernels"], sort_keys=True),
                             json.dumps(without["kernels"], sort_keys=True))
        finally:
            self.stop_daemon(daemon)


if __name__ == "__main__":
    harness.main()
