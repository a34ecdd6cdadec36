"""The rules of client/docs/json.md, held against what every command prints: with --json, and by HOTPLATE_OUTPUT."""

import json
import pathlib
import re
import signal

import numpy as np

import harness
from words_test import OPTIONS, ROWS

PAGE = pathlib.Path(__file__).parents[2] / "client/docs/json.md"
# A member's name tells what it holds.
TEXTS = re.compile(r"^(id|.*[a-z]Id|session|seed|tag|generation)$")
NUMBERS = re.compile(r"(Ns|Bytes|bytes.*|.*Seconds|.*Time|.*Timeout|now|since|until|jobs[A-Z].*|lanes|.*Lease|.*Retention|sequence|"
                     r"progress|fraction|priority|queuePosition|rank|exitCode|pid)$")


def judge(value, path, wrong, seeds=False):
    """Adds what breaks a rule to `wrong`."""
    if isinstance(value, dict):
        for name, member in value.items():
            here = f"{path}.{name}"
            if TEXTS.match(name) and not isinstance(member, (str, dict)):
                wrong.append(f"{here} = {member!r} is no text")
            if NUMBERS.search(name) and not isinstance(member, (int, float, dict, list)) or isinstance(member, bool) and NUMBERS.search(name):
                wrong.append(f"{here} = {member!r} is no number")
            judge(member, here, wrong)
    elif isinstance(value, list):
        for member in value:
            judge(member, f"{path}[]", wrong)


