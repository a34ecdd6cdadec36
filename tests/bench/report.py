#!/usr/bin/python3
"""Prints the rows that the benchmarks wrote as one table, and writes them with the machine, the date and the command.

usage: report.py --out REPORT.json --command TEXT ROWS.json ...
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys


def machine():
    facts = {"node": platform.node(), "system": platform.platform(), "processors": os.cpu_count()}
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    facts["processor"] = names[0] if names else platform.machine()
    with open("/proc/meminfo", encoding="utf-8") as lines:
        facts["memory_kib"] = int(lines.readline().split()[1])
    with open("/proc/loadavg", encoding="utf-8") as line:
        facts["load"] = float(line.read().split()[0])
    return facts


def commit():
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def met(row):
    """None of a row without a goal: told for what it is."""
    if row["goal"] is None:
        return None
    figure = row[row["goal_of"]]
    return figure >= row["goal"] if row["at_least"] else figure <= row["goal"]


def goal_text(row):
    if row["goal"] is None:
        return "-"
    sign = ">=" if row["at_least"] else "<="
    more = {"difference": " more"}.get(row["goal_of"], "")
    return f"{sign} {row['goal']:g} x" if row["goal_of"] == "ratio" else f"{sign} {row['goal']:g} {row['unit']}{more}"


def ratio_text(row):
    return f"{row['difference']:+.3g} {row['unit']}" if row["goal_of"] == "difference" else f"{row['ratio']:.3g} x"


WHAT_THE_RATIO_IS = """\
measured, peer: the median over the rounds, in each of which both sides ran, in turns.
ratio: the median of what each round gave by itself; where rounds differ much, it is not the quotient of the medians.
  Of a row that says "upper quartiles" both figures are these, and the ratio is their quotient.
  A goal with >=: how many times as fast as the peer (more is better). A goal with <=: our time or memory in the peer's
  (less is better).
"""


def table(rows):
    head = ("what", "measured", "peer", "which peer", "ratio", "goal", "met")
    lines = [(row["name"], f"{row['measured']:.4g} {row['unit']}", f"{row['peer']:.4g} {row['unit']}", row["peer_name"],
              ratio_text(row), goal_text(row), {True: "yes", False: "NO", None: "-"}[met(row)]) for row in rows]
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in [head, *lines])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("rows", nargs="+")
    options = parser.parse_args()
    rows = []
    for path in options.rows:
        with open(path, encoding="utf-8") as file:
            rows += json.load(file)
    left_out = [row for row in rows if "not_compared" in row]
    rows = [row for row in rows if row not in left_out]
    if not rows:
        sys.exit("report.py: no rows: nothing was measured")
    report = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "command": options.command, "commit": commit(), "machine": machine(),
              "ratio": " ".join(WHAT_THE_RATIO_IS.split()),
              "rows": [{**row, "met": met(row)} for row in rows], "not_compared": left_out}
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    print(WHAT_THE_RATIO_IS)
    print(table(rows))
    for row in left_out:
        print(f"not compared with {row['peer_name']}: {row['not_compared']}")
    goals = [met(row) for row in rows if met(row) is not None]
    print(f"\n{sum(goals)} of {len(goals)} goals met; written to {options.out}")


if __name__ == "__main__":
    main()
