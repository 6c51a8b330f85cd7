"""Values are written into the same memory: whoever holds the tensor sees them."""

import pytest

pytest.importorskip("torch")

import numpy as np

from millrace import Tensor, ops


@pytest.mark.parametrize(
    ("function", "wanted"),
    [(ops.assign, [5, 6]), (ops.Assign(), [5, 6]), (ops.assign_add, [6, 8]), (ops.AssignSub(), [-4, -4])],
)
def test_the_holder_sees_the_value(function, wanted):
    held = Tensor(np.array([1, 2], np.float32))
    memory = held._torch.data_ptr()
    returned = function(held, Tensor(np.array([5, 6], np.float32)))
    assert held.tolist() == returned.tolist() == wanted
    assert held._torch.data_ptr() == memory


def test_what_is_trained_can_be_assigned():
    held = Tensor(np.array([1, 2], np.float32))
    held._torch.requires_grad_(True)
    ops.assign(held, Tensor(np.array([5, 6], np.float32)))
    ops.assign_add(held, Tensor(np.array([1, 1], np.float32)))
    assert held.tolist() == [6, 7]


def test_zero_and_fill_write_in_place():
    held = Tensor(np.array([1, 2], np.float32))
    alias = held.view(2)
    held.fill_(3)
    assert alias.tolist() == [3, 3]
    held.zero_()
    assert alias.tolist() == [0, 0]
    held.copy_(Tensor(np.array([7, 8], np.float32)))
    assert alias.tolist() == [7, 8]
