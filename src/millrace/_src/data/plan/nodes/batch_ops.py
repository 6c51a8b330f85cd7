"""Batch nodes: by a fixed size, a function, row lengths or tokens; and packing of documents into sequences."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from millrace._src.core.errors import PlanError
from millrace._src.core.random.rng import rng_parameter_index
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.plan.node import INFINITE, UNKNOWN, Node, Size, internal_field
from millrace._src.data.transforms.base import display_name

from .row_ops import columns_after_map

__all__ = ["HIDDEN_PREFIX", "Batch", "BucketBatch", "Pack"]

# Columns with this prefix are omitted from batches and from the output of iterators, unless renamed.
HIDDEN_PREFIX = "_meta-"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Batch(Node):
    """Rows stacked into batches; with pad_info, padded to one shape first."""

    batch_size: int | Callable[..., int] | None
    drop_remainder: bool = False
    per_batch_map: Callable[..., Any] | None = None
    input_columns: tuple[str, ...] | None = None
    output_columns: tuple[str, ...] | None = None
    pad_info: dict[str, tuple[Any, Any]] | None = None
    num_workers: int | None = None
    wants_processes: bool = False
    # the chunk that arrives is one whole batch already (a batch_sampler made it)
    from_batch_sampler: bool = False
    # the maximum tokens of a batch including padding, instead of batch_size; and its maximum rows
    max_tokens: int | None = None
    max_rows: int | None = None
    # the column with the length of a row, or a function of the row; otherwise the longest of its columns
    length_of: str | Callable[..., Any] | None = None
    # repeats above this node: BatchInfo's epoch counts what the user iterates, not each pass of a repeat
    repeat_count: int = internal_field(1)

    preserves_order = True
    makes_batches = True
    may_fail = True

    def with_context(self, passes: int, batch_rows: int) -> Batch:
        return self.replace(repeat_count=passes)

    @property
    def user_code(self) -> bool:
        return self.per_batch_map is not None

    @property
    def nondeterminism_reason(self) -> str:
        is_random = self.per_batch_map is not None and rng_parameter_index(self.per_batch_map) is not None
        return "its per_batch_map samples new random numbers" if is_random else ""

    @property
    def fixed_size(self) -> int | None:
        """Rows of every batch but the last, where that is known beforehand."""
        return self.batch_size if isinstance(self.batch_size, int) and not self.from_batch_sampler else None

    @property
    def describe_size(self) -> int | str:
        """The batch size for display."""
        if self.max_tokens is not None:
            return f"max_tokens={self.max_tokens}"
        return self.batch_size if isinstance(self.batch_size, int) else display_name(self.batch_size)

    @property
    def shown_length(self) -> str | None:
        return display_name(self.length_of) if callable(self.length_of) else self.length_of

    def input_rows_for(self, rows: int) -> int | None:
        # a function may use the number of its batch
        by_length = self.max_tokens is not None
        return None if self.fixed_size is None or self.user_code or by_length else rows * self.fixed_size

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        if self.max_tokens is not None:  # columns that are not needed also determine the length
            return None
        return needed if self.per_batch_map is None and not self.pad_info else None

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
        if isinstance(self.length_of, str) and self.length_of not in names:
            raise PlanError(
                f"Invalid length_of, column name: {self.length_of} does not exist. The columns are {names}."
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
            names = columns_after_map(names, ins, list(self.output_columns))
        size = self.batch_size if isinstance(self.batch_size, int) and self.drop_remainder else None
        padded = set(self.pad_info or names) if self.pad_info is not None else set()
        out: dict[str, ColumnType] = {}
        for n in names:
            free = n in touched or n in padded or n not in before
            out[n] = ColumnType() if free else before[n].batched(size)
        return Schema(out)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        rows = inputs[0]
        if self.from_batch_sampler:
            sampler = getattr(self.inputs[0], "batch_sampler", None) if self.inputs else None
            return UNKNOWN if sampler is None or not hasattr(sampler, "__len__") else len(sampler)
        if rows is UNKNOWN or not isinstance(self.batch_size, int):
            return UNKNOWN
        if rows == INFINITE:
            return INFINITE
        return int(rows // self.batch_size if self.drop_remainder else math.ceil(rows / self.batch_size))

    def details(self) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        if self.max_tokens is not None:
            shown = {
                "max_tokens": self.max_tokens,
                "batch_size": self.max_rows,
                "length_of": self.shown_length,
            }
        else:
            shown["batch_size"] = self.describe_size
        shown["drop_remainder"] = self.drop_remainder
        if self.per_batch_map is not None:
            shown["per_batch_map"] = display_name(self.per_batch_map)
        if self.pad_info is not None:
            shown["pad_info"] = {k: list(v) for k, v in self.pad_info.items()}
        shown |= {"input_columns": list(self.input_columns or [])}
        shown |= {"output_columns": list(self.output_columns or [])}
        if self.num_workers is not None:
            shown["num_parallel_workers"] = self.num_workers
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

    makes_batches = True

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


# The columns that pack adds.
PACK_COLUMNS = {
    "segment_ids": np.dtype(np.int32),
    "positions": np.dtype(np.int32),
    "mask": np.dtype(np.bool_),
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Pack(Node):
    """Packs documents into sequences of one length."""

    length: int
    input_columns: tuple[str, ...] | None = None
    split: bool = False
    too_long: Literal["error", "cut", "drop", "split"] = "error"
    bins: int = 16
    end_token: Any = None
    pad_token: Any = 0
    drop_remainder: bool = False

    @property
    def cuts(self) -> bool:
        """Documents longer than a sequence are truncated."""
        return self.too_long == "cut" and not self.split

    @property
    def drops(self) -> bool:
        """Documents longer than a sequence are skipped."""
        return self.too_long == "drop" and not self.split

    def packed(self, columns: list[str]) -> list[str]:
        """Which of the columns are packed."""
        named = [name for name in columns if not name.startswith(HIDDEN_PREFIX)]
        for name in self.input_columns or ():
            if name not in named:
                raise PlanError(
                    f"Invalid columns, pack has no column {name!r} to pack. The columns are {named}."
                )
        return list(self.input_columns or named)

    @property
    def required_columns(self) -> tuple[str, ...] | None:
        return self.input_columns

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        return set(self.packed(columns))

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        before = inputs[0]
        if before is None:
            return None
        names = self.packed(list(before))
        for name in names:
            shape = before[name].shape
            if name in PACK_COLUMNS:
                raise PlanError(
                    f"Invalid columns, pack adds a column {name!r}, and there is one: rename({name!r}, ...) it, or "
                    "name the columns to pack: pack(length, columns=[...])."
                )
            if shape is not None and len(shape) != 1:
                raise PlanError(
                    f"Invalid columns, pack takes columns of one dimension, and {name!r} is {before[name]}; name the "
                    "columns to pack: pack(length, columns=[...])."
                )
        for what, value in (("end_token", self.end_token), ("pad_token", self.pad_token)):
            if isinstance(value, dict) and set(value) != set(names):
                raise PlanError(
                    f"Invalid {what}, a value for each packed column is needed, {names}, but got {list(value)}."
                )
        column_types = {name: ColumnType(before[name].dtype, (self.length,)) for name in names}
        return Schema(
            column_types | {name: ColumnType(dtype, (self.length,)) for name, dtype in PACK_COLUMNS.items()}
        )

    def size(self, inputs: tuple[Size, ...]) -> Size:
        return INFINITE if inputs[0] == INFINITE else UNKNOWN

    def details(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"length": self.length, "columns": list(self.input_columns or [])}
        shown |= {"split": True} if self.split else {"too_long": self.too_long, "bins": self.bins}
        shown |= {"end_token": self.end_token, "pad_token": self.pad_token}
        return shown | {"drop_remainder": self.drop_remainder}
