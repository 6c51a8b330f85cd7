"""batch, padded_batch and bucket_batch_by_length, beyond what the parity cases compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core.errors import BatchShapeError, DataError

from .rows import abc, col, epochs, num, stream


def ragged(*lengths, dtype=np.int64):
    return ds.GeneratorDataset([np.full(n, n, dtype) for n in lengths], ["a"], shuffle=False)


@given(
    rows=st.integers(1, 40),
    size=st.integers(1, 12),
    drop=st.booleans(),
    made=st.sampled_from([num, "stream"]),
)
def test_batches_are_the_rows_in_order(rows, size, drop, made):
    data = (num(rows) if made is num else stream(range(rows))).batch(size, drop)
    whole = [list(range(i, min(i + size, rows))) for i in range(0, rows, size)]
    assert col(data) == [batch for batch in whole if len(batch) == size or not drop]


def test_a_batch_belongs_to_its_consumer():
    array = np.zeros((4, 2))
    for row in ds.NumpySlicesDataset(array, ["a"], shuffle=False).batch(2).create_dict_iterator(1, True):
        row["a"] += 1
    assert array.sum() == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            lambda: ragged(1, 2).batch(2),
            ["different shapes in column 0", "<1>", "<2>", "padded_batch", "row: 1"],
        ),
        (
            lambda: ds.GeneratorDataset([np.int32(1), np.int64(1)], ["a"], shuffle=False).batch(2),
            ["different types in column 0", "int32", "int64", "astype"],
        ),
    ],
)
def test_rows_that_do_not_stack_say_which_and_how_to_mend_it(data, words):
    with pytest.raises(BatchShapeError) as caught:
        list(data())
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"x": 1}, {"y": 1}], "y was not found in previous rows"),
        ([{"x": 1, "y": 1}, {"x": 1}], "y was not found in this row"),
    ],
)
def test_dicts_with_different_keys_do_not_stack(rows, words):
    with pytest.raises(DataError, match=words):
        list(ds.GeneratorDataset(rows, ["d"], shuffle=False).batch(2))


def test_nested_dicts_are_batched_inside():
    rows = [{"n": i, "deep": {"t": "x" * i, "v": np.arange(2) + i}} for i in range(2)]
    [batch] = ds.GeneratorDataset(rows, ["d"], shuffle=False).batch(2).create_dict_iterator(1, True)
    assert batch["d"]["n"].tolist() == [0, 1]
    assert batch["d"]["deep"]["t"].tolist() == ["", "x"]
    assert batch["d"]["deep"]["v"].tolist() == [[0, 1], [1, 2]]


def test_batch_info_counts_batches_and_epochs():
    seen = []

    def note(a, info):
        seen.append((info.get_epoch_num(), info.get_batch_num(), len(a)))
        return a

    data = num(5).batch(2, per_batch_map=note, num_parallel_workers=1)
    epochs(data, 2)
    assert seen == [(e, b, n) for e in range(2) for b, n in enumerate([2, 2, 1])]


def test_multi_scale_images_of_one_batch_get_one_size():
    images = [np.full((size, size, 3), size, np.uint8) for size in (2, 4, 3, 5)]

    def to_one_size(images, labels, info):
        size = 4 + info.get_batch_num()
        return [np.resize(image, (size, size, 3)) for image in images], labels

    data = ds.GeneratorDataset(list(zip(images, range(4), strict=True)), ["image", "label"], shuffle=False)
    data = data.batch(2, per_batch_map=to_one_size, input_columns=["image", "label"])
    shapes = [row["image"].shape for row in data.create_dict_iterator(1, True)]
    assert shapes == [(2, 4, 4, 3), (2, 5, 5, 3)]


def test_size_by_function_grows_with_the_epoch():
    data = num(6).batch(lambda info: info.get_epoch_num() + 1)
    assert epochs(data, 2) == [[[i] for i in range(6)], [[0, 1], [2, 3], [4, 5]]]
    assert data.get_dataset_size() == 6


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda a, b, c, i: (a, b), "should be 3 , but got: 2"),
        (lambda a, b, c, i: (a, b, c[:1]), "column: c expects: 2 rows"),
        (lambda a, b, c, i: (a, b, None), "Got None"),
        (lambda a, b, c, i: (a, b, 3), "'int' object is not iterable"),
    ],
)
def test_what_a_per_batch_map_must_return(made, words):
    with pytest.raises(DataError, match=words):
        list(abc(2).batch(2, per_batch_map=made))


@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=9),
    size=st.integers(1, 4),
    fill=st.integers(-2, 2),
)
def test_padding_to_the_largest_keeps_every_row(lengths, size, fill):
    batches = col(ragged(*lengths).padded_batch(size, pad_info={"a": ([None], fill)}))
    groups = [lengths[i : i + size] for i in range(0, len(lengths), size)]
    assert batches == [[[n] * n + [fill] * (max(group) - n) for n in group] for group in groups]


@pytest.mark.parametrize(
    ("info", "rows"),
    [
        ({"a": None}, [[[1, 0, 0], [3, 3, 3]]]),
        ({}, [[[1, 0, 0], [3, 3, 3]]]),
        ({"a": (None, 7)}, [[[1, 7, 7], [3, 3, 3]]]),
        ({"a": ([2], 9)}, [[[1, 9], [3, 3]]]),
        ({"a": ([4], 1.9)}, [[[1, 1, 1, 1], [3, 3, 3, 1]]]),
    ],
)
def test_pad_info(info, rows):
    assert col(ragged(1, 3).padded_batch(2, pad_info=info)) == rows


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({"a": ([3], "x")}, "can not pad numeric and string tensors together, but got: string and int64"),
        ({"a": ([3, 3], 0)}, "pad_shapes rank:2, column rank: 1"),
    ],
)
def test_padding_that_does_not_fit(info, words):
    with pytest.raises(DataError, match=words):
        list(ragged(1, 3).padded_batch(2, pad_info=info))


def test_padding_text():
    data = ds.GeneratorDataset([np.array(["a"]), np.array(["b", "cc"])], ["a"], shuffle=False)
    assert col(data.padded_batch(2, pad_info={"a": ([None], "<pad>")})) == [[["a", "<pad>"], ["b", "cc"]]]
    with pytest.raises(DataError, match="Give a text pad value"):
        list(data.padded_batch(2, pad_info={"a": ([3], 0)}))


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=20),
    bounds=st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True).map(sorted),
    size=st.integers(1, 3),
)
def test_buckets_hold_rows_of_their_lengths_and_lose_none(lengths, bounds, size):
    data = ragged(*lengths).bucket_batch_by_length(["a"], bounds, [size] * (len(bounds) + 1))
    batches = [[max(row) for row in batch] for batch in col(data)]
    assert sorted(n for batch in batches for n in batch) == sorted(lengths)
    for batch in batches:
        assert len(batch) <= size
        assert len({np.searchsorted(bounds, n, side="right") for n in batch}) == 1
    assert data.get_dataset_size() == len(batches)


def test_buckets_by_a_function_of_several_columns():
    rows = [(np.full(n, n), m) for n, m in [(1, 1), (3, 3), (2, 0), (1, 4)]]
    data = ds.GeneratorDataset(rows, ["a", "b"], shuffle=False)
    data = data.bucket_batch_by_length(["a", "b"], [4], [2, 2], lambda a, b: len(a) + int(b))
    assert col(data, "b") == [[1, 0], [3, 4]]
    assert col(data) == [[[1, 0], [2, 2]], [[3, 3, 3], [1, 0, 0]]]


def test_a_bucket_wide_as_its_boundary():
    data = ragged(1, 2, 4).bucket_batch_by_length(["a"], [3, 5], [2, 1, 1], None, {"a": ([None], 0)}, True)
    assert [len(batch[0]) for batch in col(data)] == [2, 4]
    with pytest.raises(RuntimeError, match="pad to bucket boundary failed"):
        list(ragged(9).bucket_batch_by_length(["a"], [3], [1, 1], None, {"a": ([None], 0)}, True))
