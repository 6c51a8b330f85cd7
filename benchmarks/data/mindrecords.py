"""The record files that the MindRecord workloads read: the same bytes, whoever writes them first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import folder, pictures

__all__ = ["IMAGES", "SCALARS", "prepared", "scalar_rows", "write"]

SCALARS = {f"f{i}": {"type": ("int32", "int64", "float32", "float64")[i % 4]} for i in range(10)}
IMAGES = {"data": {"type": "bytes"}, "label": {"type": "int32"}}
Rows = list[dict[str, Any]]


def scalar_rows(count: int) -> Rows:
    draw = np.random.default_rng(0)
    columns = {
        name: (draw.integers(-(2**20), 2**20, count) if e["type"][0] == "i" else draw.random(count)).tolist()
        for name, e in SCALARS.items()
    }
    return [{name: column[n] for name, column in columns.items()} for n in range(count)]


def byte_rows(count: int) -> Rows:
    """Return rows of 100 KB that no compression or cache can shorten, as JPEG files are, and a label."""
    noise = np.random.default_rng(0).bytes(200_000)
    return [{"data": noise[k % 90_000 : k % 90_000 + 100_000], "label": k} for k in range(count)]


def picture_rows(count: int) -> Rows:
    return [{"data": data, "label": label} for data, label in pictures.encoded(count < pictures.COUNT)]


KINDS: dict[str, tuple[Any, Callable[[int], Rows]]] = {
    "scalars": (SCALARS, scalar_rows),
    "bytes": (IMAGES, byte_rows),
    "pictures": (IMAGES, picture_rows),
}


def write(records: Any, path: str, schema: Any, rows: Iterable[Any], step: int, **options: Any) -> None:
    writer = records.FileWriter(path, 1, True)
    writer.add_schema(schema)
    rows = list(rows)
    for start in range(0, len(rows), step):
        writer.write_raw_data(rows[start : start + step], **options)
    writer.commit()


def prepared(records: Any, name: str, count: int) -> str:
    """Return the path of a set of so many rows, made once. Not renamed when whole: a set knows its own name."""
    path, done = folder() / f"{name}{count}", folder() / f"{name}{count}.done"
    if not done.exists():
        schema, rows = KINDS[name]
        write(records, str(path), schema, rows(count), 1000 if name == "scalars" else 100)
        done.touch()
    return str(path)