class Json(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()
        np.save(cls.folder / "x.npy", np.ones(4, np.float32))

    def documents(self, *words, **options):
        """Every answer of `hotplate WORDS`, which are JSON, one a line."""
        code, out, err = self.run_command(*words, **options)
        self.assertTrue(out, f"{words} answered nothing: {code} {err}")
        return code, [json.loads(line) for line in out.splitlines()]

    def test_every_command_keeps_the_rules(self):
        wrong = []
        job_id = self.answer("submit", "random", "--rows", "2", "--n", "3", "--seed", "5")["jobId"]
        self.hotplate("wait", job_id)
        rows = ROWS | {"run": ["random", "--n", "3", "--seed", "9"], "down": ["nobody"], "up": ["--local", "--timeout", "60s"]}
        for command in ("show", "watch", "wait", "cancel", "result"):
            rows[command] = [job_id]
        for command in ("exec", "python"):  # their output is the program's, and only what refuses them is an answer
            del rows[command]
            code, documents = self.documents(command, "--json", "--device", "gpu9", *ROWS[command])
            self.assertEqual((code, [list(one) for one in documents]), (harness.INVALID, [["error"]]))
            judge(documents, command, wrong)
        for name, words in rows.items():
            if name in ("get", "free"):
                self.hotplate("put", "x.npy", "--name", "A", "--replace")
            for document in self.documents(name, *OPTIONS.get(name, []), *words, "--json")[1]:
                judge(document, name, wrong)
        self.assertEqual(wrong, [])

    def test_the_page_names_every_member(self):
        env, rows = {"HOTPLATE_OUTPUT": "json"}, {}
        for line in PAGE.read_text().splitlines():
            if line.startswith("| `"):
                _, commands, text, _ = re.split(r"(?<!\\)\|", line)
                rows |= dict.fromkeys(re.findall(r"`(\w+)`", commands), text)
        documents = []
        for words in (["up", "--local", "--name", "other", "--", "--device", "cpu"], ["up", "--local", "--name", "other"], ["use"],
                      ["use", "local"], ["down", "other"], ["submit", "full", "--n", "2"], ["put", "x.npy", "--replace"],
                      ["get", "x"], ["get", "x", "-o", "there.npy"], ["arrays"], ["free", "x"], ["devices"], ["top", "--once"],
                      ["version"], ["help"], ["logs", "-n", "1"]):
            documents += [(words[0], document) for document in self.documents(*words, env=env)[1]]
        self.stop_daemon(self.start_daemon(name="dead"), signal.SIGKILL)
        for command in ("status", "down"):
            [document] = self.documents(command, "--server", "dead", env=env)[1]
            self.assertEqual(document["state"], "DEAD")
            documents.append((command, document))
        [several] = self.documents("put", "x.npy", "there.npy", "--replace", env=env)[1]
        self.assertEqual([array["name"] for array in several], ["x", "there"])
        self.assertIn("Of several files: an array", rows["put"])
        for command, document in documents:
            if not re.match(r" `[A-Z]\w+`", rows[command]) or document.get("state") == "DEAD":  # else all members of a message
                self.assertEqual([name for name in document if f"`{name}`" not in rows[command]], [], command)

    def test_two_times_can_be_added(self):
        receipt = self.answer("run", "integrate2d", "--n", "64")["receipt"]
        self.assertGreater(receipt["queueNs"] + receipt["kernelNs"], 0)
        self.assertLessEqual(receipt["queueNs"] + receipt["kernelNs"], receipt["totalNs"])
        job = self.job(receipt["jobId"])
        self.assertLessEqual(job["submitTime"], job["endTime"])
        self.assertEqual(self.answer("status")["idleTimeout"], 900)
        self.assertEqual(self.answer("run", "random", "--n", "2", "--seed", "7")["receipt"]["seed"], "7")

    def test_the_environment_asks_for_it_too(self):
        env = {"HOTPLATE_OUTPUT": "json"}
        self.assertEqual(self.documents("jobs", env=env)[0], harness.OK)
        self.assertEqual(self.documents("--version", env=env)[0], harness.OK)
        self.assertEqual(self.run_command("use", "-q", env=env)[1], "local\n", "a flag wins")
        self.assertEqual(self.run_command("use", env={"HOTPLATE_OUTPUT": "quiet"})[1], "local\n")
        self.hotplate("use", env={"HOTPLATE_OUTPUT": "yaml"}, code=harness.USAGE, says="HOTPLATE_OUTPUT=yaml")

    def test_errors_are_json_on_standard_output(self):
        for words, code, name in ((("show", "999"), harness.INVALID, "NOT_FOUND"),
                                  (("jobs", "--limit", "0"), harness.USAGE, "INVALID_ARGUMENT"),
                                  (("no-such-command",), harness.USAGE, "INVALID_ARGUMENT"),
                                  (("run", "selu", "no.npy"), harness.INVALID, "INVALID_ARGUMENT"),
                                  (("status", "--server", "nobody"), harness.NO_DAEMON, "UNAVAILABLE")):
            got, [document] = self.documents(*words, "--json")
            self.assertEqual(got, code, words)
            error = document["error"]
            self.assertEqual((error["code"], error["exitCode"]), (name, code), words)
            self.assertTrue(error["message"], words)
            got, out, err = self.run_command(*words)
            self.assertEqual((got, out), (code, ""), words)
            self.assertIn(error["message"].splitlines()[0], err, "the same words as for people")
        error = self.documents("run", "selu", "x.npy", "--device", "gpu7", "--json")[1][0]["error"]
        self.assertEqual(error["violations"][0]["field"], "device")
        self.assertIn("hotplate describe selu", error["nextStep"])

    def test_a_job_that_did_not_complete_is_told_once(self):
        np.save(self.folder / "singular.npy", np.zeros((2, 2)))
        code, [end] = self.documents("run", "solve", "singular.npy", "singular.npy", "--json")
        self.assertEqual((code, end["state"]), (harness.FAILED, "FAILED"))
        self.assertTrue(end["error"]["message"])
        self.assertEqual(len(self.documents("wait", end["jobId"], "--json")[1]), 1)
        [document] = self.documents("result", end["jobId"], "--json")[1]
        self.assertEqual((document["error"]["exitCode"], document["error"]["jobId"]), (harness.FAILED, end["jobId"]))

    def test_an_output_has_one_of_what_the_page_names(self):
        np.save(self.folder / "mixed.npy", np.array([1, np.nan, 4]))
        np.save(self.folder / "nan.npy", np.array([np.nan]))
        big = self.answer("run", "full", "--n", "3000000", "--value", "1.5")["outputs"]
        self.assertEqual([one["summary"] for one in big], [{"minimum": 1.5, "maximum": 1.5, "mean": 1.5, "notNumbers": 0}])
        for words, member in ((("x.npy", "x.npy"), "summary"), (("1", "2"), "value"), (("x.npy", "x.npy", "-o", "y.npy"), "path"),
                              (("x.npy", "x.npy", "-o", "array:kept"), "arrayId"),
                              (("x.npy", "x.npy", "-o", f"path:{self.folder}/placed.npy", "--force"), "daemonPath")):
            [output] = self.answer("run", "vector_add", *words)["outputs"]
            self.assertEqual(set(output), {"name", "signature", member}, words)
            self.assertIn(f"`{member}`", PAGE.read_text())
        [mixed] = self.answer("eval", "2*x", "x=mixed.npy")["outputs"]
        self.assertEqual(mixed["summary"], {"minimum": 2, "maximum": 8, "mean": 5, "notNumbers": 1})
        [nothing] = self.answer("eval", "2*x", "x=nan.npy")["outputs"]
        self.assertEqual(nothing["summary"], {"minimum": "NaN", "maximum": "NaN", "mean": "NaN", "notNumbers": 1})
        [complex_numbers] = self.answer("run", "fft", "x.npy")["outputs"]
        self.assertEqual(set(complex_numbers), {"name", "signature"})

    def test_the_code_of_an_error_is_its_name_everywhere(self):
        np.save(self.folder / "singular.npy", np.zeros((2, 2)))
        job_id = self.answer("submit", "solve", "singular.npy", "singular.npy")["jobId"]
        [end] = self.documents("wait", job_id, "--json")[1]
        self.assertEqual(end["error"]["code"], "INVALID_ARGUMENT")
        self.assertEqual(self.answer("show", job_id)["error"]["code"], "INVALID_ARGUMENT")
        updates = self.documents("watch", job_id, "--json")[1]
        self.assertEqual(updates[-1]["end"]["error"]["code"], "INVALID_ARGUMENT")
        [job] = [job for job in self.answer("jobs")["jobs"] if job["id"] == job_id]
        self.assertEqual(job["error"]["code"], "INVALID_ARGUMENT")
        self.hotplate("result", job_id, code=harness.FAILED)
        [kept] = [job for job in self.documents("history", "--json")[1][0] if job["id"] == job_id]
        self.assertEqual(kept["error"]["code"], "INVALID_ARGUMENT")

    def test_what_is_unknown(self):
        receipt = self.answer("run", "full", "--n", "3")["receipt"]
        self.assertEqual(receipt["deviceUuid"], "", "a text")
        self.assertNotIn("hostToDeviceNs", receipt, "a number")
        page = PAGE.read_text()
        self.assertIn('| a text that is unknown | `""`', page)
        self.assertIn("| a number, a time or an object that is unknown or was not measured | the member is absent |", page)

    def test_the_page_names_every_command(self):
        page = PAGE.read_text()
        for name in (*ROWS, "up"):
            self.assertIn(f"`{name}`", page)


if __name__ == "__main__":
    harness.main()
