"""The tuner in a run: what it counts, what it changes, what it says, and where it finds nothing to do."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.statistics import RunStats
from millrace._src.data.engine.autotune.measurement import StepTiming
from millrace._src.data.engine.autotune.tuner import WARM_UP_STEPS, Tuner
from millrace._src.data.engine.thread_limits import MemoryBudget


def numbers(rows: int = 400) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(rows)}, shuffle=False)


def played(tuner: Tuner, stats: RunStats, steps: int, wait: float, busy: float) -> None:
    for _ in range(steps):
        stats.delivered += 1
        stats.consumer_wait += wait
        stats.consumer_busy += busy
        tuner.on_step()


def test_steps_are_counted_and_pauses_between_epochs_are_not() -> None:
    stats = RunStats()
    tuner = Tuner(stats, MemoryBudget(1 << 30, tight=False), [], [])
    played(tuner, stats, WARM_UP_STEPS, 5.0, 0.0)
    played(tuner, stats, 3, 0.01, 0.002)
    stats.epochs += 1
    played(tuner, stats, 1, 0.01, 60.0)  # a user evaluates
    played(tuner, stats, 2, 0.01, 0.002)
    assert [(timing.steps, round(timing.wait, 9), round(timing.busy, 9)) for timing in tuner._timings] == [
        (1, 0.01, 0.002)
    ] * 5
    assert isinstance(tuner._timings[0], StepTiming)


def test_the_interval_says_how_many_steps_are_measured() -> None:
    for interval, steps in ((0, 8), (30, 30)):
        stats = RunStats()
        tuner = Tuner(stats, MemoryBudget(1 << 30, tight=False), [], [], interval)
        played(tuner, stats, WARM_UP_STEPS + steps - 1, 0.01, 0.002)
        assert tuner.record.first_rate == 0
        played(tuner, stats, 1, 0.01, 0.002)
        assert tuner.record is stats.tuning
        assert tuner.record.first_rate == pytest.approx(1 / 0.012)


class Waits:
    """A row waits until so many others do, too, as if for a disk with as many heads."""

    def __init__(self, heads: int) -> None:
        self.barrier = threading.Barrier(heads)
        self.parallel = False

    def __call__(self, x: Any) -> Any:
        if not self.parallel:
            try:
                self.barrier.wait(0.003)
                self.parallel = True
            except threading.BrokenBarrierError:
                self.barrier.reset()
        return x


def test_workers_are_added_where_rows_wait(no_leaks: None) -> None:
    """From one worker to more, and rows in their order all the while: nothing about how fast."""
    settings.update(num_parallel_workers=1, prefetch_size=1, enable_autotune=True)
    waits = Waits(2)
    data = numbers(400).repeat().map(waits, ["x"]).batch(4)
    with data.create_dict_iterator(num_epochs=1, output_numpy=True) as iterator:
        tuning = iterator._run.stats.tuning
        assert tuning is not None
        for step, row in enumerate(iterator):
            assert row["x"].tolist() == [(4 * step + i) % 400 for i in range(4)]
            if tuning.tried:
                break
        assert waits.parallel  # two were in it at once
        (stage, knob, before, after), *_ = tuning.tried[0].changes
        assert "map" in stage
        assert knob == "workers"
        assert before == 1 < after
        report = data.report()
    assert report.tuning is not None
    assert "\nautotune: from " in str(report)
    assert "<h2>Autotune: from " in report.to_html()
    assert json.loads(json.dumps(report.to_dict()))["tuning"]["gain"] > 0


def test_off_it_is_not_there() -> None:
    data = numbers(20).batch(4)
    list(data.create_dict_iterator(num_epochs=1))
    assert data.report().tuning is None
    assert "autotune" not in str(data.report())


def test_where_all_runs_in_the_caller_nothing_is_tuned() -> None:
    settings.update(executor="inline", enable_autotune=True)
    data = numbers(20).batch(4)
    list(data.create_dict_iterator(num_epochs=1))
    assert data.report().tuning is None


def test_a_short_run_says_so() -> None:
    settings.update(enable_autotune=True)
    data = numbers(20).batch(4)
    list(data.create_dict_iterator(num_epochs=1))
    assert "autotune: the run is too short to measure yet" in str(data.report())


def test_what_a_user_fixed_stays() -> None:
    settings.update(enable_autotune=True, chunk_rows=8)
    tuner = numbers().batch(4).create_dict_iterator()._run.tuner
    assert tuner is not None
    assert not any(knob.parameter == "chunk" for knob in tuner.knobs.knobs)


class Rows:
    def __getitem__(self, i: int) -> Any:
        return np.int64(i)

    def __len__(self) -> int:
        return 60


@pytest.mark.parametrize(("asked", "readers"), [(1, 1), (2, 4)])
def test_an_object_is_read_by_several_only_if_the_user_said_so(
    asked: int, readers: int, no_leaks: None
) -> None:
    settings.update(enable_autotune=True, autotune_interval=10**6, chunk_rows=1)
    most, inside, lock = 0, 0, threading.Lock()
    gate = threading.Barrier(readers)

    class Counting(Rows):
        def __getitem__(self, i: int) -> Any:
            nonlocal most, inside
            with lock:
                inside += 1
                most = max(most, inside)
            if i >= 20 and readers > 1:
                gate.wait(60)  # all of them are here at once
            with lock:
                inside -= 1
            return np.int64(i)

    data = ds.GeneratorDataset(
        Counting(), ["x"], shuffle=False, num_parallel_workers=asked, python_multiprocessing=False
    )
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    tuner = iterator._run.tuner
    assert tuner is not None
    rows = [int(next(iterator)["x"])]
    tuner.knobs.apply({**tuner.knobs.values, "0/workers": 4, "0/ahead": 8})
    rows += [int(row["x"]) for row in iterator]
    assert rows == list(range(60))
    assert most >= readers if readers > 1 else most == 1


def test_rings_behind_an_iterator_are_offered(no_leaks: None) -> None:
    pytest.importorskip("torch")
    settings.update(enable_autotune=True, autotune_interval=10**6)
    data = numbers(400).batch(4)
    with data.create_device_iterator("CPU", num_epochs=1) as batches:
        run = data._session.runs[-1]
        assert run.tuner is not None
        (ring,) = [knob for knob in run.tuner.knobs.knobs if "ring of" in knob.name]
        got = []
        for i, batch in enumerate(batches):
            got += batch["x"].asnumpy().tolist()
            run.tuner.knobs.apply({**run.tuner.knobs.values, ring.name: 1 + i % 5})
    assert got == list(range(400))


@pytest.mark.parametrize("sink", [False, True])
def test_a_training_is_tuned(sink: bool, no_leaks: None) -> None:
    pytest.importorskip("torch")
    import millrace as ms
    from millrace import nn

    settings.update(enable_autotune=True, autotune_interval=2)
    rows = {"x": np.ones((64, 3), np.float32), "y": np.zeros((64, 1), np.float32)}
    data = ds.NumpySlicesDataset(rows, shuffle=False).batch(2)
    net = nn.Dense(3, 1)
    model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, data, dataset_sink_mode=sink)
    run = data._session.runs[-1]
    tuning = run.stats.tuning
    assert run.tuner is not None
    assert tuning is not None
    assert run.tuner._last[0] > 0  # it looked at steps; how long they took is the machine's affair
    assert any("ring of" in setting.stage for setting in tuning.settings) is sink
