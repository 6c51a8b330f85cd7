"""Q12: what is dataset_sink_mode? With it data, transfer and steps overlap; without it they take turns."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.dataset as ds
from millrace import nn, ops, train
from millrace._src.core.settings import override

BATCHES = 6


class Order:
    """What happened, in order; batches are made in the thread that asks for them."""

    def __init__(self):
        self.seen: list[tuple[str, int]] = []
        self.changed = threading.Condition()

    def note(self, what, number):
        with self.changed:
            self.seen.append((what, number))
            self.changed.notify_all()

    def wait_for(self, what, number):
        with self.changed:
            assert self.changed.wait_for(lambda: (what, number) in self.seen, 60), (what, number)

    def data(self):
        def make(x):
            self.note("made", int(x[0]))
            return x

        x = np.arange(BATCHES, dtype=np.float32).reshape(BATCHES, 1)
        return ds.NumpySlicesDataset({"x": x}, shuffle=False).map(make, "x").batch(1)


class Step(train.Callback):
    """While a step runs, the next batch is waited for: without overlap it would never come."""

    def __init__(self, order, waits):
        self.order, self.waits = order, waits

    def on_train_step_begin(self, run_context):
        number = run_context.original_args().cur_step_num - 1
        self.order.note("step", number)
        if self.waits and number + 1 < BATCHES:
            self.order.wait_for("made", number + 1)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0]), name="w")

    def construct(self, x):
        return ops.reduce_mean(x * self.w)


def trained(sinks):
    order, net = Order(), Net()
    model = train.Model(net, optimizer=nn.SGD(net.trainable_params(), 0.1))
    with override(executor="inline", chunk_rows=1):
        model.train(1, order.data(), callbacks=Step(order, sinks), dataset_sink_mode=sinks)
    return order.seen, model.report(), net.w.asnumpy()


def test_sunk_batches_are_made_while_the_step_before_runs(no_leaks):
    seen, report, _ = trained(sinks=True)
    for number in range(BATCHES - 1):
        assert ("made", number + 1) in seen[: seen.index(("step", number)) + BATCHES + 1]
    assert report.overlapped
    assert "overlap" in str(report)


def test_otherwise_they_take_turns(no_leaks):
    seen, report, _ = trained(sinks=False)
    assert seen == [(what, number) for number in range(BATCHES) for what in ("made", "step")]
    assert not report.overlapped
    assert report.parts["data"] + report.parts["step"] == pytest.approx(report.seconds)
    assert "take turns" in str(report)


def test_both_learn_the_same():
    assert trained(sinks=True)[2] == trained(sinks=False)[2]


def test_data_sink_runs_nets_and_functions_as_graphs_and_checks_what_it_is_given(no_leaks):
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    data = ds.NumpySlicesDataset({"x": x}, shuffle=False).batch(1)
    for fn in (lambda x: (x * 2.0).sum(), Net()):
        plain = ms.data_sink(fn, data, sink_size=2)
        wanted = [plain().item() for _ in range(3)]
        graph = ms.data_sink(fn, data, 2, ms.JitConfig(jit_level="O0"), ms.Tensor([[1.0, 2.0]]))
        assert [graph().item() for _ in range(3)] == wanted
        plain.feed.close()
        graph.feed.close()
    with pytest.raises(TypeError, match="'input_signature' must be a Tensor"):
        ms.data_sink(fn, data, 1, None, [3])
    with pytest.raises(ValueError, match="'sink_size' must be positive"):
        ms.data_sink(fn, data, 0)


def test_data_sink_and_the_helper_sink_too(no_leaks):
    order = Order()
    with override(executor="inline", chunk_rows=1):
        step = ms.data_sink(lambda x: x.sum().item(), order.data(), sink_size=2)
        assert [step(), step(), step()] == [1.0, 3.0, 5.0]
        order.wait_for("made", 0)
        step.feed.close()
        helper = train.DatasetHelper(order.data(), dataset_sink_mode=True, sink_size=3)
        assert [batch[0].asnumpy().tolist() for batch in helper] == [[[0.0]], [[1.0]], [[2.0]]]
        info = helper.get_send_info()
        assert info["have_taken"] == info["batches"] == 3
        assert "verdict" in info
        helper.release()
