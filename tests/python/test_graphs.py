"""Blocks whose calls are one graph of jobs."""

import concurrent.futures
import re
import threading
import xml.etree.ElementTree

import hotplate as hp
import numpy as np
import pytest
from conftest import PATIENCE, wait_until

A = np.random.default_rng(1).random((40, 40))
LONG = {"n": 10_000_000}
BOTH = pytest.mark.parametrize("detached", [False, True], ids=["attached", "detached"])


@BOTH
def test_a_graph(gpu, detached):
    with gpu.graph("fit", detached=detached) as g:
        gram = gpu.matmul(A.T, A)
        s = gpu.svd(gram).s
        shifted = gpu.eval("sqrt(abs(g)) + shift", g=gram, shift=1.0)
        largest = gpu.submit("norm", s, ord=np.inf)
    assert largest.result(PATIENCE) == pytest.approx(np.linalg.norm(A.T @ A, 2))
    np.testing.assert_allclose(shifted.result(PATIENCE), np.sqrt(abs(A.T @ A)) + 1)
    np.testing.assert_allclose(gram.result(PATIENCE), A.T @ A)  # held by a variable, though others take it
    np.testing.assert_allclose(s.result(PATIENCE), np.linalg.svd(A.T @ A)[1])
    g.wait()
    assert re.fullmatch("fit-r[0-9a-f]{4}", g.name)
    picture = xml.etree.ElementTree.fromstring(g.svg())
    assert len(picture.findall(".//{*}g")) == 4 and "svd" in g.svg()
    assert [(job["node"], job["kernel"], job["state"], job["detached"]) for job in g.jobs] == [
        ("matmul", "matmul", "COMPLETED", detached), ("svd", "svd", "COMPLETED", detached),
        ("eval", "expression", "COMPLETED", detached), ("norm", "norm", "COMPLETED", detached)]
    assert g.jobs[1].why()["job"]["node"] == g.jobs[1]["node"]
    assert g.jobs[1]["depends_on"] == [gram.job_id] and all(job["graph"] == g.name for job in g.jobs)


@BOTH
def test_what_no_variable_holds_stays_on_the_device_and_goes(gpu, detached):
    before = {array.id for array in gpu.arrays}
    with gpu.graph(detached=detached) as g:
        total = gpu.norm(gpu.matmul(gpu.matmul(A, A), A))
        assert total.name == "norm"
    assert total.result(PATIENCE) == pytest.approx(np.linalg.norm(A @ A @ A))
    g.wait()
    with pytest.raises(ValueError, match=r"\[matmul-2\] has no result here: at the end of the block no variable held it"):
        g["matmul-2"].result()
    wait_until(lambda: {array.id for array in gpu.arrays} <= before, "nothing is left on the daemon")
    came = gpu._core.fetch(g["matmul"].job_id) if detached else g["matmul"]._came
    assert came.outputs() == []


def test_what_a_variable_holds_goes_with_the_graph(gpu):
    before = {array.id for array in gpu.arrays}
    with gpu.graph() as g:
        gram = gpu.matmul(A, A)
        total = gpu.norm(gram)
    total.result(PATIENCE)
    assert {array.id for array in gpu.arrays} - before
    np.testing.assert_allclose(gram.result(), A @ A)
    np.testing.assert_allclose(gpu.matmul(gram, A), A @ A @ A)  # as any future
    del gram, total, g
    wait_until(lambda: {array.id for array in gpu.arrays} <= before, "nothing is left on the daemon")


def test_a_result_that_nobody_takes_and_no_variable_holds(gpu):
    with gpu.graph() as g:
        gpu.matmul(A, A).named("square")
    np.testing.assert_allclose(g["square"].result(PATIENCE), A @ A)
    with pytest.raises(KeyError, match="has no node 'sqare'; did you mean square"):
        g["sqare"]


def test_one_of_several_results_in_the_block(gpu):
    with gpu.graph():
        q, r = gpu.qr(A)
        u, s, vt = gpu.svd(A)
        back = gpu.matmul(q, r)
        norm = gpu.norm(s)
    np.testing.assert_allclose(back.result(PATIENCE), A, atol=1e-12)
    assert norm.result(PATIENCE) == pytest.approx(np.linalg.norm(np.linalg.svd(A)[1]))
    assert u.result(PATIENCE).shape == vt.result(PATIENCE).shape == (40, 40)


