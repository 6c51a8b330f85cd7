"""Model as users meet it; the moments, prints and refusals that MindSpore has too are in tests/parity/train/model."""

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace.dataset as ds
from millrace import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    Parameter,
    Tensor,
    float16,
    graph_report,
    nn,
    ops,
    set_context,
    train,
)
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.train import epoch_iterator as feeding
from tests.unit.train.small_networks import Losses, data, dense, weights
from tests.unit.transfer.log_capture import logged


@pytest.fixture(params=[PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    set_context(mode=request.param)
    yield request.param
    set_context(mode=PYNATIVE_MODE)


def trained(mode, **options):
    set_context(mode=mode)
    try:
        model, losses = dense(**options), Losses()
        model.train(3, data(), callbacks=losses)
        return losses.all, weights(model)
    finally:
        set_context(mode=PYNATIVE_MODE)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"amp_level": "O1"},
        {"amp_level": "O2"},
        {"amp_level": "O3"},
        {"amp_level": "auto"},
        {"loss_scale_manager": train.DynamicLossScaleManager(2**10, 2, 2)},
        {"loss_scale_manager": train.FixedLossScaleManager(64.0)},
    ],
    ids=["O0", "O1", "O2", "O3", "auto", "dynamic", "fixed"],
)
def test_both_modes_give_the_same_bits(options, no_leaks):
    eager, graph = trained(PYNATIVE_MODE, **options), trained(GRAPH_MODE, **options)
    assert eager[0] == graph[0]
    assert eager[1].keys() == graph[1].keys()
    for name, value in eager[1].items():
        np.testing.assert_array_equal(value, graph[1][name], err_msg=name)


def test_a_step_is_one_recording_in_graph_mode():
    set_context(mode=GRAPH_MODE)
    try:
        model = dense()
        model.train(4, data())
        report = str(graph_report())
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert "TrainOneStepCell" in report


def test_the_training_is_that_of_a_loop_by_hand(mode):
    model, losses = dense(), Losses()
    model.train(2, data(), callbacks=losses)
    net = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.01, 0.9)
    ).set_train()
    by_hand = []
    iterator = data().create_tuple_iterator(num_epochs=2)
    for _ in range(2):
        by_hand += [step(*batch).asnumpy().item() for batch in iterator]
    assert losses.all == by_hand


def test_any_collection_of_batches_is_data(mode):
    batches = [(Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((2, 1), np.float32)))] * 3
    model, losses = dense(), Losses()
    model.train(2, batches, callbacks=losses)
    assert len(losses.all) == 6


def test_what_is_no_data_is_refused():
    with pytest.raises(
        TypeError, match="'train_dataset' must be a dataset, or a list of batches, but got int"
    ):
        dense().train(1, 5)
    with pytest.raises(ValueError, match="no valid data in 'train_dataset'"):
        dense().train(1, [])


def test_metrics_may_be_names_in_a_list_or_alone():
    assert dense(metrics="mae").eval(data()).keys() == {"mae"}
    assert dense(metrics=["mae", "mse"]).eval(data()).keys() == {"mae", "mse"}


def test_a_stop_ends_the_training_and_releases_the_data(no_leaks, mode):
    class Early(train.Callback):  # faq Q38
        def step_end(self, run_context):
            if run_context.original_args().cur_step_num == 4:
                run_context.request_stop()

    losses = Losses()
    dense().train(9, data(), callbacks=[Early(), losses])
    assert len(losses.all) == 4


def test_an_error_in_a_callback_passes_and_releases_the_data(no_leaks):
    class Failing(train.Callback):
        def on_train_step_end(self, run_context):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dense().train(2, data(), callbacks=Failing())


def test_user_code_keeps_the_parameters_of_the_lowest_loss(tmp_path):
    class KeepBest(train.Callback):  # faq Q33
        best = float("inf")

        def on_train_step_end(self, run_context):
            params = run_context.original_args()
            loss = float(params.net_outputs.asnumpy())
            if loss < self.best:
                self.best = loss
                train.save_checkpoint(params.train_network, str(tmp_path / "best.ckpt"))

    keep, losses = KeepBest(), Losses()
    dense().train(2, data(), callbacks=[keep, losses])
    assert keep.best == min(losses.all)
    assert "weight" in train.load_checkpoint(str(tmp_path / "best.ckpt"))


