"""Queue waits from the accounting of a real Slurm: what jobs have waited for, and what is said where there is no accounting."""

import json
import re
import signal
import time

import harness

PARTITIONS = """\
PartitionName=medium Nodes=gpu1 MaxTime=2-0 State=UP
PartitionName=hidden Nodes=gpu1 MaxTime=1-0 Hidden=YES State=UP
"""
SCRIPT = "#!/bin/bash\nsleep {}\n"


class Accounted(harness.SlurmCase):
    OPTIONS = {"accounting": True, "extra": PARTITIONS}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        submit = cls.lab.sbatch
        # The whole of gpu1 until others have waited for some seconds.
        first = submit("-p", "medium", "--exclusive", "-w", "gpu1", "-t", "10", "-o", "/dev/null",
                       input="#!/bin/bash\nuntil [ -e ~/enough ]; do sleep 0.2; done\n")
        harness.wait_until(lambda: cls.lab.state(first) == "RUNNING", "the first job ran")
        waits = [submit("-p", "medium", "-n", "8", "-t", "10:00:00", input=SCRIPT.format(0)),
                 submit("-p", "medium", "-n", "2", "-t", "4:00:00", "--gres=gpu:2", "--mem=20M", input=SCRIPT.format(0))]
        given_up = submit("-p", "medium", "-t", "5", input=SCRIPT.format(0))
        held = submit("-p", "medium", "--hold", input=SCRIPT.format(0))
        for job in (given_up, held):
            cls.lab.run("login", ["scancel", str(job)], check=True)
        time.sleep(3)
        cls.put_file("enough", b"")
        array = submit("-p", "gpu", "-w", "gpu2", "--array=1-3", "-t", "2", input=SCRIPT.format(0))
        # Starts twice.
        again = submit("-p", "gpu", "-w", "gpu2", "--requeue", "-t", "3",
                       input="#!/bin/bash\n[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 1000\n")
        # Not in the second of its start: Slurm forgets such a start.
        harness.wait_until(lambda: cls.lab.squeue("%T", job=again) == ["RUNNING"] and cls.lab.squeue("%M", job=again)[0] not in
                           ("0:00", "0:01", "0:02"), "the job that is requeued ran for a while")
        cls.lab.requeue(again)
        harness.wait_until(lambda: not cls.lab.squeue("%i"), "all jobs had ended")
        # Waits for a GPU that there is not enough of until it is cancelled.
        cls.blocker = submit("-p", "gpu", "--exclusive", "-N2", "-t", "30", input=SCRIPT.format(1000))
        harness.wait_until(lambda: cls.lab.state(cls.blocker) == "RUNNING", "the blocker ran")
        cls.waiting = submit("-p", "gpu", "--array=1-5", "-t", "30", input=SCRIPT.format(0))
        cls.started = {"medium": 1 + len(waits), "gpu": 3 + 2 + 1}
        assert array

    def table(self, *words, **options):
        return {row["name"]: row for row in self.answer("partitions", *words, **options)["partitions"]}

    def setUp(self):
        # The accounting is some seconds behind.
        def complete():
            rows = self.table()
            return all(rows[name]["jobs"] == count for name, count in self.started.items()) and rows["gpu"]["waitingNow"] == 5
        harness.wait_until(complete, "the accounting had it all")

    def test_jobs_are_where_they_belong(self):
        rows = self.table()
        self.assertEqual(sorted(rows), ["gpu", "hidden", "medium"])
        bins = {cell["label"]: cell for cell in rows["medium"]["bins"]}
        # An exclusive job asks for the cores that it says (one) for ten minutes; 8 cores for 10 hours; 2 for 4.
        self.assertEqual([cell["jobs"] for cell in rows["medium"]["bins"]], [1, 1, 0, 1])
        self.assertLess(bins["< 4 CPUh"]["medianSeconds"], 60)
        # Both were submitted behind a job that ended more than three seconds later.
        for label in ("4–16 CPUh", "> 64 CPUh"):
            self.assertGreaterEqual(bins[label]["medianSeconds"], 2)
            self.assertLess(bins[label]["medianSeconds"], 600)
            self.assertEqual(bins[label]["medianSeconds"], bins[label]["p90Seconds"], "of one job")
        self.assertEqual(rows["medium"]["neverStartedJobs"], 1, "cancelled before its start; the held one was never in the queue")
        self.assertEqual(rows["hidden"]["jobs"], 0)
        self.assertIsNone(rows["hidden"]["medianSeconds"])

    def test_what_they_waited_is_what_sacct_says(self):
        # Its own word for the wait has changed.
        word = {"Planned", "Reserved"} & set(" ".join(self.lab.lines("sacct", "--helpformat")).split())
        lines = self.lab.lines("sacct", "-a", "-X", "-D", "-P", "-n", "-S", "now-1hour", "-E", "now", "-r", "medium",
                               f"--format=Start,Eligible,AllocTRES,{word.pop()}")
        expected = []
        for line in lines:
            start, eligible, allocated, planned = line.split("|")
            if allocated and start not in ("None", "Unknown") and eligible != "Unknown":
                hours, minutes, seconds = map(int, planned.split(":"))
                expected.append(hours * 3600 + minutes * 60 + seconds)
        row = self.table("-p", "medium")["medium"]
        self.assertEqual(row["jobs"], len(expected), lines)
        self.assertEqual(row["medianSeconds"], sorted(expected)[1], lines)

    def test_by_memory_and_by_gpus(self):
        rows = self.table("--by", "gpus", "-p", "medium")
        self.assertEqual(list(rows), ["medium"])
        self.assertEqual({cell["label"]: cell["jobs"] for cell in rows["medium"]["bins"]},
                         {"no GPU": 2, "1 GPU": 0, "2–3 GPUs": 1, "4–7 GPUs": 0, "≥ 8 GPUs": 0})
        rows = self.table("--by", "memory", "-p", "medium", "--edges", "1")
        self.assertEqual([cell["jobs"] for cell in rows["medium"]["bins"]], [1, 2], "20 MB, and twice all of a node's 4000 MB")

    def test_the_table(self):
        out = self.hotplate("partitions", "-p", "medium,gpu", "-p", "hidden")
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^PARTITION +< 4 CPUh +4–16 CPUh +16–64 CPUh +> 64 CPUh +WAITING NOW$")
        self.assertRegex(lines[1], r"^medium +[\d.]+ s \(1\) .*\(1\) +- +.*\(1\) +0$")
        self.assertRegex(lines[2], r"^  90 % ")
        self.assertRegex(lines[3], r"^gpu +.*\(6\) +- +- +- +5$")
        self.assertRegex(lines[5], r"^hidden +- +- +- +- +0$")
        self.assertIn("since ", out)
        self.assertIn("1 job that ended without having started", out)
        self.assertEqual(len(self.hotplate("partitions", "-q").splitlines()), 3)

    def test_unknown_partitions_are_named_with_those_that_are_near(self):
        self.hotplate("partitions", "-p", "gpu,gqu", code=harness.INVALID,
                      says=('no partition "gqu". Nearest: gpu. There are: gpu, medium, hidden',))

    def test_what_makes_no_sense_is_refused_by_name(self):
        for words, text in ((("--by", "nodes"), '"nodes"'), (("--edges", "16,4"), '"16,4"'), (("--since", "tomorrow"), '"tomorrow"'),
                            (("--since", "2w3"), '"2w3"'), (("--timeout", "1ms"), "--timeout"), (("-M", "a/b"), '"a/b"')):
            self.hotplate("partitions", *words, code=harness.USAGE, says=text)

    def test_another_cluster_is_slurms_affair(self):
        # Slurm 24.11 does not even name it.
        self.hotplate("partitions", "-M", "elsewhere", code=harness.REFUSED_BY_SLURM, says="sinfo")
        self.assertEqual(self.table("-M", "lab")["medium"]["jobs"], self.started["medium"])

    def test_what_was_read_is_kept_for_this_user_alone(self):
        # Settled slices only: of days before the lab was there.
        self.hotplate("partitions", "--since", "3d")
        kept = self.lab.home() / ".hotplate" / "cache"
        slices = list(kept.glob("waits/lab/*.waits"))
        self.assertGreaterEqual(len(slices), 3)
        for path in [kept, *kept.rglob("*")]:
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)
            self.assertEqual(path.stat().st_uid, harness.labs.USERS["alice"])
        self.assertEqual(self.table("--since", "3d")["medium"]["jobs"], self.started["medium"], "from the cache and from sacct together")
        self.hotplate("partitions", env={"XDG_CACHE_HOME": str(self.lab.home() / "elsewhere")})
        self.assertTrue(list((self.lab.home() / "elsewhere" / "hotplate").rglob("*.waits")))

    def test_a_sacct_that_hangs_is_asked_for_less_and_then_given_up(self):
        # One that answers for an hour and a half at most; what it is asked for is written down.
        folder = self.lab.home() / "slow"
        folder.mkdir(exist_ok=True)
        slow = folder / "sacct"
        slow.write_text("""#!/usr/bin/python3
import calendar, os, re, sys, time
times = [calendar.timegm(time.strptime(re.search(f"--{which}time=(\\\\S+)", " ".join(sys.argv)).group(1), "%Y-%m-%dT%H:%M:%S"))
         for which in ("start", "end")]
with open(os.environ["ASKED"], "a") as log:
    print(times[1] - times[0], file=log)
if times[1] - times[0] > int(os.environ["BEARS"]):
    time.sleep(1000)
os.execv("/usr/bin/sacct", ["sacct", *sys.argv[1:]])
""")
        slow.chmod(0o755)
        asked = folder / "asked"
        env = {"PATH": f"{folder}:{self.environment['PATH']}", "ASKED": str(asked), "BEARS": "21600",
               "XDG_CACHE_HOME": str(folder / "cache"), "TZ": "Asia/Kathmandu"}
        # Neither the zone of the user's clock nor what sacct is set to by the user changes anything.
        env["SLURM_TIME_FORMAT"] = "relative"
        asked.touch()
        asked.chmod(0o666)
        for path in (folder, slow, asked):
            harness.os.chown(path, harness.labs.USERS["alice"], harness.labs.USERS["alice"])
        rows = self.table("--since", "2d", "--timeout", "2s", env=env)
        self.assertEqual(rows["medium"]["jobs"], self.started["medium"])
        sizes = list(map(int, asked.read_text().split()))
        self.assertEqual(sizes[:3], [86400, 43200, 21600], "half as much each time")
        self.assertLessEqual(max(sizes[2:]), 21600, "and no more than that afterwards")
        env |= {"BEARS": "0", "XDG_CACHE_HOME": str(folder / "other")}
        self.hotplate("partitions", "--since", "1h", "--timeout", "1s", env=env, code=harness.REFUSED_BY_SLURM,
                      says=("had no answer within", "--timeout"))
        # On a terminal there is a bar meanwhile, which leaves nothing behind.
        with self.on_terminal("partitions", "--since", "2d", "--timeout", "10m", env=env | {"TERM": "xterm"}) as (process, seen, _):
            harness.wait_until(lambda: re.search(rb"reading sacct  .* 0 %   from \w+ \d{4}-\d\d-\d\d \d\d:\d\d", seen), "it showed how far it is")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(harness.PATIENCE), harness.INTERRUPTED, seen.decode())
        self.assertIn(b"\r\x1b[K", bytes(seen).rpartition(b"reading sacct")[2])
        # Interrupted, it ends at once, and so does sacct.
        before = len(asked.read_text().split())
        process = self.start("partitions", "--since", "2d", "--timeout", "10m", env=env)
        harness.wait_until(lambda: len(asked.read_text().split()) > before, "sacct was asked")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.INTERRUPTED, out + err)
        self.assertEqual(out, "")
        harness.wait_until(lambda: not [line for line in self.lab.hosts["login"].processes().values() if str(slow) in line],
                           "the slow sacct had ended")

    def test_private_jobs_are_said(self):
        configuration = self.lab.folder / "etc" / "slurm" / "slurm.conf"
        before = configuration.read_text()
        try:
            configuration.write_text(before + "PrivateData=jobs\n")
            self.lab.lines("scontrol", "reconfigure")
            self.assertTrue(self.answer("partitions", user="bob")["privateJobs"])
            self.hotplate("partitions", says="PrivateData")
        finally:
            configuration.write_text(before)
            self.lab.lines("scontrol", "reconfigure")


