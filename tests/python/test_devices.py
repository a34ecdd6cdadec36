"""Arrays on devices, on a daemon that shows its CPU as three."""

import numpy as np
import pytest

import hotplate as hp
from conftest import Daemon


@pytest.fixture(scope="module")
def daemon():
    running = Daemon("--cpu-devices", "3")
    yield running
    running.stop()


def test_the_exercise_of_the_course(gpu):
    x = gpu.array(np.arange(10), device="cpu0")
    square = x.to_device("cpu1")**2
    cube = x.to_device("cpu2")**3
    assert (x.device, square.device, cube.device) == ("cpu0", "cpu1", "cpu2")
    y = x.numpy() + square.numpy() + cube.numpy()
    assert y.tolist() == [0, 3, 14, 39, 84, 155, 258, 399, 584, 819] and y.dtype == np.int64
    assert (square.receipt.device, cube.receipt.device) == ("cpu1", "cpu2")
    again = x + square.to_device("cpu0") + cube.to_device("cpu0")
    assert again.numpy().tolist() == y.tolist() and again.receipt.device == "cpu0"


def test_two_devices_are_refused_at_the_line(gpu):
    x, y = gpu.array([1.0, 2.0], device="cpu1", name="left"), gpu.array([3.0, 4.0], device="cpu2")
    with pytest.raises(ValueError, match=r"array 'left' float64 \[2\] is on cpu1, and array float64 \[2\] on cpu2: bring both"):
        x + y
    with pytest.raises(ValueError, match="is on cpu1, and .* on cpu2"):
        np.where(x > 0, x, y)
    with pytest.raises(ValueError, match="vector_add's a is on cpu1, and vector_add's b on cpu2"):
        gpu.vector_add(x, y)
    assert gpu.vector_add(x, y, device="cpu0").receipt.device == "cpu0", "who asks for a device is given it"
    gpu.free("left")


def test_what_is_made_of_an_array_is_where_it_is(gpu):
    x = gpu.array(np.arange(12.0).reshape(3, 4), device="cpu2")
    made = [x + 1, x[1:], x.T, x.sum(axis=0), np.exp(x), x.reshape(4, 3), x.astype("float32"), x.copy(), gpu.selu(x), x @ x.T]
    assert [one.device for one in made] == ["cpu2"] * len(made)
    assert gpu.selu(x).receipt.device == "cpu2"
    y = (x * 2 + 1).compute()
    assert y.receipt.device == "cpu2"
    assert y.describe()["device"] == "cpu2"
    x[0] = 7
    assert x.device == "cpu2" and x.numpy()[0].tolist() == [7.0] * 4


def test_arrays_on_no_device_go_with_any(gpu):
    free, there = gpu.array([1.0, 2.0]), gpu.array([3.0, 4.0], device="cpu1")
    assert free.device == "any"
    assert (free + there).device == "cpu1"
    # One part, which is on no device, for operations on two.
    other = gpu.array([5.0, 6.0], device="cpu2")
    part = free * 10
    a, b = part + there, part + other
    assert a.numpy().tolist() == [13, 24] and b.numpy().tolist() == [15, 26]
    assert (a.receipt.device, b.receipt.device) == ("cpu1", "cpu2")


def test_there_and_back(gpu):
    x = gpu.array([1.0, 2.0], device="cpu1")
    assert x.to_device("cpu1") is x
    y = x.to_device("any")
    assert y.device == "any" and (y + gpu.array([1.0, 1.0], device="cpu2")).numpy().tolist() == [2, 3]
    z = (x + 1).to_device("cpu0")
    assert z.numpy().tolist() == [2, 3] and z.receipt.device == "cpu0"
    assert x.to_device(y.device).device == y.device


def test_another_client_knows_it(daemon, gpu):
    gpu.array([1.0, 2.0], name="there", device="cpu2")
    with daemon.connect() as other:
        found = other.array(name="there")
        assert found.device == "cpu2"
        assert [one.device for one in other.arrays if one.name == "there"] == ["cpu2"]
        assert other.eval("a*2", a=found, keep=True).device == "cpu2"
    gpu.free("there")


def test_what_is_no_device_is_named(gpu):
    with pytest.raises(ValueError, match="no device 'gpu3'; there are cpu0, cpu1, cpu2"):
        gpu.array([1.0], device="gpu3")
    x = gpu.array([1.0])
    with pytest.raises(ValueError, match="no device 'cpu9'"):
        x.to_device("cpu9")
    with pytest.raises(TypeError, match="device is 1; it must be a str"):
        x.to_device(1)
    with pytest.raises(ValueError, match="stream is 7"):
        x.to_device("cpu1", stream=7)
    with pytest.raises(TypeError, match="device='cpu1' is for data that is sent"):
        gpu.array(name="x", device="cpu1")


def test_with_one_device_there_is_no_other(start_daemon):
    with start_daemon().connect() as one:
        x = one.array([1.0])
        assert x.device == "cpu0" and x.to_device("cpu0") is x and x.location == "host"
        with hp.eager():
            assert (x + 1).device == "cpu0"


def test_assignment_leaves_an_array_on_its_device(gpu):
    x, other = gpu.array(np.zeros(3), device="cpu1"), gpu.array(np.ones(3), device="cpu2")
    for assign in (lambda: x.__setitem__(..., other), lambda: np.add(other, 1, out=x), lambda: x.__setitem__(x > 0, other[0])):
        with pytest.raises(ValueError, match="is on cpu., and .* on cpu."):
            assign()
    assert x.device == "cpu1" and x.numpy().tolist() == [0, 0, 0]
    for value in (np.arange(3.0), gpu.array(np.arange(3.0))):
        x[:] = value
        assert x.device == "cpu1" and x.numpy().tolist() == [0, 1, 2]
        assert x.receipt.device == "cpu1"