def test_arrays_of_the_daemon_and_what_is_kept(gpu):
    x = gpu.array(A)
    with gpu.graph():
        square = gpu.matmul(x, x)
        kept = gpu.matmul(A, A, keep="of-a-graph")
        norms = gpu.norm(kept), gpu.norm(square)
        parts = gpu.svd(A, keep={"u": True})
        rows = gpu.norm(parts.s)
    assert isinstance(square.result(PATIENCE), hp.Array) and isinstance(kept.result(PATIENCE), hp.Array)
    assert [float(norm.result(PATIENCE)) for norm in norms] == pytest.approx([np.linalg.norm(A @ A)] * 2)
    assert gpu.array(name="of-a-graph").shape == (40, 40)
    assert rows.result(PATIENCE) == pytest.approx(np.linalg.norm(parts.s.result().numpy()))
    assert isinstance(parts.result().u, hp.Array) and isinstance(parts.vt.result(), np.ndarray)
    gpu.free("of-a-graph")


@BOTH
def test_large_inputs_are_sent_before_those_that_take_the_result(gpu, detached):
    large = np.ones(3_000_000)
    with gpu.graph(detached=detached):
        double = gpu.vector_add(large, large)
        total = gpu.eval("sum(x + 0 * y)", x=gpu.vector_add(double, large), y=large)
    assert total.result(PATIENCE) == 9_000_000
    assert double.result(PATIENCE)[-1] == 2


# Functions.


@BOTH
def test_functions_among_kernels(gpu, detached):
    @gpu.function
    def halved(x, by=2):
        assert not x.flags.writeable
        return x / by

    def entry(pair):
        return float(pair["x"][0, 0]), type(pair["n"]).__name__

    with gpu.graph(detached=detached) as g:
        half = halved(gpu.matmul(A, A), by=4)
        square = gpu.matmul(half, half)
        quarter = gpu.submit(halved, half)
        norm = gpu.norm(half)
        told = gpu.submit(entry, {"x": quarter, "n": norm})
    half_of_it = A @ A / 4
    np.testing.assert_allclose(square.result(PATIENCE), half_of_it @ half_of_it)
    np.testing.assert_allclose(half.result(PATIENCE), half_of_it)
    assert told.result(PATIENCE) == (pytest.approx(half_of_it[0, 0] / 2), "float64")
    assert [call.name for call in g._calls] == ["matmul", "halved", "matmul-2", "halved-2", "norm", "entry"]
    assert [job["node"] for job in g.jobs if job["kernel"] == "function"] == ["halved", "halved-2", "entry"]


def test_a_number_of_a_function_is_an_array_to_others(gpu):
    with gpu.graph():
        number = gpu.submit(lambda: 2.5)
        twice = gpu.vector_add(number, number)
        type_of = gpu.submit(lambda x: type(x).__name__, number)
    assert twice.result(PATIENCE) == 5 and number.result(PATIENCE) == 2.5
    assert type_of.result(PATIENCE) == "float64"


def test_what_others_cannot_take_of_a_function(gpu):
    with gpu.graph() as g:
        pair = gpu.submit(lambda: {"x": 1}).named("pair")
        total = gpu.norm(pair)
    with pytest.raises(TypeError, match="returned a dict, and calls that take its result take one array, or a number"):
        pair.result(PATIENCE)
    with pytest.raises(hp.JobFailed, match=r"\[norm\].*returned a dict"):
        total.result(PATIENCE)
    with pytest.raises(TypeError, match="returned a dict"):
        g.wait()
    with pytest.raises(ValueError, match=r"\[whole\] it has returns='object', and other calls take an array of it"):
        with gpu.graph():
            gpu.norm(gpu.submit(gpu.function(lambda: A, returns="object")).named("whole"))


def test_after(gpu, tmp_path):
    path = str(tmp_path / "told")

    def write():
        with open(path, "w") as file:
            file.write("there")

    def read():
        with open(path) as file:
            return file.read()

    with gpu.graph() as g:
        slow = gpu.integrate2d(n=2000)
        written = gpu.submit(write).after(slow)
        text = gpu.submit(read).after(written)
    assert text.result(PATIENCE) == "there"
    assert g.jobs[1]["depends_on"] == [slow.job_id] and g.jobs[2]["depends_on"] == [written.job_id]


# Errors.


