"""Is the GPU worth it? How many operations are needed for each value that is sent to it?

A calculation on paper in the course: 15 GB/s from the CPU to the GPU, 1 TB/s within the GPU, 1 GB/s on the CPU, and
the data start on the CPU. Sent there and back and used k times, a byte costs 2/15 + k/1000 ns on the GPU and k ns on
the CPU: with those numbers the first operation already pays. Here the same sum with the rates of your device and
connection.

usage: worth_it.py [BYTES]      (default 67108864)
"""

import sys
import time

import numpy as np

import hotplate as hp

BYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 26


def rate(what):
    """GB/s of the fastest of five times."""
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        what()
        best = min(best, time.perf_counter() - begin)
    return BYTES / best / 1e9


def operations_that_pay(send, far, near):
    """Of how many passes over the data the way there and back is made up for; None: of no number."""
    return 2 / send / (1 / near - 1 / far) if far > near else None


on_paper = operations_that_pay(15, 1000, 1)
print(f"as in the course: from {on_paper:.2f} operations a value on")
if round(on_paper, 2) != 0.13:
    sys.exit("wrong: 2/15 / (1 - 1/1000) is 0.13")

gpu = hp.connect()
x = np.ones(BYTES // 8)
y = np.empty_like(x)
on_device = gpu.array(x)
to_device, from_device, within = gpu.transfer_probe(bytes=BYTES)
connection = 2 / (1 / rate(lambda: gpu.array(x)) + 1 / rate(lambda: on_device.numpy()))
near = 2 * rate(lambda: np.add(x, x, out=y))  # one pass reads and writes
gpu.vector_add(on_device, on_device, keep=True)
far = gpu.last_receipt.bytes_per_second / 1e9
print(f"to the device {to_device:.1f}, from it {from_device:.1f}, within it {within:.1f} GB/s; "
      f"this program to the daemon and back {connection:.2f} GB/s")
print(f"a pass over the data: NumPy here {near:.1f} GB/s, {gpu.last_receipt.device} {far:.1f} GB/s")
pays = operations_that_pay(connection, far, near)
print(f"worth it from {pays:.0f} passes on" if pays else "not worth it for sums: only for more work on each value")
if not min(to_device, from_device, within, connection, near, far) > 0:
    sys.exit("wrong: a rate that is not positive")
