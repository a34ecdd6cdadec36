"""Scripts that are forked from a warm Python behave as if Python had started anew for them, and leave nothing behind."""

import json
import os
import re
import signal
import subprocess
import textwrap

import harness
import warm_scripts

PYTHON = "/usr/bin/python3"

INPUT = "one\ntwo\nthree\n"


class Warm(harness.Case):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment |= {"HOTPLATE_PYTHON": PYTHON, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        cls.daemon = cls.start_daemon()
        cls.work = cls.folder / "work"
        cls.work.mkdir()

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def venv(self, name):
        """(its interpreter, its site-packages), of an environment of its own."""
        folder = self.folder / name
        subprocess.run([PYTHON, "-m", "venv", "--system-site-packages", "--without-pip", folder], check=True)
        return folder / "bin/python", next(folder.glob("lib/python*/site-packages"))

    def newest(self):
        return self.answer("jobs")["jobs"][0]["receipt"]["process"]

    def run_python(self, *words, python=PYTHON, code=0, says=(), env=None):
        """(standard output, the receipt's process) of a script."""
        out = self.hotplate("python", *words, code=code, says=says, env={"HOTPLATE_PYTHON": str(python)} | (env or {}))
        return out, self.newest()

    def workers(self, python=PYTHON):
        return [one for one in self.answer("workers")["workers"] if one["interpreter"] == str(python)]

    def wait_for_warm(self, python=PYTHON, env=None):
        """Runs scripts until one is warm, and waits until no other warm Python is on its way; returns its row."""
        harness.wait_until(lambda: self.run_python("-c", "pass", python=python, env=env)[1]["warm"], "a script is warm")
        return harness.wait_until(lambda: len(rows := self.workers(python)) == 1 and rows[0]["state"] == "WARM" and rows[0], "it is")

    def wait_for_module(self, name, python, *, left_out=False):
        """Runs scripts that import it until the warm Python has learned it; returns its row."""
        def learned():
            self.run_python("-c", f"import {name}", python=python)
            for row in self.workers(python):
                if name in [one["name"] for one in row["leftOut" if left_out else "modules"]] and row["state"] == "WARM":
                    return row
            return None
        return harness.wait_until(learned, f"{name} is learned")

    def family(self):
        """(the process of a warm script's keeper, that of the warm Python it was forked from)"""
        out, receipt = self.run_python("-c", "import os; keeper = os.getppid(); print(keeper, *open(f'/proc/{keeper}/stat'))")
        self.assertTrue(receipt["warm"])
        words = out.split()
        return int(words[0]), int(out.rsplit(")", 1)[1].split()[1])

    def assert_cold(self, why, *words, **options):
        out, receipt = self.run_python(*words, **options)
        self.assertFalse(receipt["warm"], receipt)
        self.assertIn(why, receipt["whyCold"])
        return out

    # As if Python had started anew.

    def prepare(self):
        (self.work / "beside.py").write_text("import sys\nif __name__ == '__main__':\n"
                                             "    print(sys.argv, sys.path[0], __spec__.name, __file__, sorted(globals()))\n")
        (self.work / "empty").mkdir()
        for name in ("folder", "package"):
            (self.work / name).mkdir()
            (self.work / name / "__main__.py").write_text("import sys\nprint(sys.argv, sys.path[0], __name__, __file__, __package__)\n")
            (self.work / name / "inner.py").write_text("import sys\nprint(sys.argv, sys.path[0], __file__)\n1 / 0\n")
        (self.work / "package" / "__init__.py").write_text("")
        (self.work / "package" / "raises.py").write_text("raise ValueError('of mine')\n")
        (self.work / "link.py").symlink_to("folder/inner.py")
        (self.work / "bare").write_text("print(__file__)\n")
        (self.work / "data.json").write_text('{"a": [1, 2]}')
        subprocess.run([PYTHON, "-m", "zipapp", "folder", "-o", "packed.pyz"], cwd=self.work, check=True)
        subprocess.run([PYTHON, "-c", "import py_compile; py_compile.compile('folder/inner.py', 'compiled.pyc')"],
                       cwd=self.work, check=True)

