"""gpu.sweep: one job of many tasks, and its results as stacked arrays."""

import numpy as np
import pytest

import hotplate as hp


def test_a_sweep_is_one_array(gpu):
    sweep = gpu.sweep("integrate2d", n=range(1, 101))
    assert sweep.value.shape == sweep.error.shape == (100,)
    assert list(sweep) == ["value", "error"] and sweep["value"] is sweep.value
    np.testing.assert_array_equal(sweep.axes["n"], np.arange(1, 101))
    for n in (1, 50, 100):
        assert sweep.value[n - 1] == gpu.integrate2d(n=n).value
    assert sweep.counts == {"total": 100, "completed": 100, "failed": 0}
    assert sweep.failures == [] and sweep.failed.size == 0
    assert sweep.receipt.kernel_ns > 0
    assert "100 tasks" in repr(sweep)


def test_several_axes_are_a_grid(gpu):
    sweep = gpu.sweep("integrate2d", n=[4, 8], x_max=np.linspace(0.5, 1.5, 3), y_max=1)
    assert sweep.value.shape == (2, 3)
    assert sweep.value[1, 2] == gpu.integrate2d(n=8, x_max=1.5, y_max=1).value


def test_rows_have_the_output_s_own_axes(gpu):
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    sweep = gpu.sweep("selu", x, alpha=[1.0, 2.0])
    assert np.asarray(sweep).shape == (2, 2, 3)
    np.testing.assert_array_equal(np.asarray(sweep)[1], gpu.selu(x, alpha=2.0))


def test_it_may_stay_on_the_daemon(gpu):
    x = np.ones(3, dtype=np.float32)
    sweep = gpu.sweep("selu", x, alpha=[1.0, 2.0], keep=True)
    stays = next(iter(sweep._outputs.values()))
    assert isinstance(stays, hp.Array) and stays.shape == (2, 3)


@pytest.mark.parametrize("keywords, says", [
    ({}, "a sweep needs the values of one parameter"),
    ({"n": 3}, "a sweep needs the values of one parameter"),
    ({"n": []}, "n has no values: the sweep has 0 tasks"),
    ({"n": range(10**9)}, "at most 1000000 tasks"),
    ({"n": range(1, 2000), "x_max": np.arange(2000.0)}, "are 3998000 tasks"),
    ({"n": [1, "two"]}, "n is 'two'; it must be an integer"),
    ({"n": np.ones((2, 2), int)}, "n has 2 axes"),
    ({"m": range(3)}, "no argument 'm'"),
    ({"n": range(3), "retries": -1}, "retries"),
    ({"n": range(3), "max_fails": 1.5}, "max_fails"),
])
def test_what_is_no_sweep_is_refused(gpu, keywords, says):
    with pytest.raises((TypeError, ValueError), match=says.replace("(", r"\(")):
        gpu.sweep("integrate2d", **keywords)


def test_the_daemon_names_the_task_of_a_bad_value(gpu):
    with pytest.raises(ValueError, match=r"task 2 \(n=0\)"):
        gpu.sweep("integrate2d", n=[2, 1, 0])
    with pytest.raises(ValueError, match="they cannot become one array"):
        gpu.sweep("arange", stop=range(1, 4))


def test_failures_are_named_and_their_rows_are_nan(gpu):
    sweep = gpu.sweep("integrate2d", n=[10, 2_000_000, 20], time_limit=2)
    assert np.isnan(sweep.value[1]) and np.isfinite(sweep.value[[0, 2]]).all()
    assert sweep.counts["failed"] == 1 and list(sweep.failed) == [1]
    failure, = sweep.failures
    assert failure["task"] == 1 and failure["values"] == {"n": 2_000_000} and failure["timed_out"]
    assert "time limit" in failure["error"]["message"]
    with pytest.raises(hp.Error, match="1 of 3 tasks failed"):
        gpu.sweep("integrate2d", n=[10, 2_000_000, 20], time_limit=2, max_fails=0)
    with pytest.raises(hp.Error, match="1 of 1 tasks failed"):
        gpu.sweep("integrate2d", n=[2_000_000], time_limit=2)
