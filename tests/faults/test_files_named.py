"""The error of a map names the file its row came from, whatever stands between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.core.errors import DataError
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
}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("source", [text, csv, records])
def test_the_file_is_named(source: Callable[[Path], ds.Dataset], between: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as failed:
        list(BETWEEN[between](source(tmp_path)))
    assert str(tmp_path / "data.") in failed.value.context["file"]
    assert 0 <= failed.value.context["row"] < 3
