"""hotplate run --pipe: jobs as JSON lines in, updates and ends as JSON lines out."""

import array
import fcntl
import json
import os
import signal
import subprocess
import termios
import threading

import numpy as np

import harness

LONG = {"kernel": "integrate2d", "params": {"n": 10_000_000}}
TINY = {"kernel": "integrate2d", "params": {"n": 8}}


class Session:
    """A `hotplate run --pipe` that is talked to while it runs."""

    def __init__(self, case, *flags):
        self.process = case.start("run", "--pipe", *flags, stdin=subprocess.PIPE)
        case.processes.remove(self.process)  # it is read from here alone
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        self.lines = []
        self.errors = ""
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self.read, self.read_errors)]
        for reader in self.readers:
            reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def say(self, *jobs):
        for job in jobs:
            self.process.stdin.write((job if isinstance(job, str) else json.dumps(job)) + "\n")
        self.process.stdin.flush()

    def heard(self, **members):
        """The answers that have these members."""
        return [line for line in self.lines if members.items() <= line.items()]

    def wait_for(self, **members):
        ended = lambda: self.process.poll() is not None and not self.readers[0].is_alive()
        harness.wait_until(lambda: self.heard(**members) or ended(), f"it answered {members}")
        assert self.heard(**members), f"it did not answer {members}: {self.lines} {self.errors}"
        return self.heard(**members)[0]

    def end(self):
        """The exit code, after the end of the input."""
        self.process.stdin.close()
        return self.ended()

    def ended(self):
        code = self.process.wait(timeout=harness.PATIENCE)
        for reader in self.readers:
            reader.join()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def ends(answers):
    """{tag: its last answer}, of which there is one each."""
    last = [answer for answer in answers if "outputs" in answer or "error" in answer]
    by_tag = {answer["tag"]: answer for answer in last}
    assert len(by_tag) == len(last), f"a tag has two ends: {last}"
    return by_tag


class PipeCase(harness.Case):
    def piped(self, *jobs, flags=(), code=harness.OK):
        """The answers to these jobs, which are JSON or lines as they are."""
        text = "".join((job if isinstance(job, str) else json.dumps(job)) + "\n" for job in jobs)
        process = self.start("run", "--pipe", *flags, stdin=subprocess.PIPE)
        out, err = process.communicate(text, timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, code, out[-2000:] + err)
        return [json.loads(line) for line in out.splitlines()]

    def start_two_long_jobs(self, *flags):
        """A session, and the ids of its jobs once both run."""
        session = Session(self, *flags)
        session.say(LONG | {"tag": "a"}, LONG | {"tag": "b"})
        return session, [session.wait_for(tag=tag, state="RUNNING")["job"] for tag in "ab"]


