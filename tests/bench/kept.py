"""Prints the rows of a benchmark, and keeps them as JSON in tests/bench/results."""

import datetime
import json
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tell(kind, rows, save):
    """`kind`: the benchmark, tests/bench/KIND.py."""
    for row in rows:
        print(json.dumps(row))
    if save:
        keep(kind, f"tests/bench/{kind}.py --save", rows)


def keep(kind, command, rows):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    text = {"command": command, "time": now, "commit": commit, "machine": platform.platform(), "rows": rows}
    file = ROOT / "tests" / "bench" / "results" / f"{kind}-{now}.json"
    file.write_text(json.dumps(text, indent=1) + "\n")
    print(f"kept as {file.relative_to(ROOT)}")
