"""What counts as an epoch below a repeat, as MindSpore counts it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import millrace.dataset as ds


class Notes(ds.DSCallback):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int, int, int]] = []

    def _note(self, what: str, c: Any) -> None:
        self.seen.append((what, c.cur_epoch_num, c.cur_step_num_in_epoch, c.cur_step_num))

    def ds_epoch_begin(self, ds_run_context: Any) -> None:
        self._note("begin", ds_run_context)

    def ds_step_begin(self, ds_run_context: Any) -> None:
        self._note("step", ds_run_context)

    def ds_epoch_end(self, ds_run_context: Any) -> None:
        self._note("end", ds_run_context)


def numbers(rows: int) -> ds.Dataset:
    return ds.NumpySlicesDataset(np.arange(rows), "a", shuffle=False)


def test_an_epoch_of_callbacks_is_the_iterators() -> None:
    notes = Notes()
    data = numbers(2).map(lambda x: x, callbacks=[notes]).repeat(2)
    iterator = data.create_dict_iterator(num_epochs=2)
    assert [len(list(iterator)), len(list(iterator))] == [4, 4]
    assert notes.seen == [
        ("begin", 1, 0, 0),
        *(("step", 1, n, n) for n in (1, 2, 3, 4)),
        ("end", 1, 4, 4),
        ("begin", 2, 0, 4),
        *(("step", 2, n, n + 4) for n in (1, 2, 3, 4)),
        ("end", 2, 4, 8),
    ]


def epochs_of(data: ds.Dataset, batches: int) -> list[int]:
    rows = data.create_tuple_iterator(output_numpy=True)
    return [int(row[0][0]) for row in itertools.islice(rows, batches)]


def epoch(rows: Any, info: ds.BatchInfo) -> Any:
    return (np.full(len(rows), info.get_epoch_num()),)


def test_batches_below_an_endless_repeat_count_its_passes() -> None:
    batches = numbers(4).batch(2, per_batch_map=epoch)
    assert epochs_of(batches.repeat(), 6) == [0, 0, 1, 1, 2, 2]
    assert epochs_of(batches.repeat(2).repeat(), 8) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert epochs_of(batches.repeat(2), 4) == [0, 0, 0, 0]


def test_a_batch_size_function_below_an_endless_repeat() -> None:
    data = numbers(4).batch(lambda info: info.get_epoch_num() + 1).repeat()
    rows = data.create_tuple_iterator(output_numpy=True)
    assert [row[0].tolist() for row in itertools.islice(rows, 6)] == [[0], [1], [2], [3], [0, 1], [2, 3]]
