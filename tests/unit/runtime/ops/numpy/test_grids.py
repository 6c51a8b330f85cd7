"""``millrace.numpy``: what is no function."""

import pytest

pytest.importorskip("torch")

import millrace
import millrace.numpy as mnp


def test_grids_of_slices():
    assert mnp.mgrid[0:3].tolist() == [0, 1, 2]
    assert mnp.mgrid[0:2, 0:3].tolist() == [[[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]]
    assert mnp.mgrid[0:1:3j].tolist() == [0, 0.5, 1]
    rows, columns = mnp.ogrid[0:2, 0:3]
    assert (rows.shape, columns.shape, rows.dtype) == ((2, 1), (1, 3), millrace.int32)


def test_names_of_types():
    assert mnp.zeros((2,), dtype=mnp.float16).dtype == mnp.float16 == millrace.float16
    assert mnp.array([1]).dtype == mnp.int_
    assert mnp.array([1.5]).dtype == mnp.float_
