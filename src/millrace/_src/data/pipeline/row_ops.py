"""Ops on single rows: map, filter, flat_map, project, rename, apply."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from millrace._src.core.args import Columns, as_column_list, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.data.plan.node import call_site
from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.data.transforms.base import Transform, as_operation

from .argument_types import CacheArgument, Callbacks, NumWorkers, RowSize, with_kwargs_signature
from .base import DatasetBase

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["RowOps"]


def _column_tuple(columns: Any) -> tuple[str, ...] | None:
    names = as_column_list(columns)
    return None if names is None else tuple(names)


def _as_list(value: Any) -> list[Any]:
    """Convert a value, a sequence or None to a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


class RowOps(DatasetBase):
    @with_kwargs_signature
    @checked
    def map(
        self,
        operations: Any,
        input_columns: Columns | None = None,
        output_columns: Columns | None = None,
        column_order: Any = None,
        num_parallel_workers: Annotated[int | None, NumWorkers] = None,
        *,
        python_multiprocessing: bool = False,
        cache: Annotated[Any, CacheArgument()] = None,
        callbacks: Annotated[Any, Callbacks()] = None,
        max_rowsize: Annotated[Any, RowSize()] = None,
        offload: bool | None = None,
    ) -> Dataset:
        """Apply one operation, or a list of them in sequence, to columns of each row.

        A function of n columns may return m: name them in ``output_columns``. The default of ``input_columns`` is the
        first column. ``python_multiprocessing`` runs functions that hold the GIL in processes. A function with
        a parameter ``rng`` receives a numpy generator for the row, the epoch and the operation: its numbers are the
        same for any number of workers and after a resume. The same holds for a predicate of ``filter``, and for a
        ``per_batch_map``, which receives one per batch. With ``offload=True`` the last operations before a batch run
        on the GPU that batches go to, as far as possible; ``offload=False`` runs all on the host. Without such a
        GPU everything runs on the host.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset({"a": [1, 2], "b": [10, 20]}, shuffle=False)
        >>> data = data.map(lambda a, b: a + b, ["a", "b"], ["sum"])
        >>> [row["sum"].item() for row in data.create_dict_iterator(num_epochs=1)]
        [11, 22]
        >>> noisy = data.map(lambda x, rng: x + rng.normal(), "sum")
        >>> noisy.get_dataset_size()
        2
        """
        if column_order is not None:
            raise ArgumentValueError(
                "The parameter 'column_order' had been deleted in map operation. Please use '.project' "
                "operation instead.\n>> # Usage of old api:\n>> dataset = dataset.map(operations=PyFunc,\n"
                '>>                       input_columns=["column_a"],\n'
                '>>                       output_columns=["column_b", "column_c"],\n'
                '>>                       column_order=["column_b", "column_c"])\n'
                ">> # Usage of new api:\n>> dataset = dataset.map(operations=PyFunc,\n"
                '>>                       input_columns=["column_a"],\n'
                '>>                       output_columns=["column_b", "column_c"])\n'
                '>> dataset = dataset.project(["column_b", "column_c"])'
            )
        operation_list = _as_list(operations)
        if not operation_list:
            raise PlanError("Map: No 'operations' are specified.")
        for operation in operation_list:
            _check_operation(operation)
        return self._with_node(
            ops.Map(
                inputs=(self._node,),
                call_site=call_site(),
                operations=tuple(as_operation(operation) for operation in operation_list),
                input_columns=_column_tuple(input_columns),
                output_columns=_column_tuple(output_columns),
                num_workers=num_parallel_workers,
                wants_processes=python_multiprocessing,
                callbacks=tuple(callback.create_runtime_obj() for callback in _as_list(callbacks)),
                cache=cache,
                offload=offload,
            )
        )

    @checked
    def filter(
        self,
        predicate: Any,
        input_columns: Columns | None = None,
        num_parallel_workers: Annotated[int | None, NumWorkers] = None,
    ) -> Dataset:
        """Keep the rows for which the predicate is true; it receives the named columns, or all of them.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3, 4], shuffle=False)
        >>> [row[0].item() for row in data.filter(lambda x: x % 2 == 0)]
        [2, 4]
        """
        if not callable(predicate):
            raise ArgumentTypeError("Predicate should be a Python function or a callable Python object.")
        return self._with_node(
            ops.Filter(
                inputs=(self._node,),
                call_site=call_site(),
                predicate=predicate,
                input_columns=_column_tuple(input_columns),
                num_workers=num_parallel_workers,
            )
        )

    def flat_map(self, func: Callable[..., Any]) -> Dataset:
        """Convert each row to a dataset, and concatenate the rows of all of them.

        The function receives one argument per column. It is called when its rows are needed, so a
        wrong result raises an error when the dataset is iterated.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([[1, 2], [3, 4]], shuffle=False)
        >>> split = data.flat_map(lambda row: ds.NumpySlicesDataset(row, shuffle=False))
        >>> [row[0].item() for row in split]
        [1, 2, 3, 4]
        """
        if not hasattr(func, "__call__"):  # noqa: B004 - callable() also takes classes, as does the original
            raise ArgumentTypeError("func must be a function.")
        return self._with_node(ops.FlatMap(inputs=(self._node,), call_site=call_site(), function=func))

    @checked
    def project(self, columns: Columns) -> Dataset:
        """Keep these columns, in this order.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset({"a": [1], "b": [2]}).project(["b"])
        >>> data.get_col_names()
        ['b']
        """
        names = _column_tuple(columns) or ()
        return self._with_node(ops.Project(inputs=(self._node,), call_site=call_site(), columns=names))

    @checked
    def rename(self, input_columns: Columns, output_columns: Columns) -> Dataset:
        """Rename columns.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset({"a": [1]}).rename("a", "image").get_col_names()
        ['image']
        """
        before, after = _column_tuple(input_columns) or (), _column_tuple(output_columns) or ()
        if len(before) != len(after):
            raise ArgumentValueError("Number of column in input_columns and output_columns is not equal.")
        node = ops.Rename(
            inputs=(self._node,), call_site=call_site(), input_columns=before, output_columns=after
        )
        return self._with_node(node)

    def apply(self, apply_func: Callable[..., Any]) -> Dataset:
        """Call a function with this dataset, and return the dataset that it returns.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2, 3]).apply(lambda data: data.batch(2)).get_dataset_size()
        2
        """
        if not hasattr(apply_func, "__call__"):  # noqa: B004
            raise ArgumentTypeError("apply_func must be a function.")
        dataset = apply_func(self)
        if not isinstance(dataset, DatasetBase):
            raise ArgumentTypeError("apply_func must return a dataset.")
        return dataset  # type: ignore[return-value]


def _check_operation(operation: Any) -> None:
    if inspect.isclass(operation):
        raise ArgumentValueError(
            "Parameter operations's element of method map should be a dataset processing operation instance, "
            f"but got: {operation}. It may be missing parentheses for instantiation."
        )
    if not callable(operation) and not isinstance(operation, Transform):
        raise ArgumentValueError(
            "Parameter operations's element of method map should be a python function or class method which "
            f"should be callable, but got: {operation}. It doesn't need parentheses for python function or "
            "class method."
        )