def test_shapes_far_down_are_checked_and_nothing_is_sent(gpu):
    before = gpu.jobs()[0]["id"]
    with pytest.raises(ValueError, match=r"\[last\] .*inner sizes differ: a is \[40, 40\].*\n +written at .*test_graphs.py") as refused:
        with gpu.graph("odd"):
            first = gpu.matmul(A, A)
            second = gpu.eval("x + 1", x=first)
            gpu.matmul(second, np.ones((3, 3))).named("last")
    assert "gpu.matmul(second, np.ones((3, 3)))" in str(refused.value)
    assert gpu.jobs()[0]["id"] == before
    with pytest.raises(ValueError, match=r"\[matmul\] was never sent: the block of graph odd-r.* was refused: .*inner sizes"):
        first.result()


def test_an_exception_in_the_block_sends_nothing(gpu):
    before = gpu.jobs()[0]["id"]
    with pytest.raises(ZeroDivisionError):
        with gpu.graph() as g:
            square = gpu.matmul(A, A)
            1 / 0  # noqa: B018
    assert concurrent.futures.wait([square], PATIENCE).done == {square}
    assert gpu.jobs()[0]["id"] == before
    for use in (square.result, lambda: gpu.matmul(square, A), square.cancel, g.wait):
        with pytest.raises(ValueError, match="sent: .*block.* was left by ZeroDivisionError"):
            use()
    assert gpu.matmul(A, A).shape == (40, 40)  # calls run again
    with pytest.raises(ValueError, match="has had its block"):
        with g:
            pass


def test_in_the_block_nothing_has_a_result(gpu):
    with gpu.graph("mine") as g:
        square = gpu.matmul(A, A).named("square")
        with pytest.raises(ValueError, match=r"result\(\) of \[square\] in the block of graph mine-r.*: nothing runs before its end"):
            square.result()
        with pytest.raises(TypeError, match=r"\[square\] is a call of graph mine-r.*, and no array"):
            np.asarray(square)
        for use in (g.wait, g.cancel, lambda: g.jobs):
            with pytest.raises(ValueError, match="has not ended"):
                use()
        assert repr(square).startswith("<[square] of graph mine-r") and "noted" in repr(square)
        assert re.match(r"graph mine-r\w+   1 node noted\n  square  noted  matmul", repr(g))
    square.result(PATIENCE)


def test_a_call_belongs_to_its_block(gpu, daemon):
    with daemon.connect() as other, gpu.graph("mine"):
        square = gpu.matmul(A, A).named("square")
        with pytest.raises(ValueError, match=r"\[square\] is of the block of graph mine-r.*, which has not ended"):
            other.matmul(square, A)
        with hp.Executor(gpu) as executor:
            failed = executor.submit(gpu.matmul, square, A)
        with pytest.raises(ValueError, match="which has not ended"):
            failed.result(PATIENCE)
        # Another thread's calls run.
        came = []
        thread = threading.Thread(target=lambda: came.append(gpu.matmul(A, A)))
        thread.start()
        thread.join(PATIENCE)
        assert came[0].shape == (40, 40)
        with pytest.raises(ValueError, match="a graph has no graph in it"):
            with gpu.graph():
                pass


def test_futures_of_another_daemon(gpu, start_daemon):
    with start_daemon().connect() as other:
        call = gpu.submit("integrate2d", **LONG)
        for take in (lambda: other.submit("norm", call.output("value")).result(PATIENCE),
                     lambda: other.eval("x + 1", x=call.output("value")),
                     lambda: other.submit(float, call).result(PATIENCE)):
            with pytest.raises(TypeError, match="another daemon than this call's"):
                take()
        call.cancel()


