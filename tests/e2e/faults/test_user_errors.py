"""A failing row is named: op, row, column, file and the user's own traceback; rows before it are delivered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import BatchShapeError, DataError

EXECUTORS = ["inline", "threads", "processes"]


class Files:
    """A source that knows the file of each row."""

    def __init__(self, bad: int | None = None) -> None:
        self.files = [f"/data/{i}.jpg" for i in range(20)]
        self.bad = bad

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        if index == self.bad:
            raise OSError("disk on fire")
        return np.full(index + 1 if index == 13 else 1, index), index

    def __len__(self) -> int:
        return len(self.files)


def picky(value: Any) -> Any:
    if int(value[0]) == 7:
        raise ValueError("seven is right out")
    return value


def fails(data: ds.Dataset) -> tuple[list[int], Exception]:
    """The rows that came before the failure, and the failure."""
    seen: list[int] = []
    with pytest.raises(DataError) as caught:  # noqa: PT012 - the loop is what raises
        for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            seen.append(int(row[0].ravel()[0]))
    return seen, caught.value


@pytest.mark.parametrize("executor", EXECUTORS)
def test_map(executor: str, no_leaks: None) -> None:
    settings.update(executor=executor)
    data = ds.GeneratorDataset(Files(), ["image", "label"], shuffle=False).map(picky, "image")
    seen, error = fails(data)
    assert seen == list(range(7))
    text = str(error)
    assert "map operation: [PyFunc] failed" in text
    assert "ValueError: seven is right out" in text
    assert "map(picky)" in text
    assert "test_user_errors.py" in text
    assert "row: 7" in text
    assert "column: image" in text
    assert "file: /data/7.jpg" in text
    assert 'raise ValueError("seven is right out")' in text
    assert isinstance(error, RuntimeError)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_source(executor: str) -> None:
    settings.update(executor=executor)
    seen, error = fails(ds.GeneratorDataset(Files(bad=5), ["image", "label"], shuffle=False))
    assert seen == [0, 1, 2, 3, 4]
    text = str(error)
    assert "disk on fire" in text
    assert "row: 5" in text
    assert "file: /data/5.jpg" in text


def test_batch_shapes_name_the_row_and_the_remedy() -> None:
    data = ds.GeneratorDataset(Files(), ["image", "label"], shuffle=False).batch(4)
    _, error = fails(data)
    assert isinstance(error, BatchShapeError)
    text = str(error)
    assert "Cannot batch tensors with different shapes in column 0" in text
    assert "row: 13" in text
    assert "file: /data/13.jpg" in text
    assert "padded_batch" in text


def test_filter_and_per_batch_map() -> None:
    data = ds.GeneratorDataset(Files(), ["image", "label"], shuffle=False)
    _, error = fails(data.filter(lambda image: 1 / (int(image[0]) - 3) != 0, "image"))
    assert "ZeroDivisionError" in str(error)
    assert "row: 3" in str(error)

    def broken(images: list[Any], info: ds.BatchInfo) -> Any:
        raise KeyError("lost")

    _, error = fails(data.batch(4, per_batch_map=broken, input_columns=["image"]))
    assert "KeyError" in str(error)
    assert "broken" in str(error)


def test_stream_names_the_row() -> None:
    def rows() -> Any:
        yield np.array(0)
        yield np.array(1)
        raise OSError("cable cut")

    seen, error = fails(ds.GeneratorDataset(rows, "x"))
    assert seen == [0, 1]
    assert "row: 2" in str(error)
    assert "cable cut" in str(error)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_rows_before_a_failing_stream_are_delivered(executor: str) -> None:
    """The error waits for its turn behind the batches that are still under way."""

    def rows() -> Any:
        for i in range(40):
            yield np.array(i)
        raise OSError("cable cut")

    settings.update(executor=executor)
    seen, error = fails(ds.GeneratorDataset(rows, "x").map(lambda x: x).batch(4))
    assert seen == list(range(0, 40, 4))
    assert "row: 40" in str(error)


def test_closed_after_failure_says_why() -> None:
    data = ds.GeneratorDataset(Files(), ["image", "label"], shuffle=False).map(picky, "image")
    iterator = data.create_dict_iterator(num_epochs=1)
    with pytest.raises(DataError):
        list(iterator)
    with pytest.raises(RuntimeError, match="DataError before"):
        next(iterator)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_skip_keeps_a_ledger(executor: str) -> None:
    settings.update(executor=executor)
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = ds.GeneratorDataset(Files(), ["image", "label"], shuffle=False).project(["label"])
    data = data.map(lambda label: 1 // (int(label) % 5) + int(label), "label").batch(4)
    rows = [row[0].tolist() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert rows[0] == [2, 2, 3, 4]
    assert sum(map(len, rows)) == 16
    entries = data.skipped()
    assert [entry.row for entry in entries] == [0, 5, 10, 15]
    assert entries[1].file == "/data/5.jpg"
    assert "ZeroDivisionError" in entries[1].reason


def test_skip_covers_the_source_too() -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = ds.GeneratorDataset(Files(bad=5), ["image", "label"], shuffle=False).project(["label"])
    assert [int(row[0]) for row in data] == [i for i in range(20) if i != 5]
    assert [entry.row for entry in data.skipped()] == [5]


def test_skip_covers_batches_too() -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = ds.GeneratorDataset(Files(), ["image", "label"], shuffle=False).batch(4)
    assert [row[1].tolist()[0] for row in data] == [0, 4, 8, 16]
    assert [(entry.row, entry.file) for entry in data.skipped()] == [(13, "/data/13.jpg")]


def test_replace_covers_the_source_too() -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
    data = ds.GeneratorDataset(Files(bad=5), ["image", "label"], shuffle=False).project(["label"])
    assert [int(row[0]) for row in data] == [0, 1, 2, 3, 4, 4, *range(6, 20)]


def test_too_many_bad_rows_are_an_error() -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    settings.update(error_samples_limit=0.2)
    data = ds.NumpySlicesDataset(np.arange(1000), "x", shuffle=False).map(lambda x: 1 // (int(x) % 2))
    seen, error = fails(data)
    assert 0 < len(seen) < 500
    assert "set_error_samples_limit(0.2)" in str(error)


def test_the_share_of_bad_rows_counts_in_small_sets_too() -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    settings.update(error_samples_limit=0.2)
    data = ds.NumpySlicesDataset(np.arange(10), "x", shuffle=False).map(lambda x: 1 // (int(x) % 2))
    seen, error = fails(data)
    assert len(seen) == 5
    assert "5 of 10 rows failed" in str(error)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_replace_keeps_the_length(executor: str) -> None:
    settings.update(executor=executor)
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
    data = ds.GeneratorDataset(Files(), ["image", "label"], shuffle=False).project(["label"])
    data = data.map(lambda label: 1 // (int(label) % 5) * 0 + int(label), "label")
    rows = [int(row[0]) for row in data]
    assert rows == [1, *(i if i % 5 else i - 1 for i in range(1, 20))]