    def outcome(self, command, environment):
        done = subprocess.run(command, cwd=self.work, env=environment, input=INPUT, capture_output=True, text=True,
                              timeout=harness.PATIENCE, check=False)
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        # What the command itself says of a program that a signal ended.
        err = re.sub(r"✗ .* was ended by SIG.*\n", "", done.stderr)
        blind = lambda text: re.sub(r"0x[0-9a-f]+|in 0\.\d+s", "…", text)
        return {"out": blind(done.stdout), "err": blind(err), "code": code}

    def check_as_started_anew(self, python, calls):
        self.wait_for_warm(python)
        # The environment as a program gets it.
        out, _ = self.run_python("-c", "import json, os; print(json.dumps(dict(os.environ)))", python=python)
        environment = json.loads(out)
        environment.pop("LSAN_OPTIONS", None)  # harness.py's
        for name, words in calls:
            with self.subTest(name):
                words = [word.format(self.work) if words[0] != "-c" else word for word in words]
                plain = self.outcome([python, *words], environment)
                warm = self.outcome([str(harness.BIN / "hotplate"), "python", *words],
                                    self.environment | {"HOTPLATE_PYTHON": str(python)})
                self.assertEqual(warm, plain)
                receipt = self.newest()
                self.assertTrue(receipt["warm"], receipt)

    def test_it_is_as_a_python_that_starts_anew(self):
        self.prepare()
        calls = []
        for number, (name, text) in enumerate(warm_scripts.SCRIPTS.items()):
            path = self.work / f"script{number}.py"
            path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
            calls.append((name, [path.name]))
        (self.work / "statistics.py").write_text("mine = 'beside it'\n")
        calls += warm_scripts.WORDS.items()
        self.check_as_started_anew(PYTHON, calls)
        # One without NumPy, which imports much of the library.
        bare = self.folder / "bare"
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", bare], check=True)
        self.check_as_started_anew(bare / "bin/python", calls)

    def test_the_first_is_cold_and_the_next_are_warm(self):
        python, _ = self.venv("first")
        self.assert_cold("the first in its environment", "-c", "pass", python=python)
        row = self.wait_for_warm(python)
        self.assertTrue(row["version"].startswith("3."))
        self.assertTrue(harness.alive(row["pid"]))
        _, receipt = self.run_python("-c", "pass", python=python)
        self.assertEqual((receipt["warm"], receipt["whyCold"]), (True, ""))
        self.assertGreater(receipt["startNs"], 0)
        self.assertEqual(self.workers(python)[0]["scripts"], row["scripts"] + 1)
        self.hotplate("workers", says=[str(python), "warm", "numpy"])
        job_id = self.answer("jobs")["jobs"][0]["id"]
        self.hotplate("show", job_id, says="started warm in")

    def test_each_environment_has_its_own(self):
        python, _ = self.venv("each")
        self.wait_for_warm(python)
        other = {"PYTHONHASHSEED": "5"}
        self.assert_cold("the first in its environment", "-c", "pass", python=python, env=other)
        harness.wait_until(lambda: self.run_python("-c", "pass", python=python, env=other)[1]["warm"], "the other is warm")
        out, receipt = self.run_python("-c", "print(hash('a'))", python=python, env=other)
        plain = subprocess.run([python, "-c", "print(hash('a'))"], env=other, capture_output=True, text=True, check=True)
        self.assertEqual((out, receipt["warm"]), (plain.stdout, True))
        self.assertTrue(self.run_python("-c", "pass", python=python)[1]["warm"])

    def test_what_starts_anew_says_why(self):
        self.wait_for_warm()
        self.assertEqual(self.assert_cold("option -O", "-O", "-c", "print(__debug__)"), "False\n")
        self.assert_cold("option -u", "-u", "-c", "pass")
        self.assert_cold("PYTHONINSPECT is set", "-c", "pass", env={"PYTHONINSPECT": "1"})
        self.assert_cold("PYTHONPATH has a relative folder", "-c", "pass", env={"PYTHONPATH": "here"})
        self.assert_cold("option -V", "-V")
        _, receipt = self.run_python("-c", "pass")
        self.assertTrue(receipt["warm"])

    # No state of another script.