class TwoLosses(nn.Cell):
    """A net with two heads, and a loss for each (faq Q37)."""

    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net, self.first, self.second = net, nn.MSELoss(), nn.L1Loss()

    def construct(self, x, y):
        made = self.net(x)
        return self.first(made, y), self.second(made, y)


class TwoSens(nn.TrainOneStepCell):
    """A step of its own, with as many factors as losses."""

    def construct(self, *inputs):
        losses = self.network(*inputs)
        sens = (ops.full_like(losses[0], 1.0), ops.full_like(losses[1], 0.5))
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        return ops.depend(losses, self.optimizer(grads))


def test_a_loss_with_several_values_and_as_many_sens(mode, capsys):
    net = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
    step = TwoSens(TwoLosses(net), nn.Momentum(net.trainable_params(), 0.01, 0.9))
    before = net.weight.asnumpy().copy()
    train.Model(step).train(1, data(), callbacks=train.LossMonitor(3))
    assert capsys.readouterr().out.startswith("epoch: 1 step: 3, loss is ")
    assert not np.array_equal(net.weight.asnumpy(), before)


def test_a_step_that_overflows_changes_nothing_and_halves_the_scale(mode):
    class Huge(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([1.0]), name="w")

        def construct(self, x):
            return (self.w * x).sum()

    net = Huge()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    manager = train.DynamicLossScaleManager(8.0, 2, 100)
    model = train.Model(net, None, optimizer, loss_scale_manager=manager)
    seen = []

    class Watch(train.Callback):
        def on_train_step_end(self, run_context):
            _, overflow, scale = run_context.original_args().net_outputs
            seen.append((bool(overflow.asnumpy()), scale.asnumpy().item(), net.w.asnumpy().item()))

    batches = [(Tensor([[value]]),) for value in (1.0, float("inf"), 1.0)]
    model.train(1, batches, callbacks=Watch())
    assert [each[:2] for each in seen] == [(False, 8.0), (True, 8.0), (False, 4.0)]
    assert seen[0][2] == pytest.approx(0.9)
    assert seen[1][2] == seen[0][2]
    assert seen[2][2] == pytest.approx(0.9 - 0.1 * 1.9)


def test_training_goes_on_at_the_very_step(mode):
    """The seam that checkpoints use: where a training stands, and a training that begins there."""

    class Standing(train.Callback):
        def on_train_step_end(self, run_context):
            params = run_context.original_args()
            if params.cur_step_num == 5:
                self.at = params.training.position()
                self.weights = weights(model)

    ds.config.set_seed(3)
    whole, standing, model = Losses(), Standing(), dense()
    model.train(3, data(8, shuffle=True), callbacks=[whole, standing])
    at = standing.at
    assert (at.epoch, at.step, at.step_in_epoch) == (1, 5, 1)
    again, rest = dense(), Losses()
    for each in again.train_network.get_parameters():
        each.set_data(Tensor(standing.weights[each.name]))
    again._continue_at = at
    again.train(3, data(8, shuffle=True), callbacks=rest)
    assert rest.all == whole.all[5:]