class Pipe(PipeCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon("--lanes", "2")
        cls.x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.save(cls.folder / "x.npy", cls.x)
        np.save(cls.folder / "y.npy", np.ones((2, 3), np.float32))

    def test_tags_come_back_as_they_were(self):
        lines = ['{"tag": %s, "kernel": "integrate2d", "params": {"n": 8}}' % tag
                 for tag in ("7", '"seven"', "9007199254740993", "1.50e3", '"a\\"b\\u00e9"')]
        process = self.start("run", "--pipe", stdin=subprocess.PIPE)
        out, err = process.communicate("\n".join([*lines, "", json.dumps(TINY)]), timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.OK, err)
        for tag in ("7", '"seven"', "9007199254740993", "1.50e3", '"a\\"bé"', "7"):
            self.assertIn(f'{{"tag":{tag},', out)
        # Without a tag, and without a newline at its end: the line's number, which counts the empty one.
        self.assertEqual(len([line for line in map(json.loads, out.splitlines()) if line["tag"] == 7 and "outputs" in line]), 2)

    def test_an_answer_has_what_run_answers(self):
        [end] = ends(self.piped(TINY)).values()
        alone = self.answer("run", "integrate2d", "--n", "8")
        self.assertEqual(set(end), {"tag", "job", "state", "outputs", "receipt", "client"})
        self.assertEqual(end["outputs"]["value"], alone["outputs"][0])
        self.assertEqual((set(end["receipt"]), set(end["client"])), (set(alone["receipt"]), set(alone["client"])))
        self.assertEqual(end["receipt"]["jobId"], end["job"])

    def test_jobs_are_in_flight_together(self):
        session, jobs = self.start_two_long_jobs()
        self.assertEqual([line for line in session.lines if "error" in line or "outputs" in line], [])
        self.assertEqual(session.heard(tag="a", state="RUNNING")[0]["device"], "cpu0")
        session.wait_for(tag="b", job=jobs[1])
        for job in jobs:
            self.hotplate("cancel", job)
        session.wait_for(tag="b", state="CANCELLED")
        session.say(TINY | {"tag": "c"})
        session.wait_for(tag="c", state="COMPLETED")
        self.assertEqual(session.end(), harness.CANCELLED, session.errors)
        self.assertIn("2 of 3 jobs did not complete; the first, line", session.errors)

    def test_progress_is_told(self):
        session, jobs = self.start_two_long_jobs()
        harness.wait_until(lambda: [line for line in session.lines if 0 <= line.get("progress", -1) <= 1], "it told progress")
        for job in jobs:
            self.hotplate("cancel", job)
        self.assertEqual(session.end(), harness.CANCELLED)

    def test_inputs_and_outputs_are_the_words_of_run(self):
        self.hotplate("put", "y.npy", "--name", "Y", "--replace")
        place = self.folder / "placed.npy"
        place.unlink(missing_ok=True)
        add = {"kernel": "vector_add"}
        answers = ends(self.piped(
            add | {"tag": 1, "inputs": {"a": "x.npy", "b": "array:Y"}, "outputs": {"c": "sum.npy"}},
            add | {"tag": 2, "inputs": {"a": f"path:{self.folder}/x.npy", "b": "y.npy"}, "outputs": {"c": f"path:{place}"}},
            add | {"tag": 3, "inputs": {"a": 2, "b": "3"}},
            add | {"tag": 4, "inputs": {"a": "x.npy", "b": "y.npy"}, "outputs": {"c": "array:S"}, "lease": "1h"},
            {"tag": 5, "kernel": "random", "params": {"rows": 3, "n": 4, "seed": 9}, "outputs": {"out": "r.png"}}))
        for made in (self.folder / "sum.npy", place):
            np.testing.assert_array_equal(np.load(made), self.x + 1)
        self.assertEqual(answers[1]["outputs"]["c"]["path"], "sum.npy")
        self.assertEqual(answers[2]["outputs"]["c"]["daemonPath"], str(place))
        self.assertEqual(answers[3]["outputs"]["c"]["value"], 5)
        self.assertIn("arrayId", answers[4]["outputs"]["c"])
        self.assertTrue((self.folder / "r.png").read_bytes().startswith(b"\x89PNG"))
        self.hotplate("get", "S", "-o", "s.npy")
        np.testing.assert_array_equal(np.load(self.folder / "s.npy"), self.x + 1)
        self.hotplate("free", "S", "Y")

    def test_small_arrays_come_as_values(self):
        add = {"kernel": "vector_add", "inputs": {"a": "x.npy", "b": 1}}
        np.save(self.folder / "odd.npy", np.array([1, np.nan, np.inf]))
        np.save(self.folder / "none.npy", np.zeros((2, 0), np.float32))
        answers = ends(self.piped(
            add | {"tag": "small"}, {"tag": "most", "kernel": "full", "params": {"n": 4096, "value": 2}},
            {"tag": "more", "kernel": "full", "params": {"n": 4097, "value": 2}},
            {"tag": "large", "kernel": "full", "params": {"n": 3_000_000, "value": 1.5}},
            {"tag": "odd", "expression": "2*x", "inputs": {"x": "odd.npy"}},
            {"tag": "none", "expression": "2*x", "inputs": {"x": "none.npy"}},
            {"tag": "complex", "kernel": "fft", "inputs": {"x": "odd.npy"}}))
        out = {tag: next(iter(end["outputs"].values())) for tag, end in answers.items()}
        self.assertEqual(out["small"]["values"], (self.x + 1).tolist())
        self.assertEqual(out["small"]["signature"], {"dtype": "DTYPE_FLOAT32", "shape": [2, 3]})
        self.assertEqual(out["most"]["values"], [2] * 4096)
        for tag, value in (("more", 2), ("large", 1.5)):
            self.assertNotIn("values", out[tag])
            self.assertEqual(out[tag]["summary"], {"minimum": value, "maximum": value, "mean": value, "notNumbers": 0})
        self.assertEqual(out["odd"]["values"], [2, "NaN", "Infinity"])
        self.assertEqual(out["none"]["values"], [[], []])
        self.assertTrue(all(isinstance(value, str) for value in out["complex"]["values"]))

    def test_large_arrays_go_from_files_to_files(self):
        large = np.linspace(-1, 1, 3_000_000, dtype=np.float32)
        np.save(self.folder / "large.npy", large)
        answers = ends(self.piped(*[
            {"tag": number, "kernel": "vector_add", "inputs": {"a": "large.npy", "b": number}, "outputs": {"c": f"l{number}.npy"}}
            for number in range(8)]))
        for number, end in answers.items():
            self.assertEqual(end["outputs"]["c"]["path"], f"l{number}.npy")
            np.testing.assert_array_equal(np.load(self.folder / f"l{number}.npy"), large + np.float32(number))
        self.assertEqual(self.answer("arrays")["arrays"], [], "the daemon keeps none of them")

    def test_standard_output_has_lines_alone(self):
        for flags in (("--json",), ("--quiet",)):
            answers = self.piped(TINY | {"tag": "a"}, "no JSON", flags=flags, code=harness.INVALID)
            self.assertEqual({answer["tag"] for answer in answers}, {"a", 2})

    def test_elements_of_an_array_that_came_in_pieces(self):
        self.start_daemon("--inline-bytes", "4", name="pieces")
        [end] = ends(self.piped({"kernel": "vector_add", "inputs": {"a": "x.npy", "b": "y.npy"}},
                                flags=("--server", "pieces"))).values()
        self.assertEqual(end["outputs"]["c"]["values"], (self.x + 1).tolist())

    def test_expressions(self):
        answers = ends(self.piped(
            {"tag": 1, "expression": "-x + a", "inputs": {"x": "x.npy", "a": 2.5}, "outputs": {"out": "e.npy"}},
            {"tag": 2, "expression": "s = x + 1; t = x*2", "inputs": {"x": "x.npy"}, "outputs": {"t": "t.npy"}},
            {"tag": 3, "expression": "2*(x", "inputs": {"x": "x.npy"}},
            {"tag": 4, "expression": "2*x", "inputs": {"x": "x.npy"}, "outputs": {"s": "never.npy"}},
            {"tag": 5, "expression": "2*a", "inputs": {"a": 3}, "params": {"a": 3}},
            {"tag": 6, "expression": "2*a", "inputs": {"a": 3}, "precision": "tf32"},
            {"tag": 7, "expression": "7 // a", "inputs": {"a": 2}}, code=harness.INVALID))
        np.testing.assert_array_equal(np.load(self.folder / "e.npy"), -self.x + 2.5)
        np.testing.assert_array_equal(np.load(self.folder / "t.npy"), self.x * 2)
        self.assertEqual(answers[2]["outputs"]["s"]["values"], (self.x + 1).tolist())
        self.assertEqual(answers[7]["outputs"]["out"]["value"], 3)
        for tag, says in ((3, "^"), (4, "its outputs: out; hotplate help expressions"), (5, "its numbers are inputs"),
                          (6, 'no key "precision"')):
            self.assertIn(says, answers[tag]["error"]["message"])
        self.assertFalse((self.folder / "never.npy").exists())

    def test_options_of_a_job(self):
        answers = self.piped(
            LONG | {"tag": 1, "time_limit": "50ms"}, TINY | {"tag": 2, "label": "of the pipe", "priority": 5, "device": "cpu0"},
            TINY | {"tag": 3, "deterministic": True, "detach_on_disconnect": False},
            TINY | {"tag": 4, "request_id": "piped"}, TINY | {"tag": 5, "request_id": "piped"},
            LONG | {"tag": 6, "timeout": 0.05}, code=harness.TIMEOUT)
        last = ends(answers)
        self.assertEqual((last[1]["state"], last[1]["error"]["exitCode"]), ("TIMEOUT", harness.TIMEOUT))
        self.assertIn("receipt", last[1])
        job = self.job(last[2]["job"])
        self.assertEqual((job["label"], job["priority"]), ("of the pipe", 5))
        self.assertEqual(last[4]["job"], last[5]["job"])
        self.assertEqual(last[6]["error"]["exitCode"], harness.TIMEOUT)

    def test_what_is_refused_is_told_and_the_others_go_on(self):
        np.save(self.folder / "long.npy", np.ones(7, np.float32))
        inputs = {"a": "x.npy", "b": "y.npy"}
        bad = (
            ('{"tag": 99, "kernel": "selu", ', "no JSON: column 31"), ("selu x.npy", "no JSON"), ("[1, 2]", "an array"),
            ('{"kernel": "full", "kernel": "selu"}', '"kernel" is given twice'), ("7", "a number, and no object"),
            ('{"kernel": "full", "params": {"n": 1e999}}', "no JSON"), ({"tag": 1}, "neither kernel nor expression"),
            ({"kernel": "full", "expression": "1"}, "both kernel and expression"), ({"kernel": 3}, "kernel: it is a number"),
            (TINY | {"tag": None}, "tag: it is null"), (TINY | {"tag": [1]}, "tag: it is an array"),
            (TINY | {"devise": "cpu0"}, 'no key "devise". Nearest: device'), (TINY | {"dry_run": True}, 'no key "dry_run"'),
            (TINY | {"device": {"id": 0}}, "device: it is an object"), (TINY | {"deterministic": 1}, "give true or false"),
            ({"kernel": "integrate2e"}, "Nearest: integrate2d"), ({"kernel": "selu"}, "input x is missing"),
            ({"kernel": "full", "params": {"valeu": 1}}, 'no parameter "valeu". Nearest: value'),
            ({"kernel": "full", "params": {"device": "cpu0"}}, 'no parameter "device"'),
            ({"kernel": "full", "params": {"n": [1]}}, "params.n: it is an array"),
            ({"kernel": "full", "params": {"n": "many"}}, '"many" is not a whole number'),
            ({"kernel": "full", "params": 3}, "params: it is a number"),
            ({"kernel": "selu", "inputs": {"y": "x.npy"}}, 'no input "y"'), ({"kernel": "selu", "inputs": {"x": "-"}}, "inputs.x"),
            ({"kernel": "selu", "inputs": {"x": "no.npy"}}, "no.npy"), ({"kernel": "selu", "inputs": {"x": True}}, "a boolean"),
            ({"kernel": "vector_add", "inputs": inputs, "outputs": {"out": "z.npy"}}, 'no output "out"\nits outputs: c'),
            ({"kernel": "vector_add", "inputs": inputs, "outputs": {"c": "-"}}, "outputs.c"),
            ({"kernel": "vector_add", "inputs": inputs, "outputs": {"c": "z.txt"}}, "z.txt"),
            ({"kernel": "vector_add", "inputs": inputs, "outputs": {"c": "nowhere/z.npy"}}, "nowhere"),
            ({"kernel": "vector_add", "inputs": inputs | {"b": "long.npy"}}, "long.npy"),
            (TINY | {"device": "gpu9"}, "gpu9"), (TINY | {"time_limit": "soon"}, '"soon" is not a duration'),
            ({"kernel": "full", "params": {"n": 10 ** 15}}, "full"), (" " * (1 << 20) + json.dumps(TINY), "longer than"),
        )
        jobs = []
        for line, _ in bad:
            jobs += [line, TINY | {"tag": f"good {len(jobs)}"}]
        answers = self.piped(*jobs, code=harness.INVALID)
        good = [answer for answer in answers if answer.get("state") == "COMPLETED"]
        self.assertEqual(len(good), len(bad))
        refused = {answer["line"]: answer for answer in answers if "error" in answer}
        self.assertEqual(sorted(refused), list(range(1, 2 * len(bad), 2)))
        for number, (line, says) in zip(sorted(refused), bad):
            answer = refused[number]
            self.assertIn(says, answer["error"]["message"], line)
            self.assertEqual(answer["error"]["exitCode"], harness.INVALID, line)
            self.assertLessEqual({"code", "exitCode", "message", "violations"}, set(answer["error"]))
        self.assertEqual([refused[1]["tag"], refused[3]["tag"], refused[13]["tag"]], [99, 3, 1])

    def test_a_job_that_fails(self):
        np.save(self.folder / "singular.npy", np.zeros((2, 2)))
        session = Session(self)
        session.say({"tag": "s", "kernel": "solve", "inputs": {"a": "singular.npy", "b": "singular.npy"}, "outputs": {"x": "n.npy"}})
        end = session.wait_for(tag="s", state="FAILED")
        self.assertEqual((end["error"]["code"], end["error"]["exitCode"]), ("INVALID_ARGUMENT", harness.FAILED))
        self.assertIn("singular", end["error"]["message"])
        self.assertIn("receipt", end)
        session.say(TINY | {"kernel": "no such"})
        self.assertEqual(session.end(), harness.FAILED, "the first that failed decides")
        self.assertFalse((self.folder / "n.npy").exists())

    def test_words_that_make_no_sense_beside_it(self):
        for words, says in ((("selu", "--pipe"), '"selu"'), (("--pipe", "selu", "x.npy", "--alpha", "2"), '"selu"'),
                            (("--pipe", "-o", "y.npy"), "--output"), (("--pipe", "--device", "cpu0"), "--device"),
                            (("--pipe", "--dry-run"), "--dry-run makes no sense"), (("--pipe", "--deterministic"), "--deterministic"),
                            (("--pipe", "--in-flight", "0"), "from 1 to 1000"), (("--pipe", "--in-flight=1001"), "from 1 to 1000"),
                            (("--pipe", "--in-flght", "3"), "Nearest: --in-flight"), (("--pipe", "--", "selu"), '"selu"'),
                            (("integrate2d", "--in-flight", "3"), "--in-flight goes with --pipe")):
            code, out, err = self.run_command("run", *words)
            self.assertEqual((code, out), (harness.USAGE, ""), err)
            self.assertIn(says, err)
        self.hotplate("run", "--pipe", code=harness.OK)
        self.hotplate("run", "--help", says=("--in-flight N", "hotplate help json"))
        self.assertIn("--in-flight", self.hotplate("completion", "bash"))
        self.assertTrue("\\-\\-in\\-flight" in self.hotplate("help", "--man"))

    def test_without_a_daemon_nothing_is_read(self):
        code, out, err = self.run_command("run", "--pipe", "--server", "nobody")
        self.assertEqual((code, out), (harness.NO_DAEMON, ""), err)

    def test_ten_thousand_tiny_jobs(self):
        answers = self.piped(*[TINY | {"tag": number} for number in range(10_000)])
        last = ends(answers)
        self.assertEqual(sorted(last), list(range(10_000)))
        self.assertEqual({end["state"] for end in last.values()}, {"COMPLETED"})
        self.assertEqual(len({end["job"] for end in last.values()}), 10_000)
        self.assertEqual(len({end["outputs"]["value"]["value"] for end in last.values()}), 1)


class Pressure(PipeCase):
    """Whoever is slow holds the others up, and nothing piles up between them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon("--lanes", "2")

    def test_input_is_not_read_beyond_the_limit(self):
        session, jobs = self.start_two_long_jobs("--in-flight", "2")
        session.say(TINY | {"tag": "c"})
        pipe = session.process.stdin.fileno()
        os.set_blocking(pipe, False)
        room = 2 * fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) + 65536
        blank = b" " * 1023 + b"\n"
        written = 0
        for _ in range(3):  # each with a whole command between, in which more would be read
            while written <= room:
                try:
                    written += os.write(pipe, blank)
                except BlockingIOError:
                    break
            self.assertLessEqual(written, room, "it reads on")
            self.assertEqual(session.heard(tag="c"), [])
            self.hotplate("jobs")
        os.set_blocking(pipe, True)
        for job in jobs:
            self.hotplate("cancel", job)
        session.wait_for(tag="c", state="COMPLETED")
        self.assertEqual(session.end(), harness.CANCELLED)

    def test_nothing_is_taken_from_the_daemon_while_nobody_reads(self):
        count = 3000
        lines = self.folder / "lines"
        lines.write_text("".join(json.dumps(TINY | {"tag": number, "label": "unread"}) + "\n" for number in range(count)))
        with lines.open() as stdin:
            process = self.start("run", "--pipe", "--in-flight", "8", stdin=stdin)
        out = process.stdout.fileno()

        def unread():
            waiting = array.array("i", [0])
            fcntl.ioctl(out, termios.FIONREAD, waiting)
            return waiting[0]

        def jobs():
            return len(self.answer("jobs", "--label", "unread", "--limit", "1000")["jobs"])

        def stuck():  # a command between the two looks: time in which more would come
            before = unread()
            self.hotplate("jobs")
            return before > fcntl.fcntl(out, fcntl.F_GETPIPE_SZ) // 2 and before == unread()
        harness.wait_until(stuck, "standard output was full")
        told = jobs()
        self.assertLess(told, 200)  # a line has more than 1000 bytes
        self.assertEqual(jobs(), told, "it goes on")
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, harness.OK, err)
        self.assertEqual(sorted(ends(map(json.loads, out.splitlines()))), list(range(count)))


class Ends(PipeCase):
    """Ends that come from outside."""

    def setUp(self):
        self.daemon = self.start_daemon("--lanes", "2")

    def tearDown(self):
        self.forget_daemons()

    def test_ctrl_c_cancels_and_reports(self):
        session, jobs = self.start_two_long_jobs()
        session.process.send_signal(signal.SIGINT)
        self.assertEqual(session.ended(), harness.INTERRUPTED, session.errors)
        self.assertIn("interrupted: 2 of 2 jobs did not complete", session.errors)
        for tag, job in zip("ab", jobs):
            end = session.heard(tag=tag, state="CANCELLED")[0]
            self.assertEqual((end["job"], end["error"]["code"]), (job, "CANCELLED"))
            self.assertEqual(self.job(job)["state"], "CANCELLED")

    def test_ctrl_c_while_nothing_runs(self):
        session = Session(self)
        session.say(TINY | {"tag": 1})
        session.wait_for(tag=1, state="COMPLETED")
        session.process.send_signal(signal.SIGINT)
        self.assertEqual(session.ended(), harness.INTERRUPTED)

    def test_a_second_ctrl_c_leaves_at_once(self):
        session, _ = self.start_two_long_jobs()
        self.daemon.send_signal(signal.SIGSTOP)  # confirms no cancel
        session.process.send_signal(signal.SIGINT)

        def taken():
            with open(f"/proc/{session.process.pid}/status", encoding="ascii") as status:
                pending = next(line.split()[1] for line in status if line.startswith("ShdPnd:"))
            return not int(pending, 16) >> (signal.SIGINT - 1) & 1
        harness.wait_until(taken, "it heard the first")
        session.process.send_signal(signal.SIGINT)
        self.assertEqual(session.ended(), harness.INTERRUPTED)
        self.assertEqual(ends(session.lines), {}, "it waited for the ends")
        self.daemon.send_signal(signal.SIGCONT)

    def test_a_closed_standard_output_cancels(self):
        process = self.start("run", "--pipe", stdin=subprocess.PIPE)
        process.stdin.write("".join(json.dumps(LONG | {"tag": tag}) + "\n" for tag in "ab"))
        process.stdin.flush()
        running = set()
        while len(running) < 2:
            answer = json.loads(process.stdout.readline())
            running |= {answer["job"]} if answer.get("state") == "RUNNING" else set()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=harness.PATIENCE), harness.FAILED)  # its input is still open
        self.assertIn("standard output cannot be written to", process.stderr.read())
        process.stdin.close()
        process.stdin = process.stdout = None  # for the harness
        for job in running:
            self.wait_for_state(job, "CANCELLED")

    def test_a_standard_output_that_is_closed_while_nothing_is_written(self):
        process = self.start("run", "--pipe", stdin=subprocess.PIPE)
        process.stdin.write(json.dumps(TINY) + "\n")
        process.stdin.flush()
        while "outputs" not in json.loads(process.stdout.readline()):
            pass
        process.stdout.close()
        self.assertEqual(process.wait(timeout=harness.PATIENCE), harness.FAILED)
        process.stdin.close()
        process.stdin = process.stdout = None  # for the harness

    def test_a_daemon_that_is_killed(self):
        session, jobs = self.start_two_long_jobs()
        session.say(TINY | {"tag": "c"})
        self.stop_daemon(self.daemon, signal.SIGKILL)
        for tag, job in zip("ab", jobs):
            harness.wait_until(lambda: [line for line in session.heard(tag=tag) if "error" in line], f"{tag} was told")
        session.say(TINY | {"tag": "d"}, {"tag": "e", "kernel": "selu", "inputs": {"x": 1}})
        self.assertEqual(session.end(), harness.NO_DAEMON, session.errors)
        last = ends(session.lines)
        self.assertEqual(sorted(last), list("abcde"))
        for tag, job in zip("ab", jobs):
            self.assertEqual((last[tag]["job"], "state" in last[tag]), (job, False))
        for tag in "abde":
            self.assertEqual((last[tag]["error"]["code"], last[tag]["error"]["exitCode"]), ("UNAVAILABLE", harness.NO_DAEMON))
        self.assertIn("jobs did not complete; the first, line", session.errors)

    def test_the_next_daemon_goes_on(self):
        session = Session(self)
        session.say(TINY | {"tag": 1})
        session.wait_for(tag=1, state="COMPLETED")
        self.stop_daemon(self.daemon)
        self.daemon = self.start_daemon("--lanes", "2")
        session.say(TINY | {"tag": 2})
        session.wait_for(tag=2, state="COMPLETED")
        self.assertEqual(session.end(), harness.OK, session.errors)


if __name__ == "__main__":
    harness.main()
