"""Pipelines put together by Hypothesis, with a cache at any place of them or with none.

Functions live at module level, so that worker processes and other programs can be given them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

import millrace.dataset as ds
import millrace.dataset.transforms as transforms
from tests.contracts.pipelines.pipelines import Noise

ROWS = 13
COLUMNS = ["x", "n", "t", "r", "b"]
# these rows fail in the op `fails`
BAD = (0, 5)


def row(i: int) -> tuple[Any, ...]:
    return (
        np.array([i, -i / 4], np.float32),
        np.int64(i),
        "wörter " + "ab" * (i % 4),
        np.arange(i % 5, dtype=np.int32) + i,
        bytes([65 + i]) * (i % 3 + 1),
    )


class Rows:
    """Random access."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return row(index)

    def __len__(self) -> int:
        return ROWS


def stream() -> Iterator[tuple[Any, ...]]:
    return (row(i) for i in range(ROWS))


def double(value: Any) -> Any:
    return value * 2


def in_place(value: Any) -> Any:
    """A function that writes to what it is given, as users' functions do."""
    value += 1
    return value


def longer(text: Any) -> Any:
    return str(text) + "!" if text.ndim == 0 else np.array([str(t) + "!" for t in text.ravel()])


def fails(n: Any) -> Any:
    if n.ndim == 0 and int(n) in BAD:
        raise ValueError(f"row {int(n)} is bad")
    return n


def odd(n: Any) -> bool:
    return int(n.ravel()[0]) % 2 == 1 if n.size else False


def spread(x: Any, n: Any, *rest: Any) -> ds.Dataset:
    """A row of its own for each number, and one more."""
    values = np.append(x.ravel(), np.float32(7))
    return ds.NumpySlicesDataset(
        {"x": values, "n": np.arange(len(values)) + int(n.ravel()[0])}, shuffle=False
    )


def slices(**options: Any) -> ds.Dataset:
    rows = [row(i) for i in range(ROWS)]
    columns = {
        name: np.stack([r[k] for r in rows]) if name in "xn" else [r[k] for r in rows]
        for k, name in enumerate(COLUMNS)
        if name != "r"
    }
    return ds.NumpySlicesDataset(columns, **options)


SOURCES: dict[str, Callable[[], ds.Dataset]] = {
    "slices": lambda: slices(shuffle=False),
    "slices shuffled": slices,
    "random access": lambda: ds.GeneratorDataset(Rows(), COLUMNS, shuffle=False),
    "random access shuffled": lambda: ds.GeneratorDataset(Rows(), COLUMNS),
    "shard": lambda: ds.GeneratorDataset(Rows(), COLUMNS, num_shards=2, shard_id=1),
    "drawn with replacement": lambda: ds.GeneratorDataset(
        Rows(), COLUMNS, sampler=ds.RandomSampler(True, 20)
    ),
    "subset": lambda: ds.GeneratorDataset(Rows(), COLUMNS, sampler=ds.SubsetSampler([3, 3, 1, 12, 0])),
    "stream": lambda: ds.GeneratorDataset(stream, COLUMNS),
    "empty": lambda: ds.GeneratorDataset(Rows(), COLUMNS, shuffle=False).skip(ROWS),
}


@dataclasses.dataclass
class Built:
    """A dataset under way: what it has, so that only what fits is put on top."""

    data: ds.Dataset
    columns: list[str]
    batched: bool = False


def _batched(at: Built, size: int, drop: bool) -> None:
    if not at.batched:
        at.columns = [c for c in at.columns if c != "r"]
        at.data = at.data.project(at.columns).batch(size, drop_remainder=drop)
        at.batched = True


def _padded(at: Built) -> None:
    if not at.batched and "r" in at.columns:
        at.columns = ["n", "r"]
        at.data = at.data.project(at.columns).padded_batch(3, pad_info={"r": ([5], -1)})
        at.batched = True


def _flat(at: Built) -> None:
    if not at.batched and at.columns[:2] == ["x", "n"]:
        at.data, at.columns = at.data.flat_map(spread), ["x", "n"]


def _zipped(at: Built) -> None:
    if "z" not in at.columns and not at.batched:
        other = ds.NumpySlicesDataset({"z": np.arange(9.0)}, shuffle=False)
        at.data, at.columns = ds.zip((at.data, other)), [*at.columns, "z"]


def _mapped(at: Built, function: Any, column: str) -> None:
    if column in at.columns:
        at.data = at.data.map(function, column)


def _renamed(at: Built) -> None:
    if "b" in at.columns:
        at.data = at.data.rename("b", "c")
        at.columns = ["c" if name == "b" else name for name in at.columns]


def _projected(at: Built) -> None:
    at.columns = [name for name in reversed(at.columns) if name in "xn"]
    at.data = at.data.project(at.columns)


def _set(at: Built, data: ds.Dataset) -> None:
    at.data = data


OPS: dict[str, Callable[[Built], None]] = {
    "double": lambda at: _mapped(at, double, "x"),
    "in place": lambda at: _mapped(at, in_place, "x"),
    "in place, ragged": lambda at: _mapped(at, in_place, "r"),
    "text": lambda at: _mapped(at, longer, "t"),
    "cast": lambda at: _mapped(at, transforms.TypeCast(np.float64), "n"),
    "bad rows": lambda at: _mapped(at, fails, "n"),
    "project": _projected,
    "rename": _renamed,
    "filter": lambda at: _set(at, at.data.filter(odd, "n")),
    "batch": lambda at: _batched(at, 3, False),
    "batch that drops": lambda at: _batched(at, 4, True),
    "padded batch": _padded,
    "skip": lambda at: _set(at, at.data.skip(2)),
    "take": lambda at: _set(at, at.data.take(6)),
    "repeat": lambda at: _set(at, at.data.repeat(2)),
    "concat": lambda at: _set(at, at.data + at.data),
    "zip": _zipped,
    "flat map": _flat,
    "shuffle": lambda at: _set(at, at.data.shuffle(4)),
    "noise": lambda at: _mapped(at, Noise(), "x"),
}
# rows fail in some ops: only under an error mode that goes on
SAFE = [name for name in OPS if name != "bad rows"]


@dataclasses.dataclass(frozen=True)
class Pipe:
    """Names of a source and of ops, and after how many of these the caches stand."""

    source: str
    ops: tuple[str, ...]
    caches: tuple[int, ...]

    def build(self, cache: Any = None, *, kept: bool = True) -> ds.Dataset:
        """The dataset with its caches, or without any."""
        at = Built(SOURCES[self.source](), list(COLUMNS))
        if self.source.startswith("slices"):
            at.columns.remove("r")
        for number in range(len(self.ops) + 1):
            if kept and number in self.caches:
                at.data = at.data.cache(cache)
            if number < len(self.ops):
                OPS[self.ops[number]](at)
        _mapped(at, Noise(), "x")  # what is above draws the same numbers
        return at.data


@st.composite
def pipes(draw: Any, ops: list[str] = SAFE) -> Pipe:
    chosen = tuple(draw(st.lists(st.sampled_from(ops), max_size=5)))
    caches = draw(st.sets(st.integers(0, len(chosen)), min_size=1, max_size=2))
    return Pipe(draw(st.sampled_from(sorted(SOURCES))), chosen, tuple(sorted(caches)))
