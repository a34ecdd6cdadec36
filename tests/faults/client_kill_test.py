"""Clients that are killed at every step of their protocol: nothing that was acknowledged is lost, made twice or left over.

    usage: client_kill_test.py [--long] [--seed S] [--only KIND]

Each client talks to one daemon, which lives through all of it, by way of a relay that stops after step k; then the client is
killed, for k = 1, 2, 3 … until a client ends before its step k. Every other one is given a moment before, to act on what it has
heard. --long takes more sizes, does both at each step, and takes smaller pieces of a transfer as a step.
"""

import argparse
import contextlib
import json
import pathlib
import subprocess
import sys

import client_works as works
import left_over
from lives import NAME, PATIENCE, Home, Life, hotplate, wait_until
from step_relay import StepRelay

# Sessions of killed clients are given up soon.
FLAGS = ("--disconnect-grace", "200ms", "--session-timeout", "2s")
MOST_STEPS = 3000
NEVER = 1 << 60  # a step
COARSE, FINE = 128 << 10, 32 << 10  # bytes of a transfer that are one step
MOST_JOBS = 100  # whose results are kept to be compared
MOMENT = 0.03  # seconds
UPLOAD_GRACE = 180  # seconds that an upload without a client keeps its place (server/core/arrays/arrays.h)
MOST_TOLD = 40
PACKAGE = str(pathlib.Path(hotplate.__file__).parents[1])
# Beyond what the daemon had after a first client of each kind: the threads of gRPC's pool come and go.
MORE_THREADS, MORE_DESCRIPTORS = 8, 2

KINDS = [(works.Submit, works.SMALL), (works.Submit, works.MIDDLE), (works.SubmitPython, 100), (works.PythonClient, works.SMALL),
         (works.Run, works.SMALL), (works.Run, works.MIDDLE), (works.Put, works.SMALL), (works.Put, works.MIDDLE),
         (works.Replace, works.MIDDLE), (works.Get, works.SMALL), (works.Get, works.MIDDLE), (works.Result, works.SMALL),
         (works.Result, works.MIDDLE), (works.Exec, 100)]
LONG = [(works.Submit, 0), (works.Submit, works.LARGE), (works.SubmitPython, 200_000), (works.PythonClient, works.MIDDLE),
        (works.Run, 0), (works.Run, works.LARGE), (works.Put, works.LARGE), (works.Get, works.LARGE), (works.Result, works.LARGE),
        (works.Exec, 30_000)]


class Job:
    """One that is known by its label."""

    def __init__(self, check):
        self.check = check  # (id) -> "", or what is wrong with its result
        self.ids = set()  # that were acknowledged


