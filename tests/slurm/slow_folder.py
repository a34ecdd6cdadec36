#!/usr/bin/python3
"""What is in one folder, seen at another place as over a slow network: each question waits for its answer.

    slow_folder.py SOURCE PLACE SECONDS

Mounts it (FUSE, needs root) and serves until it is told to end. Nothing is kept, so that several hosts may see the same SOURCE.
SIGSTOP makes it a file system that hangs."""

import errno
import os
import sys
import time

import fusepy

ATTRIBUTES = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid", "st_blocks")
SPACE = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize", "f_namemax")


class SlowFolder(fusepy.Operations):
    def __init__(self, source, seconds):
        self.source, self.seconds = source, seconds

    def __call__(self, operation, path, *arguments):
        time.sleep(self.seconds)
        try:
            return getattr(self, operation)(path and self.source + path, *arguments)
        except OSError as error:
            raise fusepy.FuseOSError(error.errno or errno.EIO) from error

    def init(self, _):
        pass

    def destroy(self, _):
        pass

    @staticmethod
    def give(path):
        """To the user who asked for it: this process is root."""
        uid, gid, _ = fusepy.fuse_get_context()
        os.chown(path, uid, gid, follow_symlinks=False)

    # By path.

    def getattr(self, path, handle=None):
        facts = os.lstat(path) if handle is None else os.fstat(handle)
        return {name: getattr(facts, name) for name in ATTRIBUTES}

    def statfs(self, path):
        facts = os.statvfs(path)
        return {name: getattr(facts, name) for name in SPACE}

    def readdir(self, path, _):
        return [".", "..", *os.listdir(path)]

    def readlink(self, path):
        return os.readlink(path)

    def mkdir(self, path, mode):
        os.mkdir(path, mode)
        self.give(path)

    def rmdir(self, path):
        os.rmdir(path)

    def unlink(self, path):
        os.unlink(path)

    def symlink(self, path, target):
        os.symlink(target, path)
        self.give(path)

    def link(self, path, existing):
        os.link(self.source + existing, path)

    def rename(self, path, target):
        os.rename(path, self.source + target)

    def chmod(self, path, mode):
        os.chmod(path, mode)

    def chown(self, path, uid, gid):
        os.chown(path, uid, gid, follow_symlinks=False)

    def utimens(self, path, times=None):
        os.utime(path, times)

    def truncate(self, path, length, handle=None):
        os.truncate(path if handle is None else handle, length)

    # By handle.

    def open(self, path, flags):
        return os.open(path, flags & ~os.O_NOFOLLOW)

    def create(self, path, mode, handle=None):
        made = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        self.give(path)
        return made

    def read(self, _, size, offset, handle):
        return os.pread(handle, size, offset)

    def write(self, _, data, offset, handle):
        return os.pwrite(handle, data, offset)

    # The kernel would wait for the answer whatever happens: a process whose files hang could not even be killed.
    flush = None

    def fsync(self, _, only_data, handle):
        os.fsync(handle)

    def release(self, _, handle):
        os.close(handle)


if __name__ == "__main__":
    source, place, seconds = sys.argv[1:]
    os.umask(0)  # the users' own have been applied
    fusepy.FUSE(SlowFolder(source, float(seconds)), place, foreground=True, allow_other=True, default_permissions=True,
                direct_io=True, big_writes=True, attr_timeout=0, entry_timeout=0, fsname="slow")
