#!/usr/bin/python3
"""Clang's thread-safety analysis of every source that takes a lock: a guarded member without its mutex is an error.

Where clang++ is missing this is skipped, unless HOTPLATE_REQUIRE_CLANG is set."""

import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOTPLATE_BUILD_DIR", ROOT / "build/release"))
CLANG = shutil.which("clang++") or shutil.which("clang++-14")
PRODUCT = ("server", "kernels", "client")
MUTEX = ROOT / "kernels/base/mutex.h"
TAKES_A_LOCK = re.compile(r"\b(?:Mutex|Alone|Shared)Lock\b|(?:\.|->)(?:Try)?Lock\(\)")
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
# Most of the time goes into reading these, so they are read once for all folders.
HEAVY = re.compile(r'^#include (<grpcpp/[^>]+>|"(?:absl|hotplate/v1)/[^"]+")', re.M)
PLAIN_MUTEX = re.compile(r"\bstd::(?:recursive_|shared_|timed_)*mutex\b|\bstd::condition_variable|\babsl::Mutex\b")
MUTEX_MEMBER = re.compile(r"^ +(?:mutable )?(?:Shared)?Mutex (\w+);", re.M)
GUARDS_NOTHING = dict.fromkeys(("client/lib/connection.cpp", "kernels/base/stoppable_sleep.h"), "a sleep that a stop ends")


def sources(*suffixes):
    return [file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("*")) if file.suffix in suffixes]


def to_analyse():
    """Folder -> its sources with a lock or a mark, in them or in their own header. So a source whose only lock is forgotten is
    among them. And sources that include a header that takes a lock: it may be a template."""
    texts = {file: file.read_text() for file in sources(".h", ".cpp") if file != MUTEX}
    takes = {file for file, text in texts.items() if TAKES_A_LOCK.search(text)}
    marked = takes | {file for file, text in texts.items() if "ABSL_GUARDED_BY(" in text}
    found = collections.defaultdict(list)
    for file, text in texts.items():
        if file.suffix == ".cpp" and (file in marked or file.with_suffix(".h") in marked or
                                      any(ROOT / name in takes for name in INCLUDED.findall(text))):
            found[file.parent].append(file)
    return found


def flags():
    """Where headers are, by the compile commands of the product's own sources."""
    found = []
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        if "/tests/" in command["file"]:
            continue
        words = shlex.split(command["command"])
        for at, word in enumerate(words):
            if word == "-isystem":
                flag = (word, words[at + 1])
            elif word.startswith(("-I", "-D")):
                flag = (word,)
            else:
                continue
            if flag not in found:
                found.append(flag)
    return [word for flag in found for word in flag]


def clang(*arguments):
    return subprocess.run([CLANG, "-std=c++20", "-Wno-everything", f"-I{ROOT}", *flags(), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def analyse(text, *arguments):
    """What Clang says of this source."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(text)
        source.flush()
        done = clang(*arguments, "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety", source.name)
    return done.returncode, done.stdout


GUARDED = """
#include "kernels/base/mutex.h"
class Counter {
 public:
  void Add() { %s ++count_; }
 private:
  hotplate::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};
void Use(Counter& counter) { counter.Add(); }
"""


@unittest.skipUnless(CLANG or os.environ.get("HOTPLATE_REQUIRE_CLANG"), "there is no clang++")
class ThreadSafetyTest(unittest.TestCase):
    def test_every_guarded_member_is_used_under_its_lock(self):
        folders = to_analyse()
        self.assertIn(ROOT / "server/core/jobs/jobs.cpp", folders[ROOT / "server/core/jobs"])
        self.assertIn(ROOT / "client/python/src/releaser.cpp", folders[ROOT / "client/python/src"])
        texts = [file.read_text() for folder in folders for file in sorted(folder.glob("*.[ch]*"))]
        with tempfile.TemporaryDirectory() as work:
            header, compiled = pathlib.Path(work, "heavy.h"), pathlib.Path(work, "heavy.pch")
            header.write_text("".join(f"#include {name}\n" for name in sorted(set(HEAVY.findall("".join(texts))))))
            done = clang("-x", "c++-header", "-fpch-instantiate-templates", str(header), "-o", str(compiled))
            self.assertEqual(done.returncode, 0, done.stdout)
            for folder, files in folders.items():
                with self.subTest(str(folder.relative_to(ROOT))):
                    code, output = analyse("".join(f'#include "{file.relative_to(ROOT)}"\n' for file in files),
                                           "-include-pch", str(compiled))
                    self.assertEqual(code, 0, output)

    def test_a_forgotten_lock_is_an_error(self):
        self.assertEqual(analyse(GUARDED % "hotplate::MutexLock lock(mutex_);"), (0, ""))
        code, output = analyse(GUARDED % "")
        self.assertNotEqual(code, 0)
        self.assertIn("requires holding mutex 'mutex_'", output)

    def test_every_mutex_is_one_that_clang_knows(self):
        for file in sources(".h", ".cpp", ".cu", ".cuh"):
            if file != MUTEX:
                self.assertIsNone(PLAIN_MUTEX.search(file.read_text()), f"{file}: use hotplate::Mutex (kernels/base/mutex.h)")

    def test_every_mutex_guards_something(self):
        for file in sources(".h", ".cpp"):
            text = file.read_text()
            for name in MUTEX_MEMBER.findall(text):
                if file != MUTEX and str(file.relative_to(ROOT)) not in GUARDS_NOTHING:
                    self.assertTrue(re.search(rf"(?:GUARDED_BY|LOCKS_REQUIRED)\((?:\w+[.])?{name}\)", text),
                                    f"{file}: mark what {name} guards with ABSL_GUARDED_BY")


if __name__ == "__main__":
    unittest.main()
