"""Guests: tokens of the owner's, their records, what they may do and what not, and how they end."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import time
import unittest

import harness

NOBODY = 65534


def make_array(path):
    """1000 float32."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }"
    header += b" " * (118 - len(header) - 1) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(4000))


class Guests(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.allowed = cls.folder / "data"
        (cls.allowed / "course").mkdir(parents=True)
        cls.shared = cls.folder / "records"
        cls.shared.mkdir(mode=0o755)
        cls.daemon = cls.start_daemon("--cpu-devices", "2", "--path-root", cls.allowed, "--lanes", "1")
        for folder in (cls.folder, cls.allowed, cls.allowed / "course"):
            make_array(folder / "x.npy")

    def tearDown(self):
        for token in self.answer("token", "list").get("tokens", []):
            if "endTime" not in token:
                self.hotplate("token", "revoke", token["name"])

    def record_of(self, name):
        return self.shared / f"{name}.json"

    def invite(self, name, *more, join=True):
        """A token, and its guest's environment."""
        self.hotplate("token", "create", "--for", name, "--scope", "submit", "-o", self.record_of(name), *more)
        home = self.folder / f"home-{name}"
        shutil.rmtree(home, ignore_errors=True)
        environment = {"HOTPLATE_DIR": str(home)}
        if join:
            self.hotplate("join", self.record_of(name), env=environment)
        return environment

    def token(self, name):
        return next(one for one in self.answer("token", "list")["tokens"] if one["name"] == name)

    # Jobs and arrays of its own.

    def test_a_guest_runs_jobs_and_sees_its_own_alone(self):
        anna, ben = self.invite("anna"), self.invite("ben")
        self.hotplate("run", "selu", "x.npy", "-o", "y.npy", env=anna)
        self.hotplate("put", "x.npy", "--name", "mine", "--lease", "5m", env=anna)
        job = self.answer("submit", "selu", "array:mine", env=anna)["jobId"]
        self.hotplate("wait", job, env=anna)
        self.assertEqual(self.answer("jobs", env=anna)["jobs"][0]["id"], job)
        self.hotplate("show", job, code=harness.INVALID, env=ben)
        self.assertEqual(self.answer("jobs", env=ben).get("jobs", []), [])
        self.assertEqual(self.answer("arrays", env=ben).get("arrays", []), [])
        self.hotplate("get", "mine", "-o", "z.npy", code=harness.INVALID, env=ben)
        self.hotplate("cancel", job, code=harness.INVALID, env=ben)
        self.hotplate("put", "x.npy", "--name", "mine", "--lease", "5m", env=ben)  # a name of its own
        self.assertEqual(self.job(job)["state"], "COMPLETED", "the owner sees all")
        self.hotplate("free", "mine", env=anna)

    def test_the_record_is_the_guests_own(self):
        self.invite("anna")
        record, own = json.loads(self.record_of("anna").read_text()), self.record()
        self.assertEqual(stat.S_IMODE(self.record_of("anna").stat().st_mode), 0o600)
        self.assertEqual((record["guest"], record["name"], record["endpoints"]), ("anna", "local", own["endpoints"]))
        for key in ("token", "client_key_pem", "client_certificate_pem"):
            self.assertNotEqual(record[key], own[key])
        self.assertEqual(record["certificate_pem"], own["certificate_pem"])
        self.assertNotIn("log_file", record)
        kept = (self.directory / "tokens" / "local.json").read_text()
        self.assertIn('"anna"', kept)
        self.assertNotIn(record["token"], kept)
        self.assertNotIn(record["token"], self.log())

    def test_a_token_needs_its_own_certificate(self):
        self.invite("anna")
        ben = self.invite("ben")
        anna_record = json.loads(self.record_of("anna").read_text())
        stolen = json.loads(self.record_of("ben").read_text()) | {"token": anna_record["token"]}
        self.record_of("ben").write_text(json.dumps(stolen))
        self.hotplate("jobs", code=harness.NOT_ALLOWED, says='token "anna" was sent with another client\'s certificate', env=ben)

    # The owner's alone.

    def test_no_code_and_nothing_that_is_the_owners(self):
        anna = self.invite("anna")
        for words in (("exec", "true"), ("python", "-c", "print(1)"), ("submit", "exec", "true"), ("token", "list"),
                      ("token", "create", "--for", "x", "--scope", "submit", "-o", self.folder / "x.json"),
                      ("workers", "restart"), ("env", "add", "e", "--python", "/usr/bin/python3"), ("cache", "clear")):
            self.hotplate(*words, code=harness.NOT_ALLOWED, says='token "anna" has the scope submit', env=anna)
        self.assertFalse((self.folder / "x.json").exists())
        self.hotplate("down", code=harness.NOT_ALLOWED, says="its owner alone can end it", env=anna)
        self.hotplate("run", "selu", "x.npy", "-o", "y.npy", "--priority", "1", code=harness.NOT_ALLOWED, says="0 at most", env=anna)
        info = self.answer("status", env=anna)
        self.assertEqual((info["atStake"], info["savedArrays"], info["limits"]["pathRoots"]), ("", "", []))

    def test_with_the_full_account_code_runs(self):
        ben = self.invite("ben")
        self.hotplate("token", "create", "--for", "cleo", "--scope", "code", "--full-account", "-o", self.record_of("cleo"))
        cleo = {"HOTPLATE_DIR": str(self.folder / "home-cleo")}
        self.hotplate("join", self.record_of("cleo"), env=cleo)
        self.assertIn("hello", self.hotplate("exec", "echo", "hello", env=cleo))
        job = json.loads(self.hotplate("submit", "--json", "exec", "echo", "later", env=cleo))["jobId"]
        self.hotplate("wait", job, env=cleo)
        self.assertIn("later", self.hotplate("logs", job, env=cleo))
        # Its own jobs alone, and nothing that is the owner's.
        other = self.answer("submit", "selu", "x.npy", env=ben)["jobId"]
        self.hotplate("show", other, code=harness.INVALID, env=cleo)
        self.hotplate("show", job, code=harness.INVALID, env=ben)
        for words in (("token", "list"), ("workers", "restart"), ("env", "add", "e", "--python", "/usr/bin/python3"),
                      ("cache", "clear")):
            self.hotplate(*words, code=harness.NOT_ALLOWED, says='token "cleo" has the scope code', env=cleo)
        self.hotplate("down", code=harness.NOT_ALLOWED, says="its owner alone can end it", env=cleo)
        self.hotplate("run", "selu", f"path:{self.allowed}/x.npy", "-o", "y.npy", code=harness.NOT_ALLOWED, env=cleo)

    def test_one_who_observes_submits_nothing(self):
        self.hotplate("token", "create", "--for", "eve", "--scope", "observe", "-o", self.record_of("eve"))
        eve = {"HOTPLATE_DIR": str(self.folder / "home-eve")}
        self.hotplate("join", self.record_of("eve"), env=eve)
        self.hotplate("devices", env=eve)
        self.hotplate("run", "selu", "x.npy", "-o", "y.npy", code=harness.NOT_ALLOWED, says='token "eve" has the scope observe',
                      env=eve)

    def test_files_on_the_node(self):
        anna = self.invite("anna")
        path = f"path:{self.allowed}/course/x.npy"
        self.hotplate("run", "selu", path, "-o", "y.npy", code=harness.NOT_ALLOWED, says="may read no files", env=anna)
        ben = self.invite("ben", "--path-root", self.allowed / "course")
        self.hotplate("run", "selu", path, "-o", "y.npy", env=ben)
        self.hotplate("run", "selu", f"path:{self.allowed}/x.npy", "-o", "y.npy", code=harness.NOT_ALLOWED, env=ben)
        self.hotplate("run", "selu", "x.npy", "-o", f"path:{self.allowed}/course/y.npy", code=harness.NOT_ALLOWED,
                      says="may not write files", env=ben)
        self.assertFalse((self.allowed / "course" / "y.npy").exists())

    # Bounds.

    def test_devices(self):
        anna = self.invite("anna", "--devices", "cpu1")
        self.hotplate("run", "selu", "x.npy", "-o", "y.npy", "--device", "cpu0", code=harness.NOT_ALLOWED, says="cpu1", env=anna)
        job = self.answer("submit", "selu", "x.npy", env=anna)["jobId"]
        self.hotplate("wait", job, env=anna)
        self.assertEqual(self.answer("show", job, env=anna)["receipt"]["device"], "cpu1")
        self.hotplate("token", "create", "--for", "b", "--scope", "submit", "--devices", "cpu7", "-o", self.record_of("b"),
                      code=harness.INVALID, says="cpu7")

    def test_jobs_at_a_time(self):
        anna = self.invite("anna", "--max-jobs", "2")
        jobs = [self.answer("submit", *harness.LONG_JOB, env=anna)["jobId"] for _ in range(2)]
        self.hotplate("submit", "selu", "x.npy", code=harness.TRY_LATER, says="max-jobs", env=anna)
        self.assertEqual(self.token("anna")["jobs"], 2)
        self.hotplate("cancel", jobs[0], env=anna)
        self.wait_for_state(jobs[0], "CANCELLED")
        self.hotplate("submit", "selu", "x.npy", env=anna)
        self.hotplate("cancel", jobs[1], env=anna)

    def test_bytes_of_arrays(self):
        carl = self.invite("carl", "--quota-bytes", "10kB")
        for name in ("a", "b"):
            self.hotplate("put", "x.npy", "--name", name, "--lease", "5m", env=carl)
        self.hotplate("put", "x.npy", "--name", "c", "--lease", "5m", code=harness.TRY_LATER, says="quota-bytes", env=carl)
        self.assertEqual(int(self.token("carl")["arrayBytes"]), 8000)
        self.hotplate("free", "a", "b", env=carl)
        self.hotplate("put", "x.npy", "--name", "c", "--lease", "5m", env=carl)

    # How it ends.

    def test_revoked(self):
        anna = self.invite("anna")
        job = self.answer("submit", *harness.LONG_JOB, env=anna)["jobId"]
        self.wait_for_state(job, "RUNNING")
        kept = self.folder / "kept.json"
        shutil.copy(self.record_of("anna"), kept)
        self.hotplate("token", "revoke", "ana", code=harness.INVALID, says="anna")
        self.assertEqual(self.answer("token", "revoke", "anna")["cancelledJobs"], 1)
        self.wait_for_state(job, "CANCELLED")
        self.assertIn("its token was revoked", self.job(job)["error"]["message"])
        self.assertFalse(self.record_of("anna").exists())
        shutil.copy(kept, self.record_of("anna"))
        self.hotplate("jobs", code=harness.NOT_ALLOWED, says='token "anna" was revoked', env=anna)
        for _ in range(40):  # a command makes a call or more
            code, out, err = self.run_command("jobs", env=anna)
            if code == harness.TRY_LATER:
                break
        self.assertIn("too many calls with a wrong or ended token", out + err)
        self.hotplate("jobs")
        self.record_of("anna").unlink()
        self.assertIn("endTime", self.token("anna"))
        again = self.invite("anna")
        self.hotplate("jobs", env=again)

    def test_expired(self):
        anna = self.invite("anna", "--expires", "3s")

        def refused():
            code, _, err = self.run_command("jobs", env=anna)
            return code != harness.OK and err

        said = harness.wait_until(refused, "the token expired")
        self.assertIn('token "anna" expired at', said)
        self.hotplate("token", "create", "--for", "anna", "--scope", "submit", "--expires", "1h", "-o", self.record_of("anna"))
        self.hotplate("jobs", env=anna)

    # Bad input.

    def test_what_is_refused(self):
        self.invite("anna")
        create = ("token", "create", "--scope", "submit")
        for words, says in (
                (("--for", "anna", "-o", self.record_of("other")), 'there is a token "anna"'),
                (("--for", "owner", "-o", self.record_of("o")), "owner"),
                (("--for", "../x", "-o", self.record_of("o")), "../x"),
                (("--for", "b", "-o", self.record_of("anna")), "anna"),
                (("--for", "b", "-o", self.folder / "no" / "b.json"), "no"),
                (("--for", "b", "-o", self.folder / "x.npy"), "x.npy is there"),
                (("--for", "b", "-o", self.record_of("b"), "--path-root", self.folder / "x.npy"), "x.npy"),
        ):
            code, out, err = self.run_command(*create, *words)
            self.assertIn(code, (harness.INVALID, harness.USAGE), (words, out, err))
            self.assertIn(says, err, words)
        for scope, says in (("code", "--full-account"), ("admin", "--full-account"), ("sudo", "sudo")):
            code, _, err = self.run_command("token", "create", "--for", "b", "--scope", scope, "-o", self.record_of("b"))
            self.assertIn(code, (harness.INVALID, harness.USAGE), err)
            self.assertIn(says, err)
        self.assertEqual(len(self.answer("token", "list")["tokens"]) - sum(
            "endTime" in one for one in self.answer("token", "list")["tokens"]), 1)

    def test_a_record_that_others_could_replace(self):
        course = self.folder / "course"
        (course / "tokens").mkdir(mode=0o755, parents=True)
        course.chmod(0o2775)
        record = course / "tokens" / "dan.json"
        create = ("token", "create", "--for", "dan", "--scope", "submit", "-o", record)
        code, _, refused = self.run_command(*create)
        self.assertNotEqual(code, harness.OK)
        self.assertIn(f"chmod +t {course.resolve()}", refused)
        self.assertFalse(record.exists())
        course.chmod(0o3775)
        self.hotplate(*create)
        dan = {"HOTPLATE_DIR": str(self.folder / "home-dan")}
        self.hotplate("join", record, env=dan)
        self.hotplate("jobs", env=dan)
        course.chmod(0o2775)
        self.hotplate("jobs", code=harness.NOT_ALLOWED, says=f"chmod +t {course.resolve()}", env=dan)
        course.chmod(0o755)

    def test_join_takes_records_of_guests_alone(self):
        home = {"HOTPLATE_DIR": str(self.folder / "home-nobody")}
        self.hotplate("join", self.record_path(), code=harness.INVALID, says="owner", env=home)
        self.hotplate("join", self.folder / "x.npy", code=harness.INVALID, env=home)
        self.assertFalse(pathlib.Path(home["HOTPLATE_DIR"], "servers", "local.json").exists())

    @unittest.skipUnless(os.geteuid() == 0, "takes root, to be somebody else")
    def test_somebody_else(self):
        # Other users can enter neither the folder of a test run nor, perhaps, that of the programs.
        place = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-e2e-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, place)
        place.chmod(0o755)
        record, home = place / "anna.json", place / "home"
        self.hotplate("token", "create", "--for", "anna", "--scope", "submit", "-o", record)
        os.chown(record, 0, NOBODY)
        record.chmod(0o640)
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        shutil.copy(harness.BIN / "hotplate", place)

        def as_nobody(*words):
            return subprocess.run([place / "hotplate", *map(str, words)], user=NOBODY, group=NOBODY, extra_groups=[],
                                  cwd=home, env=self.environment | {"HOTPLATE_DIR": str(home / "own"), "HOME": str(home)},
                                  capture_output=True, text=True, check=False)

        joined = as_nobody("join", record)
        self.assertEqual(joined.returncode, 0, joined.stderr)
        ran = as_nobody("run", "integrate2d", "--n", "100")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        record.chmod(0o644)
        refused = as_nobody("jobs")
        self.assertEqual(refused.returncode, harness.NOT_ALLOWED, refused.stderr)
        self.assertIn("chmod", refused.stderr)


