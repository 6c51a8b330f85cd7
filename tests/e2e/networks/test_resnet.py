"""ResNets: their size, names, and the same bits in both modes while they learn."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, ops, set_context, set_seed, value_and_grad  # noqa: E402
from tests.e2e.networks.resnet import resnet18, resnet50  # noqa: E402

torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("make", "trained", "all_of_them"), [(resnet18, 11_689_512, 62), (resnet50, 25_557_032, 161)]
)
def test_as_large_as_everywhere(make, trained, all_of_them):
    net = make(millrace)
    weights = net.trainable_params()
    assert (sum(p.size for p in weights), len(weights)) == (trained, all_of_them)
    net.check_names()
    names = list(net.parameters_dict())
    assert names[:3] == ["conv1.weight", "bn1.moving_mean", "bn1.moving_variance"]
    assert names[-2:] == ["fc.weight", "fc.bias"]
    assert "layers.1.0.down.1.gamma" in names


def learn(net, steps=3):
    """Gradient descent on one batch; moving statistics are part of what must agree."""
    weights = net.set_train().trainable_params()
    draw = np.random.default_rng(1)
    x = Tensor(draw.standard_normal((4, 3, 16, 16)).astype(np.float32))
    labels = Tensor(np.eye(5, dtype=np.float32)[draw.integers(0, 5, 4)])

    def loss(x, labels):
        return -(ops.log_softmax(net(x)) * labels).sum(-1).mean()

    step, losses = value_and_grad(loss, None, weights), []
    for _ in range(steps):
        value, gradients = step(x, labels)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.set_data(weight - gradient * 0.05)
        losses.append(value.item())
    return losses, {name: p.asnumpy().copy() for name, p in net.parameters_dict().items()}


def test_it_learns_the_same_bits_in_both_modes():
    set_seed(2)
    net = resnet18(millrace, 5, width=8, small=True)
    other = copy.deepcopy(net)
    plain, state = learn(net, 5)
    assert plain[-1] < plain[0]
    set_context(mode=GRAPH_MODE)
    try:
        recorded, again = learn(other, 5)
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert plain == recorded
    assert all(np.array_equal(state[name], again[name]) for name in state)
    assert not np.array_equal(state["bn1.moving_mean"], np.zeros(8)), "statistics were not written"
