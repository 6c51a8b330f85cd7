"""TFRecord files."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from tests.parity.data.sources.tf_bytes import example, records

from .base import case, put


def tf_rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "number": [n],
            "floats": [n + 0.5, -n, 1e-3],
            "name": [f"row {n}".encode()],
            "pair": [n, -n],
            "words": [b"a" * (n % 3 + 1), b"bc"],
        }
        for n in range(start, start + count)
    ]


@case("TFRecordDataset")
def tfrecord(folder: Path) -> dict[str, Any]:
    put(folder / "1.tfrecord", records([example(row) for row in tf_rows(5)]))
    put(folder / "0.tfrecord", records([example(row) for row in tf_rows(3, 5)]))
    return {"dataset_files": str(folder / "*.tfrecord")}


@case("TFRecordDataset", "columns")
def tfrecord_columns(folder: Path) -> dict[str, Any]:
    return tfrecord(folder) | {"columns_list": ["pair", "number"]}


@case("TFRecordDataset", "schema")
def tfrecord_schema(folder: Path) -> dict[str, Any]:
    columns = {
        "number": {"type": "int32", "rank": 0, "shape": []},
        "floats": {"type": "float32", "rank": 1, "shape": [3]},
        "name": {"type": "uint8", "rank": 1, "shape": [-1]},
        "pair": {"type": "int16", "rank": 2, "shape": [1, 2]},
    }
    put(folder / "schema.json", json.dumps({"datasetType": "TF", "columns": columns}))
    return tfrecord(folder) | {"schema": str(folder / "schema.json")}


@case("TFRecordDataset", "schema with rows")
def tfrecord_rows(folder: Path) -> dict[str, Any]:
    columns = {"number": {"type": "int64", "rank": 1, "shape": [-1]}}
    put(folder / "schema.json", json.dumps({"datasetType": "TF", "numRows": 6, "columns": columns}))
    return tfrecord(folder) | {"schema": str(folder / "schema.json")}


@case("TFRecordDataset", "ragged")
def tfrecord_ragged(folder: Path) -> dict[str, Any]:
    rows = [
        {"x": list(range(n + 1)), "y": [float(n)] * (3 - n % 3), "z": [b"q"] * (n % 2 + 1)} for n in range(5)
    ]
    put(folder / "r.tfrecord", records([example(row) for row in rows]))
    return {"dataset_files": str(folder / "r.tfrecord")}


@case("TFRecordDataset", "gzip")
def tfrecord_gzip(folder: Path) -> dict[str, Any]:
    put(folder / "1.gz", gzip.compress(records([example(row) for row in tf_rows(4)])))
    return {
        "dataset_files": str(folder / "1.gz"),
        "compression_type": "GZIP",
        "columns_list": ["number", "name"],
    }


@case("TFRecordDataset", "zlib")
def tfrecord_zlib(folder: Path) -> dict[str, Any]:
    put(folder / "1.z", zlib.compress(records([example(row) for row in tf_rows(4)])))
    return {
        "dataset_files": str(folder / "1.z"),
        "compression_type": "ZLIB",
        "columns_list": ["number", "name"],
    }
