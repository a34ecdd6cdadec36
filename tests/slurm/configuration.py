"""The files that a lab's hosts and daemons read: Slurm's configuration, users, names, the fake GPUs."""

import os
import stat

CLUSTER = "lab"
ADDRESSES = {"login": "10.77.0.1", "gpu1": "10.77.0.11", "gpu2": "10.77.0.12"}
GPU_TYPES = {"gpu1": "a100", "gpu2": "l40s"}
NODES = tuple(GPU_TYPES)
GPUS = 2  # on each node
USERS = {"alice": 61001, "bob": 61002}
# NVIDIA's, with minor numbers that no machine has: nothing opens these files, even where there is a driver.
MAJOR, FIRST_MINOR = 195, 200


def device_files(folder, node):
    return [folder / "dev" / node / f"nvidia{index}" for index in range(GPUS)]


SLURM = """\
ClusterName={cluster}
SlurmctldHost=login({login})
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
# More processors than the machine may have.
SlurmdParameters=config_overrides
{tracking}
{accounting}
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
MailProg=/bin/true
# A node that was set down stays down until it is resumed, whatever it says meanwhile.
ReturnToService=1
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,bf_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters={consumables}
GresTypes=gpu
KillWait=5
MinJobAge=300
SlurmctldTimeout=30
# Longer than a test leaves a node without network.
SlurmdTimeout=120
PropagateResourceLimits=NONE
{nodes}
PartitionName=gpu Nodes={node_names} Default=YES MaxTime=7-0 DefaultTime=10 State=UP
{extra}
"""

DATABASE = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=login
DbdAddr={login}
SlurmUser=root
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""

ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={login}
AccountingStoragePass={folder}/munge/socket
AccountingStorageTRES=gres/gpu{types}"""


def write(lab):
    """Fills lab.folder with all that a lab finds at its start."""
    folder = lab.folder
    for name in ("etc/slurm", "munge", "log", "state", "spool", "database", "dev", "home", "shared"):
        (folder / name).mkdir(parents=True)
    for node in NODES:
        (folder / "spool" / node).mkdir()
        (folder / "dev" / node).mkdir()
        for index, path in enumerate(device_files(folder, node)):
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(MAJOR, FIRST_MINOR + index))
            path.chmod(0o666)  # whatever the umask
    (folder / "shared").chmod(0o1777)
    for user, number in {"root": 0, **USERS}.items():
        home = folder / "home" / user
        home.mkdir(mode=0o700)
        os.chown(home, number, number)
    _write_slurm(lab)

    etc = folder / "etc"
    (etc / "passwd").write_text(f"root:x:0:0:root:{folder}/home/root:/bin/bash\nnobody:x:65534:65534::/nonexistent:/bin/false\n" + "".join(
        f"{user}:x:{number}:{number}::{folder}/home/{user}:/bin/bash\n" for user, number in USERS.items()))
    (etc / "group").write_text("root:x:0:\ntty:x:5:\nnogroup:x:65534:\n" + "".join(
        f"{user}:x:{number}:\n" for user, number in USERS.items()))
    (etc / "hosts").write_text("127.0.0.1 localhost\n" + "".join(
        f"{address} {name} {name}.lab.test\n" for name, address in ADDRESSES.items()))
    key = folder / "munge" / "key"
    key.touch(mode=0o400)
    key.write_bytes(os.urandom(1024))


def _write_slurm(lab):
    folder = lab.folder
    tracking, accounting = "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none", "AccountingStorageType=accounting_storage/none"
    if lab.cgroups:
        tracking = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup"
    if lab.accounting:
        types = "".join(f",gres/gpu:{name}" for name in GPU_TYPES.values())
        accounting = ACCOUNTING.format(login=ADDRESSES["login"], folder=folder, types=types)
    if lab.enforce:
        accounting += "\nAccountingStorageEnforce=associations,limits,qos"
    etc = folder / "etc" / "slurm"
    processors = os.cpu_count() if lab.cores else 16
    nodes = "\n".join(f"NodeName={node} NodeAddr={ADDRESSES[node]} NodeHostname={node} CPUs={processors} RealMemory=4000"
                      f" Gres=gpu:{name}:{GPUS} Feature={name} State=UNKNOWN" for node, name in GPU_TYPES.items())
    (etc / "slurm.conf").write_text(SLURM.format(
        cluster=CLUSTER, login=ADDRESSES["login"], folder=folder, tracking=tracking, accounting=accounting, nodes=nodes,
        node_names=",".join(NODES), consumables="CR_Core_Memory\nDefMemPerCPU=100" if lab.limits else "CR_Core", extra=lab.extra))
    (etc / "gres.conf").write_text("".join(
        f"NodeName={node} Name=gpu Type={name} File={folder}/dev/{node}/nvidia[0-{GPUS - 1}]\n" for node, name in GPU_TYPES.items()))
    # Named also where there are none: Slurm would look for them. Without systemd it makes its groups itself.
    version, limits = 1, ""
    if lab.cgroups:
        version = lab.cgroups.number
        cores, memory = ("yes" if it else "no" for it in (lab.cores, lab.limits))
        limits = f"IgnoreSystemd=yes\nConstrainDevices=yes\nConstrainCores={cores}\nConstrainRAMSpace={memory}\n"
    (etc / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v{version}\nCgroupMountpoint=/sys/fs/cgroup\n{limits}")
    if lab.accounting:
        # slurmdbd refuses a file that others can read.
        descriptor = os.open(etc / "slurmdbd.conf", os.O_WRONLY | os.O_CREAT, 0o600)
        with open(descriptor, "w") as file:
            file.write(DATABASE.format(folder=folder, login=ADDRESSES["login"]))
