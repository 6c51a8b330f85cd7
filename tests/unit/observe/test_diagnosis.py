"""The verdict is right or silent: made-up counters in, words and numbers out, whatever the machine is doing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.machine.idle_time import idle_seconds
from millrace._src.core.statistics import RunStats, StageStats
from millrace._src.observe.diagnosis import Diagnosis, diagnose
from tests.unit.observe.counter_snapshots import op, run_of, segment

BUDGET = 10**9


def verdict_of(run: RunStats, cores: int = 2) -> Diagnosis:
    return diagnose(run, BUDGET, cores=cores)


# a change to make ---------------------------------------------------------------------------------


def test_a_map_that_waits_gets_more_threads() -> None:
    run = run_of(segment(op(busy=1.98, cpu=0.02)), process_cpu=0.05, idle=1.9)
    verdict = verdict_of(run)
    assert verdict.bottleneck == "slow map"
    assert verdict.change is not None
    assert verdict.change.call == ".map(decode, ..., num_parallel_workers=16)"
    assert 7 < verdict.gain <= 8


def test_work_on_one_thread_wants_every_core() -> None:
    run = run_of(segment(op(busy=0.98, cpu=0.98), workers=1), process_cpu=1.0, idle=3.0)
    verdict = verdict_of(run, cores=4)
    assert verdict.bottleneck == "too few workers"
    assert verdict.change is not None
    assert verdict.change.arguments == {"num_parallel_workers": 4}
    assert verdict.change.call == ".map(decode, ..., num_parallel_workers=4)"
    assert 3 < verdict.gain <= 4.2


def test_python_on_threads_goes_to_processes() -> None:
    run = run_of(segment(op(busy=1.9, cpu=0.95, python=True)), process_cpu=1.0, idle=3.0)
    verdict = verdict_of(run, cores=4)
    assert verdict.bottleneck == "gil"
    assert verdict.change is not None
    assert verdict.change.arguments == {"python_multiprocessing": True, "num_parallel_workers": 4}


def test_a_budget_that_holds_workers_back_is_raised() -> None:
    stage = segment(op(busy=1.0, cpu=0.02), workers=8)
    stage.refused, stage.bytes = 90, 100_000_000
    verdict = verdict_of(run_of(stage, process_cpu=0.05, idle=1.9))
    assert verdict.bottleneck == "memory budget"
    assert verdict.change is not None
    assert verdict.change.value > BUDGET
    assert verdict.gain > 4


def small_batches(rows: int = 20_000, *, size: int | None = 1, epochs: int = 1) -> RunStats:
    stage = segment(op("batch", kind="Batch", busy=0.1, cpu=0.1), batches=True, batch_size=size, rows=rows)
    stage.rows = rows // (size or 2)
    run = run_of(stage, rows=stage.rows, wait=0.1, consumer=0.9, idle=1.0, epochs=epochs)
    run.pull_cpu = 0.05
    run.hand_out, run.hand_outs = 0.85, run.delivered
    run._at_end = (1.0, 1.0)
    return run


def test_batches_of_one_row_grow() -> None:
    verdict = verdict_of(small_batches())
    assert verdict.change is not None
    assert verdict.change.call == ".batch(64)"
    assert "1 row at a time is handed out" in str(verdict)


def test_a_slow_start_is_named() -> None:
    run = run_of(segment(op(busy=1.99, cpu=1.99)), process_cpu=2.0, idle=0.0, first=2.0)
    run.ended = 3.0
    assert verdict_of(run).bottleneck == "first batch"
    run.stages.insert(0, StageStats("shuffle at train.py:8", "barrier", where="train.py:8", buffer=10_000))
    verdict = verdict_of(run)
    assert verdict.bottleneck == "shuffle buffer"
    assert verdict.change is not None
    assert verdict.change.call == ".shuffle(2500)"
    assert verdict.predicted_rate > verdict.rate


# nothing to change --------------------------------------------------------------------------------


def test_nothing_delivered_is_no_verdict() -> None:
    verdict = verdict_of(RunStats())
    assert verdict.bottleneck == "nothing"
    assert verdict.change is None
    assert "Nothing was delivered" in str(verdict)


def test_a_slow_consumer_has_nothing_to_gain() -> None:
    verdict = verdict_of(run_of(segment(op(busy=0.3, cpu=0.3)), wait=0.1, consumer=3.0))
    assert verdict.bottleneck == "slow consumer"
    assert verdict.change is None
    assert verdict.predicted_rate == verdict.rate
    assert "would change nothing" in str(verdict)


def test_full_cores_need_less_work_per_row() -> None:
    verdict = verdict_of(run_of(segment(op(busy=1.9, cpu=1.9)), process_cpu=1.95, idle=0.05))
    assert verdict.bottleneck == "cores full"
    assert verdict.stage == "map(decode) at /home/me/train.py:7"
    assert verdict.change is None


@pytest.mark.parametrize(
    ("rows", "seconds", "said"),
    [
        (1, 0.002, "Too short to judge: 1 batch in 2 ms."),
        (25, 0.010, "Too short to judge: 25 batches in 10 ms."),
        (3, 5.0, "Too short to judge: 3 batches in 5.0 s."),
    ],
)
def test_a_short_run_is_not_judged(rows: int, seconds: float, said: str) -> None:
    """Ten milliseconds, or three batches, tell nothing; today's advice came from the noise of a start."""
    stage = segment(
        op(busy=0.9 * seconds, cpu=0.9 * seconds), workers=1, rows=rows, batches=True, batch_size=1
    )
    run = run_of(stage, rows=rows, wait=seconds, process_cpu=seconds, idle=3 * seconds, first=0.001)
    verdict = verdict_of(run, cores=4)
    assert verdict.bottleneck == "too short"
    assert verdict.change is None
    assert str(verdict) == said


