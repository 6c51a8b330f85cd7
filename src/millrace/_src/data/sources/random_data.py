"""``RandomDataset``: synthetic rows from a schema."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import checked
from millrace._src.core.errors import PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import Indices
from millrace._src.core.random.rng import RandomStream
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import ColumnType
from millrace._src.core.values.schema import Schema as PlanSchema
from millrace._src.data.pipeline.argument_types import CacheArgument, NumSamples, NumWorkers
from millrace._src.data.pipeline.schema import Schema
from millrace._src.data.pipeline.serialization import can_rebuild
from millrace._src.data.pipeline.source_dataset import SourceDataset
from millrace._src.data.sources.source_traits import SourceTraits

from .base.argument_types import column_types
from .base.sampler_arguments import check_shard_options, resolve_sampler

__all__ = ["RandomDataset"]

DEFAULT_ROWS = 1000


class RandomSource(SourceTraits):
    """Source of synthetic rows. Row i depends only on i: it is the same in every run, shard and worker."""

    name = "RandomDataset"

    def __init__(self, rows: int, columns: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
        self.rows, self.columns = rows, columns

    def schema(self) -> PlanSchema:
        return PlanSchema({n: ColumnType(np.dtype(t), s) for n, (t, s) in self.columns.items()})

    def size(self) -> int:
        return self.rows

    def open(self) -> RandomSource:
        return self

    def read(self, indices: Indices) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        for number, (name, (type_, shape)) in enumerate(self.columns.items()):
            dtype = np.dtype(type_)
            random_stream = RandomStream.for_rows(indices.astype(np.uint64), seed=0, epoch=0, op=number)
            count = int(np.prod(shape, dtype=np.int64))
            # one random value per row, then an arithmetic pattern along the row: cheap, and distinct everywhere
            bits = random_stream.bits(0)[:, None] + np.arange(count, dtype=np.uint64) * np.uint64(
                0x9E3779B97F4A7C15
            )
            bits ^= bits >> np.uint64(29)
            if dtype.kind == "U":
                columns[name] = np.char.mod("%d", bits % np.uint64(1000)).reshape(len(indices), *shape)
            elif dtype.kind == "f":
                columns[name] = ((bits >> np.uint64(11)) / float(1 << 53)).astype(dtype).reshape(-1, *shape)
            elif dtype.kind == "b":
                columns[name] = (bits & np.uint64(1)).astype(bool).reshape(-1, *shape)
            else:
                columns[name] = (bits & np.uint64(0x7F)).astype(dtype).reshape(-1, *shape)
        return columns

    def close(self) -> None: ...

    def labels(self, column: str) -> npt.NDArray[Any]:
        return np.asarray(self.read(np.arange(self.rows, dtype=np.int64))[column])

    def row_location(self, index: int) -> str | None:
        return None

    def arguments(self) -> dict[str, Any]:
        columns = [
            {"name": n, "type": str(np.dtype(t)), "shape": list(s)} for n, (t, s) in self.columns.items()
        ]
        return {"total_rows": self.rows, "columns": columns}


@public("dataset")
class RandomDataset(SourceDataset):
    """Rows of random values with the columns of a schema; row i is always the same.

    >>> import millrace.dataset as ds
    >>> schema = ds.Schema()
    >>> schema.add_column("image", "uint8", [2, 3])
    >>> ds.RandomDataset(total_rows=10, schema=schema).output_shapes()
    [[2, 3]]
    """

    @checked
    def __init__(
        self,
        total_rows: int | None = None,
        schema: Any = None,
        columns_list: list[Any] | None = None,
        num_samples: Annotated[int | None, NumSamples] = None,
        num_parallel_workers: Annotated[int | None, NumWorkers] = None,
        cache: Annotated[Any, CacheArgument()] = None,
        shuffle: bool | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        check_shard_options(num_shards, shard_id)
        rows = DEFAULT_ROWS if total_rows is None else total_rows
        if rows < 0:
            raise PlanError(f"RandomDataset: 'total_rows' must be greater than or equal to 0, got: {rows}")
        if schema is not None and not isinstance(schema, Schema):
            schema = Schema(schema)
        columns = _columns(schema, columns_list)
        sampler = resolve_sampler(
            None, num_samples, False if shuffle is None else shuffle, num_shards, shard_id
        )
        self._init_source(RandomSource(rows, columns), sampler, num_parallel_workers, cache)


def _columns(schema: Schema | None, wanted: list[str] | None) -> dict[str, tuple[Any, tuple[int, ...]]]:
    if schema is None:
        return {"c0": (np.int32, (1,)), "c1": (np.float32, (4,))}
    described = [
        (c["name"], column_types([c["type"]])[0], tuple(c.get("shape") or ())) for c in schema.columns
    ]
    columns = {name: (type_, tuple(max(1, n) for n in shape)) for name, type_, shape in described}
    return {name: columns[name] for name in wanted} if wanted else columns


def _rebuild(saved: dict[str, Any]) -> RandomDataset:
    schema = Schema()
    for column in saved["columns"]:
        schema.add_column(column["name"], column["type"].replace("<U0", "string"), column["shape"])
    return RandomDataset(total_rows=saved["total_rows"], schema=schema)


can_rebuild(RandomDataset, _rebuild)
