#!/usr/bin/python3
"""The folder of the records (and of what is saved) on storage as it is on clusters: read-only on the node, full, over quota, slow,
or a server that hangs."""

import importlib.util
import json
import os
import pathlib
import shutil
import signal
import sys

import harness
from harness import npy, wait_until

RUN = ("run", "integrate2d", "--n", "1000")
CANNOT_START, NOT_WRITABLE = 4, 6
SLOW_FOLDER = pathlib.Path(__file__).resolve().with_name("slow_folder.py")
HOSTS = ("login", "gpu1")
MIB = 1 << 20


class Storage(harness.SlurmCase):
    # Slurm's own default: there is time for a daemon whose files are slow.
    OPTIONS = {"extra": "KillWait=30"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.put_file("a.npy", npy([1.5] * 131072))

    def setUp(self):
        self.place = self.lab.folder / "shared" / "place"
        self.place.mkdir(exist_ok=True)
        self.inside = {"HOTPLATE_DIR": str(self.place / "mine")}

    def tearDown(self):
        self.lab.end_jobs()

    def mount(self, options, host="gpu1"):
        """mount OPTIONS, there and for this test."""
        self.lab.hosts[host].run(f"mount {options} {self.place}")
        self.addCleanup(self.lab.hosts[host].run, f"umount -l {self.place}")

    def does_not_start(self, status, *says):
        job = self.submit(sbatch=["-w", "gpu1"], env=self.inside)
        self.assertEqual(self.wait_for_job(job, "FAILED")["ExitCode"], f"{status}:0", self.output(job))
        for text in (str(self.place), *says, "HOTPLATE_DIR"):
            self.assertIn(text, self.output(job))

    def servers(self):
        """The names of the records there, as the login node sees them."""
        listed = self.lab.run("login", ["ls", f"{self.inside['HOTPLATE_DIR']}/servers"]).stdout.split()
        return [name for name in listed if name.endswith(".json")]

    def serving(self, *daemon):
        """A daemon on gpu1 with its folder in the place: its job."""
        job = self.submit(*daemon, sbatch=["-w", "gpu1"], env=self.inside)
        wait_until(lambda: self.servers() or self.lab.state(job) in harness.OVER, "the daemon published its record")
        self.assertEqual(self.servers(), [f"lab-{job}.json"], self.output(job))
        return job

    def test_read_only(self):
        self.mount("-t tmpfs -o mode=1777,ro place")
        self.does_not_start(NOT_WRITABLE, "Read-only file system")

    def test_full(self):
        self.mount("-t tmpfs -o mode=1777,size=4k place")
        self.does_not_start(CANNOT_START, "No space left on device")

    def test_another_place_where_this_one_is_of_no_use(self):
        elsewhere = {"HOTPLATE_DIR": str(self.folder / "elsewhere")}
        self.mount("-t tmpfs -o mode=1777,ro place")
        job = self.submit(sbatch=["-w", "gpu1"], env=elsewhere)
        wait_until(lambda: (self.folder / "elsewhere" / "servers" / f"lab-{job}.json").exists(), "the record was elsewhere")
        self.hotplate(*RUN, env=elsewhere)

    # Over quota: the kernel's own, of a btrfs.

    def limit(self, size):
        """The place becomes a folder of alice's that may hold so much."""
        if not shutil.which("mkfs.btrfs", path=harness.labs.PATH):
            self.skipTest("there is no mkfs.btrfs; deploy/install-deps.sh --slurm installs it")
        if "btrfs" not in pathlib.Path("/proc/filesystems").read_text().split():
            self.skipTest("this machine's kernel has no btrfs, whose quotas this needs")
        image = self.lab.folder / f"{self.id()}.img"
        with open(image, "wb") as file:
            file.truncate(128 * MIB)
        self.addCleanup(image.unlink)
        self.lab.hosts["gpu1"].run(f"mkfs.btrfs --quiet --mixed --metadata single --data single {image}")
        for host in HOSTS:
            self.mount(f"-o loop {image}", host)
        alice = harness.labs.USERS["alice"]
        # All inside a subvolume that is seen in the place of the whole.
        self.lab.hosts["gpu1"].run(f"cd {self.place} && btrfs quota enable . && btrfs subvolume create hers && chown {alice}:{alice} hers && "
                                   f"btrfs qgroup limit {size} hers")
        self.inside = {"HOTPLATE_DIR": str(self.place / "hers" / "mine")}

    def fill(self):
        """Until nothing more can be written there."""
        fill = "umask 077; n=0; while head -c 4096 /dev/zero >fill$n; do n=$((n + 1)); done"
        done = self.lab.run("gpu1", ["sh", "-c", fill], cwd=self.place / "hers")
        self.assertIn("Disk quota exceeded", done.stderr)

    def test_over_quota(self):
        self.limit("256K")
        self.fill()
        self.does_not_start(CANNOT_START, "Disk quota exceeded")

    def test_the_quota_is_reached_while_it_serves(self):
        self.limit("1M")
        job = self.serving()
        self.fill()
        self.hotplate(*RUN, env=self.inside)
        # A megabyte, which will not find room.
        self.hotplate("put", "a.npy", "--name", "leased", "--lease", "1h", env=self.inside)
        self.hotplate("down", env=self.inside)
        self.wait_for_job(job, "COMPLETED")
        self.assertIn("array leased (a1) is not saved", self.output(job))
        self.assertIn("Disk quota exceeded", self.output(job))
        self.assertEqual(self.servers(), [])

    def test_saved_arrays_leave_half_of_what_is_free(self):
        elsewhere = {"HOTPLATE_DIR": str(self.folder / "roomy")}
        self.mount("-t tmpfs -o mode=1777,size=3m place")  # half has room for one of them
        job = self.submit("--scratch", str(self.place / "saved"), sbatch=["-w", "gpu1"], env=elsewhere)
        wait_until(lambda: (self.folder / "roomy" / "servers" / f"lab-{job}.json").exists(), "the record was there")
        for name in ("one", "two"):  # a megabyte each
            self.hotplate("put", "a.npy", "--name", name, "--lease", "1h", env=elsewhere)
        def at_stake():
            return json.loads(self.hotplate("status", "--json", env=elsewhere))["atStake"]
        wait_until(lambda: "two" in at_stake(), "the daemon says what will not fit")
        self.assertNotIn("one", at_stake())
        self.lab.run("login", ["scancel", job], check=True)
        self.wait_for_job(job, "CANCELLED")
        self.assertIn("array one (a1) is saved", self.output(job))
        self.assertIn("array two (a2) is not saved: it has 1.0 MB; saved arrays take at most half of the", self.output(job))

    # Slow.

    def slow(self, seconds):
        """The place is seen through slow_folder.py; the processes that show it, by host."""
        if not importlib.util.find_spec("fusepy"):
            self.skipTest("there is no Python module fusepy; deploy/install-deps.sh --slurm installs it")
        if not pathlib.Path("/dev/fuse").exists():
            self.skipTest("this machine has no /dev/fuse, which slow folders are made with")
        source = self.lab.folder / "shared" / self.id().rsplit(".", 1)[-1]
        source.mkdir()
        source.chmod(0o1777)
        shown = {}
        for host in HOSTS:
            shown[host] = self.lab.start(host, [sys.executable, "-B", SLOW_FOLDER, source, self.place, seconds], user="root",
                                         stdout=None, stderr=None, env={"PATH": harness.labs.PATH})
            self.processes.append(shown[host])
            self.addCleanup(shown[host].terminate)
            self.addCleanup(self.lab.hosts[host].run, f"umount -l {self.place}")
            mounted = ["mountpoint", "-q", self.place]
            wait_until(lambda: self.lab.run(host, mounted, user="root").returncode == 0 or shown[host].poll() is not None, "it was mounted")
            self.assertIsNone(shown[host].poll(), "slow_folder.py has ended")
        return shown

    def test_slow(self):
        self.slow(0.02)
        job = self.serving()
        self.hotplate("status", env=self.inside, says=f"lab-{job}")
        self.hotplate(*RUN, env=self.inside)
        self.hotplate("put", "a.npy", "--name", "leased", "--lease", "1h", env=self.inside)
        # It has saved the array there, and withdrawn its record, before Slurm would kill it.
        self.lab.run("login", ["scancel", job], check=True)
        self.wait_for_job(job, "CANCELLED")
        self.assertEqual(self.servers(), [], self.output(job))
        self.assertIn("array leased (a1) is saved", self.output(job))
        self.assertIn("stopped", self.output(job))

    def test_the_server_hangs(self):
        shown = self.slow(0)
        job = self.serving()
        self.hotplate(*RUN, env=self.inside)
        os.kill(shown["gpu1"].pid, signal.SIGSTOP)
        self.addCleanup(os.kill, shown["gpu1"].pid, signal.SIGCONT)
        # What it has in memory is enough to work.
        self.hotplate(*RUN, env=self.inside)
        self.lab.run("login", ["scancel", job], check=True)
        self.lab.end_jobs()  # until nothing of it is left
        fields = self.lab.job(job)
        # Not killed: that would be 0:9.
        self.assertEqual((fields["JobState"], fields["ExitCode"]), ("CANCELLED", "0:0"), self.output(job))
        self.assertFalse([words for words in self.strays("gpu1").values() if "hotplated" in words])


if __name__ == "__main__":
    harness.main()
