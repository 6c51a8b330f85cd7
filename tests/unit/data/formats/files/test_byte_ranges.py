"""Rows cut out of files: many small runs at once, files that change, and CSV fields as one block of bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core.errors import FormatError
from millrace._src.data.formats.csv import records as csv_rows
from millrace._src.data.formats.csv.records import CsvFormat
from millrace._src.data.formats.files import byte_ranges as spans
from millrace._src.data.formats.files.byte_ranges import FileHandles, RowBlock, read_ranges

DATA = bytes(range(256)) * 100


@pytest.fixture
def handles() -> Any:
    handles_ = FileHandles()
    yield handles_
    handles_.close()


@pytest.mark.parametrize("size", [0, 1, 40])
@pytest.mark.parametrize("count", [1, 7, 8, 300])
def test_any_runs(handles: FileHandles, tmp_path: Path, size: int, count: int) -> None:
    (tmp_path / "a").write_bytes(DATA)
    starts = np.random.default_rng(count).integers(0, len(DATA) - size, count)
    starts[0] = len(DATA) - size  # up to the last byte
    block = read_ranges(handles, str(tmp_path / "a"), starts, starts + size, np.arange(count))
    wanted = [DATA[a : a + size] for a in starts.tolist()]
    assert block.pieces() == wanted
    assert [block.data[a:b] for a, b in zip(block.starts.tolist(), block.stops.tolist())] == wanted


@pytest.mark.parametrize("order", ["as they lie", "shuffled", "every other"])
def test_lines_of_a_block(handles: FileHandles, tmp_path: Path, order: str) -> None:
    lines = [f"line {n}".encode() for n in range(40)]
    (tmp_path / "a").write_bytes(b"\n".join(lines))
    stops = np.cumsum([len(line) + 1 for line in lines]) - 1
    starts = stops - [len(line) for line in lines]
    rows = {"as they lie": np.arange(40), "shuffled": np.random.default_rng(1).permutation(40)}.get(order)
    rows = np.arange(0, 40, 2) if rows is None else rows
    block = read_ranges(handles, str(tmp_path / "a"), starts[rows], stops[rows], rows)
    assert block.joined() == b"\n".join(lines[n] for n in rows.tolist())


def test_an_empty_run_at_the_start_of_the_file(handles: FileHandles, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    zeros = np.zeros(9, np.int64)
    assert b"".join(handles.read_many(str(tmp_path / "a"), zeros, zeros)) == b""


def test_a_file_cut_while_in_use(handles: FileHandles, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    starts = np.arange(0, len(DATA) - 10, 300)[::-1].copy()
    assert len(b"".join(handles.read_many(str(path), starts, starts + 10))) == 10 * len(starts)
    os.truncate(path, 1000)
    with pytest.raises(FormatError, match="ends at byte 1000: it was truncated while in use"):
        handles.read_many(str(path), starts, starts + 10)


def test_a_file_that_grew_while_in_use(handles: FileHandles, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    starts = np.arange(0, 20_000, 1000)
    handles.read_many(str(path), starts, starts + 1)
    path.write_bytes(DATA * 2)
    starts += len(DATA)
    wanted = bytes(DATA[at - len(DATA)] for at in starts.tolist())
    assert b"".join(handles.read_many(str(path), starts, starts + 1)) == wanted


def test_more_files_than_are_kept_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MAX_OPEN", 2)
    for n in range(5):
        (tmp_path / f"{n}.txt").write_text("".join(f"file {n} line {k}\n" for k in range(40)))
    data = ds.TextFileDataset(str(tmp_path / "*.txt"), shuffle=True)
    rows = [str(row["text"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert sorted(rows) == sorted(f"file {n} line {k}" for n in range(5) for k in range(40))


# --- CSV -------------------------------------------------------------------------------------------------------------

FIELD = st.text(st.characters(codec="utf-8", exclude_characters='"\n\r,\0'), max_size=12)


@given(st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=12))
def test_text_cut_from_bytes_is_the_text_split(rows: list[tuple[str, str, str]]) -> None:
    lines = [",".join(row).encode() for row in rows]
    lengths = np.array([len(line) for line in lines])
    starts = np.cumsum(lengths + 1) - lengths - 1
    block = RowBlock(b"\n".join(lines), starts, starts + lengths, "x", np.arange(len(rows)))
    columns = CsvFormat(["a", None, "c"], [str, str, str]).rows(block)
    assert [list(map(str, columns[name])) for name in ("a", "c")] == [
        [row[0] for row in rows],
        [row[2] for row in rows],
    ]
    assert all(column.dtype.kind == "U" for column in columns.values() if isinstance(column, np.ndarray))


def test_one_long_field_does_not_widen_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n" + "x,y\n" * 2000 + "z" * 100_000 + ",y\n")
    table = CsvFormat(["a", "b"], [str, str], skip=1)
    assert table._split_ascii(b"\n".join([b"x,y"] * 2000 + [b"z" * 100_000 + b",y"]), 2001) is None
    rows = list(
        ds.CSVDataset(str(tmp_path / "a.csv"), shuffle=False).create_tuple_iterator(
            num_epochs=1, output_numpy=True
        )
    )
    assert rows[-1][0].item() == "z" * 100_000
    assert (len(rows), rows[0][1].item()) == (2001, "y")


@pytest.mark.parametrize("line", [b"a", b"a,b,c"])
def test_another_number_of_fields(line: bytes) -> None:
    block = RowBlock(b"1,2" + line, np.array([0, 3]), np.array([3, 3 + len(line)]), "x", np.arange(2))
    with pytest.raises(FormatError, match=r"at line 2.*fields"):
        CsvFormat(["a", "b"], [str, str]).rows(block)


def test_numbers_and_text_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,x,2.5\n2,yy,-1\n")
    data = ds.CSVDataset(
        str(tmp_path / "a.csv"), column_defaults=[0, "", 0.0], column_names=list("abc"), shuffle=False
    )
    batch = next(iter(data.batch(2).create_dict_iterator(num_epochs=1, output_numpy=True)))
    assert {name: column.tolist() for name, column in batch.items()} == {
        "a": [1, 2], "b": ["x", "yy"], "c": [2.5, -1.0],
    }  # fmt: skip
    assert csv_rows.CsvFormat(["a", "b"], [int, str]).typed
