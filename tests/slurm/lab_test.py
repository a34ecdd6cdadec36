#!/usr/bin/python3
"""The lab itself: that it is what the other tests take it for, and that it leaves nothing behind, however it ends."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

import control_groups
import harness
import lab as labs
from harness import PATIENCE, wait_until

HERE = pathlib.Path(__file__).resolve().parent
# Brings a lab up, starts a job in it, prints its folder and waits.
KEEP = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background is born without
import lab
with lab.Lab() as cluster:
    job = cluster.sbatch("--gres=gpu:1", "--wrap", "sleep 600 & sleep 600")
    while cluster.state(job) != "RUNNING":
        time.sleep(0.02)
    print(cluster.folder, *[host.pid for host in cluster.hosts.values()], flush=True)
    if sys.argv[2] == "raise":
        raise RuntimeError("as asked")
    time.sleep(600)
"""


class Cluster(harness.SlurmCase):
    def tearDown(self):
        self.lab.end_jobs()

    def test_the_forms_of_asking_for_gpus(self):
        for words, nodes in ((["--gres=gpu:1"], ("gpu1", "gpu2")), (["--gpus=1", "-C", "a100"], ("gpu1",)), (["--gpus=1", "-C", "l40s"], ("gpu2",)),
                             (["--gpus=a100:2"], ("gpu1",)), (["-N2", "--gpus-per-node=1"], ("gpu[1-2]",))):
            with self.subTest(words=words):
                job = self.sbatch(*words, "--wrap", "true")
                self.assertIn(self.wait_for_job(job, "COMPLETED")["NodeList"], nodes)

    def test_users_are_the_labs_alone(self):
        self.assertEqual(self.lab.run("gpu1", ["id", "-un"], user="bob").stdout, "bob\n")
        self.assertNotIn("alice", pathlib.Path("/etc/passwd").read_text())
        (self.lab.home("alice") / "file").write_text("hers")
        self.assertNotEqual(self.lab.run("login", ["cat", self.lab.home("alice") / "file"], user="bob").returncode, 0)

    def test_the_cable_of_a_node(self):
        ping = "import socket; socket.create_connection(('gpu2', 6818), 1)"
        self.assertEqual(self.lab.run("login", ["python3", "-c", ping]).returncode, 0)
        self.lab.cut("gpu2")
        self.assertNotEqual(self.lab.run("login", ["python3", "-c", ping]).returncode, 0)
        self.lab.mend("gpu2")
        wait_until(lambda: self.lab.run("login", ["python3", "-c", ping]).returncode == 0, "gpu2 was on the network again")

    def test_a_requeued_job_starts_again_soon(self):
        job = self.sbatch("--requeue", "-o", "requeued.out", "--open-mode=append", "--wrap", "echo restarts: ${SLURM_RESTART_COUNT-none}; sleep 600")
        wait_until(lambda: "none" in self.read("requeued.out"), "the job ran")
        self.lab.requeue(job)
        wait_until(lambda: "restarts: 1" in self.read("requeued.out"), "the job ran again")

    def test_the_controller_forgets_nothing(self):
        job = self.sbatch("--wrap", "sleep 600")
        self.wait_for_job(job, "RUNNING")
        self.lab.restart_controller()
        self.assertEqual(self.lab.state(job), "RUNNING")


class Ends(unittest.TestCase):
    """A lab in a program of its own, which ends in different ways."""

    def setUp(self):
        self.groups = {}  # of each lab, by its folder

    def keep(self, how="wait"):
        process = subprocess.Popen([sys.executable, "-B", "-c", KEEP, str(HERE), how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        folder, *pids = process.stdout.readline().split()
        self.groups[pathlib.Path(folder)] = control_groups.noted(pathlib.Path(folder))
        namespaces = []
        for pid in pids:
            try:
                # Open, so that no other lab's gets its number once it is gone.
                namespace = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY)
            except OSError:
                continue  # it is down already
            self.addCleanup(os.close, namespace)
            namespaces.append(os.readlink(f"/proc/self/fd/{namespace}"))
        return process, pathlib.Path(folder), namespaces

    def left(self, folder, namespaces=()):
        """What there still is of that lab."""
        found = [str(path) for path in (folder, *self.groups[folder]) if path.exists()]
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns" / "pid") in namespaces:
                    found.append(f"{entry}: {(entry / 'cmdline').read_text()}")
            except OSError:
                continue
        return found

    def test_by_an_exception(self):
        process, folder, namespaces = self.keep("raise")
        self.assertEqual(process.wait(PATIENCE), 1)
        self.assertEqual(self.left(folder, namespaces), [])

    def test_by_interrupt(self):
        process, folder, namespaces = self.keep()
        self.assertNotEqual(self.left(folder, namespaces), [])
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        self.assertEqual(self.left(folder, namespaces), [])

    def test_killed_ones_are_swept(self):
        killed = [self.keep() for _ in range(2)]
        for process, _, _ in killed:
            process.kill()
            process.wait(PATIENCE)
        for _, folder, namespaces in killed:
            wait_until(lambda: not [name for name in self.left(folder, namespaces) if name.startswith("/proc")], "its processes were gone")
        with labs.Lab() as lab:
            job = lab.sbatch("--wrap", "true")
            wait_until(lambda: lab.state(job) == "COMPLETED", "the next lab's job ran")
            for _, folder, _ in killed:
                # By this lab, or by one of another program that has come up meanwhile.
                wait_until(lambda folder=folder: not self.left(folder), f"{folder} was swept")


if __name__ == "__main__":
    harness.main()
