#!/usr/bin/python3
"""Each site's script before a real Slurm that has the site's partitions and features, as far as two nodes of 16 cores and two
GPUs can have them. What is asked is `sbatch --test-only`, which runs the whole of Slurm's own check. LSF is not here: no test
has one."""

import harness

SITES = """
PartitionName=gpua100i Nodes=gpu1 MaxTime=7-0
PartitionName=gpua100 Nodes=gpu1 MaxTime=7-0 OverSubscribe=EXCLUSIVE
PartitionName=gpu_a100 Nodes=gpu1 MaxTime=5-0
PartitionName=scc-gpu Nodes=gpu1 MaxTime=2-0
"""


class SitesTest(harness.SlurmCase):
    OPTIONS = {"extra": SITES}

    def script(self, *words):
        return self.hotplate("up", "--dry-run", *words)

    def slurm_says(self, script, *words):
        """"" where Slurm takes it."""
        done = self.lab.run("login", ["sbatch", "--test-only", *words], user=self.USER, env=self.environment, input=script)
        return done.stderr if done.returncode != 0 else ""

    def assert_taken(self, script, *words):
        said = self.slurm_says(script, *words)
        self.assertEqual(said, "", f"{said}\n{script}")

    def test_any_cluster(self):
        self.assert_taken(self.script("--site", "generic-slurm", "--gpus", "2", "--time", "30m"))
        self.assert_taken(self.script("--site", "generic-slurm", "--gpus", "1", "--gpu-type", "l40s", "--partition", "gpu", "--cpus",
                                      "4", "--memory", "1G", "--exclusive", "--name", "morning", "--time", "1-00:00:00"))

    def test_types_by_feature(self):
        """HPC2N, where the system chooses the partition."""
        self.lab.lines("scontrol", "update", "NodeName=gpu1", "AvailableFeatures=a100,v100,nvidia_gpu")
        for gpu in ("l40s", "a100", "v100"):
            self.assert_taken(self.script("--site", "hpc2n", "-A", "hpc2n2024-142", "--gpus", "2", "--gpu-type", gpu, "--exclusive"))
        self.assert_taken(self.script("--site", "hpc2n", "-A", "hpc2n2024-142", "--gpus", "2", "--cpus", "16"))

    def test_partitions(self):
        self.assert_taken(self.script("--site", "lunarc-cosmos", "-A", "lu2024-2-88", "--gpus", "2"))
        self.assert_taken(self.script("--site", "lunarc-cosmos", "-A", "lu2024-2-88", "--partition", "gpua100"))
        self.assert_taken(self.script("--site", "surf-snellius", "--gpu-type", "a100", "--gpus", "2", "--time", "5-00:00:00"))
        self.assert_taken(self.script("--site", "gwdg-scc", "--gpu-type", "A100", "--gpus", "2", "--time", "48h").replace("A100", "a100"))
        self.assert_taken(self.script("--site", "gwdg-scc", "--gpus", "2"))

    def test_gpus_by_task(self):
        script = self.script("--site", "nsc-tetralith", "-A", "naiss2024-22-1493")
        self.assertIn("#SBATCH -c 32\n", script)
        self.assert_taken(script.replace("-c 32", "-c 16"))

    def test_another_cluster(self):
        """Snowy is named to sbatch, and there is none here: only that is wrong with it."""
        script = self.script("--site", "uppmax-snowy", "-A", "naiss2024-22-1442")
        self.assertIn("snowy", self.slurm_says(script))
        self.assert_taken(script.replace("#SBATCH -M snowy\n", ""))

    def test_the_check_can_fail(self):
        script = self.script("--site", "generic-slurm", "--gpus", "2")
        self.assertIn("unrecognized option", self.slurm_says(script.replace("--open-mode", "--open-mood")))
        self.assertNotEqual(self.slurm_says(script.replace("gpu:2", "gpu:3")), "")
        self.assertNotEqual(self.slurm_says(script, "-C", "h100"), "")


if __name__ == "__main__":
    harness.main()