class Campaign:
    def __init__(self, seed, long):
        self.seed = seed
        self.long = long
        self.home = Home(FLAGS)
        self.outputs = self.home.folder / "outputs"
        self.outputs.mkdir()
        self.jobs = {}  # by label
        self.kills = self.acknowledged = self.completed = 0
        self.detached = set()  # ids
        self.lost = set()  # labels
        self.duplicated = set()
        self.faults = []

    # For works.

    def fault(self, text):
        self.faults.append(text)

    def acknowledge(self, label, job, check):
        self.jobs.setdefault(label, Job(check)).ids.add(job)

    def free(self, array):
        self.life.client._core.free(array)

    def wait_for_jobs(self):
        wait_until(lambda: not self.life.client._core.jobs(active_only=True), "all jobs ended")

    def arrays(self):
        return self.life.client._core.arrays()["arrays"]

    def settled_arrays(self):
        """Once those are gone that belong to a killed client's session, and in the long form those that were not complete."""
        def settled(array):
            return array["lease_expire_time"] and (array["state"] == "READY" or not self.long) or not array["owner_session"]
        self.wait(lambda: all(map(settled, self.arrays())),
                  lambda: f"arrays {[array for array in self.arrays() if not settled(array)]} stay after their clients were killed",
                  UPLOAD_GRACE if self.long else 0)
        return self.arrays()

    def compare_result(self, job, wanted):
        result = self.life.client._core.fetch(job)
        got = result.take(*result.outputs())
        return "" if got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes() else "its result is wrong"

    def compare_logs(self, job, wanted):
        code, out, err = self.home.command("logs", job)
        return "" if (code, out) == (0, wanted) else f"hotplate logs: exit {code}, {len(out)} letters: {out[:100]}…{err}"

    # The steps of one kind.

    def attempt(self, work, number, last, waits):
        """Kills a client after its step `last`. False if it has ended before."""
        words = [str(word) for word in work.words(number)]
        relay = StepRelay(self.port, last, FINE if self.long else COARSE)
        process = subprocess.Popen(words, cwd=self.home.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env=self.home.environment | {"HOTPLATE_ENDPOINT": f"localhost:{relay.port}", "PYTHONPATH": PACKAGE})
        try:
            reached = relay.wait(process)
            if waits:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(MOMENT)
        finally:
            process.kill()
            out, err = process.communicate(timeout=PATIENCE)
            relay.close()
        self.kills += process.returncode < 0
        if process.returncode != 0 and not reached:
            raise AssertionError(f"{words}: exit {process.returncode} before its step {last}: {out}{err}")
        work.after(number, out, done=process.returncode == 0)
        work.forget(number)
        if self.home.process.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.home.process.returncode} after step {last} of {work.name}")
        return reached

    def cover(self, work):
        kills = self.kills
        work.begin()
        number = 0
        for step in range(1, MOST_STEPS + 1):
            for waits in (False, True) if self.long else (step % 2 == 0,):
                number += 1
                reached = self.attempt(work, number, step, waits)
            if not reached:
                break
            if len(self.jobs) >= MOST_JOBS:
                self.wait_for_jobs()
                self.account()
        else:
            self.fault(f"{work.name} had not ended after {MOST_STEPS} steps")
        self.finish(work)
        self.check_rest(work.name)
        print(f"{work.name}: {step - 1} steps, {self.kills - kills} kills", flush=True)

    def finish(self, work):
        self.wait_for_jobs()
        work.end()
        self.account()

    # What has to be true after each kind.

    def account(self):
        """Each job that was acknowledged is known under one id, has completed, and its result is right."""
        by_label = {}
        for job in self.life.client._core.jobs():
            by_label.setdefault(job["label"], []).append(job)
        states = {job["id"]: job["state"] for jobs in by_label.values() for job in jobs}
        for label, job in self.jobs.items():
            there = {id: states[id] for id in job.ids if id in states} | {one["id"]: one["state"] for one in by_label.get(label, [])}
            if len(job.ids | there.keys()) > 1:
                self.duplicated.add(label)
                self.fault(f"{label} was acknowledged as {sorted(job.ids)}, and there are {there}")
                continue
            wrong = self.wrong_of(job, there)
            if wrong:
                self.lost.add(label)
                self.fault(f"{label}: job {job.ids}: {wrong}")
            else:
                self.completed += 1
        self.acknowledged += len(self.jobs)
        self.detached |= {id for job in self.jobs.values() for id in job.ids}
        self.jobs = {}
        code, out, err = self.home.command("journal", "prune")
        if code != 0:
            self.fault(f"hotplate journal prune: exit {code}: {out}{err}")
        for label, jobs in by_label.items():
            if label and len(jobs) > 1 and label not in self.duplicated:
                self.duplicated.add(label)
                self.fault(f"{label} was made {len(jobs)} times")

    def wrong_of(self, job, there):
        id, = job.ids
        if there.get(id) != "COMPLETED":
            return f"is {there.get(id, 'not there')}"
        before = {array["id"] for array in self.arrays()}
        try:
            return job.check(id)
        except hotplate.Error as error:
            return f"{type(error).__name__}: {error}"
        finally:
            for array in {array["id"] for array in self.arrays()} - before:
                self.free(array)

    def check_rest(self, after):
        for array in self.settled_arrays():
            if array["name"] and array["state"] == "READY":
                self.fault(f"array {array['name']} is left after {after}")
            self.free(array["id"])  # a result that was never fetched

        def few():
            threads, descriptors = self.home.counts()
            return threads <= self.threads + MORE_THREADS and descriptors <= self.descriptors + MORE_DESCRIPTORS
        self.wait(few, lambda: f"(threads, descriptors) {self.home.counts()} after {after}, {(self.threads, self.descriptors)} before")
        self.wait(lambda: len(self.home.processes()) <= self.processes, lambda: f"processes after {after}: {self.home.processes()}")
        self.wait(lambda: not left_over.drafts(self.home), lambda: f"after {after}: {left_over.drafts(self.home)}")

    def wait(self, condition, words, more=0):
        try:
            wait_until(condition, "nothing was left over", PATIENCE / 4 + more)
        except AssertionError:
            self.fault(words())

    # All of it.

    def first_clients(self, kinds):
        """One of each kind, which nobody kills: from now on the daemon has all the threads and descriptors that it needs."""
        for work in kinds:
            work.begin()
            self.attempt(work, 0, NEVER, waits=False)
            self.finish(work)
        self.threads, self.descriptors = self.home.counts()
        self.processes = len(self.home.processes())

    def run(self, kinds):
        self.home.start()
        self.life = Life(self.home)
        self.port = json.loads((self.home.directory / "servers" / f"{NAME}.json").read_text())["endpoints"][0]["port"]
        self.first_clients([kind(self, size) for kind, size in kinds])
        for kind, size in kinds:
            self.cover(kind(self, size))
        self.life.client.close()
        status = self.home.stop()
        if status != 0:
            self.fault(f"after SIGTERM the daemon ended with {status}")
        self.faults += left_over.processes(self.home) + left_over.drafts(self.home)
        self.faults += left_over.spool(self.home, self.detached)
        with self.home.log.open(encoding="utf-8", errors="replace") as lines:
            self.faults += [f"the log: {line.rstrip()}" for line in lines if line.split()[1:2] in (["error"], ["critical"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="kinds, such as Submit")
    arguments = parser.parse_args()
    campaign = Campaign(arguments.seed, arguments.long)
    kinds = [(kind, size) for kind, size in KINDS + (LONG if arguments.long else [])
             if not arguments.only or kind.__name__ in arguments.only]
    try:
        campaign.run(kinds)
    except Exception as error:  # whatever it is, the daemon is ended, and the summary printed
        campaign.faults.insert(0, f"{type(error).__name__}: {error}")
    finally:
        failed = bool(campaign.faults or campaign.lost or campaign.duplicated or not campaign.kills)
        campaign.home.close(keep=failed)
    for fault in campaign.faults[:MOST_TOLD]:
        print(fault, file=sys.stderr)
    if failed:
        print(f"{len(campaign.faults)} faults; the folder is kept: {campaign.home.folder}", file=sys.stderr)
    print(f"acknowledged {campaign.acknowledged}  completed {campaign.completed}  lost {len(campaign.lost)}  "
          f"duplicated {len(campaign.duplicated)}  kills {campaign.kills}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
