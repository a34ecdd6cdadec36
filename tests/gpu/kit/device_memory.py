"""Another program that has most of the device's memory."""

import json
import subprocess

from .results import Failed


def hold(kit, leave):
    """A program that takes all but `leave` bytes of the device, and what it said of it."""
    process = subprocess.Popen(kit.place.program("bench_bare_cuda") + ["hold", str(leave)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=kit.environment)
    said = process.stdout.readline()
    if not said:
        raise Failed(f"bench_bare_cuda hold ended with {process.wait(timeout=30)}: {process.stderr.read().strip()[:300]}")
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
