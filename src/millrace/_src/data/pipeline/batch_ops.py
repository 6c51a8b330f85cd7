"""Ops that make batches: batch, padded_batch, bucket_batch_by_length."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any

from millrace._src.core.args import INT32_MAX, Columns, Range, as_column_list, check_columns, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.log import get_logger
from millrace._src.core.random.rng import rng_parameter_index
from millrace._src.data.plan.node import Node, call_site
from millrace._src.data.plan.nodes import order_ops as ops

from .argument_types import NumWorkers, RowSize, check_pad_info, count_parameters, with_kwargs_signature
from .base import DatasetBase

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["BatchOps"]

log = get_logger(__name__)


class BatchOps(DatasetBase):
    @with_kwargs_signature
    @checked
    def batch(
        self,
        batch_size: Any = ...,
        drop_remainder: bool = False,
        num_parallel_workers: Annotated[int | None, NumWorkers] = None,
        *,
        per_batch_map: Any = None,
        input_columns: Columns | None = None,
        output_columns: Columns | None = None,
        python_multiprocessing: bool = False,
        max_rowsize: Annotated[Any, RowSize()] = None,
        max_tokens: Annotated[int | None, Range(1, INT32_MAX)] = None,
        length_of: Any = None,
        pad_info: dict[Any, Any] | None = None,
    ) -> Dataset:
        """Stack rows into batches.

        ``batch_size`` is a number, or a function of ``BatchInfo`` that returns one for each batch. With
        ``per_batch_map`` a function gets the rows of each batch (one list per column, then ``BatchInfo``) and
        returns the rows to stack, for example after resizing images of different sizes.

        With ``max_tokens`` a batch has as many consecutive rows as fit when each is padded to the longest:
        rows times the longest length never exceeds it. ``batch_size`` is then the maximum number of rows. Rows are
        padded as by ``padded_batch(pad_info=...)``, unless ``per_batch_map`` is set. The length of a row is that of the
        longest of its columns along the first axis, or is defined by ``length_of``: a column, or a function of all
        columns. A row that is longer than ``max_tokens`` is an error. Shards have different rows, and so may have
        different numbers of batches; ``.repeat().batch(max_tokens=...).take(steps)`` gives each the same number.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3, 4, 5], shuffle=False).batch(2)
        >>> [row[0].tolist() for row in data]
        [[1, 2], [3, 4], [5]]
        >>> import numpy as np
        >>> rows = ds.GeneratorDataset([np.full(n, n) for n in (3, 2, 1, 4, 5)], "x", shuffle=False)
        >>> for row in rows.batch(max_tokens=8):
        ...     print(row[0].tolist())
        [[3, 3, 3], [2, 2, 0]]
        [[1, 0, 0, 0], [4, 4, 4, 4]]
        [[5, 5, 5, 5, 5]]
        """
        if batch_size is ...:
            if max_tokens is None:
                raise ArgumentTypeError(
                    "batch(): missing a required argument: 'batch_size', or max_tokens=..."
                )
            batch_size = None
        if isinstance(batch_size, bool):
            batch_size = int(batch_size)
        _check_tokens(batch_size, max_tokens, length_of, pad_info)
        if max_tokens is None and not isinstance(batch_size, int) and not callable(batch_size):
            raise ArgumentTypeError("batch_size should either be an int or a callable.")
        if isinstance(batch_size, int):
            if batch_size == -1:
                raise PlanError("Batch size cannot be -1 without using batch sampler.")
            Range(1, INT32_MAX).check("batch_size", batch_size)
        elif max_tokens is None and count_parameters(batch_size) not in (1, None):
            raise ArgumentValueError("callable batch_size should take one parameter (BatchInfo).")
        columns = as_column_list(input_columns)
        if columns is not None:
            if per_batch_map is None:
                raise ArgumentValueError("input_columns can be specified only when per_batch_map is set.")
            takes = count_parameters(per_batch_map)
            if takes is not None and (rng_parameter_index(per_batch_map) or 0) > len(columns):
                takes -= 1  # the parameter rng
            if takes is not None and takes - 1 != len(columns):
                raise ArgumentValueError("The signature of per_batch_map should match with input columns.")
        if per_batch_map is not None and not callable(per_batch_map):
            raise ArgumentValueError(
                f"Input operations should be callable Python function, but got: {per_batch_map}"
            )
        outputs = as_column_list(output_columns)
        pads = max_tokens is not None and (per_batch_map is None or pad_info is not None)
        padding = check_pad_info(pad_info or {}) if pads else None
        if max_tokens is None:
            _warn_repeat_below(self._node, "batch")
        return self._with_node(
            ops.Batch(
                inputs=(self._node,),
                call_site=call_site(),
                batch_size=batch_size if max_tokens is None else None,
                drop_remainder=drop_remainder,
                max_tokens=max_tokens,
                max_rows=None if max_tokens is None else batch_size,
                length_of=length_of,
                pad_info=padding,
                per_batch_map=per_batch_map,
                input_columns=None if columns is None else tuple(columns),
                output_columns=None if outputs is None or per_batch_map is None else tuple(outputs),
                num_workers=num_parallel_workers,
                wants_processes=python_multiprocessing,
            )
        )

    @checked
    def padded_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_workers: Annotated[int | None, NumWorkers] = None,
        pad_info: dict[Any, Any] | None = None,
    ) -> Dataset:
        """Pad rows to one shape, then stack them.

        ``pad_info`` maps a column to (shape, value); None in a shape means the largest size in the batch. Without it,
        or with an empty dict, every column is padded to its largest size, with 0 or empty text. (MindSpore pads nothing
        without it.)

        >>> import numpy as np
        >>> import millrace.dataset as ds
        >>> data = ds.GeneratorDataset([np.ones(1), np.ones(3)], "x", shuffle=False)
        >>> [row[0].tolist() for row in data.padded_batch(2)]
        [[[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]
        >>> [row[0].tolist() for row in data.padded_batch(2, pad_info={"x": ([None], -1)})]
        [[[1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]]
        """
        if isinstance(batch_size, bool):
            batch_size = int(batch_size)
        if not isinstance(batch_size, int) and not callable(batch_size):
            raise ArgumentTypeError("batch_size should either be an int or a callable.")
        Range(1, INT32_MAX).check("batch_size", batch_size)
        if callable(batch_size) and count_parameters(batch_size) not in (1, None):
            raise ArgumentValueError("callable batch_size should take one parameter (BatchInfo).")
        _warn_repeat_below(self._node, "padded_batch")
        return self._with_node(
            ops.Batch(
                inputs=(self._node,),
                call_site=call_site(),
                batch_size=batch_size,
                drop_remainder=drop_remainder,
                pad_info=check_pad_info({} if pad_info is None else pad_info),
                num_workers=num_parallel_workers,
            )
        )

    @checked
    def bucket_batch_by_length(
        self,
        column_names: list[Any],
        bucket_boundaries: list[Any],
        bucket_batch_sizes: list[Any],
        element_length_function: Any = None,
        pad_info: dict[Any, Any] | None = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Batch rows of similar length together, so that little is padded.

        Bucket i contains lengths from ``bucket_boundaries[i-1]`` up to, not including, ``bucket_boundaries[i]``,
        and becomes a batch when it holds ``bucket_batch_sizes[i]`` rows.

        >>> import numpy as np
        >>> import millrace.dataset as ds
        >>> rows = [np.full(n, n) for n in (1, 4, 2, 5)]
        >>> data = ds.GeneratorDataset(rows, "x", shuffle=False)
        >>> [row[0].tolist() for row in data.bucket_batch_by_length(["x"], [3], [2, 2])]
        [[[1, 0], [2, 2]], [[4, 4, 4, 4, 0], [5, 5, 5, 5, 5]]]
        """
        check_columns(column_names, "column_names")
        if element_length_function is None and len(column_names) != 1:
            raise ArgumentValueError(
                "If element_length_function is not specified, exactly one column name should be passed."
            )
        if element_length_function is not None and not callable(element_length_function):
            raise ArgumentTypeError("element_length_function object is not callable.")
        _check_buckets(bucket_boundaries, bucket_batch_sizes)
        return self._with_node(
            ops.BucketBatch(
                inputs=(self._node,),
                call_site=call_site(),
                column_names=tuple(column_names),
                boundaries=tuple(bucket_boundaries),
                batch_sizes=tuple(bucket_batch_sizes),
                length_function=element_length_function,
                pad_info=check_pad_info(pad_info),
                pad_to_boundary=pad_to_bucket_boundary,
                drop_remainder=drop_remainder,
            )
        )


def _check_tokens(batch_size: Any, max_tokens: int | None, length_of: Any, pad_info: Any) -> None:
    """Check the arguments that require max_tokens, and those that it allows."""
    if max_tokens is None:
        if length_of is not None:
            raise ArgumentValueError("length_of can be specified only when max_tokens is set.")
        if pad_info is not None:
            raise ArgumentValueError(
                "pad_info can be specified only when max_tokens is set; batches of so many rows are padded by "
                "padded_batch(batch_size, pad_info=...)."
            )
        return
    if batch_size is not None and not isinstance(batch_size, int):
        raise ArgumentTypeError(
            "batch_size should be an int where max_tokens is set: the most rows of a batch."
        )
    if length_of is not None and not isinstance(length_of, str) and not callable(length_of):
        raise ArgumentTypeError("length_of should either be the name of a column or a callable.")


def _check_buckets(boundaries: list[Any], sizes: list[Any]) -> None:
    if not boundaries:
        raise ArgumentValueError("bucket_boundaries cannot be empty.")
    if not all(isinstance(b, int) for b in boundaries):
        raise ArgumentTypeError("bucket_boundaries should be a list of int.")
    if any(b <= 0 for b in boundaries):
        raise ArgumentValueError("bucket_boundaries must only contain positive numbers.")
    if any(a >= b for a, b in itertools.pairwise(boundaries)):
        raise ArgumentValueError("bucket_boundaries should be strictly increasing.")
    if len(sizes) != len(boundaries) + 1:
        raise ArgumentValueError("bucket_batch_sizes must contain one element more than bucket_boundaries.")
    if not all(isinstance(s, int) for s in sizes):
        raise ArgumentTypeError("bucket_batch_sizes should be a list of int.")
    if any(s <= 0 for s in sizes):
        raise ArgumentValueError("bucket_batch_sizes should be a list of positive numbers.")


def _warn_repeat_below(node: Node, name: str) -> None:
    if isinstance(node, ops.Repeat):
        log.warning("Repeat is located before %s, data from two epochs can be batched together.", name)
