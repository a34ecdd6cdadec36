#!/usr/bin/env python3
"""Prints numpy2_promotion.h: the dtype that each function of NumPy 2 has for each pair of dtypes.

To make it anew:

    python3 -m venv /tmp/numpy2 && /tmp/numpy2/bin/pip install 'numpy>=2.4'
    /tmp/numpy2/bin/python numpy2_promotion.py | clang-format > numpy2_promotion.h
"""

import warnings

import numpy as np

DTYPES = ("bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128").split()
# NumPy's own, but for bool: "?" makes trigraphs.
LETTERS = "obBhHiIlLefdFD"
NUMBERS = (True, 1, 1.0, 1j)

ONE = """negative positive absolute sign square sqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan
    arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isnan isinf isfinite signbit
    invert logical_not real imag conjugate round""".split()
TWO = """add subtract multiply divide floor_divide remainder fmod power arctan2 hypot copysign maximum minimum fmax fmin
    logaddexp bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor equal
    not_equal less less_equal greater greater_equal""".split()
REDUCTIONS = "sum prod min max any all argmin argmax mean std var".split()


def letter(function, *arguments):
    try:
        return LETTERS[DTYPES.index(str(np.asarray(function(*arguments)).dtype))]
    except TypeError:
        return "-"


def one_array(dtype):
    return np.ones(2, dtype)


def rows():
    for name in ONE:
        f = getattr(np, name)
        yield "kOne", name, [
            "".join(letter(f, one_array(d)) for d in DTYPES),
            "".join(letter(f, n) for n in NUMBERS),
        ]
    choose = lambda x, y: np.where(np.True_, x, y)
    for name in TWO + ["where"]:
        f = choose if name == "where" else getattr(np, name)
        yield "kTwo", name, [
            " ".join("".join(letter(f, one_array(a), one_array(b)) for b in DTYPES) for a in DTYPES),
            " ".join("".join(letter(f, one_array(a), n) for n in NUMBERS) for a in DTYPES),
            " ".join("".join(letter(f, n, one_array(a)) for n in NUMBERS) for a in DTYPES),
            " ".join("".join(letter(f, n, m) for m in NUMBERS) for n in NUMBERS),
        ]
    for name in REDUCTIONS:
        f = getattr(np, name)
        yield "kReductions", name, ["".join(letter(f, one_array(d)) for d in DTYPES)]


def main():
    warnings.simplefilter("ignore")
    assert np.__version__.startswith("2."), np.__version__
    print(f"""// Made by numpy2_promotion.py with NumPy {np.__version__}: do not edit.
#pragma once

#include <string_view>

namespace hotplate::expression::numpy2 {{

// Results are told by a letter for each of kDTypes, in the order of kLetters; "-" is a TypeError.
inline constexpr std::string_view kLetters = "{LETTERS}";
inline constexpr std::string_view kDTypes[] = {{{", ".join(f'"{d}"' for d in DTYPES)}}};
inline constexpr std::string_view kNumbers[] = {{"True", "1", "1.0", "1j"}};

struct One {{
  std::string_view name, dtypes, numbers;
}};
// A word for each of the first argument's dtypes (or numbers).
struct Two {{
  std::string_view name, dtypes, number_on_the_right, number_on_the_left, numbers;
}};
struct Reduced {{
  std::string_view name, dtypes;
}};
""")
    table = None
    types = {"kOne": "One", "kTwo": "Two", "kReductions": "Reduced"}
    for kind, name, columns in rows():
        if kind != table:
            if table:
                print("};\n")
            table = kind
            print(f"inline constexpr {types[kind]} {kind}[] = {{")
        print("    {" + ", ".join(f'"{c}"' for c in [name, *columns]) + "},")
    print("};\n\n}  // namespace hotplate::expression::numpy2")


if __name__ == "__main__":
    main()
