#!/usr/bin/python3
"""A Slurm cluster on this machine for tests: the real munged, slurmctld and slurmd (slurmdbd and MariaDB when asked for)
on a login node and two GPU nodes made of namespaces (hosts.py). Needs root and Slurm's packages.

    login   10.77.0.1   the controller; where users type
    gpu1    10.77.0.11  two fake A100s, feature a100
    gpu2    10.77.0.12  two fake L40S, feature l40s

The users alice and bob exist on these hosts only. All files are below one folder in /tmp, which every host sees: that is
the shared file system. KillWait is 5 s.

By hand:
    tests/slurm/lab.py shell [--user USER] [--accounting] [HOST]    bring it up, open a shell, take it down at its end
    tests/slurm/lab.py on [--user USER] HOST COMMAND ...            meanwhile, from another terminal
"""

import argparse
import atexit
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import configuration
import control_groups
import hosts

PREFIX = "hotplate-slurm-"
# The daemons, on a busy machine.
PATIENCE = 60
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "ip", "mount")
DATABASE_PROGRAMS = ("slurmdbd", "mariadbd", "mariadb-install-db")
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

ADDRESSES = configuration.ADDRESSES
NODES = configuration.NODES
USERS = configuration.USERS


def unavailable(accounting=False):
    """Why no lab can be here, or None."""
    if os.geteuid() != 0:
        return "a Slurm lab needs root (its hosts are made of namespaces)"
    for program in PROGRAMS + (DATABASE_PROGRAMS if accounting else ()):
        if not shutil.which(program, path=PATH):
            return f"there is no {program}; deploy/install-deps.sh --slurm installs it"
    try:
        with contextlib.closing(hosts.Host("trial")) as trial:
            trial.run("mount -t tmpfs trial /tmp && mknod /tmp/gpu c 195 200 && chown 61001 /tmp/gpu && "
                      "ip link add bridge type bridge && ip link add one type veth peer name other")
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return f"this machine refuses what hosts are made of: {error}"
    return None


