#!/usr/bin/python3
"""Measures what idle clients cost the daemon in memory, beside a bare gRPC server with TLS, and that the memory comes back.

usage: tests/bench/connections.py [--clients N] [--save]

It runs the release build (build/release) on its CPU back-end, and its bench_peer_server. Each client has finished its TLS
handshake and HTTP/2's settings, and then sends nothing. `per_client` is the growth of the server's resident memory divided by
their number, in bytes; `left` what is left of the growth 10 s after the last has gone, as a part of it. Goals: 1.5, and 0.1.
"""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from kept import tell

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import raw_http2  # noqa: E402

PATIENCE = 60


def resident(pid):
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024


@contextlib.contextmanager
def server(words, record):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while not record.exists():
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f"{words[0]} did not start")
            time.sleep(0.05)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def client_of_peer(record):
    port, _, certificate = record.read_text().split("\n", 2)
    context = ssl.create_default_context(cadata=certificate)
    context.set_alpn_protocols(["h2"])
    return lambda: context.wrap_socket(socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE), server_hostname="peer")


def client_of_daemon(record):
    found = json.loads(record.read_text())
    return lambda: raw_http2.connect(found, PATIENCE)


def until_acknowledged(connection):
    """The server's settings have come, and so has its acknowledgement of ours."""
    connection.sendall(raw_http2.PREFACE + raw_http2.frame(raw_http2.SETTINGS, 0, 0))
    got = b""
    while b"\0\0\0\4\1" not in got:
        more = connection.recv(4096)
        if not more:
            sys.exit("the server hung up")
        got += more
    connection.sendall(raw_http2.frame(raw_http2.SETTINGS, 1, 0))


def measured(pid, connect, clients):
    first = connect()  # what a server makes once
    until_acknowledged(first)
    time.sleep(1)
    before = resident(pid)
    connections = []
    for _ in range(clients):
        connections.append(connect())
        until_acknowledged(connections[-1])
    time.sleep(1)
    grown = resident(pid) - before
    for one in connections:
        one.close()
    time.sleep(10)
    return grown / clients, max(resident(pid) - before, 0) / grown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    rows = []
    with tempfile.TemporaryDirectory(prefix="hotplate-bench-") as folder:
        folder = pathlib.Path(folder)
        own, peer = folder / "servers" / "idle.json", folder / "peer"
        with server([BIN / "hotplated", "--directory", folder, "--name", "idle", "--device", "cpu", "--journal", "off"], own) as pid:
            ours, left = measured(pid, client_of_daemon(own), args.clients)
        with server([BIN / "bench_peer_server", peer], peer) as pid:
            theirs, theirs_left = measured(pid, client_of_peer(peer), args.clients)
    rows.append({"name": "memory of an idle client", "clients": args.clients, "per_client": round(ours), "bare": round(theirs),
                 "ratio": round(ours / theirs, 3), "goal": 1.5})
    rows.append({"name": "what is left of it when they have gone", "left": round(left, 3), "bare_left": round(theirs_left, 3), "goal": 0.1})
    tell("connections", rows, args.save)


if __name__ == "__main__":
    os.environ.pop("HOTPLATE_DIR", None)
    main()
