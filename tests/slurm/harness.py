"""A test class with a Slurm lab of its own: what it types runs as alice on the login node, in her home, which all nodes see.

Everything of tests/e2e/harness.py works here too: self.hotplate(...), self.answer(...), self.wait_for_state(...), with
user="bob" where somebody else types it. Programs come from HOTPLATE_BIN_DIR (ctest sets it), else from build/release/bin.
"""

import base64
import contextlib
import datetime
import importlib.util
import json
import os
import pathlib
import pty
import shlex
import signal
import struct
import sys
import threading
import time
import unittest

import lab as labs

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("HOTPLATE_BIN_DIR", str(SOURCE / "build" / "release" / "bin"))
os.environ.setdefault("HOTPLATE_ONLY_VERSION_2", str(SOURCE / "build" / "release" / "tests" / "slurm" / "only_version_2.so"))


def _load(name, path):
    """The module, whose own name is this file's name too."""
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


e2e = _load("e2e_harness", SOURCE / "tests" / "e2e" / "harness.py")
from_e2e = ("BIN", "PATIENCE", "OK", "FAILED", "USAGE", "NO_DAEMON", "INVALID", "TRY_LATER", "NOT_ALLOWED", "TIMEOUT", "CANCELLED",
            "INTERRUPTED", "ENDED", "LONG_JOB", "wait_until", "alive")
globals().update({name: getattr(e2e, name) for name in from_e2e})
REFUSED_BY_SLURM = 9
# In a job's script: then squeue alone can tell the daemon when the allocation ends. Slurm 22.05 has no such variable.
NO_END_TIME = "unset SLURM_JOB_END_TIME"
# A job in one of these stays in it.
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
# What ctest takes for "skipped".
SKIPPED = 77


def npy(values):
    """A file's bytes, float64."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}d", *values)


def end_warning(end):
    """What the daemon says 10 and 2 minutes before an allocation's end, and at no other time."""
    return f"the allocation ends at {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(end))}: jobs that were submitted go on with"


def seconds(timestamp):
    """Since 1970, of a time in JSON."""
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