    def test_no_state_is_left_to_the_next_script(self):
        self.wait_for_warm()
        self.run_python("-c", "import os, sys, json, numpy\nos.environ['LEFT'] = '1'\nos.chdir('/')\nos.umask(0)\n"
                              "sys.path.append('left')\njson.left = numpy.left = 1\nimport colorsys")
        out, receipt = self.run_python("-c", "import os, sys, json, numpy\nprint(os.environ.get('LEFT'), os.getcwd(), "
                                             "'left' in sys.path, hasattr(json, 'left'), hasattr(numpy, 'left'), 'colorsys' in sys.modules)")
        self.assertEqual(out, f"None {self.folder.resolve()} False False False False\n")
        self.assertTrue(receipt["warm"])
        out, receipt = self.run_python("-c", "import os; print(os.environ['MINE'])", env={"MINE": "of this one"})
        self.assertEqual((out, receipt["warm"]), ("of this one\n", True))

    def test_random_numbers_differ(self):
        self.wait_for_warm()
        drawn = set()
        for _ in range(3):
            out, receipt = self.run_python("-c", "import random, numpy; print(random.random(), numpy.random.random(), numpy.random.default_rng().random())")
            self.assertTrue(receipt["warm"])
            drawn.update(out.split())
        self.assertEqual(len(drawn), 9)

    def test_the_numbers_of_threads_are_the_scripts(self):
        self.wait_for_warm()
        for count in ("1", "3"):
            out, receipt = self.run_python("-c", "import os; print(os.environ['OMP_NUM_THREADS'])", env={"OMP_NUM_THREADS": count})
            self.assertEqual((out, receipt["warm"]), (f"{count}\n", True))

    def test_a_module_in_the_scripts_folder_comes_first(self):
        self.wait_for_warm()
        folder = self.folder / "hides"
        folder.mkdir()
        (folder / "secrets.py").write_text("mine = 'beside it'\n")  # numpy imports the library's
        (folder / "script.py").write_text("import secrets; print(secrets.mine)\n")
        self.assertEqual(self.assert_cold("the module secrets in its folder hides one that is kept warm", folder / "script.py"),
                         "beside it\n")

    # What is learned.

    def test_what_scripts_import_is_imported_for_the_next(self):
        python, site = self.venv("learns")
        (site / "learned.py").write_text("import os\n__version__ = '1.5'\npid = os.getpid()\n")
        own = "import os, learned; print(learned.pid == os.getpid())"
        self.wait_for_warm(python)
        self.assertEqual(self.run_python("-c", own, python=python)[0], "True\n")
        row = self.wait_for_module("learned", python)
        self.assertIn({"name": "learned", "version": "1.5"}, row["modules"])
        out, receipt = self.run_python("-c", own, python=python)
        self.assertEqual((out, receipt["warm"]), ("False\n", True))

    def test_modules_that_are_left_out(self):
        python, site = self.venv("leaves")
        own = self.folder / "own"
        own.mkdir()
        (own / "edited.py").write_text("")
        (site / "own.pth").write_text(f"{own}\n")
        (site / "threads.py").write_text("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n")
        (site / "prints.py").write_text("import ctypes\nctypes.CDLL(None).puts(b'hello')\nctypes.CDLL(None).fflush(None)\n")
        (site / "needs.py").write_text("import edited\n")
        (site / "raises.py").write_text("import sys\nif hasattr(sys.modules['__main__'], 'Zygote'): raise ValueError('of mine')\n")
        (site / "good.py").write_text("")
        self.wait_for_warm(python)
        for name, why in (("threads", "it starts a thread"), ("prints", "it prints"),
                          ("needs", "it imports edited, which is not an installed package"),
                          ("raises", "ValueError: of mine")):
            row = self.wait_for_module(name, python, left_out=True)
            self.assertIn({"name": name, "why": why}, row["leftOut"])
            self.hotplate("workers", says=f"leaves out {name}: {why}")
        self.wait_for_module("good", python)
        self.assertEqual(self.run_python("-c", "import prints; print('on')", python=python)[0], "hello\non\n")
        _, receipt = self.run_python("-c", "pass", python=python)
        self.assertTrue(receipt["warm"])

