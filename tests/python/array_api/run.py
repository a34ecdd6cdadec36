#!/usr/bin/env python3
"""Runs the public Array API test suite (github.com/data-apis/array-api-tests) on hotplate.xp, as its maintainers do.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    python -m pip install -r array-api-tests/requirements.txt
    python tests/python/array_api/run.py array-api-tests [options and tests, for pytest]

It starts a daemon on loopback with one CPU device, and runs all tests with nothing skipped but what the standard makes optional. A
test has no deadline: that would judge the machine.
known_failures.txt beside this file has the tests that fail, each below its reason. The exit status is 1 if another one fails.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from conftest import Daemon  # noqa: E402


def known_failures():
    """{test: reason} of known_failures.txt: lines with # are the reason of the tests below."""
    known, reason, fresh = {}, "", True
    for line in (HERE / "known_failures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line[1:].strip() if fresh else f"{reason} {line[1:].strip()}"
            fresh = False
        elif line.strip():
            known[line.strip()] = reason
            fresh = True
    return known


def outcomes(report):
    """{test: "passed", "failed" or "skipped"} of pytest's report."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        module = re.match(r"(array_api_tests\.test_\w+)(.*)", case.get("classname"))
        name = f"{module[1].replace('.', '/')}.py{module[2].replace('.', '::')}::{case.get('name')}"
        kinds = {part.tag for part in case}
        found[name] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
    return found


def main(suite, *options):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        daemon = Daemon()
        try:
            tests = [] if any("array_api_tests/" in option for option in options) else ["array_api_tests/"]
            own = ["-q", f"--junitxml={report}", "--disable-deadline"]
            subprocess.run([sys.executable, "-m", "pytest", *own, *options, *tests], cwd=suite, check=False,
                           env=daemon.environment | {"ARRAY_API_TESTS_MODULE": "hotplate.xp"})
        finally:
            daemon.stop()
        if not report.exists():
            return 2
        found, known = outcomes(report), known_failures()
    failed = [name for name, outcome in found.items() if outcome == "failed"]
    new = [name for name in failed if name not in known]
    for name in failed:
        print(f"{name}: {known.get(name, 'NOT KNOWN')}")
    for name in [name for name in known if found.get(name) == "passed"]:
        print(f"{name} passes, and is among the known failures")
    ran = [outcome for outcome in found.values() if outcome != "skipped"]
    print(f"{ran.count('passed')} of {len(ran)} passed ({ran.count('passed') / max(len(ran), 1):.1%}), {len(failed)} failed, of which "
          f"{len(new)} are not known; {len(found) - len(ran)} skipped")
    return 1 if new else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    os.environ.pop("PYTEST_ADDOPTS", None)
    sys.exit(main(*sys.argv[1:]))
