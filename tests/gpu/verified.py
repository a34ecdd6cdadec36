#!/usr/bin/env python3
"""Fills the README's table of GPUs from the kit's JSON files under tests/bench/results/, and from nothing else.

usage: verified.py [--check] [--results DIR] [--readme FILE]
  --check  change nothing; exit status 1 if the README does not say what the files say

A run counts if it was made on a GPU with a driver, not on the tests' fake of one, and of all sections. The newest of each
device stands in the table. What failed or was not run is counted there, not left out.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- verified on GPUs: written by tests/gpu/verified.py -->", "<!-- end of verified on GPUs -->"
SCHEMA_VERSION = 1


def runs(folder):
    """The kit's files, newest first, with the name of each. What is of another kind (other benchmarks') is left alone."""
    found = []
    for path in sorted(folder.glob("*.json")):
        whole = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(whole, dict) or whole.get("what") != "hotplate gpu kit":
            continue
        if whole["schema_version"] != SCHEMA_VERSION:
            raise SystemExit(f"verified.py: {path} has schema version {whole['schema_version']}, I know {SCHEMA_VERSION}")
        real = whole["back_end"] == "cuda" and whole["device"] and whole["driver"] and "Fake" not in whole["device"]["name"]
        if real and not whole["only"]:
            found.append((path.name, whole))
    return sorted(found, key=lambda one: one[1]["date"], reverse=True)


def best_share(run):
    """The kernels that are bound by memory, by the lowest share: what the goal is about."""
    shares = [check["facts"]["measured"] for section in run["sections"] for check in section["checks"]
              if "share of the ceiling (memory)" in check["name"] and check["facts"].get("goal")]
    return f"{min(shares):.2f}" if shares else "not measured"


def table(found):
    if not found:
        return ("No run on a GPU has been recorded yet. The CUDA plug-in compiles, and is loaded and tested without a driver; "
                "nothing\nhere says that it works, or how fast it is, on a GPU. `tests/gpu/run` finds out in one call "
                "([how](CONTRIBUTING.md#on-a-gpu)).")
    lines = ["| GPU | driver, CUDA | passed, failed, not run | bandwidth-bound kernels, least share of copy bandwidth | revision, date |",
             "|---|---|---|---|---|"]
    seen = set()
    for name, run in found:
        device = run["device"]["name"]
        if device in seen:
            continue
        seen.add(device)
        counts = run["counts"]
        lines.append(f"| {device} | {run['driver']}, {run['cuda']} | [{counts['pass']}, {counts['fail']}, {counts['not_run']}]"
                     f"(tests/bench/results/{name}) | {best_share(run)} | {run['git_revision']}, {run['date'][:10]} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "tests/bench/results")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    options = parser.parse_args()
    text = options.readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"verified.py: {options.readme} has not one pair of the lines\n{BEGIN}\n{END}")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    wanted = f"{head}{BEGIN}\n{table(runs(options.results))}\n{END}{tail}"
    if wanted == text:
        return 0
    if options.check:
        print(f"verified.py: {options.readme} does not say what {options.results} says: run tests/gpu/verified.py", file=sys.stderr)
        return 1
    options.readme.write_text(wanted, encoding="utf-8")
    return 0


sys.exit(main())
