"""Map step: applies the operations of a `map` to each row, or to whole columns where a batch kernel exists.

Each row passes through all operations, so intermediate results do not accumulate.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import PlanError
from millrace._src.core.random.rng import RandomStream
from millrace._src.core.row_warnings import set_row_context
from millrace._src.core.settings import Settings
from millrace._src.core.values.batch_buffers import BatchAssembler, ChunkBufferPool, is_in_batch_buffer
from millrace._src.core.values.chunk import Chunk, Column, column_value, make_column, normalize_value
from millrace._src.core.values.columns import RaggedColumn, StringColumn, as_ragged_column, as_string_column
from millrace._src.data.plan.nodes.order_ops import Map, columns_after_map
from millrace._src.data.transforms.base import (
    FusedTransform,
    PyFunc,
    Transform,
    display_name,
    nested_transforms,
)

from .defensive_copy import ResultCollector
from .failures import RowErrors
from .step_registry import register_step

__all__ = ["MapStep", "map_step", "row_values"]

# (whether the function takes the row number, function) for each operation
Calls = list[tuple[bool, Callable[..., Any]]]


def row_values(column: Column) -> Sequence[Any]:
    """One value per row; scalars of a dense column are 0-d arrays."""
    if isinstance(column, np.ndarray):
        return list(column) if column.ndim > 1 else [column_value(column, i) for i in range(len(column))]
    return column.values() if isinstance(column, StringColumn) else column


class MapStep:
    def __init__(self, op: Map, seed: int, hooks: tuple[Any, ...] = (), allocator: Any = None) -> None:
        self.op, self.seed, self.hooks = op, seed, hooks
        self.keys = op.resolve_random_keys()
        # whether each operation is a user function that takes random numbers
        self.takes_rng = [isinstance(operation, PyFunc) and operation.random for operation in op.operations]
        self.has_batch_kernel = op.operations[0].batch is not None and not hooks
        self.assembler = BatchAssembler(op.batch_rows, allocator) if op.batch_rows else None
        # whether rows are large enough for the batch buffer is checked with the first row
        self.checks_first_row = True
        self.buffer_pool = ChunkBufferPool()
        has_user_code = [
            any(part.user_code for part in nested_transforms(operation)) for operation in op.operations
        ]
        # results of a chain with user code may be memory that the user holds
        self.may_return_user_memory, self.foreign_end = any(has_user_code), has_user_code[-1]
        self.name = f"map({', '.join(display_name(t) for t in op.operations)}) at {op.call_site}"
        for library in {
            name for whole in op.operations for part in nested_transforms(whole) for name in part.libraries
        }:
            with contextlib.suppress(ImportError):  # the transform reports which extra is missing
                importlib.import_module(library)

    @property
    def plain_function(self) -> Callable[[Any], Any] | None:
        """The user function, if the map consists of nothing else."""
        first = self.op.operations[0]
        if len(self.op.operations) > 1 or not isinstance(first, PyFunc) or self.takes_rng[0] or self.hooks:
            return None
        return first.function

    def __call__(self, chunk: Chunk, failures: RowErrors, head: tuple[Any, ...] = ()) -> Chunk:
        """Apply the map to a chunk. ``head`` is the already computed result of the first row, if any."""
        names = list(chunk.columns)
        inputs = self.op.inputs_of(names)
        outputs = self.op.outputs_of(names)
        inputs_data = [chunk.columns[name] for name in inputs]
        first_operation = 0
        if self.has_batch_kernel:
            first_operation, inputs_data = self._run_batch_kernels(chunk, inputs_data)
            if first_operation == len(self.op.operations) and len(inputs_data) == len(outputs):
                output_columns = dict(zip(outputs, inputs_data, strict=True))
                after = columns_after_map(names, inputs, outputs)
                return chunk.with_columns(
                    {n: output_columns[n] if n in output_columns else chunk.columns[n] for n in after}
                )
            if first_operation == len(self.op.operations):  # an error that the row-wise path reports
                first_operation, inputs_data = 0, [chunk.columns[name] for name in inputs]
        columns = [row_values(column) for column in inputs_data]
        calls = self._bind_operations(chunk)[first_operation:]
        if head:
            calls[0] = (False, _SkipFirstCall(head[0], calls[0][1]))
        assembler = self.assembler if chunk.start >= 0 else None
        if assembler is not None:
            self._write_into_batch(assembler, chunk, outputs, calls)
        results: list[Any] = []
        failed_rows: list[int] = []
        i, n = 0, len(chunk)
        collector = (
            ResultCollector(n, len(outputs), self.buffer_pool) if self.may_return_user_memory else None
        )
        whole = chunk
        before = set_row_context(lambda: failures.describe_row(whole, len(results)))
        # the very first row alone, if there is a batch buffer
        end = 1 if assembler is not None and self.checks_first_row else n
        while i < n:
            try:
                if len(columns) == 1:
                    self._map_one_column(columns[0], i, end, calls, collector, results)
                else:
                    self._map_many_columns(columns, i, end, calls, collector, results)
                i = end
                if end < n and not _is_written_in_batch(results[0]):
                    self.assembler = assembler = None
                    calls = self._bind_operations(chunk)[first_operation:]
                end, self.checks_first_row = n, False
            except Exception as error:
                end = n
                i = len(results)
                if not self.failed(chunk, i, error, failures, inputs):
                    chunk, n = chunk.slice(0, i), i
                    break
                results.append(None)
                failed_rows.append(i)
                i += 1
        set_row_context(before)
        try:
            output_columns = self._collect_columns(_drop_rows(results, failed_rows), outputs, collector)
        except TypeError:
            n = self._fail_invalid_results(chunk, results, failed_rows, failures, inputs)
            chunk, results = chunk.slice(0, n), results[:n]
            output_columns = self._collect_columns(
                _drop_rows(results, failed_rows), outputs, collector, cut=True
            )
        if failed_rows:
            keep = np.ones(n, np.bool_)
            keep[failed_rows] = False
            chunk = chunk.take(keep)
        if not output_columns:
            empty: list[Any] = []
            none = chunk.with_columns(dict.fromkeys(columns_after_map(names, inputs, outputs), empty))
            return failures.fill_replacements(none, failed_rows)
        if assembler is not None and not any(
            is_in_batch_buffer(column[0]) for column in output_columns.values()
        ):
            self.assembler = None  # the rows are too small to benefit
        after = columns_after_map(names, inputs, outputs)
        chunk = chunk.with_columns(
            {n: output_columns[n] if n in output_columns else chunk.columns[n] for n in after}
        )
        return failures.fill_replacements(chunk, failed_rows)

    def _run_batch_kernels(self, chunk: Chunk, inputs: list[Column]) -> tuple[int, list[Column]]:
        """Apply the first operations to whole columns as far as they have batch kernels. Returns their number and the
        columns.
        """
        columns, count = inputs, 0
        keys = iter(self.keys)
        for operation in self.op.operations:
            parts = operation.operations if isinstance(operation, FusedTransform) else (operation,)
            key, *_ = [next(keys) for _ in parts]
            offered = [_kernel_input(column, operation) for column in columns]
            if operation.batch is None or any(column is None for column in offered):
                break
            random_stream = self._random_stream(chunk, key, operation)
            params = operation.params(random_stream) if random_stream is not None else ()
            try:
                outputs = _run_batch_kernel(operation, offered, params)
            except Exception:
                return 0, inputs  # the row-wise path reports which row failed
            if outputs is None or any(one is None or len(one) != len(chunk) for one in outputs):
                break
            columns = [one.copy() if operation.user_code else one for one in outputs]
            count += 1
        return count, columns

    def _fail_invalid_results(
        self, chunk: Chunk, results: list[Any], bad: list[int], failures: RowErrors, inputs: list[str]
    ) -> int:
        """Fail rows whose results are not valid values (None, objects, ragged lists). Returns the number of remaining
        rows.
        """
        n = len(results)
        for i, result in enumerate(results):
            if i in bad:
                continue
            try:
                for value in result if type(result) is tuple else (result,):
                    normalize_value(value)
            except TypeError as error:
                if not failures.record(chunk, i, error, self.name, "map operation: [PyFunc]", inputs):
                    n = i
                    break
                bad.append(i)
        order = sorted(range(len(bad)), key=bad.__getitem__)
        listed = failures.failed_rows[len(failures.failed_rows) - len(bad) :]
        failures.failed_rows[len(failures.failed_rows) - len(bad) :] = [listed[k] for k in order]
        bad.sort()
        return n

    def _bind_operations(self, chunk: Chunk) -> Calls:
        """The operations, bound to their random numbers for this chunk."""
        calls: Calls = []
        keys = iter(self.keys)
        for operation, takes_rng in zip(self.op.operations, self.takes_rng, strict=True):
            if isinstance(operation, FusedTransform):
                random_streams = [
                    self._random_stream(chunk, next(keys), part) for part in operation.operations
                ]
                calls.append((True, operation.fused_row_function(random_streams)))
                continue
            key = next(keys)
            if isinstance(operation, PyFunc) and not takes_rng:
                calls.append((False, operation.function))
            else:
                calls.append((True, operation.row_function(self._random_stream(chunk, key, operation))))
        if self.hooks:
            calls = [(False, self._hook("INPUT", 0)), *calls]
            for number in range(len(self.op.operations), 0, -1):
                calls.insert(number + 1, (False, self._hook("OUTPUT", number - 1)))
        return calls

    def _random_stream(self, chunk: Chunk, key: int, operation: Transform) -> RandomStream | None:
        if not operation.random:
            return None
        return RandomStream.for_rows(chunk.ids, seed=self.seed, epoch=chunk.epoch, op=key)

    def _hook(self, side: str, number: int) -> Callable[..., Any]:
        name = display_name(self.op.operations[number])

        def call(*values: Any) -> Any:
            for hook in self.hooks:
                hook.set_previous_op_name(name)
                hook.set_is_first(side == "INPUT")
                hook(*values)
            return values if len(values) > 1 else values[0]

        return call

    def _write_into_batch(
        self, assembler: BatchAssembler, chunk: Chunk, outputs: list[str], calls: Calls
    ) -> None:
        """Let the last operation write into the batch buffer, or copy its result there."""
        last = self.op.operations[-1]
        compute = calls[-1][1]

        def write(i: int, *values: Any) -> Any:
            result_type = last.output_spec(*values) if len(values) == 1 else None
            out = result_type and assembler.reserve_row(
                outputs[0], chunk.epoch, chunk.start + i, *result_type
            )
            if out is None:
                return compute(i, *values)
            last.row_into(out, *values)
            return out

        def copy(i: int, *results: Any) -> Any:
            if len(results) == len(outputs):  # otherwise an error that is reported elsewhere
                position = chunk.start + i
                results = tuple(
                    [
                        assembler.put(n, chunk.epoch, position, v)
                        for n, v in zip(outputs, results, strict=True)
                    ]
                )
            return results[0] if len(results) == 1 else results

        if type(last).row_into is not Transform.row_into:
            calls[-1] = (True, write)
        else:
            calls.append((True, copy))

    def _map_one_column(
        self,
        values: Sequence[Any],
        start: int,
        end: int,
        calls: Calls,
        collector: ResultCollector | None,
        results: list[Any],
    ) -> None:
        if collector is not None and len(calls) == 1 and not calls[0][0]:
            collector.run(calls[0][1], values[start:end], results)
            return
        for i in range(start, end):
            results.append(self._run_row(calls, i, (values[i],), collector))

    def _map_many_columns(
        self,
        columns: list[Sequence[Any]],
        start: int,
        end: int,
        calls: Calls,
        collector: ResultCollector | None,
        results: list[Any],
    ) -> None:
        for i in range(start, end):
            results.append(self._run_row(calls, i, tuple(column[i] for column in columns), collector))

    def _run_row(
        self, calls: Calls, i: int, arguments: tuple[Any, ...], collector: ResultCollector | None
    ) -> Any:
        """Apply all operations to one row; a tuple becomes the arguments of the next operation."""
        values: Any = arguments
        before: Any = arguments
        result: Any = None
        for takes_row, function in calls:
            before = values
            if takes_row:
                result = function(i, *[v if type(v) is np.ndarray else _as_array(v) for v in values])
            else:
                result = function(*values)
            values = result if type(result) is tuple else (result,)
        if collector is None:
            return result
        if not self.foreign_end and all(_is_new(value, before) for value in values):
            return result  # created by a Millrace transform
        return collector(result, arguments)

    def _collect_columns(
        self, results: list[Any], outputs: list[str], collector: ResultCollector | None, cut: bool = False
    ) -> dict[str, Column]:
        """Results as columns. A row gives one value, or a tuple with one value per output column. Empty if there are no
        results.
        """
        if not results:
            return {}
        if len(outputs) == 1 and tuple not in set(map(type, results)):
            return {outputs[0]: self._collect_column(results, collector, 0, cut)}
        for result in results:
            count = len(result) if type(result) is tuple else 1
            if count != len(outputs):
                raise PlanError(
                    "Invalid columns, the number of columns returned in 'map' operations should match the number "
                    "of 'output_columns', but got the number of columns returned in 'map' operations: "
                    f"{count}, the number of 'output_columns': {len(outputs)}. The map is {self.name}; its output "
                    f"columns are {outputs}."
                )
        columns = list(zip(*results, strict=True))
        return {
            name: self._collect_column(list(values), collector, k, cut)
            for k, (name, values) in enumerate(zip(outputs, columns, strict=True))
        }

    def _collect_column(
        self, values: list[Any], collector: ResultCollector | None, number: int, cut: bool
    ) -> Column:
        if collector is not None:
            column = collector.buffers[number].column(values, cut)
            if isinstance(column, np.ndarray):
                return column
            values = column
        return make_column(values)

    def failed(
        self, chunk: Chunk, i: int, error: Exception, failures: RowErrors, inputs: Sequence[str]
    ) -> bool:
        """Record that an operation failed on row i. True to continue without it."""
        what = f"map operation: [{getattr(error, 'millrace_op', None) or 'PyFunc'}]"
        return failures.record(chunk, i, error, self.name, what, list(inputs))

    def close(self) -> None: ...


class _SkipFirstCall:
    """A function whose result for the first value is already known."""

    def __init__(self, result: Any, function: Callable[..., Any]) -> None:
        self.result, self.function, self.first = result, function, True

    def __call__(self, *values: Any) -> Any:
        if self.first:
            self.first = False
            return self.result
        return self.function(*values)


def _drop_rows(results: list[Any], bad: list[int]) -> list[Any]:
    return [result for i, result in enumerate(results) if i not in bad] if bad else results


def _is_written_in_batch(result: Any) -> bool:
    """Whether part of a row was written into its batch buffer."""
    return any(is_in_batch_buffer(value) for value in (result if type(result) is tuple else (result,)))


def _as_array(value: Any) -> Any:
    """The value as a transform expects it: a Tensor from a user function becomes an array."""
    return normalize_value(value) if hasattr(value, "asnumpy") else value


def _kernel_input(column: Column, operation: Transform) -> Any:
    """The column in a form that the operation's `batch` accepts, or None."""
    wanted = operation.batch_column_types
    if StringColumn in wanted:
        texts = as_string_column(column)
        if texts is not None:
            return texts
    if isinstance(column, np.ndarray):
        return column if np.ndarray in wanted and column.dtype.kind in "biufc" else None
    return as_ragged_column(column) if RaggedColumn in wanted else None


def _run_batch_kernel(
    operation: Transform, columns: list[Any], params: Sequence[Any]
) -> Sequence[Any] | None:
    """The result columns of `batch` for these columns; None if it takes another number of columns."""
    assert operation.batch is not None
    if len(columns) != 1 and operation.num_inputs == 1:
        return (
            None if operation.single_column_only else [operation.batch(column, *params) for column in columns]
        )
    if len(columns) not in (1, operation.num_inputs):
        return None
    outputs = operation.batch(*columns, *params)
    return outputs if type(outputs) is tuple else (outputs,)


def _is_new(value: Any, before: tuple[Any, ...]) -> bool:
    """Whether the value has separate memory, not shared with an argument."""
    return type(value) is not np.ndarray or (value.base is None and all(value is not one for one in before))


@register_step(Map)
def map_step(op: Map, seed: int, settings: Settings, aligned: bool) -> MapStep:
    if op.is_sequential:
        op = op.replace(operations=copy.deepcopy(op.operations))  # its state belongs to this run
    return MapStep(op, seed, settings.debug_hooks if settings.debug_mode else (), settings.allocator)
