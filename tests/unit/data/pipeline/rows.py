"""Short names for making small datasets and looking at what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np

import millrace.dataset as ds


def num(n: int = 5, **options: Any) -> ds.Dataset:
    """Rows 0 .. n-1 in one column, a."""
    return ds.NumpySlicesDataset(np.arange(n), ["a"], **{"shuffle": False, **options})


def abc(n: int = 3) -> ds.Dataset:
    data = {"a": np.arange(n), "b": np.arange(n) * 10.0, "c": [f"t{i}" for i in range(n)]}
    return ds.NumpySlicesDataset(data, shuffle=False)


def stream(rows: Any, **options: Any) -> ds.Dataset:
    return ds.GeneratorDataset(lambda: iter(rows), ["a"], **options)


def col(data: ds.Dataset, name: str = "a") -> list[Any]:
    return [row[name].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def epochs(data: ds.Dataset, count: int, name: str = "a") -> list[list[Any]]:
    iterator = data.create_dict_iterator(num_epochs=count, output_numpy=True)
    return [[row[name].tolist() for row in iterator] for _ in range(count)]
