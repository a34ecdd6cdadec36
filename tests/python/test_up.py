"""hp.up on this machine: a daemon of its own that ends with the block, however that ends. On Slurm: tests/slurm/python_test.py."""

import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import hotplate as hp
import numpy as np
import pytest
from conftest import PATIENCE
from hotplate import allocation

ON_CPU = ["--device", "cpu"]


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A HOTPLATE_DIR of the test's own; what a test has left running there is ended."""
    for name in [name for name in os.environ if name.startswith("HOTPLATE_") and name != "HOTPLATE_BIN_DIR"]:
        monkeypatch.delenv(name)
    folder = tmp_path / "hotplate"
    monkeypatch.setenv("HOTPLATE_DIR", str(folder))
    yield folder
    for record in records(folder):
        os.kill(json.loads(record.read_text())["pid"], signal.SIGKILL)


def records(folder):
    return [path for path in (folder / "servers").glob("*.json") if path.stem != "current"]


def local(**options):
    return hp.up(local=True, daemon_options=ON_CPU, progress=False, **options)


def test_a_block_has_a_daemon_of_its_own(directory):
    x = np.linspace(-1, 1, 5)
    with local() as gpu:
        assert len(records(directory)) == 1
        np.testing.assert_allclose(gpu.vector_add(x, x), 2 * x)
        # A second one is another daemon.
        with local():
            assert len(records(directory)) == 2
        assert len(records(directory)) == 1
        np.testing.assert_allclose(gpu.vector_add(x, x), 2 * x)
    assert records(directory) == []
    with pytest.raises(Exception):
        gpu.vector_add(x, x)


def test_it_ends_with_a_block_that_raises(directory):
    with pytest.raises(ZeroDivisionError):
        with local():
            _ = 1 / 0
    assert records(directory) == []


def test_without_a_block(directory):
    up = local(name="mine")
    assert (up.name, up.started, up.job_id) == ("mine", True, "")
    assert "mine" in repr(up)
    assert up.client.kernels
    assert up.down(drain_timeout=datetime.timedelta(seconds=1))["name"] == "mine"
    assert records(directory) == []
    assert up.down() == {}


def test_one_that_is_there_is_left(directory):
    first = local(name="shared")
    with local(name="shared") as gpu:
        assert gpu.kernels
    assert len(records(directory)) == 1
    assert first.client.kernels
    first.down()


def test_a_daemon_that_is_gone_already(directory, capsys):
    with hp.up(local=True, daemon_options=ON_CPU):
        [record] = records(directory)
        os.kill(json.loads(record.read_text())["pid"], signal.SIGKILL)
    assert "could not be released" in capsys.readouterr().err
    record.unlink(missing_ok=True)


def test_refusals(directory):
    with pytest.raises(TypeError, match="time=30 has no unit"):
        hp.up(time=30)
    with pytest.raises(ValueError, match="asks for an allocation, and --local takes what is there"):
        local(gpus=2)
    with pytest.raises(ValueError, match="--bogus"):
        hp.up(local=True, daemon_options=["--bogus"], progress=False)
    with pytest.raises(ValueError, match="abc"):
        local(timeout="abc")
    with pytest.raises(ValueError, match="no-such-site"):
        hp.up("no-such-site", progress=False)
    assert records(directory) == []


def test_a_time_that_is_too_short_leaves_nothing(directory):
    with pytest.raises(TimeoutError, match="not ready yet"):
        local(timeout=datetime.timedelta(0))
    assert records(directory) == []


def test_the_schedulers_own_words(directory, tmp_path, monkeypatch):
    """A cluster whose sbatch refuses the account; what it says before reaches the callable."""
    programs = tmp_path / "bin"
    programs.mkdir()
    sbatch = programs / "sbatch"
    sbatch.write_text("#!/bin/sh\necho 'sbatch: error: Batch job submission failed: Invalid account' >&2\nexit 1\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(hp.SchedulerRefused, match="Invalid account"):
        hp.up(account="nobodys", time="30m", progress=False)
    assert records(directory) == []


def test_progress_is_told_line_by_line(directory, tmp_path, monkeypatch):
    program = tmp_path / "hotplate"
    program.write_text("#!/bin/sh\necho one >&2\necho two >&2\nprintf '✗ three\\n  and its advice\\n' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(allocation, "command_path", lambda: str(program))
    lines = []
    with pytest.raises(ConnectionError, match="three\n  and its advice"):
        hp.up(progress=lines.append)
    assert lines == ["one", "two"]


def test_ctrl_c_in_the_block_and_while_it_waits(directory, tmp_path):
    for where in ("block", "wait"):
        program = textwrap.dedent(f"""
            import time
            import hotplate as hp
            from hotplate import allocation
            if {where == "wait"}:
                allocation.command_path = lambda: {str(slow_command(tmp_path))!r}
            try:
                with hp.up(local={where == "block"}, daemon_options={ON_CPU}, progress=lambda line: print(line, flush=True)):
                    print("in the block", flush=True)
                    time.sleep(1000)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """)
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        try:
            assert child.stdout.readline().strip() in ("in the block", "waiting")
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=PATIENCE)
        finally:
            child.kill()
        assert out.strip().endswith("interrupted"), out
        assert records(directory) == []
    assert (tmp_path / "undone").read_text() == "once\n", "the command hears of it once, and undoes the job"


def slow_command(folder):
    """A `hotplate up` that waits in a queue; `down` finds nothing."""
    program = folder / "slow"
    program.write_text(f"""#!/usr/bin/python3
import sys, time
if sys.argv[1] == "down":
    sys.exit(3)
assert "--on-interrupt=cancel" in sys.argv
try:
    print("waiting", file=sys.stderr, flush=True)
    time.sleep(1000)
except KeyboardInterrupt:
    open({str(folder / "undone")!r}, "a").write("once\\n")
    sys.exit(130)
""")
    program.chmod(0o755)
    return program


def test_the_program_is_this_packages(monkeypatch):
    path = pathlib.Path(allocation.command_path())
    assert path.name == "hotplate" and os.access(path, os.X_OK)
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    assert hp.__version__ in told