class Course(harness.Case):
    """A teacher, thirty learners, one lane."""

    LEARNERS, JOBS, EAGER = 30, 2, 20

    def test_each_gets_its_share_whoever_asked_first(self):
        self.start_daemon("--lanes", "1")
        learners = {}
        for number in range(self.LEARNERS):
            name = f"learner{number:02}"
            record = self.folder / f"{name}.json"
            self.hotplate("token", "create", "--for", name, "--scope", "submit", "--max-jobs", self.EAGER, "-o", record)
            learners[name] = {"HOTPLATE_DIR": str(self.folder / name)}
            self.hotplate("join", record, env=learners[name])
        running = self.submit_long_job()
        eager = "learner00"
        for name, environment in learners.items():
            for number in range(self.EAGER if name == eager else self.JOBS):
                self.hotplate("submit", "integrate2d", "--n", 1000 + number, env=environment)
        self.assertEqual({one["name"]: one["jobs"] for one in self.answer("token", "list")["tokens"]},
                         {name: self.EAGER if name == eager else self.JOBS for name in learners})
        self.hotplate("cancel", running)
        jobs = {}
        harness.wait_until(lambda: not self.answer("jobs", "--active")["jobs"], "all have ended")
        for name, environment in learners.items():
            jobs[name] = self.answer("jobs", env=environment)["jobs"]
            self.assertEqual({job["state"] for job in jobs[name]}, {"COMPLETED"})
        self.assertEqual([len(of) for of in jobs.values()], [self.EAGER] + [self.JOBS] * (self.LEARNERS - 1))
        last = max(job["startTime"] for name, of in jobs.items() if name != eager for job in of)
        before = sum(job["startTime"] < last for job in jobs[eager])
        # All came before theirs.
        self.assertLessEqual(abs(before - self.JOBS), 1, "the others had to wait for the share of the eager one alone")
        for number in range(self.JOBS):
            round_of = sorted(job["startTime"] for of in jobs.values() for job in of)[
                number * self.LEARNERS:(number + 1) * self.LEARNERS]
            served = [name for name, of in jobs.items() if any(job["startTime"] in round_of for job in of)]
            self.assertGreaterEqual(len(served), self.LEARNERS - 1, f"round {number}")


