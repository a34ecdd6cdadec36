"""gpu.eval: a line of NumPy as a text. What the language computes is tested beside it (tests/unit/expression)."""

import pathlib
import re

import hotplate as hp
import numpy as np
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "client/docs/expressions.md"


def test_a_text_is_computed(gpu):
    x, y = np.arange(3.0), np.ones(3, "float32")
    np.testing.assert_allclose(gpu.eval("2*x + exp(y)", x=x, y=gpu.array(y)).numpy(), 2 * x + np.exp(y), rtol=1e-6)
    both = gpu.eval("near = x < a; far = ~(x < a)", {"x": x}, a=1.5)
    assert both.near.tolist() == [True, True, False] and both.far.tolist() == [False, False, True]
    assert gpu.eval("x*a", x=y, a=2.5).dtype == np.float32


@pytest.mark.parametrize("number", [2j, complex(1.5, -2), complex(np.nan, 1), complex(np.inf, 1), complex(1, np.inf), complex(1, np.nan), 2**63],
                         ids=str)
def test_a_number_that_is_no_scalar_is_written_into_the_text(gpu, number):
    x = np.ones((2, 2), "uint64" if type(number) is int else "complex128")
    np.testing.assert_array_equal(gpu.eval("x.T + T", x=x, T=number), x.T + (np.uint64(number) if type(number) is int else number))
    same = gpu.eval("sum(where(x == k, 1, 0), axis=0)", x=x, k=number)
    np.testing.assert_array_equal(same, [0, 0])
    np.testing.assert_array_equal(gpu.eval("where(k == x, 1, 0)", x=x, k=number), np.zeros((2, 2)))
    np.testing.assert_array_equal(gpu.eval("where(k==x, 1, 0)", x=x, k=number), np.zeros((2, 2)))


@pytest.mark.parametrize("number", [2, 2j])
def test_a_result_has_not_the_name_of_a_number(gpu, number):
    with pytest.raises(NameError, match="k is a number that is given; give the result another name"):
        gpu.eval("k = k + x; m = k*2", x=np.ones(3), k=number)


def test_a_keyword_with_the_name_of_a_number_stays(gpu):
    np.testing.assert_array_equal(gpu.eval("sum(x + axis, axis=1)", x=np.ones((2, 2)), axis=1j), [2 + 2j, 2 + 2j])


def test_an_index_outside_is_an_index_error(gpu):
    with pytest.raises(hp.errors.JobOutOfBounds):
        gpu.eval("x[i]", x=np.arange(3), i=np.array([0, 7]))
    with pytest.raises(IndexError):
        gpu.eval("x[10]", x=np.arange(3))


def test_the_pages_computed_places(gpu):
    text, = re.findall(r"hotplate eval '(.*\[i, .*)' x=x.npy", PAGE.read_text(encoding="utf-8"))
    x = np.arange(100.0).reshape(10, 10)
    np.testing.assert_array_equal(gpu.eval(text, x=x), np.roll(x, -1, axis=1))
