"""The audit log: who did what by which token, in a file of the owner's, without a secret."""

import json
import os
import shutil
import stat
import unittest

import harness


class Audit(harness.Case):
    def setUp(self):
        self.daemon = self.start_daemon()
        self.header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
        self.header += b" " * (118 - len(self.header) - 1) + b"\n"
        (self.folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(self.header).to_bytes(2, "little") + self.header + bytes(16))

    def tearDown(self):
        self.forget_daemons()

    @property
    def file(self):
        return self.directory / "audit" / "local.jsonl"

    def lines(self, act=None, token=None):
        found = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [line for line in found if act in (None, line["act"]) and token in (None, line.get("token"))]

    def line(self, act, token="owner", **fields):
        """The first such line; it is written soon after the act."""
        def found():
            return next((line for line in self.lines(act, token) if fields.items() <= line.items()), None)
        return harness.wait_until(found, f"the audit log has {act} of {token} with {fields}")

    def invite(self, name):
        record = self.folder / f"{name}.json"
        self.hotplate("token", "create", "--for", name, "--scope", "submit", "-o", record)
        home = self.folder / f"home-{name}"
        shutil.rmtree(home, ignore_errors=True)
        environment = {"HOTPLATE_DIR": str(home)}
        self.hotplate("join", record, env=environment)
        return record, environment

    def test_the_file_tells_who_did_what(self):
        record, anna = self.invite("anna")
        secrets = [json.loads(path.read_text())["token"] for path in (record, self.record_path())]
        job = self.answer("submit", *harness.LONG_JOB, env=anna)["jobId"]
        self.hotplate("put", "x.npy", "--name", "mine", "--lease", "5m", env=anna)
        self.hotplate("get", "mine", "-o", "y.npy", env=anna)
        self.hotplate("free", "mine", env=anna)
        for _ in range(3):
            self.hotplate("run", "selu", "x.npy", "-o", "y.npy", env=anna)
        self.hotplate("cancel", job)
        self.hotplate("exec", "true")
        printing = self.hotplate("submit", "--quiet", "exec", "echo", "hello").strip()
        self.hotplate("wait", printing)
        self.assertIn("hello", self.hotplate("logs", printing))
        self.hotplate("cache", "clear")
        self.hotplate("workers", "restart", code=harness.NOT_ALLOWED, env=anna)
        self.hotplate("free", secrets[0], code=harness.INVALID, env=anna)
        wrong = json.loads(record.read_text()) | {"token": secrets[0][::-1]}
        record.write_text(json.dumps(wrong))
        self.hotplate("jobs", code=harness.NOT_ALLOWED, env=anna)
        self.hotplate("token", "revoke", "anna")
        generation = self.record()["generation"]
        self.assertEqual(self.stop_daemon(self.daemon), 0)

        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.file.parent.stat().st_mode), 0o700)
        self.assertEqual({line["generation"] for line in self.lines()}, {generation})
        lines = self.lines()
        self.assertEqual((lines[0]["act"], lines[-1]["act"], lines[-1]["name"]), ("start", "end", "SIGTERM"))
        self.assertEqual(self.line("submit", "anna")["object"], job)
        self.assertEqual(self.line("submit", "anna")["name"], "integrate2d")
        self.assertEqual(self.line("submit", "anna")["peer"], "127.0.0.1")
        array = self.line("put", "anna", name="mine")["object"]
        self.line("upload", "anna", object=array, result="OK")
        self.line("free", "anna", object="mine", result="OK")
        self.line("free", "anna", object="[...]", result="NOT_FOUND")
        self.assertTrue(self.lines("download", "anna"))
        self.assertEqual(sum(line["count"] for line in self.lines("run", "anna") if line["name"] == "selu"), 3)
        self.assertEqual(self.line("cancel", "owner", object=job)["result"], "OK")
        self.line("run", "owner", result="OK")
        self.line("fetch", "owner", object=printing, result="OK")
        self.line("cache.clear")
        self.line("token.create", object="anna", name="submit")
        self.line("token.revoke", object="anna")
        refused = self.line("refused", "anna", object="Programs.RestartWorkers")
        self.assertEqual(refused["result"], "PERMISSION_DENIED")
        self.assertIn("scope submit", refused["why"])
        stranger = self.line("refused", "", result="UNAUTHENTICATED")
        self.assertEqual((stranger["peer"], stranger["certificate"]), ("127.0.0.1", "anna"))
        text = self.file.read_text()
        for secret in secrets:
            self.assertNotIn(secret, text)
            self.assertNotIn(secret[:20], text)

    def test_a_token_that_expires(self):
        self.hotplate("token", "create", "--for", "brief", "--scope", "observe", "--expires", "2s", "-o", self.folder / "brief.json")
        self.line("token.expire", "", object="brief")

    def test_daemons_of_a_name_have_one_file(self):
        self.hotplate("down")
        self.daemon.wait(timeout=harness.PATIENCE)
        self.line("shutdown", result="OK")
        self.daemon = self.start_daemon()
        harness.wait_until(lambda: len(self.lines("start")) == 2, "both daemons have begun")
        self.assertEqual(len({line["generation"] for line in self.lines("start")}), 2)
        self.assertIn("hotplate down", self.line("end", "")["name"])

    def test_another_file_and_none(self):
        other = self.folder / "other.jsonl"
        daemon = self.start_daemon("--audit-log", other, name="other")
        harness.wait_until(lambda: other.exists() and other.read_text(), "it has begun")
        self.stop_daemon(daemon)
        self.assertEqual([json.loads(line)["act"] for line in other.read_text().splitlines()], ["start", "end"])
        other.unlink()
        self.stop_daemon(self.start_daemon("--audit-log", "off", name="off"))
        self.assertEqual([path.name for path in self.file.parent.iterdir()], ["local.jsonl"])

    def test_a_daemon_that_cannot_publish_its_record_has_an_end(self):
        self.record_path("spoilt").mkdir()
        daemon = self.start_daemon(name="spoilt", ready=False)
        daemon.communicate(timeout=harness.PATIENCE)
        self.assertNotEqual(daemon.returncode, 0)
        lines = [json.loads(line) for line in (self.file.parent / "spoilt.jsonl").read_text().splitlines()]
        self.assertEqual([line["act"] for line in lines], ["start", "end"])
        self.assertIn("it cannot start", lines[-1]["name"])

    def test_a_file_that_others_can_read_is_refused(self):
        open_file = self.folder / "open.jsonl"
        open_file.touch()
        os.chmod(open_file, 0o644)
        daemon = self.start_daemon("--audit-log", open_file, name="open", ready=False)
        out, _ = daemon.communicate(timeout=harness.PATIENCE)
        self.assertEqual(daemon.returncode, 6)
        self.assertIn(f"chmod 600 {open_file}", out)

    def test_a_folder_that_others_can_read_is_refused(self):
        self.file.parent.chmod(0o755)
        daemon = self.start_daemon(name="open", ready=False)
        out, _ = daemon.communicate(timeout=harness.PATIENCE)
        self.assertEqual(daemon.returncode, 6)
        self.assertIn(f"chmod 700 {self.file.parent}", out)
        self.assertIn("--audit-log", out)


if __name__ == "__main__":
    harness.main()
