#!/usr/bin/python3
"""A daemon started with nothing but sbatch: deploy/slurm/*.sbatch, and what a user on the login node sees of it."""

import harness
from harness import LONG_JOB, NO_DAEMON, wait_until

RUN = ("run", "integrate2d", "--n", "1000")


class Sbatch(harness.SlurmCase):
    def tearDown(self):
        self.lab.end_jobs()

    def test_from_the_login_node_and_back(self):
        job, [record] = self.serve()
        self.assertEqual(record["name"], f"lab-{job}")
        self.assertEqual(record["cluster"], "lab")
        self.assertIn(record["endpoints"][0]["address"], ("10.77.0.11", "10.77.0.12"))
        status = self.answer("status")
        self.assertEqual(status["name"], f"lab-{job}")
        self.assertIn("value", self.hotplate(*RUN))
        self.assertIn("serving", self.hotplate("logs"))
        self.hotplate("down", says=f"job {job} was not submitted by hotplate up and ends with its script")
        self.assertEqual(self.wait_for_job(job, "COMPLETED")["ExitCode"], "0:0")
        self.assertEqual(self.records(job), [])
        self.hotplate(*RUN, code=NO_DAEMON)
        self.assertIn("stopped", self.read(f"hotplated-{job}.out"))

    def test_the_forms_of_asking_for_a_gpu(self):
        for words, nodes in ((["--gres=gpu:1"], ("gpu1", "gpu2")), (["--gpus=1", "-C", "l40s"], ("gpu2",)),
                             (["--gpus=1", "-C", "a100"], ("gpu1",)), (["--gpus-per-task=1"], ("gpu1", "gpu2"))):
            with self.subTest(words=words):
                job, [record] = self.serve(*words)
                self.assertIn(record["endpoints"][0]["node"], nodes)
                self.hotplate(*RUN, "--server", record["name"])
                self.hotplate("down", "--server", record["name"])
                self.wait_for_job(job, "COMPLETED")

    def test_a_second_daemon_on_the_node_has_its_own_port_and_gpu(self):
        both = [self.serve("-w", "gpu1", "--gres=gpu:1") for _ in range(2)]
        names = [record["name"] for _, [record] in both]
        ports = [record["endpoints"][0]["port"] for _, [record] in both]
        self.assertNotEqual(*names)
        self.assertNotEqual(*ports)
        for name in names:
            self.assertEqual(self.answer("status", "--server", name)["name"], name)
            self.hotplate(*RUN, "--server", name)
        if not self.lab.cgroups:
            self.skipTest("this machine has no control groups for devices that Slurm 22.05 can use")
        for index, (job, _) in enumerate(both):
            said = self.lab.run("login", ["srun", f"--jobid={job}", "--overlap", "cat", *self.lab.devices("gpu1")]).stderr
            own, other = self.lab.devices("gpu1")[index], self.lab.devices("gpu1")[1 - index]
            self.assertIn(f"{own}: No such device or address", said)
            self.assertIn(f"{other}: Operation not permitted", said)

    def test_words_after_the_script_are_the_daemons(self):
        job, _ = self.serve(daemon=["--idle-timeout", "10s"])
        self.wait_for_job(job, "COMPLETED")
        self.assertEqual(self.records(job), [])

    def test_who_asks_for_gpus_is_not_served_by_the_cpu(self):
        """The lab's GPUs have no driver."""
        for script, nodes in (("hotplated.sbatch", [""]), ("hotplated-multinode.sbatch", ["-gpu1", "-gpu2"])):
            with self.subTest(script=script):
                path = self.lab.folder / "deploy" / "slurm" / script
                job = self.sbatch(path, "--lanes", "1")
                self.wait_for_job(job, "FAILED")
                for node in nodes:
                    self.assertIn("no usable CUDA device", self.read(f"hotplated-{job}{node}.out"))
                self.assertEqual(self.records(job), [])
                # Who says so is.
                job = self.sbatch(path, "--lanes", "1", "--device=auto")
                for record in self.wait_for_records(job, len(nodes)):
                    self.hotplate(*RUN, "--server", record["name"])
                self.lab.lines("scancel", job)

    def test_where_the_daemon_is_found(self):
        without = {"PATH": harness.labs.PATH}
        script = self.lab.folder / "deploy" / "slurm" / "hotplated.sbatch"
        job = self.sbatch(script, "--device", "cpu", env=without)
        self.assertEqual(self.wait_for_job(job, "FAILED", "COMPLETED")["ExitCode"], "127:0")
        self.assertIn("HOTPLATED=", self.read(f"hotplated-{job}.out"))

        daemon = self.lab.folder / "bin" / "hotplated"
        job, _ = self.serve(env=without | {"HOTPLATED": str(daemon)})
        self.lab.lines("scancel", job)

        # As installed: the script below share, the program beside it in bin.
        installed = self.folder / "opt"
        self.lab.run("login", ["sh", "-c", f"mkdir -p {installed}/share/hotplate/slurm {installed}/bin && ln -s {daemon} {installed}/bin/"
                                           f" && cp {script} {installed}/share/hotplate/slurm/"], check=True)
        job = self.sbatch(installed / "share/hotplate/slurm/hotplated.sbatch", "--device", "cpu", env=without)
        self.wait_for_records(job)

    def test_one_daemon_on_each_node(self):
        job, records = self.serve(script="hotplated-multinode.sbatch", daemons=2)
        self.assertEqual([record["name"] for record in records], [f"lab-{job}-gpu1", f"lab-{job}-gpu2"])
        for record in records:
            self.hotplate(*RUN, "--server", record["name"])
        # One that ends leaves the other alone.
        self.hotplate("down", "--server", records[0]["name"])
        wait_until(lambda: len(self.records(job)) == 1, "the first had ended")
        self.hotplate(*RUN, "--server", records[1]["name"])
        self.assertEqual(self.lab.state(job), "RUNNING")
        self.hotplate("down", "--server", records[1]["name"])
        self.wait_for_job(job, "COMPLETED")

    def test_several_nodes_hear_of_the_term_to_the_batch_shell(self):
        job, records = self.serve(script="hotplated-multinode.sbatch", daemons=2, daemon=["--drain-timeout", "1s"])
        # One has something to do, so that the shell waits on after its trap.
        self.hotplate("submit", *LONG_JOB, "--server", records[0]["name"])
        self.lab.lines("scancel", "--batch", "--signal=TERM", job)
        self.wait_for_job(job, "COMPLETED")
        self.assertEqual(self.records(job), [])
        for node in ("gpu1", "gpu2"):
            self.assertIn("stopped", self.read(f"hotplated-{job}-{node}.out"))


if __name__ == "__main__":
    harness.main()
