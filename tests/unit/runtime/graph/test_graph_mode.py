"""Cells and gradients under set_context(mode=GRAPH_MODE): the same bits as in PyNative mode."""

import copy
import warnings

import numpy as np
import pytest

from millrace import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    Parameter,
    Tensor,
    get_context,
    nn,
    ops,
    set_context,
    value_and_grad,
)
from millrace._src.runtime.graph.replay import capture_cache_of


@pytest.fixture
def graph_mode():
    before = get_context("mode")
    set_context(mode=GRAPH_MODE)
    yield
    set_context(mode=before)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(6, 8), nn.Dense(8, 3)
        self.scale = Parameter(Tensor([1.0]), name="scale")

    def construct(self, x):
        x = ops.relu(self.first(x))
        return self.second(x) * self.scale * (2.0 if self.training else 1.0)


def _batch(seed):
    draw = np.random.default_rng(seed)
    return Tensor(draw.standard_normal((5, 6)).astype(np.float32)), Tensor(
        draw.standard_normal((5, 3)).astype(np.float32)
    )


def _learn(net, steps=4):
    """Plain gradient descent, as functional training loops write it."""
    params = net.trainable_params()

    def forward(x, y):
        difference = net(x) - y
        return (difference * difference).mean()

    step = value_and_grad(forward, None, params)
    losses = []
    for seed in range(steps):
        loss, grads = step(*_batch(seed))
        for param, gradient in zip(params, grads, strict=True):
            param.set_data(param - gradient * 0.1)
        losses.append(loss.item())
    return losses, [param.asnumpy().copy() for param in params], step


def test_a_net_learns_the_same_bits_in_both_modes():
    net = Net()
    other = copy.deepcopy(net)
    plain = _learn(net)
    set_context(mode=GRAPH_MODE)
    try:
        graph = _learn(other)
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert plain[0] == graph[0]
    for a, b in zip(plain[1], graph[1], strict=True):
        assert np.array_equal(a, b)
    assert capture_cache_of(graph[2]).replayed == 2  # the first call runs plainly, the second is recorded


def test_a_cell_is_recorded_once_and_replayed(graph_mode):
    net = Net()
    x = _batch(0)[0]
    first, second = net(x), net(x)
    assert np.array_equal(first.asnumpy(), second.asnumpy())
    assert (capture_cache_of(net).recorded, capture_cache_of(net).replayed) == (1, 1)
    assert capture_cache_of(net.first).recorded == 0  # it is part of the whole


def test_training_and_not_are_two_recordings(graph_mode):
    net = Net()
    x = _batch(0)[0]
    calm = net(x).asnumpy()
    net.set_train()
    assert np.array_equal(net(x).asnumpy(), calm * 2)
    net.set_train(False)
    assert np.array_equal(net(x).asnumpy(), calm)
    assert capture_cache_of(net).recorded == 2


def test_new_values_of_a_parameter_are_seen(graph_mode):
    net = Net()
    x = _batch(0)[0]
    before = net(x).asnumpy()
    net.scale.set_data(Tensor([3.0]))
    assert np.allclose(net(x).asnumpy(), before * 3)
    assert capture_cache_of(net).recorded == 1


def test_hooks_are_called_every_time(graph_mode):
    net, seen = Net(), []
    net.first.register_forward_hook(lambda cell, inputs, output: seen.append(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that the net runs operation by operation
        for seed in range(2):
            net(_batch(seed)[0])
    assert len(seen) == 2


def test_a_graph_inside_a_gradient_is_part_of_it(graph_mode):
    net = Net()
    x = _batch(0)[0]
    net(x)
    _, (gradient, *_) = value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())(x)
    assert np.abs(gradient.asnumpy()).sum() > 0
