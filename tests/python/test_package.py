"""The package as a thing in a process: what a wheel links, and that it lives beside other packages' gRPC."""

import ast
import graphlib
import importlib
import pathlib
import pkgutil
import platform
import re
import subprocess
import sys
import textwrap

import hotplate as hp
import pytest
from conftest import PATIENCE
from hotplate import _core

FOLDER = pathlib.Path(hp.__file__).resolve().parent
# What every system has that can start Python and NumPy, by auditwheel's policy.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                 "libz.so.1", "ld-linux-x86-64.so.2"}
# Of a wheel that auditwheel has repaired: the libraries that it brings.
BROUGHT = FOLDER.parent / "hotplate.libs"


@pytest.mark.skipif(not BROUGHT.exists(), reason="not of a wheel: the module links this system's libraries")
def test_a_wheel_needs_no_library_of_the_machine_that_made_it():
    for file in (pathlib.Path(_core.__file__), *BROUGHT.iterdir()):
        told = subprocess.run(["readelf", "-d", "-W", file], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
        assert needed <= OF_THE_SYSTEM | {brought.name for brought in BROUGHT.iterdir()}, file.name
        searched = [place for places in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", told) for place in places.split(":")]
        assert all(place.startswith("$ORIGIN") for place in searched), f"{file.name} looks in {searched}"


@pytest.mark.skipif(tuple(map(int, platform.libc_ver()[1].split("."))) > (2, 36), reason="wheels for others are made on Debian 12")
def test_the_module_loads_on_older_systems():
    """As on RHEL 9, of which the page on Python speaks: a wheel's tag goes by what its libraries ask for."""
    told = subprocess.run(["objdump", "-T", _core.__file__], capture_output=True, text=True, check=True).stdout
    for library, newest in (("GLIBC", (2, 34)), ("GLIBCXX", (3, 4, 29))):
        asked = {tuple(map(int, version.split("."))) for version in re.findall(rf"\({library}_([0-9.]+)\)", told)}
        assert asked and max(asked) <= newest, library


CALLS = {
    "grpc": """
        from concurrent import futures
        import grpc
        class Reverse(grpc.GenericRpcHandler):
            def service(self, details):
                return grpc.unary_unary_rpc_method_handler(lambda request, context: request[::-1])
        server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Reverse()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        call = lambda: channel.unary_unary("/test/Reverse")(b"abc", timeout=60) == b"cba"
        end = lambda: (channel.close(), server.stop(None).wait())
    """,
    "pyarrow": """
        import pyarrow
        from pyarrow import flight
        class Numbers(flight.FlightServerBase):
            def do_get(self, context, ticket):
                return flight.RecordBatchStream(pyarrow.table({"x": [1, 2, 3]}))
        server = Numbers("grpc://127.0.0.1:0")
        reader = flight.connect(f"grpc://127.0.0.1:{server.port}")
        call = lambda: reader.do_get(flight.Ticket(b"")).read_all().num_rows == 3
        end = lambda: (reader.close(), server.shutdown())
    """,
    "google.protobuf": """
        from google.protobuf import descriptor_pb2
        call = lambda: descriptor_pb2.FileDescriptorProto.FromString(
            descriptor_pb2.FileDescriptorProto(name="a").SerializeToString()).name == "a"
        end = lambda: None
    """,
    "torch": """
        import torch
        call = lambda: float(torch.ones(3).sum()) == 3.0
        end = lambda: None
    """,
}


def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("order", ["before", "behind"])
@pytest.mark.parametrize("other", sorted(CALLS))
def test_it_lives_beside(other, order, daemon_directory):
    if not is_there(other):
        pytest.skip(f"{other} is not installed in this Python")
    theirs = textwrap.dedent(CALLS[other])
    ours = textwrap.dedent(f"""
        import numpy as np
        import hotplate as hp
        gpu = hp.connect(directory={str(daemon_directory)!r})
        x = np.arange(100_000.0)
    """)
    program = (theirs + ours if order == "before" else ours + theirs) + textwrap.dedent("""
        for _ in range(20):
            assert call()
            assert (gpu.vector_add(x, x) == 2 * x).all()
        end()
        print("both")
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "both", done.stderr


def test_every_module_can_be_imported_by_itself():
    for module in pkgutil.iter_modules([str(FOLDER)]):
        if module.name != "_core":
            importlib.import_module(f"hotplate.{module.name}")


def imported(source):
    """The modules of this package that one of it imports, in functions and for type checkers too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.level or node.module.split(".")[0] == "hotplate"):
            path = (node.module or "").split(".")[0 if node.level else 1:]
            found |= {path[0]} if path and path[0] else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("hotplate.")}
    return found


def test_the_packages_own_calls_run_in_the_blocks_of_graphs(daemon_directory):
    """`client.matmul(…)` would be noted there; `client.matmul.run(…)` is not."""
    with hp.connect(directory=str(daemon_directory)) as gpu:
        kernels = "|".join(gpu.kernels)
    noted = [f"{path.relative_to(FOLDER)}:{number}: {line.strip()}" for path in sorted(FOLDER.rglob("*.py"))
             for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
             if re.search(rf"client\.({kernels})\(", line) and ">>>" not in line]
    assert len(kernels) > 100 and not noted


def test_imports_make_no_circle():
    files = [file for file in FOLDER.glob("*.py") if file.name != "__init__.py"]
    graph = {file.stem: imported(file.read_text(encoding="utf-8")) for file in files}
    order = list(graphlib.TopologicalSorter(graph).static_order())  # CycleError names the circle
    assert order.index("errors") < order.index("arrays") < order.index("client") < order.index("executor")


@pytest.mark.parametrize("line", ["from .b import x", "from . import b", "def f():\n    from .b import x", "import hotplate.b",
                                  "if TYPE_CHECKING:\n    from .b import x", "from hotplate import b", "from hotplate.b import x"])
def test_an_import_is_seen_wherever_it_is(line):
    assert imported("import numpy as np\nfrom typing import Any\n" + line) == {"b"}


def test_the_version_is_the_programs():
    cmake = pathlib.Path(__file__).resolve().parents[2] / "CMakeLists.txt"
    assert f"VERSION {hp.__version__} " in cmake.read_text(encoding="utf-8")


def test_importing_it_brings_little_along():
    program = "import sys, numpy; before = set(sys.modules); import hotplate; print(*sorted(set(sys.modules) - before))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"asyncio", "concurrent.futures", "IPython", "tqdm", "hotplate.allocation", "hotplate.aio"} & set(told)
