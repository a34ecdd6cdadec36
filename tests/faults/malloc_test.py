"""Allocations that fail in a daemon while clients submit detached jobs: none that was acknowledged is lost or made twice.

    usage: malloc_test.py [--long] [--cycles N] [--seed S]

Each cycle starts a daemon whose malloc fails (failing_malloc.py): the N-th allocation, or some from there on, of any size or
of large ones, while it starts or while it serves. It may refuse, let a job fail and say so, or die. If it lives it has to serve
afterwards, with no array, thread or descriptor more than before. Then the next daemon goes on where it was. The last one has
enough memory: each acknowledged job has completed, with NumPy's result to the last bit, or has failed for a reason that it says.
"""

import argparse
import collections
import json
import random
import signal
import sys

import kill_cycles
import left_over
import numpy as np
from failing_malloc import CLASSES, FailingMalloc
from known_jobs import KINDS, OF_COMMANDS, RAN_OFTEN, expression, large, small, two_outputs
from lives import OK, PATIENCE, Life, hotplate, wait_until

# Names that a failed put has taken are not in their way.
WITHOUT_ARRAYS = {small: 3, large: 1, two_outputs: 1, expression: 1}
REQUESTS = 8  # in one life, while allocations fail
AFTER = 2  # in the same life, when they do not any more
# std::bad_alloc, or it says why it cannot start; gRPC writes where malloc pointed without a look (MemoryAllocator::MakeSlice).
DEATHS = (-signal.SIGABRT, -signal.SIGSEGV, 4)
OF_OPENBLAS = (1, "OpenBLAS: malloc failed")  # how that library ends the process, and what it says
DYING, LONG_DYING = 0.2, 5  # seconds; the first is only that fewer calls are made
NO_JOURNAL = "no detached jobs are taken: the journal"  # in its log, from a daemon that started without it
FOR_WANT_OF_MEMORY = ("memory", "bad_alloc")


