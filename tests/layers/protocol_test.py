#!/usr/bin/python3
"""Every field and every call of the protocol says what it is, with its unit: before it or behind it. Every answer has
the daemon's generation."""

import pathlib
import re
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "proto"
DECLARED = re.compile(r"\s*(?:rpc \w+\(|(?:optional |repeated )?(?:map<[^>]*>|[\w.]+) \w+ = \d+;)")
OPENED = re.compile(r"\s*(message|enum|oneof|service) \w+ \{\s*$")
ANSWER = re.compile(r"^message (\w+Response) \{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
GENERATION = re.compile(r"^  string generation = \d+;", re.MULTILINE)


def without_generation(text):
    """Answers that do not say which start of the daemon they come from."""
    return [name for name, fields in ANSWER.findall(text) if not GENERATION.search(fields)]


def without_comment(text):
    """Line numbers of fields and calls that nothing is said of; an enum's values may speak for themselves."""
    found, opened, before = [], [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := OPENED.match(line):
            opened.append(match.group(1))
        elif line.strip() == "}" and opened:
            opened.pop()
        elif opened and opened[-1] != "enum" and DECLARED.match(line):
            if "//" not in line and not before.strip().startswith("//"):
                found.append(number)
        before = line
    return found


class ProtocolTest(unittest.TestCase):
    def test_every_field_and_call_has_its_comment(self):
        files = sorted(FOLDER.glob("hotplate/v1/*.proto"))
        self.assertTrue(files)
        for file in files:
            self.assertEqual(without_comment(file.read_text()), [], file)

    def test_one_without_is_found(self):
        message = "message M {\n  // a\n  string a = 1;\n  uint64 b = 2;  // bytes\n  map<string, V> c = 3;\n}\n"
        self.assertEqual(without_comment(message), [5])
        self.assertEqual(without_comment("service S {\n  rpc Get(A) returns (B);\n}\nenum E {\n  ZERO = 0;\n}\n"), [2])

    def test_every_answer_but_a_chunk_has_the_generation(self):
        text = "\n".join(file.read_text() for file in sorted(FOLDER.glob("hotplate/v1/*.proto")))
        answers = re.findall(r"returns \((?:stream )?(\w+)\)", text)
        self.assertTrue(answers)
        self.assertEqual(sorted(name for name, _ in ANSWER.findall(text)), sorted(answers))
        self.assertEqual(without_generation(text), ["ReadArrayResponse"])

    def test_an_answer_without_it_is_found(self):
        nested = "  message Part {\n    string generation = 1;\n  }\n"
        text = "message AResponse {\n" + nested + "}\nmessage BResponse {\n  string generation = 7;  // b\n}\n"
        self.assertEqual(without_generation(text), ["AResponse"])


if __name__ == "__main__":
    unittest.main()
