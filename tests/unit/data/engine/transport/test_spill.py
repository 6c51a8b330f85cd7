"""A memory budget never changes a row: what a shuffle's window cannot hold waits on disk."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

import millrace.dataset as ds
from millrace._src.core import log, settings
from millrace._src.core.errors import ResourceError
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.transport import spill as spilling
from millrace._src.data.engine.transport.spill import SpillFile

ROWS = 60


def dense() -> Iterator[tuple[Any, ...]]:
    for i in range(ROWS):
        yield np.full(4096, i, np.int32), np.int64(i)


def ragged() -> Iterator[tuple[Any, ...]]:
    for i in range(ROWS):
        yield np.full((i % 7, 1024), i, np.int32), np.array(f"row {'x' * (i % 5)} {i}")


def objects() -> Iterator[tuple[Any, ...]]:
    for i in range(ROWS):
        yield {"picture": np.full(4096, i, np.uint8)}, np.int64(i)


def stubborn() -> Iterator[tuple[Any, ...]]:
    """Rows that do not pickle stay in memory."""
    for i in range(ROWS):
        yield {"run": lambda i=i: i, "picture": np.full(4096, i, np.uint8)}, np.int64(i)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: v() if callable(v) else plain(v) for k, v in value.items()}
    return (value.dtype.str, value.tolist())


def run(rows: Any, budget: int | None, buffer: int, epochs: int = 2) -> tuple[list[Any], int]:
    ds.config.set_seed(11)
    with settings.override(memory_budget=budget):
        data = ds.GeneratorDataset(rows, ["x", "y"]).shuffle(buffer)
        iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
        got = [[plain(value) for value in row] for _ in range(epochs) for row in iterator]
        report = data.report()
    assert len(got) == epochs * ROWS
    return got, report.spilled_bytes


@pytest.mark.parametrize("rows", [dense, ragged, objects, stubborn])
@pytest.mark.parametrize("buffer", [7, 25, 100])
def test_same_rows_for_any_budget(rows: Any, buffer: int, no_leaks: None) -> None:
    wanted, none = run(rows, None, buffer)
    assert none == 0
    assert [row[1] for row in wanted] != sorted(row[1] for row in wanted)
    for budget in (300_000, 40_000, 2_000):
        got, spilled = run(rows, budget, buffer)
        assert got == wanted
        assert spilled > 0 or rows is stubborn or budget > 40_000


def test_the_report_says_what_was_spilled() -> None:
    with settings.override(memory_budget=100_000):
        data = ds.GeneratorDataset(dense, ["x", "y"]).shuffle(50)
        for _ in data.create_tuple_iterator(num_epochs=1):
            pass
        report = data.report()
    assert report.spilled_bytes > 16 * 1024 * 40
    assert "went through the disk" in str(report)
    assert report.peak_bytes < 16 * 1024 * 50 / 2
    assert "of rows waited on disk" in report.to_html()


PROGRAM = """
import json, sys
import numpy as np
import millrace.dataset as ds

def rows():
    for i in range(400):
        yield np.full(8192, i, np.int32), np.int64(i)

ds.config.set_seed(3)
ds.config.set_memory_budget(sys.argv[1])
state = json.loads(sys.argv[2]) if len(sys.argv) > 2 else None
data = ds.GeneratorDataset(rows, ["x", "i"]).shuffle(200).batch(5)
iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True, state=state)
got = []
for x, i in iterator:
    assert (x[:, 0] == i).all()
    got += i.tolist()
    if state is None and len(got) == 150:
        break
print(json.dumps({"rows": got, "state": iterator.state()}))
iterator.stop()
"""


def script(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *arguments],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_state_goes_on_under_another_budget() -> None:
    """Saved where there is much memory, resumed in another process with little: no row is lost or doubled."""
    first = script("1GiB")
    rest = script("2MiB", json.dumps(first["state"]))
    whole = script("1GiB", json.dumps(first["state"]))
    assert rest["rows"] == whole["rows"]
    assert sorted(first["rows"] + rest["rows"]) == list(range(400))
    assert max(abs(place - row) for place, row in enumerate(first["rows"])) > 50


def test_a_full_disk_is_an_error_with_numbers(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    data = ds.GeneratorDataset(dense, ["x", "y"]).shuffle(50)
    with settings.override(memory_budget=100_000):
        iterator = data.create_tuple_iterator(num_epochs=1)
        with pytest.raises(
            ResourceError, match=r"(?s)shuffle.*50 rows of about 16\d\d\d bytes.*100000.*TMPDIR.*set_mem"
        ):
            next(iterator)


def test_what_cannot_fit_is_refused_before_the_first_row(
    monkeypatch: pytest.MonkeyPatch, no_leaks: None
) -> None:
    monkeypatch.setattr("millrace._src.data.engine.stages.window_shuffle.free_bytes", lambda folder: 1000)
    seen: list[int] = []

    def look(x: Any) -> Any:
        seen.append(1)
        return x

    source = ds.NumpySlicesDataset(np.zeros((50, 4096), np.int32), ["x"], shuffle=False).repeat(2)
    data = source.shuffle(90).map(look)
    with settings.override(memory_budget=100_000):
        iterator = data.create_tuple_iterator(num_epochs=1)
        with pytest.raises(ResourceError, match="1000 bytes free"):
            next(iterator)
    assert not seen


def test_a_folder_in_memory_is_left_for_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/tmp")
    monkeypatch.setattr(spilling, "_is_in_memory", lambda folder: folder == "/tmp")
    assert spilling.spill_folder() == "/var/tmp"
    monkeypatch.setenv("TMPDIR", "/tmp")
    assert spilling.spill_folder() == "/tmp"


def test_rows_come_back_as_they_were() -> None:
    picture = Image.new("RGB", (3, 2), (1, 2, 3))
    columns: dict[str, Any] = {"a": np.arange(4.0), "b": [np.arange(i) for i in range(4)], "c": [picture] * 4}
    chunk = Chunk(columns, np.arange(4, dtype=np.uint64), np.arange(4) + 7, 2, 0)
    spill = SpillFile()
    places = spill.add(chunk)
    assert places is not None
    row = spill.row(places[2])
    assert row.columns["a"].tolist() == [2.0]  # type: ignore[union-attr]
    assert row.columns["b"][0].tolist() == [0, 1]
    assert row.columns["c"][0].getpixel((0, 0)) == (1, 2, 3)
    assert (row.ids.tolist(), row.origin.tolist(), row.epoch) == ([2], [9], 2)
    row.columns["a"][0] = 5  # it is ours
    spill.close()


def test_a_budget_too_small_for_a_batch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_warned_keys", set())
    data = ds.NumpySlicesDataset(np.zeros((12, 4096), np.int32), ["x"], shuffle=False).batch(4)
    told = pytest.warns(UserWarning, match=r"50000 bytes.*too small.*set_memory_budget\(\d+\)")
    with settings.override(memory_budget=50_000), told:
        rows = list(data.create_tuple_iterator(num_epochs=1))
    assert len(rows) == 3
