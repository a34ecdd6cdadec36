#!/usr/bin/python3
"""What the journal costs, and how soon a daemon has read it back.

usage: tests/bench/journal.py [--save]

Three parts, of the release build (build/release), one after the other; let nothing else run meanwhile:
  submits    acknowledged jobs a second beside a bare group commit of SQLite, in turns (bench_journal)
  attached   the smallest calls of a daemon with a journal beside one without, in turns (bench_attached)
  restart    from the start of hotplated to its record, with 100 000 jobs that wait in its journal
Prints a line each, and with --save keeps them as JSON in tests/bench/results.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from kept import tell

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
WAITING = 100_000
BOUND = 120  # seconds: no state takes longer


class Daemons:
    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {"HOTPLATE_DIR": str(folder / "daemons")}
        self.environment.pop("HOTPLATE_SERVER", None)
        self.running = {}

    def record(self, name):
        return self.folder / "daemons" / "servers" / f"{name}.json"

    def start(self, name, *flags):
        """Seconds until it serves."""
        log = self.folder / f"{name}.log"
        began = time.monotonic()
        process = subprocess.Popen([BIN / "hotplated", "--name", name, "--device", "cpu", "--log-file", log, *flags],
                                   env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.running[name] = process
        while not (self.record(name).exists() and json.loads(self.record(name).read_text())["pid"] == process.pid):
            if process.poll() is not None or time.monotonic() - began > BOUND:
                sys.exit(f"journal.py: hotplated does not serve:\n{log.read_text()}")
            time.sleep(0.002)
        return time.monotonic() - began

    def stop(self, name, number=signal.SIGTERM):
        process = self.running.pop(name)
        process.send_signal(number)
        process.wait(timeout=BOUND)

    def hotplate(self, *words):
        return subprocess.run([BIN / "hotplate", *words], env=self.environment, check=True, capture_output=True, text=True).stdout

    def end(self):
        for name in list(self.running):
            self.stop(name, signal.SIGKILL)


def submits(folder):
    out = subprocess.run([BIN / "bench_journal", folder, "10"], check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return [row for row in rows if row["what"] == "durable submits"]


def attached(daemons):
    daemons.start("with")
    daemons.start("without", "--journal", "off")
    rows = daemons.folder / "attached.json"
    subprocess.run([BIN / "bench_attached", "with", "without", rows], check=True, env=daemons.environment)
    for name in ("with", "without"):
        daemons.stop(name)
    return [{"what": row["name"], "unit": row["unit"], "measured": row["measured"], "without": row["peer"], "ratio": row["ratio"]}
            for row in json.loads(rows.read_text())]


def multiply(index, number):
    """Makes as many jobs like that one as are to wait."""
    with contextlib.closing(sqlite3.connect(index)) as database, database:
        for table in ("jobs", "requests"):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            values = ", ".join("n.value" if one == "number" else one for one in columns)
            database.execute(
                "WITH RECURSIVE n(value) AS (SELECT ?1 UNION ALL SELECT value+1 FROM n WHERE value<?2)"
                f" INSERT INTO {table}({', '.join(columns)}) SELECT {values} FROM {table}, n WHERE number=?3",
                (number + 1, number + WAITING - 1, number))


def restart(daemons):
    queue = ("--lanes", "1", "--queue", str(2 * WAITING))
    daemons.start("restart", *queue)
    server = ("--server", "restart")
    daemons.hotplate(*server, "submit", "integrate2d", "--n", "10000000")
    waiting = int(json.loads(daemons.hotplate(*server, "submit", "integrate2d", "--n", "10", "--priority", "-1", "--json"))["jobId"])
    daemons.stop("restart", signal.SIGKILL)
    index, = (daemons.folder / "daemons" / "journal" / "restart").glob("index-*.sqlite")
    multiply(index, waiting)
    seconds = daemons.start("restart", *queue)
    log = (daemons.folder / "restart.log").read_text()
    told = f"{WAITING + 1} jobs that go on"
    if told not in log:
        sys.exit(f"journal.py: the daemon did not take them back:\n{log[-2000:]}")
    daemons.stop("restart", signal.SIGKILL)
    return [{"what": "restart", "waiting_jobs": WAITING, "seconds": seconds}]


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--save", action="store_true")
    save = parser.parse_args().save
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hotplate-bench-", dir=pathlib.Path.home()))  # not a file system in memory
    daemons = Daemons(folder)
    try:
        rows = restart(daemons) + attached(daemons) + submits(folder)
    finally:
        daemons.end()
        shutil.rmtree(folder)
    tell("journal", rows, save)


if __name__ == "__main__":
    main()
