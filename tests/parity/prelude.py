"""The short names that case strings may use, for either library."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np


class Indexed:
    """A random-access source."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)


class Stream:
    """A source that can only be read in order."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)


class Short(Indexed):
    """A source that claims one row more than it has."""

    def __init__(self) -> None:
        super().__init__([1, 2])

    def __len__(self) -> int:
        return 3


def names(ds: Any, folder: Path) -> dict[str, Any]:
    """Return the namespace of a case run against `ds`; files go into `folder`."""

    def num(n: int = 5, **options: Any) -> Any:
        return ds.NumpySlicesDataset(np.arange(n), ["a"], **{"shuffle": False, **options})

    def abc(n: int = 2) -> Any:
        data = {"a": np.arange(n), "b": np.arange(n) * 10.0, "c": np.arange(n) + 5}
        return ds.NumpySlicesDataset(data, shuffle=False)

    def gen(values: Any, columns: Any = ("a",), **options: Any) -> Any:
        return ds.GeneratorDataset(values, list(columns), **{"shuffle": False, **options})

    def one(value: Any, **options: Any) -> Any:
        return gen([(value,)], **options)

    def long(*lengths: int) -> Any:
        return gen([(np.full((n,), n),) for n in lengths])

    def sampled(sampler: Any, n: int = 5) -> list[Any]:
        return sized(ds.NumpySlicesDataset(np.arange(n), ["a"], sampler=sampler))

    def rows(dataset: Any, output_numpy: bool = True, epochs: int = 1) -> list[Any]:
        return list(dataset.create_dict_iterator(num_epochs=epochs, output_numpy=output_numpy))

    def col(dataset: Any, name: str = "a") -> list[Any]:
        return [row[name].tolist() for row in rows(dataset)]

    def sized(dataset: Any, name: str = "a") -> list[Any]:
        return [col(dataset, name), dataset.get_dataset_size()]

    def over(dataset: Any, epochs: int, told: int | None = None) -> list[Any]:
        iterator = dataset.create_dict_iterator(num_epochs=told or epochs, output_numpy=True)
        return [[row["a"].tolist() for row in iterator] for _ in range(epochs)]

    def columns(dataset: Any) -> list[Any]:
        return [dataset.get_col_names(), rows(dataset)]

    def seen(value: Any) -> list[Any]:
        found: list[Any] = []

        def look(x: Any) -> Any:
            found.append([type(x).__name__, x])
            return x

        return [rows(one(value).map(look, ["a"])), found]

    def printed(call: Callable[[], Any]) -> list[str]:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            call()
        return text.getvalue().splitlines()

    def chain(*samplers: Any) -> Any:
        for parent, child in itertools.pairwise(samplers):
            parent.add_child(child)
        return samplers[0]

    def after(thing: Any, *calls: tuple[Any, ...]) -> Any:
        for method, *arguments in calls:
            getattr(thing, method)(*arguments)
        return thing

    def asked(sampler: Any) -> list[Any]:
        flags = [sampler.is_shuffled(), sampler.is_sharded()]
        return [sampler.get_num_samples(), *flags, sampler.get_child(), sampler.get_shuffle_mode()]

    def ops(tree: dict[str, Any]) -> list[Any]:
        return [tree["op_type"], [ops(child) for child in tree["children"]]]

    def own(tree: dict[str, Any]) -> dict[str, Any]:
        tuning = ("children", "connector_queue_size", "num_parallel_workers", "operations", "callback")
        return {name: tree[name] for name in sorted(tree) if name not in tuning}

    makers = (num, abc, gen, one, long, chain, after)
    lookers = (sampled, rows, col, sized, over, columns, seen, printed, asked, ops, own)
    classes = (Indexed, Stream, Short)
    found: dict[str, Any] = {thing.__name__: thing for thing in (*makers, *lookers, *classes)}
    return found | {"ds": ds, "np": np, "json": json, "folder": folder}