class Restart(harness.Case):
    def test_the_next_daemon_knows_its_guests_and_they_notice_nothing(self):
        daemon = self.start_daemon()
        record = self.folder / "anna.json"
        self.hotplate("token", "create", "--for", "anna", "--scope", "submit", "--max-jobs", "1", "--expires", "1h", "-o", record)
        self.hotplate("token", "create", "--for", "brief", "--scope", "submit", "--expires", "2s", "-o", self.folder / "brief.json")
        anna = {"HOTPLATE_DIR": str(self.folder / "home")}
        self.hotplate("join", record, env=anna)
        record.chmod(0o640)
        before = json.loads(record.read_text())["token"]
        job = self.answer("submit", "integrate2d", "--n", "64", env=anna)["jobId"]
        self.hotplate("wait", job, env=anna)
        over = time.time() + 2
        daemon.kill()
        daemon.wait()
        harness.wait_until(lambda: time.time() > over, "the brief one's time is over")
        self.start_daemon()
        harness.wait_until(lambda: json.loads(record.read_text())["token"] != before, "the record is written anew")
        self.assertEqual(stat.S_IMODE(record.stat().st_mode), 0o640, "as the owner had made it")
        self.assertEqual(self.answer("show", job, env=anna)["state"], "COMPLETED")
        self.answer("submit", *harness.LONG_JOB, env=anna)
        self.hotplate("submit", "integrate2d", "--n", "64", code=harness.TRY_LATER, says="max-jobs", env=anna)
        self.assertEqual([(one["name"], "endTime" in one) for one in self.answer("token", "list")["tokens"]],
                         [("anna", False), ("brief", True)])
        self.assertIn('token "brief" has expired', self.log())


