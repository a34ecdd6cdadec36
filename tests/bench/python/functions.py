"""The user's own functions in one warm worker: beside the smallest kernel, beside one process of other libraries
(function_peers.py), and what a cancel takes."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import time

import work
from function_peers import PEERS
from ours import WINDOW, median_us, seconds_of


def p50_us(call):
    """Of the calls of about 0.3 s."""
    return median_us(max(10, min(200, int(3e5 / median_us(3, call)))), call)


def bursts(burst, times):
    """Calls in a second."""
    return times * WINDOW / seconds_of(lambda: [burst() for _ in range(times)])


class Hot:
    """Ours, as the peers are asked."""

    def __init__(self, ours):
        self.call = ours.gpu.function(work.nothing)
        self.kept = ours.gpu.function(work.plus_one, keep=True)
        self.array = ours.resident

    def burst(self):
        for future in [self.call.submit() for _ in range(WINDOW)]:
            future.result()

    def held(self):
        self.kept(self.array)


def warmed(side):
    """What is made at a first call is made."""
    for _ in range(30):
        side.call()
        if side.held:
            side.held()
    side.burst()
    return side


def beside(rows, hot, peer):
    rows.compare("no-op function, p50", "us", 15, lambda: p50_us(hot.call), peer.name, lambda: p50_us(peer.call), peer.goals.get("call"),
                 False)
    rows.compare(f"no-op functions, {WINDOW} in flight", "calls/s", 7, lambda: bursts(hot.burst, 10), peer.name,
                 lambda: bursts(peer.burst, 2), peer.goals.get("burst"))
    if peer.held:
        rows.compare("function of an array of 8 MB that stays, to one that stays, p50", "ms", 9, lambda: p50_us(hot.held) / 1e3,
                     ", ".join(filter(None, (peer.name, peer.held_name))), lambda: p50_us(peer.held) / 1e3, peer.goals.get("held"), False)


def beside_functions(rows, ours):
    hot = warmed(Hot(ours))
    rows.compare("no-op function, p50", "us", 15, lambda: p50_us(hot.call), "smallest kernel", lambda: ours.calls_us(200), 2, False)
    for name, make in PEERS.items():
        try:
            peer = make()
        except ImportError as error:
            rows.leave_out(name, str(error))
            continue
        with contextlib.closing(peer):
            beside(rows, hot, warmed(peer))
    cancels(rows, ours.gpu, hot.call)


def until(condition):
    while not condition():
        time.sleep(0.0005)


def cancelled_ms(gpu, function, nothing):
    """From the cancel of a call that runs to its end at the daemon, and from there to the answer of the next call."""
    future = function.submit()
    until(future.running)
    time.sleep(0.05)  # well inside it
    job, begin = future.job_id, time.perf_counter()
    future.cancel()
    until(lambda: gpu.job(job)["state"] not in ("PENDING", "RUNNING"))
    ended = time.perf_counter()
    nothing()
    return 1e3 * (ended - begin), 1e3 * (time.perf_counter() - ended)


def killed_ms():
    """The same of the standard library's, which has no cancel of what runs: its process is killed, and a pool made anew."""
    def pool():
        return concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))

    with pool() as first:
        first.submit(work.nothing).result()
        process = multiprocessing.active_children()[-1]
        future = first.submit(work.endless)
        until(future.running)
        time.sleep(0.05)
        begin = time.perf_counter()
        os.kill(process.pid, signal.SIGKILL)
        future.exception()
        ended = time.perf_counter()
        with pool() as second:
            second.submit(work.nothing).result()
            return 1e3 * (ended - begin), 1e3 * (time.perf_counter() - ended)


def cancels(rows, gpu, nothing):
    for kind, endless in (("", work.endless), (" that ignores the interrupt", work.endless_and_deaf)):
        function = gpu.function(endless)
        for place, (name, peer, goal) in enumerate((("cancel to end", "killed", 250), ("its end to the next answer", "made anew", 50))):
            rows.compare(f"endless function{kind}, {name}", "ms", 9, lambda: cancelled_ms(gpu, function, nothing)[place],
                         f"ProcessPoolExecutor, {peer}", lambda: killed_ms()[place], goal, False, goal_of="measured")