class Campaign(kill_cycles.Campaign):
    def __init__(self, seed):
        super().__init__(seed, (), ())
        self.failed_allocations = self.refused = self.without_journal = 0
        self.deaths = collections.Counter()  # exit statuses of daemons that ended by themselves
        self.refusals = collections.Counter()
        self.memory_failures = set()  # requests whose job failed, as allowed

    # Daemons.

    def launch(self):
        """One whose malloc may fail."""
        usual = self.home.environment
        self.home.environment = usual | self.failing.environment()
        try:
            self.home.launch()
        finally:
            self.home.environment = usual

    def died(self):
        return self.home.process.poll() is not None

    def note_death(self):
        status = self.home.process.wait(PATIENCE)
        said = self.home.process.stdout.read().decode(errors="replace")
        self.home.process.stdout.close()
        self.deaths[status] += 1
        allowed = status in DEATHS or (status == OF_OPENBLAS[0] and OF_OPENBLAS[1] in said)
        if not allowed or (status > 0 and not said):
            self.fault(f"a daemon without memory ended with {status}: {said[-500:]}")

    # What may become of a request meanwhile.

    def look_after(self, life, request):
        """As kill_cycles has it, and a job may have failed for want of memory."""
        for job in request.jobs.copy():
            shown = life.client._core.job(job)
            why = (shown["error"] or {}).get("message", "")
            if shown["state"] == "FAILED" and request.end in ("", "FAILED") and self.may_say(why):
                request.end = "FAILED"
                self.memory_failures.add(request)
                return True
        return super().look_after(life, request)

    def may_say(self, why):
        return RAN_OFTEN in why or any(word in why for word in FOR_WANT_OF_MEMORY)

    def submit(self, life, request):
        """True: it was acknowledged. A refusal is allowed."""
        try:
            request.submit(life)
            return True
        except hotplate.Error as error:
            if not request.jobs and request not in self.unanswered:
                self.unanswered.append(request)
            if self.gone():
                return False
            self.refused += 1
            self.refusals[f"{type(error).__name__}: {error}"] += 1
            if isinstance(error, hotplate.errors.DeadlineExceeded):
                self.fault(f"{request} was not answered: {error}")
            return False

    def gone(self, seconds=DYING):
        """Whether the daemon has died, or is just dying."""
        try:
            return bool(wait_until(self.died, "it died", seconds))
        except AssertionError:
            return False

    # A cycle.

    def measure(self):
        """Allocations of a start, and of a life's requests, of each class."""
        self.launch()
        wait_until(self.home.published, "hotplated published its record")
        start = self.failing.counts()
        life = Life(self.home)
        for number in range(REQUESTS):
            self.submit(life, self.next_request(random.Random(number), KINDS))
        self.wait_for_all(life)
        life.client.close()
        self.of_start, self.of_life = start, [after - before for before, after in zip(start, self.failing.counts())]
        if 0 in (self.of_start[0], self.of_life[0]):
            raise AssertionError(f"the daemon's allocations are not seen: {self.of_start} and {self.of_life}")
        self.home.stop()

    def plan(self, allocations, evenly):
        """Which allocations fail, of so many in each class."""
        which = self.random.choices(range(len(CLASSES)), [6, 2, 2])[0]
        # Else evenly over orders of magnitude.
        most = max(2, allocations[which])
        after = self.random.randrange(most) if evenly or self.random.random() < 0.5 else int(most ** self.random.random())
        count = self.random.choice([1, 1, self.random.randint(2, 20), 1 << 40])
        return after, count, CLASSES[which]

    def cycle(self):
        self.log_before = self.home.log.stat().st_size
        at_start = self.random.random() < 0.25
        if at_start:
            self.failing.arm(*self.plan(self.of_start, evenly=True))
        self.launch()
        try:
            wait_until(lambda: self.died() or self.home.published(), "hotplated published its record, or ended")
        except AssertionError:
            if not self.died():
                raise
        if self.died():
            self.failed_allocations += self.failing.disarm()
            return self.note_death()
        if not at_start:
            self.failing.arm(*self.plan(self.of_life, evenly=False))
        life = self.connect()
        if life:
            self.ask(life)
        self.failed_allocations += self.failing.disarm()
        if life and not self.died():
            self.serve_on(life)
        if self.died():
            self.note_death()
        else:
            status = self.home.stop() if self.random.random() < 0.5 else self.home.kill()
            if status not in (0, kill_cycles.KILLED):
                self.deaths[status] += 1
                self.fault(f"after SIGTERM a daemon ended with {status}")

    def connect(self):
        """Nothing if the daemon died of it."""
        try:
            return Life(self.home)
        except hotplate.Error as error:
            self.refusals[f"connect: {type(error).__name__}: {error}"] += 1
            if self.gone(LONG_DYING):
                return None
            self.failed_allocations += self.failing.disarm()
        try:
            return Life(self.home)  # it has to serve from now on
        except hotplate.Error as error:
            self.fault(f"a daemon that lives does not answer: {type(error).__name__}: {error}")
            return None

    def ask(self, life):
        kinds = KINDS | OF_COMMANDS
        for _ in range(REQUESTS):
            self.submit(life, self.next_request(self.random, kinds))
            if self.died():
                return

    def has_no_journal(self):
        with self.home.log.open("rb") as log:
            log.seek(self.log_before)
            return NO_JOURNAL.encode() in log.read()

    def serve_on(self, life):
        """One that lives takes jobs, and runs those that it has. Without its journal it has none."""
        try:
            if self.has_no_journal():
                self.without_journal += 1
                values = np.arange(10.0)
                if life.client.vector_add(values, values).tolist() != (2 * values).tolist():
                    self.fault("a daemon without its journal adds wrongly")
            else:
                self.take_jobs(life)
            self.check_arrays(life)
            life.client.close()
            self.faults += left_over.more_than(self.home, self.fresh)
        except (hotplate.Error, AssertionError) as error:
            if not self.gone(LONG_DYING):
                self.fault(f"a daemon that lives does not serve: {type(error).__name__}: {error}")

    def take_jobs(self, life):
        for _ in range(AFTER):
            request = kill_cycles.Request(self.seed, len(self.requests), WITHOUT_ARRAYS)
            self.requests.append(request)
            wait_until(lambda: self.submit(life, request) or self.died(), f"{request} was taken")  # noqa: B023
            if request.jobs and request in self.unanswered:
                self.unanswered.remove(request)
        self.wait_for_all(life)
        for request in self.acknowledged():
            if request not in self.lost and not self.look_after(life, request):
                self.lose(request, "has not completed")

    def check_log(self):
        """Errors are what this is about."""

    def verify(self):
        """Its notes too: they are of files that a power cut may damage, and there was none."""
        code, out, err = self.home.command("journal", "verify", "--json")
        found = [text for journal in json.loads(out)["journals"] for text in journal["problems"] + journal["notes"]] if out else []
        if code != OK or found:
            self.fault(f"hotplate journal verify: exit {code}: {err}{found}")

    def run(self, cycles):
        self.failing = FailingMalloc(self.home.folder)
        self.fresh = self.fresh_counts()
        self.measure()
        for _ in range(cycles):
            self.cycle()
        self.failing.disarm()
        counts = self.finish()
        self.verify()
        self.faults += left_over.more_than(self.home, self.fresh)
        status = self.home.stop()
        if status != 0:
            self.fault(f"after SIGTERM the daemon ended with {status}")
        self.faults += left_over.processes(self.home) + left_over.drafts(self.home)
        self.faults += left_over.spool(self.home, {job for request in self.requests for job in request.jobs})
        return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="300 cycles, with a seed of their own")
    parser.add_argument("--cycles", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--refusals", action="store_true", help="print in which words requests were refused")
    arguments = parser.parse_args()
    cycles = arguments.cycles or (300 if arguments.long else 15)
    seed = arguments.seed or (random.SystemRandom().randrange(1 << 31) if arguments.long else 1)
    print(f"seed {seed}", flush=True)
    campaign = Campaign(seed)
    completed = failed_jobs = 0
    try:
        completed, failed_jobs = campaign.run(cycles)
        if campaign.failed_allocations == 0:
            campaign.fault("no allocation failed")
    except Exception as error:  # whatever it is, the daemon is ended, and the summary printed
        campaign.fault(f"{type(error).__name__}: {error}")
    finally:
        failed = bool(campaign.faults or campaign.lost or campaign.duplicated)
        campaign.home.close(keep=failed)
    if arguments.refusals:
        for words, times in campaign.refusals.most_common():
            print(f"refused {times} times: {words}")
    for fault in campaign.faults[:kill_cycles.MOST_TOLD]:
        print(fault, file=sys.stderr)
    if failed:
        print(f"{len(campaign.faults)} faults; the folder is kept: {campaign.home.folder}", file=sys.stderr)
    print(f"cycles {cycles}  failed allocations {campaign.failed_allocations}  deaths {sum(campaign.deaths.values())}  "
          f"without journal {campaign.without_journal}  refused {campaign.refused}  "
          f"acknowledged {len(campaign.acknowledged())}  completed {completed}  "
          f"failed as told {failed_jobs}  lost {len(campaign.lost)}  duplicated {len(campaign.duplicated)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
