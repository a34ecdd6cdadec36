"""Where functions run: environments by name, the daemon's own, and Pythons of other versions."""

import glob
import importlib.util
import math
import os
import pickle
import shutil
import subprocess
import sys

import hotplate as hp
import numpy as np
import pytest
from conftest import BIN, ROOT, wait_until
from hotplate.by_source import Unfit, source_of
from hotplate.environments import Environment, check_numpy

OTHER = (3, 99)


def make_where():
    """A function that no worker can import."""
    def where():
        import os
        import sys
        return sys.executable, os.environ.get("VIRTUAL_ENV"), tuple(sys.version_info[:2])
    return where


where = make_where()


@pytest.fixture(scope="module")
def make_venv(tmp_path_factory):
    """make_venv(name, *options): the interpreter of an environment of its own."""
    def make(name, *options):
        folder = tmp_path_factory.mktemp("venvs") / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", *options, folder], check=True)
        return folder / "bin/python"
    return make


@pytest.fixture(scope="module")
def venv(make_venv):
    return make_venv("with-numpy", "--system-site-packages")


@pytest.fixture(scope="module")
def bare(make_venv):
    """Without packages."""
    return make_venv("bare")


def hotplate(daemon, *words):
    done = subprocess.run([str(BIN / "hotplate"), *map(str, words)], env=daemon.environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def named(daemon, venv):
    hotplate(daemon, "env", "add", "named", "--python", venv)
    return venv


@pytest.fixture
def another_version(tmp_path, monkeypatch):
    """From now on interpreters on the node say that they are another version of Python."""
    (tmp_path / "sitecustomize.py").write_text(
        "import collections, sys\n"
        "sys.version_info = collections.namedtuple('version_info', 'major minor micro releaselevel serial')"
        f"({OTHER[0]}, {OTHER[1]}, 0, 'final', 0)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return "3.99.0"


# Which interpreter.

def test_by_name(gpu, named, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", "/mine")
    assert gpu.function(where, env="named")() == (str(named), str(named.parents[1]), sys.version_info[:2])
    assert gpu.last_receipt["process"]["python_environment"] == "named"
    np.testing.assert_array_equal(gpu.function(lambda x: 2 * x, env="named")(np.arange(3)), [0, 2, 4])


def test_by_default_it_is_this_one(gpu):
    assert gpu.function(where)()[0] == sys.executable
    assert gpu.last_receipt["process"]["python_environment"] == sys.executable


def test_by_path(gpu, venv):
    assert gpu.function(where, python=str(venv))()[0] == str(venv)


def test_the_daemons_own_comes_before_this_one(start_daemon, venv, named):
    with start_daemon("--python", venv).connect() as gpu:
        assert gpu.function(where)()[0] == str(venv)
        assert gpu.last_receipt["process"]["python_environment"] == "default"
        assert gpu.submit(where).result()[0] == str(venv)
        assert gpu.function(where, python=sys.executable)()[0] == sys.executable


def test_what_is_not_there_is_refused_with_what_to_write(gpu, named, monkeypatch):
    with pytest.raises(hp.errors.NotFound, match='there is no environment "nosuch"; there are: named'):
        gpu.function(where, env="nosuch")()
    with pytest.raises(hp.errors.NotFound, match="was started without --python"):
        gpu.function(where, env="default")()
    monkeypatch.setattr(sys, "executable", "/no/python")
    with pytest.raises(hp.errors.NotFound, match='"/no/python".*hotplate env add NAME --python PATH, and then env="NAME"'):
        gpu.function(where)()
    with pytest.raises(ValueError, match="/bin/true is no Python that runs"):
        gpu.function(where, python="/bin/true")()


@pytest.mark.parametrize("options,kind,says", [
    ({"env": "a", "python": "/b"}, ValueError, "one of the two"), ({"env": ""}, TypeError, "env is ''"), ({"env": 3}, TypeError, "env is 3"),
    ({"python": b"x"}, TypeError, "python is b'x'")], ids=str)
def test_bad_options(gpu, options, kind, says):
    with pytest.raises(kind, match=says):
        gpu.function(where, **options)


def test_an_environment_that_was_replaced_is_used_by_the_next_client(daemon, named, venv, bare):
    hotplate(daemon, "env", "add", "moving", "--python", venv)
    with daemon.connect() as gpu:
        assert gpu.function(where, env="moving")()[0] == str(venv)
    hotplate(daemon, "env", "add", "moving", "--python", bare, "--force")
    with daemon.connect() as gpu:
        assert gpu.function(where, env="moving")()[0] == str(bare)


# Versions.

def test_without_packages(gpu, bare):
    """cloudpickle comes along; NumPy does not."""
    assert gpu.function(lambda a, b: a + b, python=str(bare))(1, 2) == 3
    with pytest.raises(TypeError, match=f"has no NumPy: {bare} -m pip install numpy"):
        gpu.function(lambda x: x, python=str(bare))(np.zeros(3))


def test_a_cloudpickle_that_is_too_old_is_told_before_anything_runs(gpu, make_venv, tmp_path):
    python = make_venv("old")
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    (packages / "cloudpickle-1.6.0.dist-info").mkdir()
    (packages / "cloudpickle-1.6.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: cloudpickle\nVersion: 1.6.0\n")
    mark = tmp_path / "it-ran"
    import cloudpickle
    with pytest.raises(TypeError, match=f"pickled by cloudpickle {cloudpickle.__version__}.*cloudpickle 1.6.0 of {python}.*pip install"):
        gpu.function(lambda: mark.touch(), python=str(python))()
    assert not mark.exists()
    # It is installed anew, and the interpreter is asked anew.
    shutil.rmtree(packages / "cloudpickle-1.6.0.dist-info")
    assert gpu.function(lambda: 5, python=str(python))() == 5


def test_pickles_of_numpy_2_need_one_that_reads_them():
    old = Environment("", "/x/python", "3.11.2", "1.24.2", "3.0.0", "named")
    with pytest.raises(TypeError, match=r"f has objects of NumPy 2.1.0, which NumPy 1.24.2 of /x/python \(environment named\)"):
        check_numpy("f", old, "2.1.0", b"cnumpy._core.multiarray\nscalar", 0)
    check_numpy("f", old, "2.1.0", b"nothing of it", 3)
    check_numpy("f", old._replace(numpy="1.26.4"), "2.1.0", b"numpy._core", 0)


def test_between_versions_plain_functions_travel_as_source(gpu, another_version):
    def double(x, factor=2):
        return factor * x, math.floor(2.5)
    assert gpu.function(where)() == (sys.executable, os.environ.get("VIRTUAL_ENV"), OTHER)
    value, two = gpu.function(double)(np.arange(3))
    np.testing.assert_array_equal(value, [0, 2, 4])
    assert two == 2
    assert gpu.submit(math.sqrt, 9).result() == 3
    with hp.Executor(gpu) as executor:
        assert executor.submit(where).result()[2] == OTHER


def test_between_versions_the_rest_is_refused_before_anything_runs(gpu, another_version, tmp_path):
    mark = tmp_path / "it-ran"
    ours = ".".join(map(str, sys.version_info[:2]))
    with pytest.raises(TypeError, match=rf"<lambda> comes from Python {ours}, and {sys.executable} is Python 3.99.0.*it is a lambda.*"
                                        rf"Name an environment of Python {ours}"):
        gpu.function(lambda: mark.touch())()

    def uses_what_is_around():
        mark.touch()
    with pytest.raises(TypeError, match="uses variables of the function around it: mark"):
        gpu.function(uses_what_is_around)()
    with pytest.raises(TypeError, match="an argument cannot be pickled without its code.*3.99.0"):
        gpu.function(where)(lambda: 1)
    assert not mark.exists()


def other_pythons():
    found = {}
    for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python")) + glob.glob("/usr/bin/python3.*")):
        if not os.access(path, os.X_OK) or "config" in path:
            continue
        asked = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False)
        version = tuple(map(int, asked.stdout.split()))
        if version >= (3, 9) and version != sys.version_info[:2]:
            found[version] = path
    return found


def test_real_pythons_of_other_versions(gpu):
    pythons = other_pythons()
    if not pythons:
        pytest.skip("this machine has no other Python of 3.9 or later (pyenv, /usr/bin): the other tests pretend to have one")
    for version, path in pythons.items():
        assert gpu.function(where, python=path)()[2] == version


# As source.

SCALE = 3


def helper(x: "int") -> int:
    return x * SCALE


def plain(x, y=math.pi, *, z: float = 2.0):
    """Its text."""
    def inner(a):
        return [helper(a) for _ in range(2)]
    return inner(x), round(y, 2), z, sum(k for k in range(3))


def of_main(function):
    """The function as one of a script's."""
    function.__module__ = "__main__"
    return function


@pytest.fixture(scope="module")
def calls():
    """hotplate_calls.py, of a worker."""
    spec = importlib.util.spec_from_file_location("calls_of_a_worker", ROOT / "server/workers/python/hotplate_calls.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def there_and_back(calls, function):
    return calls.function_of(pickle.dumps({"python": OTHER, "name": "f", "path": [], "source": source_of(function)}))


def test_a_function_is_made_anew_with_what_it_uses(calls):
    of_main(helper)
    try:
        made = there_and_back(calls, plain)
    finally:
        helper.__module__ = __name__
    assert made(2) == plain(2) == ([6, 6], 3.14, 2.0, 3)
    assert made.__doc__ == "Its text." and made is not plain and made.__globals__ is not plain.__globals__
    assert made(1, z=5) == ([3, 3], 3.14, 5, 3)


def test_defaults_are_the_values_of_then(calls):
    def count(n, known=[1]):  # noqa: B006
        return n, known
    count(1)[1].append(2)
    assert there_and_back(calls, count)(3) == (3, [1, 2])


def sets_a_global():
    global SCALE
    SCALE = 4


class Mine:
    pass


Mine.__module__ = "__main__"


def uses_a_class():
    return Mine()


OPEN = open(os.devnull, encoding="utf-8")


def uses_a_file():
    return OPEN


@pytest.mark.parametrize("function,why", [
    (lambda: 1, "lambda"), (len, "builtin"), (Mine, "it is a type"), (sets_a_global, "sets the global variable SCALE"),
    (uses_a_class, "uses Mine of the script"), (uses_a_file, "global variable OPEN cannot be pickled")], ids=str)
def test_what_source_does_not_say_whole_is_refused(function, why):
    with pytest.raises(Unfit, match=why):
        source_of(function)


def test_a_file_that_was_edited_is_noticed(tmp_path, monkeypatch):
    file = tmp_path / "edited.py"
    file.write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import edited
    assert "x + 1" in source_of(edited.f)["texts"]["f"]
    file.write_text("def f(x):\n    return x - 1\n")
    os.utime(file, (1, 1))
    with pytest.raises(Unfit, match="changed since it was imported"):
        source_of(edited.f)


def test_byte_code_of_another_version_is_never_loaded(calls):
    """The interpreter may have been replaced since the client was told its version."""
    packed = pickle.dumps({"python": OTHER, "name": "f", "path": [], "cloudpickle": {}, "pickle": b"no pickle"})
    with pytest.raises(calls.Refused, match=r"f comes from Python 3\.99, and the worker is Python 3\."):
        calls.function_of(packed)


def test_syntax_that_the_worker_does_not_know_is_told(calls):
    source = source_of(where)
    source["texts"]["where"] = "def where():\n    this is no python\n"
    with pytest.raises(calls.Refused, match=r"where is not Python .*invalid syntax.*this is no python"):
        calls.function_of(pickle.dumps({"python": OTHER, "name": "f", "path": [], "source": source}))


def test_an_interpreter_that_hangs_holds_up_no_other(start_daemon, tmp_path):
    hangs = tmp_path / "hangs"
    hangs.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 1000\n")
    hangs.chmod(0o755)
    daemon = start_daemon()
    adding = subprocess.Popen([BIN / "hotplate", "env", "add", "hangs", "--python", hangs], env=daemon.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until((tmp_path / "asked").exists, "the interpreter was asked")
        with daemon.connect() as gpu:
            assert gpu.function(os.getpid)() != os.getpid()
        assert adding.poll() is None
    finally:
        adding.kill()
        adding.wait()
