"""A client that makes small calls one after the other, in a process of its own, until its standard input ends.

    usage: small_calls.py RECORD

Prints a line for each: whether the answer was good, and after how many seconds. Most go over one connection, every fourth
over a new one; every second is a job, the others only look. A connection that the daemon gave up is made anew.
"""

import json
import pathlib
import select
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import flooding  # noqa: E402

BETWEEN = 0.01  # seconds, so that they are no flood themselves
JOB = flooding.part(1, flooding.vector_add(10))


def one_call(connection, number):
    path, content = (flooding.EXECUTE, JOB) if number % 2 else (flooding.GET_INFO, b"")
    stream = connection.ask(path, content)
    end = time.monotonic() + flooding.PATIENCE
    while connection.answered(stream) is None and time.monotonic() < end:
        if not connection.turn():
            select.select([connection], [connection] if connection.unsent else [], [], 0.1)
    good = connection.answered(stream)
    connection.forget(stream)
    del connection.answers[stream]
    return good


def main():
    record = json.loads(pathlib.Path(sys.argv[1]).read_text())
    kept, number = None, 0
    while not select.select([sys.stdin], [], [], BETWEEN)[0]:
        number += 1
        begin = time.monotonic()
        good, why = False, ""
        try:
            if number % 4 == 0:
                fresh = flooding.Connection(record)
                good = one_call(fresh, number // 4)
                fresh.close()
            else:
                kept = kept if kept and not kept.hung_up else flooding.Connection(record)
                good = one_call(kept, number)
        except OSError as error:
            why = str(error)
        print("good" if good else "bad", f"{time.monotonic() - begin:.4f}", why, flush=True)


if __name__ == "__main__":
    main()
