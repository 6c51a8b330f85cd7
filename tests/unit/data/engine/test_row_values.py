"""What values arrive, as in MindSpore: dicts of batches, order in memory, widths of text, padding, names of columns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import DataError


def numbers(rows: int = 4) -> ds.Dataset:
    return ds.NumpySlicesDataset(np.arange(rows), "a", shuffle=False)


def given(*values: Any) -> ds.Dataset:
    return ds.GeneratorDataset(lambda: iter([(value,) for value in values]), "a")


def rows(data: ds.Dataset) -> list[Any]:
    return [row["a"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


class Pairs:
    """A batch_sampler."""

    def __iter__(self) -> Iterator[list[int]]:
        return iter([[0, 1], [2, 3]])

    def __len__(self) -> int:
        return 2


def by_batch(function: Callable[[Any], Any]) -> ds.Dataset:
    return numbers().batch(2, per_batch_map=lambda column, info: function(column))


def by_collate(function: Callable[[Any], Any]) -> ds.Dataset:
    return ds.GeneratorDataset(
        [np.int64(i) for i in range(4)], "a", batch_sampler=Pairs(), collate_fn=function
    )


@pytest.mark.parametrize("make", [by_batch, by_collate])
def test_a_dict_is_the_value_of_the_column(make: Callable[..., ds.Dataset]) -> None:
    got = rows(make(lambda column: ({"k": np.array(column), "n": 1, "none": None},)))
    assert [value["k"].tolist() for value in got] == [[0, 1], [2, 3]]
    assert got[0]["n"].tolist() == 1
    assert got[0]["none"] is None
    # its lengths are the user's business
    assert rows(make(lambda column: {"k": np.zeros(7)}))[0]["k"].shape == (7,)


@pytest.mark.parametrize("make", [by_batch, by_collate])
def test_a_list_of_dicts_is_a_dict_of_lists(make: Callable[..., ds.Dataset]) -> None:
    got = rows(make(lambda column: ([{"k": int(x), "s": "t" * int(x)} for x in column],)))
    assert got[1] == {"k": [2, 3], "s": ["tt", "ttt"]}
    assert isinstance(got[0]["k"], list)
    ragged = rows(make(lambda column: ([{"k": [1] * (int(x) + 1)} for x in column],)))
    assert [len(part) for part in ragged[0]["k"]] == [1, 2]


@pytest.mark.parametrize("make", [by_batch, by_collate])
@pytest.mark.parametrize("values", [[{"k": 1}, 2], [2, {"k": 1}]])
def test_dicts_and_others_do_not_mix(make: Callable[..., ds.Dataset], values: list[Any]) -> None:
    with pytest.raises(
        DataError, match=r"mixes dicts with other values in one batch: value \d is a int"
    ) as failed:
        rows(make(lambda column: (values,)))
    assert failed.value.context["column"] == "a"


def test_keys_of_a_list_of_dicts_must_agree() -> None:
    with pytest.raises(
        DataError, match="keys do not match when creating a batch: j was not found in previous"
    ):
        rows(by_batch(lambda column: ([{"k": 1}, {"j": 1}],)))


@pytest.mark.parametrize("bad", [None, np.array([1, None], object), np.array([1, 2], object)])
def test_what_is_no_value_names_op_and_row(bad: Any) -> None:
    class Source:
        def __getitem__(self, index: int) -> Any:
            return (bad if index == 2 else np.array(index),)

        def __len__(self) -> int:
            return 4

    for data in (
        given(np.array(0), np.array(1), bad),
        ds.GeneratorDataset(Source(), "a", shuffle=False),
        numbers().map(lambda x: bad if x == 2 else x),
    ):
        with pytest.raises(DataError, match=r"None|Python objects") as failed:
            rows(data)
        assert failed.value.context["row"] == 2
        assert __file__ in failed.value.context["op"]


def test_what_a_map_cannot_give_is_a_failed_row() -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)

    def work(x: Any) -> Any:
        if x == 3:
            raise ValueError("three")
        return None if x == 1 else [[1], [2, 3]] if x == 4 else x

    data = numbers(6).map(work)
    assert [int(x) for x in rows(data)] == [0, 2, 5]
    assert [entry.row for entry in data.skipped()] == [1, 3, 4]


@pytest.mark.parametrize("kind", ["dict", "tuple"])
@pytest.mark.parametrize("numpy", [True, False])
def test_arrays_are_in_c_order(kind: str, numpy: bool) -> None:
    pictures = given(*(np.arange(24).reshape(2, 3, 4) for _ in range(3)))
    for data in (
        pictures.map(lambda x: x.transpose(2, 0, 1)),
        pictures.map(lambda x: x[:, ::2]),
        pictures.map(lambda x: np.asfortranarray(x)),
        pictures.map(lambda x: x.T).batch(1),
        pictures.batch(1, per_batch_map=lambda x, info: (np.stack(x).T.reshape(1, 4, 3, 2),)),
        pictures.map(lambda x: {"part": x.T}),
    ):
        make = data.create_dict_iterator if kind == "dict" else data.create_tuple_iterator
        for row in make(num_epochs=1, output_numpy=numpy):
            value = row["a"] if kind == "dict" else row[0]
            value = value["part"] if isinstance(value, dict) else value
            assert (value if numpy else value.asnumpy()).flags.c_contiguous


def test_text_is_as_wide_as_its_longest_value() -> None:
    assert rows(given(np.array([], "U3")))[0].dtype == np.dtype("U1")
    assert rows(given(np.array([], "S3"), np.array([], "S3")).batch(2))[0].dtype == np.dtype("S1")
    assert rows(given(np.array(["", ""], "U7")))[0].dtype == np.dtype("U1")
    assert rows(given(np.array("ab", "U7")))[0].dtype == np.dtype("U2")
    assert rows(given(b"ab\0"))[0].dtype == np.dtype("S2")


def test_bytes_of_unequal_length() -> None:
    one, two = np.array([b"a", b"bcd"]), np.array([b"abcdef", b""])
    [got] = rows(given(one, two).batch(2))
    assert (got.dtype, got.tolist()) == (np.dtype("S6"), [[b"a", b"bcd"], [b"abcdef", b""]])
    slices = ds.NumpySlicesDataset([[b"a", b"bcd"], [b"abcd", b""]], "a", shuffle=False)
    assert [row.dtype for row in rows(slices)] == [np.dtype("S3"), np.dtype("S4")]
    assert rows(slices.batch(2))[0].dtype == np.dtype("S4")
    assert rows(numbers(2).batch(2, per_batch_map=lambda x, info: ([b"a", b"bcd"],)))[0].tolist() == [
        b"a",
        b"bcd",
    ]
    padded = given(one, np.array([b"longer"])).padded_batch(2, pad_info={"a": ([3], b"zz")})
    assert rows(padded)[0].tolist() == [[b"a", b"bcd", b"zz"], [b"longer", b"zz", b"zz"]]


def test_an_empty_pad_shape_is_none() -> None:
    ragged = given(np.array([1, 2]), np.array([3]))
    assert rows(ragged.padded_batch(2, pad_info={"a": ([], 0)}))[0].tolist() == [[1, 2], [3, 0]]
    assert rows(numbers(2).padded_batch(2, pad_info={"a": ([], 0)}))[0].tolist() == [0, 1]
    buckets = ragged.bucket_batch_by_length(["a"], [5], [2, 2], pad_info={"a": ([], 0)})
    assert rows(buckets)[0].tolist() == [[1, 2], [3, 0]]


def opened(x: Any) -> ds.Dataset:
    return ds.NumpySlicesDataset({"b": [1, 2]}, shuffle=False)


def nothing(x: Any) -> ds.Dataset:
    return ds.GeneratorDataset(lambda: iter([]), ["b", "c"])


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (lambda data: data.map(lambda x: x, "z"), "input column name: z doesn't exist"),
        (lambda data: data.rename("z", "y"), "column to be renamed does not exist. Got 'z'"),
        (lambda data: data.project("z"), "column name: z does not exist"),
        (lambda data: data.filter(lambda x: True, "z"), "column name: z does not exist"),
        (
            lambda data: data.batch(2, per_batch_map=lambda c, i: (c,), input_columns=["z"]),
            "'z' of 'input_columns'",
        ),
        (lambda data: data.padded_batch(2, pad_info={"z": ([2], 0)}), "Invalid pad_info, column name: z"),
        (lambda data: data.bucket_batch_by_length(["z"], [2], [1, 1], lambda x: 1), "input column name: z"),
    ],
)
def test_an_unknown_column_after_flat_map_is_named(after: Callable[..., ds.Dataset], words: str) -> None:
    with pytest.raises(RuntimeError) as failed:
        list(after(numbers().flat_map(opened)))
    assert words in str(failed.value)
    assert "['b']" in str(failed.value)


def test_column_names_of_a_flat_map_without_rows() -> None:
    empty = numbers().flat_map(nothing)
    assert empty.get_col_names() == ["b", "c"]
    assert empty.batch(2).get_col_names() == ["b", "c"]
    assert empty.rename("b", "x").project("x").get_col_names() == ["x"]


def test_a_filter_that_drops_all_is_named(caplog: pytest.LogCaptureFixture) -> None:
    data = numbers().filter(lambda a: True).map(lambda a: a).filter(lambda a: a > 10).batch(2)
    with caplog.at_level(logging.WARNING):
        assert rows(data) == []
    assert "filter(<lambda>) at " in caplog.text
    assert "dropped all of the 4 rows that came to it" in caplog.text
    assert __file__ in caplog.text
