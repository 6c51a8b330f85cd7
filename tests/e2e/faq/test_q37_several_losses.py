"""Q37: a loss with several values: a cell of one's own, a step of one's own, as many `sens` as results."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Parameter, ParameterTuple, Tensor, nn, ops, set_context


class Two(nn.Cell):
    """w * x and w * w * x: gradients x and 2 * w * x."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0]), name="w")

    def construct(self, x):
        return (self.w * x).sum(), (self.w * self.w * x).sum()


@pytest.fixture(params=[PYNATIVE_MODE, GRAPH_MODE], autouse=True)
def mode(request):
    set_context(mode=request.param)
    yield
    set_context(mode=PYNATIVE_MODE)


@pytest.mark.parametrize(
    ("sens", "moved"), [(None, 15.0), (2.0, 30.0), ((1.0, 0.5), 9.0), ([Tensor(0.0), Tensor(1.0)], 12.0)]
)
def test_gradients_of_all_losses_are_added(sens, moved):
    net = Two()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 1.0), sens)
    first, second = step(Tensor([3.0]))
    assert (first.item(), second.item()) == (6.0, 12.0)
    assert net.w.item() == 2.0 - moved
    step(Tensor([3.0]))


def test_another_number_of_factors_is_refused():
    net = Two()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 1.0), (1.0, 2.0, 3.0))
    with pytest.raises(ValueError, match="returns 2 losses, so 'sens' must be one number or 2 of them"):
        step(Tensor([3.0]))


def test_as_many_sens_as_results():
    net = Two()
    weights = ParameterTuple(net.trainable_params())
    grad = ops.GradOperation(get_by_list=True, sens_param=True)
    assert grad(net, weights)(Tensor([3.0]), (Tensor(1.0), Tensor(0.5)))[0].item() == 9.0
    both = nn.ForwardValueAndGrad(net, weights, get_by_list=True, sens_param=True)
    values, grads = both(Tensor([3.0]), (Tensor(1.0), Tensor(0.5)))
    assert (values[1].item(), grads[0].item()) == (12.0, 9.0)
    with pytest.raises(ValueError, match="sens must have the shapes of the results"):
        grad(net, weights)(Tensor([3.0]), Tensor(1.0))


def test_a_loss_of_ones_own_with_three_arguments():
    class Weighed(nn.LossBase):
        def construct(self, logits, labels, weights):
            return self.get_loss(ops.abs(logits - labels), weights)

    class WithLoss(nn.Cell):
        def __init__(self, net, loss):
            super().__init__(auto_prefix=False)
            self.net, self.loss = net, loss

        def construct(self, x, label, weight):
            return self.loss(self.net(x), label, weight)

    net = nn.Dense(1, 1, "ones", "zeros")
    step = nn.TrainOneStepCell(WithLoss(net, Weighed()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    losses = [step(Tensor([[3.0]]), Tensor([[1.0]]), Tensor([[0.5]])).item() for _ in range(3)]
    assert losses[0] == 1.0 > losses[1]


def test_a_step_of_ones_own_with_clipped_gradients():
    class Clipped(nn.TrainOneStepCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            sens = ops.fill(loss.dtype, loss.shape, self.sens)
            grads = self.grad(self.network, self.weights)(*inputs, sens)
            grads = ops.clip_by_global_norm(grads, 1.0)
            grads = self.grad_reducer(grads)
            return ops.depend(loss, self.optimizer(grads))

    net = nn.Dense(1, 1, "ones", has_bias=False)
    cell = nn.WithLossCell(net, nn.MSELoss())
    step = Clipped(cell, nn.SGD(cell.trainable_params(), 1.0), sens=8.0)
    for _ in range(3):
        step(Tensor(np.full((1, 1), 10.0, np.float32)), Tensor([[0.0]]))
    assert net.weight.item() == pytest.approx(-1.0, abs=1.0)