def test_a_run_that_is_mostly_its_start_is_not_judged() -> None:
    """Worker processes took 0.4 of 1.0 seconds to start: what was busy afterwards says little."""
    run = run_of(segment(op(busy=0.6, cpu=0.6), kind="processes", workers=1), first=0.4, idle=3.0)
    assert verdict_of(run, cores=4).bottleneck == "too short"


def test_a_part_that_hardly_worked_is_not_the_bottleneck() -> None:
    """600 rows, a Python map in two processes: the source's one thread was busy 0 % of the time, and was blamed."""
    source = segment(
        op("GeneratorDataset", kind="Read", busy=0.004, cpu=0.004, python=True, serial=True), workers=1
    )
    work = segment(
        op("map(loop)", busy=1.95, cpu=1.9, python=True, processes=True, requested_workers=2),
        kind="processes",
    )
    run = run_of(source, work, rows=600, process_cpu=0.06, idle=0.05)
    for cores in (2, 8):
        verdict = verdict_of(run, cores=cores)
        assert "busy 0%" not in str(verdict)
        assert not verdict.stage.startswith("GeneratorDataset")
        if verdict.change is not None:  # there are cores for more processes
            assert cores == 8
            assert verdict.change.arguments == {"num_parallel_workers": 8}


def test_what_the_model_cannot_explain_gets_no_advice() -> None:
    """Workers that were busy for a fifth of the time: something else held the run back, and nobody knows what."""
    work = segment(
        op("map(loop)", busy=0.8, cpu=0.4, python=True, processes=True), kind="processes", workers=4
    )
    verdict = verdict_of(run_of(work, process_cpu=0.1, idle=1.0))
    assert verdict.change is None


@pytest.mark.parametrize("loops", [1, 4, 16])
def test_cores_taken_by_other_programs_are_named_and_nothing_is_advised(loops: int) -> None:
    """Two cores, and busy loops beside the run: each thread waits for its turn, the longer the more there are."""
    cpu = 2 / (1 + loops)
    for python in (False, True):
        work = segment(op(busy=1.95, cpu=cpu * 0.9, python=python))
        verdict = verdict_of(run_of(work, process_cpu=cpu, idle=0.0))
        assert verdict.change is None, str(verdict)
        assert verdict.bottleneck == "other programs"
        assert f"they take {2 - cpu:.1f} of the 2 cores" in str(verdict)


def test_a_disk_is_slow_whoever_else_computes() -> None:
    """Rows that wait a hundred times as long as they compute do not wait for a core."""
    run = run_of(segment(op(busy=1.98, cpu=0.015)), process_cpu=0.03, idle=0.0)
    verdict = verdict_of(run)
    assert verdict.bottleneck == "slow map"
    assert verdict.change is not None
    assert verdict.change.knob == "num_parallel_workers"


