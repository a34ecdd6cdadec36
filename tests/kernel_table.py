#!/usr/bin/env python3
"""Writes the table of kernels of client/docs/kernels.md, which is what `hotplate kernels --markdown` prints, from a built program.

usage: tests/kernel_table.py [--check] [--page FILE] [--program build/release/bin/hotplate]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from page_part import ROOT, options_for, says

BEGIN = ("<!-- kernels: printed by `hotplate kernels --markdown`; after a build, tests/kernel_table.py writes this table again -->")
END = "<!-- end of kernels -->"


def printed_by(program):
    with tempfile.TemporaryDirectory() as empty:  # no daemon of an older build is to answer
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOTPLATE_")}
        done = subprocess.run([program, "kernels", "--markdown"], env=environment | {"HOTPLATE_DIR": empty},
                              stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.rstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_for(parser, "client/docs/kernels.md")
    built = pathlib.Path(os.environ.get("HOTPLATE_BIN_DIR", ROOT / "build/release/bin"))
    parser.add_argument("--program", type=pathlib.Path, default=built / "hotplate")
    options = parser.parse_args()
    if not options.program.exists():
        raise SystemExit(f"kernel_table.py: no {options.program}: build it (cmake --build --preset release --target hotplate)")
    if says(printed_by(options.program), options.page, BEGIN, END, options.check):
        return 0
    print(f"kernel_table.py: {options.page} has not the table that {options.program} prints: run tests/kernel_table.py, "
          "and commit it", file=sys.stderr)
    return 1


sys.exit(main())
