#!/usr/bin/python3
"""Times the CPU kernels beside NumPy and a plain OpenMP triad, in turns, on the same data, and prints the ratios.

usage: compare.py BENCH_KERNELS [--rows ROWS.json] [--pairs N] [--only TEXT] [--check]

A ratio is how many times as fast as the peer we are: above 1 we are faster. It is the median over pairs, each measured
back to back, first one and then the other side first, and so not the quotient of the two times beside it, which are
medians too. Both sides' results are compared before they are timed; --check stops there. Rows that are bound by memory are
measured beside a triad of as many bytes, too, and what only writes beside a loop that does. Takes about three minutes.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile

import numpy as np

from numpy_peers import differ, peer_of
from pairs import Kernels, Refused, bare_peers, beside, compare, compared, goal_of, time_of


def arrays_of(what, name, kernels, folder):
    """The row's "inputs" or "outputs", by name."""
    kernels.ask(f"{what} {name} {folder}")
    arrays = {}
    for file in sorted(os.listdir(folder)):
        arrays[file[:-4]] = np.load(os.path.join(folder, file))
        os.remove(os.path.join(folder, file))
    return arrays


def compute_the_same(row, peer, kernels, folder):
    """Whether the peer's result is ours; says so where it is not."""
    difference, allowed = differ(row, *compared(row, arrays_of("outputs", row["name"], kernels, folder), peer()))
    same = difference <= allowed
    print(f"  {row['name']}: results {difference:.3g} apart, {'at most' if same else 'MORE THAN'} {allowed:.3g}", flush=True)
    return same


def row(name, ours, peers, ratio, peer_name, goal, pairs):
    return {"name": name, "measured": ours / 1e6, "unit": "ms", "peer": peers / 1e6, "peer_name": peer_name,
            "ratio": ratio, "goal": goal, "goal_of": "ratio", "at_least": True, "rounds": pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rows")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    kernels = Kernels([options.program])
    facts = kernels.facts
    print(f"{facts['device']}, {facts['instruction_set']}, {facts['threads']} threads, NumPy {np.__version__}, "
          f"load {os.getloadavg()[0]:.2f}")
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as folder:
        for one in kernels.rows:
            name = one["name"]
            if options.only not in name or name == "vector_add_f32_4":
                continue
            try:
                peer = peer_of(one, arrays_of("inputs", name, kernels, folder))
                if peer is None:
                    print(f"  {name}: no NumPy peer is written for it", flush=True)
                    continue
                same = compute_the_same(one, peer, kernels, folder)
            except (Refused, ValueError, TypeError, KeyError, MemoryError) as why:
                print(f"  {name}: {type(why).__name__}: {why}", flush=True)
                same = False
            if not same:
                wrong.append(name)  # and not timed
                continue
            if options.check:
                continue
            found = compare(lambda n, name=name: kernels.times(name, n), lambda n, peer=peer: time_of(peer, n),
                            options.pairs, 1)
            rows.append(row(name, *found[:3], "NumPy", goal_of(one), found[3]))
            for bare, goal in bare_peers(one).items():
                found = beside(bare, kernels, one, options.pairs)
                rows.append(row(f"{name} / {bare}", *found[:3], f"OpenMP {bare}", goal, found[3]))
    if wrong:
        print(f"compare.py: not the peer's results, and not timed: {', '.join(wrong)}", file=sys.stderr)
    if options.check:
        kernels.close()
        sys.exit(1 if wrong else 0)
    tiny = kernels.ask("phases vector_add_f32_4 20000")["whole_ns"]
    kernels.close()

    if not rows:
        sys.exit(f"compare.py: no row of '{options.only}' was measured")
    width = max(len(one["name"]) for one in rows)
    print(f"{'kernel':{width}}  {'ours ms':>10}  {'peer ms':>10}  {'ratio':>7}  goal    peer")
    for one in rows:
        goal = "-" if one["goal"] is None else f">={one['goal']:.2f}"
        met = "" if one["goal"] is None or one["ratio"] >= one["goal"] else "  MISSED"
        print(f"{one['name']:{width}}  {one['measured']:10.4f}  {one['peer']:10.4f}  {one['ratio']:6.2f}x  {goal:6}"
              f"  {one['peer_name']}{met}")
    print(f"vector_add of 4 float32 through Lane::Run: median {statistics.median(tiny):.0f} ns")
    if options.rows:
        with open(options.rows, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")


main()
