"""The integral of sin(x + y) over [0, pi] x [0, pi] by the midpoint rule, which is 0: sums in parallel.

On 102 400 x 102 400 cells. In the course one thread took one x and looped over y; the second version added up in the
shared memory of blocks of 16 threads, so that fewer sums went through global memory. Both are variants of the kernel
(they differ only on a GPU), beside the default, `fast`.

usage: integrate2d.py [N]       (default 102400 cells along each axis)
"""

import sys

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 100 * 1024

gpu = hp.connect()
for variant in ("naive", "shared", "fast"):
    result = gpu.integrate2d(n=N, variant=variant)
    seconds = gpu.last_receipt.kernel_ns / 1e9
    print(f"{variant:6}  {result.value: .3e}  {seconds:.3f} s, {N * N / seconds:.2e} sines a second")
    # The sines are float32: each is up to 1e-6 off, and there are pi^2 of area.
    if abs(result.value) > 1e-5 or abs(result.error - abs(result.value)) > 1e-12:
        sys.exit("wrong: the integral is 0")
