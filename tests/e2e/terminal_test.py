"""Programs that have a terminal: `hotplate python` without a script, -i, and --terminal."""

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios

import harness

PYTHON = "/usr/bin/python3"


class Typist:
    """`hotplate WORDS` on a terminal of 100 columns and 30 lines, and somebody who types."""

    def __init__(self, test, *words):
        self.controller, self.terminal = pty.openpty()
        os.set_blocking(self.controller, False)
        self.resize(30, 100)
        self.mode = termios.tcgetattr(self.terminal)
        self.test, self.shown = test, ""
        self.process = subprocess.Popen(
            [str(harness.BIN / "hotplate"), *map(str, words)], cwd=test.folder, stdin=self.terminal, stdout=self.terminal,
            stderr=self.terminal, env=test.environment | {"TERM": "xterm"}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        test.processes.append(self.process)
        test.addCleanup(os.close, self.controller)
        test.addCleanup(os.close, self.terminal)

    def resize(self, lines, columns):
        fcntl.ioctl(self.controller, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text):
        os.write(self.controller, text.encode())

    def read(self):
        with contextlib.suppress(BlockingIOError):
            self.shown += os.read(self.controller, 65536).decode(errors="replace")
        return self.shown

    def wait_for(self, text):
        """Until it is shown; forgets all up to there."""
        harness.wait_until(lambda: text in self.read() or self.process.poll() is not None, f"it showed {text!r}: {self.shown}")
        self.test.assertIn(text, self.read())
        self.shown = self.shown.partition(text)[2]

    def ends(self, code):
        harness.wait_until(lambda: self.read() is not None and self.process.poll() is not None, f"it ended: {self.shown}")
        self.test.assertEqual(self.process.returncode, code, self.shown)
        self.test.assertEqual(termios.tcgetattr(self.terminal), self.mode, "the terminal is as it was")


class Terminal(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment |= {"HOTPLATE_PYTHON": PYTHON}
        cls.start_daemon()

    def test_a_program_has_a_terminal_of_this_size(self):
        one = Typist(self, "exec", "-t", "sh", "-c", "tty; stty size; echo to err >&2; exit 7")
        one.wait_for("/dev/pts/")
        one.wait_for("30 100\r\n")
        one.wait_for("to err\r\n")
        one.ends(7)

    def test_python_without_a_script_is_one_to_talk_to(self):
        one = Typist(self, "python")
        one.wait_for(">>> ")
        one.type("6 * 7\n")
        one.wait_for("42\r\n>>> ")
        one.type("import os, time; print('pid', os.getpid()); time.sleep(3600)\n")
        one.wait_for("\r\npid ")
        one.type("\x03")
        one.wait_for("KeyboardInterrupt")
        one.wait_for(">>> ")
        one.type("open('/dev/tty', 'w').write('by its own terminal\\n') and None\n")
        one.wait_for("\r\nby its own terminal\r\n")
        self.assertEqual(self.answer("jobs")["jobs"][0]["state"], "RUNNING")
        one.type("\x04")
        one.ends(0)
        receipt = self.answer("jobs")["jobs"][0]["receipt"]["process"]
        self.assertEqual((receipt["exitCode"], receipt["whyCold"]), (0, "it has a terminal"))

    def test_a_script_with_i_is_talked_to_afterwards(self):
        (self.folder / "script.py").write_text("value = 6 * 7\n")
        one = Typist(self, "python", "-i", "script.py")
        one.wait_for(">>> ")
        one.type("value + 1\n")
        one.wait_for("43\r\n")
        one.type("exit(3)\n")
        one.ends(3)

    def test_a_new_size_is_told(self):
        script = ("import os, signal; signal.signal(signal.SIGWINCH, lambda *_: print(os.get_terminal_size(), flush=True)); "
                  "print('ready', flush=True); input()")
        one = Typist(self, "python", "-t", "-c", script)
        one.wait_for("ready")
        one.resize(41, 123)
        one.wait_for("columns=123, lines=41")
        one.type("\n")
        one.ends(0)

    def test_a_terminal_that_is_gone_ends_it(self):
        one = Typist(self, "exec", "-t", "sh", "-c", "echo it is $$; sleep 3600")
        one.wait_for("it is ")
        one.wait_for("\r\n")
        one.process.send_signal(signal.SIGHUP)  # as the terminal of a session does
        one.ends(128 + signal.SIGHUP)
        harness.wait_until(lambda: not self.answer("jobs", "--active")["jobs"], "its job has ended")

    def test_before_it_runs_ctrl_c_is_this_commands(self):
        blockers = [self.start("exec", "sleep", "3600") for _ in range(8)]  # more than there are lanes
        harness.wait_until(lambda: any(job["state"] == "PENDING" for job in self.answer("jobs", "--active")["jobs"]), "the lanes are taken")
        one = Typist(self, "exec", "-t", "--priority", "-100", "echo", "never")
        harness.wait_until(lambda: len(self.answer("jobs", "--active")["jobs"]) == 9, "it waits")
        one.type("\x03")
        one.ends(128 + signal.SIGINT)
        for blocker in blockers:
            blocker.send_signal(signal.SIGTERM)
            blocker.communicate()

    def test_without_a_terminal_here(self):
        self.hotplate("exec", "-t", "true", code=harness.USAGE, says="standard input is none")
        self.hotplate("submit", "exec", "true", "-t", code=harness.OK)  # its own word
        one = Typist(self, "submit", "exec", "-t", "true")
        one.wait_for("has no terminal")
        one.ends(harness.USAGE)
        self.hotplate("submit", "python", code=harness.USAGE, says="SCRIPT is missing")
        # As Python does, it then reads the script from there.
        told = subprocess.run([harness.BIN / "hotplate", "python"], input="print(6 * 7)\n", text=True, capture_output=True,
                              env=self.environment, cwd=self.folder, timeout=harness.PATIENCE, check=True)
        self.assertEqual(told.stdout, "42\n")

    def test_a_terminal_where_nothing_happens_is_no_use(self):
        daemon = self.start_daemon("--idle-timeout", "2s", name="idle")
        one = Typist(self, "exec", "-t", "--server", "idle", "sleep", "3600")
        self.assertEqual(daemon.wait(harness.PATIENCE), 0)
        one.ends(harness.CANCELLED)
        self.assertIn("idle for 2 s", self.log("idle"))


if __name__ == "__main__":
    harness.main()
