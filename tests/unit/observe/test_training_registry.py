"""A training as the monitor sees it: its steps, its loss, its waiting, and the rings on the way to it."""

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace.dataset as ds
from millrace import Tensor, nn, train
from millrace._src.core import device_queues as sinks
from millrace._src.observe import training_registry as steps
from millrace._src.observe.live.event_log import EventLogReader
from millrace._src.observe.live.run_state import RunState
from tests.unit.train.small_networks import data, dense


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def now(path):
    state = RunState()
    for line in EventLogReader(path).all():
        assert state.apply(line), line
    return state.snapshot(ended=True)


def test_a_training_is_seen_with_its_loss_and_rate():
    model = dense(0.02)
    with ds.monitor() as watched:
        model.train(3, data())
        model.train(2, data())
    seen = now(watched.history)
    (training,) = seen["trainings"]
    assert (training["network"], training["steps"], training["epochs"]) == ("Dense", 15, 2)
    assert training["rate"] == pytest.approx(0.02)
    assert isinstance(training["loss"], float)
    assert 0 <= training["wait_share"] <= 1
    assert training["of"] == seen["pipelines"][0]["number"]
    assert seen["pipelines"][0]["batches"] == 15


def test_a_rate_that_follows_a_schedule_is_that_of_the_next_step():
    net = nn.Dense(3, 1)
    rates = [0.1 * (n + 1) for n in range(10)]
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), rates))
    with ds.monitor() as watched:
        model.train(1, data())
    assert now(watched.history)["trainings"][0]["rate"] == pytest.approx(0.4)


def test_a_loss_that_is_no_number_is_told_as_a_word():
    model = dense(float("1e30"))
    with ds.monitor() as watched:
        model.train(30, data())
    assert now(watched.history)["trainings"][0]["loss"] in ("nan", "inf")


class Odd(nn.Cell):
    """Gives nothing that is a loss."""

    def construct(self, x, y):
        return {"words": x, "more": y}


def test_a_step_that_gives_no_loss_is_watched_without_one():
    with ds.monitor() as watched:
        train.Model(Odd()).train(1, data())
    (training,) = now(watched.history)["trainings"]
    assert (training["loss"], training["rate"], training["steps"]) == (None, None, 3)


def test_a_training_that_nobody_looks_at_reads_no_loss():
    model = dense()
    model.train(1, data())
    assert model._training.loss is None
    assert model._training.counts().over
    assert not steps.has_subscribers()


def test_watching_changes_no_bit():
    plain, seen = dense(), dense()
    plain.train(3, data())
    with ds.monitor():
        seen.train(3, data())
    for one, two in zip(
        plain.train_network.get_parameters(), seen.train_network.get_parameters(), strict=True
    ):
        assert np.array_equal(one.asnumpy(), two.asnumpy())


def test_rings_are_seen_with_their_pipeline():
    others = sinks.open_queues()  # those that an earlier test still holds
    with ds.monitor() as watched, data(rows=40).create_device_iterator(num_epochs=1) as batches:
        assert isinstance(next(batches)["x"], Tensor)
        (counts,) = [each.counts() for each in sinks.open_queues() if each not in others]
        assert counts.device == "cpu"
        assert (counts.host_slots, counts.ring_slots) == (0, 8)
        for _ in batches:
            pass
        watched._look()
    seen = now(watched.history)
    (channel,) = seen["channels"]
    assert (channel["sent"], channel["taken"]) == (20, 20)
    assert channel["of"] == seen["pipelines"][0]["number"]
    assert channel["verdict"]["situation"]


def test_a_channel_that_had_ended_before_is_not_shown():
    batches = data().create_device_iterator(num_epochs=1)
    for _ in batches:
        pass
    batches.close()
    with ds.monitor() as watched:
        pass
    assert now(watched.history)["channels"] == []
