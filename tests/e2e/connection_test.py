"""What can be wrong between a command and its daemon: none there, a stale or unsafe record, another key, sudden death."""

import concurrent.futures
import fcntl
import json
import os
import signal
import socket
import ssl

import numpy as np

import harness


# A record that makes no sense is a state to mend first, not a request that was invalid.
UNUSABLE_RECORD = harness.TRY_LATER


class NoDaemon(harness.Case):
    def setUp(self):
        (self.directory / "servers").mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        for path in self.directory.glob("servers/*"):
            path.unlink()
        (self.directory / "current").unlink(missing_ok=True)

    def test_no_daemon_says_how_to_start_one(self):
        for words in (("status",), ("run", "integrate2d", "--n", "10"), ("jobs",), ("submit", "integrate2d"),
                      ("arrays",), ("devices",), ("top", "--once"), ("logs",), ("watch", "1"), ("cancel", "1"), ("result", "1")):
            self.hotplate(*words, code=harness.NO_DAEMON, says="hotplate up --local")

    def test_an_unknown_server_is_named(self):
        self.hotplate("status", env={"HOTPLATE_SERVER": "nowhere"}, code=harness.NO_DAEMON, says="nowhere")

    def test_stale_record_of_a_dead_daemon(self):
        daemon = self.start_daemon()
        record = self.record()
        self.assertEqual(self.stop_daemon(daemon, signal.SIGKILL), -signal.SIGKILL)
        self.assertTrue(self.record_path().exists(), "a killed daemon cannot take its record away")
        self.hotplate("status", code=harness.NO_DAEMON, says=("local", "that process is gone"))
        self.hotplate("run", "integrate2d", "--n", "10", code=harness.NO_DAEMON)
        # A new one takes its place.
        second = self.start_daemon()
        self.assertNotEqual(self.record()["generation"], record["generation"])
        self.hotplate("run", "integrate2d", "--n", "10")
        self.assertEqual(self.stop_daemon(second), 0)
        self.assertFalse(self.record_path().exists())

    def test_stale_record_whose_port_another_program_has(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            daemon = self.start_daemon()
            record = self.record()
            self.stop_daemon(daemon)
            record["endpoints"][0]["port"] = listener.getsockname()[1]
            self.write_record(record)
            # It accepts and says nothing: the command must give up by itself.
            self.hotplate("--server", "local", "status", code=harness.NO_DAEMON, says="local")

    def test_broken_records(self):
        for text in ("", "{", "[]", "null", '{"schema_version": 1}', "\0" * 100):
            self.write_record({})
            self.record_path().write_text(text)
            code, _, err = self.run_command("--server", "local", "status")
            self.assertEqual(code, UNUSABLE_RECORD, err)
            self.assertIn("local.json", err)

    def test_record_of_a_later_version_is_refused_by_number(self):
        daemon = self.start_daemon()
        record = self.record()
        self.stop_daemon(daemon)
        self.write_record(record | {"schema_version": 99})
        code, _, err = self.run_command("--server", "local", "status")
        self.assertEqual(code, UNUSABLE_RECORD, err)
        self.assertIn("99", err)


class Record(harness.Case):
    """One daemon, and what a record may look like beside it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        cls.good = cls.record()

    def status_with(self, record, mode=0o600):
        self.write_record(record, name="changed", mode=mode)
        return self.run_command("--server", "changed", "status")

    def test_the_copy_itself_works(self):
        code, _, err = self.status_with(self.good)
        self.assertEqual(code, harness.OK, err)

    def test_unknown_fields_are_ignored(self):
        code, _, err = self.status_with(self.good | {"made_up_later": {"x": [1]}})
        self.assertEqual(code, harness.OK, err)

    def test_record_that_others_can_read_or_write(self):
        for mode in (0o640, 0o604, 0o620, 0o666):
            code, _, err = self.status_with(self.good, mode)
            self.assertEqual(code, harness.NOT_ALLOWED, f"{mode:o}: {err}")
            path = self.record_path("changed")
            self.assertIn(f"{path} can be read or written by others (mode {mode:04o})", err)
            self.assertIn(f"chmod 600 {path}", err)
            self.assertNotIn(self.good["token"], err)

    def test_folder_that_others_can_write(self):
        folder = self.record_path().parent
        try:
            self.status_with(self.good)
            folder.chmod(0o777)
            self.hotplate("--server", "changed", "status", code=harness.NOT_ALLOWED,
                          says=[f"folder {folder} can be read or written by others (mode 0777)", f"chmod 700 {folder}"])
        finally:
            folder.chmod(0o700)

    def test_wrong_token(self):
        code, _, err = self.status_with(self.good | {"token": "0" * 64})
        self.assertEqual(code, harness.NOT_ALLOWED, err)
        self.assertIn("token", err)
        code, _, err = self.status_with(self.good | {"token": ""})
        self.assertEqual(code, UNUSABLE_RECORD, err)
        self.assertNotIn(self.good["token"], self.log())

    def test_wrong_certificate(self):
        other = self.start_daemon(name="other")
        try:
            code, _, err = self.status_with(self.good | {"certificate_pem": self.record("other")["certificate_pem"]})
        finally:
            self.stop_daemon(other)
        self.assertEqual(code, harness.NOT_ALLOWED, err)
        self.assertIn("certificate", err)

    def test_wrong_client_certificate(self):
        other = self.start_daemon(name="other")
        try:
            pair = {field: self.record("other")[field] for field in ("client_certificate_pem", "client_key_pem")}
        finally:
            self.stop_daemon(other)
        code, _, err = self.status_with(self.good | pair)
        self.assertEqual(code, harness.NO_DAEMON, err)
        for text in ("client certificate", "changed.json", "hotplate use", "hotplate up"):
            self.assertIn(text, err)
        self.assertNotIn("Socket closed", err)
        for field in pair:
            code, _, err = self.status_with({name: value for name, value in self.good.items() if name != field})
            self.assertEqual(code, UNUSABLE_RECORD, err)
            self.assertIn(f"no {field}", err)
            self.assertNotIn("BEGIN", err)

    def test_a_damaged_record_does_not_show_the_token(self):
        text = json.dumps(self.good).replace(f'"{self.good["token"]}"', f'"{self.good["token"]}#')
        self.status_with(self.good)
        self.record_path("changed").write_text(text)
        code, out, err = self.run_command("--server", "changed", "status")
        self.assertEqual(code, UNUSABLE_RECORD, err)
        for start in range(0, 57):
            self.assertNotIn(self.good["token"][start:start + 8], out + err)

    def test_a_certificate_that_is_none(self):
        code, _, err = self.status_with(self.good | {"certificate_pem": "hello"})
        self.assertEqual(code, UNUSABLE_RECORD, err)
        self.assertIn("changed.json", err)
        self.assertIn("certificate_pem", err)

    def test_top_in_a_pipe_looks_once(self):
        self.assertEqual(self.answer("--server", "local", "top")["info"]["name"], "local")
        self.assertEqual(self.hotplate("--server", "local", "top", "--quiet"), "")
        self.assertIn("local", self.hotplate("--server", "local", "top"))

    def test_a_proxy_in_the_environment_is_not_asked(self):
        proxy = "http://127.0.0.1:9"  # nobody listens there
        self.hotplate("status", env={"http_proxy": proxy, "https_proxy": proxy, "grpc_proxy": proxy, "HTTP_PROXY": proxy})

    def test_garbage_on_the_port_leaves_the_daemon_well(self):
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 4096, b"\x16\x03\x01" + b"\xff" * 512, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.good["endpoints"][0]["port"]), timeout=10) as connection:
                connection.sendall(data)
        self.hotplate("run", "integrate2d", "--n", "10")


class BareTls(harness.Case):
    """Who gets past TLS's handshake to gRPC's HTTP/2, by a client that has nothing but TLS."""

    HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0" + b"\0\0\0\0"  # with empty settings
    PING, ANSWER = (b"\0\0\x08\6" + flags + b"\0\0\0\0" + b"anybody?" for flags in (b"\0", b"\1"))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        cls.good = cls.record()

    def said(self, certificate, key, version):
        """All that the daemon says until it answers a ping, or hangs up."""
        context = ssl.create_default_context(cadata=self.good["certificate_pem"])
        context.minimum_version = context.maximum_version = version
        context.set_alpn_protocols(["h2"])
        if certificate:
            pem = self.folder / "client.pem"
            pem.write_text(certificate + key)
            context.load_cert_chain(pem)
        said = b""
        try:
            with socket.create_connection(("127.0.0.1", self.good["endpoints"][0]["port"]), timeout=harness.PATIENCE) as plain:
                with context.wrap_socket(plain, server_hostname="hotplate") as connection:
                    connection.sendall(self.HELLO + self.PING)
                    while self.ANSWER not in said and (block := connection.recv(65536)):
                        said += block
        except (ssl.SSLError, ConnectionError):
            pass
        return said

    def test_without_the_records_certificate_nothing_is_read_or_said(self):
        right = (self.good["client_certificate_pem"], self.good["client_key_pem"])
        other = self.start_daemon(name="other")
        wrong = (self.record("other")["client_certificate_pem"], self.record("other")["client_key_pem"])
        self.assertEqual(self.stop_daemon(other), 0)
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            self.assertIn(self.ANSWER, self.said(*right, version))
            for pair in (("", ""), wrong):
                with self.subTest(version=version, pair=pair):
                    self.assertEqual(self.said(*pair, version), b"")
        self.hotplate("run", "integrate2d", "--n", "10")


class Places(harness.Case):
    """Where `up` may put what it makes."""

    def test_folders_that_are_missing_are_made_for_this_user_alone(self):
        place = self.folder / "not" / "there" / "yet"
        env = {"HOTPLATE_DIR": str(place)}
        self.hotplate("up", "--local", env=env)
        try:
            for folder in (place, place.parent, place.parent.parent):
                self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        finally:
            self.hotplate("down", env=env)
        self.assertFalse((place / "servers" / "local.json").exists())

    def test_a_place_that_cannot_be_is_named(self):
        (self.folder / "file").write_text("in the way")
        for place in (self.folder / "file" / "below", self.folder / "file", "/" + "x" * 300):
            self.hotplate("up", "--local", env={"HOTPLATE_DIR": str(place)}, code=harness.INVALID,
                          says=("cannot be made", "HOTPLATE_DIR"))

    def test_a_folder_that_others_may_write_to_ends_up_as_it_ends_the_daemon(self):
        shared = self.folder / "shared"
        (shared / "servers").mkdir(parents=True)
        shared.chmod(0o777)
        self.addCleanup(shared.chmod, 0o700)
        self.hotplate("up", "--local", "--name", "shared", env={"HOTPLATE_DIR": str(shared)}, code=harness.NOT_ALLOWED,
                      says="hotplated ended with code 6")

    def test_options_that_a_running_daemon_does_not_get_are_named(self):
        self.hotplate("up", "--local", "--name", "there", "--", "--device", "cpu")
        try:
            told = self.run_command("up", "--local", "--name", "there", "--", "--idle-timeout", "2h", "--nosuch")
            self.assertEqual(told[0], harness.OK)
            self.assertIn("already running", told[1])
            self.assertIn("--idle-timeout 2h --nosuch were not applied; to start it anew: hotplate down there", told[2])
            self.assertNotIn("applied", self.run_command("up", "--local", "--name", "there")[2])
        finally:
            self.hotplate("down", "there")


class Competition(harness.Case):
    def test_two_up_at_once_start_one_daemon(self):
        commands = [self.start("up", "--local") for _ in range(2)]
        ends = [(command.communicate(timeout=harness.PATIENCE), command.returncode) for command in commands]
        for (out, err), code in ends:
            # Both find the one daemon, or one is told to come later; neither may break.
            self.assertIn(code, (harness.OK, harness.TRY_LATER), out + err)
        self.assertIn(harness.OK, [code for _, code in ends])
        pid = self.answer("status")["pid"]
        self.assertEqual(self.record()["pid"], pid)
        self.hotplate("run", "integrate2d", "--n", "10")
        self.hotplate("down")
        harness.wait_until(lambda: not harness.alive(pid), "the daemon ended")

    def test_a_second_daemon_of_the_same_name_names_the_first(self):
        first = self.start_daemon()
        second = self.start_daemon(ready=False)
        out, _ = second.communicate(timeout=harness.PATIENCE)
        said = out + self.log()
        self.assertEqual(second.returncode, harness.TRY_LATER, said)
        self.assertIn(str(first.pid), said)
        self.assertEqual(self.record()["pid"], first.pid, "the first one's record is as it was")
        self.assertEqual(self.stop_daemon(first), 0)

    def test_the_lock_is_held_for_life(self):
        daemon = self.start_daemon()
        lock = self.record_path().with_suffix(".lock")
        with open(lock, "rb") as file:
            with self.assertRaises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.stop_daemon(daemon)
        with open(lock, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class SuddenDeath(harness.Case):
    def test_daemon_killed_in_the_middle_of_a_run(self):
        daemon = self.start_daemon()
        (self.folder / "old.npy").write_bytes(b"what was there before")
        run, shown = self.start_on_terminal("run", *harness.LONG_JOB, "-o", "value=old.npy")
        harness.wait_until(lambda: b"%" in shown(), "it shows its job's progress")
        job_id = self.answer("jobs")["jobs"][0]["id"]
        daemon.kill()
        harness.wait_until(lambda: (shown(), run.poll())[1] is not None, "it notices")
        said = " ".join(shown().decode(errors="replace").split())  # lines are as wide as the terminal
        self.assertEqual(run.returncode, harness.NO_DAEMON, said)
        for words in ('daemon "local" (pid ', "does not answer", f"(job {job_id} was under way)", "old.npy not written",
                      "what happened to it: hotplate logs"):
            self.assertIn(words, said)
        self.assertEqual((self.folder / "old.npy").read_bytes(), b"what was there before")

    def test_top_goes_on_with_the_next_start_of_its_daemon(self):
        daemon = self.start_daemon()
        top = self.start("top", "--json", "--interval", "200ms")
        self.assertIn(self.record()["generation"], top.stdout.readline())
        self.stop_daemon(daemon, signal.SIGKILL)
        second = self.start_daemon()
        generation = self.record()["generation"]
        self.assertTrue(any(generation in line for line in top.stdout), "it ended before")
        top.terminate()
        err = top.communicate(timeout=harness.PATIENCE)[1]
        # Of a start that was soon enough nothing is said.
        self.assertEqual("! connection lost" in err, "! connected again" in err)
        self.assertNotIn("hotplate up", err)
        self.assertEqual(self.stop_daemon(second), 0)

    def test_what_became_of_its_allocation_is_said(self):
        """A daemon of a batch job that Slurm requeues: nobody is told to start another one."""
        programs = self.folder / "programs"
        programs.mkdir()
        for name, says in (("squeue", f"41|PENDING|1795292833|1795293133||{os.getuid()}|BeginTime"),
                           ("scontrol", "ClusterName             = fake")):
            (programs / name).write_text(f"#!/bin/sh\necho '{says}'\n")
            (programs / name).chmod(0o755)
        daemon = self.start_daemon("--listen", "127.0.0.1",
                                   env={"SLURM_JOB_ID": "41", "SLURM_CLUSTER_NAME": "fake", "SLURMD_NODENAME": "gpu1",
                                        "HOTPLATE_SQUEUE_INTERVAL": "0"})
        job_id = self.submit_long_job()
        watch = self.start("watch", job_id, env={"PATH": f"{programs}:{os.environ['PATH']}"})
        self.assertIn("RUNNING", watch.stdout.readline() + watch.stdout.readline())
        daemon.kill()
        err = watch.communicate(timeout=harness.PATIENCE)[1]
        self.assertEqual(watch.returncode, harness.NO_DAEMON, err)
        self.assertIn("will be restarted: job 41  PENDING", err)
        self.assertNotIn("hotplate up", err)

    def test_watch_of_a_daemon_that_dies(self):
        daemon = self.start_daemon()
        job_id = self.submit_long_job()
        watch = self.start("watch", job_id)
        wait = self.start("wait", job_id)
        self.assertIn("RUNNING", watch.stdout.readline() + watch.stdout.readline())
        daemon.kill()
        for command in (watch, wait):
            out, err = command.communicate(timeout=harness.PATIENCE)
            self.assertEqual(command.returncode, harness.NO_DAEMON, out + err)


class Flags(harness.Case):
    def test_insecure_is_not_for_tcp(self):
        for address in ("0.0.0.0", "127.0.0.1"):
            daemon = self.start_daemon("--insecure", "--listen", address, ready=False)
            out, _ = daemon.communicate(timeout=harness.PATIENCE)
            self.assertEqual(daemon.returncode, harness.USAGE)
            self.assertIn(f'insecure with listen "{address}"', out + self.log())
            self.assertFalse(self.record_path().exists())

    def test_insecure_on_its_own_socket_still_asks_for_the_token(self):
        path = self.folder / "open-socket"
        daemon = self.start_daemon("--insecure", "--unix-socket", path, name="open", umask=0)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.hotplate("--server", "open", "run", "integrate2d", "--n", "10")
        self.write_record(self.record("open") | {"token": "1" * 64}, name="forged")
        self.hotplate("--server", "forged", "status", code=harness.NOT_ALLOWED)
        self.stop_daemon(daemon)

    def test_unix_socket(self):
        path = self.folder / "socket"
        daemon = self.start_daemon("--unix-socket", path, name="unix")
        self.assertEqual(self.record("unix")["endpoints"][0]["address"], f"unix:{path}")
        self.hotplate("--server", "unix", "run", "integrate2d", "--n", "10")
        another = self.start_daemon("--unix-socket", path, name="another", ready=False)
        out, _ = another.communicate(timeout=harness.PATIENCE)
        self.assertNotEqual(another.returncode, 0)
        self.assertIn(f"unix:{path}: Address already in use", out + self.log("another"))
        self.hotplate("--server", "unix", "run", "integrate2d", "--n", "10")
        self.assertEqual(self.stop_daemon(daemon), 0)
        self.assertFalse(path.exists())

    def test_a_hang_up_ends_it_in_order(self):
        daemon = self.start_daemon(name="hung-up")
        self.assertEqual(self.stop_daemon(daemon, signal.SIGHUP), 0)
        self.assertFalse(self.record_path("hung-up").exists())
        self.assertIn("SIGHUP", self.log("hung-up"))

    def test_a_wrong_flag_is_named_and_nothing_starts(self):
        for flags, word in ((("--port", "70000"), '--port is "70000"; it must be '),
                            (("--message-bytes", "lots"), '--message-bytes is "lots"; it must be '),
                            (("--idle-timeout", "-3s"), '--idle-timeout is "-3s"; it must be '),
                            (("--no-such-flag",), "not expected: --no-such-flag"),
                            (("--insecure", "--lanes", "2", "stray"), "not expected: stray"),
                            (("--device", "tpu"), '--device is "tpu"; it must be ')):
            daemon = self.start_daemon(*flags, ready=False)
            out, _ = daemon.communicate(timeout=harness.PATIENCE)
            self.assertEqual(daemon.returncode, harness.USAGE, flags)
            self.assertIn(word, out + self.log())
            self.assertFalse(self.record_path().exists())

    def test_require_cuda_refuses_to_fall_back(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU")
        daemon = self.start_daemon("--device", "auto", "--require-cuda", ready=False)
        out, _ = daemon.communicate(timeout=harness.PATIENCE)
        self.assertEqual(daemon.returncode, harness.INVALID)
        self.assertIn("no usable CUDA device: ", out + self.log())

    def test_environment_and_file_and_flag(self):
        config = self.folder / "hotplated.toml"
        config.write_text('queue = 7\nlanes = 3\nname = "from-file"\n')

        def effective(*flags, **env):
            daemon = self.start_daemon("--config", config, "--check-config", *flags, ready=False, env=env)
            out, _ = daemon.communicate(timeout=harness.PATIENCE)
            self.assertEqual(daemon.returncode, 0, out)
            return out

        self.assertRegex(effective(), r"queue\s*=\s*7\b")
        self.assertRegex(effective(HOTPLATE_QUEUE="8"), r"queue\s*=\s*8\b")
        self.assertRegex(effective("--queue", "9", HOTPLATE_QUEUE="8"), r"queue\s*=\s*9\b")
        self.assertRegex(effective(), r"lanes\s*=\s*3\b")

    def test_an_idle_daemon_ends_itself(self):
        daemon = self.start_daemon("--idle-timeout", "1s", name="idle", ready=False)
        self.assertEqual(daemon.wait(timeout=harness.PATIENCE), 0)
        self.assertFalse(self.record_path("idle").exists())
        self.assertIn("ends itself after 1 s without use", self.log("idle"))

    def test_a_daemon_says_whether_it_ends_itself(self):
        for timeout, logged, shown in (("90m", "ends itself after 1 h 30 m without use", "ends itself after "),
                                       ("0", "never ends itself for want of use (--idle-timeout 0)", "never ends itself")):
            name = f"idle{timeout}"
            daemon = self.start_daemon("--idle-timeout", timeout, name=name)
            status = self.hotplate("--server", name, "status")
            self.assertRegex(status, f"idle .*; {shown}")
            self.assertIn(logged, self.log(name))
            self.stop_daemon(daemon)

    def test_looking_on_keeps_no_daemon_alive(self):
        daemon = self.start_daemon("--idle-timeout", "2s", name="watched")
        top = self.start("--server", "watched", "top", "--json", "--interval", "500ms")
        self.assertEqual(daemon.wait(timeout=harness.PATIENCE), 0)
        self.assertIn("idle for 2 s", self.log("watched"))
        top.kill()

    def test_what_goes_with_a_daemon_is_named(self):
        daemon = self.start_daemon("--scratch", "/proc/nowhere", "--journal", "off", name="holder")  # there it cannot be saved
        np.save(self.folder / "x.npy", np.zeros(4, np.float32))
        self.hotplate("--server", "holder", "put", "x.npy", "--name", "temperatures")
        job_id = self.answer("--server", "holder", "submit", "integrate2d", "--n", "10")["jobId"]
        self.hotplate("--server", "holder", "wait", job_id)
        self.assertEqual(self.stop_daemon(daemon), 0)
        dropped = [line for line in self.log("holder").splitlines() if "dropped with this daemon" in line]
        self.assertEqual(len(dropped), 1, self.log("holder"))
        for text in ("1 array of 16", "results of 1 job that nobody fetched", "temperatures", f"job {job_id}"):
            self.assertIn(text, dropped[0])

    def test_a_path_root_that_is_not_there_is_named(self):
        daemon = self.start_daemon("--path-root", "/no/such/folder-17", name="rootless")
        self.assertRegex(self.log("rootless"), 'warning path-root "/no/such/folder-17"')
        self.assertEqual(self.stop_daemon(daemon), 0)

    def test_what_grpc_has_to_say_goes_to_the_log(self):
        daemon = self.start_daemon(name="scanned")
        address = ("127.0.0.1", self.record("scanned")["endpoints"][0]["port"])
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        harness.wait_until(lambda: " error grpc: " in self.log("scanned"), "gRPC complained into the log")
        self.assertEqual(self.stop_daemon(daemon), 0)
        self.assertEqual(daemon.stdout.read(), "")

    def test_the_manual_page(self):
        daemon = self.start_daemon("--man", ready=False)
        out, _ = daemon.communicate(timeout=harness.PATIENCE)
        self.assertEqual(daemon.returncode, 0)
        self.assertTrue(out.startswith(".TH HOTPLATED 1"), out[:80])


class ManyClients(harness.Case):
    def test_concurrent_commands(self):
        self.start_daemon()

        def one(number):
            return self.answer("run", "integrate2d", "--n", str(50 + number))["jobId"]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(one, range(40)))
        self.assertEqual(len(set(ids)), 40)
        states = {job["id"]: job["state"] for job in self.answer("jobs")["jobs"]}
        self.assertEqual({states[job_id] for job_id in ids}, {"COMPLETED"})


if __name__ == "__main__":
    harness.main()
