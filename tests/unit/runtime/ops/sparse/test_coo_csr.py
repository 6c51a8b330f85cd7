"""Sparse tensors say what the dense ones say, with the elements that they hold."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import Tensor, ops
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.sparse.sparse_tensor import COOTensor, CSRTensor, RowTensor

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [0.5, 0, 0, 0]], np.float32)


def coo():
    return ops.dense_to_sparse_coo(Tensor(DENSE))


def csr():
    return ops.dense_to_sparse_csr(Tensor(DENSE))


def test_there_and_back():
    assert np.array_equal(coo().to_dense().asnumpy(), DENSE)
    assert np.array_equal(csr().to_dense().asnumpy(), DENSE)
    assert csr().indptr.asnumpy().tolist() == [0, 2, 2, 3]
    assert csr().to_coo().indices.asnumpy().tolist() == [[0, 1], [0, 3], [2, 0]]
    assert coo().to_csr().indices.asnumpy().tolist() == [1, 3, 0]
    assert (coo().shape, coo().size, coo().ndim, csr().itemsize) == ((3, 4), 3, 2, 4)
    assert np.array_equal(Tensor(DENSE).to_csr().to_dense().asnumpy(), DENSE)


@pytest.mark.parametrize(
    "name", ["abs", "sin", "sqrt", "square", "tanh", "relu", "relu6", "sigmoid", "neg", "inv", "isnan"]
)
def test_elements_that_are_held_are_changed(name):
    held = Tensor(np.array([1, 2, 0.5], np.float32))
    wanted = getattr(ops, name)(held).asnumpy()
    for kind, made in (("coo", coo()), ("csr", csr())):
        found = getattr(ops, f"{kind}_{name}")(made)
        assert type(found) is type(made)
        assert np.allclose(found.values.asnumpy(), wanted)
    with pytest.raises(ArgumentTypeError, match=f"coo_{name}"):
        getattr(ops, f"coo_{name}")(csr())


def test_sums():
    twice = ops.coo_add(coo(), coo(), Tensor(1.5))
    assert twice.indices.asnumpy().tolist() == [[0, 1], [0, 3]]
    assert np.array_equal((coo() + coo()).to_dense().asnumpy(), 2 * DENSE)
    assert np.array_equal((coo() + Tensor(DENSE)).asnumpy(), 2 * DENSE)
    assert np.array_equal(ops.csr_add(csr(), csr(), Tensor(1.0), Tensor(2.0)).to_dense().asnumpy(), 3 * DENSE)
    assert np.array_equal(ops.csr_reduce_sum(csr(), 1).asnumpy(), DENSE.sum(1, keepdims=True))
    assert np.array_equal(
        ops.coo_concat((coo(), coo()), 1).to_dense().asnumpy(), np.concatenate([DENSE, DENSE], 1)
    )


def test_products():
    right = np.arange(8, dtype=np.float32).reshape(4, 2)
    assert np.allclose(ops.csr_mm(csr(), Tensor(right)).asnumpy(), DENSE @ right)
    assert np.allclose(ops.csr_mv(csr(), Tensor(right[:, :1])).asnumpy(), DENSE @ right[:, :1])
    assert np.allclose(ops.csr_mm(csr(), csr(), trans_a=True).to_dense().asnumpy(), DENSE.T @ DENSE)
    assert np.allclose((csr() * 2).values.asnumpy(), [2, 4, 1])
    assert np.allclose(ops.csr_mul(csr(), Tensor([[1.0], [2.0], [3.0]])).values.asnumpy(), [1, 2, 1.5])
    assert np.allclose(ops.csr_div(csr(), Tensor([[1.0], [2.0], [4.0]])).values.asnumpy(), [1, 2, 0.125])


def test_softmax_of_rows():
    made = ops.csr_softmax(csr(), Tensor(1.0).dtype).values.asnumpy()
    first = np.exp([1.0, 2.0])
    assert np.allclose(made, [*(first / first.sum()), 1.0])


def test_wrong_parts_are_refused():
    with pytest.raises(ArgumentTypeError, match="indices"):
        COOTensor(Tensor([[0.0, 1.0]]), Tensor([1.0]), (2, 2))
    with pytest.raises(ArgumentValueError, match="shape"):
        COOTensor(Tensor([[0, 1]]), Tensor([1.0, 2.0]), (2, 2))
    with pytest.raises(ArgumentTypeError, match="tuple"):
        COOTensor(Tensor([[0, 1]]), Tensor([1.0]), 3)
    with pytest.raises(ArgumentValueError, match="indptr"):
        CSRTensor(Tensor([0, 1]), Tensor([0]), Tensor([1.0]), (2, 2))
    assert "RowTensor(shape=[3, 2]" in repr(RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2)))
