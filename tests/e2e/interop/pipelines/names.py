"""The names that the text of a pipeline may use, for either library."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.parity.prelude import Indexed, Stream

WORDS = ["", "a", "no", "mill", "rühren", "a b c", "水"]


def value(kind: str, shape: tuple[int, ...], row: int, column: int) -> Any:
    """Return the value of one cell: the same in every process. A length of -1 depends on the row."""
    shape = tuple((row * 5 + column) % 4 if n == -1 else n for n in shape)
    start = row * 3 + column
    cells = [start + k for k in range(int(np.prod(shape)))]
    if kind == "str":
        return np.array([WORDS[k % 7] for k in cells], dtype=np.str_).reshape(shape)
    if kind == "bytes":
        return np.array([WORDS[k % 7].encode() for k in cells], dtype=np.bytes_).reshape(shape)
    if kind == "word":
        return WORDS[start % 7]
    if kind in ("int", "float"):
        return {"int": int, "float": float}[kind](start)
    if kind == "bool":
        return (np.array(cells, dtype=np.int64) % 2 == 0).reshape(shape)
    numbers = np.array(cells, dtype=np.int64).reshape(shape)
    if kind.startswith("float"):
        return (numbers / 4 - 1).astype(kind)
    return (numbers % 100).astype(kind)


def table(columns: dict[str, tuple[Any, ...]], rows: int) -> list[tuple[Any, ...]]:
    """Return rows of these columns: {"a": ("int32", 2, 3)} is an array of shape (2, 3)."""
    return [
        tuple(value(kind, tuple(shape), row, k) for k, (kind, *shape) in enumerate(columns.values()))
        for row in range(rows)
    ]


def slices(columns: dict[str, tuple[Any, ...]], rows: int) -> dict[str, Any]:
    """Return the same as one array, or list, for each column."""
    made = zip(*table(columns, rows)) if rows else ([] for _ in columns)
    return {
        name: list(cells) if spec[0] in ("word", "int", "float") else np.array(list(cells))
        for (name, spec), cells in zip(columns.items(), made)
    }


def images(rows: int, height: int, width: int, channels: int) -> list[tuple[Any, ...]]:
    cells = np.arange(height * width * channels, dtype=np.int64).reshape(height, width, channels)
    return [(((cells * 7 + k * 13) % 256).astype(np.uint8), k) for k in range(rows)]


def plus_one(x: Any) -> Any:
    if x.dtype.kind in "SU":  # NumPy 2 adds text, NumPy 1 does not
        raise TypeError("no number")
    return x + np.ones((), x.dtype)


def pair(x: Any) -> Any:
    return x, x[..., None]


def first(x: Any, *rest: Any) -> Any:
    return x


def swap(x: Any, y: Any) -> Any:
    return y, x


def length(*columns: Any) -> Any:
    return np.array([c.size for c in columns], dtype=np.int32)


def as_list(x: Any) -> Any:
    return x.tolist()


def number(x: Any) -> Any:
    return float(x.size)


def word(x: Any) -> Any:
    return f"{x.ndim} {x.size}"


def fails_on_two(x: Any) -> Any:
    if x.size == 2:
        raise ValueError("two is too many")
    return x


def nothing(x: Any) -> Any:
    return None


def even(*columns: Any) -> Any:
    return sum(c.size for c in columns) % 2 == 0


def light(x: Any) -> Any:
    return x.astype(np.float64).sum() < 20


def marked(x: Any) -> Any:
    return np.array(x.size > 1)


def never(*columns: Any) -> Any:
    return False


def same_batch(x: Any, info: Any) -> Any:
    return x


def same_batches(x: Any, y: Any, info: Any) -> Any:
    return x, y


def first_of_two(x: Any, y: Any, info: Any) -> Any:
    return x


def batch_number(column: Any, info: Any) -> Any:
    return [np.array(info.get_batch_num() * 10 + info.get_epoch_num(), np.int32) for _ in column]


def one_more(x: Any, info: Any) -> Any:
    return x, x


def two_more(x: Any, y: Any, info: Any) -> Any:
    return x, y, x, y


def stacked(column: Any, info: Any) -> Any:
    return np.stack([np.asarray(x) for x in column])


def sizes(info: Any) -> int:
    return 1 + info.get_batch_num() % 3


def rows_long(x: Any, *rest: Any) -> Any:
    return x.shape[0] if x.ndim else 1


def names(library: str, folder: str) -> dict[str, Any]:
    """Return the namespace of a pipeline's text."""
    ds = importlib.import_module(f"{library}.dataset")

    class Listed(ds.Sampler):
        """A sampler of a script's own."""

        def __init__(self, indices: list[int]) -> None:
            super().__init__(len(indices))
            self.chosen = indices

        def __iter__(self) -> Iterator[int]:
            return iter(self.chosen)

    def sampled(data: Any, sampler: Any) -> Any:
        data.use_sampler(sampler)
        return data

    def below(upper: Any, lower: Any) -> Any:
        upper.add_child(lower)
        return upper

    def spread(*columns: Any) -> Any:
        cells = columns[0].reshape(-1)
        made = {f"s{k}": np.repeat(column[None], cells.size, axis=0) for k, column in enumerate(columns[1:])}
        return ds.NumpySlicesDataset({"s": cells, **made}, shuffle=False)

    own = {key: item for key, item in globals().items() if callable(item) and not key.startswith("_")}
    return own | {
        "ds": ds,
        "np": np,
        "transforms": importlib.import_module(f"{library}.dataset.transforms"),
        "vision": importlib.import_module(f"{library}.dataset.vision"),
        "types": importlib.import_module(f"{library}.common.dtype"),
        "folder": folder,
        "Indexed": Indexed,
        "Stream": Stream,
        "Listed": Listed,
        "below": below,
        "sampled": sampled,
        "spread": spread,
    }
