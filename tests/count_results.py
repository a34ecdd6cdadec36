#!/usr/bin/python3
"""Adds up the results of ctest runs and prints what failed, and "N passed, N failed, N skipped".

usage: count_results.py RESULTS.xml ...     (what `ctest --output-junit` writes)

A ctest test is a program that holds many cases: GoogleTest's, unittest's and pytest's own summaries are read from its output, so
that a case skipped inside a program that passes is seen. A program whose summary says that no case ran (a filter that no
longer fits) counts as one failed case, any program without a summary as one case. Exits with 1 if a case failed, if a file
cannot be read, or if no case ran at all. What each failed case said is printed again here, at the end of a long log.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST = {word: re.compile(rf"^\[  {word.ljust(7)} \] (\d+) tests?[.,]", re.MULTILINE)
         for word in ("PASSED", "FAILED", "SKIPPED")}
PYTEST_NONE = re.compile(r"^(?:=+ )?no tests ran in ", re.MULTILINE)
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+) in \d[\d.]*s", re.MULTILINE)
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
UNITTEST_END = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$", re.MULTILINE)
# The text of a failed case, as each of the three marks it.
FAILURES = (re.compile(r"^\[ RUN      \] (\S+)\n(?:(?!\[ RUN  ).*\n)*?\[  FAILED  \] \1\b.*", re.MULTILINE),
            re.compile(r"^(?:ERROR|FAIL): .*\n-{70}\n(?:(?!={70}|-{70}).*\n)*", re.MULTILINE),
            re.compile(r"^=+ (?:FAILURES|ERRORS) =+\n(?:(?!=+ short test summary).*\n)*", re.MULTILINE))
MOST_LINES = 80


def said_by_failures(output):
    """The last lines of what failed cases said; of the whole output where no case can be told."""
    said = [found.group() for pattern in FAILURES for found in pattern.finditer(output)] or [output]
    return [line for text in said for line in text.rstrip().splitlines()[-MOST_LINES:]][-3 * MOST_LINES:]


def cases_in(output):
    """(passed, failed, skipped) as the program's own summary has it, or None if it prints none."""
    counts = {}
    for word, pattern in GTEST.items():
        found = pattern.findall(output)
        if found:
            counts[word] = int(found[-1])
    if "PASSED" in counts:
        return counts["PASSED"], counts.get("FAILED", 0), counts.get("SKIPPED", 0)
    if PYTEST_NONE.search(output):
        return 0, 0, 0
    summary = PYTEST.findall(output)
    if summary:
        words = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", summary[-1])}
        failed = sum(words.get(word, 0) for word in ("failed", "error", "errors", "xpassed"))
        return words.get("passed", 0), failed, sum(words.get(word, 0) for word in ("skipped", "xfailed"))
    ran = UNITTEST_RAN.findall(output)
    end = UNITTEST_END.findall(output)
    if ran and end:
        parts = dict(part.split("=") for part in end[-1].split(", ") if "=" in part)
        failed = sum(int(parts.get(key, 0)) for key in ("failures", "errors", "unexpected successes"))
        skipped = int(parts.get("skipped", 0))
        return max(int(ran[-1]) - failed - skipped, 0), failed, skipped
    return None


def count(case):
    """(passed, failed, skipped) of one ctest test."""
    status = case.get("status")
    if status in ("notrun", "disabled"):
        return 0, 0, 1
    inside = cases_in(case.findtext("system-out") or "")
    if status == "run":
        return (0, 1, 0) if inside == (0, 0, 0) else inside or (1, 0, 0)
    passed, failed, skipped = inside or (0, 0, 0)
    # It ended badly: by a crash or at its time limit, where its own summary names no failed case.
    return passed, max(failed, 1), skipped


def main(paths):
    totals = [0, 0, 0]
    notes = []
    broken = not paths
    for path in paths:
        try:
            cases = ElementTree.parse(path).getroot().findall("testcase")
        except (OSError, ElementTree.ParseError) as error:
            print(f"count_results: {path}: {error}", file=sys.stderr)
            broken = True
            continue
        if not cases:
            print(f"count_results: {path}: no test ran", file=sys.stderr)
            broken = True
        for case in cases:
            counted = count(case)
            totals = [total + more for total, more in zip(totals, counted)]
            for number, word in zip(counted[1:], ("failed", "skipped")):
                if number:
                    notes.append(f"  {path}: {case.get('name')}: {number} {word}")
            if counted[1]:
                print(f"---- {case.get('name')}", *said_by_failures(case.findtext("system-out") or ""), sep="\n  ")
    passed, failed, skipped = totals
    for note in notes:
        print(note)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if broken or failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
