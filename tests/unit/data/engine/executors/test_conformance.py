"""What every executor must do, whatever it runs on."""

import os
import threading

import numpy as np
import pytest

from millrace._src.core.errors import DataError
from millrace._src.core.executor_traits import EXECUTORS
from millrace._src.data.engine.executors.base import Task
from millrace._src.data.engine.executors.inline import InlineExecutor

from .segment_functions import Call, Double, Echo, Mixed, Raises, chunk_of, result_of


def test_results_and_reports(no_leaks, make):
    executor = make(Double())
    tasks = [executor.submit(chunk_of(7, 7 * i)) for i in range(30)]
    for i, task in enumerate(tasks):
        chunk, report = result_of(task)
        assert chunk.columns["x"].tolist() == [2.0 * k for k in range(7 * i, 7 * i + 7)]
        assert chunk.ids.tolist() == chunk.origin.tolist() == list(range(7 * i, 7 * i + 7))
        assert (chunk.epoch, chunk.start) == (2, 7 * i)
        assert report["rows"] == 7
        assert report["seconds"].tolist() == [1, 1, 1]
    executor.close()


@pytest.mark.parametrize("rows", [0, 1, 64, 3000])
def test_every_sort_of_column_equals_inline(make, rows):
    want, report = result_of(InlineExecutor(Mixed()).submit(chunk_of(rows)))
    got, again = result_of(make(Mixed()).submit(chunk_of(rows)))
    assert report == again == rows
    assert list(got.columns) == list(want.columns)
    for name, column in want.columns.items():
        assert type(got.columns[name]) is type(column)
        for a, b in zip(column, got.columns[name], strict=True):
            if isinstance(a, dict):
                a, b = a["a"], b["a"]
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)


def test_the_input_is_not_changed(make):
    def in_place(chunk):
        chunk.columns["x"] += 1
        return chunk

    chunk = chunk_of(20_000)
    if not make(Echo()).traits.shares_memory:
        got, _ = result_of(make(Call(in_place)).submit(chunk))
        assert got.columns["x"][0] == 1
    assert chunk.columns["x"][0] == 0


def test_an_exception_keeps_type_message_and_notes(no_leaks, make):
    executor = make(Raises("plain"))
    task = executor.submit(chunk_of(3))
    assert task.wait(60)
    assert type(task.error) is KeyError
    assert task.error.args == ("missing",)
    assert task.error.__notes__ == ["look at row 3"]
    executor.close()


def test_a_data_error_keeps_its_context(make):
    with pytest.raises(DataError) as caught:
        result_of(make(Raises("data")).submit(chunk_of(3)))
    assert caught.value.context["row"] == 7
    assert "file: a.jpg" in str(caught.value)
    assert "user line" in str(caught.value)


def test_an_error_does_not_stop_the_next(make):
    executor = make(Raises("plain"))
    for _ in range(3):
        task = executor.submit(chunk_of(1))
        assert task.wait(60)
        assert isinstance(task.error, KeyError)


def test_close_twice_and_from_two_threads(no_leaks, make):
    executor = make(Echo())
    result_of(executor.submit(chunk_of(3)))
    other = threading.Thread(target=executor.close)
    other.start()
    executor.close()
    other.join()
    executor.close()


def test_close_without_work(no_leaks, make):
    make(Echo()).close()


def test_every_task_has_an_outcome_after_close(no_leaks, make):
    executor = make(Echo())
    tasks = [executor.submit(chunk_of(100, width=100)) for _ in range(50)]
    executor.close()
    assert all(task.done() for task in tasks)


def test_cancelled_tasks_do_not_run(make):
    executor = make(Echo())
    tasks = [executor.submit(chunk_of(3)) for _ in range(20)]
    for task in tasks:
        task.cancelled = True
    for task in tasks:
        assert task.wait(60)
        assert task.error is None


def test_it_says_what_it_is(make):
    executor = make(Echo())
    assert executor.name in EXECUTORS
    assert executor.traits is EXECUTORS[executor.name]
    assert executor.num_workers >= 1
    assert isinstance(executor.submit(chunk_of(1)), Task)
    assert isinstance(executor.stacks(), str)


def test_many_open_and_close(no_leaks, make):
    for _ in range(5):
        executor = make(Double())
        result_of(executor.submit(chunk_of(4)))
        executor.close()


def _whereabouts(chunk):
    chunk.columns["pid"] = np.full(len(chunk), os.getpid())
    chunk.columns["thread"] = np.full(len(chunk), threading.get_ident(), np.uint64)
    return chunk


def test_its_traits_are_true(make):
    executor = make(Call(_whereabouts))
    given = chunk_of(5)
    got, _ = result_of(executor.submit(given))
    traits = executor.traits
    assert traits.same_process == (got.columns["pid"][0] == os.getpid())
    assert traits.shares_memory == (got.columns["x"] is given.columns["x"])
    here = traits.same_process and got.columns["thread"][0] == threading.get_ident()
    assert traits.background != here
    assert traits.shares_gil == (traits.same_process and not here)
    assert traits.target_seconds > 0
    assert traits.worker


def test_fewer_workers_change_no_result(make):
    executor = make(Double(), workers=3)
    executor.set_active_workers(1)
    tasks = [executor.submit(chunk_of(4, 4 * i)) for i in range(10)]
    for i, task in enumerate(tasks):
        assert result_of(task)[0].columns["x"].tolist() == [2.0 * k for k in range(4 * i, 4 * i + 4)]


def test_more_and_fewer_workers_while_it_runs(no_leaks, make):
    executor = make(Double(), workers=2)
    tasks = []
    for i, workers in enumerate((1, 4, 4, 2, 1, 3)):
        have = executor.resize(workers)
        assert have == executor.num_workers
        assert have in (workers, 2, 1)  # what cannot be changed stays as it is
        tasks += [executor.submit(chunk_of(4, 4 * (5 * i + k))) for k in range(5)]
    for i, task in enumerate(tasks):
        assert result_of(task)[0].columns["x"].tolist() == [2.0 * k for k in range(4 * i, 4 * i + 4)]
    executor.close()
