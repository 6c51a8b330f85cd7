"""The error of a map names the file its row came from, whatever stands between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import DataError
from millrace.mindrecord import FileWriter


def fail(*values: Any) -> Any:
    raise ValueError("no")


def text(folder: Path) -> ds.Dataset:
    (folder / "data.txt").write_text("a\nb\nc\n")
    return ds.TextFileDataset(str(folder / "data.txt"))


def csv(folder: Path) -> ds.Dataset:
    (folder / "data.csv").write_text("1\n2\n3\n")
    return ds.CSVDataset(str(folder / "data.csv"), column_names=["text"])


def records(folder: Path) -> ds.Dataset:
    path = str(folder / "data.mindrecord")
    writer = FileWriter(path, 1)
    writer.add_schema({"text": {"type": "int64"}}, "rows")
    writer.write_raw_data([{"text": i} for i in range(3)])
    writer.commit()
    return ds.MindDataset(path)


def some() -> ds.Dataset:
    return ds.NumpySlicesDataset({"n": np.arange(3)}, shuffle=False)


BETWEEN: dict[str, Callable[[ds.Dataset], ds.Dataset]] = {
    "map": lambda data: data.map(fail),
    "shuffle": lambda data: data.shuffle(3).map(fail),
    "repeat": lambda data: data.repeat(2).map(fail),
    "zip": lambda data: ds.zip((data, some())).map(fail, "text"),
    "processes": lambda data: data.map(fail, python_multiprocessing=True, num_parallel_workers=2),
    "per_batch_map": lambda data: data.batch(2, per_batch_map=fail),
    "filter": lambda data: data.filter(fail),
    "flat_map": lambda data: data.flat_map(lambda text: some()).map(fail),
    "concat": lambda data: (data + data).map(fail),
}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("source", [text, csv, records])
def test_the_file_is_named(source: Callable[[Path], ds.Dataset], between: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as failed:
        list(BETWEEN[between](source(tmp_path)))
    assert str(tmp_path / "data.") in failed.value.context["file"]
    assert 0 <= failed.value.context["row"] < 3


def lines(folder: Path, name: str, *rows: str) -> ds.Dataset:
    (folder / name).write_text("".join(f"{row}\n" for row in rows))
    return ds.TextFileDataset(str(folder / name), shuffle=False)


def refuse(word: str) -> Callable[[Any], Any]:
    def work(text: Any) -> Any:
        if str(text) == word:
            raise ValueError(f"{word} is bad")
        return text

    return work


@pytest.mark.parametrize(("word", "file", "row"), [("b", "one", 1), ("d", "two", 3), ("g", "three", 6)])
@pytest.mark.parametrize("order", ["as it is", "shuffled", "nested", "mixed"])
def test_each_part_of_a_concatenation_names_its_own(
    word: str, file: str, row: int, order: str, tmp_path: Path
) -> None:
    one, two, three = (
        lines(tmp_path, "one", "a", "b"),
        lines(tmp_path, "two", "c", "d", "e"),
        lines(tmp_path, "three", "f", "g"),
    )
    data = one + (two + three) if order == "nested" else one.concat([two, three])
    data = data.shuffle(7) if order == "shuffled" else data
    data = ds.mix([one, two, three], [1, 1, 1], exhausted="drop") if order == "mixed" else data
    with pytest.raises(DataError) as failed:
        list(data.map(refuse(word)))
    assert str(tmp_path / file) in failed.value.context["file"]
    assert failed.value.context["row"] == row


def test_rows_left_out_name_their_part(tmp_path: Path) -> None:
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = (lines(tmp_path, "one", "a", "b") + lines(tmp_path, "two", "c", "d")).map(refuse("c"))
    assert len(list(data)) == 3
    (entry,) = data.skipped()
    assert (entry.row, str(tmp_path / "two") in str(entry.file)) == (2, True)


def test_no_file_is_named_where_numbers_cannot_tell(tmp_path: Path) -> None:
    """How many rows a stream has is not known before it has ended."""
    stream = ds.GeneratorDataset(lambda: iter(["x", "y"]), ["text"])
    with pytest.raises(DataError) as failed:
        list((stream + lines(tmp_path, "two", "c", "d")).map(refuse("d")))
    assert "file" not in failed.value.context
    assert failed.value.context["row"] == 1
