"""Kills a daemon again and again while clients submit detached jobs, and sees that none is lost and none is made twice.

    usage: kill_cycles.py [--cycles N] [--seed S] [--without KIND] [-- FLAG…]
      --without KIND   no jobs of this kind (known_jobs.py), as long as they are known to fail
      --               what follows is passed to hotplated

A cycle starts a daemon, in one of two cycles after others that are killed while they start and recover. Threads submit jobs,
ask again for some, look after others and fetch their results. Then the daemon is killed with SIGKILL: at a random moment, at an
acknowledgement, or when a job has just written its file; one of four is told to stop, and killed while it stops. A submit
without an answer is repeated under its request id when the next daemon serves. The last daemon lives: each acknowledged job has
to end, and its result is compared with NumPy's. Kills do not lose what was written and not synced, as power cuts do.

"Not rerun" are jobs that failed as they should: with --no-rerun, or after they had run as often as a job may.
"""

import argparse
import collections
import random
import sys
import threading
import time

import left_over
from known_jobs import KINDS, OF_COMMANDS, Request
from lives import ENDED, KILLED, PATIENCE, Home, Life, hotplate

SUBMITTERS = 3
MOST_SUBMITS, MOST_COMMANDS = 12, 4  # of a thread in one life
LONGEST_LIFE = 0.5  # seconds
MOST_ACKNOWLEDGED = 20  # in a life that ends at an acknowledgement
MOST_FALSE_STARTS = 3
LONGEST_STOP = 0.2  # seconds until one that stops is killed
LAST_TRIES = 5
LAST_WAIT = 5 * PATIENCE  # for all jobs that wait at the end
MOST_TOLD = 40


