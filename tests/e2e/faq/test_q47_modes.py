"""Q47: what is the difference between the PyNative and Graph modes? Speed; not results, and not errors."""

from __future__ import annotations

import pdb
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, get_context, nn, ops, set_context, value_and_grad
from millrace._src.runtime.graph.replay import capture_cache_of


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(3, 4), nn.Dense(4, 2)
        self.seen: list = []

    def construct(self, x):
        x = ops.relu(self.fc1(x))
        return self.fc2(x)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def construct(self, x):
        return self.block(x).sum()


@pytest.fixture
def in_mode():
    before = get_context("mode")
    yield lambda mode: set_context(mode=mode)
    set_context(mode=before)


def batch(columns: int = 3) -> Tensor:
    return Tensor(np.linspace(-1, 1, 4 * columns).reshape(4, columns).astype(np.float32))


def test_the_same_bits_in_both(in_mode) -> None:
    net = Net()
    step = value_and_grad(net, None, net.trainable_params())
    found = []
    for mode in (PYNATIVE_MODE, GRAPH_MODE, GRAPH_MODE, GRAPH_MODE):
        in_mode(mode)
        loss, grads = step(batch())
        found.append([loss.asnumpy(), *(grad.asnumpy() for grad in grads)])
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_graph_replays_what_it_recorded(in_mode) -> None:
    in_mode(GRAPH_MODE)
    net = Net()
    for _ in range(3):
        net(batch())
    assert (capture_cache_of(net).recorded, capture_cache_of(net).replayed) == (1, 2)


def test_prints_and_values_at_any_line_in_pynative(in_mode, capsys) -> None:
    class Shows(Block):
        def construct(self, x):
            x = self.fc1(x)
            print("after fc1:", x.shape, float(x.sum()))
            self.seen.append(x.asnumpy())
            return self.fc2(ops.relu(x))

    in_mode(PYNATIVE_MODE)
    net = Shows()
    for _ in range(2):
        net(batch())
    assert capsys.readouterr().out.count("after fc1: (4, 4)") == 2
    assert len(net.seen) == 2


def test_breakpoints_work_in_pynative(in_mode) -> None:
    """A debugger stops at a line of construct and sees the output of the operator before it."""
    in_mode(PYNATIVE_MODE)
    net, stops = Net(), []

    class Debugger(pdb.Pdb):
        def user_line(self, frame):
            if frame.f_code is Block.construct.__code__ and frame.f_lineno == line:
                stops.append(frame.f_locals["x"].asnumpy())
            self.set_continue()

    line = Block.construct.__code__.co_firstlineno + 2
    tracer, before = Debugger(nosigint=True), sys.gettrace()
    tracer.set_break(__file__, line)
    try:
        tracer.runcall(net, batch())
    finally:
        tracer.clear_all_breaks()
        sys.settrace(before)
    [relu] = stops
    assert relu.shape == (4, 4)
    assert (relu >= 0).all()


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def test_an_error_names_cell_and_line_in_both(in_mode, mode) -> None:
    in_mode(mode)
    net = Net()
    with pytest.raises(ValueError, match="dense") as caught:
        net(batch(columns=5))
    line = Block.construct.__code__.co_firstlineno + 1
    assert f"called at: {__file__}:{line}" in str(caught.value)
    assert "in cell: Net.block.fc1 (Dense)" in str(caught.value)


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def test_an_error_of_the_users_own_keeps_its_class_and_names_the_cell(in_mode, mode) -> None:
    class Refuses(nn.Cell):
        def construct(self, x):
            raise KeyError("mask")

    in_mode(mode)
    with pytest.raises(KeyError) as caught:
        nn.SequentialCell(nn.ReLU(), Refuses())(batch())
    assert caught.value.args == ("mask",)
    assert caught.value.__notes__ == ["  in cell: SequentialCell.1 (Refuses)"]


def test_a_replay_that_fails_names_the_line_it_was_recorded_at(in_mode) -> None:
    class Factor(nn.Cell):
        def construct(self, x):
            return ops.cholesky(x)

    in_mode(GRAPH_MODE)
    net = Factor()
    for scale in (1.0, 4.0):
        assert np.array_equal(
            net(Tensor(np.eye(2, dtype=np.float32) * scale)).asnumpy(), np.eye(2) * scale**0.5
        )
    line = Factor.construct.__code__.co_firstlineno + 1
    with pytest.raises(RuntimeError) as caught:
        net(Tensor(-np.eye(2, dtype=np.float32)))
    assert f"  in a captured step, at {__file__}:{line}" in caught.value.__notes__
    assert "in cell: Factor" in str(caught.value)
