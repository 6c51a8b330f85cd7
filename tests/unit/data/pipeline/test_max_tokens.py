"""batch(max_tokens=...): as many rows as fit, padding counted."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core import settings


def texts(sizes: list[int], **options: Any) -> ds.Dataset:
    rows = [(np.full(n, i + 1, np.int32), i) for i, n in enumerate(sizes)]
    if options:
        return ds.GeneratorDataset(rows, ["ids", "row"], shuffle=False, **options)

    def stream() -> Iterator[Any]:
        yield from rows

    return ds.GeneratorDataset(stream, ["ids", "row"])


def batches(data: ds.Dataset) -> list[dict[str, Any]]:
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def greedy(sizes: list[int], most: int, rows: int | None) -> list[list[int]]:
    """The batches, as one would make them by hand: lengths of rows."""
    made: list[list[int]] = []
    for size in (max(1, n) for n in sizes):
        now = made[-1] if made else None
        fits = now is not None and (len(now) + 1) * max(*now, size) <= most and len(now) != rows
        if fits and now is not None:
            now.append(size)
        else:
            made.append([size])
    return made


@given(
    sizes=st.lists(st.integers(0, 12), max_size=40),
    most=st.integers(12, 60),
    rows=st.sampled_from([None, 1, 3]),
    chunk_rows=st.sampled_from([1, 5, None]),
)
def test_the_budget_is_kept_and_used(
    sizes: list[int], most: int, rows: int | None, chunk_rows: int | None
) -> None:
    settings.update(executor="inline", chunk_rows=chunk_rows)
    got = batches(texts(sizes).batch(rows, max_tokens=most))
    assert all(batch["ids"].size <= most for batch in got)
    assert [len(batch["ids"]) for batch in got] == [len(batch) for batch in greedy(sizes, most, rows)]
    assert [row for batch in got for row in batch["row"].tolist()] == list(range(len(sizes)))
    for batch in got:
        lengths = [sizes[row] for row in batch["row"].tolist()]
        assert batch["ids"].shape[1] == max(lengths)
        assert [int((ids > 0).sum()) for ids in batch["ids"]] == lengths


@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=30), drop=st.booleans())
def test_goes_on_from_any_state(sizes: list[int], drop: bool) -> None:
    settings.update(executor="inline", chunk_rows=4)
    data = texts(sizes).batch(5, drop, max_tokens=30)
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    states, rows = [iterator.state()], []
    for batch in iterator:
        rows.append(batch["row"].tolist())
        states.append(iterator.state())
    settings.update(chunk_rows=None)
    for done, state in enumerate(states):
        saved = json.loads(json.dumps(state))
        again = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=saved)
        assert [batch["row"].tolist() for batch in again] == rows[done:]


def test_drop_remainder_drops_a_last_batch_with_room_left() -> None:
    assert [len(b["row"]) for b in batches(texts([2, 2, 2]).batch(max_tokens=4))] == [2, 1]
    assert [len(b["row"]) for b in batches(texts([2, 2, 2]).batch(None, True, max_tokens=4))] == [2]
    # nothing more would fit: it is no remainder
    assert [len(b["row"]) for b in batches(texts([2, 2, 4]).batch(None, True, max_tokens=4))] == [2, 1]
    assert [len(b["row"]) for b in batches(texts([1, 1]).batch(2, True, max_tokens=9))] == [2]


def test_by_a_column_and_by_a_function() -> None:
    def rows() -> Iterator[Any]:
        for n in (1, 2, 3, 4):
            yield np.ones(n), np.ones(10 - n)

    data = ds.GeneratorDataset(rows, ["source", "target"])
    assert [len(b["source"]) for b in batches(data.batch(max_tokens=18))] == [2, 2]  # 2 x 9, 2 x 7
    assert [len(b["source"]) for b in batches(data.batch(max_tokens=9, length_of="source"))] == [3, 1]
    both = data.batch(max_tokens=20, length_of=lambda source, target: len(source) + len(target))
    assert [len(b["source"]) for b in batches(both)] == [2, 2]


def test_padding_as_padded_batch_has_it() -> None:
    data = texts([1, 3, 2])
    got = batches(data.batch(max_tokens=9, pad_info={"ids": ([None], -1)}))
    assert got[0]["ids"].tolist() == [[1, -1, -1], [2, 2, 2], [3, 3, -1]]
    # a fixed length counts as such
    got = batches(data.batch(max_tokens=9, pad_info={"ids": ([4], 0)}))
    assert [batch["ids"].shape for batch in got] == [(2, 4), (1, 4)]


def test_a_function_of_the_batch_pads_itself() -> None:
    def lengths(ids: list[Any], info: ds.BatchInfo) -> Any:
        return ([np.array(len(row)) for row in ids],)

    data = texts([1, 3, 2, 2]).batch(max_tokens=6, per_batch_map=lengths, input_columns=["ids"])
    assert [batch["ids"].tolist() for batch in batches(data)] == [[1, 3], [2, 2]]


def test_a_row_that_is_too_long_alone() -> None:
    with pytest.raises(RuntimeError, match="a row of 9 tokens exceeds max_tokens=8") as caught:
        batches(texts([3, 9, 2]).batch(max_tokens=8))
    assert caught.value.context["row"] == 1  # type: ignore[attr-defined]
    assert caught.value.context["column"] == "ids"  # type: ignore[attr-defined]
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = texts([3, 9, 2]).batch(max_tokens=8)
    assert [batch["row"].tolist() for batch in batches(data)] == [[0, 2]]
    assert [entry.row for entry in data.skipped()] == [1]


def test_every_shard_can_make_the_same_number_of_steps() -> None:
    sizes = [1, 9, 1, 8, 2, 7, 1, 9, 1, 9]
    made, counts = [], []
    for shard in range(2):
        data = texts(sizes, num_shards=2, shard_id=shard)
        counts.append(len(batches(data.batch(max_tokens=10))))
        made.append(batches(data.repeat().batch(max_tokens=10).take(7)))
    assert counts[0] != counts[1]
    assert [len(one) for one in made] == [7, 7]
    assert not {int(r) for b in made[0] for r in b["row"]} & {int(r) for b in made[1] for r in b["row"]}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({}, TypeError, r"batch\(\): missing a required argument: 'batch_size', or max_tokens="),
        ({"batch_size": None}, TypeError, "batch_size should either be an int or a callable"),
        ({"batch_size": 4, "length_of": "ids"}, ValueError, "only when max_tokens is set"),
        ({"batch_size": 4, "pad_info": {}}, ValueError, r"padded_batch\(batch_size, pad_info=\.\.\.\)"),
        ({"max_tokens": 0}, ValueError, "max_tokens"),
        ({"max_tokens": "9"}, TypeError, "max_tokens"),
        ({"max_tokens": 9, "batch_size": 0}, ValueError, "batch_size"),
        ({"max_tokens": 9, "batch_size": len}, TypeError, "the most rows of a batch"),
        ({"max_tokens": 9, "length_of": 3}, TypeError, "the name of a column or a callable"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        texts([1]).batch(**arguments)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match=r"length_of, column name: text does not exist.*\['ids', 'row'\]"):
        batches(texts([1]).batch(max_tokens=4, length_of="text"))


def test_a_length_that_is_no_length() -> None:
    with pytest.raises(RuntimeError, match="length_of should give 0 or more, but gave -1"):
        batches(texts([1]).batch(max_tokens=4, length_of=lambda ids, row: -1))


def test_as_json_and_in_explain() -> None:
    source = ds.RandomDataset(total_rows=6)
    data = source.batch(3, max_tokens=8, length_of="c1", pad_info={"c1": ([None], 1)})
    again = ds.deserialize(json.loads(json.dumps(ds.serialize(data))))
    assert again is not None
    assert ds.compare(data, again)
    assert "max_tokens=8, batch_size=3, length_of=c1" in data.explain("as written")
    assert data.get_batch_size() == -1
    assert data.get_dataset_size() == 3
    with pytest.raises(RuntimeError, match="cannot be rebuilt"):
        ds.deserialize(ds.serialize(source.batch(max_tokens=8, length_of=lambda a, b: 1)))


def test_scripts_that_look_for_kwargs_find_them() -> None:
    assert "kwargs" in inspect.signature(ds.Dataset.batch).parameters


def test_scripts_that_ask_for_its_class_are_told_a_batch() -> None:
    kinds = importlib.import_module("millrace._src.compat.dataset_classes")
    data = texts([1]).batch(max_tokens=4)
    assert isinstance(data, kinds.BatchDataset)
    assert not isinstance(data, kinds.PaddedBatchDataset)
