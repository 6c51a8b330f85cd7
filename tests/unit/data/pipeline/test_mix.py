"""ds.mix: rows of several datasets drawn by weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core import settings


def part(number: int, rows: int, **options: Any) -> ds.Dataset:
    """Rows of which each says where it is from."""
    data = {"part": np.full(rows, number), "row": np.arange(rows)}
    return ds.NumpySlicesDataset(data, shuffle=options.pop("shuffle", False), **options)


def rows_of(data: ds.Dataset, epochs: int = 1) -> list[list[tuple[int, int]]]:
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    return [[(int(row["part"]), int(row["row"])) for row in iterator] for _ in range(epochs)]


def from_part(rows: list[tuple[int, int]], number: int) -> list[int]:
    return [row for part, row in rows if part == number]


def test_stop_ends_when_a_dataset_has_no_row_for_the_draw(no_leaks: None) -> None:
    ds.config.set_seed(3)
    for rows in rows_of(ds.mix([part(0, 50), part(1, 10)], [1, 1]), epochs=3):
        zero, one = from_part(rows, 0), from_part(rows, 1)
        assert zero == list(range(len(zero)))
        assert one == list(range(len(one)))
        assert len(one) == 10 or len(zero) == 50


def test_drop_gives_every_row_once(no_leaks: None) -> None:
    ds.config.set_seed(3)
    data = ds.mix([part(0, 20), part(1, 3), part(2, 9)], [1, 5, 2], exhausted="drop")
    assert data.get_dataset_size() == 32
    for rows in rows_of(data, epochs=2):
        assert [from_part(rows, number) for number in range(3)] == [
            list(range(20)),
            list(range(3)),
            list(range(9)),
        ]


def test_restart_goes_through_every_dataset_and_ends_with_the_last(no_leaks: None) -> None:
    ds.config.set_seed(3)
    for rows in rows_of(ds.mix([part(0, 40), part(1, 3)], [1, 1], exhausted="restart"), epochs=2):
        assert from_part(rows, 0) == list(range(40))
        again = from_part(rows, 1)
        assert again == [i % 3 for i in range(len(again))]
        assert len(again) > 15


def test_a_dataset_that_restarts_has_its_next_order() -> None:
    ds.config.set_seed(3)
    (rows,) = rows_of(ds.mix([part(0, 60), part(1, 6, shuffle=True)], [1, 1], exhausted="restart"))
    again = from_part(rows, 1)
    passes = [again[at : at + 6] for at in range(0, len(again) - 5, 6)]
    assert all(sorted(one) == list(range(6)) for one in passes)
    assert len({tuple(one) for one in passes}) > 1


def test_proportions_converge_and_are_reported() -> None:
    ds.config.set_seed(5)
    data = ds.mix([part(n, 20_000) for n in range(3)], [5, 3, 2]).batch(500).take(30)
    got: Counter[int] = Counter()
    for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        got.update(batch["part"].tolist())
    shares = [got[n] / 15_000 for n in range(3)]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.015)
    (stage,) = [stage for stage in data.report().stages if stage["drawn"]]
    drawn = stage["drawn"]
    assert [rows / sum(drawn) for rows in drawn] == pytest.approx([0.5, 0.3, 0.2], abs=0.015)
    assert "drawn: 50" in str(data.report()) or "drawn: 49" in str(data.report())


def test_another_draw_in_each_epoch_and_for_each_seed() -> None:
    ds.config.set_seed(5)
    data = ds.mix([part(0, 30), part(1, 30)], exhausted="drop")
    first, second = rows_of(data, epochs=2)
    assert first != second
    assert rows_of(data) == [first]
    ds.config.set_seed(6)
    assert rows_of(data) != [first]


def test_shards_are_disjoint_and_draw_alike() -> None:
    """Every rank draws from the same dataset at the same step, and no row is on two of them."""
    shards = []
    for shard in range(2):
        parts = [part(n, 40, num_shards=2, shard_id=shard) for n in range(2)]
        shards.append(rows_of(ds.mix(parts, [1, 3], exhausted="drop"))[0])
    assert [number for number, _ in shards[0]] == [number for number, _ in shards[1]]
    assert not set(shards[0]) & set(shards[1])
    assert len(set(shards[0]) | set(shards[1])) == 80


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    exhausted=st.sampled_from(["stop", "restart", "drop"]),
    chunk_rows=st.sampled_from([1, 3, None]),
    seed=st.integers(0, 2**31),
)
def test_rows_of_each_dataset_come_in_its_order(
    sizes: list[int], exhausted: Any, chunk_rows: int | None, seed: int
) -> None:
    ds.config.set_seed(seed)
    settings.update(executor="inline", chunk_rows=chunk_rows)
    data = ds.mix([part(n, size) for n, size in enumerate(sizes)], exhausted=exhausted)
    for rows in rows_of(data, epochs=2):
        counts = [len(from_part(rows, number)) for number in range(len(sizes))]
        for number, size in enumerate(sizes):
            got = from_part(rows, number)
            assert got == [i % size for i in range(len(got))]
        if exhausted == "drop":
            assert counts == sizes
        elif exhausted == "stop":
            assert any(count == size for count, size in zip(counts, sizes, strict=True))
        else:
            assert all(count >= size for count, size in zip(counts, sizes, strict=True))
            assert any(count % size == 0 for count, size in zip(counts, sizes, strict=True))


def test_columns_must_agree_and_the_error_says_which_does_not() -> None:
    one = ds.NumpySlicesDataset({"x": [1], "y": [2]})
    with pytest.raises(RuntimeError, match="dataset 0 of mix has a column 'y' that dataset 1 lacks"):
        list(ds.mix([one, one.project("x")]))
    with pytest.raises(RuntimeError, match="dataset 2 of mix has a column 'z' that dataset 0 lacks"):
        list(ds.mix([one, one, ds.NumpySlicesDataset({"x": [1], "y": [2], "z": [3]})]))
    with pytest.raises(RuntimeError, match="in another order than dataset 1"):
        list(ds.mix([one, one.project(["y", "x"])]))
    with pytest.raises(RuntimeError, match=r"column 'y' is int64.* in dataset 0 .* float64.* in dataset 1"):
        list(ds.mix([one, ds.NumpySlicesDataset({"x": [1], "y": [2.0]})]))


def test_types_that_are_only_known_from_rows_must_agree() -> None:
    def whole() -> Iterator[Any]:
        yield from np.arange(9)

    def halves() -> Iterator[Any]:
        yield from np.arange(9) / 2

    data = ds.mix([ds.GeneratorDataset(whole, "x"), ds.GeneratorDataset(halves, "x")], exhausted="drop")
    with pytest.raises(RuntimeError, match=r"Mix: the data types .* int64 and float64. The column is 'x'"):
        list(data)


def test_a_dataset_that_gives_no_rows_is_named() -> None:
    none = part(1, 4).filter(lambda row: False, "row")
    with pytest.raises(RuntimeError, match="dataset 1 of mix has no rows"):
        rows_of(ds.mix([part(0, 100), none], exhausted="restart"))
    assert len(rows_of(ds.mix([part(0, 10), none], exhausted="drop"))[0]) == 10


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([],), ValueError, "at least one dataset"),
        (([1],), TypeError, "number 0 is a int"),
        ((3,), TypeError, "datasets"),
        (([part(0, 2)], [1, 2]), ValueError, "2 for 1 datasets"),
        (([part(0, 2)], [0]), ValueError, "weight 0 should be greater than 0"),
        (([part(0, 2)], [float("nan")]), ValueError, "weight 0 should be greater than 0"),
        (([part(0, 2)], ["a"]), TypeError, "weight 0 should be a number"),
        (([part(0, 2)], 3), TypeError, "a list of weights"),
    ],
)
def test_bad_arguments(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ds.mix(*arguments)
    with pytest.raises(ValueError, match="exhausted"):
        ds.mix([part(0, 2)], exhausted="never")  # type: ignore[arg-type]


def test_as_json_and_in_explain() -> None:
    data = ds.mix([ds.RandomDataset(total_rows=6), ds.RandomDataset(total_rows=4)], np.array([1, 2]))
    saved = ds.serialize(data)
    assert (saved["weights"], saved["exhausted"]) == ([1.0, 2.0], "stop")
    again = ds.deserialize(saved)
    assert again is not None
    assert ds.compare(data, again)
    assert "Mix(weights=[1.0, 2.0], exhausted=stop)" in data.explain()


def test_only_the_columns_asked_for_are_read() -> None:
    asked = ds.mix([part(0, 4), part(1, 4)]).project("row").explain()
    assert "columns" in asked
    assert "part" not in asked
