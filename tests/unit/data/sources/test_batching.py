"""batch_sampler and collate_fn, MindSpore's way and PyTorch's way."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import DataError, PlanError
from tests.unit.data.pipeline.rows import col, epochs

ROWS = [(np.full(2, i), i * 10) for i in range(5)]


class Pairs(ds.Sampler):
    def __iter__(self):
        for start in range(0, self.dataset_size, 2):
            yield range(start, min(start + 2, self.dataset_size))


class Sized:
    """PyTorch's BatchSampler in short."""

    def __iter__(self):
        return iter([[4, 0], [1]])

    def __len__(self):
        return 2


def batched(batch_sampler, **options):
    return ds.GeneratorDataset(ROWS, ["x", "y"], batch_sampler=batch_sampler, **options)


@pytest.mark.parametrize(
    ("sampler", "batches"),
    [
        ([[4, 0], [1]], [[40, 0], [10]]),
        (np.array([[4, 0], [1, 2]]), [[40, 0], [10, 20]]),
        (Sized(), [[40, 0], [10]]),
        (([i, i] for i in range(2)), [[0, 0], [10, 10]]),
        (Pairs(), [[0, 10], [20, 30], [40]]),
        (Pairs(num_samples=2), [[0, 10], [20, 30]]),
    ],
)
def test_a_batch_sampler_says_which_rows_go_together(sampler, batches):
    data = batched(sampler)
    assert data.get_dataset_size() == len(batches)
    assert epochs(data, 2, "y") == [batches] * 2
    assert (data.get_batch_size(), data.get_col_names()) == (-1, ["x", "y"])


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        ([[0, 5]], r"Sample ID \(5\) is out of bound, expected range \[0, 4\]"),
        ([[-1]], r"Sample ID \(-1\)"),
        ([0, 1], "must return a list of row numbers"),
        ([[0.5]], "must return a list of row numbers"),
        ([[]], "must return a list of row numbers"),
    ],
)
def test_lists_that_are_no_batches(sampler, message):
    with pytest.raises(PlanError, match=message):
        list(batched(sampler))


def by_columns(x, y):
    return np.stack(x) + 1, y


def by_rows(rows):
    return np.stack([x for x, _ in rows]) + 1, np.array([y for _, y in rows])


def by_rows_with_an_option(rows, scale=1):
    x, y = by_rows(rows)
    return [x * scale, y]


def by_name(rows):
    x, y = by_rows(rows)
    return {"y": y, "x": x}


@pytest.mark.parametrize("collate", [by_columns, by_rows, by_rows_with_an_option, by_name])
def test_collate_by_columns_or_by_rows(collate):
    data = batched([[0, 2], [1]], collate_fn=collate)
    assert (col(data, "x"), col(data, "y")) == ([[[1, 1], [3, 3]], [[2, 2]]], [[0, 20], [10]])


def test_one_column_is_one_list_either_way():
    data = ds.GeneratorDataset(
        [np.ones(1), np.ones(3)],
        ["x"],
        batch_sampler=[[0, 1]],
        collate_fn=lambda rows: [np.resize(r, 2) for r in rows],
    )
    assert col(data, "x") == [[[1, 1], [1, 1]]]


def test_what_a_collate_function_must_give():
    with pytest.raises(DataError, match="should be 2 , but got: 1"):
        list(batched([[0, 1]], collate_fn=lambda rows: 3))


def test_ops_follow_as_on_any_batches():
    data = batched([[0, 2], [1], [3]]).map(lambda y: y.sum(), ["y"]).skip(1).repeat(2)
    assert (col(data, "y"), len(data)) == ([10, 30, 10, 30], 4)


@pytest.mark.parametrize("use", [lambda d: d.use_sampler(ds.SequentialSampler()), lambda d: d[0]])
def test_no_sampler_and_no_row_by_number_beside_it(use):
    with pytest.raises(PlanError, match="batch_sampler"):
        use(batched([[0]]))
