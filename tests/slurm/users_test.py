#!/usr/bin/python3
"""Two users on one cluster: what bob can do with alice's daemon is nothing."""

import harness
from harness import NO_DAEMON, NOT_ALLOWED

RUN = ("run", "integrate2d", "--n", "1000")


class Users(harness.SlurmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # As some sites have homes: everybody may look inside. What protects the record then is its own folder.
        cls.lab.home("alice").chmod(0o755)
        cls.job, [cls.hers] = cls.serve("-w", "gpu1")

    def as_bob(self, record, name="guess"):
        """bob writes a record of his own; it is where his commands look."""
        self.lab.run("login", ["sh", "-c", "umask 077; mkdir -p .hotplate/servers && cat > .hotplate/servers/$0.json", name], user="bob",
                     input=harness.json.dumps(record), check=True)
        return name

    def test_the_record_is_hers_alone(self):
        folder = self.directory
        for words in (["ls", folder], ["cat", folder / "servers" / f"{self.hers['name']}.json"], ["cat", folder / "current"],
                      ["touch", folder / "servers" / "mine.json"]):
            done = self.lab.run("login", words, user="bob")
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn("Permission denied", done.stderr)
        self.hotplate("status", user="bob", code=NO_DAEMON)
        self.hotplate("status", "--directory", folder, user="bob", code=NOT_ALLOWED, says=str(folder))

    def test_a_guessed_token_is_refused(self):
        # bob can find the port; even with the clients' certificate and key he would lack the token.
        real = self.hers["token"]
        for what, token in (("guessed", "a" * len(real)), ("nearly", real[:-1] + ("0" if real[-1] != "0" else "1"))):
            name = self.as_bob({**self.hers, "token": token}, what)
            for words in (["status"], RUN, ["devices"], ["arrays"], ["jobs"], ["down"]):
                with self.subTest(token=what, words=words):
                    self.hotplate(*words, "--server", name, user="bob", code=NOT_ALLOWED)
        self.hotplate(*RUN)
        # It is the token that is missing, nothing else.
        self.hotplate("status", "--server", self.as_bob(self.hers, "stolen"), user="bob")

    def test_a_stranger_is_not_let_past_the_handshake(self):
        # bob can find the port, and the daemon's certificate is shown to whoever connects.
        _, [his] = self.serve("-w", "gpu1", user="bob")
        own = {field: his[field] for field in ("client_certificate_pem", "client_key_pem", "cluster", "slurm_job_id")}
        self.hotplate("status", "--server", self.as_bob({**self.hers, **own}, "stranger"), user="bob", code=NO_DAEMON,
                      says="client certificate")
        self.hotplate("down", user="bob")

    def test_the_token_is_nowhere_else(self):
        # Slurm's output file and command lines are for everybody to read.
        commands = [words for host in self.lab.hosts.values() for words in host.processes().values()]
        self.assertTrue(any("hotplated" in words for words in commands))
        for secret in (self.hers["token"], self.hers["client_key_pem"].splitlines()[1]):
            self.assertFalse([words for words in commands if secret in words])
            self.assertNotIn(secret, self.read(f"hotplated-{self.job}.out"))

    def test_bobs_own_daemon_beside_hers(self):
        _, [his] = self.serve("-w", "gpu1", user="bob")
        self.assertEqual(self.answer("status", user="bob")["name"], his["name"])
        self.assertEqual(self.answer("status")["name"], self.hers["name"])
        self.assertNotEqual(his["endpoints"][0]["port"], self.hers["endpoints"][0]["port"])
        self.hotplate(*RUN, user="bob")
        self.hotplate("down", user="bob")
        self.hotplate(*RUN)


if __name__ == "__main__":
    harness.main()
