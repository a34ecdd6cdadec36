#!/usr/bin/python3
"""What the daemon makes of its allocation: its end, which it follows and drains for; its share of the node; addresses and ports;
what it saves when it ends; a record that cannot be written."""

import base64
import datetime
import json
import shlex
import stat
import struct

import harness
from harness import CANCELLED, LONG_JOB, TRY_LATER, wait_until

RUN = ("run", "integrate2d", "--n", "1000")
CANNOT_START, NOT_WRITABLE = 4, 6
MIB = 1 << 20


def npy(values):
    """A file's bytes, float64."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}d", *values)


def seconds(timestamp):
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


class Daemon(harness.SlurmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.put_file("a.npy", npy([1.5, 2.5, 3.5]))
        # A limit is a minute or more: this one uses the time of the other tests.
        cls.short = cls.submit("--drain-timeout", "5s", "--squeue-interval", "1s", sbatch=["-w", "gpu2", "--time=1"])
        cls.wait_for_records(cls.short)
        work = cls.lab.run("login", ["hotplate", "submit", *LONG_JOB, "--json", "--server", f"lab-{cls.short}"], env=cls.environment, check=True)
        cls.short_work = json.loads(work.stdout)["jobId"]
        cls.lab.run("login", ["hotplate", "put", "a.npy", "--name", "kept", "--lease", "1h", "--server", f"lab-{cls.short}"],
                    env=cls.environment, check=True)
        cls.short_watch = cls.lab.start("login", ["hotplate", "watch", cls.short_work, "--server", f"lab-{cls.short}"], env=cls.environment)
        cls.processes.append(cls.short_watch)
        # In a step, and asking Slurm nothing: it is ended by Slurm alone.
        cls.step = cls.sbatch("-w", "gpu2", "--time=1", "-o", "%j.out", input="#!/bin/bash\n"
                              "srun hotplated --device cpu --drain-timeout 1s --squeue-interval 0 --log-file $PWD/step.log\n")
        cls.wait_for_records(cls.step)
        cls.lab.run("login", ["hotplate", "put", "a.npy", "--name", "kept", "--lease", "1h", "--server", f"lab-{cls.step}"],
                    env=cls.environment, check=True)
        cls.lab.run("login", ["hotplate", "submit", *LONG_JOB, "--server", f"lab-{cls.step}"], env=cls.environment, check=True)

    @classmethod
    def put_file(cls, name, content):
        cls.lab.run("login", ["sh", "-c", f"base64 -d >{shlex.quote(name)}"], input=base64.b64encode(content).decode(), check=True)

    @classmethod
    def submit(cls, *daemon, sbatch=(), script="", **options):
        """A job that is a daemon and nothing else; its output is in JOB.out."""
        return cls.sbatch("-o", "%j.out", *sbatch, input=f"#!/bin/bash\n{script}\nexec hotplated --device cpu {shlex.join(daemon)}\n", **options)

    def serving(self, *daemon, **options):
        job = self.submit(*daemon, **options)
        self.addCleanup(self.lab.run, "login", ["scancel", str(job)])
        [record] = self.wait_for_records(job)
        return job, record

    def output(self, job):
        return self.read(f"{job}.out")

    def failed(self, job, status, *says):
        fields = self.wait_for_job(job, "FAILED")
        self.assertEqual(fields["ExitCode"], f"{status}:0", self.output(job))
        for text in says:
            self.assertIn(text, self.output(job))

    def slurms_end(self, job):
        [end] = self.lab.run("login", ["squeue", "-h", "-j", str(job), "-o", "%e"], env={"SLURM_TIME_FORMAT": "%s"}, check=True).stdout.split()
        return int(end)

    def set_limit(self, job, minutes):
        self.lab.lines("scontrol", "update", f"JobId={job}", f"TimeLimit={minutes}")
        return self.slurms_end(job)

    def wait_for_end(self, job, end):
        wait_until(lambda: seconds(self.records(job)[0].get("allocation_end_time", "1970-01-01T00:00:00Z")) == end, "the record had the new end")
        status = self.answer("status", "--server", f"lab-{job}")
        self.assertEqual(seconds(status["allocation"]["endTime"]), end)

    # The end.

    def test_the_end_is_slurms_and_followed(self):
        job, record = self.serving("--squeue-interval", "1s", sbatch=["--time=30"])
        server = ("--server", record["name"])
        self.wait_for_end(job, self.slurms_end(job))
        self.hotplate(*RUN, "--time-limit", "45m", *server, code=TRY_LATER, says=["45m", "that are left of the allocation", "ends at"])
        self.hotplate(*RUN, "--time-limit", "20m", *server)
        self.wait_for_end(job, self.set_limit(job, 60))
        self.hotplate(*RUN, "--time-limit", "45m", *server)

        work = self.answer("submit", *LONG_JOB, *server)["jobId"]
        watch = self.start("watch", work, *server)
        wait_until(lambda: self.answer("show", work, *server)["state"] == "RUNNING", "the job ran")
        self.wait_for_end(job, self.set_limit(job, 8))
        wait_until(lambda: "the allocation ends at" in self.output(job).split("no longer")[-1], "the log warned of the end")
        self.hotplate("cancel", work, *server)
        out, err = watch.communicate(timeout=harness.PATIENCE)
        self.assertIn("the allocation ends at", out + err)
        self.assertEqual(self.records(job)[0]["generation"], record["generation"])

    def test_drains_in_time_without_a_signal(self):
        fields = self.wait_for_job(self.short, "COMPLETED", "TIMEOUT", "CANCELLED")
        said = self.output(self.short)
        self.assertEqual((fields["JobState"], fields["ExitCode"]), ("COMPLETED", "0:0"), said)
        self.assertNotIn("SIGTERM", said)
        self.assertIn("draining: the allocation ends at", said)
        out, err = self.short_watch.communicate(timeout=harness.PATIENCE)
        self.assertEqual(self.short_watch.returncode, CANCELLED, out + err)
        self.assertIn("the allocation ends at", out + err)
        self.assertTrue((self.directory / "saved" / f"lab-{self.short}" / "kept.npy").exists(), said)
        self.assertEqual(self.records(self.short), [])

    def test_slurms_two_signals_to_a_step_at_the_limit_are_one(self):
        self.wait_for_job(self.step, "TIMEOUT", "COMPLETED", "FAILED")
        # srun has its signal too, and leaves its output behind.
        wait_until(lambda: not self.records(self.step), "the daemon withdrew its record")
        wait_until(lambda: "stopped" in self.read("step.log"), "the daemon left in order")
        said = self.read("step.log")
        self.assertIn("draining: SIGTERM", said)
        self.assertNotIn("leaving at once", said)
        self.assertIn("drained: jobs were cancelled", said)
        self.assertTrue((self.directory / "saved" / f"lab-{self.step}" / "kept.npy").exists(), said)

    def test_a_drain_is_not_longer_than_the_allocation(self):
        job, record = self.serving("--squeue-interval", "1s", sbatch=["--time=1"])
        server = ("--server", record["name"])
        self.wait_for_end(job, self.slurms_end(job))
        work = self.answer("submit", *LONG_JOB, *server)["jobId"]
        self.hotplate("put", "a.npy", "--name", "leased", "--lease", "1h", *server)
        watch = self.start("watch", work, *server)
        self.start("down", "--drain-timeout", "10m", *server)
        out, err = watch.communicate(timeout=harness.PATIENCE)
        self.assertEqual(watch.returncode, CANCELLED, out + err)
        self.assertEqual(self.wait_for_job(job, "COMPLETED")["ExitCode"], "0:0")
        said = self.output(job)
        self.assertNotIn("SIGTERM", said)
        self.assertNotIn("10m", said.split("draining: ")[1])
        self.assertTrue((self.directory / "saved" / record["name"] / "leased.npy").exists(), said)

    def test_an_end_that_comes_nearer_shortens_a_drain(self):
        job, record = self.serving("--squeue-interval", "1s", "--drain-timeout", "1m", sbatch=["--time=30"])
        server = ("--server", record["name"])
        self.wait_for_end(job, self.slurms_end(job))
        self.hotplate("submit", *LONG_JOB, *server)
        self.start("down", "--drain-timeout", "10m", *server)
        wait_until(lambda: "draining: asked for" in self.output(job), "the daemon drained")
        self.set_limit(job, 1)
        self.assertEqual(self.wait_for_job(job, "COMPLETED")["ExitCode"], "0:0")
        self.assertIn("draining: the allocation ends at", self.output(job))
        self.assertNotIn("SIGTERM", self.output(job))

    def test_a_squeue_that_fails_is_said_once(self):
        job, record = self.serving("--squeue-interval", "1s", script="mkdir -p bad; printf '#!/bin/sh\\necho >>asked; echo no controller >&2; exit 1\\n'"
                                   " >bad/squeue; chmod +x bad/squeue; PATH=$PWD/bad:$PATH")
        wait_until(lambda: len(self.read("asked")) >= 3, "squeue was asked again and again")
        self.assertEqual(self.output(job).count("no controller"), 1, self.output(job))
        self.assertIn("when the allocation ends is not known", self.output(job))
        self.hotplate(*RUN, "--time-limit", "45m", "--server", record["name"])

    def test_an_idle_end_frees_the_allocation_and_saves_what_is_leased(self):
        job, record = self.serving("--idle-timeout", "10s")
        server = ("--server", record["name"])
        self.assertEqual(self.answer("status", *server)["savedArrays"], str(self.directory / "saved" / record["name"]))
        self.hotplate("put", "a.npy", "--name", "leased", "--lease", "1h", *server)
        self.hotplate("submit", "integrate2d", "--n", "1000", *server)
        self.assertEqual(self.wait_for_job(job, "COMPLETED")["ExitCode"], "0:0")
        saved = self.directory / "saved" / record["name"] / "leased.npy"
        self.assertEqual(saved.read_bytes()[-24:], npy([1.5, 2.5, 3.5])[-24:])
        self.assertEqual(stat.S_IMODE(saved.stat().st_mode), 0o600)
        said = self.output(job)
        self.assertIn(f"array leased (a1) is saved: {saved}", said)
        self.assertIn("idle for 10s", said)
        self.assertIn("the kept results of 1 jobs (job 1)", said)

    def test_what_cannot_be_saved_is_named(self):
        job, record = self.serving("--idle-timeout", "10s", "--scratch", "/proc/nowhere")
        self.hotplate("put", "a.npy", "--name", "leased", "--lease", "1h", "--server", record["name"])
        self.wait_for_job(job, "COMPLETED")
        self.assertIn("array leased (a1) is not saved: the folder /proc/nowhere", self.output(job))

    def test_a_requeued_job_takes_its_name_back_from_a_node_that_is_cut_off(self):
        # Exclusive: not on the node of the daemon with the short time, whose end this waits for.
        job, first = self.serving(sbatch=["--requeue", "--exclusive"])
        node = first["endpoints"][0]["node"]
        self.addCleanup(self.lab.wait_for_nodes, [node], "idle")
        self.addCleanup(self.lab.run, "login", ["scontrol", "update", f"NodeName={node}", "State=RESUME"], user="root")
        self.addCleanup(self.lab.mend, node)
        self.lab.cut(node)
        self.lab.lines("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        fields = self.wait_for_job(job, "PENDING")
        self.assertEqual(fields["Restarts"], "1")

        def published():
            # After a failure Slurm would let it wait for two minutes.
            self.lab.run("login", ["scontrol", "update", f"JobId={job}", "StartTime=now"], user="root")
            return [record for record in self.records(job) if record["generation"] != first["generation"]]
        [second] = wait_until(published, "the daemon published itself on the other node")
        self.assertEqual((second["name"], second["restart_count"]), (first["name"], 1))
        self.assertNotEqual(second["endpoints"][0]["node"], node)
        self.hotplate(*RUN, "--server", second["name"])
        # The old one is ended, now that Slurm reaches it, and leaves the new one's record alone.
        self.lab.mend(node)
        wait_until(lambda: not any("bin/hotplated" in words for words in self.strays(node).values()), "the old daemon was ended")
        self.assertEqual(self.answer("status", "--server", second["name"])["allocation"]["restartCount"], 1)
        self.assertEqual(self.records(job)[0]["generation"], second["generation"])

    # The share of the node.

    def test_only_what_slurm_gave_of_the_node(self):
        job, record = self.serving("--lanes", "1", "--threads", "64", sbatch=["-w", "gpu1", "-c1", "--mem=300", "--gres=gpu:1"])
        status = self.answer("status", "--server", record["name"])
        [device] = status["devices"]
        self.assertEqual((device["lanes"], device["threadsPerLane"], int(device["memoryBytes"])), (1, 1, 300 * MIB))
        self.assertIn("SLURM_CPUS_ON_NODE", " ".join(status["deviceNotes"]))
        self.assertIn("SLURM_MEM_PER_NODE", " ".join(status["deviceNotes"]))
        allocation = status["allocation"]
        self.assertEqual((allocation["cluster"], allocation["jobId"], allocation["partition"], allocation["nodeList"], allocation["gpusOnNode"]),
                         ("lab", str(job), "gpu", "gpu1", 1))
        # The one GPU is paid for, and the CPU works.
        self.assertGreater(allocation["gpuMinutesUsed"], 0)
        self.assertEqual(allocation["gpuMinutesUsed"], allocation["gpuMinutesIdle"])
        self.hotplate(*RUN, "--server", record["name"])

    # Addresses.

    def test_ports_of_a_range_are_taken_in_turn_until_there_is_none(self):
        words = ("--port", "51000-51001")
        ports = {self.serving(*words, sbatch=["-w", "gpu1"])[1]["endpoints"][0]["port"] for _ in range(2)}
        self.assertEqual(ports, {51000, 51001})
        self.failed(self.submit(*words, sbatch=["-w", "gpu1"]), CANNOT_START, "no port from 51000 to 51001 is free")
        # Not a matter of ports.
        self.failed(self.submit(*words, "--listen", "192.0.2.1"), CANNOT_START, "192.0.2.1", "Cannot assign requested address")
        self.failed(self.submit(*words, "--unix-socket", "/proc/hotplate.sock"), CANNOT_START, "cannot listen on unix:/proc/hotplate.sock")

    def test_an_interface_is_listened_on_alone(self):
        _, record = self.serving("--interface", "eth0", sbatch=["-w", "gpu1"])
        self.assertEqual([endpoint["address"] for endpoint in record["endpoints"]], ["10.77.0.11"])
        self.hotplate(*RUN, "--server", record["name"])
        self.failed(self.submit("--interface", "ib7"), CANNOT_START, '"ib7"', "eth0 (10.77.0.")

    def test_the_address_of_the_nodes_name_comes_first(self):
        host = self.lab.hosts["gpu1"]
        host.run("ip link add extra type veth peer name other && ip address add 10.1.2.3/24 dev extra && ip link set extra up && "
                 "ip link set other up")
        self.addCleanup(host.run, "ip link delete extra")
        # Not what the first interface has.
        names = self.lab.folder / "etc" / "hosts-gpu1"
        names.write_text((self.lab.folder / "etc" / "hosts").read_text().replace("10.77.0.11", "10.1.2.3"))
        host.run(f"mount --bind {names} /etc/hosts")
        self.addCleanup(host.run, "umount /etc/hosts")
        _, record = self.serving(sbatch=["-w", "gpu1"])
        self.assertEqual([endpoint["address"] for endpoint in record["endpoints"]], ["10.1.2.3", "10.77.0.11"])

    def test_the_record_names_slurms_output_file(self):
        job, record = self.serving()
        self.assertEqual(record["log_file"], str(self.folder / f"{job}.out"))
        self.assertIn("serving", self.hotplate("logs", "--server", record["name"]))

    # The record.

    def test_a_folder_that_cannot_be_written(self):
        for options, status, says in (("ro", NOT_WRITABLE, "Read-only file system"), ("size=4k", CANNOT_START, "No space left on device")):
            with self.subTest(options=options):
                place = self.lab.folder / "shared" / "place"
                host = self.lab.hosts["gpu1"]
                host.run(f"mkdir -p {place} && mount -t tmpfs -o mode=1777,{options} place {place}")
                self.addCleanup(host.run, f"umount {place}")
                self.failed(self.submit(sbatch=["-w", "gpu1"], env={"HOTPLATE_DIR": f"{place}/mine"}), status, str(place), says, "HOTPLATE_DIR")
        # Told of another place, it goes there.
        job = self.submit(sbatch=["-w", "gpu1"], env={"HOTPLATE_DIR": str(self.folder / "elsewhere")})
        wait_until(lambda: (self.folder / "elsewhere" / "servers" / f"lab-{job}.json").exists(), "the record was elsewhere")
        self.hotplate(*RUN, env={"HOTPLATE_DIR": str(self.folder / "elsewhere")})
        self.lab.lines("scancel", str(job))


if __name__ == "__main__":
    harness.main()