def test_sunk_epochs_are_as_long_as_asked_for_and_callbacks_come_once_for_each(monkeypatch, mode):
    monkeypatch.setattr("millrace._src.train.model.is_epoch_sink_device", lambda: True)
    seen = []

    class Watch(train.Callback):
        def on_train_step_end(self, run_context):
            params = run_context.original_args()
            assert params.dataset_sink_mode
            seen.append((params.cur_epoch_num, params.cur_step_num))

    def numbers(count, size):
        if modes.mode == modes.GRAPH_MODE:
            return [(epoch + 1, (epoch + 1) * size) for epoch in range(count)]
        return [(step // size + 1, step + 1) for step in range(count * size)]

    model = dense()
    model.train(2, data(), callbacks=Watch(), dataset_sink_mode=True)
    assert seen == numbers(2, 3)
    seen.clear()
    other = dense()
    other.train(
        3, data(), callbacks=Watch(), dataset_sink_mode=True, sink_size=2
    )  # over the end of the data's epoch
    assert seen == numbers(3, 2)
    for name, value in weights(model).items():  # six steps over the same batches
        np.testing.assert_array_equal(value, weights(other)[name])


def test_a_sunk_training_on_a_cpu_has_the_same_bits_and_its_epochs_are_those_of_the_data():
    plain, sunk = dense(), dense()
    plain.train(2, data())
    with logged("millrace.train.model") as said:
        sunk.train(2, data(), dataset_sink_mode=True)
        assert said == []
        sunk.train(2, data(), dataset_sink_mode=True, sink_size=2)
    assert ["sink_size=2 is not used" in line for line in said] == [True]
    plain.train(2, data())
    assert plain.report().overlapped is False
    assert sunk.report().overlapped is True
    assert sunk.report().steps == 6
    for name, value in weights(plain).items():
        np.testing.assert_array_equal(value, weights(sunk)[name])


def test_steps_that_do_not_use_up_the_data_are_told_before_the_first(monkeypatch):
    monkeypatch.setattr("millrace._src.train.model.is_epoch_sink_device", lambda: True)
    steps = []

    class Watch(train.Callback):
        def on_train_step_begin(self, run_context):
            steps.append(len(said))

    with logged("millrace.train.model") as said:
        dense().train(1, data(), callbacks=Watch(), dataset_sink_mode=True, sink_size=2)
    assert "1 of them are never used" in said[0]
    assert steps[0] == 1


def test_the_report_joins_pipeline_and_step():
    model = dense()
    with pytest.raises(RuntimeError, match="has not been trained yet"):
        model.report()
    model.train(2, data())
    report = model.report()
    assert report.steps == 6
    assert 0 <= report.waited <= report.seconds
    text = str(report)
    assert "6 steps" in text
    assert "waited" in report.diagnosis()
    assert "NumpySlicesDataset" in text


def test_the_loss_is_read_only_where_somebody_asks(monkeypatch):
    reads = []
    kept = Tensor.asnumpy
    monkeypatch.setattr(Tensor, "asnumpy", lambda self: reads.append(1) or kept(self))
    dense().train(2, data())
    assert reads == []


def test_a_wrong_shape_at_prediction_says_what_mends_it():
    """faq Q17."""

    class Pictures(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv, self.flat, self.fc = nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(2 * 8 * 8, 3)

        def construct(self, x):
            return self.fc(self.flat(self.conv(x)))

    net = Pictures()
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params()))
    x, y = np.zeros((4, 1, 8, 8), np.float32), np.zeros((4, 3), np.float32)
    fresh = train.Model(Pictures())
    with pytest.raises(
        ValueError, match=r"expected \(N, 1, H, W\), but got \(8, 8, 1\).*HWC2CHW.*expand_dims\(0\)"
    ):
        fresh.predict(Tensor(np.zeros((8, 8, 1), np.float32)))
    model.train(1, ds.NumpySlicesDataset({"x": x, "y": y}).batch(2))
    with pytest.raises(
        ValueError, match=r"expected \(N, 1, 8, 8\), but got \(1, 1, 6, 6\).*Resize\(\(8, 8\)\)"
    ):
        model.predict(Tensor(np.zeros((1, 1, 6, 6), np.float32)))
    with pytest.raises(ValueError, match=r"but got \(1, 3, 8, 8\).*Grayscale\(1\)"):
        model.predict(Tensor(np.zeros((1, 3, 8, 8), np.float32)))
    assert model.predict(Tensor(x)).shape == (4, 3)


def test_an_error_that_is_not_about_shapes_passes_as_it_is():
    class Failing(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(3, 1)

        def construct(self, x):
            raise ValueError("something else")

    with pytest.raises(ValueError, match=r"^something else"):
        train.Model(Failing()).predict(Tensor(np.zeros((2, 3), np.float32)))


def test_the_feed_counts_and_waits():
    feed = feeding.EpochIterator(data(), epochs=2)
    assert len(list(feed.epoch())) == 3
    assert feed.batches_delivered == 3
    assert feed.wait_seconds > 0
    assert feed.state() is not None
    feed.close()


def test_half_precision_parameters_stay_whole():
    model = dense(amp_level="O2")
    model.train(1, data())
    assert {str(each.dtype) for each in model.predict_network.get_parameters()} == {"Float32"}
    assert model.predict(Tensor(np.ones((1, 3), np.float32))).dtype == float16
