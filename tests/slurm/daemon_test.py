#!/usr/bin/python3
"""What the daemon makes of its allocation: its end, which it follows and drains for; its share of the node; addresses and ports;
what it saves when it ends. What befalls it at the end itself is in limits_test.py."""

import stat

import harness
from harness import LONG_JOB, NO_END_TIME, TRY_LATER, end_warning, npy, wait_until

RUN = ("run", "integrate2d", "--n", "1000")
CANNOT_START = 4
MIB = 1 << 20


class Daemon(harness.SlurmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.put_file("a.npy", npy([1.5, 2.5, 3.5]))

    def serving(self, *daemon, **options):
        job = self.submit(*daemon, **options)
        self.addCleanup(self.lab.run, "login", ["scancel", str(job)])
        [record] = self.wait_for_records(job)
        return job, record

    def failed(self, job, status, *says):
        fields = self.wait_for_job(job, "FAILED")
        self.assertEqual(fields["ExitCode"], f"{status}:0", self.output(job))
        for text in says:
            self.assertIn(text, self.output(job))

    # The end.

    def test_the_end_is_slurms_and_followed(self):
        job, record = self.serving("--squeue-interval", "1s", sbatch=["--time=30"])
        server = ("--server", record["name"])
        self.wait_for_end(job, self.slurms_end(job))
        # Of the 30 minutes it is some that are left, less what the daemon needs.
        code, _, err = self.run_command(*RUN, "--time-limit", "45m", *server)
        self.assertEqual(code, TRY_LATER, err)
        self.assertRegex(err, r"a time limit of 45m is longer than the 2\d m( \d\d s)? that are left of the allocation, which ends at "
                              r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
        self.hotplate(*RUN, "--time-limit", "20m", *server)
        self.wait_for_end(job, self.set_limit(job, 60))
        self.hotplate(*RUN, "--time-limit", "45m", *server)

        work = self.answer("submit", *LONG_JOB, *server)["jobId"]
        watch = self.start("watch", work, *server)
        self.assertTrue(watch.stdout.readline(), "its stream is open")
        wait_until(lambda: self.answer("show", work, *server)["state"] == "RUNNING", "the job ran")
        ends = [self.leave(job, 9)]
        self.wait_for_end(job, ends[0])
        wait_until(lambda: end_warning(ends[0]) in self.output(job), "the log warned 10 minutes before the end")
        # The second warning is of its own: nothing was said when the first end came nearer.
        ends.append(self.leave(job, 2))
        self.wait_for_end(job, ends[1])
        wait_until(lambda: end_warning(ends[1]) in self.output(job), "the log warned 2 minutes before the end")
        self.hotplate("cancel", work, *server)
        out, err = watch.communicate(timeout=harness.PATIENCE)
        for end in ends:
            self.assertEqual((out + err).count(end_warning(end)), 1, out + err)
        self.assertEqual(self.records(job)[0]["generation"], record["generation"])

    def test_a_squeue_that_fails_is_said_once(self):
        bad = "#!/bin/sh\\necho >>asked; echo no controller >&2; exit 1\\n"
        job, record = self.serving("--squeue-interval", "1s", script=f"{NO_END_TIME}; mkdir -p bad; printf '{bad}' >bad/squeue; "
                                   "chmod +x bad/squeue; PATH=$PWD/bad:$PATH")
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
        self.assertIn("idle for 10 s", said)
        self.assertIn("results of 1 job that nobody fetched (job ", said)

    def test_what_cannot_be_saved_is_named(self):
        job, record = self.serving("--idle-timeout", "10s", "--scratch", "/proc/nowhere")
        self.hotplate("put", "a.npy", "--name", "leased", "--lease", "1h", "--server", record["name"])
        self.wait_for_job(job, "COMPLETED")
        self.assertIn("array leased (a1) is not saved: the folder /proc/nowhere", self.output(job))

    def test_a_requeued_job_takes_its_name_back_from_a_node_that_is_cut_off(self):
        job, first = self.serving(sbatch=["--requeue"])
        node = first["endpoints"][0]["node"]
        self.addCleanup(self.lab.resume, node)
        self.addCleanup(self.lab.mend, node)
        self.lab.cut(node)
        self.lab.set_down(node)
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


if __name__ == "__main__":
    harness.main()
