#!/usr/bin/env python3
"""Fills the table of GPUs of deploy/docs/verified.md, and client/cli/catalogue/verified_on.txt, from the kit's JSON files
under tests/bench/results/, and from nothing else.

usage: verified.py [--check] [--results DIR] [--page FILE] [--places FILE]
  --check  change nothing; exit status 1 if these do not say what the files say

A run counts if it was made on a GPU with a driver, not on the tests' fake of one. Of each check the newest result on a device
stands in the table, but one that was not run where an older run has a result: a run of everything has no time for some. What
failed or was never run is counted there, not left out. A kernel is verified on a device if its conformance suite passed when it
last ran there; so on the CPU (run --device cpu --only conformance).

`hotplate kernels --markdown` says where a kernel is verified: build it anew after this, then tests/kernel_table.py.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from page_part import ROOT, options_for, says  # noqa: E402

CONFORMANCE = "conformance of "
CPU = "CPU x86-64"  # which is all that the project is built for
BEGIN, END = "<!-- verified on GPUs: written by tests/gpu/verified.py -->", "<!-- end of verified on GPUs -->"
SCHEMA_VERSION = 1


def runs(folder):
    """(those on GPUs, those on the CPU) of the kit's files, newest first, with the name of each. What is of another kind (other
    benchmarks') is left alone."""
    on_gpus, on_cpu = [], []
    for path in sorted(folder.glob("*.json")):
        whole = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(whole, dict) or whole.get("what") != "hotplate gpu kit":
            continue
        if whole["schema_version"] != SCHEMA_VERSION:
            raise SystemExit(f"verified.py: {path} has schema version {whole['schema_version']}, I know {SCHEMA_VERSION}")
        real = whole["back_end"] == "cuda" and whole["device"] and whole["driver"] and "Fake" not in whole["device"]["name"]
        if real:
            on_gpus.append((path.name, whole))
        if whole["back_end"] == "cpu" and suites(whole):
            on_cpu.append((path.name, whole))
    return [sorted(found, key=lambda one: one[1]["date"], reverse=True) for found in (on_gpus, on_cpu)]


def suites(run):
    """{kernel: status} of the conformance suites that this run had before it."""
    return {check["name"].removeprefix(CONFORMANCE): check["status"] for section in run["sections"] for check in section["checks"]
            if check["name"].startswith(CONFORMANCE) and check["name"] != CONFORMANCE + "cancelling"}


def best_share(run):
    """The kernels that are bound by memory, by the lowest share: what the goal is about."""
    shares = [check["facts"]["measured"] for section in run["sections"] for check in section["checks"]
              if "share of the ceiling (memory)" in check["name"] and check["facts"].get("goal")]
    return f"{min(shares):.2f}" if shares else "not measured"


def newest(found):
    """{device: {"sections", "runs"}}: the newest result of each check, and (file, run) of the runs that these are from."""
    devices = {}
    for file, run in found:
        device = devices.setdefault(run["device"]["name"], {"checks": {}, "runs": []})
        news = {(section["name"], check["name"]): check for section in run["sections"] for check in section["checks"]}
        better = {key: check for key, check in news.items()
                  if device["checks"].get(key, {"status": "not run"})["status"] == "not run"}
        if any(check["status"] != "not run" or key not in device["checks"] for key, check in better.items()):
            device["runs"].append((file, run))
        device["checks"] |= better
    for device in devices.values():
        names = dict.fromkeys(section for section, _ in device["checks"])
        device["sections"] = [{"name": name, "checks": [check for (section, _), check in device["checks"].items() if section == name]}
                              for name in names]
    return devices


def table(found):
    if not found:
        return ("No run on a GPU has been recorded yet. The CUDA plug-in compiles, and is loaded and tested without a driver; "
                "nothing\nhere says that it works, or how fast it is, on a GPU. `tests/gpu/run` finds out in one call "
                "([how](../../CONTRIBUTING.md#on-a-gpu)).")
    lines = ["| GPU | driver, CUDA | sections; their checks: passed, failed, not run | bandwidth-bound kernels, least share of copy "
             "bandwidth |", "|---|---|---|---|"]
    made = []
    for device, one in newest(found).items():
        checks = [check["status"] for section in one["sections"] for check in section["checks"]]
        counts = ", ".join(str(checks.count(status)) for status in ("pass", "fail", "not run"))
        _, last = one["runs"][0]
        made += [f"- {device}: `{file}`, of {run['git_revision']}" for file, run in one["runs"]]
        lines.append(f"| {device} | {last['driver']}, {last['cuda']} | {len(one['sections'])}; {counts} | {best_share(one)} |")
    return "\n".join([*lines, "", "By these runs, in `tests/bench/results/` in the source tree:", "", *made])


def verified_lines(places):
    """"PLACE: KERNEL KERNEL …", of the kernels whose conformance suite passed there, given (place, run)s."""
    lines = []
    for place, run in places:
        passed = [kernel for kernel, status in suites(run).items() if status == "pass"]
        if passed:
            lines.append(f"{place}: {' '.join(sorted(passed))}")
    return lines


def verified_on(path, on_gpus, on_cpu):
    """The file as it should be: what it says of itself stays as it is."""
    comments = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    places = [(CPU, run) for _, run in on_cpu[:1]] + list(newest(on_gpus).items())
    return "\n".join(comments + verified_lines(places)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_for(parser, "deploy/docs/verified.md")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "tests/bench/results")
    parser.add_argument("--places", type=pathlib.Path, default=ROOT / "client/cli/catalogue/verified_on.txt")
    options = parser.parse_args()
    on_gpus, on_cpu = runs(options.results)
    wrong = [] if says(table(on_gpus), options.page, BEGIN, END, options.check) else [options.page]
    wanted = verified_on(options.places, on_gpus, on_cpu)
    if options.check and wanted != options.places.read_text(encoding="utf-8"):
        wrong.append(options.places)
    elif not options.check:
        options.places.write_text(wanted, encoding="utf-8")
    for path in wrong:
        print(f"verified.py: {path} does not say what {options.results} says: run tests/gpu/verified.py", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
