"""What help() says: every public name has a docstring with an example, and examples name what there is."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re

import hotplate as hp
import pytest

MODULES = [importlib.import_module(f"hotplate.{module.name}")
           for module in pkgutil.iter_modules([str(pathlib.Path(hp.__file__).parent)]) if module.name != "_core"]

# What calls and attributes give, besides what `hotplate` itself names.
GIVEN = ["aio.Aio", "aio.AioKernel", "connection.Connection", "futures.CallFuture", "jobs.Job", "jobs.Jobs", "kernels.Kernel",
         "kernels.Kernels", "telemetry.Device", "telemetry.Devices", "telemetry.Record", "telemetry.Sample",
         "allocation.command_path"]


def members(name, thing):
    """A function or a class, and of a class the public methods and properties that are its own or of this package's other
    classes."""
    yield name, thing
    if inspect.isclass(thing):
        ours = {attribute: member for one in reversed(thing.__mro__) if re.match(r"hotplate\.(?!_core)", one.__module__)
                for attribute, member in vars(one).items()}
        for attribute, member in ours.items():
            if not attribute.startswith("_") and (callable(member) or
                                                  isinstance(member, (property, classmethod, staticmethod))):
                yield f"{name}.{attribute}", getattr(thing, attribute)  # Python 3.9's classmethods have no docstring


def public():
    for name in hp.__all__:
        value = getattr(hp, name)
        if callable(value):  # neither a module nor the version
            yield from members(name, value)
    for path in GIVEN:
        module, name = path.split(".")
        yield from members(path, getattr(importlib.import_module(f"hotplate.{module}"), name))


PUBLIC = dict(public())


def test_the_walk_finds_what_there_is():
    assert {"connect", "up", "Client.run", "kernels.Kernels.kernels", "Array.dtype", "Receipt.of", "Busy", "Executor.submit", "aio.Aio.run",
            "futures.CallFuture.cancel", "telemetry.Device"} <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_documented_with_an_example(name):
    docs = inspect.getdoc(PUBLIC[name])
    assert docs and "\nExample:\n    >>> " in docs, f"{name} has no example: {docs!r}"


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_are_python_and_name_what_there_is(gpu, name):
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(PUBLIC[name])):
        compile(example.source, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        for module, attribute in re.findall(r"\b(hp|hotplate|gpu|gpu\.aio)\.(\w+)", example.source):
            package = [*dir(hp), *(one.__name__[len("hotplate."):] for one in MODULES)]
            known = {"gpu": dir(gpu), "gpu.aio": dir(gpu.aio)}.get(module, package)
            assert attribute in known, f"{name}: there is no {module}.{attribute}"


def test_kernels_and_what_the_daemon_tells_have_examples(gpu):
    for name, kernel in gpu.kernels.items():
        for docs in (kernel.__doc__, getattr(gpu.aio, name).__doc__):
            assert f"gpu.{name}(" in docs.partition("Example:\n    >>> ")[2]
            assert "Raises:\n    TypeError: " in docs and "\n    hotplate.JobFailed: " in docs
    assert "Example:" in type(gpu.matmul).__doc__, "of the class, not of a kernel"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_module_says_what_it_is(module):
    own = [(name, value) for name, value in vars(module).items()
           if not name.startswith("_") and callable(value) and value.__module__ == module.__name__]
    bare = [path for name, value in own for path, member in members(name, value)
            if not (inspect.getdoc(member) or "").strip()]
    assert (module.__doc__ or "").strip() and bare == []
