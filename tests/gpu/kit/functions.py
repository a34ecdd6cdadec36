"""Functions of a user's own in workers of the kit's daemon, asked for by kit/workers.py. Run by the Python that has the libraries.

usage: functions.py hold LIBRARY | meet LIBRARY FOLDER | kill LIBRARY FOLDER
  hold   the library's function on an array that the daemon holds, twice; its result stays there, and is compared
  meet   two calls that wait for each other, which takes two workers
  kill   its worker is killed in a kernel of the library's
LIBRARY is numpy, cupy, jax or torch. Prints one line of JSON: what was found; or "missing", why this Python cannot; or "wrong".
"""

import json
import os
import signal
import sys
import time

# Of prime length, so that a piece in the wrong place shows; the results are exact in float32.
PERIOD, COUNT = 1021, 1 << 20
KERNEL = """extern "C" __global__ void twice_and_one(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] + 1;
}"""
# Ends by itself: a kernel that nobody could end would keep the device from everybody.
SPIN = """extern "C" __global__ void spin(long long cycles) {
  for (long long begin = clock64(); clock64() - begin < cycles;) {}
}"""
SPIN_CYCLES = 100_000_000_000  # about a minute
PATIENCE = 40


# Run in workers.

def twice_and_one(library, x):
    """2 * x + 1 as users of the library write it, the library's version, and where it was computed."""
    if library == "numpy":
        import numpy
        return 2 * x + 1, numpy.__version__, "cpu"
    if library == "cupy":
        import cupy
        y = cupy.empty_like(x)
        cupy.RawKernel(KERNEL, "twice_and_one")(((x.size + 255) // 256,), (256,), (x, y, cupy.int32(x.size)))
        return y, cupy.__version__, "gpu"
    if library == "jax":
        import jax
        y = jax.jit(lambda x: 2 * x + 1)(x)
        return y, jax.__version__, next(iter(y.devices())).platform
    import torch
    y = 2 * x + 1
    return y, str(torch.__version__), y.device.type  # a class of its own, which would stay there


def one_call(x, library):
    y, version, where = twice_and_one(library, x)
    return y, {"version": version, "where": where, "pid": os.getpid(), "device": os.environ.get("CUDA_VISIBLE_DEVICES", "")}


def left(x, library):
    """Stays where it is made: it is no array of NumPy's."""
    return twice_and_one(library, x)[0]


def largest(y):
    return float(y.max()), os.getpid()


def met(x, library, folder, number, other):
    """The call's answer, once the other call is there as well."""
    open(f"{folder}/{number}", "w").close()
    end = time.monotonic() + PATIENCE
    while not os.path.exists(f"{folder}/{other}"):
        if time.monotonic() > end:
            raise TimeoutError(f"within {PATIENCE} s the other call did not begin")
        time.sleep(0.01)
    return one_call(x, library)


def stuck(x, library, folder):
    """Tells its process once a kernel runs, and waits for its end."""
    def tell():
        with open(f"{folder}/draft", "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        os.rename(f"{folder}/draft", f"{folder}/pid")

    twice_and_one(library, x)
    if library == "cupy":
        import cupy
        cupy.RawKernel(SPIN, "spin")((1,), (1,), (cupy.int64(SPIN_CYCLES),))
        tell()
        cupy.cuda.Device().synchronize()
    elif library == "jax":
        import jax
        loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10_000_000, lambda _, y: y * 0.5 + 1, x))
        tell()
        loop(x).block_until_ready()
    elif library == "torch" and x.is_cuda:
        import torch
        torch.cuda._sleep(SPIN_CYCLES)
        tell()
        torch.cuda.synchronize()
    else:
        a = x[:1_000_000].reshape(1000, 1000)
        tell()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            a @ a
    return "it came to its end"


# Here.

def function(gpu, library, body, **options):
    return gpu.function(body, wants=None if library == "numpy" else library, **options)


def held(gpu):
    """An array of the daemon's, and what twice_and_one makes of it."""
    import numpy as np
    x = np.resize(np.arange(PERIOD, dtype=np.float32), COUNT)
    return gpu.array(x), 2 * x + 1


def differs(result, expected):
    there = result.numpy() if hasattr(result, "numpy") else result
    if there.dtype != expected.dtype or there.shape != expected.shape:
        return f"{there.dtype} of {there.shape} came in place of {expected.dtype} of {expected.shape}"
    wrong = int((there != expected).sum())
    return f"{wrong} of {expected.size} numbers are wrong" if wrong else ""


def hold(gpu, library):
    x, expected = held(gpu)
    call = function(gpu, library, one_call, keep=True)
    found, times = [], []
    for _ in range(2):
        begin = time.perf_counter()
        y, told = call(x, library)
        times.append(round((time.perf_counter() - begin) * 1e3, 2))
        if wrong := differs(y, expected):
            return {"wrong": wrong}
        found.append(told)
    if found[0]["pid"] != found[1]["pid"]:
        return {"wrong": f"its second call ran in another worker: processes {found[0]['pid']} and {found[1]['pid']}"}
    return found[1] | {"first_call_ms": times[0], "second_call_ms": times[1]}


def stay(gpu, library):
    x, expected = held(gpu)
    ref = function(gpu, library, left, returns="ref")(x, library)
    found, pid = gpu.function(largest)(ref)
    if found != expected.max() or pid != ref.worker:
        return {"wrong": f"{found} in process {pid} in place of {expected.max()} in that of {ref!r}"}
    return {"type": ref.type, "pid": pid}


def meet(gpu, library, folder):
    x, expected = held(gpu)
    call = function(gpu, library, met)
    answers = [future.result() for future in [call.submit(x, library, folder, *names) for names in (("one", "two"), ("two", "one"))]]
    if wrong := "; ".join(filter(None, (differs(y, expected) for y, _ in answers))):
        return {"wrong": wrong}
    one, two = (told for _, told in answers)
    if one["pid"] == two["pid"] or one["device"] != two["device"]:
        return {"wrong": f"they are no two workers on one device: {one}, {two}"}
    return {"pids": [one["pid"], two["pid"]], "device": one["device"]}


def kill(gpu, library, folder):
    import hotplate as hp
    future = function(gpu, library, stuck).submit(held(gpu)[0], library, folder)
    end = time.monotonic() + PATIENCE
    while not os.path.exists(f"{folder}/pid") and not future.done():
        if time.monotonic() > end:
            return {"wrong": f"within {PATIENCE} s its kernel did not begin"}
        time.sleep(0.01)
    if future.done():
        return {"wrong": f"it ended by itself: {future.exception() or future.result()}"}
    with open(f"{folder}/pid", encoding="ascii") as file:
        pid = int(file.read())
    time.sleep(0.2)  # well inside it
    os.kill(pid, signal.SIGKILL)
    error = future.exception(PATIENCE)
    if not isinstance(error, hp.JobFailed) or "SIGKILL" not in str(error):
        return {"wrong": f"the call of a worker that was killed: {error!r}"}
    return {"pid": pid, "said": str(error)}


def main():
    what, *words = sys.argv[1:]
    try:
        import hotplate as hp
        with hp.connect() as gpu:
            found = {"hold": hold, "stay": stay, "meet": meet, "kill": kill}[what](gpu, *words)
    except ImportError as error:
        found = {"missing": f"{type(error).__name__}: {error}"}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
