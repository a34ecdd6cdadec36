#!/usr/bin/python3
"""The commands of README and of the pages run as they are written: in order, in a shell, with a daemon on this machine.

A line below a command that begins with a mark (✓ or ✗) has to come, but for figures that vary.
"""

import os
import pathlib
import re
import subprocess
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIES = [(re.compile(pattern), stands) for pattern, stands in (
    (r"cpu0 .*?(?=   |$)", "cpu0"), (r"(?<![a-z])\d[\d.,]*", "#"), (r"(?<=#) (?:ns|µs|ms|s|m|h|[kMG]?B)\b", ""))]


def commands(page, heading):
    """[(command, the lines shown below it)] of the first ```console below a heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    _, found, below = text.partition(f"\n## {heading}\n")
    if not found:
        raise AssertionError(f"{page} has no heading {heading}")
    block = re.search(r"^```console\n(.*?)^```", below, re.MULTILINE | re.DOTALL).group(1)
    parts = [part.splitlines() for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(lines[0], lines[1:]) for lines in parts]


def marked(lines):
    """The lines with a mark, without what is a machine's own."""
    found = []
    for line in lines:
        if line.startswith(("✓", "✗")):
            for pattern, stands in VARIES:
                line = pattern.sub(stands, line)
            found.append(line)
    return found


class CommandsTest(harness.Case):
    def shell(self, command):
        """(exit code, what it prints) of a command as typed; what it sets holds for the next."""
        script = f"[ ! -e state ] || . ./state\n{command}\nexit_code=$?\ndeclare -p job 2>/dev/null >state\nexit $exit_code"
        environment = self.environment | {"PATH": f"{harness.BIN}:{os.environ['PATH']}", "HOTPLATE_DEVICE": "cpu"}
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=4 * harness.PATIENCE, check=False)
        return done.returncode, done.stdout

    def run_all(self, page, heading):
        listed = commands(page, heading)
        self.assertTrue(listed)
        for command, shown in listed:
            with self.subTest(f"{page}: {command}"):
                code, printed = self.shell(command)
                refused = any(line.startswith("✗") for line in shown)
                self.assertEqual(code != 0, refused, f"{command}: exit {code}\n{printed}")
                came = marked(printed.splitlines())
                for line in marked(shown):
                    self.assertIn(line, came, printed)

    def test_readme(self):
        self.shell("hotplate up --local")
        for name in ("a", "b"):
            self.assertEqual(self.shell(f"hotplate run random --rows 3000 --n 3000 --dtype float32 -o {name}.npy")[0], 0)
        self.assertEqual(self.shell("hotplate run random --n 1000 --dtype float32 -o v.npy")[0], 0)
        self.shell("hotplate down")
        self.run_all("README.md", "A session")

    def test_quickstart(self):
        self.run_all("client/docs/quickstart.md", "Use")

    def test_guide(self):
        self.assertEqual(self.shell("hotplate up --local")[0], 0)
        for heading in ("Run a job", "Keep arrays on the daemon", "Submit now, fetch later"):
            self.run_all("client/docs/guide.md", heading)
        self.assertEqual(self.shell("hotplate down")[0], 0)

    def test_sites(self):
        self.run_all("deploy/docs/sites.md", "Profiles")


if __name__ == "__main__":
    unittest.main()