class DatabaseGone(harness.SlurmCase):
    OPTIONS = {"accounting": True}

    def test_slurms_own_words_are_passed_on(self):
        self.lab.stop("slurmdbd")
        self.hotplate("partitions", code=harness.REFUSED_BY_SLURM, says=("Problem talking to the database", "squeue --start"))


class NotAccounted(harness.SlurmCase):
    def test_without_accounting_it_says_so(self):
        code, out, err = self.run_command("partitions", "--json")
        self.assertEqual((code, json.loads(out)["error"]["exitCode"]), (harness.REFUSED_BY_SLURM, harness.REFUSED_BY_SLURM), err)
        self.assertIn("keeps no accounting (sacct: Slurm accounting storage is disabled)", err)
        self.assertIn("sbatch --test-only", err)

    def test_a_wrong_partition_is_refused_before_sacct_is_asked(self):
        self.hotplate("partitions", "-p", "nosuch", code=harness.INVALID, says="There are: gpu")

    def test_without_slurm_it_says_so(self):
        for missing in ("sinfo", "sacct"):
            bin_folder = self.lab.home() / f"without-{missing}"
            bin_folder.mkdir(mode=0o755, exist_ok=True)
            bin_folder.chmod(0o755)
            for program in {"sinfo", "scontrol", "sacct"} - {missing}:
                (bin_folder / program).symlink_to(f"/usr/bin/{program}")
            (bin_folder / "hotplate").symlink_to(self.lab.folder / "bin" / "hotplate")
            process = self.lab.start("login", [self.lab.folder / "bin" / "hotplate", "partitions"],
                                     env=self.environment | {"PATH": str(bin_folder)})
            out, err = process.communicate(timeout=harness.PATIENCE)
            self.assertEqual((process.returncode, out), (harness.REFUSED_BY_SLURM, ""), err)
            self.assertIn(f"there is no {missing} in PATH", err)


if __name__ == "__main__":
    harness.main(accounting=True)