class SlurmCase(e2e.Case):
    """One lab for the class. OPTIONS: of labs.Lab; USER: who types."""

    OPTIONS = {}
    USER = "alice"

    @classmethod
    def setUpClass(cls):
        mounts = {"bin": e2e.BIN, "deploy": SOURCE / "deploy", **cls.OPTIONS.get("mounts", {})}
        cls.lab = cls.enterClassContext(labs.Lab(**{**cls.OPTIONS, "mounts": mounts}))
        cls.folder = cls.lab.home(cls.USER)
        cls.directory = cls.folder / ".hotplate"
        # Nothing else is in a command's environment but what a login sets.
        cls.environment = {"NO_COLOR": "1", "LC_ALL": "C.UTF-8", "PATH": f"{cls.lab.folder}/bin:{labs.PATH}"}
        cls.processes = []

    @classmethod
    def tearDownClass(cls):
        for process in cls.processes:
            process.kill()
            process.wait()
            # Not read to its end: what the command has left running may hold it until the lab is down.
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()

    # unittest shows what failed; the end of Slurm's logs often says why.
    def run(self, result=None):
        failed_before = len(result.failures) + len(result.errors) if result is not None else 0
        super().run(result)
        if result is not None and len(result.failures) + len(result.errors) > failed_before:
            print(f"--- the lab after {self.id()}\n{self.lab.logs()}", file=sys.stderr)

    def start(self, *words, user=None, host="login", env=None, **options):
        """Starts `hotplate WORDS` without waiting for it."""
        process = self.lab.start(host, ["hotplate", *words], user=user or self.USER, env=self.environment | (env or {}), **options)
        self.processes.append(process)
        return process

    @contextlib.contextmanager
    def on_terminal(self, *words, **options):
        """Starts it on a terminal of its own: (process, what has been seen there so far, what types there)."""
        keyboard, terminal = pty.openpty()
        try:
            process = self.start(*words, stdin=terminal, stdout=terminal, stderr=terminal, **options)
        finally:
            os.close(terminal)
        seen = bytearray()

        def read():
            try:
                while block := os.read(keyboard, 4096):
                    seen.extend(block)
            except OSError:
                pass  # the last writer has closed it
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield process, seen, lambda text: os.write(keyboard, text)
        finally:
            process.kill()
            process.wait()
            reader.join(PATIENCE)
            os.close(keyboard)

    @classmethod
    def sbatch(cls, *words, user=None, **options):
        """Submits on the login node; the job's id."""
        options["env"] = cls.environment | options.get("env", {})
        return cls.lab.sbatch(*words, user=user or cls.USER, **options)

    @classmethod
    def wait_for_job(cls, job, *states):
        """Until Slurm says that it is in one of them; returns the job's fields."""
        def reached():
            fields = cls.lab.job(job)
            return fields["JobState"] in (*states, *OVER) and fields
        fields = e2e.wait_until(reached, f"Slurm's job {job} was {states}")
        if fields["JobState"] not in states:
            raise AssertionError(f"Slurm's job {job} is {fields['JobState']}, reason {fields['Reason']}, exit {fields['ExitCode']}; "
                                 f"expected {states}")
        return fields

    # The end of an allocation.

    @classmethod
    def slurms_end(cls, job):
        """When Slurm will end it, in seconds since 1970."""
        [end] = cls.lab.run("login", ["squeue", "-h", "-j", str(job), "-o", "%e"], env={"SLURM_TIME_FORMAT": "%s"}, check=True).stdout.split()
        return int(end)

    @classmethod
    def set_limit(cls, job, minutes):
        cls.lab.lines("scontrol", "update", f"JobId={job}", f"TimeLimit={minutes}")
        return cls.slurms_end(job)

    @classmethod
    def leave(cls, job, minutes):
        """As set_limit, but counted from now: that many minutes are left, or up to one less."""
        [begin] = cls.lab.run("login", ["squeue", "-h", "-j", str(job), "-o", "%S"], env={"SLURM_TIME_FORMAT": "%s"}, check=True).stdout.split()
        return cls.set_limit(job, int(time.time() - int(begin)) // 60 + minutes)

    def wait_for_end(self, job, end):
        """Until the daemon knows that end, and says so."""
        def known():
            return seconds(self.records(job)[0].get("allocation_end_time", "1970-01-01T00:00:00Z")) == end
        e2e.wait_until(known, "the record had the new end")
        status = self.answer("status", "--server", f"lab-{job}")
        self.assertEqual(status["allocation"]["endTime"], end)

    # Daemons.

    @classmethod
    def serve(cls, *words, script="hotplated.sbatch", daemon=(), daemons=1, user=None, **options):
        """`sbatch WORDS SCRIPT --device cpu DAEMON` as it is in deploy/slurm; waits until it serves: (job, [record, ...])."""
        path = cls.lab.folder / "deploy" / "slurm" / script
        job = cls.sbatch(*words, path, "--device", "cpu", *daemon, user=user, **options)
        return job, cls.wait_for_records(job, daemons, user=user)

    @classmethod
    def submit(cls, *daemon, sbatch=(), script="", **options):
        """A job that is a daemon and nothing else, after those lines of shell; its output is in JOB.out (`output`)."""
        return cls.sbatch("-o", "%j.out", *sbatch, input=f"#!/bin/bash\n{script}\nexec hotplated --device cpu {shlex.join(daemon)}\n", **options)

    @classmethod
    def output(cls, job):
        return cls.read(f"{job}.out")

    @classmethod
    def records(cls, job, user=None):
        """What the daemons of that job have published, by node."""
        found = []
        for path in (cls.lab.home(user or cls.USER) / ".hotplate" / "servers").glob("*.json"):
            try:
                record = json.loads(path.read_text())
            except FileNotFoundError:
                continue  # withdrawn meanwhile
            if record.get("slurm_job_id") == str(job):
                found.append(record)
        return sorted(found, key=lambda record: record["endpoints"][0]["node"])

    @classmethod
    def wait_for_records(cls, job, daemons=1, user=None):
        def published():
            found = cls.records(job, user)
            if len(found) >= daemons:
                return found
            fields = cls.lab.job(job)
            # COMPLETING: also while it is requeued.
            if fields["JobState"] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
                outputs = "\n".join(cls.read(path.name, user) for path in cls.lab.home(user or cls.USER).glob(f"*{job}*.out"))
                raise AssertionError(f"Slurm's job {job} is {fields['JobState']}, exit {fields['ExitCode']}:\n{outputs}")
            return None
        return e2e.wait_until(published, f"Slurm's job {job} published {daemons} records")

    @classmethod
    def strays(cls, node):
        """What runs on the node besides Slurm's own daemon."""
        return {pid: words for pid, words in cls.lab.hosts[node].processes().items() if not words.startswith("slurmd ")}

    def no_process_left(self, *nodes):
        """Waits until nothing runs on the nodes that a job has brought there, whatever tells Slurm which processes are a job's."""
        wait_until(lambda: not any(self.strays(node) for node in nodes), f"no process was left on {nodes}")

    # Files in homes.

    @classmethod
    def put_file(cls, name, content):
        """bytes, as the user's own file."""
        cls.lab.run("login", ["sh", "-c", f"base64 -d >{shlex.quote(name)}"], input=base64.b64encode(content).decode(), check=True)

    @classmethod
    def read(cls, name, user=None):
        """A file in the user's home; "" while there is none."""
        path = cls.lab.home(user or cls.USER) / name
        return path.read_text(errors="replace") if path.exists() else ""


def main(accounting=False):
    """Runs the tests, or ends with SKIPPED and the reason where no lab can be. accounting: the file has a lab that needs it."""
    reason = labs.unavailable(accounting)
    if reason:
        print(f"Skipped: {reason}")
        sys.exit(SKIPPED)
    # So that a test that is told to end takes its lab down.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main(verbosity=2)
