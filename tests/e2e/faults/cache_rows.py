"""Rows that tell which they are, and a client of a cache as a program of its own.

``python -m tests.e2e.faults.cache_rows PORT SESSION ROWS EPOCHS WORKERS [SPILL]`` reads a pipeline with a
cache, compares every row, and prints a line when it begins to read or write and one at its end.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import numpy as np

import millrace.dataset as ds

SIZE = 4096


class Numbered:
    """A source whose row i is full of i."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return np.full(SIZE, index, np.int32), f"row {index}"


def costly(values: Any) -> Any:
    """So much work that keeping what comes out is worth while."""
    for _ in range(20):
        values = np.sort(values)[::-1]
    return np.ascontiguousarray(values) + 1


def pipeline(cache: Any, rows: int, **options: Any) -> ds.Dataset:
    data = ds.GeneratorDataset(Numbered(rows), ["x", "t"], **options)
    return data.map(costly, "x").cache(cache)


def wrong_rows(data: ds.Dataset, rows: int, told: Any = None) -> int:
    """Rows of an epoch that are not what they must be; those that did not come count too."""
    seen, wrong = set(), 0
    for number, row in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
        index = int(row["x"][0]) - 1
        seen.add(index)
        wrong += not (row["x"] == index + 1).all() or str(row["t"]) != f"row {index}"
        if told is not None and number == rows // 4:
            told()
    return wrong + rows - len(seen)


def main(arguments: list[str]) -> int:
    port, session, rows, epochs, workers = map(int, arguments[:5])
    cache = ds.DatasetCache(
        session, port=port, spilling=len(arguments) > 5, size=8 if len(arguments) > 5 else 0
    )
    if workers:
        ds.config.set_num_parallel_workers(workers)
    warnings.simplefilter("always")
    data = pipeline(cache, rows)
    wrong = 0
    for epoch in range(epochs):
        wrong += wrong_rows(data, rows, lambda epoch=epoch: print(f"in epoch {epoch}", flush=True))
    print(f"wrong: {wrong}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")
    sys.exit(main(sys.argv[1:]))
