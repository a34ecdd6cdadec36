"""Files that NumPy wrote, and NumPy's opinion on files that Hotplate wrote.

make FOLDER    writes NAME.npy and NAME.expected (the elements in C order, raw) for every dtype, order and version
check FOLDER   reads NAME.npy as numpy.load does and compares it with NAME.expected: raw elements, then dtype and shape
"""
import pathlib
import sys

import numpy as np

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]
# Small ones, ones with a 0 or a 1, and ones so long that a transposing reader has to go piece by piece.
SHAPES = [(), (0,), (1,), (7,), (3, 4), (1, 5), (5, 1), (0, 3), (2, 3, 4), (2, 1, 3, 2), (2, 2, 2, 2, 2, 2, 2, 2)]
LONG = [("float64", (40000, 70)), ("float32", (3, 300001)), ("uint8", (300001, 35)), ("complex128", (9000, 2, 33)),
        ("int16", (130, 1031, 17)), ("float32", (1025, 1023))]


def array_of(dtype, shape, random):
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        flat = random.integers(0, 2, count).astype(bool)
    else:
        flat = np.frombuffer(random.bytes(count * np.dtype(dtype).itemsize), dtype=dtype)
    return flat.reshape(shape)


def save(folder, name, array, version):
    with open(folder / (name + ".npy"), "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    (folder / (name + ".expected")).write_bytes(array.tobytes(order="C"))


def make(folder):
    random = np.random.default_rng(20240607)
    cases = [(dtype, shape) for dtype in DTYPES for shape in SHAPES] + LONG
    for number, (dtype, shape) in enumerate(cases):
        array = array_of(dtype, shape, random)
        for order in "CF":
            version = [(1, 0), (2, 0), (3, 0)][number % 3]
            name = f"{number:03}-{dtype}-{'x'.join(map(str, shape)) or 'scalar'}-{order}"
            save(folder, name, np.asarray(array, order=order), version)


def check(folder):
    paths = sorted(folder.glob("*.npy"))
    for path in paths:
        array = np.load(path, allow_pickle=False)
        raw, dtype, shape = path.with_suffix(".expected").read_bytes().rsplit(b"\n", 2)
        assert array.dtype == np.dtype(dtype.decode()), (path, array.dtype, dtype)
        assert array.flags.c_contiguous and str(list(array.shape)) == shape.decode(), (path, array.shape, shape)
        assert array.tobytes() == raw, path
    print(len(paths))


{"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