def test_wrong_calls(gpu):
    def noted(wrong):
        with gpu.graph():
            square = gpu.matmul(A, A).named("square")
            wrong(square)

    for wrong, error, says in (
            (lambda square: square.q, AttributeError, "has no q"),
            (lambda square: square.output("q"), TypeError, r"\[square\] has no result 'q'; it has c"),
            (lambda square: gpu.norm(gpu.svd(A)), TypeError, "the results u, s, vt: pass one of them"),
            (lambda square: gpu.selu(A, alpha=square), TypeError, r"\[selu\] alpha is <\[square\] .*a parameter's value is needed at once"),
            (lambda square: gpu.matmul(square, A, out=np.empty((40, 40))), TypeError, r"\[matmul\] out= is for a call that is waited"),
            (lambda square: gpu.matmull(square), AttributeError, "matmul"),
            (lambda square: gpu.eval("x +", x=square), SyntaxError, "x +"),
            (lambda square: gpu.norm(A).named("square"), ValueError, r"\[norm\] there is a node 'square' already"),
            (lambda square: square.named("a b"), ValueError, r"\[square\] a node's name is 'a b'"),
            (lambda square: square.after(square), ValueError, r"\[square\] cannot come after \[square\]"),
            (lambda square: square.after(gpu.norm(square)), ValueError, r"\[square\] cannot come after \[norm\], which was noted later"),
            (lambda square: square.after(3), ValueError, "which is no call of this block"),
            (lambda square: gpu.norm(concurrent.futures.Future()), TypeError, "pass its .result"),
            (lambda square: gpu.sweep("integrate2d", n=[1, 2]), TypeError, "gpu.sweep in the block of graph .*no node of a graph"),
            (lambda square: gpu.actor(list), TypeError, r"gpu.actor in the block of graph graph-r\w+: .*make it before"),
    ):
        with pytest.raises(error, match=says):
            noted(wrong)
    with pytest.raises(ValueError, match="the graph's name is 'a b'"):
        gpu.graph("a b")


@BOTH
def test_a_failure_takes_along_those_behind_it(gpu, detached):
    with gpu.graph(detached=detached) as g:
        singular = gpu.solve(np.zeros((3, 3)), np.ones(3))
        behind = gpu.vector_add(singular, np.ones(3))
        beside = gpu.norm(A)
    with pytest.raises(hp.JobFailed, match=r"\[vector_add\] it depends on .*solve.*singular"):
        behind.result(PATIENCE)
    assert beside.result(PATIENCE) == pytest.approx(np.linalg.norm(A))
    with pytest.raises(hp.Error, match=r"\[solve\] .*singular(.|\n)*1 more of 3 nodes did not complete: hotplate show graph-r"):
        g.wait()
    # The one behind it has a job, unless the failure came before it was sent.
    states = {job["node"]: job["state"] for job in g.jobs}
    assert states in ({"solve": "FAILED", "norm": "COMPLETED"}, {"solve": "FAILED", "vector_add": "FAILED", "norm": "COMPLETED"})
    assert re.match(r"graph graph-r\w+   3 nodes: 1 COMPLETED, (2 FAILED|1 FAILED, 1 without a job)\n  solve +FAILED +solve +job \d+", repr(g))
    assert re.search(r"vector_add +(FAILED|-) .*← solve\n", repr(g))
    assert g._repr_html_().startswith("<table><caption>graph graph-r")


@BOTH
def test_what_others_made_for_calls_that_were_refused_goes(gpu, detached):
    before = {array.id for array in gpu.arrays}
    with gpu.graph(detached=detached) as g:
        gpu.norm(gpu.vector_add(gpu.solve(np.zeros((3, 3)), np.ones(3)), gpu.eval("x + 1", x=np.ones(3)).named("made")))
    with pytest.raises(hp.Error, match=r"\[solve\] .*singular"):
        g.wait()
    wait_until(lambda: {job["node"]: job["state"] for job in g.jobs}["made"] == "COMPLETED", "the other one has run")
    wait_until(lambda: {array.id for array in gpu.arrays} <= before, "nothing is left on the daemon")


@BOTH
def test_cancel(gpu, detached):
    with gpu.graph(detached=detached) as g:
        first = gpu.integrate2d(**LONG)
        second = gpu.vector_add(first.value, 1.0)
    wait_until(lambda: {job["state"] for job in g.jobs} == {"RUNNING", "PENDING"}, "the first runs")
    assert not second.done() and second.running() is False
    g.cancel()
    wait_until(lambda: [job["state"] for job in g.jobs] == ["CANCELLED", "CANCELLED"], "both are cancelled")
    for call in (first, second):
        with pytest.raises((hp.JobCancelled, concurrent.futures.CancelledError)):
            call.result(PATIENCE)


@BOTH
def test_waiting_for_a_while(gpu, detached):
    with gpu.graph(detached=detached) as g:
        first = gpu.integrate2d(**LONG)
    for wait in (lambda: first.result(0.05), lambda: g.wait(0.05)):
        with pytest.raises(concurrent.futures.TimeoutError):
            wait()
    g.cancel()


def test_a_detached_graph_outlives_its_client(daemon, gpu):
    with daemon.connect() as other:
        with other.graph("long", detached=True) as g:
            first = other.vector_add(A, A)
            other.norm(first)
        ids = [call.job_id for call in g._calls]
    assert gpu.wait(ids[1]) == pytest.approx(np.linalg.norm(2 * A))
    np.testing.assert_allclose(gpu.wait(ids[0]), 2 * A)  # a variable held it


