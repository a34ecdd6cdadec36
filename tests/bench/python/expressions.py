"""Expressions and arrays that compute: kernel times beside numexpr, Numba and a fused OpenMP loop, on 1e7 float64."""

import ctypes
import pathlib
import shutil
import subprocess
import time

import numpy as np

COUNT = 10_000_000
PEAK_ROUNDS = 9
FACTORS = (1.01, 1.02, 1.03, 1.04, 1.05)
LOOPS = r"""
#include <math.h>
void axpy(const double *restrict x, const double *restrict y, double *restrict out, long n) {
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < n; ++i) out[i] = 2 * x[i] + 3 * y[i];
}
"""


def ms(function):
    begin = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - begin)


class Ours:
    """Kernel times, by the receipt, of texts over arrays that the daemon holds."""

    def __init__(self, gpu, x, y):
        self.gpu = gpu
        self.arrays = {"x": gpu.array(x), "y": gpu.array(y)}

    def kernel_ms(self, text, **numbers):
        arrays = {name: array for name, array in self.arrays.items() if name in text}
        result = self.gpu.eval(text, arrays, keep=True, **numbers)
        return result.receipt.kernel_ns / 1e6

    def chained_ms(self):
        """Ten operations as a user writes them."""
        x, y = self.arrays["x"], self.arrays["y"]
        chain = x
        for factor in FACTORS:
            chain = chain * factor + y
        return chain.compute().receipt.kernel_ns / 1e6


def fused_loop(folder, x, y, out):
    """The loop that a C programmer would write, compiled here; None without a compiler."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    source, library = pathlib.Path(folder) / "loop.c", pathlib.Path(folder) / "loop.so"
    source.write_text(LOOPS, encoding="utf-8")
    subprocess.run([compiler, "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", source, "-o", library], check=True)
    loop = ctypes.CDLL(str(library)).axpy
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y, out)]
    return lambda: ms(lambda: loop(*pointers, ctypes.c_long(COUNT)))


def beside_numexpr(rows, ours, x, y, out):
    try:
        import numexpr
    except ImportError as error:
        rows.leave_out("numexpr", str(error))
        return
    names = {"x": x, "y": y, "a": 1.67}

    def peer(text):
        return lambda: ms(lambda: numexpr.evaluate(text, names, out=None if text.startswith("sum") else out))

    for text, goal, numbers in (("2*x + 3*y", 1 / 1.2, {}), ("sin(x)**2 + cos(x)**2", 1 / 4, {}),
                                ("where(x > 0, x, a*exp(x) - a)", 1 / 4, {"a": 1.67}), ("sum(x*y)", 1 / 1.5, {})):
        peer(text)()
        rows.compare(f"{text}, kernel time", "ms", PEAK_ROUNDS, lambda: ours.kernel_ms(text, **numbers), "numexpr", peer(text),
                     goal, False)


def beside_numba(rows, ours, x, out):
    try:
        import numba
    except ImportError as error:
        rows.leave_out("numba", str(error))
        return

    @numba.njit(parallel=True)
    def circle(x, out):
        for i in numba.prange(x.size):
            out[i] = np.sin(x[i]) ** 2 + np.cos(x[i]) ** 2

    @numba.njit(parallel=True)
    def selu(x, out, a):
        for i in numba.prange(x.size):
            out[i] = x[i] if x[i] > 0 else a * np.exp(x[i]) - a

    for text, numbers, call in (("sin(x)**2 + cos(x)**2", {}, lambda: circle(x, out)),
                                ("where(x > 0, x, a*exp(x) - a)", {"a": 1.67}, lambda: selu(x, out, 1.67))):
        call()
        rows.compare(f"{text}, kernel time", "ms", PEAK_ROUNDS, lambda: ours.kernel_ms(text, **numbers), "numba", lambda: ms(call),
                     1 / 2, False)


def beside_expressions(rows, gpu, folder):
    random = np.random.default_rng(1)
    x, y = random.standard_normal(COUNT), random.standard_normal(COUNT)
    out = np.zeros(COUNT)
    ours = Ours(gpu, x, y)
    beside_numexpr(rows, ours, x, y, out)
    loop = fused_loop(folder, x, y, out)
    if loop is None:
        rows.leave_out("a fused OpenMP loop", "there is no gcc")
    else:
        loop()
        rows.compare("2*x + 3*y, kernel time", "ms", PEAK_ROUNDS, lambda: ours.kernel_ms("2*x + 3*y"), "fused OpenMP loop", loop, 2,
                     False)
    beside_numba(rows, ours, x, out)
    chain = "x"
    for factor in FACTORS:
        chain = f"({chain}*{factor} + y)"
    rows.compare("ten operations on arrays, kernel time", "ms", PEAK_ROUNDS, ours.chained_ms, "one text of them",
                 lambda: ours.kernel_ms(chain), 1.15, False)
    tiny = np.zeros(8)
    counter = iter(range(1_000_000))
    gpu.eval("x + 1", x=tiny)
    rows.compare("a new expression, 64 bytes, one call", "us", 51,
                 lambda: 1e3 * ms(lambda: gpu.eval(f"x + {next(counter)}.5", x=tiny)), "a known one",
                 lambda: 1e3 * ms(lambda: gpu.eval("x + 0.5", x=tiny)), 1.1, False)
