#!/usr/bin/python3
"""The line that tests/run.sh ends with counts what ran, and a run in which nothing ran, or something failed, is red."""

import contextlib
import io
import pathlib
import re
import subprocess
import tempfile
import unittest

import count_results


def case(output="", status="run"):
    return f'<testcase name="t" status="{status}"><system-out>{output}</system-out></testcase>'


class CountTest(unittest.TestCase):
    def count(self, *files):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            paths = []
            for number, content in enumerate(files):
                paths.append(pathlib.Path(folder, f"{number}.xml"))
                paths[-1].write_text(content)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = count_results.main(list(map(str, paths)))
            self.told = out.getvalue()
            return code, self.told.splitlines()[-1]

    def suite(self, *cases):
        return f"<testsuite>{''.join(cases)}</testsuite>"

    def test_plain_programs_count_once(self):
        self.assertEqual(self.count(self.suite(case("hello"), case())), (0, "2 passed, 0 failed, 0 skipped"))

    def test_cases_inside_programs(self):
        gtest = case("[  PASSED  ] 12 tests.\n[  SKIPPED ] 3 tests, listed below:\n")
        python = case("\nRan 9 tests in 0.1s\n\nOK (skipped=2)\n")
        self.assertEqual(self.count(self.suite(gtest), self.suite(python)), (0, "19 passed, 0 failed, 5 skipped"))

    def test_pytest_says_it_in_one_line(self):
        quiet = case("....s\n10 passed, 1 skipped in 0.52s\n")
        red = case("= FAILURES =\n== 1 failed, 3 passed, 2 errors in 65.10s (0:01:05) ==\n", "fail")
        self.assertEqual(self.count(self.suite(quiet)), (0, "10 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.count(self.suite(quiet, red)), (1, "13 passed, 3 failed, 1 skipped"))

    def test_failures_are_counted_and_red(self):
        gtest = case("[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:\n", "fail")
        python = case("\nRan 9 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n", "fail")
        self.assertEqual(self.count(self.suite(gtest, python)), (1, "6 passed, 5 failed, 1 skipped"))

    def test_what_failed_cases_said_is_told_at_the_end_and_of_others_nothing(self):
        gtest = ("[ RUN      ] A.Good\nfine\n[       OK ] A.Good (1 ms)\n[ RUN      ] A.Bad\nexpected 4, not 5\n"
                 "[  FAILED  ] A.Bad (1 ms)\n[ RUN      ] A.Last\nwell\n[       OK ] A.Last (1 ms)\n[  FAILED  ] A.Bad\n")
        unit = f"ok\n{'=' * 70}\nFAIL: test_b (B)\n{'-' * 70}\nassert 3 == 2\n\n{'-' * 70}\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n"
        pytest = "..F\n===== FAILURES =====\n____ test_c ____\nE  no such job\n=== short test summary info ===\nFAILED x\n1 failed in 0.1s\n"
        crash = "before\nSegmentation fault\n"
        for output, said, unsaid in ((gtest, "not 5", "fine"), (gtest, "A.Bad (1 ms)", "well"), (unit, "3 == 2", "Ran 2"),
                                     (pytest, "no such job", "short test"), (crash, "Segmentation", "passed.")):
            self.count(self.suite(case(output, "fail")))
            self.assertIn(said, self.told)
            self.assertNotIn(unsaid, self.told.replace("passed, ", ""))
        self.count(self.suite(case("all well\n")))
        self.assertEqual(self.told, "1 passed, 0 failed, 0 skipped\n")

    def test_a_program_that_ends_badly_counts_as_a_failure_whatever_it_said(self):
        crashed = case("[  PASSED  ] 4 tests.\n", "fail")
        self.assertEqual(self.count(self.suite(crashed)), (1, "4 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.count(self.suite(case("", "fail"))), (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_program_in_which_no_case_ran_is_a_failure(self):
        for nothing in ("[  PASSED  ] 0 tests.\n", "\nRan 0 tests in 0.0s\n\nOK\n", "\nno tests ran in 0.01s\n"):
            self.assertEqual(self.count(self.suite(case(nothing), case())), (1, "1 passed, 1 failed, 0 skipped"), nothing)

    def test_what_is_no_ctest_test_is_counted_by_its_exit_status(self):
        script = pathlib.Path(__file__).with_name("run.sh").read_text()
        part = re.search(r"^part\(\) \{$.*?^\}$", script, re.MULTILINE | re.DOTALL).group()
        with tempfile.TemporaryDirectory() as folder:
            told = subprocess.run(
                ["bash", "-euc", f"results={folder} broken=0 SECONDS=0\nstep() {{ :; }}\n{part}\n"
                 "part Good true; echo $broken; part Elsewhere exit_with 77; echo $broken; part Bad exit_with 3; echo $broken"
                 .replace("exit_with", "bash -c 'exit $0'")],
                check=True, capture_output=True, text=True).stdout.split()
            self.assertEqual(told, ["0", "0", "1"])
            files = sorted(pathlib.Path(folder).iterdir())
            self.assertEqual([file.name for file in files], ["Bad.xml", "Elsewhere.xml", "Good.xml"])
            self.assertEqual(self.count(*(file.read_text() for file in files)), (1, "1 passed, 1 failed, 1 skipped"))

    def test_what_did_not_run_is_no_success(self):
        self.assertEqual(self.count(self.suite(case("", "notrun")))[0], 1)
        self.assertEqual(self.count(self.suite())[0], 1)
        self.assertEqual(self.count("no xml")[0], 1)
        self.assertEqual(self.count()[0], 1)


if __name__ == "__main__":
    unittest.main()
