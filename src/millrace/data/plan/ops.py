"""Every op of a pipeline as a node: typed fields, what it does to columns, what it does to the row count."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from millrace.core.errors import PlanError
from millrace.core.rng import mix
from millrace.core.schema import ColumnType, Schema
from millrace.data.transforms.base import Transform, name_of

from .node import INFINITE, UNKNOWN, Node, Size
from .read import Permute, Read, Slice

__all__ = [
    "Batch",
    "BucketBatch",
    "Concat",
    "Deal",
    "Filter",
    "FlatMap",
    "Map",
    "Permute",
    "Project",
    "Read",
    "Rename",
    "Repeat",
    "Shuffle",
    "Skip",
    "Slice",
    "SyncWait",
    "Take",
    "Zip",
]


# Columns whose names begin so are left out of batches and of what iterators give, unless renamed.
HIDDEN_PREFIX = "_meta-"

# --------------------------------------------------------------------------------------------------
# row-wise ops


def replaced_columns(columns: list[str], inputs: list[str], outputs: list[str]) -> list[str]:
    """Column order after a map: in place for equal counts, else the outputs first; an old namesake goes."""
    if len(inputs) == len(outputs):
        swap = dict(zip(inputs, outputs, strict=True))
        untouched = {name for name in columns if name not in swap} - set(outputs)
        return [swap.get(name, name) for name in columns if name in swap or name in untouched]
    gone = set(inputs) | set(outputs)
    return [*outputs, *(name for name in columns if name not in gone)]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Map(Node):
    """Operations on some columns of each row, one after the other."""

    operations: tuple[Transform, ...]
    input_columns: tuple[str, ...] | None = None
    output_columns: tuple[str, ...] | None = None
    workers: int | None = None
    processes: bool = False
    callbacks: tuple[Any, ...] = ()
    # what the random numbers of each operation are drawn from, once a pass has joined or moved some; see `draws_from`
    keys: tuple[int, ...] = ()
    # the rows of the batch that results are on their way into, when they are written straight into it
    gather: int = 0
    # repeats above this node: an epoch of callbacks is the iterator's, not each pass of a repeat
    passes: int = 1

    def draws_from(self) -> tuple[int, ...]:
        """A number for each operation as the user wrote them, so that joining two changes no random number."""
        return self.keys or tuple(mix(self.op, number) for number in range(len(self.operations)))

    def inputs_of(self, columns: list[str]) -> list[str]:
        if self.input_columns is None:
            return columns[:1]
        for name in self.input_columns:
            if name not in columns:
                raise PlanError(
                    f"Invalid parameter, input column name: {name} doesn't exist in the dataset columns."
                    f" The columns are {columns}."
                )
        return list(self.input_columns)

    def outputs_of(self, columns: list[str]) -> list[str]:
        return self.inputs_of(columns) if self.output_columns is None else list(self.output_columns)

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        before = inputs[0]
        if before is None:
            return None
        names = list(before)
        outputs = self.outputs_of(names)
        after = replaced_columns(names, self.inputs_of(names), outputs)
        return Schema({n: ColumnType() if n in outputs else before[n] for n in after})

    def details(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"operations": [str(op) for op in self.operations]}
        shown |= {"input_columns": list(self.input_columns or [])}
        shown |= {"output_columns": list(self.output_columns or [])}
        if self.workers is not None:
            shown["num_parallel_workers"] = self.workers
        if self.processes:
            shown["python_multiprocessing"] = True
        return shown


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Filter(Node):
    """Rows for which the predicate holds."""

    predicate: Callable[..., Any]
    input_columns: tuple[str, ...] | None = None
    workers: int | None = None

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        before = inputs[0]
        for name in self.input_columns or ():
            if before is not None and name not in before:
                raise PlanError(
                    f"Invalid parameter, column name: {name} does not exist in the dataset columns."
                    f" The columns are {list(before)}."
                )
        return before

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN

    def details(self) -> dict[str, Any]:
        return {"predicate": name_of(self.predicate), "input_columns": list(self.input_columns or [])}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Project(Node):
    """Some columns, in this order."""

    columns: tuple[str, ...]

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        before = inputs[0]
        if before is None:
            return Schema(self.columns)
        for name in self.columns:
            if name not in before:
                raise PlanError(
                    f"Invalid column, column name: {name} does not exist. The columns are {list(before)}."
                )
        return before.project(self.columns)

    def details(self) -> dict[str, Any]:
        return {"columns": list(self.columns)}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Rename(Node):
    """New names for some columns."""

    input_columns: tuple[str, ...]
    output_columns: tuple[str, ...]

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        before = inputs[0]
        if before is None:
            return None
        for name in self.input_columns:
            if name not in before:
                raise PlanError(
                    "Invalid column, column to be renamed does not exist."
                    f" Got {name!r}; the columns are {list(before)}."
                )
        for name in self.output_columns:
            if name in before and name not in self.input_columns:
                raise PlanError(
                    "Invalid column, rename operation does not support rename one column name into another "
                    f"already exist column name, existing column name is: {name}."
                )
        return before.rename(dict(zip(self.input_columns, self.output_columns, strict=True)))

    def details(self) -> dict[str, Any]:
        return {"input_columns": list(self.input_columns), "output_columns": list(self.output_columns)}


# --------------------------------------------------------------------------------------------------
# batches


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Batch(Node):
    """Rows stacked into batches; with pad_info, padded to one shape first."""

    batch_size: int | Callable[..., int]
    drop_remainder: bool = False
    per_batch_map: Callable[..., Any] | None = None
    input_columns: tuple[str, ...] | None = None
    output_columns: tuple[str, ...] | None = None
    pad_info: dict[str, tuple[Any, Any]] | None = None
    workers: int | None = None
    processes: bool = False
    # the chunk that arrives is one whole batch already (a batch_sampler made it)
    whole: bool = False
    # repeats above this node: BatchInfo's epoch counts what the user iterates, not each pass of a repeat
    passes: int = 1

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        before = inputs[0]
        if before is None:
            return None
        names = [name for name in before if not name.startswith(HIDDEN_PREFIX)]
        for name in self.input_columns or ():
            if name not in names:
                raise PlanError(
                    f"Invalid input_columns, '{name}' of 'input_columns' doesn't exist."
                    f" The columns are {names}."
                )
        for name in self.pad_info or ():
            if name not in names:
                raise PlanError(
                    f"Invalid pad_info, column name: {name} does not exist. The columns are {names}."
                )
        touched = set(self.input_columns or names) if self.per_batch_map else set()
        if self.per_batch_map and self.output_columns is not None:
            ins = list(self.input_columns or names)
            clash = [n for n in self.output_columns if n in names and n not in ins]
            if clash:
                raise PlanError(
                    "Invalid output_columns, columns that are not involved in 'per_batch_map' should not be in "
                    "output_columns, but got columns that are not in input_columns: "
                    f"[{','.join(clash)},], output_columns: [{','.join(self.output_columns)},]."
                )
            touched = set(self.output_columns)
            names = replaced_columns(names, ins, list(self.output_columns))
        size = self.batch_size if isinstance(self.batch_size, int) and self.drop_remainder else None
        padded = set(self.pad_info or names) if self.pad_info is not None else set()
        out: dict[str, ColumnType] = {}
        for n in names:
            free = n in touched or n in padded or n not in before
            out[n] = ColumnType() if free else before[n].batched(size)
        return Schema(out)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        rows = inputs[0]
        if self.whole:
            sampler = getattr(self.inputs[0], "batch_sampler", None) if self.inputs else None
            return UNKNOWN if sampler is None or not hasattr(sampler, "__len__") else len(sampler)
        if rows is UNKNOWN or not isinstance(self.batch_size, int):
            return UNKNOWN
        if rows == INFINITE:
            return INFINITE
        return int(rows // self.batch_size if self.drop_remainder else math.ceil(rows / self.batch_size))

    def details(self) -> dict[str, Any]:
        size = self.batch_size if isinstance(self.batch_size, int) else name_of(self.batch_size)
        shown: dict[str, Any] = {"batch_size": size, "drop_remainder": self.drop_remainder}
        if self.per_batch_map is not None:
            shown["per_batch_map"] = name_of(self.per_batch_map)
        if self.pad_info is not None:
            shown["pad_info"] = {k: list(v) for k, v in self.pad_info.items()}
        shown |= {"input_columns": list(self.input_columns or [])}
        shown |= {"output_columns": list(self.output_columns or [])}
        if self.workers is not None:
            shown["num_parallel_workers"] = self.workers
        return shown


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class BucketBatch(Node):
    """Batches of rows of similar length."""

    column_names: tuple[str, ...]
    boundaries: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    length_function: Callable[..., Any] | None = None
    pad_info: dict[str, tuple[Any, Any]] | None = None
    pad_to_boundary: bool = False
    drop_remainder: bool = False

    @property
    def label(self) -> str:
        return "BucketBatchByLength"

    def inputs_of(self, columns: list[str]) -> list[str]:
        for name in self.column_names:
            if name not in columns:
                raise PlanError(
                    f"Invalid parameter, input column name: {name} doesn't exist in the dataset columns."
                    f" The columns are {columns}."
                )
        return list(self.column_names)

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        before = inputs[0]
        if before is None:
            return None
        self.inputs_of(list(before))
        return Schema(list(before))

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN

    def details(self) -> dict[str, Any]:
        return {
            "length_dependent_columns": list(self.column_names),
            "bucket_boundaries": list(self.boundaries),
            "bucket_batch_sizes": list(self.batch_sizes),
            "pad_to_bucket_boundary": self.pad_to_boundary,
            "drop_remainder": self.drop_remainder,
        }


# --------------------------------------------------------------------------------------------------
# order and count


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Shuffle(Node):
    """Random order: a permutation of indices where legal, else windows of ``buffer_size`` rows."""

    buffer_size: int
    key: int | None = None

    def details(self) -> dict[str, Any]:
        return {"buffer_size": self.buffer_size, "reset_each_epoch": self.key is None}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Repeat(Node):
    """The rows again and again; count None is without end."""

    count: int | None

    def size(self, inputs: tuple[Size, ...]) -> Size:
        if inputs[0] is UNKNOWN:
            return UNKNOWN
        return INFINITE if self.count is None else inputs[0] * self.count

    def details(self) -> dict[str, Any]:
        return {"count": -1 if self.count is None else self.count}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Skip(Node):
    """All but the first rows of each epoch."""

    count: int

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN if inputs[0] is UNKNOWN else max(0, inputs[0] - self.count)

    def details(self) -> dict[str, Any]:
        return {"count": self.count}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Take(Node):
    """The first rows of each epoch."""

    count: int

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN if inputs[0] is UNKNOWN else min(self.count, inputs[0])

    def details(self) -> dict[str, Any]:
        return {"count": self.count}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Deal(Node):
    """Every ``shards``-th row, starting with row ``shard``: how streams and concatenations are sharded.

    ``even`` gives every shard as many rows as the first: those that lack one get a row from the beginning.
    """

    shards: int
    shard: int
    even: bool = False

    def size(self, inputs: tuple[Size, ...]) -> Size:
        rows = inputs[0]
        if rows is UNKNOWN or rows == INFINITE:
            return rows
        return (int(rows) - (0 if self.even else self.shard) + self.shards - 1) // self.shards

    def details(self) -> dict[str, Any]:
        return {"num_shards": self.shards, "shard_id": self.shard}


# --------------------------------------------------------------------------------------------------
# several inputs, and the rest


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Concat(Node):
    """One dataset after the other."""

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        first = inputs[0]
        for other in inputs[1:]:
            if first is not None and other is not None and list(first) != list(other):
                raise PlanError(
                    "Invalid columns, 'column name' or 'column order' of concat datasets should be the same."
                    f" Got {list(first)} and {list(other)}; rename() or project() brings them together."
                )
        return first

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN if any(n is UNKNOWN for n in inputs) else sum(n for n in inputs if n is not None)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Zip(Node):
    """Row by row side by side, as long as the shortest lasts."""

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        joined: dict[str, ColumnType] = {}
        for schema in inputs:
            if schema is None:
                return None
            for name in schema:
                if name in joined:
                    raise PlanError(
                        f"Invalid data, duplicate column {name} already exists when zipping datasets."
                        f" rename(['{name}'], [...]) one of them first."
                    )
                joined[name] = schema[name]
        return Schema(joined)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN if any(n is UNKNOWN for n in inputs) else min(n for n in inputs if n is not None)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FlatMap(Node):
    """Each row becomes a dataset; their rows follow one another."""

    function: Callable[..., Any]

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        return None

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN

    def details(self) -> dict[str, Any]:
        return {"func": name_of(self.function)}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class SyncWait(Node):
    """A gate that lets ``num_batch`` batches through per update; the token names the gate of the session."""

    condition_name: str
    num_batch: int
    token: str
    # rows per batch above the gate: the gate counts batches, the stream carries rows
    batch_rows: int = 1

    def details(self) -> dict[str, Any]:
        return {"condition_name": self.condition_name, "num_batch": self.num_batch}
