"""The length of the vector [1, 2, 3]: the cost of the smallest possible call, from end to end.

usage: norm.py [CALLS]          (default 100; prints their median)
"""

import statistics
import sys
import time

import hotplate as hp

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100

gpu = hp.connect()
took = []
for _ in range(CALLS):
    begin = time.perf_counter()
    length = gpu.norm([1.0, 2.0, 3.0])
    took.append(time.perf_counter() - begin)

print(f"{length}: a call takes {statistics.median(took) * 1e6:.0f} µs")
if abs(length - 3.7416573867739413) > 1e-15:
    sys.exit("wrong: it is the square root of 14")
