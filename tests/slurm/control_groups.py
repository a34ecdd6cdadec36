"""Control groups for a lab: by them Slurm knows which processes are a job's, which devices they may open, and how much memory
they may have. Both versions of the kernel's, as far as the machine has them; a lab has one. Its groups are below the one that
this process is in, and go with the lab.

Where a machine has both, Slurm takes version 2 for unusable: it looks whether a process is in groups of the other. Such a
machine's slurmd is shown a /proc/PID/cgroup without those (only_version_2.cpp).
"""

import os
import pathlib
import time

MOUNT = pathlib.Path("/sys/fs/cgroup")
# Of version 2, on a machine that has both.
MOUNT_BESIDE = MOUNT / "unified"
CONTROLLERS = ("freezer", "devices", "memory", "cpuset")
# In a lab's folder, while it has groups: where they are.
NOTE = "control-groups"
PATIENCE = 60


def _own(mount, controller=""):
    """The folder of this process's group. In a container its path may be one that does not exist below the mount."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            folder = mount / path.lstrip("/")
            return folder if folder.is_dir() else mount
    return mount


def _writable(folder):
    return os.access(folder / "cgroup.procs", os.W_OK)


class Version1:
    """One hierarchy for each controller. All hosts share the lab's groups: Slurm adds the node's name."""

    number = 1
    preload = None

    def __init__(self, name):
        self.name = name
        self.parents = {controller: _own(MOUNT / controller, controller) for controller in CONTROLLERS}
        self.tops = [parent / name for parent in self.parents.values()]

    def why_not(self):
        missing = [controller for controller, parent in self.parents.items() if not _writable(parent)]
        return f"this machine has no control groups of version 1 for {', '.join(missing)}" if missing else None

    def make(self, _):
        for parent, top in zip(self.parents.values(), self.tops):
            top.mkdir()
            # A new one has no processors, and takes no process then.
            for name in ("cpuset.mems", "cpuset.cpus"):
                if (top / name).exists():
                    (top / name).write_text((parent / name).read_text())

    def places(self, _):
        """What a host's processes are put into: [(the root of all that they see, their own group)]."""
        return [(top, top) for top in self.tops]

    def show(self, host):
        """As the host sees them, where Slurm looks."""
        host.run(" && ".join(f"mount --bind '{parent / self.name}' '{MOUNT / controller}'" for controller, parent in self.parents.items()))


class Version2:
    """One hierarchy. Each host has a group that is the root to it, and is in `init` of that, as with systemd."""

    number = 2

    def __init__(self, name):
        beside = _writable(MOUNT_BESIDE)
        self.parent = _own(MOUNT_BESIDE if beside else MOUNT)
        self.tops = [self.parent / name]
        self.preload = os.environ.get("HOTPLATE_ONLY_VERSION_2") if beside else None
        self.needs_preload = beside

    def why_not(self):
        if not _writable(self.parent) or not (self.parent / "cgroup.controllers").exists():
            return "this machine has no control groups of version 2"
        if self.needs_preload and not (self.preload and pathlib.Path(self.preload).exists()):
            return "this machine has control groups of both versions, and HOTPLATE_ONLY_VERSION_2 does not name only_version_2.so"
        return None

    def make(self, hosts):
        for host in hosts:
            # The parent of what Slurm makes.
            (self.tops[0] / host / "system.slice").mkdir(parents=True)
            (self.tops[0] / host / "init").mkdir()

    def places(self, host):
        return [(self.tops[0] / host, self.tops[0] / host / "init")]

    def show(self, host):
        host.run(f"mount -t cgroup2 none {MOUNT}")


def choose(name, version=None):
    """Of that version, or of the first that the machine has; None, if it has none."""
    for kind in (Version1, Version2):
        groups = kind(name)
        if version in (None, kind.number) and groups.why_not() is None:
            return groups
    return None


def note(groups, folder):
    (folder / NOTE).write_text("".join(f"{top}\n" for top in groups.tops))


def noted(folder):
    try:
        return [pathlib.Path(line) for line in (folder / NOTE).read_text().splitlines()]
    except OSError:
        return []


def thaw(tops):
    """Slurm freezes processes to kill them; when Slurm itself is killed meanwhile, those of version 1 do not even die of SIGKILL."""
    for top in tops:
        for state in top.glob("**/freezer.state"):
            try:
                state.write_text("THAWED")
            except OSError:
                continue  # gone meanwhile


def remove(tops):
    """Those of a lab without processes."""
    for top in tops:
        end = time.monotonic() + PATIENCE
        while top.exists() and time.monotonic() < end:
            for path, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    time.sleep(0.02)  # the last process has left it, but the kernel has not noticed yet
