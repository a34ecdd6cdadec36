"""Type hints: the package under `mypy --strict`, and _core.pyi beside the module that it tells of."""

import ast
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import hotplate as hp
import numpy as np
import pytest
from conftest import BIN, PATIENCE
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


# Calls as their users write them, each of which is right.
CALLS = """
import asyncio, pathlib
import numpy as np
gpu.matmul(np.ones((2, 2)), [[1.0, 2.0], [3.0, 4.0]], transpose_b=True, device="gpu0", lease="2h", keep="A").numpy()
gpu.matmul(gpu.array(np.eye(2)), pathlib.Path("b.npy"), precision=None, out=np.empty((2, 2)))
kept: hp.Array = gpu.arange(10, keep=True)
here: "np.ndarray[typing.Any, typing.Any]" = gpu.linspace(0, 1, 5, endpoint=False) + gpu.arange(0, 5, dtype=np.float32)
gpu.full((3, 3), 1.0), gpu.full(3, np.float32(2), "int32"), gpu.random((2, 3), seed=7), gpu.zeros(3), gpu.ones((2,)), gpu.eye(3)
gpu.norm([1.0], np.inf, 0), gpu.norm([1.0], "fro"), gpu.norm([1.0], ord=1, axis=None), gpu.reduce([1.0], operation="mean", axis=-1)
gpu.selu([1.0], lambda_=1.05, progress=lambda fraction, text: None, deadline=3)
result = gpu.svd(np.eye(3), keep={"u": "U", "s": True}, time_limit="5m")
print(result.s, result.receipt.kernel, result._fields, gpu.dot([1.0], [2.0]), gpu.matmul.spec["summary"], gpu.svd.docs())
gpu.submit(gpu.matmul, 1, 2), gpu.cancel(7), gpu.wait("7"), gpu.job(np.int64(7))["state"]
async def main() -> None:
    print(await gpu.aio.matmul([1.0], [2.0], keep=True), await gpu.aio.run("matmul", 1, 2))
asyncio.run(main())
"""
# Each of these is wrong.
MISTAKES = """
gpu.matmull(1, 2)
gpu.matmul(1)
gpu.matmul(1, 2, tranpose_b=True)
gpu.matmul(1, 2, transpose_b="yes")
gpu.arange(10).numpy()
gpu.arange(10, keep=True).total()
gpu.svd([[1.0]]).S
gpu.svd([[1.0]], compute="all")
gpu.mandelbrot(resolution="large")
gpu.aio.matmull(1, 2)
gpu.aio.matmul(1, 2, deadline=[3])
gpu.fft([1.0], transform="fft3")
gpu.selu([1.0], gamma=2.0)
gpu.full()
"""


def test_kernels_are_typed(check, tmp_path):
    """Where a kernel's name, an argument's name or a choice is wrong, mypy finds it."""
    head = "import hotplate as hp\ngpu = hp.connect()\n"
    program = tmp_path / "program.py"
    program.write_text(head + MISTAKES.lstrip())
    told = check(str(program)).stdout
    lines = [str(3 + number) for number in range(len(MISTAKES.strip().splitlines()))]
    assert list(dict.fromkeys(re.findall(r"program\.py:(\d+): error", told))) == lines, told


def generator():
    """The program that writes _kernels.pyi, as a module."""
    spec = importlib.util.spec_from_file_location("typed_kernels", PROJECT / "tools/typed_kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_typed_kernels_are_those_of_the_catalogue():
    """The file is what typed_kernels.py writes of the catalogue as built."""
    catalogue = BIN.parent / "share/hotplate/catalogue.json"
    made = generator().stub(json.loads(catalogue.read_text(encoding="utf-8")))
    assert (PACKAGE / "_kernels.pyi").read_text(encoding="utf-8") == made, \
        f"PYTHONPATH={PACKAGE.parent} client/python/tools/typed_kernels.py {catalogue}   writes it again"


def test_the_exported_catalogue_is_what_a_daemon_tells(gpu):
    tool = generator()
    for exported in json.loads((BIN.parent / "share/hotplate/catalogue.json").read_text(encoding="utf-8"))["kernels"]:
        told = gpu.kernels[exported["name"]].spec
        for name, value in tool.spec_of(exported).items():
            assert value == told[name], f"{exported['name']}: {name}"


def test_a_program_of_a_user_is_checked(check, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import typing\n"
                       "import hotplate as hp\n"
                       "gpu = hp.connect(deadline=3)\n"
                       "shape: tuple[int, ...] = gpu.array([1.0], name='A').shape\n"
                       "mean: hp.Array = (1 - 2 * gpu.array([1.0])[:1] ** 2).mean(axis=0)\n"
                       "rows: list[hp.Array] = [row for row in gpu.array([1.0])]\n"
                       "future = gpu.submit('matmul', 1, 2)\n"
                       "told: tuple[str, typing.Optional[hp.Receipt]] = future.job_id, future.receipt\n"
                       "names: list[str] = [device.id for device in gpu.devices] + list(next(gpu.telemetry()))\n"
                       "with hp.up(gpus=1, time='30m') as client:\n"
                       "    client.matmul(1, 2)\n"
                       + CALLS)
    done = check(str(program))
    assert done.returncode == 0, done.stdout
    program.write_text("import hotplate as hp\n"
                       "gpu = hp.connect(deadline=[3])\n"
                       "gpu.array([1.0]).shape.append(3)\n"
                       "gpu.submit('matmul', 1, 2).receipts\n"
                       "gpu.devices.id\n"
                       "next(gpu.telemetry()) + 1\n"
                       "with hp.up(gpus='one') as client:\n"
                       "    client.job(7.5)\n"
                       "    client.array([1.0]).total()\n"
                       "    client.array([1.0]).shape = (1,)\n")
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
