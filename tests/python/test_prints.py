"""What functions print, and their progress, on the way to the caller."""

import contextlib
import functools
import inspect
import io
import json
import os
import pathlib
import sys
import time

import hotplate as hp
import pytest
from conftest import PATIENCE, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import relay  # noqa: E402


@contextlib.contextmanager
def caught_streams():
    """Standard output and error, as the package finds them."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def catches(test):
    """Gives a test `caught`. Not a fixture, whose streams pytest would replace by its own again."""
    @functools.wraps(test)
    def wrapped(*args, **kwargs):
        with caught_streams() as caught:
            test(*args, caught=caught, **kwargs)
    signature = inspect.signature(test)
    wrapped.__signature__ = signature.replace(
        parameters=[one for name, one in signature.parameters.items() if name != "caught"])
    return wrapped


@pytest.fixture
def gate(tmp_path):
    """A function waits for it: `while not os.path.exists(gate)`."""
    return str(tmp_path / "gate")


def talk(gate):
    import os
    import sys
    import time
    print("before")
    print("trouble", file=sys.stderr)
    while not os.path.exists(gate):
        time.sleep(0.01)
    print("after")
    return os.getpid()


@pytest.mark.parametrize("call", ["submit", "executor"])
@catches
def test_prints_come_while_the_function_goes_on(gpu, caught, gate, call):
    out, err = caught
    future = gpu.submit(talk, gate) if call == "submit" else hp.Executor(gpu).submit(talk, gate)
    wait_until(lambda: out.getvalue() == "before\n" and err.getvalue() == "trouble\n", "what it printed came")
    assert not future.done()
    pathlib.Path(gate).touch()
    assert future.result(PATIENCE) != os.getpid()
    assert (out.getvalue(), err.getvalue()) == ("before\nafter\n", "trouble\n")


@catches
def test_all_of_it_is_there_when_the_call_returns(gpu, caught):
    out, err = caught

    def many(lines):
        import sys
        for line in range(lines):
            print(line, "\N{EURO SIGN}" * 50)  # letters of three bytes, cut anywhere
        print("end", end="")
        print("x" * 100_000, file=sys.stderr)

    many = gpu.function(many)
    many(60_000)  # 10 MB: more than all that is kept on the way
    assert out.getvalue() == "".join(f"{line} {'€' * 50}\n" for line in range(60_000)) + "end"
    assert err.getvalue() == "x" * 100_000 + "\n"


@catches
def test_a_failed_function_has_printed_too(gpu, caught):
    def fail():
        print("so far")
        raise ValueError("no further")
    with pytest.raises(ValueError, match="no further"):
        gpu.function(fail)()
    assert caught[0].getvalue() == "so far\n"


def test_a_stream_that_does_not_take_it_ends_the_call(gpu, gate):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")
    with contextlib.redirect_stdout(Full()), pytest.raises(OSError, match="No space left"):
        gpu.function(talk)(gate)  # which would wait for ever
    with contextlib.redirect_stdout(None):
        pathlib.Path(gate).touch()
        assert gpu.function(talk)(gate)


@catches
def test_prints_go_on_over_a_new_connection(daemon, gate, caught):
    out, _ = caught
    record = json.loads((daemon.directory / "servers/local.json").read_text())
    between = relay.Relay(record["endpoints"][0]["port"])
    try:
        with daemon.connect(endpoint=f"127.0.0.1:{between.port}") as client:
            future = client.submit(talk, gate)
            wait_until(lambda: out.getvalue() == "before\n", "it began")
            between.cut()
            between.mend()
            wait_until(between.settled, "there is a new connection")
            pathlib.Path(gate).touch()
            future.result(PATIENCE)
    finally:
        between.close()
    assert out.getvalue() == "before\nafter\n"


def fractions_of(function, gpu, gate, half):
    told = []
    future = gpu.function(function, progress=lambda fraction, phase: told.append((fraction, phase))).submit(gate)
    wait_until(lambda: (half, "running") in told, f"{half} came")
    assert not future.done()
    pathlib.Path(gate).touch()
    future.result(PATIENCE)
    return told


def test_progress_moves_the_callers_bar(gpu, gate):
    def steps(gate):
        import os
        import time
        import hotplate
        hotplate.progress(0.4)
        while not os.path.exists(gate):
            time.sleep(0.01)
    told = fractions_of(steps, gpu, gate, 0.4)
    assert all(0 <= fraction <= 1 for fraction, _ in told)


@catches
def test_tqdm_moves_the_callers_bar_and_prints_nothing(gpu, gate, caught):
    pytest.importorskip("tqdm")

    def steps(gate):
        import os
        import time
        from tqdm import tqdm
        for step in tqdm(range(4), mininterval=0):
            for _ in tqdm(range(10), mininterval=0, leave=False):
                pass
            while step == 2 and not os.path.exists(gate):
                time.sleep(0.01)
    fractions_of(steps, gpu, gate, 0.5)
    assert caught[1].getvalue() == ""
    # Without a bar here it is as any other text.
    gpu.function(steps)(gate)
    assert "100%" in caught[1].getvalue()


def test_what_progress_may_be(gpu):
    with pytest.raises(TypeError, match="progress is 3; it must be True or a function"):
        gpu.function(len, progress=3)([])
