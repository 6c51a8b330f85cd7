"""Cells about a net; numbers are what MindSpore 2.7.0 gives, except for scaled losses, which it cannot run on a CPU."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    Parameter,
    ParameterTuple,
    Tensor,
    float16,
    nn,
    ops,
    set_context,
)

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
Y = np.array([[1.0], [2.0]], np.float32)


class Descent(nn.Cell):
    """Any cell that is called with gradients."""

    def __init__(self, parameters, rate=0.1):
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.rate = rate

    def construct(self, gradients):
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            ops.assign(parameter, parameter - self.rate * gradient)
        return True


def net():
    return nn.Dense(2, 1, weight_init="ones", bias_init="zeros")


def with_loss():
    return nn.WithLossCell(net(), nn.MSELoss())


def values(tree):
    if isinstance(tree, tuple):
        return tuple(values(part) for part in tree)
    if isinstance(tree, dict):
        return {name: values(part) for name, part in tree.items()}
    return tree.asnumpy().tolist() if isinstance(tree, Tensor) else tree


def test_a_net_with_its_loss():
    cell = with_loss()
    assert cell(Tensor(X), Tensor(Y)).item() == 14.5
    assert [p.name for p in cell.get_parameters()] == ["weight", "bias"]
    assert cell.backbone_network is cell._backbone
    assert repr(cell).startswith("WithLossCell(\n  (_backbone): Dense(")
    assert values(nn.WithEvalCell(net(), nn.MSELoss())(Tensor(X), Tensor(Y))) == (
        14.5,
        [[3.0], [7.0]],
        [[1.0], [2.0]],
    )
    half = nn.WithEvalCell(nn.Identity(), nn.MSELoss(), True)(Tensor(Y).astype(float16), Tensor(Y))
    assert [str(part.dtype) for part in half] == ["Float32"] * 3
    with pytest.raises(TypeError, match="add_cast_fp32"):
        nn.WithEvalCell(net(), nn.MSELoss(), 1)


def test_a_net_with_its_gradients():
    by_weight = ([[17.0, 24.0]], [7.0])
    by_input = ([[2.0, 2.0], [5.0, 5.0]], [[-2.0], [-5.0]])
    x, y, cell = Tensor(X), Tensor(Y), with_loss()
    weights = ParameterTuple(cell.trainable_params())
    assert values(nn.WithGradCell(net(), nn.MSELoss())(x, y)) == by_weight
    assert values(nn.ForwardValueAndGrad(cell, weights, get_by_list=True)(x, y)) == (14.5, by_weight)
    assert values(nn.ForwardValueAndGrad(cell, get_all=True)(x, y)) == (14.5, by_input)
    assert values(nn.ForwardValueAndGrad(cell)(x, y)) == (14.5, by_input[0])
    both = nn.ForwardValueAndGrad(cell, weights, get_all=True, get_by_list=True, sens_param=True)
    assert values(both(x, y, Tensor(2.0))[1][1]) == ([[34.0, 48.0]], [14.0])
    with pytest.raises(TypeError, match="must be Parameters"):
        nn.ForwardValueAndGrad(cell, get_by_list=True)


def test_a_step_of_training():
    cell = with_loss()
    step = nn.TrainOneStepCell(cell, Descent(cell.trainable_params()))
    assert step(Tensor(X), Tensor(Y)).item() == 14.5
    assert np.allclose(cell.backbone_network.weight.asnumpy(), [[-0.7, -1.4]], atol=1e-6)
    assert (step.sens, step.reducer_flag) == (1.0, False)
    cell = with_loss()
    step = nn.TrainOneStepCell(cell, Descent(cell.trainable_params()), sens=2.0, return_grad=True)
    loss, grads = step(Tensor(X), Tensor(Y))
    assert (loss.item(), values(grads)) == (14.5, {"weight": [[34.0, 48.0]], "bias": [14.0]})


def test_steps_of_ones_own_use_what_the_base_holds():
    class Step(nn.TrainOneStepCell):
        def construct(self, x, y):
            loss = self.network(x, y)
            sens = ops.fill(loss.dtype, loss.shape, self.sens)
            grads = self.grad(self.network, self.weights)(x, y, sens)
            return ops.depend(loss, self.optimizer(self.grad_reducer(grads)))

    cell = with_loss()
    assert Step(cell, Descent(cell.trainable_params()))(Tensor(X), Tensor(Y)).item() == 14.5
    assert np.allclose(cell.backbone_network.bias.asnumpy(), [-0.7])


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE])
def test_a_step_is_skipped_after_an_overflow(mode):
    set_context(mode=mode)
    try:
        cell = with_loss()
        manager = nn.DynamicLossScaleUpdateCell(2.0**4, 2, 2)
        step = nn.TrainOneStepWithLossScaleCell(cell, Descent(cell.trainable_params(), 0.01), manager)
        wrong = X.copy()
        wrong[0, 0] = np.inf
        seen = []
        for batch in (X, X, wrong, X):
            before = cell.backbone_network.weight.asnumpy().copy()
            loss, overflow, scale = step(Tensor(batch), Tensor(Y))
            moved = not np.array_equal(before, cell.backbone_network.weight.asnumpy())
            seen.append((bool(overflow), scale.item(), moved))
        assert seen == [(False, 16.0, True), (False, 16.0, True), (True, 32.0, False), (False, 16.0, True)]
        assert np.isfinite(loss.item())
    finally:
        set_context(mode=PYNATIVE_MODE)


def test_a_fixed_scale():
    cell = with_loss()
    step = nn.TrainOneStepWithLossScaleCell(cell, Descent(cell.trainable_params()), Tensor(8.0))
    loss, overflow, scale = step(Tensor(X), Tensor(Y))
    assert (loss.item(), bool(overflow), scale.item()) == (14.5, False, 8.0)
    assert np.allclose(cell.backbone_network.weight.asnumpy(), [[-0.7, -1.4]], atol=1e-5)
    step.set_sense_scale(Tensor(4.0))
    assert step.scale_sense.item() == 4.0
    with pytest.raises(TypeError, match="must be Cell or Tensor"):
        nn.TrainOneStepWithLossScaleCell(cell, Descent([]), 3)
    fixed = nn.FixedLossScaleUpdateCell(8)
    assert (fixed.get_loss_scale(), fixed(Tensor(8.0), Tensor(True)).item()) == (8, True)


def test_the_scale_follows_what_happens():
    cell = nn.DynamicLossScaleUpdateCell(2**4, 2, 2)
    scale, seen = Parameter(Tensor(4.0), name="s"), []
    for overflow in (False, False, True, True, False):
        assert cell(scale, Tensor(overflow)).item() == overflow
        seen.append((scale.item(), cell.cur_iter.item(), cell.last_overflow_iter.item()))
    assert seen == [(4.0, 2, 0), (8.0, 3, 2), (4.0, 4, 3), (2.0, 5, 4), (2.0, 6, 4)]
    assert cell.get_loss_scale() == 16
    assert [p.name for p in cell.get_parameters()] == ["current_iterator_step", "last_overflow_iterator_step"]


def test_parts_of_a_batch():
    for make in (nn.MicroBatchInterleaved, nn.GradAccumulationCell, nn.PipelineCell):
        assert make(with_loss(), 2)(Tensor(X), Tensor(Y)).item() == 29.0
        with pytest.raises(ValueError, match="equal parts"):
            make(with_loss(), 3)(Tensor(X), Tensor(Y))
        with pytest.raises(TypeError, match="must cell type"):
            make(len, 2)


def test_the_rest():
    parameter = Parameter(Tensor([1.0, 2.0]), name="q")
    assert values(nn.ParameterUpdate(parameter)(Tensor([3.0, 4.0]))) == [3.0, 4.0]
    assert values(parameter) == [3.0, 4.0]
    with pytest.raises(TypeError, match="must be 'Parameter'"):
        nn.ParameterUpdate(3)
    dense = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
    ones = Tensor(np.ones((2, 4, 3), np.float32))
    assert values(nn.TimeDistributed(dense, 1, 0)(ones)) == np.full((2, 4, 2), 3.0).tolist()
    assert nn.TimeDistributed(dense, 1)(ones).shape == (2, 4, 2)
    with pytest.raises(ValueError, match="at least 3D"):
        nn.TimeDistributed(dense, 1)(Tensor(X))
    with pytest.raises(TypeError, match="Cell or Primitive"):
        nn.TimeDistributed(3, 1)

    class Sum(nn.Cell):
        def construct(self, a, b, c):
            return a + b + c

    assert values(nn.VirtualDatasetCellTriple(Sum())(Tensor(X), Tensor(X), Tensor(X))) == (X * 3).tolist()
    assert values(nn.Jvp(nn.ReLU())(Tensor(X), Tensor(X))) == (X.tolist(), X.tolist())
    assert values(nn.Vjp(nn.ReLU())(Tensor(X), Tensor(X))) == (X.tolist(), X.tolist())