class Admin(harness.Case):
    def test_one_of_scope_admin_sees_all_and_ends_the_daemon(self):
        daemon = self.start_daemon()
        record = self.folder / "dean.json"
        self.hotplate("token", "create", "--for", "dean", "--scope", "admin", "--full-account", "-o", record)
        dean = {"HOTPLATE_DIR": str(self.folder / "home")}
        self.hotplate("join", record, env=dean)
        job = self.answer("submit", "integrate2d", "--n", "64")["jobId"]
        self.hotplate("wait", job)
        self.assertEqual(self.answer("show", job, env=dean)["id"], job)
        self.assertEqual(self.answer("token", "list", env=dean)["tokens"][0]["name"], "dean")
        self.hotplate("down", "--yes", says="was told to end", env=dean)
        harness.wait_until(lambda: daemon.poll() is not None, "the daemon ends")


class OnTheDisk(harness.Case):
    """The inputs and results of a guest's detached jobs, under one daemon and the next."""

    def jobs_on_disk(self):
        return {path.name for path in self.folder.glob("scratch/**/jobs/*")}

    def test_they_count_against_the_quota(self):
        make_array(self.folder / "x.npy")
        record, home = self.folder / "dora.json", self.folder / "home"
        daemon = self.start_daemon("--scratch", self.folder / "scratch")
        self.hotplate("token", "create", "--for", "dora", "--scope", "submit", "--quota-bytes", "20kB", "-o", record)
        dora = {"HOTPLATE_DIR": str(home)}
        self.hotplate("join", record, env=dora)
        self.hotplate("put", "x.npy", "--name", "mine", "--lease", "5m", env=dora)
        first = self.answer("submit", "selu", "array:mine", env=dora)["jobId"]
        self.hotplate("wait", first, env=dora)
        self.assertEqual(self.jobs_on_disk(), {first})
        full = {"code": harness.TRY_LATER, "says": ("limit quota-bytes is 20000", "hotplate result JOB"), "env": dora}
        self.hotplate("submit", "selu", "array:mine", **full)
        self.hotplate("submit", "selu", "x.npy", **full)
        self.assertEqual(self.jobs_on_disk(), {first}, "what is refused writes nothing")
        self.hotplate("run", "selu", "x.npy", "-o", "y.npy", env=dora)
        own = self.answer("submit", "selu", "x.npy")["jobId"]
        self.hotplate("wait", own)
        before = json.loads(record.read_text())["token"]
        daemon.kill()
        daemon.wait()
        self.start_daemon("--scratch", self.folder / "scratch")
        harness.wait_until(lambda: json.loads(record.read_text())["token"] != before, "the record is written anew")
        self.hotplate("submit", "selu", "x.npy", **full)
        self.hotplate("result", first, "-o", "y.npy", env=dora)
        second = self.answer("submit", "selu", "x.npy", env=dora)["jobId"]
        self.hotplate("wait", second, env=dora)
        self.assertEqual(self.jobs_on_disk(), {own, second}, "a result that was fetched makes room")


