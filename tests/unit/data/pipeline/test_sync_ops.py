"""Gates between training and data: which row sees which update."""

from __future__ import annotations

import pytest

import millrace.dataset as ds

from .rows import col, num


class Scale:
    """A function of rows that training changes as it goes."""

    def __init__(self):
        self.by = 1

    def update(self, data):
        self.by = data

    def __call__(self, x):
        return x * self.by


def loop(data, batches=1):
    seen = []
    for step, row in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True), start=1):
        seen.append(row["a"].tolist())
        if step % batches == 0:
            data.sync_update("step", data=step * 10)
    return seen


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_rows_see_the_update_of_the_step_before(ahead):
    scale = Scale()
    data = (
        num(7).map(lambda x: x + 1).sync_wait("step", ahead, scale.update).map(scale, num_parallel_workers=1)
    )
    factors = [1] * ahead + [((k - 1) // ahead * ahead) * 10 for k in range(ahead + 1, 8)]
    assert loop(data, ahead) == [(k + 1) * factor for k, factor in enumerate(factors)]


def test_a_gate_counts_batches_where_batches_follow():
    scale = Scale()
    data = num(6).sync_wait("step", 1, scale.update).map(scale, num_parallel_workers=1).batch(2)
    assert loop(data) == [[0, 1], [20, 30], [80, 100]]


def test_a_new_iterator_starts_with_a_closed_gate():
    scale = Scale()
    data = num(3).sync_wait("step", 1, scale.update).map(scale, num_parallel_workers=1)
    for _ in range(2):
        scale.by = 1
        assert loop(data) == [0, 10, 40]


def test_disabled_gates_stay_open():
    data = num(3).sync_wait("step")
    iterator = data.create_tuple_iterator(num_epochs=1)
    data.disable_sync()
    assert [row[0].item() for row in iterator] == [0, 1, 2]


def test_a_gate_that_nobody_opens_opens_by_itself(caplog):
    ds.config.set_callback_timeout(1)
    with caplog.at_level("WARNING"):
        assert col(num(3).sync_wait("step")) == [0, 1, 2]
    assert "sync_wait timed out" in caplog.text


def test_names_and_notifiers():
    seen = []
    data = num(2).sync_wait("one", callback=seen.append).batch(1).sync_wait("two")
    assert data.is_sync()
    assert set(data.get_sync_notifiers()) == {"one", "two"}
    data.sync_update("one", data="x")
    assert seen == ["x"]
    with pytest.raises(RuntimeError, match="already in use"):
        data.sync_wait("one")
    with pytest.raises(RuntimeError, match="not found"):
        data.sync_update("three")
