"""Dataset metadata: columns, shapes, types, sizes, classes, and the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentValueError
from millrace._src.data.plan.explain import Explanation, explain
from millrace._src.data.plan.node import Node, rewrite, schema_of
from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.data.plan.serialize import to_json

from .base import DatasetBase

if TYPE_CHECKING:
    from millrace._src.observe.report import Report

__all__ = ["DatasetMetadata"]


class DatasetMetadata(DatasetBase):
    def get_col_names(self) -> list[str]:
        """The names of the columns, in order.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset({"a": [1], "b": [2]}).get_col_names()
        ['a', 'b']
        """
        schema = schema_of(self._node)
        if schema is None and not self._first_row():
            schema = schema_of(rewrite(self._node, self._with_flat_map_columns))
        return list(self._first_row()) if schema is None else list(schema)

    def _with_flat_map_columns(self, node: Node) -> Node:
        """Set the columns of a flat_map without rows: those of the dataset that it makes of the first row."""
        if not isinstance(node, ops.FlatMap):
            return node
        for row in self._peek(node.inputs[0], 1):
            inner = node.function(*row.values())
            return node.replace(columns=tuple(inner.get_col_names()))
        return node

    def _first_row(self) -> dict[str, Any]:
        if "first" not in self._session.cached_metadata:
            self._session.cached_metadata["first"] = next(iter([*self._peek(self._node, 1)]), {})
        first: dict[str, Any] = self._session.cached_metadata["first"]
        return first

    @checked
    def output_shapes(self, estimate: bool = False) -> list[list[int | None]]:
        """The shape of each column, from the first row; ``estimate`` reads all rows, None where they differ.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([[1, 2], [3, 4], [5, 6]], shuffle=False).batch(2).output_shapes()
        [[2, 2]]
        """
        first = self._first_row()
        shapes: dict[str, list[int | None]] = {name: _shape(value) for name, value in first.items()}
        if estimate:
            for row in self._peek(self._node, None):
                shapes = {name: _merge(shapes[name], _shape(value)) for name, value in row.items()}
        shapes |= {k: v for k, v in self._session.dynamic_columns.items() if k in shapes}
        return list(shapes.values())

    def output_types(self) -> list[Any]:
        """The numpy type of each column.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1.5, 2.5]).output_types()
        [dtype('float64')]
        """
        return [_type(value) for value in self._first_row().values()]

    def dynamic_min_max_shapes(self) -> tuple[list[list[int]], list[list[int]]]:
        """The smallest and the largest shape of each column over one epoch.

        >>> import numpy as np
        >>> import millrace.dataset as ds
        >>> ds.GeneratorDataset([np.zeros(2), np.zeros(5)], "x").dynamic_min_max_shapes()
        ([[2]], [[5]])
        """
        rows = [[list(np.shape(v)) for v in row.values()] for row in self._peek(self._node, None)]
        columns = list(zip(*rows, strict=True))
        low = [[min(n) for n in zip(*shapes, strict=True)] for shapes in columns]
        high = [[max(n) for n in zip(*shapes, strict=True)] for shapes in columns]
        return low, high

    def set_dynamic_columns(self, columns: dict[str, list[int | None]] | None = None) -> None:
        """Set which columns have variable dimensions (None in their shapes); output_shapes then reports those.

        >>> import numpy as np
        >>> import millrace.dataset as ds
        >>> data = ds.GeneratorDataset([np.zeros(2), np.zeros(5)], "x", shuffle=False)
        >>> data.set_dynamic_columns({"x": [None]})
        >>> data.output_shapes()
        [[None]]
        """
        check_type(columns, (dict,), "columns")
        if not columns:
            raise ArgumentValueError("columns should not be empty.")
        names = self.get_col_names()
        for name in columns:
            if name not in names:
                raise ArgumentValueError(
                    f"The column {name!r} is not in the dataset; the columns are {names}."
                )
        self._session.dynamic_columns = dict(columns)

    def get_batch_size(self) -> int:
        """Rows in a batch of the last batch op; 1 if there is none, -1 if a function decides.

        For several inputs it is that of the last one, as in MindSpore.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2, 3]).batch(2).get_batch_size()
        2
        """
        if self._session.batch_size is not None:
            return self._session.batch_size
        for node in _queried_nodes(self._node):
            if isinstance(node, ops.Batch):
                return node.batch_size if isinstance(node.batch_size, int) else -1
        return 1

    def copy_batch_size(self, value: int) -> None:
        """Set the return value of get_batch_size().

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2])
        >>> data.copy_batch_size(8)
        >>> data.get_batch_size()
        8
        """
        self._session.batch_size = value

    def get_repeat_count(self) -> int:
        """The count of the topmost repeat (of more than once); -1 if it is endless, 1 if there is none.

        For several inputs it is that of the last one, as in MindSpore.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1]).repeat(3).batch(1).get_repeat_count()
        3
        """
        repeats = [node.count for node in _queried_nodes(self._node) if isinstance(node, ops.Repeat)]
        count = next((count for count in repeats if count != 1), 1)
        return -1 if count is None else count

    def num_classes(self) -> int | None:
        """The number of classes of the source; None if it has none.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).num_classes() is None
        True
        """
        return self._source_attribute("num_classes", None, last=True)

    def get_class_indexing(self) -> dict[str, Any]:
        """Class names and their numbers; empty if the source has none.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).get_class_indexing()
        {}
        """
        return self._source_attribute("class_indexing", {}, last=False)

    def _source_attribute(self, question: str, default: Any, last: bool) -> Any:
        for node in _queried_nodes(self._node, -1 if last else 0):
            method = getattr(node.source, question, None) if isinstance(node, ops.Read) else None
            if method is not None:
                return method()
        return default

    @property
    def input_indexs(self) -> Any:
        """The columns that a network takes, set by the user; inherited along the pipeline.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2])
        >>> data.input_indexs = 0
        >>> data.batch(2).input_indexs
        0
        """
        sessions = [self._session]
        while sessions:
            session = sessions.pop(0)
            if session.input_indexs is not None:
                return session.input_indexs
            sessions += session.input_states[:1]
        return ()

    @input_indexs.setter
    def input_indexs(self, value: Any) -> None:
        self._session.input_indexs = value

    def set_init_step(self, init_step: int) -> None:
        """Let the next iterator start at this step, counted over epochs; for an exact resume see
        ``iterator.state()``.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False)
        >>> data.set_init_step(2)
        >>> [row[0].item() for row in data.create_tuple_iterator(num_epochs=1)]
        [3]
        """
        check_type(init_step, (int,), "init_step")
        self._session.init_step = init_step

    def get_init_step(self) -> int:
        """The step set by set_init_step on this dataset or on its input; 0 otherwise.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).get_init_step()
        0
        """
        session = self._session
        while session.init_step is None and len(session.input_states) == 1:
            session = session.input_states[0]
        return session.init_step or 0

    @checked
    def to_json(self, filename: str = "") -> dict[str, Any]:
        """The pipeline as a dict for JSON; written to a file if a name is given.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).batch(2).to_json()["op_type"]
        'Batch'
        """
        pipeline = to_json(self._node)
        if filename:
            Path(filename).write_text(json.dumps(pipeline, separators=(",", ":")), encoding="utf-8")
        return pipeline

    def explain(
        self, after: str | None = None, *, device_target: Literal["CPU", "GPU"] = "CPU"
    ) -> Explanation:
        """The plan as a text tree: executors, columns, number of rows or batches.

        ``after`` names a pass ("as written", "drop no-ops", "push order down", "prune columns", "place",
        "fuse rows", "join transforms", "gather rows"); without it, the plan that would run. With
        ``device_target="GPU"`` it is the plan of batches that go to a GPU: its first line lists the work on the GPU.

        >>> import millrace.dataset as ds
        >>> print(ds.NumpySlicesDataset([1, 2]).batch(2).explain().splitlines()[1].strip().split(" · ")[0])
        1 batch
        """
        return explain(self._plan(for_device=device_target == "GPU"), after)

    def report(self) -> Report:
        """The report of the last run: rows/s, busy time, waiting time and queue fill of each stage, and the bottleneck.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset(list(range(100))).batch(10)
        >>> for row in data.create_tuple_iterator(num_epochs=1):
        ...     pass
        >>> data.report().delivered
        10
        """
        if not self._session.runs:
            raise ArgumentValueError("nothing has run yet: iterate the dataset first, then call report()")
        from millrace._src.observe.report import Report

        return Report(self._session.runs[-1])

    def skipped(self) -> list[Any]:
        """Rows that the error mode skipped or replaced in the last run: op, row, column, file, reason.

        >>> import millrace.dataset as ds
        >>> ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
        >>> data = ds.NumpySlicesDataset([1, 0, 2], shuffle=False).map(lambda x: 1 // int(x))
        >>> [row[0].item() for row in data]
        [1, 0]
        >>> data.skipped()[0].row, data.skipped()[0].reason
        (1, 'ZeroDivisionError: integer division or modulo by zero')
        """
        return list(self._session.runs[-1].failed_rows.entries()) if self._session.runs else []


def _shape(value: Any) -> list[int | None]:
    return [0] if isinstance(value, dict) else list(np.shape(value))


def _merge(one: list[int | None], two: list[int | None]) -> list[int | None]:
    if len(one) != len(two):
        raise ArgumentValueError(f"rows of one column have different ranks: {one} and {two}")
    return [a if a == b else None for a, b in zip(one, two, strict=True)]


def _type(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.dtype(value.dtype.kind) if value.dtype.kind in "US" else value.dtype
    return np.dtype("O")


def _queried_nodes(node: Node, which: int = -1) -> Iterator[Node]:
    """The nodes that metadata queries visit, from the top down: one of several inputs, as MindSpore chooses it.

    Nodes below a flat_map are not visited: its rows come from datasets that the user's function makes.
    """
    while True:
        yield node
        if not node.inputs or isinstance(node, ops.FlatMap):
            return
        node = node.inputs[which]
