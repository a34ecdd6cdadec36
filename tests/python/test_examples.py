"""The examples and the tutorial do what they say, against a daemon on this machine."""

import pathlib
import re
import subprocess
import sys

import pytest

PAGES = pathlib.Path(__file__).parents[2] / "client/python"
EXAMPLES = PAGES / "examples"
# Pages with cells.
TUTORIAL = PAGES / "docs/tutorial.md"
OTHERS = [PAGES.parents[1] / "README.md", PAGES.parent / "docs/python.md", PAGES.parent / "docs/graphs.md"]
CELLS = PAGES / "docs/cells.py"
# On a slow machine, beside other work.
PATIENCE = 120

# Small sizes, and what must be printed besides an exit status of 0.
SMALL = {
    "add_kernel": ([], "[   1    2    3 ... 4094 4095 4096]"),
    "dot": ([64], "right"),
    "first_call": ([1000], "program 1, call 1"),
    "gram": ([64], "right"),
    "integrate2d": ([512], "fast"),
    "mandelbrot": ([150], "right"),
    "norm": ([3], "3.7416573867739413"),
    "selu": ([1000], "right"),
    "several_gpus": ([], "[  0   3  14  39  84 155 258 399 584 819]"),
    "svd": ([60], "180 x 20 float32"),
    "trig_identity": ([1000], "int64 in, float64 out"),
    "vector_add": ([1000], "right"),
    "vmap": ([3], "batched"),
    "worth_it": ([1 << 20], "from 0.13 operations a value on"),
}


def run(environment, *words, status=0):
    """What python prints, which has to end with this exit status."""
    done = subprocess.run([sys.executable, "-B", *map(str, words)], env=environment, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == status, done.stdout
    return done.stdout


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(environment, name):
    sizes, says = SMALL[name]
    assert says in run(environment, EXAMPLES / f"{name}.py", *sizes)


def test_an_example_whose_result_is_wrong_says_so(environment, tmp_path):
    broken = tmp_path / "norm.py"
    broken.write_text((EXAMPLES / "norm.py").read_text().replace("3.7416573867739413", "3.75"))
    assert "wrong" in run(environment, broken, 2, status=1)


def test_the_table_lists_every_example():
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\)", table, re.MULTILINE)
    assert sorted(listed) == sorted(SMALL) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


def test_examples_import_nothing_else():
    for path in EXAMPLES.glob("*.py"):
        imported = set(re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
        assert imported <= {"hotplate", "numpy", "pathlib", "statistics", "sys", "time"}, path.name


@pytest.mark.parametrize("page", [TUTORIAL, *OTHERS], ids=lambda page: page.stem)
def test_a_page_shows_what_its_cells_give(environment, page):
    run(environment, CELLS, "--check", page)


def test_cells_notice_another_output(environment, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1, '3 ms')\n```\n\n```text\n2 5 ms\n```\n")
    run(environment, CELLS, "--check", page)
    page.write_text(page.read_text().replace("2 5", "3 5"))
    assert "+2 #" in run(environment, CELLS, "--check", page, status=1)
    run(environment, CELLS, page)
    assert page.read_text() == "```python\nprint(1 + 1, '3 ms')\n```\n\n```text\n2 3 ms\n```\n"


@pytest.mark.parametrize("cell, says", [
    ("python\n1 / 0", "raised ZeroDivisionError"),
    ("python raises\n1 / 1", "did not raise"),
])
def test_a_cell_that_fails_unexpectedly_is_no_output(environment, tmp_path, cell, says):
    page = tmp_path / "page.md"
    page.write_text(f"text\n```{cell}\n```\n")
    assert f"line 3: the cell {says}" in run(environment, CELLS, page, status=1)
