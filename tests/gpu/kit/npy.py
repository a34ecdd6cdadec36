"""float32 arrays as .npy files, without NumPy."""

import pathlib


def write(path, shape, data):
    """Returns the path as text. `data`: the elements' bytes."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    with open(pathlib.Path(path), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        file.write(data)
    return str(path)
