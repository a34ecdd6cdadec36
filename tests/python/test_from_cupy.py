"""The page "From CuPy": each line on the left, by NumPy in CuPy's place, gives what the line on the right gives."""

import pathlib
import re

import numpy as np
import pytest

import hotplate as hp

PAGE = pathlib.Path(__file__).parents[2] / "client/docs/from-cupy.md"
# Rows about what NumPy does not have.
NOT_CODE = ("cp.asnumpy", "cp.cuda", "@cp.fuse", "cp.RawKernel", "with cp.cuda")


def rows():
    """(left, right) of each pair of lines of the table."""
    pairs = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| `") or len(cells) != 2 or cells[0].startswith(tuple(f"`{word}" for word in NOT_CODE)):
            continue
        left = re.findall("`([^`]+)`", cells[0])
        same = cells[1].startswith("the same")
        right = [code.replace("cp.", "np.") for code in left] if same else re.findall("`([^`]+)`", cells[1])
        assert len(left) == len(right), line
        pairs += zip(left, right)
    return pairs


def values():
    random = np.random.default_rng(3)
    z = random.standard_normal((6, 6)) + 1j * random.standard_normal((6, 6))
    return {"x": random.standard_normal(12), "a": random.standard_normal((6, 4)), "b": random.standard_normal((4, 3)), "z": z,
            "c": 0.5 * z, "mask": abs(z) < 1}


def run(code, names):
    """The value of a line, or of the names that it gives one to."""
    given = re.match(r"([a-z, ]+?)(?:\[.*\])? = ", code)
    if given is None:
        return [eval(code, names)]
    exec(code, names)
    return [names[name.strip()] for name in given[1].split(",")]


def test_the_table_has_rows():
    assert len(rows()) > 15


@pytest.mark.parametrize("left, right", rows(), ids=lambda code: code)
def test_a_line_gives_what_cupys_gives(gpu, left, right):
    mine = {name: gpu.array(value) for name, value in values().items()}
    wanted = run(left, {"cp": np, **values()})
    came = run(right, {"np": np, "hp": hp, "gpu": gpu, **mine})
    if "svd" in left:  # signs are free
        wanted, came = wanted[1:2], came[1:2]
    assert len(wanted) == len(came)
    for want, got in zip(wanted, came):
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-14)
