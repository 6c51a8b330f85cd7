"""The record files that the MindRecord workloads read: the same bytes, whoever writes them first."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

SCALARS = {f"f{i}": {"type": ("int32", "int64", "float32", "float64")[i % 4]} for i in range(10)}
IMAGES = {"data": {"type": "bytes"}, "label": {"type": "int32"}}
FOLDER = Path(tempfile.gettempdir()) / f"millrace-benchmark-{os.getuid()}"


def scalar_rows(count: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(0)
    columns = {
        name: (draw.integers(-(2**20), 2**20, count) if e["type"][0] == "i" else draw.random(count)).tolist()
        for name, e in SCALARS.items()
    }
    return [{name: column[n] for name, column in columns.items()} for n in range(count)]


def image_rows(count: int) -> list[dict[str, Any]]:
    """Return rows of 100 KB that no compression or cache can shorten, as JPEG files are, and a label."""
    noise = np.random.default_rng(0).bytes(200_000)
    return [{"data": noise[k % 90_000 : k % 90_000 + 100_000], "label": k} for k in range(count)]


def write(
    records: Any, path: str, schema: Any, rows: list[dict[str, Any]], step: int, **options: Any
) -> None:
    writer = records.FileWriter(path, 1, True)
    writer.add_schema(schema)
    for start in range(0, len(rows), step):
        writer.write_raw_data(rows[start : start + step], **options)
    writer.commit()


def prepared(records: Any, name: str, count: int) -> str:
    """Return the path of a set of so many rows, made once."""
    FOLDER.mkdir(exist_ok=True)
    path, done = FOLDER / f"{name}{count}", FOLDER / f"{name}{count}.done"
    if not done.exists():
        if name == "scalars":
            write(records, str(path), SCALARS, scalar_rows(count), 1000)
        else:
            write(records, str(path), IMAGES, image_rows(count), 100)
        done.touch()
    return str(path)
