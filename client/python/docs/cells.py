#!/usr/bin/env python3
"""Runs the cells of a page like tutorial.md against a daemon, and writes each cell's output below it.

A cell is a block of ```python; all cells of a page share their names, as in a notebook. The text that a cell prints,
and the value of an expression on its last line, become the ```text block after it. ```python raises: the cell ends in an
exception, whose last lines are shown. ```py: a block that is only shown.

usage: cells.py [--check] PAGE.md       (the daemon: as hotplate.connect() finds it, e.g. hotplate up --local)
  --check  write nothing; exit status 1 if outputs differ, apart from times and values specific to a machine
"""

import ast
import contextlib
import difflib
import io
import pathlib
import re
import sys
import traceback

CELL = re.compile(r"^```(python(?: raises)?)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)

# Parts that differ from run to run or from machine to machine, and their replacements for a comparison.
VARIES = [(re.compile(pattern), stands) for pattern, stands in (
    (r"[-+]?\d[\d.,]*(?:e[-+]?\d+)? ?(?:ns|µs|us|ms|s|min|[kKMGT]?i?B/s|[kKMGT]?FLOP/s|%)(?![\w/])", "#"),
    (r"\b[0-9a-f]{8,}\b", "ID"),
    (r"\((?:Intel|AMD|ARM|Apple|Neoverse)[^)]*\)|(?:Intel|AMD|ARM|Neoverse)[\w() @.-]*", "PROCESSOR"),
    (r"\b\d+ threads?\b", "THREADS"),
    (r"\bjob \d+\b", "job N"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.\d]*Z)?|\b\d\d:\d\d(?::\d\d)?\b", "WHEN"),
    (r" at 0x[0-9a-f]+", ""),
    (r" +", " "),  # columns are as wide as their text
)]


class Page:
    """A page's cells, run one after the other in the same names."""

    def __init__(self, text):
        self.text = text
        self.names = {"__name__": "__main__"}

    def run(self):
        """The page with the outputs that its cells give now."""
        return CELL.sub(self._cell, self.text)

    def _cell(self, match):
        kind, code, _ = match.groups()
        output = self._run(code, self.text.count("\n", 0, match.start()) + 2, kind.endswith("raises"))
        block = f"```{kind}\n{code}```\n"
        return f"{block}\n```text\n{output}\n```\n" if output else block

    def _run(self, code, line, raises):
        tree = ast.parse("\n" * (line - 1) + code)  # so that a traceback names the page's own line
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        failed = None
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(tree, "page", "exec"), self.names)
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), "page", "eval"), self.names)
                    if value is not None:
                        print(repr(value))
            except Exception as error:
                failed = error
        if (failed is not None) != raises:
            raise SystemExit(f"line {line}: the cell {f'raised {failed!r}' if failed else 'did not raise'}") from failed
        if failed is not None:
            printed.write("".join(traceback.format_exception_only(type(failed), failed)))
        return "\n".join(text.rstrip() for text in printed.getvalue().rstrip().splitlines())


def lasting(text):
    """The text without the parts that vary between runs."""
    for pattern, stands in VARIES:
        text = pattern.sub(stands, text)
    return text


def main(words):
    """Runs the page that `words` name; the exit status."""
    check = "--check" in words
    (name,) = (word for word in words if word != "--check")
    path = pathlib.Path(name)
    old = path.read_text(encoding="utf-8")
    new = Page(old).run()
    if not check:
        path.write_text(new, encoding="utf-8")
        return 0
    before, now = lasting(old).splitlines(), lasting(new).splitlines()
    differ = list(difflib.unified_diff(before, now, "as it stands", "as it is now", n=1, lineterm=""))
    for line in differ:
        print(line)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
