"""``FakeImageDataset``: random images and labels for tests."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Unpack

import numpy as np

from millrace._src.core.args import INT32_MAX, Range, check_type
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import Indices
from millrace._src.core.random.rng import RandomStream
from millrace._src.core.values.chunk import Column
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnReader,
    ColumnTable,
    TableDataset,
    column_type,
)

__all__ = ["FakeImageDataset"]

Positive = Annotated[int, Range(1, INT32_MAX)]


@public("dataset")
class FakeImageDataset(TableDataset):
    """Images of random pixels with random labels; row i is always the same for one ``base_seed``.

    >>> import millrace.dataset as ds
    >>> data = ds.FakeImageDataset(3, (4, 5, 3), num_classes=2)
    >>> [row["image"].shape for row in data.create_dict_iterator(num_epochs=1)]
    [(4, 5, 3), (4, 5, 3), (4, 5, 3)]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        num_images: Positive = 1000,
        image_size: list[Any] | tuple[Any, ...] = (224, 224, 3),
        num_classes: Positive = 10,
        base_seed: int = 0,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        if len(image_size) != 3:
            raise ArgumentValueError(
                f"image_size should be a list or tuple of length 3, but got {len(image_size)}"
            )
        for i, size in enumerate(image_size):
            check_type(size, (int,), f"image_size[{i}]")
            Range(1, INT32_MAX).check(f"image_size[{i}]", size)
        arguments: dict[str, Any] = {
            "num_images": num_images,
            "image_size": list(image_size),
            "num_classes": num_classes,
        }
        make = partial(_table, **arguments, base_seed=base_seed)
        columns = {"image": column_type("uint8", *image_size), "label": UINT32}
        self._open(make, columns, shared)


def _table(num_images: int, image_size: list[int], num_classes: int, base_seed: int) -> ColumnTable:
    parts = {"image": _Pixels(image_size, base_seed), "label": _Labels(num_images, num_classes, base_seed)}
    return ColumnTable(num_images, parts)


class _Pixels(ColumnReader):
    def __init__(self, size: list[int], seed: int) -> None:
        self.size, self.seed = size, seed

    def read(self, indices: Indices) -> Column:
        start = RandomStream.for_rows(indices.astype(np.uint64), seed=self.seed, epoch=0, op=0).bits(0)
        count = -(-int(np.prod(self.size)) // 8)
        # an arithmetic pattern from one random number per row: cheap, and distinct everywhere
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = start[:, None] + steps
        bits ^= bits >> np.uint64(29)
        bits *= np.uint64(0xBF58476D1CE4E5B9)
        pixels = bits.view(np.uint8)[:, : int(np.prod(self.size))]
        return np.ascontiguousarray(pixels).reshape(len(indices), *self.size)


class _Labels(ColumnReader):
    def __init__(self, rows: int, classes: int, seed: int) -> None:
        self.rows, self.classes, self.seed = rows, classes, seed

    def read(self, indices: Indices) -> Column:
        bits = RandomStream.for_rows(indices.astype(np.uint64), seed=self.seed, epoch=0, op=1).bits(0)
        return (bits % np.uint64(self.classes)).astype(np.uint32)

    def all(self) -> Column:
        return self.read(np.arange(self.rows, dtype=np.int64))
