"""A daemon of the kit's own, in a HOTPLATE_DIR of its own, and commands that talk to it."""

import json
import os
import pathlib
import signal
import subprocess
import time

from .results import Failed

PATIENCE = 60


def wait_until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise Failed(f"within {patience} s it did not happen that {what}")


class Daemon:
    """Used in a with statement; the process is a child, so that it ends with the section whatever happens."""

    def __init__(self, kit, *flags, name="kit", device=None, command=None):
        self.kit = kit
        self.name = name
        self.directory = pathlib.Path(kit.folder) / f"daemon-{name}"
        self.log_file = pathlib.Path(kit.folder) / f"{name}.log"
        self.environment = kit.environment | {"HOTPLATE_DIR": str(self.directory)}
        started = (command or kit.place.program("hotplated")) + [
            "--name", name, "--device", device or kit.one_device(), "--log-file", str(self.log_file), "--idle-timeout", "15m",
            "--path-root", str(kit.folder), *map(str, flags)]
        self.process = subprocess.Popen(started, env=self.environment, cwd=kit.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.record = self.directory / "servers" / f"{name}.json"

    def __enter__(self):
        def published():
            if self.process.poll() is not None:
                said = self.process.stdout.read().strip() or self.log().strip()
                raise Failed(f"hotplated ended with {self.process.returncode}: {said}")
            return self.record.exists()
        wait_until(published, f"hotplated published {self.record}")
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    # Commands.

    def run(self, *words, timeout=PATIENCE):
        """(exit code, standard output, standard error) of `hotplate WORDS`."""
        return self.kit.command(self.kit.place.program("hotplate") + [str(word) for word in words],
                                env=self.environment, timeout=timeout)

    def hotplate(self, *words, timeout=PATIENCE):
        """Standard output; any exit code but 0 fails the check."""
        code, out, err = self.run(*words, timeout=timeout)
        if code != 0:
            raise Failed(f"hotplate {' '.join(map(str, words))}: exit {code}: {(err or out).strip()}")
        return out

    def answer(self, *words, timeout=PATIENCE):
        return json.loads(self.hotplate(*words, "--json", timeout=timeout))

    def devices(self):
        return self.answer("devices")["devices"]

    def wait_for_state(self, job, *states, patience=PATIENCE):
        def reached():
            shown = self.answer("show", job)
            return shown if shown["state"] in states else None
        return wait_until(reached, f"job {job} was {' or '.join(states)}", patience)

    def metrics(self):
        """{name: value} of the first sample of each metric, and of the device's under its id."""
        found = {}
        for line in self.hotplate("metrics").splitlines():
            if line.startswith("#") or " " not in line:
                continue
            name, value = line.rsplit(" ", 1)
            found.setdefault(name.split("{", 1)[0], float(value))
        return found


def end_leftovers(folder):
    """Daemons that `hotplate up` started are nobody's children: their records say who they are."""
    for record in pathlib.Path(folder).glob("*/servers/*.json"):
        try:
            pid = json.loads(record.read_text(encoding="utf-8"))["pid"]
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError, KeyError):
            continue
        if b"hotplated" in command:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
