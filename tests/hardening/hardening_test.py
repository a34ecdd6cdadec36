#!/usr/bin/python3
"""Every program and library in the build folder, by what readelf says of it: where it looks for libraries, full RELRO, a
position-independent program, no executable stack; and the objects of ours, by the checks that they call."""

import os
import pathlib
import re
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["HOTPLATE_BUILD_DIR"])
SANITIZED = os.environ["HOTPLATE_SANITIZED"] == "1"


def readelf(what, path):
    return subprocess.run(["readelf", "-W", what, str(path)], capture_output=True, text=True, check=True,
                          env=os.environ | {"LC_ALL": "C"}).stdout


def programs_and_libraries():
    for path in sorted(BUILD.rglob("*")):
        # CMake's own trials of the compiler are no part of what is built; fakes look for libraries as CUDA's own do.
        if path.suffix in (".o", ".a") or {"CMakeFiles", "fakes"} & set(path.parts) or path.is_symlink() or not path.is_file():
            continue
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


def faults(path):
    head, segments, dynamic = readelf("-h", path), readelf("-l", path), readelf("-d", path)
    found = []
    for kind, searched in re.findall(r"\((R(?:UN)?PATH)\).*\[(.*)\]", dynamic):
        # An empty place, and one that is no absolute path, is in the folder of whoever starts it.
        found += [f"{kind} {searched!r}: {place!r} is no absolute path" for place in searched.split(":") if place[:1] != "/"]
    if not re.search(r"Type:\s+DYN\b", head):
        found.append("not position-independent")
    elif "(DEBUG)" in dynamic and not re.search(r"FLAGS_1\).*\bPIE\b", dynamic):  # a program, static or not
        found.append("a program, and not PIE")
    if "GNU_RELRO" not in segments:
        found.append("no RELRO")
    if not re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", dynamic):
        found.append("RELRO is not full: without BIND_NOW the table of functions can be written")
    if not re.search(r"GNU_STACK\s.*\sRW\s", segments):
        found.append("what is on its stack can be executed")
    if "TEXTREL" in dynamic:
        found.append("its code is written to when it is loaded")
    return found


class Hardening(unittest.TestCase):
    def test_programs_and_libraries(self):
        found = list(programs_and_libraries())
        self.assertLessEqual({"hotplate", "hotplated"}, {path.name for path in found})
        for path in found:
            with self.subTest(file=str(path.relative_to(BUILD))):
                self.assertEqual(faults(path), [])

    @unittest.skipIf(SANITIZED, "an instrumented build has checks of its own in place of these")
    def test_objects_of_ours_call_the_checks(self):
        for archive in ("server/libhotplate_service.a", "client/cli/libhotplate_cli.a", "client/lib/libhotplate_client.a"):
            with self.subTest(archive=archive):
                called = set(re.findall(r" UND (__\w+)", readelf("-s", BUILD / archive)))
                self.assertIn("__stack_chk_fail", called)
                self.assertTrue({name for name in called if re.fullmatch(r"__\w+_chk", name)}, "no _FORTIFY_SOURCE")


if __name__ == "__main__":
    unittest.main(verbosity=2)
