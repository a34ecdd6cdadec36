"""hp.up on this machine: a daemon of its own that ends with the block, however that ends.

On Slurm: tests/slurm/python_test.py.
"""

import ast
import datetime
import inspect
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
    for record in [*records(folder), *records(tmp_path / "-records")]:
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
    with pytest.raises(RuntimeError, match="closed"):
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


def test_a_daemon_that_is_gone_already(directory):
    with pytest.warns(RuntimeWarning, match="had died before the end of the block: ") as told:
        with local():
            [record] = records(directory)
            os.kill(json.loads(record.read_text())["pid"], signal.SIGKILL)
    assert told[0].filename == __file__
    record.unlink(missing_ok=True)


def test_a_process_that_was_forked_in_the_block_does_not_end_it(directory):
    code = textwrap.dedent("""
        import os, sys, warnings
        import hotplate as hp, numpy as np
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads, since Python 3.12
        up = hp.up(local=True, daemon_options=["--device", "cpu"], progress=False)
        with up as gpu:
            child = os.fork()
            if child == 0:
                try:
                    hp.up("no-such-site", progress=False)  # is not even asked for
                except RuntimeError as error:
                    sys.exit(7 if "fork" in str(error) else 8)  # through the block's end
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), float(gpu.norm(np.ones(4))))
        print(repr(up).endswith(", ended>"))
        """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7 2.0\nTrue\n", "")
    assert records(directory) == []


def test_what_went_wrong_in_the_block_comes_first(directory):
    with pytest.warns(RuntimeWarning, match="had died"), pytest.raises(ZeroDivisionError):
        with local():
            [record] = records(directory)
            os.kill(json.loads(record.read_text())["pid"], signal.SIGKILL)
            _ = 1 / 0
    record.unlink(missing_ok=True)


def test_a_release_that_failed_can_be_tried_again(directory, monkeypatch):
    """`down` gets in the way of itself once; what it is asked next it does."""
    mine = local()
    with monkeypatch.context() as broken:
        broken.setattr(mine._command, "_prefix", ["/usr/bin/false"])
        with pytest.raises(hp.InternalError):
            mine.down()
    assert "ended" not in repr(mine)
    assert mine.down()["name"] == mine.name
    assert "ended" in repr(mine)
    assert records(directory) == []


def test_refusals(directory):
    with pytest.raises(TypeError, match="time=30 has no unit"):
        hp.up(time=30)
    with pytest.raises(ValueError, match="is for a new allocation; --local does not request one"):
        local(gpus=2)
    with pytest.raises(ValueError, match="--bogus"):
        hp.up(local=True, daemon_options=["--bogus"], progress=False)
    with pytest.raises(ValueError, match="abc"):
        local(timeout="abc")
    with pytest.raises(ValueError, match="no-such-site"):
        hp.up("no-such-site", progress=False)
    assert records(directory) == []


def test_an_argument_that_nobody_takes_asks_for_nothing(directory, tmp_path, monkeypatch):
    asked = command_that(tmp_path, monkeypatch, "exit 3")
    with pytest.raises(TypeError, match="gpu=2.* did you mean gpus"):
        hp.up(gpu=2, time="30m", progress=False)
    with pytest.raises(TypeError, match="neither hp.up nor hp.connect has an argument colour='red'$"):
        hp.up(colour="red", progress=False)
    with pytest.raises(TypeError, match="server='other'.* name"):
        hp.up(server="other", progress=False)
    with pytest.raises(TypeError):
        hp.up(directory=3, progress=False)
    for option in ("directives", "daemon_options"):  # letter by letter they would mean nothing
        with pytest.raises(TypeError, match=rf"{option}='--x=y' must be a list of str, as \['--x=y'\]"):
            hp.up(**{option: "--x=y"}, progress=False)
    assert not asked.exists()


@pytest.mark.parametrize("wrong", [{"deadline": -1.0}, {"endpoint": "nowhere"}, {"session": 3}])
def test_nothing_is_left_where_connect_refuses(directory, wrong):
    """It is met when the daemon is there already."""
    with pytest.raises((ValueError, TypeError)):
        local(**wrong)
    assert records(directory) == []


def test_every_argument_reaches_the_command(directory, tmp_path, monkeypatch):
    asked = command_that(tmp_path, monkeypatch, "exit 5")
    given = {"gpus": 2, "account": "a1", "gpu_type": "l40s", "partition": "p", "cpus": 4, "memory": "64G",
             "exclusive": True, "directives": ["--qos=high", "--reservation=r"], "attach": 17, "name": "mine",
             "time": "01:30:00", "idle_timeout": datetime.timedelta(minutes=15), "timeout": 7200, "follow_on": 2,
             "daemon_options": ["--lanes", "1"], "directory": tmp_path / "records", "progress": False}
    assert set(inspect.signature(hp.up).parameters) - {"connect_options"} == {"site", "local", *given}
    with pytest.raises(hp.Busy):
        hp.up("hpc2n", **given)
    words, _, options = asked.read_text().strip().partition(" -- ")
    assert options == "--lanes 1"
    verb, *words = words.split()
    assert verb == "up" and sorted(words) == sorted([
        "--site=hpc2n", "--gpus=2", "--account=a1", "--gpu-type=l40s", "--partition=p", "--cpus=4", "--memory=64G",
        "--exclusive", "--directive=--qos=high", "--directive=--reservation=r", "--attach=17", "--name=mine",
        "--time=01:30:00", "--idle-timeout=900s", "--timeout=7200s", "--follow-on=2", f"--directory={tmp_path / 'records'}", "--on-interrupt=keep"])


def test_nothing_is_left_where_the_callable_raises(directory, tmp_path, monkeypatch):
    asked = command_that(tmp_path, monkeypatch, "echo one >&2", "trap 'exit 130' INT", "sleep 0.1")

    def refuse(line):
        raise ValueError(line)

    with pytest.raises(ValueError, match="one"):
        hp.up(progress=refuse)
    assert [words.split()[0] for words in asked.read_text().splitlines()] == ["up", "down"]


def test_others_are_left_alone_where_it_fails_or_is_interrupted(directory, monkeypatch):
    """They were ended in its place: the word behind `--` that named its own was thrown away."""
    with local(name="works") as gpu:
        with pytest.raises(TimeoutError, match="not ready yet"):
            local(timeout=datetime.timedelta(0))

        def interrupted(**options):
            raise KeyboardInterrupt

        monkeypatch.setattr(allocation, "connect", interrupted)
        with pytest.raises(KeyboardInterrupt):
            local()
        assert [record.stem for record in records(directory)] == ["works"]
        np.testing.assert_allclose(gpu.vector_add([1.0], [2.0]), [3.0])


def test_names_and_folders_that_look_like_options(directory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with local(name="-mine", directory=pathlib.Path("-records")) as gpu:
        assert gpu.server == "-mine"
        assert len(records(tmp_path / "-records")) == 1
    assert records(tmp_path / "-records") == []


def test_try_later(directory, tmp_path, monkeypatch):
    command_that(tmp_path, monkeypatch, "echo '✗ 8 allocations are there already' >&2", "exit 5")
    with pytest.raises(hp.Busy, match="8 allocations"):
        hp.up(progress=False)


def command_that(folder, monkeypatch, *lines):
    """In place of the program: it does `lines`. Returns the file that it writes its words to, a line for each time."""
    asked, program = folder / "asked", folder / "hotplate-fake"
    program.write_text("\n".join(["#!/bin/sh", f"echo \"$*\" >>'{asked}'", *lines]) + "\n")
    program.chmod(0o755)
    monkeypatch.setattr(allocation, "command_path", lambda: str(program))
    return asked


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
    command_that(tmp_path, monkeypatch, "echo one >&2", "echo two >&2",
                 "printf '✗ three\\n  and its advice\\n' >&2", "exit 3")
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
                with hp.up(local={where == "block"}, daemon_options={ON_CPU},
                           progress=lambda line: print(line, flush=True)):
                    print("in the block", flush=True)
                    while True:  # Python hears a signal that comes just before a sleep only behind it
                        time.sleep(0.1)
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


def test_what_is_imported_later_is_told_of_now():
    assert set(hp._LATER) <= set(hp.__all__) <= set(dir(hp))
    for name, module in hp._LATER.items():
        later = getattr(hp, name)
        assert (later.__name__ if inspect.ismodule(later) else later.__module__) == f"hotplate.{module}"
    tree = ast.parse(pathlib.Path(hp.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    assert {name.name: line.module or name.name for line in block.body for name in line.names} == hp._LATER
