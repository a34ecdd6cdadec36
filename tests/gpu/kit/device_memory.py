"""Another program that has most of the device's memory."""

import json
import subprocess

from .place import built_for_others
from .results import Failed, NotRun


def hold(kit, leave):
    """A program that takes all but `leave` bytes of the device, and what it said of it."""
    process = subprocess.Popen(kit.place.program("bench_bare_cuda") + ["hold", str(leave)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=kit.environment)
    said = process.stdout.readline()
    if not said:
        _, err = process.communicate(timeout=30)
        if why := built_for_others("bench_bare_cuda", err):
            raise NotRun(why)
        raise Failed(f"bench_bare_cuda hold ended with {process.returncode}: {err.strip()[:300]}")
    return process, json.loads(said)


def let_go(holder):
    if holder is not None:
        if not holder.stdin.closed:
            holder.stdin.close()
        try:
            holder.wait(timeout=20)
        except subprocess.TimeoutExpired:
            holder.kill()
            holder.wait()
