#!/usr/bin/python3
"""deploy/sbom.py on a small folder with one library of Debian's, whose package every machine that builds has."""

import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "deploy/sbom.py"
spec = importlib.util.spec_from_file_location("sbom", SCRIPT)
sbom = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sbom)

MACHINE_READABLE = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: made up

Files: *
Copyright: somebody
License: Apache-2.0

Files: third_party/a.c
       third_party/b.c
Copyright: somebody else
License: BSD-3-clause
 The text.
 .
 More of it.

Files: debian/*
Copyright: the packager
License: GPL-2+

License: Apache-2.0
 The text.
"""


def installed_library():
    """The C library as the dynamic linker finds it."""
    said = subprocess.run(["ldd", sys.executable], stdout=subprocess.PIPE, text=True, check=True).stdout
    return next(line.split()[2] for line in said.splitlines() if line.split()[0] == "libc.so.6")


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        self.source = installed_library()
        (self.tree / "lib").mkdir()
        shutil.copy(self.source, self.tree / "lib/libc.so.6")
        with (self.tree / "lib/libc.so.6").open("ab") as copied:
            copied.write(b"stripped, for example")

    def run_script(self, *words, epoch="86400"):
        return subprocess.run([SCRIPT, "--name", "made-up", "--version", "1.2", "--tree", self.tree, *words,
                               "-o", self.tree / "sbom.cdx.json"], text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "SOURCE_DATE_EPOCH": epoch})

    def bill(self, *words, **options):
        done = self.run_script(*words, **options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return (self.tree / "sbom.cdx.json").read_text()

    def test_a_library_has_its_package_and_its_files_as_packed(self):
        bill = json.loads(self.bill("--file", f"lib/libc.so.6={self.source}", "--revision", "abc"))
        self.assertEqual((bill["bomFormat"], bill["specVersion"], bill["metadata"]["timestamp"]),
                         ("CycloneDX", "1.6", "1970-01-02T00:00:00Z"))
        self.assertEqual(bill["metadata"]["component"]["name"], "made-up")
        [component] = bill["components"]
        package, version, architecture = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\n", component["name"]],
            stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0].split()
        self.assertEqual((component["name"], component["version"]), (package, version))
        self.assertRegex(component["purl"], rf"^pkg:deb/\w+/{package}@.*\?arch={architecture}&distro=\w+-\w+$")
        self.assertIn({"name": "hotplate:source", "value": f"glibc {version}"}, component["properties"])
        [file] = component["components"]
        self.assertEqual(file["name"], "lib/libc.so.6")
        packed = hashlib.sha256((self.tree / "lib/libc.so.6").read_bytes()).hexdigest()
        self.assertEqual(file["hashes"], [{"alg": "SHA-256", "content": packed}])
        self.assertEqual(bill["dependencies"][0], {"ref": "made-up@1.2", "dependsOn": [component["purl"]]})

    def test_the_same_files_give_the_same_bytes(self):
        words = [("--file", f"lib/libc.so.6={self.source}"), ("--linked", self.source), ("--other", "b@1@c"), ("--other", "a@1@c")]
        first = self.bill(*(word for pair in words for word in pair))
        self.assertEqual(first, self.bill(*(word for pair in reversed(words) for word in pair)))
        self.assertEqual([one["name"] for one in json.loads(first)["components"]][:2], ["a", "b"])
        other = json.loads(self.bill("--linked", self.source))
        self.assertNotEqual(other["serialNumber"], json.loads(first)["serialNumber"])
        self.assertNotIn("timestamp", json.loads(self.bill("--linked", self.source, epoch=""))["metadata"])

    def test_a_package_has_one_component_however_it_is_used(self):
        package = json.loads(self.bill("--linked", self.source))["components"][0]["name"]
        bill = json.loads(self.bill("--linked", self.source, "--package", package, "--file", f"lib/libc.so.6={self.source}"))
        [component] = bill["components"]
        self.assertEqual(component["properties"][0], {"name": "hotplate:how", "value": "linked, packed"})
        [component] = json.loads(self.bill("--package", package))["components"]
        self.assertEqual(component["properties"][0], {"name": "hotplate:how", "value": "headers"})

    def test_an_unknown_file_or_package_is_named(self):
        for words, says in ((("--linked", str(self.tree / "lib/libc.so.6")), f"no package has {self.tree}/lib/libc.so.6"),
                            (("--package", "no-such-package"), "dpkg has no package no-such-package"),
                            (("--file", "lib/libc.so.6"), "there is no =SOURCE"),
                            (("--other", "a@1"), "it is not NAME@VERSION@LICENCE")):
            done = self.run_script(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(says, done.stdout)
            self.assertFalse((self.tree / "sbom.cdx.json").exists())


class PartsTest(unittest.TestCase):
    def test_licences_are_those_of_the_source_and_not_of_its_packaging(self):
        self.assertEqual(sbom.licences(MACHINE_READABLE), ["Apache-2.0", "BSD-3-clause"])
        self.assertEqual(sbom.licences("This is the Debian prepackaged version of a library.\nLicense: GPL-2\n"), [])

    def test_a_package_url_is_escaped(self):
        facts = {"Package": "libgrpc++1.51", "Version": "1:1.51.1-3+b1~x", "Architecture": "amd64"}
        self.assertIn("/libgrpc%2B%2B1.51@1:1.51.1-3%2Bb1~x?arch=amd64", sbom.package_url(facts))


if __name__ == "__main__":
    unittest.main()
