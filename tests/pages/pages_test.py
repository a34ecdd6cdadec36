#!/usr/bin/python3
"""README is short, links lead somewhere, no message names a file that a user does not have; and the checks see what is
planted."""

import pathlib
import re
import tempfile
import unittest

import check_links
import check_messages

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(ROOT.glob("client/docs/*.md")) + sorted(ROOT.glob("deploy/docs/*.md"))


class PagesTest(unittest.TestCase):
    def test_readme_is_read_in_two_minutes(self):
        self.assertLessEqual(README.count("\n"), 180)

    def test_every_page_has_a_title_for_help_and_is_in_the_readme(self):
        self.assertGreater(len(DOCS), 10)
        for page in DOCS:
            self.assertRegex(page.read_text(encoding="utf-8"), r"\A# [^:\n]+: [^\n]+\n", page)
            for said in (f"({page.relative_to(ROOT)})", f"`{page.stem}`"):
                self.assertTrue(said in README, f"README does not list {said}")
        self.assertEqual(len({page.stem for page in DOCS}), len(DOCS), "two pages of one name are one topic")

    def test_links_lead_somewhere(self):
        self.assertEqual(check_links.check(ROOT), [])

    def test_pages_link_to_what_is_installed(self):
        """README, CHANGELOG, CONTRIBUTING, the pages and the Python package's: Install.cmake and bundle.sh have them all."""
        for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *DOCS]:
            for number, line in check_links.lines_without_code(page):
                for link in check_links.LINK.findall(line):
                    path = (page.parent / link.partition("#")[0]).resolve()
                    if "://" in link or link.startswith("#") or not path.is_relative_to(ROOT):
                        continue
                    with self.subTest(f"{page.name}:{number}: {link}"):
                        self.assertRegex(str(path.relative_to(ROOT)),
                                         r"\A(?:[A-Z]+\.(?:md|cff)|(?:client|deploy)/docs/.*|client/python/(?:docs|examples)/.*)\Z")

    def test_pages_say_what_is_in_the_source_tree_alone(self):
        """A page is read without one: the name of such a file comes with the place that it is in."""
        for page in DOCS:
            text = re.sub(r"\]\([^)]*\)", "]", page.read_text(encoding="utf-8"))  # a link's text is what `help` shows
            for name in re.finditer(r"CONTRIBUTING|`(?:\./)?(?:tests|kernels|server)/", text):
                before = " ".join(text[:name.end() + 60].split())
                with self.subTest(f"{page.name}: {text[name.start():name.end() + 30]!r}"):
                    self.assertRegex(before, "source tree|checkout|git clone")

    def test_messages_name_no_file_of_the_source_tree(self):
        self.assertEqual(check_messages.check(ROOT), [])


class PlantedTest(unittest.TestCase):
    def found(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return [problem.split(": ")[0] for problem in check(folder)]

    def test_links(self):
        page = "# A title\n[a](b.md) [b](c/d.md#two-words) [c](https://x) [d](#a-title)\n```\n[e](no.md)\n```\n`[f](no)`\n"
        right = {"a.md": page, "b.md": "", "c/d.md": "## Two words\n[up](../a.md)\n"}
        self.assertEqual(self.found(check_links.check, right), [])
        self.assertEqual(self.found(check_links.check, right | {"b.md": "\n[a](no.md)\n[b](c/d.md#no) [c](../x)\n"}),
                         ["b.md:2", "b.md:3", "b.md:3"])

    def test_messages(self):
        source = '// See README.md\n#include "server/log.h"\nconst char* a = "x // " /* tests/a */ "see deploy/"\n  "docs/a.md";\n'
        self.assertEqual(self.found(check_messages.check, {"server/a.cpp": source}), ["server/a.cpp:3"])
        self.assertEqual(self.found(check_messages.check, {"client/cli/a.cpp": 'f(R"(\nREADME.md)");'}), ["client/cli/a.cpp:1"])
        self.assertEqual(self.found(check_messages.check, {"client/python/hotplate/a.py": '# README.md\ndef f():\n  "README.md"\n'}),
                         ["client/python/hotplate/a.py:3"])
        self.assertEqual(self.found(check_messages.check, {"server/a.cpp": 'f("~/.hotplate/server/x, share/hotplate/deploy/x");'}), [])


if __name__ == "__main__":
    unittest.main()