class SavedArrays(harness.Case):
    def test_a_saved_array_replaces_none_of_the_owners_and_its_file_goes_with_it(self):
        make_array(self.folder / "x.npy")
        record = self.folder / "dora.json"
        daemon = self.start_daemon("--scratch", self.folder / "scratch")
        self.hotplate("token", "create", "--for", "dora", "--scope", "submit", "--quota-bytes", "10kB", "-o", record)
        dora = {"HOTPLATE_DIR": str(self.folder / "home")}
        self.hotplate("join", record, env=dora)
        own = self.answer("put", "x.npy", "--name", "A", "--durable")["file"]
        content = (self.folder / own).read_bytes()
        (self.folder / "x.npy").write_bytes(content[:-4000] + b"1" * 4000)
        guests = self.answer("put", "x.npy", "--name", "A", "--durable", env=dora)["file"]
        self.assertEqual((self.folder / own).read_bytes(), content)
        before = json.loads(record.read_text())["token"]
        daemon.kill()
        daemon.wait()
        self.start_daemon("--scratch", self.folder / "scratch")
        harness.wait_until(lambda: json.loads(record.read_text())["token"] != before, "the record is written anew")
        self.hotplate("get", "A", "-o", "own.npy")
        self.assertEqual((self.folder / "own.npy").read_bytes()[-4000:], bytes(4000))
        for _ in range(3):  # else the quota of arrays would bound no files
            self.hotplate("free", "A", env=dora)
            self.hotplate("put", "x.npy", "--name", "A", "--durable", env=dora)
        files = {path.name for path in self.folder.glob("scratch/**/*@dora.npy")}
        self.assertEqual(len(files), 1, files)
        self.assertFalse((self.folder / guests).exists())
        self.hotplate("free", "A", env=dora)
        harness.wait_until(lambda: not list(self.folder.glob("scratch/**/*@dora.npy")), "its file goes with it")
        self.assertTrue((self.folder / own).exists())


if __name__ == "__main__":
    harness.main()