    def test_a_module_that_ends_python_as_it_is_imported(self):
        python, site = self.venv("ends")
        (site / "ends.py").write_text("import os, sys\nhasattr(sys.modules['__main__'], 'Zygote') and os._exit(9)\n")
        (site / "waits.py").write_text("import sys, threading\n"
                                       "hasattr(sys.modules['__main__'], 'Zygote') and threading.Thread(target=threading.Event().wait).start()\n")
        self.wait_for_warm(python)
        row = self.wait_for_module("ends", python, left_out=True)
        self.assertIn({"name": "ends", "why": "Python ended as it imported it"}, row["leftOut"])
        row = self.wait_for_module("waits", python, left_out=True)
        self.assertIn({"name": "waits", "why": "it starts a thread"}, row["leftOut"])
        (site / "good.py").write_text("")
        self.wait_for_module("good", python)  # so none of them holds up the next one

    def test_variables_that_modules_read_and_set(self):
        python, site = self.venv("reads")
        (site / "reads.py").write_text("import os\nread = os.environ.get('READ_BY_IT')\nos.environ['SET_BY_IT'] = 'so'\n")
        self.wait_for_warm(python)
        self.wait_for_module("reads", python)
        words = ("-c", "import os, reads; print(reads.read, os.environ['SET_BY_IT'])")
        out, receipt = self.run_python(*words, python=python)
        self.assertEqual((out, receipt["warm"]), ("None so\n", True))
        self.assertEqual(self.assert_cold("READ_BY_IT is not as it was", *words, python=python, env={"READ_BY_IT": "x"}), "x so\n")

    def test_a_package_that_is_installed_meanwhile(self):
        python, site = self.venv("installs")
        (site / "package.py").write_text("version = 1\n")
        self.wait_for_warm(python)
        row = self.wait_for_module("package", python)
        (site / "package.py").write_text("version = 2\n")
        (site / "package-2.dist-info").mkdir()
        out = self.assert_cold("packages were installed or removed", "-c", "import package; print(package.version)", python=python)
        self.assertEqual(out, "2\n")
        self.assertNotEqual(self.wait_for_warm(python)["pid"], row["pid"])
        out, receipt = self.run_python("-c", "import package; print(package.version)", python=python)
        self.assertEqual((out, receipt["warm"]), ("2\n", True))

    # Ends.

    def test_a_script_that_dies_harms_no_other(self):
        pid = self.wait_for_warm()["pid"]
        for code, number in (("import ctypes; ctypes.string_at(0)", signal.SIGSEGV), ("import os; os.abort()", signal.SIGABRT),
                             ("import os; os.kill(os.getpid(), 9)", signal.SIGKILL)):
            _, receipt = self.run_python("-c", code, code=128 + number)
            self.assertEqual((receipt["warm"], receipt["signal"]), (True, number))
        self.assertEqual([row["pid"] for row in self.workers() if row["state"] == "WARM"], [pid])
        self.assertTrue(self.run_python("-c", "pass")[1]["warm"])

