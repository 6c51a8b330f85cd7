"""The rows that the tests of MindDataset write."""

from __future__ import annotations

import numpy as np

from tests.unit.data.formats.mindrecord.helpers import write

SCHEMA = {
    "label": {"type": "int32"},
    "s": {"type": "string"},
    "b": {"type": "bytes"},
    "v": {"type": "float32", "shape": [-1]},
    "m": {"type": "int64", "shape": [2, 2]},
    "f": {"type": "float64"},
}


def row(k):
    return {
        "label": k % 3,
        "s": "é" * (k % 5),
        "b": bytes([k % 256]) * (k % 7 + 1) + b"\0",
        "v": np.full(k % 4 + 1, k, np.float32),
        "m": np.full((2, 2), k, np.int64),
        "f": float(k),
    }


def write_two(folder):
    """Return the first file of a set of 20 rows in two files: 0-9 and 10-19 in the column f."""
    path = folder / "two.mindrecord"
    write(path, SCHEMA, [[row(k) for k in range(20)]], index=["label"], shards=2)
    return str(path) + "0"


def values(data, column="f", epochs=1):
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    epochs_values = [[r[column].item() for r in iterator] for _ in range(epochs)]
    return epochs_values[0] if epochs == 1 else epochs_values
