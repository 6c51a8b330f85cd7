"""Batch step: stacks rows into batches, with `per_batch_map` and padding.

Each column becomes one array that is written once, directly into the batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.machine.host_allocator import HostAllocator
from millrace._src.core.random.rng import RandomStream, hash_integers, rng_parameter_index, with_rng
from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.data.engine.batch_info import BatchInfo
from millrace._src.data.plan.nodes.order_ops import HIDDEN_PREFIX, Batch, columns_after_map
from millrace._src.data.transforms.base import display_name

from .collate import collate_column, dict_of_lists, pad_columns, to_row_list
from .failures import RowErrors, data_error
from .step_registry import SegmentStep, register_step

__all__ = ["BatchStep", "epoch_of", "add_row_context"]


def epoch_of(epoch: int, passes: int) -> int:
    """The epoch that the user iterates. Passes of a finite repeat above the batch do not count."""
    return epoch // passes


def add_row_context(error: DataError, rows: Chunk, op: str) -> None:
    """Add row and op to the context of an error: a batch knows the offset of a row, its chunk the row number."""
    error.context.setdefault("op", op)
    offset = error.context.pop("offset", None)
    if offset is not None:
        error.context.setdefault("row", int(rows.origin[offset]))
    elif error.context.get("row", -1) < 0:
        # the whole batch failed: its first row identifies the file
        error.context["row"] = int(rows.origin[0])
        error.context["batch"] = f"of the {len(rows)} rows from this one on"


class WholeBatchValue(NamedTuple):
    """The value of a column for the whole batch, as returned by the user function; it is not stacked."""

    value: dict[Any, Any]


class BatchStep:
    """Builds the batches of a chunk.

    ``aligned``: the chunk holds whole batches of a fixed size. Otherwise it holds exactly one batch.
    """

    def __init__(self, op: Batch, aligned: bool, seed: int, allocator: HostAllocator | None = None) -> None:
        self.op, self.aligned, self.seed, self.allocator = (
            op,
            aligned and not op.from_batch_sampler,
            seed,
            allocator,
        )
        self.takes_rng = op.per_batch_map is not None and rng_parameter_index(op.per_batch_map) is not None
        self.name = f"batch({op.describe_size}) at {op.call_site}"

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        n = len(chunk)
        size, number = n, chunk.start
        if self.aligned and isinstance(self.op.batch_size, int):
            size, number = self.op.batch_size, chunk.start // self.op.batch_size
        elif failures.error is not None:
            return chunk.slice(0, 0)  # the one batch lacks a row
        epoch = epoch_of(chunk.epoch, self.op.repeat_count)
        collated: list[dict[str, Any]] = []
        starts: list[int] = []
        failed: list[int] = []
        for k, start in enumerate(range(0, n, size)):
            rows = chunk if size >= n else chunk.slice(start, min(start + size, n))
            if failures.error is not None and len(rows) < size:
                break  # a row of this batch failed
            try:
                collated.append(self._make_batch(rows, BatchInfo(number + k, epoch)))
                starts.append(start)
            except DataError as error:
                if failures.record_batch(rows, error, self.name):
                    failed.append(k)
                    continue
                if not collated:
                    raise
                failures.error = error  # the batches before it are valid
                break
        if not collated:
            return failures.fill_replacements(chunk.slice(0, 0), failed)
        columns: dict[str, Column] = {name: [batch[name] for batch in collated] for name in collated[0]}
        batches = Chunk(columns, chunk.ids[starts], chunk.origin[starts], chunk.epoch, number)
        return failures.fill_replacements(batches, failed)

    def _make_batch(self, rows: Chunk, info: BatchInfo) -> dict[str, Any]:
        visible: dict[str, Column] = {
            n: c for n, c in rows.columns.items() if not n.startswith(HIDDEN_PREFIX)
        }
        columns: dict[str, Column | WholeBatchValue]
        try:
            if self.op.pad_info is not None:
                visible = pad_columns(visible, self.op.pad_info, allocator=self.allocator)
            columns = dict(visible)
            if self.op.per_batch_map is not None:
                columns = self._apply_per_batch_map(visible, info, rows)
            return {
                name: column.value
                if isinstance(column, WholeBatchValue)
                else collate_column(column, name, i, self.allocator)
                for i, (name, column) in enumerate(columns.items())
            }
        except DataError as error:
            add_row_context(error, rows, self.name)
            raise

    def _bind_rng(self, rows: Chunk, info: BatchInfo) -> Callable[..., Any]:
        """The user function, with the random stream of this batch if it has a parameter rng."""
        assert self.op.per_batch_map is not None
        if not self.takes_rng:
            return self.op.per_batch_map
        batch = np.array([hash_integers(int(rows.ids[0]), info.get_batch_num())], np.uint64)
        random_stream = RandomStream.for_rows(
            batch, seed=self.seed, epoch=rows.epoch, op=hash_integers(self.op.op_id, 0)
        )
        return functools.partial(with_rng(self.op.per_batch_map, random_stream), 0)

    def _apply_per_batch_map(
        self, columns: dict[str, Column], info: BatchInfo, chunk: Chunk
    ) -> dict[str, Column | WholeBatchValue]:
        op, rows = self.op, len(chunk)
        names = list(columns)
        inputs = list(op.input_columns or names)
        outputs = list(op.output_columns or inputs)
        arguments = [to_row_list(columns[name]) for name in inputs]
        assert op.per_batch_map is not None
        what = f"batch operation: [per_batch_map {display_name(op.per_batch_map)}]"
        try:
            result = self._bind_rng(chunk, info)(*arguments, info)
        except Exception as error:
            raise data_error(error, what, op=self.name, row=-1, columns=inputs) from error
        if not isinstance(result, tuple):
            result = (result,)
        if len(result) != len(outputs):
            raise DataError(
                "Invalid per_batch_map, the number of columns returned in 'per_batch_map' function should be "
                f"{len(outputs)} , but got: {len(result)}",
                op=self.name,
                column=", ".join(outputs),
            )
        mapped: dict[str, Column | WholeBatchValue] = {}
        for name, values in zip(outputs, result, strict=True):
            if isinstance(values, dict):
                mapped[name] = WholeBatchValue(values)
                continue
            if values is None:
                raise DataError("Got None from Python object.", op=self.name, column=name)
            if hasattr(values, "asnumpy") or hasattr(values, "__array__"):
                values = np.asarray(values)
            if not isinstance(values, (list, tuple, np.ndarray)):
                raise DataError(
                    f"Execute user Python code failed: TypeError: '{type(values).__name__}' object is not iterable;"
                    " per_batch_map returns one list or array per column",
                    op=self.name,
                    column=name,
                )
            if len(values) != rows:
                raise DataError(
                    f"Invalid data, column: {name} expects: {rows} rows returned from 'per_batch_map', "
                    f"got: {len(values)}",
                    op=self.name,
                    column=name,
                )
            if any(isinstance(value, dict) for value in values):
                mapped[name] = WholeBatchValue(dict_of_lists(list(values), name))
                continue
            mapped[name] = (
                values if isinstance(values, np.ndarray) and values.dtype.kind != "O" else list(values)
            )
        after = columns_after_map(names, inputs, outputs)
        return {n: mapped[n] if n in mapped else columns[n] for n in after}

    def close(self) -> None: ...


@register_step(Batch)
def _batch(op: Batch, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    return BatchStep(op, aligned, seed, settings.allocator)
