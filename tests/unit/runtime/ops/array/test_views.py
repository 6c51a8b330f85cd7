"""Operations that share memory, and those that say how elements lie in it."""

import pytest

pytest.importorskip("torch")

import numpy as np

from millrace import Tensor, ops


def numbers(*shape):
    return Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def test_strides_are_counted_in_elements():
    x = numbers(2, 3)
    assert (x.stride(), x.stride(1), x.T.stride(), x[:, 1].storage_offset()) == ([3, 1], 1, [1, 3], 1)
    assert x.is_contiguous()
    assert not x.T.is_contiguous()
    assert x.T.contiguous().stride() == [2, 1]


def test_a_clone_has_memory_of_its_own():
    x = numbers(2)
    for copied in (x.clone(), ops.deepcopy(x), x.copy()):
        copied[0] = 9
    assert x.tolist() == [0, 1]


def test_a_class_with_many_tensors_takes_them_one_by_one_or_in_a_tuple():
    x, y = numbers(2), numbers(2)
    apart, together = ops.Stack(1)(x, y), ops.Stack(axis=1)((x, y))
    assert apart.tolist() == together.tolist() == [[0, 0], [1, 1]]


def test_shapes_come_as_numbers_or_as_a_tuple():
    x = numbers(2, 3)
    assert x.view(3, 2).shape == x.view((3, 2)).shape == x.view([-1, 2]).shape == (3, 2)
    assert x.permute(1, 0).shape == x.permute((1, 0)).shape == x.transpose(1, 0).shape == (3, 2)
    assert x.new_zeros(4).shape == x.new_zeros((4,)).shape == (4,)


def test_matrices_turned_over():
    x = numbers(2, 3)
    assert x.mT.tolist() == x.mH.tolist() == x.H.tolist() == x.T.tolist()
    assert numbers(2, 3, 4).mT.shape == numbers(2, 3, 4).mH.shape == (2, 4, 3)
    assert Tensor(np.array([[1 + 2j]])).H.tolist() == [[1 - 2j]]
    for name, x in (("mT", numbers(2)), ("mH", numbers(2)), ("H", numbers(2, 3, 4))):
        with pytest.raises(ValueError, match=name):
            getattr(x, name)
