"""What all file sources share: the kept index, the orders, the wording of wrong arguments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import FormatError
from millrace._src.data.formats.files import offset_index_cache as offsets
from millrace._src.data.formats.files.byte_ranges import MAX_GAP, FileHandles, read_ranges
from millrace._src.data.formats.text.lines import LineFormat
from millrace._src.data.sources.text.ag_news import AGNewsDataset
from millrace._src.data.sources.text.clue import CLUEDataset
from millrace._src.data.sources.text.iwslt import IWSLT2016Dataset
from millrace._src.data.sources.text.multi30k import Multi30kDataset
from millrace._src.data.sources.text_file import TextFileDataset


def texts(data: Any) -> list[str]:
    return [row["text"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


class Scan:
    """Counts how often a file is scanned."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, path: str) -> Any:
        self.count += 1
        return LineFormat("text").scan(path)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(offsets, "KEEP_FROM", 1)
    return tmp_path / "cache" / "millrace" / "offsets"


def test_an_index_is_kept_and_belongs_to_the_file(tmp_path: Path, kept: Path) -> None:
    path, scan = tmp_path / "t.txt", Scan()
    path.write_text("a\nb\n")
    for _ in range(2):
        assert len(offsets.load_or_scan_offsets(str(path), "lines", scan)) == 2
    assert scan.count == 1
    path.write_text("a\nb\nc\n")
    assert len(offsets.load_or_scan_offsets(str(path), "lines", scan)) == 3
    offsets.load_or_scan_offsets(str(path), "another kind", scan)
    assert scan.count == 3
    assert not [name for name in os.listdir(kept) if name.startswith("tmp")]


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:-1] + b"\xff", lambda d: b"", lambda d: d[4096:]]
)
def test_a_damaged_index_is_made_again(tmp_path: Path, kept: Path, damage: Any) -> None:
    path, scan = tmp_path / "t.txt", Scan()
    path.write_text("a\nb\n")
    offsets.load_or_scan_offsets(str(path), "lines", scan)
    (entry,) = kept.iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert offsets.load_or_scan_offsets(str(path), "lines", scan).starts.tolist() == [0, 2]
    assert scan.count == 2


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(offsets, "KEEP_FROM", 1)
    path = tmp_path / "t.txt"
    path.write_text("a\nb\n")
    assert len(offsets.load_or_scan_offsets(str(path), "lines", Scan())) == 2


def test_gather_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    data = bytes(range(256)) * 64
    path.write_bytes(data)
    starts = np.array([0, 10, 3 * MAX_GAP, 5, 5, 9])
    handles = FileHandles()
    block = read_ranges(handles, str(path), starts, starts + 4, np.arange(len(starts)))
    assert block.pieces() == [data[s : s + 4] for s in starts.tolist()]
    with pytest.raises(FormatError, match="was truncated while in use"):
        handles.read(str(path), len(data) - 1, len(data) + 1)
    handles.close()


def test_shuffle_modes(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / f"{n}.txt").write_text("".join(f"{n}{m}\n" for m in range(4)))
    pattern = str(tmp_path / "*.txt")
    ds.config.set_seed(5)
    by_files = texts(TextFileDataset(pattern, shuffle=ds.Shuffle.FILES))
    assert [t[1] for t in by_files] == list("0123") * 5
    assert [t[0] for t in by_files[::4]] != sorted(t[0] for t in by_files[::4])
    inside = texts(TextFileDataset(pattern, shuffle=ds.Shuffle.INFILE))
    assert [t[0] for t in inside] == sorted(t[0] for t in inside)
    assert inside != sorted(inside)
    shards = [
        texts(TextFileDataset(pattern, shuffle=ds.Shuffle.GLOBAL, num_shards=2, shard_id=k)) for k in range(2)
    ]
    assert sorted(shards[0] + shards[1]) == sorted(by_files)
    assert not set(shards[0]) & set(shards[1])


def test_many_files(tmp_path: Path, no_leaks: None) -> None:
    """More files than are held open at once."""
    for n in range(150):
        (tmp_path / f"{n:03}.txt").write_text(f"{n}\n")
    got = texts(TextFileDataset(str(tmp_path / "*.txt")))
    assert sorted(map(int, got)) == list(range(150))


def test_one_long_line_among_short_ones(tmp_path: Path) -> None:
    lines = ["x" * 200_000 if n == 7 else str(n) for n in range(500)]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    assert texts(TextFileDataset(str(tmp_path / "t.txt"), shuffle=False)) == lines


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: TextFileDataset(3), TypeError, "Argument dataset files with value 3 is not of type"),
        (lambda: TextFileDataset(""), ValueError, "Input dataset_files can not be empty, but got ''."),
        (lambda: TextFileDataset("nope*"), ValueError, r"did not match any files: \['nope\*'\]."),
        (lambda: AGNewsDataset(3), TypeError, "Argument dataset_dir with value 3 is not of type"),
        (
            lambda: AGNewsDataset("/nowhere"),
            ValueError,
            "The folder /nowhere does not exist or is not a directory",
        ),
        (
            lambda: AGNewsDataset(".", usage="x"),
            ValueError,
            r"usage is not within the valid set of \['train', 'test', 'all'\]",
        ),
        (
            lambda: AGNewsDataset(".", shuffle=3),
            TypeError,
            "shuffle must be of boolean or enum of 'Shuffle' values",
        ),
        (
            lambda: AGNewsDataset(".", num_shards=2),
            RuntimeError,
            "num_shards is specified and currently requires",
        ),
        (
            lambda: AGNewsDataset(".", shard_id=2),
            RuntimeError,
            "shard_id is specified but num_shards is not.",
        ),
        (
            lambda: AGNewsDataset(".", num_shards=2, shard_id=5),
            ValueError,
            r"Input shard_id is not within.*\[0, 1\]",
        ),
        (lambda: AGNewsDataset(".", cache=3), TypeError, "cache"),
        (lambda: CLUEDataset(__file__, task="x"), ValueError, "task should be 'AFQMC', 'TNEWS'"),
        (lambda: CLUEDataset(__file__, usage="x"), ValueError, "usage should be 'train', 'test' or 'eval'."),
        (lambda: Multi30kDataset(".", language_pair=["en"]), ValueError, "of length 2, but got 1"),
        (lambda: Multi30kDataset(".", language_pair=["en", "fr"]), ValueError, "language_pair can only be"),
        (
            lambda: IWSLT2016Dataset(".", language_pair="en"),
            TypeError,
            "should be a type list or tuple of length 2",
        ),
        (
            lambda: IWSLT2016Dataset(".", language_pair=["x", "y"]),
            ValueError,
            "is not within the valid set of",
        ),
        (
            lambda: IWSLT2016Dataset(".", valid_set="x"),
            ValueError,
            "Input valid_set is not within the valid set",
        ),
    ],
)
def test_wording(make: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        make()
