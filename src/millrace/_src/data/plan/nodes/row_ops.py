"""Row-wise nodes: each processes one row at a time, and adjacent ones run as one segment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core.errors import PlanError
from millrace._src.core.random.rng import hash_integers, rng_parameter_index
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.plan.node import UNKNOWN, Node, Size, internal_field, schema_of
from millrace._src.data.transforms.base import Transform, display_name, is_ordered, nested_transforms

__all__ = ["Filter", "Map", "Project", "Rename", "columns_after_map"]


def columns_after_map(columns: list[str], inputs: list[str], outputs: list[str]) -> list[str]:
    """Column order after a map: in place for equal counts, else the outputs first; outputs replace columns by name."""
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
    num_workers: int | None = None
    wants_processes: bool = False
    callbacks: tuple[Any, ...] = ()
    # the cache argument
    cache: Any = None
    # whether operations are offloaded to the GPU that batches go to; None: as configured
    offload: bool | None = internal_field(None)
    # the random keys of the operations, after a pass has joined or moved some; see `resolve_random_keys`
    random_keys: tuple[int, ...] = internal_field(())
    # rows per batch, if results are written directly into batches
    batch_rows: int = internal_field(0)
    # repeats above this node: an epoch of callbacks is the iterator's, not each pass of a repeat
    repeat_count: int = internal_field(1)

    may_fail = True
    preserves_rows = True
    preserves_order = True

    @property
    def inline_cache(self) -> Any:
        return self.cache

    def with_context(self, passes: int, batch_rows: int) -> Map:
        return self.replace(repeat_count=passes)

    @property
    def row_wise(self) -> bool:
        return not self.callbacks  # callbacks count the rows that pass this map

    @property
    def user_code(self) -> bool:
        return any(part.user_code for part in self._transforms())

    @property
    def is_expensive(self) -> bool:
        return any(part.is_expensive for part in self._transforms())

    @property
    def holds_gil(self) -> bool:
        return any(part.holds_gil for part in self._transforms())

    @property
    def is_sequential(self) -> bool:
        return any(is_ordered(operation) for operation in self.operations)

    @property
    def nondeterminism_reason(self) -> str:
        transform = next((part for part in self._transforms() if part.random), None)
        return f"{display_name(transform)} samples new random numbers" if transform is not None else ""

    def _transforms(self) -> Iterator[Transform]:
        return (part for whole in self.operations for part in nested_transforms(whole))

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        return (needed - set(self.outputs_of(columns))) | set(self.inputs_of(columns))

    def resolve_random_keys(self) -> tuple[int, ...]:
        """A random key for each operation as the user wrote them, so that joining two changes no random numbers."""
        return self.random_keys or tuple(
            hash_integers(self.op_id, number) for number in range(len(self.operations))
        )

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
        after = columns_after_map(names, self.inputs_of(names), outputs)
        return Schema({n: ColumnType() if n in outputs else before[n] for n in after})

    def details(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"operations": [str(op) for op in self.operations]}
        shown |= {"input_columns": list(self.input_columns or [])}
        shown |= {"output_columns": list(self.output_columns or [])}
        if self.num_workers is not None:
            shown["num_parallel_workers"] = self.num_workers
        if self.wants_processes:
            shown["python_multiprocessing"] = True
        if self.offload is not None:
            shown["offload"] = self.offload
        return shown


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Filter(Node):
    """Rows for which the predicate holds."""

    predicate: Callable[..., Any]
    input_columns: tuple[str, ...] | None = None
    num_workers: int | None = None

    row_wise = True
    preserves_order = True
    may_fail = True
    user_code = True

    @property
    def nondeterminism_reason(self) -> str:
        return (
            "its predicate samples new random numbers"
            if rng_parameter_index(self.predicate) is not None
            else ""
        )

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        return None if self.input_columns is None else needed | set(self.input_columns)

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
        return {"predicate": display_name(self.predicate), "input_columns": list(self.input_columns or [])}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Project(Node):
    """Some columns, in this order."""

    columns: tuple[str, ...]

    row_wise = True
    preserves_rows = True
    preserves_order = True

    @property
    def required_columns(self) -> tuple[str, ...]:
        return self.columns

    def with_passthrough_columns(
        self, extra: tuple[str, ...], moved: tuple[str, ...]
    ) -> tuple[Node, dict[str, str]] | None:
        kept = set(moved) <= set(self.columns)
        return (self.replace(columns=self.columns + extra), {}) if kept else None

    def is_noop(self) -> bool:
        before = schema_of(self.inputs[0])
        return before is not None and list(before) == list(self.columns)

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

    row_wise = True
    preserves_rows = True
    preserves_order = True

    def with_passthrough_columns(
        self, extra: tuple[str, ...], moved: tuple[str, ...]
    ) -> tuple[Node, dict[str, str]] | None:
        return self, dict(zip(self.input_columns, self.output_columns, strict=True))

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        back = dict(zip(self.output_columns, self.input_columns, strict=True))
        return {back.get(name, name) for name in needed}

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
