"""Functions of ``millrace.numpy`` that call a user's function."""

import pytest

pytest.importorskip("torch")

import numpy as np

import millrace.numpy as mnp
from millrace import Tensor


def numbers(*shape):
    return Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def test_a_function_along_an_axis():
    x = numbers(2, 3)
    assert mnp.apply_along_axis(lambda line: line.sum(), 0, x).tolist() == [3, 5, 7]
    assert mnp.apply_along_axis(lambda line: line * 2, 1, x).tolist() == [[0, 2, 4], [6, 8, 10]]
    outer = mnp.apply_along_axis(lambda line: mnp.outer(line, line), 0, x)
    assert outer.shape == np.apply_along_axis(lambda line: np.outer(line, line), 0, x.asnumpy()).shape


def test_a_function_over_axes():
    x = numbers(2, 3)
    assert mnp.apply_over_axes(mnp.sum, x, [0]).tolist() == [[3, 5, 7]]
    assert mnp.apply_over_axes(mnp.sum, x, (0, 1)).tolist() == [[15]]


def test_functions_by_pieces():
    x = numbers(3)
    assert mnp.piecewise(x, [x < 1, x >= 1], [2, 3]).tolist() == [2, 3, 3]
    assert mnp.piecewise(x, [x < 1], [lambda v: v + 10, lambda v: -v]).tolist() == [10, -1, -2]
    with pytest.raises(ValueError, match="as many functions"):
        mnp.piecewise(x, [x < 1], [1, 2, 3])


def test_random_numbers_are_within_bounds():
    drawn = mnp.randint(3, 7, (200,)).asnumpy()
    assert (drawn.min(), drawn.max()) == (3, 6)
    even = mnp.rand(200).asnumpy()
    assert 0 <= even.min() < even.max() < 1
