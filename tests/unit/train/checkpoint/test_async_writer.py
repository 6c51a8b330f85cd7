"""A save beside a training whose large values are copied while the next step computes: no file mixes two steps."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Parameter, Tensor, nn, ops, train
from millrace._src.train.checkpoint import staging as copying
from millrace.experimental import optim
from millrace.train import Callback, CheckpointConfig, Model, ModelCheckpoint, load_checkpoint

WIDTH = 520  # squared and in float32 more than a megabyte: a value whose copy is put off
STEPS = 3


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(WIDTH, WIDTH)
        self.norm = nn.BatchNorm1d(WIDTH)

    def construct(self, x):
        return self.norm(self.dense(x))


class Slow:
    """Copies that do not begin before somebody waits for them: whoever does not wait writes first."""

    def __init__(self, monkeypatch):
        self.waited, self.copies = 0, 0
        self._wanted = threading.Event()
        self._copy, self._wait = copying.StagingCopy.run, copying.StagingCopy.wait

        def run(one):
            if one._pairs:
                self.copies += 1
                assert self._wanted.wait(60), "nobody waits for the copy"
                self._wanted.clear()
            self._copy(one)

        def wait(one):
            self.waited += 1
            self._wanted.set()
            self._wait(one)

        monkeypatch.setattr(copying.StagingCopy, "run", run)
        monkeypatch.setattr(copying.StagingCopy, "wait", wait)


@pytest.fixture
def slow(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return Slow(monkeypatch)


class Seen(Callback):
    """What everything held after each step."""

    def __init__(self):
        self.after = []

    def on_train_step_end(self, run_context):
        cell = run_context.original_args().train_network
        self.after.append({each.name: each.asnumpy().copy() for each in cell.get_parameters()})


def model(optimizer=None):
    ms.set_seed(1)
    net = Net()
    make = optimizer or (lambda params: nn.Momentum(params, 0.1, 0.9))
    return Model(net, nn.MSELoss(), make(net.trainable_params()))


def batches():
    rows = Tensor(np.random.default_rng(0).standard_normal((4, WIDTH)).astype(np.float32))
    return [(rows, rows)] * STEPS


def saving():
    return ModelCheckpoint("run", ".", CheckpointConfig(1, keep_checkpoint_max=9, async_save=True))


def check_files(seen):
    for step, wanted in enumerate(seen.after, 1):
        found = load_checkpoint(f"run-1_{step}.ckpt")
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name].asnumpy(), value, err_msg=f"{name} of step {step}")
    first, last = seen.after[0], seen.after[-1]
    assert all(np.any(first[name] != last[name]) for name in ("dense.weight", "moments.dense.weight"))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def test_a_step_waits_before_it_writes_to_what_is_still_copied(mode, slow):
    ms.set_context(mode=mode)
    try:
        seen = Seen()
        model().train(1, batches(), callbacks=[seen, saving()])
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    check_files(seen)
    assert slow.copies == STEPS
    assert slow.waited >= STEPS


def test_optimizers_of_experimental_write_no_earlier(slow):
    seen = Seen()
    made = model(lambda params: optim.Adam(params, 1e-2))
    made.train(1, batches(), callbacks=[seen, saving()])
    for step, wanted in enumerate(seen.after, 1):
        found = load_checkpoint(f"run-1_{step}.ckpt")
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name].asnumpy(), value, err_msg=f"{name} of step {step}")


class Writing(Callback):
    """Writes to a weight after a step, before the next one, or after the epoch."""

    def __init__(self, how, moment):
        self.how = how
        setattr(self, moment, self._write)

    def _write(self, run_context):
        params = run_context.original_args()
        if params.cur_step_num > 1:
            self.how(params.network.dense.weight)


def _assign(weight):
    ops.assign(weight, weight * 0)


def _array(weight):
    weight.asnumpy()[...] = 0


def _part(weight):
    weight[3] = 0


@pytest.mark.parametrize("how", [_assign, _array, _part, lambda weight: weight.set_data(weight * 2)])
@pytest.mark.parametrize("moment", ["on_train_step_end", "on_train_step_begin", "on_train_epoch_end"])
def test_other_callbacks_write_no_earlier(how, moment, slow):
    seen = Seen()
    model().train(1, batches(), callbacks=[seen, saving(), Writing(how, moment)])
    check_files(seen)


def test_a_step_that_fails_leaves_nothing_to_wait_for(slow):
    class Fails(Callback):
        def on_train_step_begin(self, run_context):
            if run_context.original_args().cur_step_num == 2:
                raise RuntimeError("on purpose")

    seen, made = Seen(), model()
    with pytest.raises(RuntimeError, match="on purpose"):
        made.train(1, batches(), callbacks=[seen, saving(), Fails()])
    assert not copying._pending_copies
    made.train_network.network.backbone_network.dense.weight.set_data(ops.zeros((WIDTH, WIDTH), ms.float32))
    train.wait_for_checkpoints()
    check = load_checkpoint("run-1_1.ckpt")
    np.testing.assert_array_equal(check["dense.weight"].asnumpy(), seen.after[0]["dense.weight"])


def test_a_copy_that_fails_is_told_and_nobody_waits_for_ever(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def fail(pairs):
        raise MemoryError("no memory")

    copied = copying._copy_pairs
    monkeypatch.setattr(
        copying, "_copy_pairs", lambda pairs: copied(pairs) if len(pairs) != 2 else fail(pairs)
    )
    with pytest.raises(MemoryError, match="no memory"):
        model().train(1, batches(), callbacks=[saving()])
    assert not copying._pending_copies
    assert not list(tmp_path.glob("*.ckpt"))


def test_compiled_code_whose_writes_nobody_sees_waits_before_it_runs(monkeypatch):
    monkeypatch.setattr("torch.compile", lambda function: function)
    twice, waited = ms.jit(lambda x: x * 2, jit_level="O1"), []
    monkeypatch.setattr(copying.StagingCopy, "wait", lambda each: waited.append(each))
    one = copying.StagingCopy([], [])
    monkeypatch.setattr(copying, "_pending_copies", [one])
    with copying.guard_writes():
        assert twice(Tensor([1.0])).item() == 2
    assert waited == [one]
    twice(Tensor([1.0]))
    assert waited == [one]


def test_a_save_of_ones_own_copies_before_it_returns(slow):
    weight = Parameter(Tensor(np.ones((WIDTH, WIDTH), np.float32)), name="w")
    train.save_checkpoint([weight], "own.ckpt", async_save=True)
    weight.set_data(ops.zeros((WIDTH, WIDTH), ms.float32))
    train.wait_for_checkpoints()
    assert slow.copies == 0
    assert load_checkpoint("own.ckpt")["w"].asnumpy().min() == 1
