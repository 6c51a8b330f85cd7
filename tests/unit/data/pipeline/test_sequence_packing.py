"""dataset.pack: sequences of one length, filled from documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core import settings

Rows = list[dict[str, Any]]


def documents(sizes: list[int], dtype: Any = np.int32) -> ds.Dataset:
    """Document d holds 1000 * d + 1, + 2 ...: every token says where it is from."""
    rows = [(np.arange(1, n + 1, dtype=dtype) + 1000 * d).astype(dtype) for d, n in enumerate(sizes)]

    def stream() -> Iterator[Any]:
        yield from ((row,) for row in rows)

    return ds.GeneratorDataset(stream, ["ids"])


def rows_of(data: ds.Dataset) -> Rows:
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def segments(row: dict[str, Any]) -> list[list[int]]:
    """The tokens of each segment, after checking what belongs together."""
    ids, numbers, positions = row["ids"], row["segment_ids"], row["positions"]
    assert np.array_equal(row["mask"], numbers > 0)
    used = int(row["mask"].sum())
    assert row["mask"][:used].all()  # padding is at the end
    assert not ids[used:].any()
    assert not positions[used:].any()
    found = [ids[numbers == number].tolist() for number in range(1, int(numbers.max(initial=0)) + 1)]
    for number, tokens in enumerate(found, start=1):
        assert tokens
        assert positions[numbers == number].tolist() == list(range(len(tokens)))
    assert [token for tokens in found for token in tokens] == ids[:used].tolist()  # one after the other
    return found


sizes = st.lists(st.integers(0, 15), max_size=30)


@given(sizes=sizes, length=st.integers(1, 12), chunk_rows=st.sampled_from([1, 4, None]))
def test_split_fills_every_sequence_with_the_tokens_in_order(
    sizes: list[int], length: int, chunk_rows: int | None
) -> None:
    settings.update(executor="inline", chunk_rows=chunk_rows)
    rows = rows_of(documents(sizes).pack(length, split=True))
    whole = [1000 * d + i for d, n in enumerate(sizes) for i in range(1, n + 1)]
    assert [token for row in rows for tokens in segments(row) for token in tokens] == whole
    assert all(row["mask"].all() for row in rows[:-1])
    assert len(rows) == -(-len(whole) // length)
    for row in rows:
        assert row["ids"].shape == (length,)
        # a segment is of one document, and another one begins with another document
        homes = [{token // 1000 for token in tokens} for tokens in segments(row)]
        assert all(len(home) == 1 for home in homes)
        assert len({home.pop() for home in homes}) == len(homes)


@given(
    sizes=sizes,
    length=st.integers(1, 12),
    bins=st.integers(1, 5),
    too_long=st.sampled_from(["cut", "drop", "split"]),
)
def test_every_token_once_and_documents_whole(
    sizes: list[int], length: int, bins: int, too_long: Any
) -> None:
    settings.update(executor="inline")
    rows = rows_of(documents(sizes).pack(length, bins=bins, too_long=too_long))
    got = [tokens for row in rows for tokens in segments(row)]
    wanted: list[list[int]] = []
    for d, n in enumerate(sizes):
        tokens = [1000 * d + i for i in range(1, n + 1)]
        if n > length and too_long == "drop":
            continue
        if too_long == "cut":
            tokens = tokens[:length]
        wanted += [tokens[at : at + length] for at in range(0, len(tokens), length)]
    assert sorted(got) == sorted(wanted)
    assert all(sum(map(len, segments(row))) <= length for row in rows)


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=25),
    options=st.sampled_from(
        [
            {},
            {"bins": 1},
            {"bins": 3},
            {"split": True},
            {"drop_remainder": True},
            {"length": 4, "too_long": "split"},
        ]
    ),
    end=st.sampled_from([None, 7]),
)
def test_goes_on_from_any_state(sizes: list[int], options: dict[str, Any], end: int | None) -> None:
    settings.update(executor="inline", chunk_rows=3)
    options = {"length": 10, "end_token": end, **options}
    data = documents(sizes).pack(options.pop("length"), **options)
    iterator = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    states, rows = [(0, 0, iterator.state())], []
    for epoch in range(2):
        for row in iterator:
            rows.append(row["ids"].tolist())
            states.append((epoch, len(rows), iterator.state()))
    settings.update(chunk_rows=None)
    for epoch, done, state in states:
        saved = json.loads(json.dumps(state))
        again = data.create_dict_iterator(num_epochs=2, output_numpy=True, state=saved)
        assert [row["ids"].tolist() for _ in range(epoch, 2) for row in again] == rows[done:]


def test_more_bins_waste_less_and_none_waits_for_ever() -> None:
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 128, 3000).tolist()
    made = {bins: rows_of(documents(lengths, np.int64).pack(128, bins=bins)) for bins in (1, 4, 16)}
    assert len(made[1]) > len(made[4]) > len(made[16])
    filled = sum(lengths) / (128 * len(made[16]))
    assert filled > 0.93
    for bins, rows in made.items():
        for row in rows:
            homes = np.unique(row["ids"][row["mask"]] // 1000)
            assert homes.max() - homes.min() <= 40 * bins


def test_the_state_is_small_and_does_not_grow() -> None:
    data = documents([5, 90, 3, 60, 128, 30, 70] * 200, np.int64).pack(128)
    iterator = data.create_dict_iterator(num_epochs=1)
    most = 0
    for _ in iterator:
        most = max(most, len(json.dumps(iterator.state())))
    assert most < 2500


def test_end_token_is_part_of_its_document() -> None:
    rows = rows_of(documents([2, 0, 3]).pack(8, bins=1, end_token=9, pad_token=-1))
    assert rows[0]["ids"].tolist() == [1, 2, 9, 9, 2001, 2002, 2003, 9]
    assert rows[0]["segment_ids"].tolist() == [1, 1, 1, 2, 3, 3, 3, 3]
    cut = rows_of(documents([3]).pack(3, end_token=9, too_long="cut"))
    assert cut[0]["ids"].tolist() == [1, 2, 3]
    parted = rows_of(documents([3]).pack(2, end_token=9, too_long="split"))
    assert [row["ids"].tolist() for row in parted] == [[1, 2], [3, 9]]


def test_several_columns_are_packed_alike() -> None:
    def stream() -> Iterator[Any]:
        for n in (2, 3):
            yield np.arange(n), np.full(n, n / 2, np.float32), np.ones(n, np.bool_), "text"

    data = ds.GeneratorDataset(stream, ["ids", "weight", "loss", "name"])
    packed = data.pack(
        6,
        ["ids", "weight", "loss"],
        end_token={"ids": 99, "weight": 0.5, "loss": False},
        pad_token={"ids": -100, "weight": 0.0, "loss": False},
    )
    assert packed.get_col_names() == ["ids", "weight", "loss", "segment_ids", "positions", "mask"]
    first, second = rows_of(packed)
    assert first["ids"].tolist() == [0, 1, 99, -100, -100, -100]
    assert second["weight"].tolist() == [1.5, 1.5, 1.5, 0.5, 0.0, 0.0]
    assert second["loss"].tolist() == [True, True, True, False, False, False]
    assert [column.dtype for column in second.values()] == [
        np.int64,
        np.float32,
        np.bool_,
        np.int32,
        np.int32,
        np.bool_,
    ]


def test_drop_remainder_leaves_out_what_is_open_at_the_end() -> None:
    assert len(rows_of(documents([4, 4, 3]).pack(4))) == 3
    assert len(rows_of(documents([4, 4, 3]).pack(4, drop_remainder=True))) == 2


def test_shards_share_no_document() -> None:
    seen: list[set[int]] = []
    for shard in range(2):
        rows = [np.arange(n) + 1000 * d for d, n in enumerate([3, 5, 2, 4, 6, 1])]
        data = ds.GeneratorDataset(rows, "ids", num_shards=2, shard_id=shard, shuffle=False)
        packed = rows_of(data.pack(8))
        seen.append({int(token) for row in packed for token in row["ids"][row["mask"]]})
    assert not seen[0] & seen[1]
    assert len(seen[0] | seen[1]) == 21


def test_a_document_that_is_too_long_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(
        RuntimeError, match=r"document of 9 tokens does not fit into a sequence of 8"
    ) as caught:
        rows_of(documents([3, 9]).pack(8))
    assert "too_long='cut'" in str(caught.value)
    assert caught.value.context["row"] == 1  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="document of 9 tokens"):
        rows_of(documents([8]).pack(8, end_token=0))
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = documents([3, 9, 2]).pack(8)
    (row,) = rows_of(data)
    assert segments(row) == [[1, 2, 3], [2001, 2002]]
    assert [entry.row for entry in data.skipped()] == [1]


def test_values_that_are_no_documents() -> None:
    with pytest.raises(RuntimeError, match=r"'x' is int64\[\]"):
        list(ds.NumpySlicesDataset({"x": [1, 2]}).pack(4))
    with pytest.raises(
        RuntimeError, match=r"arrays of numbers with one dimension, but got <U\d of shape \[\]"
    ):
        list(ds.GeneratorDataset([np.array("text")], "x").pack(4))
    odd = ds.GeneratorDataset([(np.ones(2), np.ones(3))], ["a", "b"])
    with pytest.raises(RuntimeError, match="'a' has 2 values and 'b' has 3") as caught:
        list(odd.pack(4))
    assert caught.value.context["column"] == "b"  # type: ignore[attr-defined]
    mixed = ds.GeneratorDataset([np.ones(2, np.int32), np.ones(2, np.int64)], "x", shuffle=False)
    with pytest.raises(RuntimeError, match="column 'x' is int64 here and int32 in the documents before"):
        list(mixed.pack(4))
    with pytest.raises(RuntimeError, match="pad_token=-100 is no value of column 'ids', which is uint8"):
        list(documents([2], np.uint8).pack(4, pad_token=-100))


def test_names_of_columns() -> None:
    data = documents([2])
    with pytest.raises(RuntimeError, match=r"no column 'tokens' to pack. The columns are \['ids'\]"):
        list(data.pack(4, "tokens"))
    with pytest.raises(RuntimeError, match="pack adds a column 'mask', and there is one"):
        list(data.rename("ids", "mask").pack(4))
    with pytest.raises(RuntimeError, match=r"pad_token, a value for each packed column"):
        list(data.pack(4, pad_token={"x": 1}))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"length": 0}, ValueError, "length"),
        ({"length": "4"}, TypeError, "length"),
        ({"length": 4, "bins": 0}, ValueError, "bins"),
        ({"length": 4, "too_long": "squeeze"}, ValueError, "too_long"),
        ({"length": 4, "split": True, "too_long": "cut"}, ValueError, "has no meaning"),
        ({"length": 4, "end_token": "x"}, TypeError, "end_token should be a number"),
        ({"length": 4, "pad_token": None}, TypeError, "pad_token should be a number"),
        ({"length": 4, "columns": ["a"], "pad_token": {"b": 1}}, ValueError, "for each packed column"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        documents([1]).pack(**arguments)


def test_as_json_and_in_explain() -> None:
    source = ds.RandomDataset(total_rows=6)
    for data in (
        source.pack(8, ["c1"], too_long="cut", end_token=2, pad_token={"c1": 1.0}),
        source.pack(8, ["c0", "c1"], split=True, drop_remainder=True),
    ):
        again = ds.deserialize(json.loads(json.dumps(ds.serialize(data))))
        assert again is not None
        assert ds.compare(data, again)
        assert again.explain("as written") != ""
    assert "Pack(length=8, columns=['c0', 'c1'], split=True, drop_remainder=True)" in data.explain()
    assert "segment_ids: int32[8], positions: int32[8], mask: bool[8]" in data.explain()


def test_only_what_is_packed_is_read_and_sizes_are_counted() -> None:
    rows = {"a": np.ones((6, 3)), "b": np.ones((6, 2))}
    data = ds.NumpySlicesDataset(rows, shuffle=False).pack(6, "a")
    assert data.get_dataset_size() == 3
    assert "b: " not in data.explain()