class Lab:
    """with Lab() as lab: lab.run("login", ["sinfo"], user="alice")

    accounting  with slurmdbd and MariaDB, so that sacct answers; alice and bob have the account "course"
    enforce     and jobs of other accounts are refused
    extra       more lines for slurm.conf
    mounts      {name: folder}: what is seen as lab.folder/name on all hosts, wherever it is on the machine
    version     of the kernel's control groups; else the first that the machine has, and `cgroups` is None where it has none
    limits      jobs have their memory and, where `cores` is true, their processors alone, of which a node has the machine's
    """

    def __init__(self, accounting=False, enforce=False, extra="", mounts=None, version=None, limits=False):
        self.accounting, self.enforce, self.extra, self.mounts = accounting or enforce, enforce, extra, mounts or {}
        self.version, self.limits = version, limits
        self.cores = limits and len(os.sched_getaffinity(0)) == os.cpu_count() >= 2
        self.hosts = {}
        self.daemons = {}
        self.folder = self.ethernet = self.lock = self.cgroups = None

    # Up and down.

    def __enter__(self):
        sweep()
        # Whatever ends the program: `down` does nothing the second time.
        atexit.register(self.down)
        try:
            self._up()
        except BaseException:
            logs = self.logs()
            self.down()
            print(logs, file=sys.stderr)
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def _up(self):
        # Not below TMPDIR: the users must be able to get there. Under its name only when it is locked: see sweep.
        draft = pathlib.Path(tempfile.mkdtemp(prefix="." + PREFIX, dir="/tmp"))
        draft.chmod(0o755)
        self.lock = open(draft / "lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.folder = draft.rename(draft.with_name(draft.name[1:]))
        self.cgroups = control_groups.choose(self.folder.name, self.version)
        if self.cgroups:
            control_groups.note(self.cgroups, self.folder)
            self.cgroups.make(ADDRESSES)
        configuration.write(self)
        self._make_hosts()
        self._start_slurm()

    def _make_hosts(self):
        self.ethernet = hosts.Ethernet()
        binds = [(self.folder / "etc" / name, f"/etc/{name}") for name in ("passwd", "group", "hosts", "slurm")]
        for name, source in self.mounts.items():
            (self.folder / name).mkdir()
            binds.append((pathlib.Path(source).resolve(), self.folder / name))
        for name, address in ADDRESSES.items():
            host = hosts.Host(name, groups=self.cgroups.places(name) if self.cgroups else ())
            self.hosts[name] = host
            if self.cgroups:
                self.cgroups.show(host)
            # A copy of /etc, so that a file that the machine does not have can be there.
            copy = self.folder / "shared"
            host.run(f"mount -t tmpfs -o mode=755 etc {copy} && cp -a /etc/. {copy} && mkdir -p {copy}/slurm && touch {copy}/hosts && "
                     f"mount --move {copy} /etc")
            host.run(" && ".join(f"mount --bind '{source}' '{target}'" for source, target in binds))
            self.ethernet.plug_in(host, f"{address}/24")
        (self.folder / "hosts.json").write_text(json.dumps({name: host.pid for name, host in self.hosts.items()}))

    def _start_slurm(self):
        munge = self.folder / "munge"
        self._daemon("munged", "login", "munged", "--foreground", "--force", f"--key-file={munge}/key", f"--socket={munge}/socket",
                     f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self._until(lambda: (munge / "socket").exists(), "munged listens")
        if self.accounting:
            self._start_database()
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        self.wait_for_nodes()

    def _start_database(self):
        # In memory, seen by the login node alone: it would wait for a disk at each of Slurm's tables.
        folder, socket = self.folder / "database", self.folder / "database.socket"
        self.hosts["login"].run(f"mount -t tmpfs database {folder}")
        self.run("login", ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={folder}/data", "--skip-test-db",
                           "--auth-root-authentication-method=socket"], user="root", check=True)
        self._daemon("mariadbd", "login", "mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/data",
                     f"--socket={socket}", f"--pid-file={folder}/pid", "--skip-networking",
                     "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0")
        self._until(lambda: socket.exists(), "mariadbd listens")
        self._daemon("slurmdbd", "login", "slurmdbd", "-D", env={"MYSQL_UNIX_PORT": str(socket)})
        self._until(lambda: self.run("login", ["sacctmgr", "-n", "list", "cluster"], user="root").returncode == 0, "slurmdbd answers")
        for words in (["add", "cluster", configuration.CLUSTER],
                      ["add", "account", "course", f"Cluster={configuration.CLUSTER}"],
                      ["add", "user", ",".join(USERS), "Account=course", f"Cluster={configuration.CLUSTER}"]):
            self.run("login", ["sacctmgr", "-i", "-Q", *words], user="root", check=True)

    def down(self):
        """Ends everything, whatever state it is in."""
        for host in self.hosts.values():
            host.kill()
        if self.folder:
            control_groups.thaw(control_groups.noted(self.folder))
        for host in [*self.hosts.values(), *([self.ethernet] if self.ethernet else [])]:
            host.close()
        self.hosts, self.daemons, self.ethernet = {}, {}, None
        if self.folder:
            _remove(self.folder)
            self.lock.close()
            self.folder = None
        atexit.unregister(self.down)

    def _daemon(self, name, host, *words, env=None):
        log = open(self.folder / "log" / f"{name}.out", "ab")
        with log:
            self.daemons[name] = self.hosts[host].start(
                list(words), env={"PATH": PATH, "LANG": "C.UTF-8", **(env or {})}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)

    def _until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            for name, process in self.daemons.items():
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended with {process.returncode} before {what}")
            if time.monotonic() > end:
                raise RuntimeError(f"within {PATIENCE} s it did not happen that {what}")
            time.sleep(0.02)

    # The parts of the cluster, and what can befall them.

    def start_controller(self):
        self._daemon("slurmctld", "login", "slurmctld", "-D")
        self._until(lambda: self.run("login", ["scontrol", "ping"], user="root").returncode == 0, "slurmctld answers")

    def start_node(self, node):
        preload = self.cgroups and self.cgroups.preload
        self._daemon(f"slurmd-{node}", node, "slurmd", "-D", "-N", node, env={"LD_PRELOAD": preload} if preload else None)

    def wait_for_nodes(self, nodes=NODES, state="idle"):
        # Of all nodes: `sinfo -n NODE` of Slurm 22.05 says that it is in use when another one is.
        def reached():
            states = dict(line.split() for line in self.lines("sinfo", "-h", "-N", "-o", "%n %t"))
            return all(states[node] == state for node in nodes)
        self._until(reached, f"{nodes} are {state}")

    def stop(self, daemon, number=signal.SIGTERM):
        """Ends one of lab.daemons: slurmctld, slurmd-gpu1, slurmd-gpu2, ..."""
        process = self.daemons.pop(daemon)
        process.send_signal(number)
        process.wait(PATIENCE)

    def set_down(self, node):
        self.lines("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")

    def resume(self, node):
        """After `set_down`. Its slurmd is started again, so that it says at once that it is there: slurmctld asks every 40 s."""
        self.lines("scontrol", "update", f"NodeName={node}", "State=RESUME")
        self.stop(f"slurmd-{node}")
        self.start_node(node)
        self.wait_for_nodes([node])

    def restart_controller(self):
        self.stop("slurmctld")
        self.start_controller()
        self.wait_for_registration()

    def wait_for_registration(self):
        """A slurmctld that starts again asks the nodes what they are a few seconds later (4). Jobs that start before that confuse
        Slurm 22.05's count of the GPUs in use."""
        self._until(lambda: "SlurmdStartTime=None" not in "".join(self.lines("scontrol", "-o", "show", "nodes")), "the nodes are known again")

    def cut(self, host):
        """Pulls the host's network cable; `mend` plugs it in again."""
        self.ethernet.set_link(self.hosts[host], up=False)

    def mend(self, host):
        self.ethernet.set_link(self.hosts[host], up=True)

    def devices(self, node):
        """The node's fake GPUs. Nobody drives them: opening one that the job does not have is EPERM, else ENXIO."""
        return configuration.device_files(self.folder, node)

    def logs(self, lines=15):
        """The end of each daemon's log, for a message."""
        if not self.folder:
            return ""
        # Standard error repeats a log, but has what came before it was opened.
        logs = sorted(log for log in (self.folder / "log").glob("*") if log.suffix == ".log" or not log.with_suffix(".log").exists())
        return "\n".join(f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) for log in logs)

    # Commands.

    def home(self, user="alice"):
        return self.folder / "home" / user

    def start(self, host, words, user="alice", env=None, cwd=None, **options):
        """subprocess.Popen of a command as that user types it, at home unless `cwd` says where."""
        number = USERS.get(user, 0)
        home = self.home(user)
        surroundings = {"PATH": PATH, "HOME": str(home), "USER": user, "LOGNAME": user, "SHELL": "/bin/bash", "LANG": "C.UTF-8",
                        **(env or {})}
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   "start_new_session": True} | options
        return self.hosts[host].start([str(word) for word in words], uid=number, gid=number, cwd=str(cwd or home), env=surroundings,
                                      **options)

    def run(self, host, words, user="alice", env=None, cwd=None, input=None, timeout=PATIENCE, check=False):
        """subprocess.CompletedProcess of the same. check: that it exits with 0."""
        process = self.start(host, words, user, env, cwd, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE)
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            try:
                out, err = process.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                out = err = ""  # something that it started has left its group, and holds the pipe
            raise RuntimeError(f"on {host}: {words} did not end within {timeout} s\n{out}{err}") from None
        if check and process.returncode != 0:
            raise RuntimeError(f"on {host}: {words}: exit {process.returncode}\n{out}{err}")
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def lines(self, *words, user="root"):
        """What a command that must succeed prints on the login node."""
        return self.run("login", words, user=user, check=True).stdout.splitlines()

    # Jobs.

    def sbatch(self, *words, user="alice", env=None, cwd=None, input=None):
        """The id of the job that `sbatch WORDS` submits; input: a script that it reads."""
        done = self.run("login", ["sbatch", "--parsable", *words], user=user, env=env, cwd=cwd, input=input, check=True)
        return int(done.stdout.split(";")[0])

    def squeue(self, format="%T", *words, job=None):
        """Lines of squeue, which knows waiting and running jobs (and ended ones with --states=all)."""
        return self.lines("squeue", "-h", "-o", format, *words, *(["-j", str(job)] if job else []))

    def job(self, job):
        """The fields of `scontrol show job`: JobState, Reason, NodeList, Restarts, ExitCode, ... for 5 minutes after its end."""
        shown = self.run("login", ["scontrol", "-o", "-d", "show", "job", str(job)], user="root", check=True).stdout
        return dict(re.findall(r"(\S+?)=(\S*)", shown))

    def state(self, job):
        return self.job(job)["JobState"]

    def end_jobs(self):
        """Cancels all jobs and waits until none is left."""
        ids = self.squeue("%i")
        if ids:
            self.lines("scancel", *ids)
        self._until(lambda: not self.squeue("%i"), "all jobs have ended")

    def requeue(self, job):
        """Ends the job, which starts again at once: Slurm by itself would wait until its credentials have expired, and longer."""
        self.lines("scontrol", "requeue", str(job))
        self._until(lambda: self.state(job) == "PENDING", f"job {job} waits again")
        # Not in this second: a node would take the new start for the one that it has just been told to forget.
        self.lines("scontrol", "update", f"JobId={job}", "StartTime=now+1")


