#!/usr/bin/python3
"""A daemon that cannot read /proc, as in a chroot or a container without it."""

import ctypes
import os
import subprocess

import harness
from harness import TRY_LATER

LIBC = ctypes.CDLL(None, use_errno=True)


def hide_proc():
    """For Popen's preexec_fn: a mount namespace of its own, in which /proc is an empty folder."""
    new_mounts, recursive, private = 1 << 17, 1 << 14, 1 << 18  # CLONE_NEWNS, MS_REC, MS_PRIVATE
    for failed in (LIBC.unshare(new_mounts), LIBC.mount(None, b"/", None, recursive | private, None),
                   LIBC.mount(b"none", b"/proc", b"tmpfs", 0, None)):
        if failed:
            raise OSError(ctypes.get_errno(), "mount namespace")


def can_hide_proc():
    try:
        return subprocess.run(["test", "-e", "/proc/meminfo"], preexec_fn=hide_proc, check=False).returncode == 1
    except subprocess.SubprocessError:
        return False


class WithoutProc(harness.Case):
    def test_jobs_run_and_what_is_not_known_is_said(self):
        if not can_hide_proc():
            self.skipTest("no mount namespace of our own here (CAP_SYS_ADMIN): run it as root")
        self.start_daemon("--device", "auto", preexec_fn=hide_proc)
        status = self.answer("status")
        self.assertIn("/proc/meminfo cannot be read here", " ".join(status["deviceNotes"]))
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.assertEqual(int(status["devices"][-1]["memoryBytes"]), memory)
        self.assertGreater(int(status["limits"]["arrayBytes"]), memory // 2)
        self.hotplate("run", "arange", "--stop", "5", "-o", "x.npy")
        self.hotplate("run", "selu", "x.npy", "-o", "y.npy")
        self.hotplate("run", "selu", "path:x.npy", "-o", "y.npy", code=TRY_LATER, says="inputs by path need /proc")


if __name__ == "__main__":
    harness.main()