def test_programs_on_cores_that_are_not_ours_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Affinity gives this process two of four cores; the other two are busy."""
    stat = tmp_path / "stat"
    busy, free = "100 0 0 0 0 0 0 0 0 0", "0 0 0 90 10 0 0 0 0 0"
    stat.write_text(f"cpu 0 0 0 1 1\ncpu0 {busy}\ncpu1 {busy}\ncpu2 {free}\ncpu3 {free}\nintr 1 2\n")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {2, 3})
    monkeypatch.setattr("millrace._src.core.machine.idle_time._TICKS", 100)
    assert idle_seconds(str(stat)) == 2.0
    stat.write_text("cpu 0 0 0 0 0\ncpu2 0 0 0 0 0\n")  # a sandbox that tells nothing
    assert idle_seconds(str(stat)) is None


# what is set already ------------------------------------------------------------------------------


def test_workers_that_were_asked_for_are_not_advised() -> None:
    run = run_of(segment(op(busy=1.98, cpu=0.02, requested_workers=16)), process_cpu=0.05, idle=1.9)
    assert verdict_of(run).change is None


def test_processes_that_were_asked_for_are_not_advised() -> None:
    """The map was to run in processes, and runs on threads: it does not pickle. Asking again changes nothing."""
    run = run_of(
        segment(op(busy=1.9, cpu=0.95, python=True, processes=True, requested_workers=4)),
        process_cpu=1.0,
        idle=3.0,
    )
    verdict = verdict_of(run, cores=4)
    assert verdict.change is None or verdict.change.knob != "python_multiprocessing"


def test_a_setting_that_fixes_threads_is_not_overruled() -> None:
    stage = segment(op(busy=1.9, cpu=0.95, python=True), fixed_executor=True)
    verdict = verdict_of(run_of(stage, process_cpu=1.0, idle=3.0), cores=4)
    assert verdict.change is None or verdict.change.knob != "python_multiprocessing"


def test_a_transform_that_remembers_rows_has_one_worker() -> None:
    run = run_of(segment(op(busy=0.98, cpu=0.98, serial=True), workers=1), process_cpu=1.0, idle=3.0)
    assert verdict_of(run, cores=4).change is None


@pytest.mark.parametrize(
    ("rows", "size", "epochs"),
    [(20_000, 32, 1), (20_000, None, 1), (5_000, 2, 1000)],
    ids=["large already", "by a function", "five rows an epoch"],
)
def test_batches_that_cannot_grow_are_left_alone(rows: int, size: int | None, epochs: int) -> None:
    verdict = verdict_of(small_batches(rows, size=size, epochs=epochs))
    assert verdict.change is None, str(verdict)


# real runs: true however busy the machine is ------------------------------------------------------


def loop(x: Any) -> Any:
    sum(i * i for i in range(12_000))
    return x


def drained(data: ds.Dataset) -> Diagnosis:
    for _ in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        pass
    return data.report().verdict


def numbers(rows: int) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(rows, dtype=np.float32)}, shuffle=False)


def test_a_set_smaller_than_a_batch_is_not_told_to_batch_more(no_leaks: None) -> None:
    assert drained(numbers(5).map(lambda x: x, ["x"]).batch(32)).bottleneck == "too short"


def test_counters_tell_what_was_asked_for(no_leaks: None) -> None:
    data = numbers(8).map(loop, ["x"], num_parallel_workers=3).batch(4)
    iterator = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    for _ in range(2):
        for _ in iterator:
            pass
    stats = iterator._run.stats
    [stage] = stats.stages
    assert [one.requested_workers for one in stage.ops if one.node_type == "Map"] == [3]
    assert (stage.batch_size, stats.epochs, stats.rows) == (4, 2, 16)


def test_600_rows_in_processes_blame_nobody_who_was_idle(no_leaks: None) -> None:
    class Rows:
        def __len__(self) -> int:
            return 600

        def __getitem__(self, i: int) -> tuple[np.float32]:
            return (np.float32(i),)

    data = ds.GeneratorDataset(Rows(), ["x"], shuffle=False)
    data = data.map(loop, ["x"], python_multiprocessing=True, num_parallel_workers=2).batch(4)
    verdict = drained(data)
    assert not verdict.stage.startswith("GeneratorDataset"), str(verdict)
    assert verdict.change is None or verdict.change.arguments != {
        "python_multiprocessing": True,
        "num_parallel_workers": 2,
    }


def test_a_verdict_is_data_too() -> None:
    verdict = verdict_of(run_of(segment(op(busy=1.98, cpu=0.02)), process_cpu=0.05, idle=1.9))
    assert json.loads(json.dumps(verdict.to_dict()))["kind"] == verdict.bottleneck


def test_the_comparison_of_predicted_and_real_gains_runs() -> None:
    command = [sys.executable, "benchmarks/verdict.py", "--quick", "--only", "small batches", "memory budget"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert [line.partition("  ")[0] for line in done.stdout.splitlines()] == [
        "small batches",
        "memory budget",
    ]
