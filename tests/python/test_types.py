"""Type hints: the package under `mypy --strict`, and _core.pyi beside the module that it tells of."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import hotplate as hp
import numpy as np
import pytest
from conftest import PATIENCE
from hotplate import _core

PACKAGE = pathlib.Path(hp.__file__).parent  # of the build: Python files are links there, beside the module
PROJECT = pathlib.Path(__file__).resolve().parents[2] / "client/python"
STUB = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """mypy over what is named, and over the package as it is imported here."""
    pytest.importorskip("mypy", reason="no mypy (deploy/install-deps.sh --tests installs it)")
    environment = os.environ | {"MYPY_CACHE_DIR": str(tmp_path_factory.mktemp("mypy"))}
    if "site-packages" not in PACKAGE.parts:  # what is installed mypy finds by itself
        environment["MYPYPATH"] = str(PACKAGE.parent)
    line = [sys.executable, "-m", "mypy", "--config-file", str(PROJECT / "pyproject.toml"), "--strict"]
    return lambda *arguments: subprocess.run([*line, *arguments], env=environment, capture_output=True, text=True,
                                             timeout=2 * PATIENCE, check=False)


@pytest.mark.parametrize("version", [
    f"{sys.version_info.major}.{sys.version_info.minor}",
    pytest.param("3.9", marks=pytest.mark.skipif(np.__version__ >= "2", reason="NumPy 2's hints are for newer ones")),
])
def test_the_package_is_strict(check, version):
    done = check("--python-version", version, "-p", "hotplate")
    if f"Python {version} is not supported" in done.stderr:
        pytest.skip(f"this mypy no longer knows Python {version}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_of_a_user_is_checked(check, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import typing\n"
                       "import hotplate as hp\n"
                       "gpu = hp.connect(deadline=3)\n"
                       "shape: tuple[int, ...] = gpu.array([1.0], name='A').shape\n"
                       "future = gpu.submit('matmul', 1, 2)\n"
                       "told: tuple[str, typing.Optional[hp.Receipt]] = future.job_id, future.receipt\n"
                       "names: list[str] = [device.id for device in gpu.devices] + list(next(gpu.telemetry()))\n"
                       "with hp.up(gpus=1, time='30m') as client:\n"
                       "    client.matmul(1, 2)\n")
    done = check(str(program))
    assert done.returncode == 0, done.stdout
    program.write_text("import hotplate as hp\n"
                       "gpu = hp.connect(deadline='3')\n"
                       "gpu.array([1.0]).shape.append(3)\n"
                       "gpu.submit('matmul', 1, 2).receipts\n"
                       "gpu.devices.id\n"
                       "next(gpu.telemetry()) + 1\n"
                       "with hp.up(gpus='one') as client:\n"
                       "    client.job(7)\n"
                       "    client.array([1.0]) + 1\n"
                       "    for row in client.array([1.0]): pass\n")
    told = check(str(program)).stdout
    assert re.findall(r"program\.py:(\d+): error", told) == [str(line) for line in range(2, 11)], told


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_hints_are_shipped_and_name_what_there_is():
    assert (PACKAGE / "py.typed").exists()
    told = {node.name: node for node in STUB.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(told) == public(name for name, value in vars(_core).items() if callable(value))
    for name, node in told.items():
        if isinstance(node, ast.ClassDef):
            members = {child.target.id if isinstance(child, ast.AnnAssign) else child.name for child in node.body
                       if isinstance(child, (ast.AnnAssign, ast.FunctionDef))}
            assert public(members) == public(vars(getattr(_core, name))), name


def declared():
    """Each function and method of the stub: its path, and its node."""
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{child.name}", child) for child in node.body
                        if isinstance(child, ast.FunctionDef))


def find(path):
    found = _core
    for name in path.split("."):
        found = getattr(found, name)
    return found


def in_words(arguments):
    """Names and defaults, for a comparison."""
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    return [(argument.arg, None if default is None else ast.literal_eval(default))
            for argument, default in zip(arguments.args, defaults)]


# The others are properties, and what Python's own slots call, of which nothing is said.
FUNCTIONS = {path: node for path, node in declared() if not node.decorator_list and not path.endswith(".__call__")}


@pytest.mark.parametrize("path", FUNCTIONS)
def test_names_and_defaults_are_those_of_the_module(path):
    # As pybind11 knows it: the first line of a docstring.
    said = re.sub(r"hotplate\._core\.", "", find(path).__doc__.strip().splitlines()[0])
    there = ast.parse(f"def {said}: ...").body[0].args
    assert in_words(there) == in_words(FUNCTIONS[path].args)


def test_attributes_and_their_types():
    """Of what a call is told: what the stub says of each attribute is what is read, and may be written."""
    options = _core.Options()
    (stub,) = (node for node in STUB.body if getattr(node, "name", "") == "Options")
    attributes = {node.target.id: ast.unparse(node.annotation) for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert set(attributes) == {name for name in dir(options) if not name.startswith("_")}
    for name, annotation in attributes.items():
        value = getattr(options, name)
        kind = "Optional" if value is None else type(value).__name__
        assert annotation.split("[")[0] == kind, name
        setattr(options, name, value)
    with pytest.raises(TypeError):
        options.priority = "high"
    with pytest.raises(TypeError):
        options.device = np.zeros(3)
