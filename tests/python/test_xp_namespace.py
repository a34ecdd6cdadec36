"""hotplate.xp as a module: its names, their docstrings and signatures, and the daemon that it works on."""

import ast
import doctest
import importlib
import inspect
import re

import hotplate as hp
import hotplate.xp as xp
import numpy as np
import pytest
from array_checks import same

FUNCTIONS = {f"{prefix}{name}": getattr(module, name) for prefix, module in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft))
             for name in module.__all__ if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)}


def test_the_functions_of_the_standard_are_there():
    assert xp is hp.xp and xp.__array_api_version__ == "2025.12"
    assert len([name for name in FUNCTIONS if "." not in name]) >= 130
    assert len(xp.linalg.__all__) == 25 and len(xp.fft.__all__) == 14
    assert {"linspace", "concatenate", "arccos", "isclose", "unique_all"} <= set(dir(xp)) and xp.float32 is np.float32 and xp.newaxis is None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_documented_with_an_example(name):
    docs = inspect.getdoc(FUNCTIONS[name])
    assert docs and "\nExample:\n    >>> " in docs, docs
    for example in doctest.DocTestParser().get_examples(docs):
        compile(example.source, name, "exec", ast.PyCF_ONLY_AST)
        for path in re.findall(r"\bhp\.xp\.(\w+(?:\.\w+)?)", example.source):
            assert path.partition(".")[0] in dir(xp), path


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if re.search(r">>> .*\bx\b", inspect.getdoc(FUNCTIONS[name]))])
def test_examples_run(gpu, name):
    x = xp.asarray(np.linspace(0.1, 0.9, 9).reshape(3, 3))
    whole = name.startswith("bitwise")
    names = {"hp": hp, "np": np, "x": xp.arange(9) if whole else x, "y": x, "z": x + 1j}
    if name == "fft.hfft":
        names["x"] = x + 1j
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(FUNCTIONS[name])):
        exec(compile(example.source, name, "single"), names)


def test_every_module_says_what_it_is():
    for name in ("bound", "complexes", "creation", "decompositions", "devices", "dtypes", "elementwise", "fft", "indexing", "info", "kernels", "linalg",
                 "manipulation", "norms", "numpy_names", "operands", "products", "searching", "sets", "sorting", "statistics", "utility"):
        assert importlib.import_module(f"hotplate.xp.{name}").__doc__


def test_an_array_names_its_namespace(gpu):
    x = xp.ones(3)
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="2020.01"):
        x.__array_namespace__(api_version="2020.01")
    info = xp.__array_namespace_info__()
    assert info.devices() == tuple(device.id for device in gpu.devices)
    assert info.dtypes(kind="complex floating") == {"complex64": np.dtype("complex64"), "complex128": np.dtype("complex128")}
    assert info.default_dtypes()["real floating"] == np.float64 and info.capabilities()["boolean indexing"]


def test_functions_run_where_their_arrays_are(gpu, start_daemon):
    with start_daemon().connect() as other:
        assert xp.zeros(2)._client is other, "connected last"
        ours = gpu.array([1.0, 2.0])
        for made in (xp.exp(ours), xp.zeros_like(ours), xp.concat([ours, np.ones(1)]), xp.asarray([ours[0], 5]), gpu.xp.zeros(2),
                     gpu.xp.asarray([1]), gpu.xp.fft.fftfreq(4), gpu.xp.linalg.matrix_power(ours[:, None] * ours, 0), gpu.xp.arange(3)):
            assert made._client is gpu
        same(gpu.xp.arange(3) + 1, np.arange(1, 4))
        assert gpu.xp.float32 is np.float32 and "zeros" in dir(gpu.xp) and gpu.xp.pi == np.pi
        with pytest.raises(TypeError, match="another daemon"):
            xp.add(ours, xp.zeros(2))


def test_names_of_numpy_are_there_too(gpu):
    same(xp.concatenate([np.ones(1), np.zeros(1)]), np.array([1.0, 0.0]))
    same(xp.arccos(xp.zeros(2)), np.arccos(np.zeros(2)))
    assert xp.allclose(xp.ones(2), [1.0, 1.0])
    with pytest.raises(AttributeError, match="numpy.einsum_path"):
        xp.einsum_path


def test_a_client_is_opened_once(daemon):
    import subprocess
    import sys

    program = "import hotplate.xp as xp; a = xp.zeros(2)._client; b = xp.ones(2)._client; assert a is b; print(float(xp.sum(xp.ones(3))))"
    done = subprocess.run([sys.executable, "-c", program], env=daemon.environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "3.0\n", done.stderr
