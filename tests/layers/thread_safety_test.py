#!/usr/bin/python3
"""Clang's thread-safety analysis of every source that takes a lock: a guarded member without its mutex is an error.

Where clang++ is missing this is skipped, unless HOTPLATE_REQUIRE_CLANG is set."""

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
TAKES_A_LOCK = re.compile(r"\bMutexLock\b|\.(?:Try)?Lock\(\)")
# Each is analysed as one source, which reads the headers of absl, protobuf and gRPC once.
FOLDERS = ("server", "server/core", "server/core/arrays", "server/core/jobs", "server/core/run", "server/core/schedule",
           "server/net", "server/saved", "server/service", "server/slurm", "server/wire")
PLAIN_MUTEX = re.compile(r"\bstd::(?:recursive_|shared_)?mutex\b")


def flags():
    """Where headers are, by the compile commands of the product's own sources."""
    found = []
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        if "/tests/" in command["file"] or "/python/" in command["file"]:
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


def analyse(text):
    """What Clang says of this source."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(text)
        source.flush()
        done = subprocess.run([CLANG, "-std=c++20", "-fsyntax-only", "-Wno-everything", "-Wthread-safety",
                               "-Werror=thread-safety", f"-I{ROOT}", *flags(), source.name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
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
        self.assertTrue(TAKES_A_LOCK.search((ROOT / "server/core/jobs/jobs.cpp").read_text()))
        for folder in FOLDERS:
            with self.subTest(folder):
                sources = [file for file in sorted((ROOT / folder).glob("*.cpp")) if TAKES_A_LOCK.search(file.read_text())]
                if not sources:
                    continue
                code, output = analyse("".join(f'#include "{file.relative_to(ROOT)}"\n' for file in sources))
                self.assertEqual(code, 0, output)

    def test_a_forgotten_lock_is_an_error(self):
        self.assertEqual(analyse(GUARDED % "hotplate::MutexLock lock(mutex_);"), (0, ""))
        code, output = analyse(GUARDED % "")
        self.assertNotEqual(code, 0)
        self.assertIn("requires holding mutex 'mutex_'", output)

    def test_every_mutex_is_one_that_clang_knows(self):
        for folder in FOLDERS:
            for file in sorted((ROOT / folder).glob("*.[ch]*")):
                self.assertIsNone(PLAIN_MUTEX.search(file.read_text()), f"{file}: use hotplate::Mutex (kernels/base/mutex.h)")


if __name__ == "__main__":
    unittest.main()
