"""Rows that are brought along: the same rows, each given out once, errors where they belong, no thread left waiting."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.core import settings
from millrace.data.sources import read_ahead
from millrace.data.sources.read_ahead import ReadAhead


class Rows:
    """Counts what it is asked for."""

    def __init__(self, bad: int = -1) -> None:
        self.asked: list[int] = []
        self.bad = bad

    def __call__(self, rows: Any) -> dict[str, Any]:
        self.asked.append(len(rows))
        if self.bad in rows:
            raise ValueError(f"row {self.bad}")
        return {"n": rows * 2, "text": [np.array(str(n)) for n in rows.tolist()]}


def block(start: int, count: int = 100) -> Any:
    return np.arange(start, start + count)


@pytest.mark.parametrize("count", [64, 100, 256, 1000])
def test_blocks_in_order(count: int) -> None:
    rows = Rows()
    ahead = ReadAhead(rows, 10_000, 50)
    found = [ahead(np.arange(at, min(at + count, 10_000))) for at in range(0, 10_000, count)]
    assert np.array_equal(np.concatenate([part["n"] for part in found]), np.arange(10_000) * 2)
    assert [text.item() for part in found for text in part["text"]] == [str(n) for n in range(10_000)]
    assert len(rows.asked) <= 10_000 / (2048 // count * count) + 2


def test_what_is_given_out_is_not_given_again() -> None:
    ahead = ReadAhead(Rows(), 4000, 50)
    first = ahead(block(0))["n"]
    first[:] = -1
    assert ahead(block(0))["n"].tolist() == (block(0) * 2).tolist()
    assert ahead(block(50))["n"].tolist() == (block(50) * 2).tolist()


@pytest.mark.parametrize("rows", [block(7)[::-1], block(0, 200)[::2], block(3, 1), np.array([5] * 64)])
def test_other_orders_are_read_as_they_are(rows: Any) -> None:
    source = Rows()
    assert ReadAhead(source, 4000, 50)(rows)["n"].tolist() == (rows * 2).tolist()
    assert source.asked == [len(rows)]


def test_large_rows_are_not_brought_along() -> None:
    source = Rows()
    ReadAhead(source, 4000, 1 << 20)(block(0))
    assert source.asked == [100]


def test_a_bad_row_fails_only_who_asks_for_it() -> None:
    ahead = ReadAhead(Rows(bad=350), 4000, 50)
    for start in (0, 100, 200, 400):
        assert ahead(block(start))["n"][0] == start * 2
    with pytest.raises(ValueError, match="row 350"):
        ahead(block(300))


def test_it_stops_where_others_have_the_rows() -> None:
    """One of eight processes: seven eighths of each window are never asked for."""
    source = Rows()
    ahead = ReadAhead(source, 1_000_000, 50)
    for start in range(0, 200_000, 8 * 256):
        ahead(block(start, 256))
    assert source.asked[-1] == 256


def test_threads_share_windows() -> None:
    ahead, found, turn = ReadAhead(Rows(), 60_000, 50), {}, iter(range(0, 60_000, 100))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                start = next(turn, None)
            if start is None:
                return
            found[start] = ahead(block(start))["n"]

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert all(found[start].tolist() == (block(start) * 2).tolist() for start in range(0, 60_000, 100))


@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_a_pipeline_gives_the_same_with_and_without(
    executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_leaks: None
) -> None:
    """Types too: a long line must not make the texts of other batches wide."""
    lines = [f"line {n}" for n in range(5000)]
    lines[1500] = "long " * 20
    (tmp_path / "t.txt").write_text("\n".join(lines))

    def run() -> list[Any]:
        data = ds.TextFileDataset(str(tmp_path / "t.txt"), shuffle=False, num_parallel_workers=2).batch(128)
        batches = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
        return [(batch.dtype.str, batch.tolist()) for (batch,) in batches]

    with settings.override(executor=executor):
        with_it = run()
        monkeypatch.setattr(read_ahead, "MOST_ROWS", 1)
        assert with_it == run()
