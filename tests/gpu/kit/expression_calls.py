"""Expressions on the kit's daemon, asked for by kit/expressions.py. Run by a Python that has NumPy and the package hotplate.

usage: expression_calls.py operators DTYPE | casts | reductions | shapes | chain
  chain  ten operations on an array that the daemon holds, noted and sent as one, and each by itself
Prints one line of JSON: what was found; or "missing", why this Python cannot; or "wrong".
"""

import json
import re
import sys
import time

try:
    import numpy as np
    import hotplate as hp
    import expression_table as table
    missing = ""
except ImportError as error:
    missing = str(error)

ELEMENTS = 1 << 20


class Runs:
    """Runs texts, and counts them and the compiler's time."""

    def __init__(self, gpu):
        self.gpu, self.count, self.compile_ns, self.device = gpu, 0, 0, ""

    def __call__(self, text, arrays, numbers=None, multiprocessors=2):
        try:
            found = self.gpu.eval(text, {**arrays, **(numbers or {})}, keep=True)
        except (hp.Error, ValueError, TypeError) as error:
            return table.Refused(error)
        outputs = {name: getattr(found, name) for name in found._fields} if isinstance(found, tuple) else {self.only_name(text): found}
        receipt = next(iter(outputs.values())).receipt
        self.count += 1
        self.compile_ns += receipt.compile_ns or 0
        self.device = receipt.device
        return {name: output.numpy() for name, output in outputs.items()}

    @staticmethod
    def only_name(text):
        named = re.match(r"(\w+) = ", text)
        return named[1] if named else "out"


def judged(part, gpu, *dtypes):
    runs = Runs(gpu)
    wrong = part(runs, *dtypes)
    if wrong:
        return {"wrong": f"{len(wrong)} differ from NumPy's: " + "; ".join(wrong[:3])}
    return {"expressions": runs.count, "compile_ms": round(runs.compile_ns / 1e6), "device": runs.device}


def ten(x):
    y = np.exp(-x * x) * 2.0 + 1.0
    return np.sqrt(np.abs(np.sin(y) - 0.5)) / (y + 3.0)


def chain(gpu):
    values = np.linspace(-3, 3, ELEMENTS)
    x = gpu.array(values)
    (x + 0.0).compute()  # from here on the device has it, where it has memory of its own
    found = {}
    for name, as_noted in (("noted", True), ("each", False)):
        begin = time.perf_counter()
        if as_noted:
            y = ten(x).compute()
        else:
            with hp.eager():
                y = ten(x)
        found[f"{name}_ms"] = round((time.perf_counter() - begin) * 1e3, 2)
        receipt = y.receipt
        for copy in ("host_to_device_ns", "device_to_host_ns"):
            if getattr(receipt, copy) is not None:
                return {"wrong": f"{name}: {copy} is {getattr(receipt, copy)}: an array was copied"}
        found["device"] = receipt.device
        if not np.allclose(y.numpy(), ten(values), rtol=1e-12, atol=1e-12):
            return {"wrong": f"{name}: the result is not NumPy's"}
    return found


def main(what, *words):
    if missing:
        return {"missing": missing}
    with hp.connect() as gpu:
        if what == "chain":
            return chain(gpu)
        return judged(getattr(table, what), gpu, *([words] if words else []))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
