"""Programs of the user's own in the allocation: hotplate exec, hotplate python, submit, logs."""

import os
import pathlib
import re
import signal
import subprocess
import textwrap
import time

import harness

PYTHON = "/usr/bin/python3"


class Programs(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment |= {"HOTPLATE_PYTHON": PYTHON}
        cls.environment.pop("PYTHONUNBUFFERED", None)
        cls.daemon = cls.start_daemon("--disconnect-grace", "1s")

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def run_with_input(self, given, *words):
        process = subprocess.Popen(
            [str(harness.BIN / "hotplate"), *map(str, words)], cwd=self.folder, env=self.environment | {"LSAN_OPTIONS": harness.LEAKS},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        out, err = process.communicate(given, timeout=harness.PATIENCE)
        return process.returncode, out, err

    def newest(self):
        return self.answer("jobs")["jobs"][0]

    def wait_for_line(self, process, line):
        got = process.stdout.readline()
        self.assertEqual(got, line + "\n")

    # What it has and what it gives.

    def test_streams_folder_environment_and_exit_code(self):
        code, out, err = self.run_command("exec", "sh", "-c", "echo out; echo err >&2; pwd; echo $WORD; exit 3",
                                          env={"WORD": "mine"})
        self.assertEqual((code, err), (3, "err\n"))
        self.assertEqual(out, f"out\n{self.folder.resolve()}\nmine\n")

    def test_an_exit_code_is_the_programs_own(self):
        for code in (0, 1, 2, 7, 130, 255):
            self.hotplate("exec", "sh", "-c", f"exit {code}", code=code)

    def test_a_signal_is_told_as_shells_do(self):
        self.hotplate("exec", "sh", "-c", "kill -SEGV $$", code=128 + signal.SIGSEGV, says="sh was ended by SIGSEGV")

    def test_words_behind_the_program_are_the_programs(self):
        self.assertEqual(self.hotplate("exec", "echo", "--json", "-q", "--help", "--", "--device", "x"),
                         "--json -q --help -- --device x\n")
        self.assertEqual(self.hotplate("exec", "--device", "cpu0", "--", "echo", "a"), "a\n")
        path = self.script("import sys; print(sys.argv[1:])")
        self.assertEqual(self.hotplate("python", "--device=cpu0", path, "--json", "--device"), "['--json', '--device']\n")
        self.assertEqual(self.hotplate("python", "-c", "import sys; print(sys.argv)", "-x"), "['-c', '-x']\n")
        self.assertEqual(self.hotplate("python", "-u", "-m", "platform", "x"), subprocess.run(
            [PYTHON, "-m", "platform"], capture_output=True, text=True, check=True).stdout)

    def test_input_reaches_it_whole(self):
        data = os.urandom(3_000_000)
        code, out, err = self.run_with_input(data, "exec", "cat")
        self.assertEqual((code, err), (0, b""))
        self.assertEqual(out, data)

    def test_without_input_it_sees_the_end(self):
        self.assertEqual(self.hotplate("exec", "wc", "-c"), "0\n")

    def test_much_output_comes_whole(self):
        out = self.hotplate("exec", "seq", "300000")
        self.assertEqual(out, "".join(f"{i}\n" for i in range(1, 300001)))

    def test_prints_arrive_as_they_are_made(self):
        path = self.script("import sys; print('first'); sys.stdin.readline(); print('second')")
        process = subprocess.Popen([str(harness.BIN / "hotplate"), "python", str(path)], cwd=self.folder, env=self.environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        self.wait_for_line(process, "first")
        process.stdin.write("\n")
        process.stdin.close()
        self.wait_for_line(process, "second")
        self.assertEqual(process.wait(harness.PATIENCE), 0)
        self.processes.remove(process)

    def test_the_device_and_the_threads_are_set(self):
        out = self.hotplate("exec", "env", env={"CUDA_VISIBLE_DEVICES": "3", "SLURM_JOB_ID": "1", "SSH_TTY": "/dev/pts/0"})
        told = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        self.assertEqual(told["CUDA_VISIBLE_DEVICES"], "")
        self.assertGreaterEqual(int(told["OMP_NUM_THREADS"]), 1)
        self.assertFalse([name for name in told if name.startswith(("HOTPLATE_", "SSH_", "SLURM_"))])

    def test_export(self):
        out = self.hotplate("exec", "--export", "NONE", "env", env={"MINE": "1", "YOURS": "2"})
        self.assertNotIn("MINE=", out)
        self.assertIn("HOME=", out)
        out = self.hotplate("exec", "--export=YOURS", "env", env={"MINE": "1", "YOURS": "2"})
        self.assertNotIn("MINE=", out)
        self.assertIn("YOURS=2\n", out)

    def test_the_umask_is_the_owners(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        daemon = self.start_daemon(name="umask")
        self.hotplate("--server", "umask", "exec", "touch", "made")
        self.assertEqual((self.folder / "made").stat().st_mode & 0o777, 0o644)
        self.stop_daemon(daemon)

    def test_python_raises_as_python_does(self):
        path = self.script("raise ValueError('of mine')")
        code, _, err = self.run_command("python", path)
        self.assertEqual(code, 1)
        self.assertIn("ValueError: of mine", err)

    # As a job.

    def test_it_is_a_job_with_a_receipt(self):
        self.hotplate("exec", "--label", "trial", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 5", code=5)
        job = self.newest()
        self.assertEqual((job["kernel"], job["state"], job["label"]), ("exec", "FAILED", "trial"))
        receipt = self.job(job["id"])["receipt"]
        self.assertEqual(receipt["process"]["exitCode"], 5)
        self.assertGreater(receipt["process"]["userNs"], 0)
        self.assertGreater(receipt["process"]["peakBytes"], 100_000)
        self.hotplate("show", job["id"], says=["exit code 5", "sh ended with exit code 5"])

    def test_a_terminal_shows_the_receipt(self):
        process, shown = self.start_on_terminal("exec", "echo", "hello")
        harness.wait_until(lambda: shown() is not None and process.poll() is not None, "it ends")
        self.assertIn(b"hello", shown())
        self.assertRegex(shown().decode(), r"program +[0-9.]+ .*exit code 0")

    def test_a_label_is_the_scripts_name(self):
        self.hotplate("python", self.script("pass", "train.py"))
        self.assertEqual(self.newest()["label"], "train.py")

    def test_a_time_limit_ends_it(self):
        self.hotplate("exec", "--time-limit", "200ms", "sleep", "1000", code=harness.TIMEOUT, says="time limit")

    def test_a_cancel_ends_it_and_what_it_started(self):
        process = self.start("exec", "sh", "-c", "trap '' INT; (setsid sleep 1000 & echo $!); while :; do sleep 0.1; done")
        pid = int(process.stdout.readline())
        job = next(job for job in self.answer("jobs")["jobs"] if job["state"] == "RUNNING")
        self.hotplate("cancel", job["id"])
        _, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.CANCELLED, err)
        harness.wait_until(lambda: not harness.alive(pid), "its child is gone")

    # Signals and faults.

    def test_a_signal_goes_to_the_program(self):
        process = self.start("exec", "sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done")
        self.wait_for_line(process, "ready")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out), (9, "caught\n"), err)

    def test_ctrl_c_in_python_is_keyboard_interrupt(self):
        process = self.start("python", self.script("""
            import time
            try:
                print("ready")
                time.sleep(1000)
            except KeyboardInterrupt:
                print("interrupted")
                raise
            """))
        self.wait_for_line(process, "ready")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(out, "interrupted\n")
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)

    def test_the_third_ctrl_c_leaves(self):
        process = self.start("exec", "sh", "-c", "trap '' INT; echo $$; while :; do sleep 0.05; done")
        pid = int(process.stdout.readline())
        for count in range(3):
            process.send_signal(signal.SIGINT)
            # Pending ones of a kind become one: the next is sent when this one has been seen.
            pending = 1 << (signal.SIGINT - 1)
            harness.wait_until(lambda: process.poll() is not None or not pending & int(re.search(
                r"ShdPnd:\s*([0-9a-f]+)", open(f"/proc/{process.pid}/status", encoding="ascii").read())[1], 16), "it is seen")
        _, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.INTERRUPTED, err)
        harness.wait_until(lambda: not harness.alive(pid), "the program is gone")

    def test_ctrl_c_reaches_a_program_that_does_not_read(self):
        process = subprocess.Popen([str(harness.BIN / "hotplate"), "exec", "sh", "-c",
                                    "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done"],
                                   cwd=self.folder, env=self.environment, stdin=open("/dev/zero", "rb"),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        self.wait_for_line(process, "ready")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out), (9, "caught\n"), err)

    def test_ctrl_c_cancels_what_waits(self):
        daemon = self.start_daemon("--lanes", "1", name="one")
        first = self.hotplate("--server", "one", "submit", "-q", "exec", "sleep", "1000").strip()
        process = self.start("--server", "one", "exec", "echo", "never")
        waits = harness.wait_until(lambda: next((job for job in self.answer("--server", "one", "jobs")["jobs"]
                                                 if job["state"] == "PENDING"), None), "the second waits")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out), (harness.INTERRUPTED, ""), err)
        harness.wait_until(lambda: self.answer("--server", "one", "show", waits["id"])["state"] == "CANCELLED", "it is cancelled")
        self.hotplate("--server", "one", "cancel", first)
        self.stop_daemon(daemon)

    def test_a_drain_ends_a_program_that_does_not_listen(self):
        daemon = self.start_daemon("--drain-timeout", "1s", name="drains")
        process = self.start("--server", "drains", "exec", "sh", "-c", "trap '' INT TERM; echo $$; while :; do sleep 0.05; done")
        pid = int(process.stdout.readline())
        self.assertEqual(self.stop_daemon(daemon), 0)
        _, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.CANCELLED, err)
        self.assertFalse(harness.alive(pid))
        self.assertNotIn("something still runs", self.log("drains"))

    def test_bytes_that_are_no_text(self):
        name = b"caf\xe9.sh"
        (pathlib.Path(os.fsdecode(os.fsencode(self.folder) + b"/" + name))).write_text("echo $ODD")
        done = subprocess.run([os.fsencode(harness.BIN / "hotplate"), b"exec", b"sh", name], cwd=self.folder,
                              env={os.fsencode(key): os.fsencode(value) for key, value in self.environment.items()} | {b"ODD": b"\xff"},
                              capture_output=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"\xff\n"), done.stderr)

    def test_a_client_that_is_killed_takes_its_program_with_it(self):
        process = self.start("exec", "sh", "-c", "trap '' INT HUP TERM; echo $$; while :; do sleep 0.05; done")
        pid = int(process.stdout.readline())
        process.kill()
        harness.wait_until(lambda: not harness.alive(pid), "the program is gone")

    def test_output_that_nobody_reads_any_more(self):
        done = subprocess.run(f"{harness.BIN / 'hotplate'} exec yes | head -n 1", shell=True, cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual(done.stdout, "y\n")
        harness.wait_until(lambda: self.newest()["state"] in harness.ENDED, "the program has ended")

    def test_a_daemon_that_dies_takes_its_programs_with_it(self):
        daemon = self.start_daemon(name="dies")
        process = self.start("--server", "dies", "exec", "sh", "-c", "trap '' INT HUP TERM; echo $$; while :; do sleep 0.05; done")
        pid = int(process.stdout.readline())
        daemon.kill()
        harness.wait_until(lambda: not harness.alive(pid), "the program is gone")
        self.assertEqual(process.wait(harness.PATIENCE), harness.NO_DAEMON)

    def test_too_much_memory(self):
        daemon = self.start_daemon("--program-bytes", "150MB", name="small")
        self.hotplate("--server", "small", "python", "-c", "x = bytearray(600_000_000); import time; time.sleep(1000)",
                      code=128 + signal.SIGKILL, says="was killed: its processes took more than the 150.0 MB that they may have")
        self.stop_daemon(daemon)

    def test_closed_streams(self):
        self.assertEqual(self.hotplate("python", "-c", "import os; os.close(1); os.close(2); os.close(0)"), "")

    # Refused.

    def test_what_is_not_there_is_named(self):
        self.hotplate("exec", "no-such-program", code=harness.INVALID, says='has no program "no-such-program" in PATH')
        self.hotplate("exec", "./not-here", code=harness.INVALID, says='has no program "./not-here" that can be executed')
        (self.folder / "text").write_text("no program")
        self.hotplate("exec", "./text", code=harness.INVALID, says='has no program "./text" that can be executed')
        self.hotplate("exec", "--device", "gpu7", "true", code=harness.INVALID, says='no device "gpu7"')
        self.hotplate("exec", "--label", "a\nb", "true", code=harness.INVALID, says="control characters")
        self.hotplate("exec", "--label", "x" * 65, "true", code=harness.INVALID, says="64 bytes")
        self.hotplate("exec", "--request-id", "x", "true", code=harness.USAGE, says="hotplate submit exec")
        self.hotplate("exec", code=harness.USAGE, says="PROGRAM is missing")
        self.hotplate("exec", "--devise", "x", "true", code=harness.USAGE, says="--device")
        self.hotplate("python", "true", code=harness.INVALID, env={"HOTPLATE_PYTHON": "/no/python"}, says='"/no/python"')

    def test_a_folder_that_the_node_cannot_see(self):
        gone = self.folder / "gone"
        gone.mkdir()
        process = subprocess.run([str(harness.BIN / "hotplate"), "exec", "true"], cwd=gone, env=self.environment | {"PWD": str(gone)},
                                 preexec_fn=lambda: os.rmdir(gone), capture_output=True, text=True, check=False,
                                 timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.INVALID, process.stderr)
        self.assertIn("folder", process.stderr)

    def test_a_file_that_cannot_be_executed(self):
        path = self.folder / "broken"
        path.write_bytes(b"\x7fELF nothing")
        path.chmod(0o755)
        self.hotplate("exec", "./broken", code=harness.FAILED, says="broken cannot be executed: Exec format error")

    def test_a_daemon_without_users_code(self):
        daemon = self.start_daemon("--user-code", "none", name="none")
        self.hotplate("--server", "none", "exec", "true", code=harness.NOT_ALLOWED, says="--user-code none")
        self.stop_daemon(daemon)

    # Detached.

    def test_submit_and_logs(self):
        path = self.script("import sys; print('out', *sys.argv[1:]); print('err', file=sys.stderr); sys.exit(4)")
        job_id = self.hotplate("submit", "-q", "--label", "later", "python", path, "--x").strip()
        self.hotplate("wait", job_id, code=harness.FAILED)
        self.assertEqual(self.job(job_id)["label"], "later")
        _, out, err = self.run_command("logs", job_id)
        self.assertEqual((out, err), ("out --x\n", "err\n"))
        self.assertEqual(self.hotplate("logs", "-f", job_id), out)
        self.hotplate("result", job_id, code=harness.INVALID, says=f"hotplate logs {job_id}")
        self.hotplate("logs", "-n", "3", job_id, code=harness.USAGE, says="--lines")
        self.hotplate("logs", "no-job", code=harness.INVALID, says="no job no-job")

    def test_logs_follow(self):
        gate = self.folder / "gate"
        job_id = self.hotplate("submit", "-q", "exec", "sh", "-c",
                               f"echo begun; while [ ! -e {gate} ]; do sleep 0.05; done; echo done").strip()
        process = self.start("logs", "-f", job_id)
        self.wait_for_line(process, "begun")
        gate.write_text("")
        out, _ = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out), (0, "done\n"))

    def test_of_much_output_the_beginning_and_the_end_are_kept(self):
        job_id = self.hotplate("submit", "-q", "exec", "seq", "1000000").strip()
        self.hotplate("wait", job_id)
        code, out, err = self.run_command("logs", job_id)
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("1\n2\n3\n"))
        self.assertTrue(out.endswith("\n999999\n1000000\n"))
        missing = int(re.search(r"(\d+) bytes are not kept", err)[1])
        self.assertEqual(len(out) + missing, sum(len(f"{i}\n") for i in range(1, 1000001)))

    def test_a_request_id_runs_it_once(self):
        made = self.folder / "lines"
        words = ("submit", "-q", "--request-id", "once", "exec", "sh", "-c", f"echo x >> {made}")
        first = self.hotplate(*words).strip()
        self.assertEqual(self.hotplate(*words).strip(), first)
        self.hotplate("wait", first)
        self.assertEqual(made.read_text(), "x\n")
        self.hotplate("submit", "--request-id", "once", "exec", "true", code=harness.INVALID, says="once")

    def test_logs_of_a_kernels_job(self):
        self.hotplate("run", "arange", "--stop", "3", "-q")
        self.hotplate("logs", self.newest()["id"], code=harness.INVALID, says="runs the kernel arange, which prints nothing")

    def test_nothing_is_left(self):
        def settled():
            return all(row["state"] != "STARTING" for row in self.answer("workers")["workers"])
        def others():
            """All but the supervisor, and each warm Python with its keeper."""
            found = harness.descendants(self.daemon.pid)
            pythons = {row["pid"] for row in self.answer("workers")["workers"] if row["pid"] != 0}
            self.assertLessEqual(pythons, {pid for pid, _ in found})
            return len(found) - 1 - 2 * len(pythons)
        harness.wait_until(lambda: settled() and others() == 0, "the warm Pythons are ready")
        self.hotplate("exec", "true")
        descriptors = len(os.listdir(f"/proc/{self.daemon.pid}/fd"))
        for _ in range(5):
            self.hotplate("exec", "sh", "-c", "sleep 1000 & exit 0")
        harness.wait_until(lambda: others() == 0, "only the supervisor is left, and warm Pythons")
        harness.wait_until(lambda: len(os.listdir(f"/proc/{self.daemon.pid}/fd")) <= descriptors, "all descriptors are closed")


if __name__ == "__main__":
    harness.main()
