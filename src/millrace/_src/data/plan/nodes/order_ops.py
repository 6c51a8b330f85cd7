"""Nodes for order and row count, for several inputs, and for synchronization; re-exports all other nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

from millrace._src.core.errors import PlanError
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.plan.node import INFINITE, UNKNOWN, Node, Size, internal_field
from millrace._src.data.plan.order_steps import OrderStep, PermuteStep, SliceStep
from millrace._src.data.transforms.base import display_name

from .batch_ops import HIDDEN_PREFIX, Batch, BucketBatch, Pack
from .cache_ops import Cache
from .read import Read
from .row_ops import Filter, Map, Project, Rename, columns_after_map

__all__ = [
    "HIDDEN_PREFIX",
    "Batch",
    "BucketBatch",
    "Cache",
    "Concat",
    "Shard",
    "Filter",
    "FlatMap",
    "Map",
    "Mix",
    "Pack",
    "PermuteStep",
    "Project",
    "Read",
    "Rename",
    "Repeat",
    "Shuffle",
    "Skip",
    "SliceStep",
    "SyncWait",
    "Take",
    "Zip",
    "columns_after_map",
]


# --------------------------------------------------------------------------------------------------
# order and count


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Shuffle(Node):
    """Random order: a permutation of indices where possible, else windows of ``buffer_size`` rows."""

    buffer_size: int
    key: int | None = None

    passes_rows_through = True
    preserves_rows = True

    @property
    def reorders_each_epoch(self) -> bool:
        return self.key is None

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        return needed

    def order_step(self) -> OrderStep:
        return PermuteStep(op=self.op_id, key=self.key)

    def details(self) -> dict[str, Any]:
        return {"buffer_size": self.buffer_size, "reset_each_epoch": self.key is None}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Repeat(Node):
    """Repeats the rows; count None is endless."""

    count: int | None

    passes_rows_through = True

    def is_noop(self) -> bool:
        return self.count == 1

    def input_epochs(self, passes: int | None) -> int | None:
        return None if self.count is None or passes is None else passes * self.count

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

    passes_rows_through = True
    preserves_order = True

    def is_noop(self) -> bool:
        return self.count == 0

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        return needed

    def order_step(self) -> OrderStep:
        return SliceStep(skip=self.count)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN if inputs[0] is UNKNOWN else max(0, inputs[0] - self.count)

    def details(self) -> dict[str, Any]:
        return {"count": self.count}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Take(Node):
    """The first rows of each epoch."""

    count: int

    passes_rows_through = True
    preserves_order = True

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        return needed

    def order_step(self) -> OrderStep:
        return SliceStep(take=self.count)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN if inputs[0] is UNKNOWN else min(self.count, inputs[0])

    def details(self) -> dict[str, Any]:
        return {"count": self.count}


@stable_id("node.Deal")
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Shard(Node):
    """Every ``shards``-th row, starting with row ``shard``: how streams and concatenations are sharded.

    ``even`` gives every shard as many rows as the first: a shorter one gets a row from the beginning.
    """

    shards: int
    shard: int
    pad_to_equal: bool = False

    passes_rows_through = True
    preserves_order = True

    def size(self, inputs: tuple[Size, ...]) -> Size:
        rows = inputs[0]
        if rows is UNKNOWN or rows == INFINITE:
            return rows
        return (int(rows) - (0 if self.pad_to_equal else self.shard) + self.shards - 1) // self.shards

    def details(self) -> dict[str, Any]:
        return {"num_shards": self.shards, "shard_id": self.shard}


# --------------------------------------------------------------------------------------------------
# several inputs, and the rest


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Concat(Node):
    """Concatenation of datasets."""

    @property
    def row_id_inputs(self) -> tuple[Node, ...]:
        return self.inputs

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        first = inputs[0]
        for schema in inputs[1:]:
            if first is not None and schema is not None and list(first) != list(schema):
                raise PlanError(
                    "Invalid columns, 'column name' or 'column order' of concat datasets should be the same."
                    f" Got {list(first)} and {list(schema)}; rename() or project() brings them together."
                )
        return first

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN if any(n is UNKNOWN for n in inputs) else sum(n for n in inputs if n is not None)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Zip(Node):
    """Columns of several datasets combined row by row; the shortest determines the length."""

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
class Mix(Node):
    """Each row from one of several inputs, sampled by weights; ``exhausted`` is the rule for an input without rows."""

    weights: tuple[float, ...]
    exhausted: Literal["stop", "restart", "drop"] = "stop"

    reorders_each_epoch = True

    def share(self, number: int) -> float:
        """The fraction of rows that come from an input."""
        return self.weights[number] / sum(self.weights)

    @property
    def row_id_inputs(self) -> tuple[Node, ...]:
        return self.inputs

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        return needed

    def input_epochs(self, passes: int | None) -> int | None:
        return None if self.exhausted == "restart" else passes

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        known = [(number, schema) for number, schema in enumerate(inputs) if schema is not None]
        for number, schema in known[1:]:
            _check_same_columns(*known[0], number, schema)
        if len(known) < len(inputs):
            return None
        first = known[0][1]
        # a shape that differs is unknown
        column_types = {
            name: first[name] if all(schema[name] == first[name] for _, schema in known) else ColumnType()
            for name in first
        }
        return Schema(column_types)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        if any(n is UNKNOWN for n in inputs):
            return UNKNOWN
        if self.exhausted == "drop":
            return sum(n for n in inputs if n is not None)
        endless = [n == INFINITE for n in inputs]
        return INFINITE if (any if self.exhausted == "restart" else all)(endless) else UNKNOWN

    def details(self) -> dict[str, Any]:
        return {"weights": list(self.weights), "exhausted": self.exhausted}


def _check_same_columns(first_index: int, first: Schema, second_index: int, second: Schema) -> None:
    """Raise if the columns of two inputs of a mix differ; the error names the difference."""
    fix = "rename(), project() or map() brings them together."
    for a, b, has, lacks in (
        (first_index, second_index, first, second),
        (second_index, first_index, second, first),
    ):
        missing = [name for name in has if name not in lacks]
        if missing:
            raise PlanError(
                f"Invalid columns, dataset {a} of mix has a column {missing[0]!r} that dataset {b} lacks:"
                f" {list(has)} and {list(lacks)}; {fix}"
            )
    if list(first) != list(second):
        raise PlanError(
            f"Invalid columns, dataset {first_index} of mix has its columns in another order than dataset"
            f" {second_index}: {list(first)} and {list(second)}; {fix}"
        )
    for name in first:
        mine, theirs = first[name], second[name]
        if mine.dtype is None or theirs.dtype is None or mine.dtype == theirs.dtype:
            continue
        if {mine.dtype.kind, theirs.dtype.kind} - set("US"):
            raise PlanError(
                f"Invalid columns, column {name!r} is {mine} in dataset {first_index} of mix and {theirs} in dataset"
                f" {second_index}; {fix}"
            )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FlatMap(Node):
    """Each row becomes a dataset; the output is the rows of all of them."""

    function: Callable[..., Any]
    # the columns of the datasets that the function returns, after a query has determined them
    columns: tuple[str, ...] | None = internal_field(None)
    # the call site of the cache above it: the datasets must then be the same in every epoch
    cache_call_site: str | None = internal_field(None)

    preserves_order = True
    user_code = True

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        return None if self.columns is None else Schema(self.columns)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return UNKNOWN

    def details(self) -> dict[str, Any]:
        return {"func": display_name(self.function)}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class SyncWait(Node):
    """A gate that lets ``num_batch`` batches through per update; the token names the gate of the session."""

    condition_name: str
    num_batch: int
    gate_id: str
    # rows per batch above the gate: the gate counts batches, the stream carries rows
    batch_rows: int = internal_field(1)

    passes_rows_through = True
    preserves_rows = True
    preserves_order = True
    is_synchronized = True

    def with_context(self, passes: int, batch_rows: int) -> SyncWait:
        return self.replace(batch_rows=batch_rows)

    def details(self) -> dict[str, Any]:
        return {"condition_name": self.condition_name, "num_batch": self.num_batch}