def _remove(folder):
    """What a lab without processes has left: its control groups and its folder."""
    control_groups.remove(control_groups.noted(folder))
    shutil.rmtree(folder, ignore_errors=True)


def sweep():
    """Removes what labs that were killed have left. The lock tells: a lab that is up holds it."""
    for folder in pathlib.Path("/tmp").glob(PREFIX + "*"):
        try:
            with open(folder / "lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                control_groups.thaw(control_groups.noted(folder))
                _remove(folder)
        except OSError:
            continue  # it is in use, or has just been removed


def attach():
    """The newest lab that is up on this machine, kept by another program."""
    sweep()
    found = sorted(pathlib.Path("/tmp").glob(PREFIX + "*/hosts.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise SystemExit("lab.py: no lab is up; `lab.py shell` brings one up")
    lab = Lab()
    lab.folder = found[-1].parent
    lab.hosts = {name: hosts.Host(name, pid) for name, pid in json.loads(found[-1].read_text()).items()}
    return lab


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    shell = commands.add_parser("shell", help="bring a lab up, and open a shell on one of its hosts")
    shell.add_argument("host", nargs="?", default="login", choices=ADDRESSES)
    shell.add_argument("--user", default="alice", choices=["root", *USERS])
    shell.add_argument("--accounting", action="store_true")
    shell.add_argument("--bin", default=os.environ.get("HOTPLATE_BIN_DIR", "build/release/bin"), help="where hotplate is [%(default)s]")
    on = commands.add_parser("on", help="run a command in the lab that is up")
    on.add_argument("host", choices=ADDRESSES)
    on.add_argument("--user", default="alice", choices=["root", *USERS])
    on.add_argument("words", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    terminal = {"stdin": None, "stdout": None, "stderr": None, "start_new_session": False}

    def enter(lab, words):
        return lab.start(arguments.host, words, arguments.user, env={
            "PATH": f"{lab.folder}/bin:{PATH}", "TERM": os.environ.get("TERM", "dumb")}, **terminal).wait()

    if arguments.command == "on":
        sys.exit(enter(attach(), arguments.words or ["bash"]))
    reason = unavailable(arguments.accounting)
    if reason:
        raise SystemExit(f"lab.py: {reason}")
    with Lab(accounting=arguments.accounting, mounts={"bin": arguments.bin}) as lab:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for what runs in the shell
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        print(f"{lab.folder}: {arguments.user} on {arguments.host}; also {', '.join(ADDRESSES)} and {', '.join(USERS)}", flush=True)
        status = enter(lab, ["bash"])
    sys.exit(status)


if __name__ == "__main__":
    main()
