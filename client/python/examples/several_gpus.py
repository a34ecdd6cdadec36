"""x on GPU 0, x^2 on GPU 1, x^3 on GPU 2, their sum on the CPU: data on several devices.

In PyTorch, CuPy or JAX an array lives on one device: the exercise was to copy it in time, since using it on another
device was an error. Here `device` says where a call runs, and the daemon brings the arrays there. The only error that
remains is a device that does not exist. With fewer than three devices, some do more than one part.

usage: several_gpus.py [N]      (default 10)
"""

import sys

import numpy as np

import hotplate as hp

N = int(sys.argv[1]) if len(sys.argv) > 1 else 10

gpu = hp.connect()
devices = [device.id for device in gpu.devices]
first, second, third = (devices[i % len(devices)] for i in range(3))
print(f"x on {first}, x^2 on {second}, x^3 on {third}")

# Element by element as products of 1 x 1 matrices, a batch of them. The powers never leave the daemon.
x = gpu.arange(stop=N, dtype="float64", device=first, keep=True)
column = gpu.array(x.numpy().reshape(N, 1, 1))
square = gpu.matmul(column, column, device=second, keep=True)
cube = gpu.matmul(square, column, device=third, keep=True)
total = (x.numpy() + square.numpy().ravel() + cube.numpy().ravel()).astype(np.int64)
print(total)

numbers = np.arange(N)
if not np.array_equal(total, numbers + numbers**2 + numbers**3):
    sys.exit("wrong: not x + x^2 + x^3")
if not np.array_equal(gpu.power_sum(numbers), total):  # the same, all of it on one device
    sys.exit("wrong: one device has another sum than several")

try:
    gpu.power_sum(numbers, device="gpu99")
except ValueError as refused:
    print(f"refused, as it should be: {refused}")
else:
    sys.exit("wrong: there is no device gpu99")
