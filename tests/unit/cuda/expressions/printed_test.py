#!/usr/bin/python3
"""Expressions as printed CUDA (kernels/expression/cuda_text.h), run on the host by run_printed, against NumPy.

usage: printed_test.py RUN_PRINTED [--compile HOTPLATE_NVRTC LIBNVRTC] [PART]...
PART: operators, casts, reductions, shapes; all without it. --compile: each text is compiled for a GPU too.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "gpu" / "kit"))
import expression_table  # noqa: E402

RUN, COMPILER = None, []
failures = []


def run(text, arrays, numbers=None, multiprocessors=2):
    """The outputs by name, or why they were refused."""
    with tempfile.TemporaryDirectory() as folder:
        words = [str(RUN), folder, str(multiprocessors), text]
        for name, array in arrays.items():
            file = pathlib.Path(folder, name + ".in")
            file.write_bytes(np.ascontiguousarray(array).tobytes())
            words.append(f"{name}={array.dtype.name}:{','.join(map(str, array.shape))}:{file}")
        for name, number in (numbers or {}).items():
            kind = "bool" if isinstance(number, bool) else "int" if isinstance(number, int) else "float"
            words.append(f"{name}={kind}:{int(number) if kind == 'bool' else repr(number)}")
        done = subprocess.run(words, capture_output=True, text=True)
        text_file = pathlib.Path(folder, "text.cu")
        if COMPILER and text_file.exists():
            compiled = subprocess.run([*COMPILER, "0", "--gpu-architecture=sm_90", "--std=c++17", "--fmad=false"],
                                      stdin=text_file.open(), capture_output=True)
            if compiled.returncode != 0 or not compiled.stdout.startswith(b"\x7fELF"):
                failures.append(f"{text[:100]} for a GPU: {compiled.stderr.decode()[:600]}")
        if done.returncode != 0:
            return expression_table.Refused(done.stderr.strip())
        results = {}
        for line in done.stdout.splitlines():
            name, dtype, *sizes = line.split(" ")
            shape = tuple(int(size) for size in sizes[0].split(",")) if sizes and sizes[0] else ()
            results[name] = np.frombuffer(pathlib.Path(folder, name + ".out").read_bytes(), dtype=dtype).reshape(shape)
        return results


# Floats that an integer cannot hold, as x86-64 converts them one at a time. In vectors, processors differ.
def casts(run):
    wrong = expression_table.casts(run)
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 300.0, -1.0, 3e9])
    got = run("a = int32(x); b = int64(x); c = uint8(x); d = uint64(x); e = int8(x); f = uint32(x)", {"x": x})
    least, most = -2**31, -2**63
    expression_table.check(wrong, "int32 of what does not fit", got["a"], np.array([least] * 5 + [300, -1, least], "int32"), 0, x)
    expression_table.check(wrong, "int64 of what does not fit", got["b"], np.array([most] * 5 + [300, -1, 3000000000], "int64"), 0, x)
    expression_table.check(wrong, "uint8 of what does not fit", got["c"], np.array([0] * 5 + [44, 255, 0], "uint8"), 0, x)
    expression_table.check(wrong, "int8 of what does not fit", got["e"], np.array([0] * 5 + [44, -1, 0], "int8"), 0, x)
    expression_table.check(wrong, "uint32 of what does not fit", got["f"], np.array([0] * 5 + [300, 2**32 - 1, 3000000000], "uint32"), 0, x)
    return wrong


# The daemon tells of these in its own words.
def shapes(run):
    wrong = expression_table.shapes(run)
    rng = np.random.default_rng(9)
    m, p = rng.random((7, 9)), rng.integers(-7, 7, (7, 9))
    p[3, 4], p[5, 5] = 7, -8
    for text in ("m[p, j]", "sum(m[p, j], axis=0)", "max(m[p, j])"):
        said = run(text, {"m": m, "p": p})
        if said != f"trouble at {3 * 9 + 4}: gather 0 axis 0 index 7":
            wrong.append(f"{text} with an index outside: {said}")
    said = run("x ** y", {"x": np.arange(5), "y": np.array([1, 2, -3, 1, -1])})
    if said != "trouble at 2: gather -1 axis 0 index -3":
        wrong.append(f"a negative power: {said}")
    return wrong


def main():
    global RUN, COMPILER
    RUN, *words = sys.argv[1:]
    if words[:1] == ["--compile"]:
        COMPILER, words = words[1:3], words[3:]
    for part in (expression_table.operators, casts, expression_table.reductions, shapes):
        if not words or part.__name__ in words:
            failures.extend(part(run))
    print("\n".join(failures) if failures else "the same as NumPy's")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