    def test_a_warm_python_that_is_killed(self):
        pid = self.wait_for_warm()["pid"]
        self.assertEqual(self.family()[1], pid)
        process = self.start("python", "-c", "import os, time; print(os.getpid()); time.sleep(1000)")
        script = int(process.stdout.readline())
        os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: not harness.alive(script), "its script is gone")
        self.assertNotEqual(process.wait(harness.PATIENCE), 0)
        harness.wait_until(lambda: not [row for row in self.workers() if row["pid"] == pid], "its end was seen")
        self.assert_cold("its warm Python had ended", "-c", "pass")
        self.assertNotEqual(self.wait_for_warm()["pid"], pid)

    def test_a_keeper_that_is_killed_takes_all_with_it(self):
        self.wait_for_warm()
        process = self.start("python", "-c", "import os, subprocess, time; child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
                                             "print(os.getppid(), os.getpid(), child.pid); time.sleep(1000)")
        keeper, script, child = map(int, process.stdout.readline().split())
        os.kill(keeper, signal.SIGKILL)
        _, err = process.communicate(timeout=harness.PATIENCE)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("is gone", err)
        harness.wait_until(lambda: not harness.alive(script) and not harness.alive(child), "both are gone")
        self.assertTrue(self.run_python("-c", "pass")[1]["warm"])

    def test_what_a_script_leaves_behind_ends_with_it(self):
        self.wait_for_warm()
        out, receipt = self.run_python("-c", "import subprocess; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)\n"
                                             "print(subprocess.Popen(['sleep', '1000']).pid)")
        self.assertTrue(receipt["warm"])
        for pid in out.split():
            self.assertFalse(harness.alive(int(pid)))

    def test_signals_to_all_processes_of_the_job_are_for_the_script(self):
        pid = self.wait_for_warm()["pid"]
        process = self.start("python", "-c", "import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: (print('heeded', flush=True), os._exit(5)))\n"
                                             "print(os.getppid(), os.getpid(), flush=True)\nwhile True: signal.pause()")
        keeper, script = map(int, process.stdout.readline().split())
        for one in (pid, keeper):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
                os.kill(one, number)
        os.kill(script, signal.SIGTERM)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out), (5, "heeded\n"), err)
        self.assertEqual(self.workers()[0]["pid"], pid)

    def test_ctrl_c(self):
        self.wait_for_warm()
        process = self.start("python", "-c", "import time\ntry:\n    print('ready')\n    time.sleep(1000)\nexcept KeyboardInterrupt:\n    print('interrupted')\n    raise")
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out), (128 + signal.SIGINT, "interrupted\n"), err)
        self.assertNotIn("hotplate_worker", err)
        self.assertTrue(self.newest()["warm"])

    def test_too_much_memory(self):
        daemon = self.start_daemon("--program-bytes", "150MB", name="small")
        def warm():
            self.hotplate("--server", "small", "python", "-c", "pass")
            return self.answer("--server", "small", "jobs")["jobs"][0]["receipt"]["process"]["warm"]
        harness.wait_until(warm, "a script is warm")
        self.hotplate("--server", "small", "python", "-c", "x = bytearray(600_000_000); import time; time.sleep(1000)",
                      code=128 + signal.SIGKILL, says="was killed: its processes took more than the 150.0 MB that they may have")
        self.assertTrue(warm())
        self.stop_daemon(daemon)

    def test_ten_at_once(self):
        daemon = self.start_daemon("--lanes", "10", name="ten")
        harness.wait_until(lambda: self.hotplate("--server", "ten", "python", "-c", "pass") == "" and
                           self.answer("--server", "ten", "jobs")["jobs"][0]["receipt"]["process"]["warm"], "a script is warm")
        gate = self.folder / "gate"
        processes = [self.start("--server", "ten", "python", "-c", f"import os, time\nprint({i}, flush=True)\n"
                                f"while not os.path.exists({str(gate)!r}): time.sleep(0.02)\nprint(os.getpid())") for i in range(10)]
        for i, process in enumerate(processes):
            self.assertEqual(process.stdout.readline(), f"{i}\n")
        gate.write_text("")
        pids = {process.communicate(timeout=harness.PATIENCE)[0] for process in processes}
        self.assertEqual((len(pids), {process.returncode for process in processes}), (10, {0}))
        self.assertTrue(all(job["receipt"]["process"]["warm"] for job in self.answer("--server", "ten", "jobs")["jobs"][:10]))
        self.stop_daemon(daemon)

    # Faults of an environment.

    def test_an_interpreter_that_does_not_start_is_left_alone_after_three_failures(self):
        python, site = self.venv("fails")
        marker = self.folder / "starts"
        (site / "fails.py").write_text("import os, sys\nif any('hotplate_worker' in word for word in sys.orig_argv):\n"
                                       f"    open({str(marker)!r}, 'a').write('x')\n    print('it fails on purpose', file=sys.stderr, flush=True)\n    os._exit(1)\n")
        (site / "fails.pth").write_text("import fails\n")
        def left_alone():
            out, receipt = self.run_python("-c", "print(1)", python=python)
            self.assertEqual((out, receipt["warm"]), ("1\n", False))
            return receipt["whyCold"] == "no warm Python: it fails on purpose"
        harness.wait_until(left_alone, "it is left alone")
        self.assertEqual(len(marker.read_text()), 3)
        self.assertTrue(left_alone())
        self.assertEqual(self.workers(python)[0]["state"], "FAILED")
        self.hotplate("workers", says=["failed", "did not start: it fails on purpose"])
        (site / "fails.pth").unlink()
        self.assertTrue(left_alone())
        self.hotplate("workers", "restart")
        self.wait_for_warm(python)

    def test_an_interpreter_that_starts_another_is_not_kept(self):
        shim = self.folder / "shim"
        shim.write_text(f'#!/bin/sh\nexec {PYTHON} "$@"\n')  # by its folder, as pyenv does, or by whatever
        shim.chmod(0o755)
        why = f"no warm Python: {shim} starts another interpreter: set HOTPLATE_PYTHON to that, {PYTHON}"
        harness.wait_until(lambda: self.run_python("-c", "pass", python=shim)[1]["whyCold"] == why, "it is left alone")

    def test_restart_waits_for_scripts_and_forgets(self):
        python, site = self.venv("restarts")
        (site / "forgotten.py").write_text("")
        self.wait_for_warm(python)
        pid = self.wait_for_module("forgotten", python)["pid"]
        gate = self.folder / "open"
        process = self.start("python", "-c", f"import os, time\nprint('ready', flush=True)\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.02)\nprint('done')",
                             env={"HOTPLATE_PYTHON": str(python)})
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertGreaterEqual(self.answer("workers", "restart")["restarted"], 1)
        self.assertEqual(self.workers(python), [])
        self.assert_cold("the first in its environment", "-c", "pass", python=python)
        self.assertTrue(harness.alive(pid))
        gate.write_text("")
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out), (0, "done\n"), err)
        harness.wait_until(lambda: not harness.alive(pid), "the old one has ended")
        self.assertEqual([one["name"] for one in self.wait_for_warm(python)["modules"]], ["numpy", "cloudpickle"])

    def test_the_next_daemon_of_the_name_has_them_again(self):
        first = self.start_daemon(name="successive")
        there = ("--server", "successive")
        self.hotplate(*there, "python", "-c", "import numpy", env={"OF_NOBODY_ELSE": "secret"})
        warm = lambda: any(row["state"] == "WARM" for row in self.answer(*there, "workers")["workers"])
        harness.wait_until(warm, "it is warm")
        self.assertEqual(self.stop_daemon(first), 0)
        left = self.directory / "warm/successive.json"
        self.assertEqual(left.stat().st_mode & 0o777, 0o600)
        self.assertNotIn("secret", left.read_text())
        second = self.start_daemon(name="successive")
        harness.wait_until(warm, "it is warm before anybody asks")
        self.assertFalse(left.exists())
        self.hotplate(*there, "python", "-c", "import numpy")
        self.assertEqual(self.answer(*there, "jobs")["jobs"][0]["receipt"]["process"]["whyCold"], "")
        self.assertEqual(self.stop_daemon(second), 0)

    def test_a_daemon_that_dies_takes_its_warm_pythons_with_it(self):
        daemon = self.start_daemon(name="dies")
        self.hotplate("--server", "dies", "python", "-c", "pass")
        pid = harness.wait_until(lambda: next((row["pid"] for row in self.answer("--server", "dies", "workers")["workers"]
                                               if row["state"] == "WARM"), None), "it is warm")
        daemon.kill()
        harness.wait_until(lambda: not harness.alive(pid), "the warm Python is gone")

    def test_nothing_is_left(self):
        daemon = self.start_daemon(name="last")
        def warm():
            self.hotplate("--server", "last", "python", "-c", "import numpy")
            return self.answer("--server", "last", "jobs")["jobs"][0]["receipt"]["process"]["warm"]
        harness.wait_until(warm, "a script is warm")
        descriptors = os.listdir(f"/proc/{daemon.pid}/fd")
        for code in ("pass", "import os; os.abort()", "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)"):
            for _ in range(5):
                self.run_command("--server", "last", "python", "-c", code)
        rows = self.answer("--server", "last", "workers")["workers"]
        self.assertEqual([row["state"] for row in rows], ["WARM"])
        harness.wait_until(lambda: len(harness.descendants(daemon.pid)) == 3, "the supervisor, a keeper and the warm Python are left")
        self.assertIn(rows[0]["pid"], [pid for pid, _ in harness.descendants(daemon.pid)])
        harness.wait_until(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) <= len(descriptors), "all descriptors are closed")
        inside = len(os.listdir(f"/proc/{rows[0]['pid']}/fd"))
        for _ in range(5):
            self.assertTrue(warm())
        self.assertEqual(len(os.listdir(f"/proc/{rows[0]['pid']}/fd")), inside)
        self.assertEqual(self.stop_daemon(daemon), 0)
        harness.wait_until(lambda: not harness.alive(rows[0]["pid"]), "the warm Python is gone")


if __name__ == "__main__":
    harness.main()
