"""Small rows of a user's object go through the user's function one by one: nobody can tell, but by the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.data.engine.segment import fused_read_map as straight

ROWS = 3000


class Rows:
    """Row i is an array of i's and the number; one row may be something else."""

    def __init__(self, odd: dict[int, Any] | None = None) -> None:
        self.arrays = np.repeat(np.arange(ROWS, dtype=np.int32)[:, None], 4, 1)
        self.odd, self.asked = odd or {}, Counter[int]()

    def __getitem__(self, i: int) -> Any:
        self.asked[i] += 1
        found = self.odd.get(i, self.arrays[i])
        if isinstance(found, Exception):
            raise found
        return found, np.int64(i)

    def __len__(self) -> int:
        return ROWS


@pytest.fixture(autouse=True)
def gone(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Rows that went straight through; every chunk may, however long it takes, but for the first of sixteen."""
    monkeypatch.setattr(straight, "MAX_ROW_SECONDS", 10.0)
    counted: Counter[str] = Counter()
    real = straight._FusedChunk.run

    def run(self: Any, failures: Any) -> Any:
        made = real(self, failures)
        counted["rows"] += len(made)
        return made

    monkeypatch.setattr(straight._FusedChunk, "run", run)
    return counted


def mapped(source: Any, function: Callable[[Any], Any]) -> Any:
    data = ds.GeneratorDataset(source, ["x", "i"], shuffle=False)
    return data.map(function, input_columns="x").create_dict_iterator(num_epochs=1, output_numpy=True)


def test_the_same_rows_each_asked_for_once(gone: Counter[str], no_leaks: None) -> None:
    source, called = Rows(), Counter[int]()

    def function(x: Any) -> Any:
        called[int(x[0])] += 1
        return x * 2

    for i, row in enumerate(mapped(source, function)):
        assert row["x"].tolist() == [2 * i] * 4
        assert row["i"] == i
    assert i == ROWS - 1
    assert gone["rows"] > ROWS / 2
    assert set(source.asked.values()) == set(called.values()) == {1}


def test_a_function_may_write_into_its_argument_and_keep_it(gone: Counter[str], no_leaks: None) -> None:
    source, kept = Rows(), []

    def function(x: Any) -> Any:
        x += 1
        kept.append(x)
        return x.copy()

    got = [int(row["x"][0]) for row in mapped(source, function)]
    assert got == list(range(1, ROWS + 1))
    assert sorted(int(x[0]) for x in kept) == got  # several threads may call it
    assert (source.arrays[:, 0] == np.arange(ROWS)).all()
    assert gone["rows"] > 0


def test_a_buffer_that_the_function_refills(gone: Counter[str], no_leaks: None) -> None:
    buffer = np.zeros(4, np.int32)

    def function(x: Any) -> Any:
        buffer[:] = x
        return buffer

    rows = list(mapped(Rows(), function))
    assert [int(row["x"][0]) for row in rows] == list(range(ROWS))
    assert gone["rows"] > 0


@pytest.mark.parametrize("where", ["read", "map"])
def test_a_row_that_fails_comes_after_all_before_it(where: str, gone: Counter[str], no_leaks: None) -> None:
    bad = 2500
    source = Rows({bad: OSError("cannot be read")} if where == "read" else None)
    called = Counter[int]()

    def function(x: Any) -> Any:
        called[int(x[0])] += 1
        if x[0] == bad:
            raise ValueError("cannot be mapped")
        return x.copy()

    rows = mapped(source, function)
    assert [int(next(rows)["i"]) for _ in range(bad)] == list(range(bad))
    with pytest.raises(RuntimeError, match=rf"cannot be {where}") as caught:
        next(rows)
    assert source.asked[bad] == 1
    assert called[bad] == (where == "map")
    said = str(caught.value)
    assert f"row: {bad}" in said
    assert (
        "map operation: [PyFunc]" if where == "map" else "GeneratorDataset operation: reading a row"
    ) in said
    assert gone["rows"] > 0


@pytest.mark.parametrize("where", ["read", "map"])
@pytest.mark.parametrize("cheap", [0.0, 10.0], ids=["both steps", "straight"])
def test_a_stop_of_the_users_is_an_error_and_no_end(
    where: str, cheap: float, monkeypatch: pytest.MonkeyPatch, no_leaks: None
) -> None:
    monkeypatch.setattr(straight, "MAX_ROW_SECONDS", cheap)

    def function(x: Any) -> Any:
        if where == "map" and x[0] == 2500:
            raise StopIteration
        return x.copy()

    rows = mapped(Rows({2500: StopIteration()} if where == "read" else None), function)
    assert [int(next(rows)["i"]) for _ in range(2500)] == list(range(2500))
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        next(rows)
    assert "row: 2500" in str(caught.value)
    assert ("map operation" if where == "map" else "reading a row") in str(caught.value)


@pytest.mark.parametrize(
    "made",
    [np.float64(0.5), 7, "text", np.zeros((2, 2), np.int32), np.zeros(4), [1, 2], np.array("text")],
    ids=["number", "int", "str", "shape", "type", "list", "array of text"],
)
def test_what_is_made_of_a_row_may_be_of_another_kind(made: Any, gone: Counter[str], no_leaks: None) -> None:
    source, called = Rows(), Counter[int]()

    def function(x: Any) -> Any:
        called[int(x[0])] += 1
        return made if x[0] == 2500 else x.copy()

    rows = list(mapped(source, function))
    assert len(rows) == ROWS
    for i, row in enumerate(rows):
        wanted = np.asarray(made) if i == 2500 else source.arrays[i]
        assert row["x"].dtype == wanted.dtype
        assert row["x"].tolist() == wanted.tolist()
    assert set(called.values()) == {1}
    assert gone["rows"] > 0


@pytest.mark.parametrize(
    "given", [[5, 5], 3.5, "text", np.array("text")], ids=["list", "number", "str", "array"]
)
def test_what_is_read_may_be_of_another_kind(given: Any, gone: Counter[str], no_leaks: None) -> None:
    kinds = []

    def function(x: Any) -> Any:
        if x.shape != (4,):
            kinds.append((type(x), x.dtype.kind, x.shape))
        return x.copy()

    source = Rows({2500: given})
    rows = list(mapped(source, function))
    assert [int(row["i"]) for row in rows] == list(range(ROWS))
    assert rows[2500]["x"].tolist() == np.asarray(given).tolist()
    assert kinds == [(np.ndarray, np.asarray(given).dtype.kind, np.asarray(given).shape)]
    assert gone["rows"] > 0


def test_other_error_modes_take_both_steps(gone: Counter[str], no_leaks: None) -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    try:
        source = Rows({2500: OSError("cannot be read")})
        assert len(list(mapped(source, lambda x: x + 1))) == ROWS - 1
    finally:
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.RETURN)
    assert not gone["rows"]
