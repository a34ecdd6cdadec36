"""Expressions: the whole table of operators, dtypes, reductions and views against NumPy, each text compiled for the device; and a
chain of operations on an array that stays there. They need the package hotplate, as functions do (workers.py)."""

from .daemon import Daemon
from .workers import Users

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128"]
PARTS = {"conversions of each dtype to each": "casts", "reductions of each dtype": "reductions", "views and places": "shapes",
         "a chain of ten without a copy": "chain"}


def operators_of(dtype):
    return f"operators of {dtype}"


def expressions_checks(_kit):
    return [*map(operators_of, DTYPES), *PARTS]


def expressions(kit):
    with Daemon(kit) as daemon:
        users = Users(kit, daemon)
        for dtype in DTYPES:
            with kit.check(operators_of(dtype)) as facts:
                facts |= users.ask("operators", dtype, program="expression_calls.py")
        for name, part in PARTS.items():
            with kit.check(name) as facts:
                facts |= users.ask(part, program="expression_calls.py")