class Campaign:
    def __init__(self, seed, without, flags):
        self.seed = seed
        self.kinds, self.of_commands = ({kind: weight for kind, weight in kinds.items() if kind.__name__ not in without}
                                        for kinds in (KINDS, OF_COMMANDS))
        self.random = random.Random(seed)
        self.home = Home(flags)
        self.lock = threading.Lock()
        self.requests = []  # all that were made
        self.unanswered = collections.deque()
        self.lost = set()  # requests
        self.duplicated = set()
        self.faults = []

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def lose(self, request, why):
        with self.lock:
            new = request not in self.lost
            self.lost.add(request)
        if new:
            self.fault(f"lost: {request} {why}")

    def acknowledged(self):
        with self.lock:
            return [request for request in self.requests if request.jobs]

    # In one life.

    def next_request(self, rng, kinds):
        """One without an answer, or one that was asked for before, or a new one."""
        with self.lock:
            if self.unanswered:
                return self.unanswered.popleft()
            if self.requests and rng.random() < 0.15:
                return rng.choice(self.requests)
            self.requests.append(Request(self.seed, len(self.requests), kinds))
            return self.requests[-1]

    def submit(self, life, request):
        """False: this life is over."""
        try:
            request.submit(life)
        except hotplate.Error as error:
            if not request.jobs:
                with self.lock:
                    self.unanswered.append(request)
            if life.killed:
                return False
            # Another thread may be asking for it at the same time.
            if error.retry_after is None:
                self.fault(f"{request} was refused: {type(error).__name__}: {error}")
        if len(request.jobs) > 1:
            with self.lock:
                self.duplicated.add(request)
        return True

    def submit_some(self, life, rng, kinds, most, count_down):
        for _ in range(most):
            if not self.submit(life, self.next_request(rng, kinds)):
                return
            count_down()

    def kill_at_file(self, life, moment):
        """Kills the daemon as soon as one of its jobs has written its file."""
        while not life.killed:
            if any(path.exists() for path in life.awaited):
                life.killed = True
                self.home.process.kill()
                return moment.set()
            time.sleep(0.0002)

    def fetch_some(self, life, rng):
        """Looks after random jobs until the daemon is killed."""
        while not life.killed:
            acknowledged = self.acknowledged()
            if not acknowledged:
                time.sleep(0.01)
                continue
            request = rng.choice(acknowledged)
            try:
                self.look_after(life, request)
            except hotplate.Error as error:
                if not life.killed:
                    self.lose(request, f"{type(error).__name__}: {error}")

    def look_after(self, life, request):
        """True if the job has ended as it should, and its result is right."""
        for job in request.jobs.copy():
            shown = life.client._core.job(job)
            state = shown["state"]
            if request.end not in ("", state):
                self.fault(f"{request} was {request.end}, and is {state}")
            if state not in ENDED:
                return False
            request.end = state
            wrong = ""
            if state == "COMPLETED":
                wrong = request.compare(life, job)
            elif not request.may_end(shown):
                wrong = f"is {state}: {shown['error']['message']}"
            if wrong:
                self.lose(request, wrong)
                return False
        return True

    def false_start(self):
        """A daemon that is killed while it starts."""
        self.home.launch()
        time.sleep(self.random.uniform(0, 1.3 * self.home.startup))
        status = self.home.kill()
        if status != KILLED:
            self.fault(f"a daemon ended by itself with {status} while it started")

    def cycle(self):
        if self.home.startup and self.random.random() < 0.5:
            for _ in range(self.random.randint(1, MOST_FALSE_STARTS)):
                self.false_start()
        self.home.start()
        life = Life(self.home)
        when = self.random.choice(["by time", "by time", "at acknowledgement", "at acknowledgement", "at file"])
        left = self.random.randint(1, MOST_ACKNOWLEDGED)
        moment = threading.Event()

        def count_down():
            nonlocal left
            with self.lock:
                left -= 1
                if left <= 0 and when == "at acknowledgement":
                    moment.set()

        def rng():
            return random.Random(self.random.random())

        works = [(self.submit_some, life, rng(), self.kinds, MOST_SUBMITS, count_down) for _ in range(SUBMITTERS)]
        works.append((self.submit_some, life, rng(), self.of_commands, MOST_COMMANDS if self.of_commands else 0, count_down))
        works.append((self.fetch_some, life, rng()))
        if when == "at file":
            works.append((self.kill_at_file, life, moment))
        threads = [threading.Thread(target=self.guarded, args=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        moment.wait(self.random.uniform(0, LONGEST_LIFE) if when == "by time" else LONGEST_LIFE)
        stops = when != "at file" and self.random.random() < 0.25
        if stops:
            life.stop_soon()
            time.sleep(self.random.uniform(0, LONGEST_STOP))
        status = life.kill()
        if status != KILLED and not (stops and status == 0):
            self.fault(f"a daemon ended by itself with {status}")
        for thread in threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                raise AssertionError("a client's call did not end though its daemon was killed")
        life.client.close()

    def guarded(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as error:  # a thread's failure is one of the program
            self.fault(f"{type(error).__name__}: {error}")

    # At the end.

    def fresh_counts(self):
        """Threads and descriptors of a daemon that has run a few jobs of each kind."""
        home = Home()
        try:
            home.start()
            life = Life(home)
            for number in range(30):
                request = Request(self.seed, number, KINDS)
                request.submit(life)
                life.client._core.wait(*request.jobs)
            life.client.close()
            return home.counts()
        finally:
            home.close()

    def finish(self):
        """(the number of jobs that completed with the right result, that of those that were not to run again)."""
        self.home.start()
        life = Life(self.home)
        for _ in range(LAST_TRIES * len(self.unanswered)):
            if self.unanswered:
                self.submit(life, self.unanswered.popleft())
        for request in self.unanswered:
            self.fault(f"{request} was not answered by the last daemon")
        # Each once more: it finds the job that it has.
        for request in self.acknowledged():
            if request not in self.lost:
                self.submit(life, request)
        self.wait_for_all(life)
        ends = [request.end for request in self.acknowledged() if self.ended_well(life, request)]
        self.check_ids(life)
        self.check_arrays(life)
        life.client.close()
        return ends.count("COMPLETED"), ends.count("FAILED")

    def wait_for_all(self, life):
        end = time.monotonic() + LAST_WAIT
        while active := life.client._core.jobs(active_only=True):
            if time.monotonic() > end:
                self.fault(f"{len(active)} jobs did not end: {[job['id'] for job in active][:10]}")
                return
            time.sleep(0.1)

    def ended_well(self, life, request):
        if request in self.lost:
            return False
        before = self.results(life)
        try:
            right = self.look_after(life, request)
        except hotplate.Error as error:
            self.lose(request, f"{type(error).__name__}: {error}")
            return False
        if not right:
            self.lose(request, "has not completed")
        # A large result was loaded for this, and would stay for its hour.
        for array in self.results(life) - before:
            life.client._core.free(array)
        return right

    def results(self, life):
        """Arrays that belong to jobs."""
        return {array["id"] for array in life.client._core.arrays()["arrays"] if not array["owner_session"]}

    def check_ids(self, life):
        owners = {}
        for request in self.requests:
            if len(request.jobs) > 1:
                self.duplicated.add(request)
                self.fault(f"duplicated: {request}")
            for job in request.jobs:
                if job in owners:
                    self.duplicated.add(request)
                    self.fault(f"job {job} was given to {request} and to {owners[job]}")
                owners[job] = request
        for job in life.client._core.jobs():
            if job["id"] not in owners:
                self.fault(f"job {job['id']} ({job['label']}, {job['state']}) is nobody's")
                self.duplicated.update(request for request in self.requests if request.id == job["label"])

    def check_arrays(self, life):
        code, out, err = self.home.command("free", "--all")
        if code != 0:
            self.fault(f"hotplate free --all: exit {code}: {out}{err}")
        for array in self.results(life):
            life.client._core.free(array)
        for array in life.client._core.arrays()["arrays"]:
            self.fault(f"array {array['id']} {array['name']} of {array['bytes']} bytes is left")

    def check_log(self):
        with self.home.log.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.split()[1:2] in (["error"], ["critical"]):
                    self.fault(f"the log: {line.rstrip()}")

    def run(self, cycles):
        fresh = self.fresh_counts()
        for _ in range(cycles):
            self.cycle()
        counts = self.finish()
        self.faults += left_over.more_than(self.home, fresh)
        status = self.home.stop()
        if status != 0:
            self.fault(f"after SIGTERM the daemon ended with {status}")
        self.faults += left_over.processes(self.home) + left_over.drafts(self.home)
        self.faults += left_over.spool(self.home, {job for request in self.requests for job in request.jobs})
        self.check_log()
        return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=15)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--without", action="append", default=[], choices=[kind.__name__ for kind in {**KINDS, **OF_COMMANDS}])
    parser.add_argument("flags", nargs="*", help="flags of hotplated, after --")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    campaign = Campaign(arguments.seed, arguments.without, arguments.flags)
    completed = not_rerun = 0
    try:
        completed, not_rerun = campaign.run(arguments.cycles)
    except Exception as error:  # whatever it is, the daemon is ended, and the summary printed
        campaign.fault(f"{type(error).__name__}: {error}")
    finally:
        failed = bool(campaign.faults or campaign.lost or campaign.duplicated)
        campaign.home.close(keep=failed)
    for fault in campaign.faults[:MOST_TOLD]:
        print(fault, file=sys.stderr)
    if failed:
        print(f"{len(campaign.faults)} faults; the folder is kept: {campaign.home.folder}", file=sys.stderr)
    print(f"cycles {arguments.cycles}  acknowledged {len(campaign.acknowledged())}  completed {completed}  "
          f"not rerun {not_rerun}  lost {len(campaign.lost)}  duplicated {len(campaign.duplicated)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
