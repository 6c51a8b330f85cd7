"""TensorArray, sparse cells, batches of a queue, parameters without values."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace.dataset as ds  # noqa: E402
from millrace import (  # noqa: E402
    GRAPH_MODE,
    PYNATIVE_MODE,
    COOTensor,
    SparseTensor,
    Tensor,
    float32,
    float64,
    int64,
    nn,
    ops,
    set_context,
    set_dump,
)

torch.set_num_threads(1)


def test_tensor_array():
    array = nn.TensorArray(int64, ())
    assert [array.write(0, 1), array.write(1, Tensor(5)), array.write(3, 7)] == [True] * 3
    assert (array.read(0).item(), array.read(2).item(), array.size().item()) == (1, 0, 4)
    assert (array.stack().tolist(), array.stack().dtype) == ([1, 5, 0, 7], int64)
    assert array.clear()
    assert (array.size().item(), array.stack().shape) == (0, (0,))
    assert array.close()
    with pytest.raises(RuntimeError, match="was closed"):
        array.read(0)
    fixed = nn.TensorArray(float32, (2,), dynamic_size=False, size=2)
    assert fixed.stack().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    for call, error in (
        (lambda: fixed.write(0, Tensor([1.0, 2.0, 3.0])), ValueError),
        (lambda: fixed.write(5, Tensor([1.0, 2.0])), ValueError),
        (lambda: fixed.write("a", Tensor([1.0, 2.0])), TypeError),
        (lambda: fixed.read(-1), ValueError),
        (lambda: nn.TensorArray(int64, ()).read(3), ValueError),
        (lambda: nn.TensorArray("a", ()), TypeError),
        (lambda: nn.TensorArray(int64, "a"), TypeError),
        (lambda: nn.TensorArray(int64, (), size=-1), ValueError),
    ):
        with pytest.raises(error, match="TensorArray"):
            call()


def test_a_recording_does_not_hold_a_tensor_array():
    class Kept(nn.Cell):
        def __init__(self):
            super().__init__()
            self.array = nn.TensorArray(float32, (1,))

        def construct(self, x):
            self.array.write(self.array.size().item(), x)
            return self.array.stack().sum()

    set_context(mode=GRAPH_MODE)
    try:
        net = Kept()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert [net(Tensor([2.0])).item() for _ in range(3)] == [2.0, 4.0, 6.0]
    finally:
        set_context(mode=PYNATIVE_MODE)


def test_sparse_cells():
    places, values = Tensor(np.array([[0, 1], [1, 2]], np.int32)), Tensor([1.0, 2.0])
    assert nn.SparseToDense()(COOTensor(places, values, (3, 4))).tolist()[1] == [0.0, 0.0, 2.0, 0.0]
    product = nn.SparseTensorDenseMatmul()
    ones = Tensor(np.ones((4, 2), np.float32))
    assert product(places, values, (3, 4), ones).tolist() == [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]
    turned = nn.SparseTensorDenseMatmul(adjoint_st=True)(places, values, (3, 4), ones[:3])
    assert turned.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]
    assert nn.SparseTensorDenseMatmul(adjoint_dt=True)(places, values, (3, 4), ones.T).shape == (3, 2)
    assert isinstance(SparseTensor(places, values, (3, 4)), COOTensor)
    with pytest.raises(TypeError, match="the type of 'adjoint_st' should be 'bool', but got type 'int'"):
        nn.SparseTensorDenseMatmul(3)
    with pytest.raises(TypeError, match="expected a COOTensor"):
        nn.SparseToDense()(ones)


def test_the_next_batch_of_a_queue():
    queue = ds.NumpySlicesDataset({"x": [1.0, 2.0]}, shuffle=False).batch(2).device_que(queue_name="cells")
    queue.send(num_epochs=1)
    try:
        assert nn.GetNextSingleOp([float64], [[2]], "cells")()[0].tolist() == [1.0, 2.0]
    finally:
        queue.release()


def test_parameters_without_values():
    calls = []
    from millrace.common import initializer

    class Counted(initializer.Initializer):
        def _initialize(self, arr):
            calls.append(arr.shape)
            arr[:] = 3

    with nn.no_init_parameters():
        net = nn.Dense(2, 3, weight_init=Counted(), bias_init=Counted())
    assert (net.weight.has_init, net.weight.shape, net.weight.dtype) == (True, (3, 2), float32)
    assert [p.name for p in net.trainable_params()] == ["weight", "bias"]
    assert calls == []
    net.weight.set_data(Tensor(np.ones((3, 2), np.float32)))
    assert calls == []
    assert net(Tensor(np.ones((1, 2), np.float32))).tolist() == [[5.0, 5.0, 5.0]]  # the bias took its own
    assert calls == [(3,)]
    with nn.no_init_parameters():
        other = nn.Dense(2, 3, weight_init=Counted(), bias_init=Counted())
    other.load_state_dict(net.state_dict())
    assert calls == [(3,)]
    assert other.weight.tolist() == net.weight.tolist()
    assert not nn.Dense(2, 3).weight.has_init


def test_set_dump():
    for target in (nn.Dense(2, 2), ops.ReLU()):
        with pytest.warns(UserWarning, match="acts on Ascend only"):
            set_dump(target)
    with pytest.raises(ValueError, match="must be an instance of Cell or Primitive"):
        set_dump(3)
    with pytest.raises(ValueError, match="must be bool"):
        set_dump(nn.ReLU(), 3)
