"""Hosts made of namespaces: each has a name, network, mounts and process ids of its own, all are on one Ethernet.

A host lives as long as its first process, and that is killed when the process that made the host ends, however it ends.
The kernel then kills whatever runs on the host and takes its network and mounts away: they have no name on the machine
under which something could be left behind.
"""

import contextlib
import ctypes
import os
import signal
import subprocess

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
CLONE_NEWCGROUP = 0x2000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
# The mounts come last: after them /proc is another one.
KINDS = {"net": CLONE_NEWNET, "uts": CLONE_NEWUTS, "ipc": CLONE_NEWIPC, "mnt": CLONE_NEWNS}
# For a host's first process to be gone with all that it takes along.
GONE = 30

libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")


def take_mounts_along():
    """A mount namespace of this process's own, of which nothing gets out, with the root that it sees now.

    Who enters a mount namespace gets the namespace's root. In a chroot that is another one than the process's, so what the
    process sees is put over it, to be what all see who enter."""
    call(libc.unshare, CLONE_NEWNS)
    own = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    seen = os.open("/", os.O_PATH)
    call(libc.setns, own, CLONE_NEWNS)
    call(libc.mount, None, b"/", None, MS_REC | MS_PRIVATE, None)
    if not os.path.samestat(os.stat(seen), os.stat("/")):
        os.fchdir(seen)
        call(libc.mount, b".", b"/", None, MS_BIND | MS_REC, None)
        call(libc.setns, own, CLONE_NEWNS)
    os.close(seen)
    os.close(own)


@contextlib.contextmanager
def children_in(descriptor=None):
    """What this thread starts meanwhile gets its process id in that namespace; without one in a new one, as its first."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        if descriptor is None:
            call(libc.unshare, CLONE_NEWPID)
        else:
            call(libc.setns, descriptor, CLONE_NEWPID)
        yield
    finally:
        call(libc.setns, own, CLONE_NEWPID)
        os.close(own)


class Host:
    """Needs root. `pid`: the first process of a host that somebody else keeps. `groups`: control groups, [(the root of all that
    the host sees, where its processes are put)]."""

    def __init__(self, name, pid=None, groups=()):
        self.name = name
        self.groups = groups
        self.first = None
        self.started = []
        if pid is None:
            with children_in():
                # It ignores SIGCHLD, so that what is left to it never stays a zombie.
                self.first = subprocess.Popen(["sleep", "infinity"], preexec_fn=self._leave, start_new_session=True,
                                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            pid = self.first.pid
        self.pid = pid
        self.namespaces = {kind: os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in (*KINDS, "cgroup", "pid")}
        self.process_ids = os.readlink(f"/proc/{pid}/ns/pid")
        if self.first:
            self.run("mount -t proc proc /proc && hostname " + name)

    def _join(self, which):
        for place in self.groups:
            (place[which] / "cgroup.procs").write_text("0")

    def _leave(self):
        call(libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if self.groups:
            self._join(0)
            call(libc.unshare, CLONE_NEWCGROUP)
            self._join(1)
        call(libc.unshare, CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET)
        take_mounts_along()

    def start(self, words, uid=0, gid=0, cwd="/", **options):
        """subprocess.Popen on this host; its `pid` is as this machine sees it, so signals reach the command itself."""
        def enter():
            self._join(1)
            call(libc.setns, self.namespaces["cgroup"], CLONE_NEWCGROUP)
            for kind, flag in KINDS.items():
                call(libc.setns, self.namespaces[kind], flag)
            if uid or gid:
                os.setgroups([])
                os.setgid(gid)
                os.setuid(uid)
            os.chdir(cwd)
            # What runs in the background of a script has Ctrl-C ignored from its birth on; nobody logs in like that.
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
        with children_in(self.namespaces["pid"]):
            process = subprocess.Popen(words, preexec_fn=enter, **options)
        self.started = [earlier for earlier in self.started if earlier.poll() is None] + [process]
        return process

    def run(self, script):
        """A line of shell as root, which must not fail."""
        process = self.start(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        out, _ = process.communicate(timeout=GONE)
        if process.returncode != 0:
            raise RuntimeError(f"on {self.name}: {script}: exit {process.returncode}: {out.strip()}")

    def processes(self):
        """{process id as this machine sees it: command line} of all that runs on the host but its first process."""
        found = {}
        for entry in os.listdir("/proc"):
            # A process that ends meanwhile is none.
            with contextlib.suppress(OSError):
                if entry.isdigit() and int(entry) != self.pid and os.readlink(f"/proc/{entry}/ns/pid") == self.process_ids:
                    with open(f"/proc/{entry}/cmdline", "rb") as line:
                        words = line.read().split(b"\0")
                    if any(words):  # a zombie has none
                        found[int(entry)] = b" ".join(words).decode(errors="replace").strip()
        return found

    def kill(self):
        if self.first:
            self.first.kill()

    def close(self):
        if self.first:
            self.kill()
            # It is gone when all others on the host are, and nobody else waits for those that were started from here.
            for process in [*self.started, self.first]:
                process.wait(GONE)
        for descriptor in self.namespaces.values():
            os.close(descriptor)
        self.namespaces = {}


class Ethernet:
    """A switch (a host of its own, with a bridge) and the hosts that are plugged in."""

    def __init__(self):
        self.switch = Host("switch")
        self.switch.run("ip link add bridge type bridge && ip link set bridge up")

    def plug_in(self, host, address):
        subprocess.run(["ip", "link", "add", "eth0", "netns", str(host.pid), "type", "veth",
                        "peer", "name", self.port(host), "netns", str(self.switch.pid)], check=True, timeout=GONE)
        host.run(f"ip link set lo up && ip address add {address} dev eth0 && ip link set eth0 up")
        self.switch.run(f"ip link set {self.port(host)} master bridge && ip link set {self.port(host)} up")

    def set_link(self, host, up):
        self.switch.run(f"ip link set {self.port(host)} {'up' if up else 'down'}")

    @staticmethod
    def port(host):
        return f"to-{host.name}"

    def close(self):
        self.switch.close()
