"""Operations that write into a tensor keep its storage, and copies leave it alone."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import Parameter, Tensor, ops


def rows():
    return Tensor(np.array([0, 2], np.int32)), Tensor(np.full((2, 2), 2.0, np.float32))


def table(kind=Tensor):
    value = Tensor(np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2))
    return value if kind is Tensor else Parameter(value, name="table")


@pytest.mark.parametrize("kind", [Tensor, Parameter])
@pytest.mark.parametrize("name", ["Update", "Add", "Sub", "Mul", "Div", "Max", "Min"])
def test_scatter_writes_rows_in_place(kind, name):
    target, (indices, updates) = table(kind), rows()
    before, place = target.asnumpy().copy(), target._torch.data_ptr()
    made = getattr(ops, f"Scatter{name}")()(target, indices, updates)
    function = {
        "Update": lambda a, b: b,
        "Add": np.add,
        "Sub": np.subtract,
        "Mul": np.multiply,
        "Div": np.divide,
    }
    function |= {"Max": np.maximum, "Min": np.minimum}
    before[[0, 2]] = function[name](before[[0, 2]], 2.0)
    assert np.array_equal(target.asnumpy(), before)
    assert np.array_equal(made.asnumpy(), before)
    assert target._torch.data_ptr() == place


@pytest.mark.parametrize("name", ["Update", "Add", "Sub", "Mul", "Div", "Max", "Min"])
def test_scatter_nd_writes_in_place_and_tensor_scatter_a_copy(name):
    target, (indices, updates) = table(Parameter), rows()
    before = target.asnumpy().copy()
    copy = getattr(ops, f"TensorScatter{name}")()(target, indices.reshape(2, 1), updates)
    assert np.array_equal(target.asnumpy(), before)
    getattr(ops, f"ScatterNd{name}")()(target, indices.reshape(2, 1), updates)
    assert np.array_equal(target.asnumpy(), copy.asnumpy())


def test_index_add_writes_in_place():
    target, (indices, updates) = table(Parameter), rows()
    ops.IndexAdd(axis=0)(target, indices, updates)
    assert target.asnumpy().tolist() == [[3, 4], [3, 4], [7, 8]]


def test_the_same_place_twice():
    target = Tensor(np.ones(3, np.float32))
    ops.scatter_mul(target, Tensor([1, 1]), Tensor(np.array([2.0, 3.0], np.float32)))
    assert target.asnumpy().tolist() == [1, 6, 1]
