"""A daemon on a small disk: when it is full, submitted jobs are refused by name, attached ones go on, and none that
was acknowledged is lost, also by a daemon that starts on the full disk. When there is room again, jobs are taken again.

The disk is a file system in memory, in a mount namespace of this program's own; without the right to make one it is skipped."""

import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np
from known_jobs import Request, small
from lives import OK, TRY_LATER, Home, Life, hotplate, wait_until

DISK = "80m"
FILLER = 24 << 20
SPARE = 16 << 20
MOST = 5000  # jobs: many more than there is room for
SKIPPED = 77


class SmallDisk(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        self.home.directory.mkdir(mode=0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "tmpfs", self.home.directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.home.directory], check=True)
        self.filler = self.home.directory / "filler"
        self.filler.write_bytes(bytes(FILLER))
        self.spare = self.home.directory / "spare"  # for the journal's log, and a daemon's own records, without which it does not start
        self.spare.write_bytes(bytes(SPARE))
        self.home.start()
        self.life = Life(self.home)
        self.requests = []

    def submit(self):
        """True: it is acknowledged."""
        request = Request(5, len(self.requests), {small: 1})
        try:
            request.submit(self.life)
        except hotplate.Error as error:
            self.refusal = str(error)
            return False
        self.requests.append(request)
        return True

    def fill(self):
        while self.submit():
            self.assertLess(len(self.requests), MOST, "the disk was never full")

    def check_all(self):
        """Each job completes once, with the right result."""
        self.assertEqual(len({job for request in self.requests for job in request.jobs}), len(self.requests))
        for request in self.requests:
            job, = request.jobs
            self.life.client._core.wait(job)
            self.assertEqual(request.compare(self.life, job), "", request)

    def attached_goes_on(self):
        values = np.arange(10.0)
        np.testing.assert_array_equal(self.life.client.vector_add(values, values), 2 * values)

    def restart(self):
        self.life.kill()
        self.life.client.close()
        self.spare.unlink()
        self.home.start()
        self.life = Life(self.home)

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.fill()
        self.assertIn("detached jobs are not taken now", self.refusal)
        self.assertIn(str(self.home.directory), self.refusal)
        self.attached_goes_on()
        self.filler.unlink()
        wait_until(self.submit, "jobs were taken again")
        self.check_all()
        self.fill()
        self.restart()
        self.attached_goes_on()
        self.check_all()

    def test_a_daemon_that_starts_on_a_full_disk(self):
        self.fill()
        self.life.kill()
        self.life.client.close()
        # Not a byte is left, so that the next one may not even be able to say that it is there.
        rest = self.home.directory / "rest"
        with rest.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError as error:
                self.assertIn("No space left", str(error))
        self.home.launch()
        try:
            wait_until(self.home.published, "hotplated published its record, or ended with the reason")
        except AssertionError as error:
            self.assertIn("No space left", str(error) + self.home.log.read_text())
        else:
            code, out, err = self.home.command("submit", "integrate2d", "--n", "10")
            self.assertEqual(code, TRY_LATER, out + err)
            self.home.kill()
        rest.unlink()
        self.filler.unlink()
        self.home.start()
        self.life = Life(self.home)
        self.assertTrue(self.submit(), getattr(self, "refusal", ""))
        self.check_all()
        code, out, err = self.home.command("journal", "verify")
        self.assertEqual(code, OK, out + err)


def main():
    if "SMALL_DISK_OWN_MOUNTS" in os.environ:
        return unittest.main(verbosity=2)
    can = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if can.returncode != 0:
        print(f"skipped: a mount namespace of its own is needed: {can.stderr.strip()}")
        sys.exit(SKIPPED)
    os.environ["SMALL_DISK_OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "--mount", sys.executable, "-B", str(pathlib.Path(__file__).resolve()), *sys.argv[1:]])


if __name__ == "__main__":
    main()