def test_futures_of_before_are_waited_for(gpu):
    before = gpu.submit("matmul", A, A)
    with gpu.graph() as g:
        cube = gpu.matmul(before, A)
        sums = list(gpu.map("norm", [A, A]))
    np.testing.assert_allclose(cube.result(PATIENCE), A @ A @ A)
    assert [norm.result(PATIENCE) for norm in sums] == pytest.approx([np.linalg.norm(A)] * 2)
    assert len(g) == 3


def test_arrays_compute_in_a_block_as_ever(gpu):
    x = gpu.array(A)
    with gpu.graph() as g:
        product = (x @ x).numpy()
        ordered = gpu.xp.sort(x).numpy()
        norm = gpu.norm(2 * x)
    np.testing.assert_allclose(product, A @ A)
    np.testing.assert_allclose(ordered, np.sort(A))
    assert len(g) == 1 and float(norm.result(PATIENCE)) == pytest.approx(2 * np.linalg.norm(A))


def test_linear_algebra_and_masks_in_a_block_as_ever(gpu):
    x, hermitian = gpu.array(A), gpu.array(A @ A.T + 1j * (A - A.T))
    linalg = gpu.xp.linalg
    with gpu.graph() as g:
        chosen = x[x > 0.5].numpy()
        norms = np.linalg.norm(x).numpy(), linalg.slogdet(x).logabsdet.numpy(), linalg.det(x).numpy()
        solved = linalg.solve(x, x[:, 0]).numpy()
        lower = linalg.cholesky(x @ x.T).numpy()
        values = [linalg.eigvals(x), linalg.eig(x).eigenvalues, linalg.eigvalsh(x @ x.T), linalg.eigh(x @ x.T).eigenvalues,
                  linalg.svdvals(x), linalg.svd(x).S, linalg.qr(x).R, linalg.eigh(hermitian).eigenvalues, linalg.svd(hermitian).S]
        values = [one.numpy() for one in values]
    assert len(g) == 0
    np.testing.assert_allclose(chosen, A[A > 0.5])
    np.testing.assert_allclose(norms, [np.linalg.norm(A), np.linalg.slogdet(A)[1], np.linalg.det(A)])
    np.testing.assert_allclose(solved, np.eye(40)[0], atol=1e-9)
    np.testing.assert_allclose(lower @ lower.T, A @ A.T)
    assert all(isinstance(one, np.ndarray) and len(one) == 40 for one in values)
    np.testing.assert_allclose(values[2], np.linalg.eigvalsh(A @ A.T), atol=1e-9)
    np.testing.assert_allclose(values[5], np.linalg.svd(A)[1], atol=1e-9)


# Futures outside of blocks.


def test_expressions_and_xp_take_futures(gpu):
    product = gpu.submit("matmul", A, A)
    total = gpu.eval("sum(p + q)", p=product, q=gpu.submit("vector_add", A, A))
    assert total == pytest.approx((A @ A + 2 * A).sum())
    np.testing.assert_allclose(gpu.eval("p * n", {"p": product, "n": gpu.submit("norm", A)}), A @ A * np.linalg.norm(A))
    np.testing.assert_allclose(gpu.xp.exp(gpu.submit("vector_add", A, A)).numpy(), np.exp(2 * A))
    np.testing.assert_allclose((gpu.array(A) + gpu.submit("vector_add", A, A)).numpy(), 3 * A)
    np.testing.assert_allclose(gpu.xp.matmul(gpu.array(A), gpu.submit("matmul", A, A)).numpy(), A @ A @ A)
    with pytest.raises(TypeError, match="the results u, s, vt: pass one of them"):
        gpu.eval("x", x=gpu.submit("svd", A))


def test_the_daemon_passes_results_to_functions(gpu):
    first = gpu.submit("integrate2d", **LONG)
    behind = gpu.submit(float, first.output("value"))
    wait_until(lambda: any(job["kernel"] == "function" and job["waits_for"] for job in gpu.jobs()), "the function waits on the daemon")
    assert first.cancel()
    with pytest.raises(hp.JobCancelled):
        behind.result(PATIENCE)
    assert gpu.submit(lambda x, y: (x.shape, type(y).__name__), gpu.submit("matmul", A, A), y=gpu.submit("norm", A)).result(PATIENCE) == (
        (40, 40), "float64")
