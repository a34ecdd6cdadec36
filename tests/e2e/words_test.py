"""Words behind `--` are words like others, whatever they look like: every command, from the list that the program prints."""

import json
import re
import shlex

import numpy as np

import harness

# The words that each command is run with, and what has to be there before. In this order: once a script has run, there are
# workers, whose states change. `up` passes its words on to hotplated and has
# a test of its own.
ROWS = {
    "down": ["aa"], "status": [], "use": ["local"], "logs": [], "sites": ["hpc2n"], "partitions": [], "kernels": [],
    "describe": ["selu"], "run": ["vector_add", "x.npy", "x.npy"], "eval": ["2*x", "x=x.npy"], "submit": ["vector_add", "x.npy", "x.npy"],
    "graph": ["run", "sum.toml"], "jobs": [],
    "workers": [], "env": [], "token": [], "exec": ["echo", "said"], "python": ["-c", "print(1)"],
    "show": ["1"], "why": ["1"], "watch": ["1"], "wait": ["1"], "cancel": ["1"], "result": ["1"], "put": ["x.npy"], "get": ["A"],
    "arrays": [], "free": ["A"], "devices": [], "top": [], "metrics": [], "cache": [], "history": [], "journal": ["verify"], "completion": ["bash"], "version": [], "help": ["run", "selu"],
    "join": ["guest.json"],  # the last one: its daemon is the current one from then on
}
OPTIONS = {"put": ["--name", "A", "--replace"], "graph": ["--name", "mine"], "top": ["--once"], "logs": ["-n", "1"], "join": ["--name", "joined"]}


class Words(harness.Case):
    def setUp(self):
        self.start_daemon()

    def tearDown(self):
        self.forget_daemons()

    def commands(self):
        """The table of commands, as `hotplate help` shows it."""
        commands, _, _ = self.hotplate("help").partition("\nTopics\n")
        return [line.split()[0] for line in commands.splitlines() if re.match(r"  [a-z]+  ", line)]

    def prepare(self):
        np.save(self.folder / "x.npy", np.ones(4, np.float32))
        (self.folder / "sum.toml").write_text('[sum]\nexpression = "1 + 1"\n')
        guest = self.folder / "guest.json"
        guest.write_text(json.dumps(self.record() | {"guest": "ana"}))
        guest.chmod(0o600)
        if not self.record_path("aa").exists():
            self.start_daemon(name="aa")
            self.hotplate("use", "local")
        self.hotplate("put", "x.npy", "--name", "A", "--replace")

    def test_every_command_takes_its_words_behind_dashes(self):
        self.prepare()
        self.hotplate("wait", self.answer("submit", "vector_add", "x.npy", "x.npy")["jobId"])
        self.assertEqual(sorted([*ROWS, "up"]), sorted(self.commands()), "a command without a row here, or a row without one")
        for name, words in ROWS.items():
            told = []
            for line in ([name, *OPTIONS.get(name, []), *words], [name, *OPTIONS.get(name, []), "--", *words]):
                self.prepare()
                code, out, err = self.run_command(*line)
                told.append((code, sorted(set(re.findall(r"[A-Za-z_]{3,}", out))), bool(err)))  # figures are of the moment
            self.assertEqual(told[1], told[0], name)
            self.assertGreaterEqual(told[1][0], 0, f"{name} crashed")

    def test_down_ends_the_one_that_is_named(self):
        self.prepare()
        self.hotplate("down", "--", "aa", says="aa (pid")
        self.assertFalse(self.record_path("aa").exists())
        self.hotplate("status", says="local  READY")
        self.hotplate("down", "--", "nobody", code=harness.NO_DAEMON, says="nobody")
        self.hotplate("status", says="local  READY")

    def test_free_and_cancel_do_what_they_say(self):
        self.prepare()
        self.hotplate("free", "--", "A", says="array:A freed")
        self.assertEqual(self.hotplate("arrays", "--quiet"), "")
        job_id = self.submit_long_job()
        self.hotplate("cancel", "--", job_id)
        self.hotplate("wait", "--", job_id, code=harness.CANCELLED)

    def test_words_that_look_like_options(self):
        np.save(self.folder / "-x.npy", np.ones(4, np.float32))
        self.hotplate("put", "--name", "X", "--", "-x.npy", says="array:X")
        self.hotplate("run", "-o", "y.npy", "--", "vector_add", "-x.npy", "-x.npy")
        self.hotplate("run", "vector_add", "-o", "z.npy", "--", "-x.npy", "-x.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), np.load(self.folder / "z.npy"))
        self.hotplate("describe", "--", "--selu", code=harness.INVALID, says='no kernel "--selu"')
        self.hotplate("jobs", "--", "--active", code=harness.USAGE, says='"--active" is one word too many')
        self.hotplate("--", "jobs", code=harness.USAGE, says="no command in")

    def test_up_passes_them_on(self):
        self.hotplate("up", "--local", "--name", "bb", "--", "--device", "cpu", "--no-such-option", code=harness.USAGE,
                      says="no-such-option")


class Numpys(harness.Case):
    """What a refusal says to write instead of NumPy's words computes what NumPy computes."""

    def setUp(self):
        self.start_daemon()
        self.x = np.arange(1, 10.0).reshape(3, 3)
        np.save(self.folder / "X.npy", self.x)

    def tearDown(self):
        self.forget_daemons()

    def instead(self, *words):
        """The commands that the refusal of `hotplate run WORDS` has, run one after the other; what the last one printed."""
        code, _, err = self.run_command("run", *words)
        self.assertEqual(code, harness.INVALID, err)
        write = err.partition("; write ")[2].splitlines()[0]
        commands = re.findall(r"hotplate ((?:[a-z]+ )(?:'[^']*'|-*[A-Za-z=.]+| )+)", write)
        self.assertTrue(commands, err)
        for command in commands:
            out = self.hotplate(*(word.replace("X", "X.npy") if word in ("X", "x=X") else word for word in shlex.split(command)))
        return out

    def test_norms(self):
        self.assertAlmostEqual(float(self.instead("norm", "X.npy", "--ord", "nuc")), np.linalg.norm(self.x, "nuc"))
        self.assertAlmostEqual(float(self.instead("norm", "X.npy", "--ord", "-2")), np.linalg.norm(self.x, -2))
        flat = self.x.ravel()
        self.assertAlmostEqual(float(self.instead("norm", "X.npy", "--ord", "-3")) ** (1 / -3), np.linalg.norm(flat, -3))
        self.assertAlmostEqual(float(self.instead("reduce", "X.npy", "--axis", "0,1")), self.x.sum())

    def test_the_first_axis(self):
        self.instead("sort", "X.npy", "--axis", "0")
        np.testing.assert_array_equal(np.load(self.folder / "T.npy"), self.x.T)


if __name__ == "__main__":
    harness.main()
