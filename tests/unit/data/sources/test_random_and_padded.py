"""NumpySlicesDataset, PaddedDataset and RandomDataset."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from tests.unit.data.pipeline.rows import col


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ([1, 2], [[1], [2]]),
        (np.eye(2), [[[1, 0]], [[0, 1]]]),
        (([1, 2], ["a", "bc"]), [[1, "a"], [2, "bc"]]),
        ({"x": [1, 2], "y": np.ones((2, 1))}, [[1, [1]], [2, [1]]]),
        ([[1], [2, 3]], [[[1]], [[2, 3]]]),
        ({"x": [[1], [2, 3]], "y": [0, 1]}, [[[1], 0], [[2, 3], 1]]),
        ([["a", "b"], ["c", "def"]], [[["a", "b"]], [["c", "def"]]]),
        ([b"a", b"bc"], [[b"a"], [b"bc"]]),
    ],
)
def test_slices(data, rows):
    dataset = ds.NumpySlicesDataset(data, shuffle=False)
    got = list(dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert [[value.tolist() for value in row] for row in got] == rows
    assert len(dataset) == len(rows)


@pytest.mark.parametrize("order", [{"shuffle": False}, {"sampler": [1, 0, 2]}])
def test_text_is_as_wide_as_its_own_row(order):
    data = ds.NumpySlicesDataset(["a", "bcd", "ef"], ["t"], **order)
    widths = {str(row["t"]): row["t"].dtype for row in data.create_dict_iterator(1, True)}
    assert widths == {"a": np.dtype("<U1"), "bcd": np.dtype("<U3"), "ef": np.dtype("<U2")}


def test_rows_of_dicts():
    rows = list(
        ds.NumpySlicesDataset([{"k": 1}, {"k": 2}], shuffle=False).create_tuple_iterator(num_epochs=1)
    )
    assert [row[0]["k"].item() for row in rows] == [1, 2]


def test_the_users_arrays_are_not_touched():
    array = np.arange(6)
    for row in (
        ds.NumpySlicesDataset(array, shuffle=False)
        .batch(3)
        .create_tuple_iterator(num_epochs=1, output_numpy=True)
    ):
        row[0][:] = 0
    assert array.tolist() == list(range(6))


def test_default_order_is_random_and_another_in_each_epoch():
    data = ds.NumpySlicesDataset(np.arange(30), ["a"])
    one, two = col(data), col(data)
    assert data.is_shuffled()
    assert sorted(one) == sorted(two) == list(range(30))
    assert one != two != sorted(two)


def test_pk_sampler_on_arrays():
    data = {"x": np.arange(6), "label": [0, 1, 0, 1, 0, 1]}
    assert col(ds.NumpySlicesDataset(data, sampler=ds.PKSampler(2)), "label") == [0, 0, 1, 1]
    with pytest.raises(PlanError, match="there is no column 'q'"):
        len(ds.NumpySlicesDataset(data, sampler=ds.PKSampler(2, class_column="q")))


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        ([], None, "cannot be empty"),
        (([1, 2], [1]), None, "Data length in each column is not equal"),
        ({"x": [1]}, ["a", "b"], "Num of input column names is 2, but required is 1"),
        ([1], ["a", "b"], "required is 1 as data is list"),
    ],
)
def test_wrong_slices(data, names, message):
    with pytest.raises(ArgumentValueError, match=message):
        ds.NumpySlicesDataset(data, names)


def test_padding_rows_make_a_length_divisible():
    data = ds.NumpySlicesDataset({"x": np.zeros((5, 2)), "name": ["r"] * 5}, shuffle=False)
    filler = ds.PaddedDataset([{"x": np.full(2, -1.0), "name": "pad"}])
    parts = []
    for shard in range(2):
        whole = data + filler
        whole.use_sampler(ds.DistributedSampler(2, shard, shuffle=False))
        parts.append(col(whole, "name"))
    assert parts == [["r", "r", "r"], ["r", "r", "pad"]]


def test_rows_of_a_padded_dataset_may_differ_in_shape():
    data = ds.PaddedDataset([{"x": np.zeros(1)}, {"x": np.zeros(2)}])
    assert [len(x) for x in col(data, "x")] == [1, 2]
    with pytest.raises(ArgumentValueError, match="cannot be empty"):
        ds.PaddedDataset([])
    with pytest.raises(ArgumentTypeError, match="padded_element"):
        ds.PaddedDataset([1])


def schema():
    result = ds.Schema()
    result.add_column("image", "uint8", [2, 3])
    result.add_column("label", "int32", [])
    result.add_column("text", "string", [1])
    return result


def test_random_rows_follow_the_schema_and_are_the_same_every_time():
    data = ds.RandomDataset(6, schema())
    assert (len(data), data.output_shapes()) == (6, [[2, 3], [], [1]])
    assert [dtype.kind for dtype in data.output_types()] == ["u", "i", "U"]
    assert col(data, "image") == col(ds.RandomDataset(6, schema()), "image")
    assert len({str(image) for image in col(data, "image")}) == 6


def test_random_rows_can_be_cut_sharded_and_shuffled():
    whole = col(ds.RandomDataset(6, schema()), "image")
    assert col(ds.RandomDataset(6, schema(), num_samples=2), "image") == whole[:2]
    shards = [
        col(ds.RandomDataset(6, schema(), num_shards=2, shard_id=k, shuffle=False), "image") for k in range(2)
    ]
    assert shards == [whole[0::2], whole[1::2]]
    assert sorted(map(str, col(ds.RandomDataset(6, schema(), shuffle=True), "image"))) == sorted(
        map(str, whole)
    )
    assert ds.RandomDataset(6, schema(), columns_list=["label"]).get_col_names() == ["label"]
