"""Ops on order and count: shuffle, repeat, skip, take, split, concat, zip."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from millrace._src.core import settings
from millrace._src.core.args import INT32_MAX, Range, check_type, checked, checks_names_only
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.rng import hash_integers
from millrace._src.data.plan.node import call_site, walk
from millrace._src.data.plan.nodes import order_ops as ops

from .base import DatasetBase
from .use_sampler import fix_random_order

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["OrderOps", "mix_datasets", "zip_datasets"]

SPLIT_WINDOW = 10_000


class OrderOps(DatasetBase):
    @checked
    def shuffle(self, buffer_size: Annotated[int, Range(2, INT32_MAX)]) -> Dataset:
        """Shuffle the rows, in another order in each epoch.

        Over a random-access source this is a true permutation, whatever the buffer size, and costs no memory;
        over a stream it shuffles windows of ``buffer_size`` rows.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset(list(range(9)), shuffle=False).shuffle(4)
        >>> sorted(row[0].item() for row in data)
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        if any(isinstance(node, ops.SyncWait) for node in walk(self._node)):
            raise PlanError("No shuffle after sync operators.")
        return self._with_node(
            ops.Shuffle(inputs=(self._node,), call_site=call_site(), buffer_size=buffer_size)
        )

    def repeat(self, count: int | None = None) -> Dataset:
        """Repeat the rows ``count`` times as one epoch; None or -1 is endless.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).repeat(3).get_dataset_size()
        6
        """
        if count is not None:
            check_type(count, (int, type(None)), "repeat")
            if (count <= 0 and count != -1) or count > INT32_MAX:
                raise ArgumentValueError(
                    "count should be either -1 or positive integer, range[1, INT32_MAX]."
                )
        times = None if count in (None, -1) else count
        return self._with_node(ops.Repeat(inputs=(self._node,), call_site=call_site(), count=times))

    @checked
    def skip(self, count: Annotated[int, Range(0, INT32_MAX)]) -> Dataset:
        """Skip the first rows of each epoch.

        >>> import millrace.dataset as ds
        >>> [row[0].item() for row in ds.NumpySlicesDataset([1, 2, 3], shuffle=False).skip(2)]
        [3]
        """
        return self._with_node(ops.Skip(inputs=(self._node,), call_site=call_site(), count=count))

    @checked
    def take(self, count: int = -1) -> Dataset:
        """Keep only the first rows of each epoch; -1 keeps all of them.

        >>> import millrace.dataset as ds
        >>> [row[0].item() for row in ds.NumpySlicesDataset([1, 2, 3], shuffle=False).take(2)]
        [1, 2]
        """
        if count != -1 and not 0 < count <= INT32_MAX:
            raise ArgumentValueError(
                f"count should be either -1 or within the required interval of (0, {INT32_MAX}], got {count}."
            )
        if count == -1:
            return self._with_node(self._node)
        return self._with_node(ops.Take(inputs=(self._node,), call_site=call_site(), count=count))

    @checked
    def split(self, sizes: list[Any], randomize: bool = True) -> list[Dataset]:
        """Split into disjoint parts: by row counts, or by fractions that add up to 1.

        ``randomize`` selects the rows of the parts at random. They depend only on ``config.set_seed``: every epoch, run
        and process has the same parts, and earlier shuffles have a fixed order. Parts of a random-access
        source can still be sharded with use_sampler().

        >>> import millrace.dataset as ds
        >>> train, test = ds.NumpySlicesDataset(list(range(10))).split([0.8, 0.2])
        >>> train.get_dataset_size(), test.get_dataset_size()
        (8, 2)
        """
        _check_sizes(sizes)
        if self.is_sharded():
            raise PlanError("Dataset should not be sharded before split.")
        counts = _row_counts(sizes, self.get_dataset_size())
        seed = settings.current().seed
        key = hash_integers(settings.DEFAULT_SEED if seed is None else seed, 0x5B117)
        starts = itertools.accumulate([0, *counts[:-1]])
        return [
            self._split_part(start, rows, key, randomize) for start, rows in zip(starts, counts, strict=True)
        ]

    def _split_part(self, start: int, rows: int, key: int, randomize: bool) -> Dataset:
        """One part of a split; parts with the same key are disjoint."""
        node = fix_random_order(self._node, key)
        if randomize:
            node = ops.Shuffle(inputs=(node,), call_site=call_site(), buffer_size=SPLIT_WINDOW, key=key)
        if start:
            node = ops.Skip(inputs=(node,), call_site=call_site(), count=start)
        return self._with_node(ops.Take(inputs=(node,), call_site=call_site(), count=rows))

    def concat(self, datasets: Any) -> Dataset:
        """Concatenate datasets; ``a + b`` is the same. use_sampler() shards or shuffles the result.

        >>> import millrace.dataset as ds
        >>> one, two = (ds.NumpySlicesDataset(rows, shuffle=False) for rows in ([1], [2, 3]))
        >>> [row[0].item() for row in one + two]
        [1, 2, 3]
        """
        check_type(datasets, (list, self._dataset_class), "datasets")
        added = [datasets] if isinstance(datasets, DatasetBase) else datasets
        for i, dataset in enumerate(added):
            check_type(dataset, (self._dataset_class,), f"dataset[{i}]")
        if not added:
            raise PlanError("Concat: concatenated datasets are not specified.")
        for i, part in enumerate([self, *added]):
            if part._known_size() == 0:
                raise ArgumentValueError(
                    f"There are no samples in the dataset number {i}. Please make sure there are valid "
                    "samples in the dataset."
                )
        return self._with_node(
            ops.Concat(inputs=(self._node, *(o._node for o in added)), call_site=call_site()), *added
        )

    def __add__(self, datasets: Any) -> Dataset:
        return self.concat(datasets)

    def zip(self, datasets: Any) -> Dataset:
        """Combine the columns of several datasets; the shortest determines the number of rows.

        >>> import millrace.dataset as ds
        >>> a = ds.NumpySlicesDataset({"a": [1, 2]}, shuffle=False)
        >>> b = ds.NumpySlicesDataset({"b": [3, 4]}, shuffle=False)
        >>> [[value.item() for value in row] for row in a.zip(b)]
        [[1, 3], [2, 4]]
        """
        check_type(datasets, (tuple, self._dataset_class), "datasets")
        added = (datasets,) if isinstance(datasets, DatasetBase) else datasets
        if not added:
            raise PlanError("ZipNode: input datasets are not specified.")
        return zip_datasets((self, *added))


@public("dataset:zip")
@partial(checks_names_only, display_name="zip")
def zip_datasets(datasets: tuple[Any, ...]) -> Dataset:
    """Combine the columns of several datasets; ``ds.zip((a, b))`` calls this.

    >>> import millrace.dataset as ds
    >>> a, b = ds.NumpySlicesDataset({"a": [1]}), ds.NumpySlicesDataset({"b": [2]})
    >>> ds.zip((a, b)).get_col_names()
    ['a', 'b']
    """
    check_type(datasets, (tuple,), "datasets")
    if len(datasets) <= 1:
        raise ArgumentValueError("Can't zip empty or just one dataset!")
    for dataset in datasets:
        if not isinstance(dataset, DatasetBase):
            raise ArgumentTypeError(f"Invalid dataset, expected Dataset object, but got {type(dataset)}!")
    node = ops.Zip(inputs=tuple(d._node for d in datasets), call_site=call_site())
    return datasets[0]._with_node(node, *datasets[1:])


@public("dataset:mix")
@checked
def mix_datasets(
    datasets: list[Any] | tuple[Any, ...],
    weights: Any = None,
    *,
    exhausted: Literal["stop", "restart", "drop"] = "stop",
) -> Dataset:
    """Mix the rows of several datasets in one stream: each row is sampled from one of them by weight.

    ``weights`` are positive numbers, by default equal; only their proportions count. The choice is a
    function of the seed, the epoch and the position in the stream: the same for any number of workers, after a resume,
    and on every shard. The datasets must have the same columns. ``exhausted`` defines what happens when a row is
    sampled from a dataset without remaining rows:

    - ``"stop"``: the epoch ends there. The proportions hold from the first row to the last.
    - ``"restart"``: that dataset starts again, in its next order, until each dataset has been completed once; the epoch
      ends when the last of them has no row left.
    - ``"drop"``: the others continue without it, by their weights, until all have ended: every row occurs once.

    The number of rows is known only for ``"drop"``; otherwise ``get_dataset_size()`` runs once and counts, and the
    result is exact if ``config.set_seed`` was called. ``report()`` shows the sampled proportions.

    >>> import millrace.dataset as ds
    >>> ds.config.set_seed(1)
    >>> web = ds.NumpySlicesDataset({"x": range(0, 6)}, shuffle=False)
    >>> books = ds.NumpySlicesDataset({"x": range(100, 103)}, shuffle=False)
    >>> [row[0].item() for row in ds.mix([web, books], [2, 1], exhausted="drop")]
    [0, 1, 2, 100, 3, 4, 5, 101, 102]
    """
    if not datasets:
        raise ArgumentValueError("mix needs at least one dataset, but got none.")
    for number, dataset in enumerate(datasets):
        if not isinstance(dataset, DatasetBase):
            raise ArgumentTypeError(
                f"mix takes a list of datasets, but number {number} is a {type(dataset).__name__}."
            )
        if dataset._known_size() == 0:
            raise ArgumentValueError(
                f"mix: expected datasets with rows, got none in dataset {number}. Remove it."
            )
    weights = [1.0] * len(datasets) if weights is None else _as_weights(weights)
    if len(weights) != len(datasets):
        raise ArgumentValueError(
            f"mix needs a weight for each dataset, but got {len(weights)} for {len(datasets)} datasets."
        )
    for number, weight in enumerate(weights):
        if not (weight > 0 and math.isfinite(weight)):
            raise ArgumentValueError(f"mix: weight {number} should be greater than 0, but got {weight}.")
    node = ops.Mix(
        inputs=tuple(d._node for d in datasets),
        call_site=call_site(),
        weights=tuple(weights),
        exhausted=exhausted,
    )
    return datasets[0]._with_node(node, *datasets[1:])


def _as_weights(weights: Any) -> list[float]:
    """Convert weights from a list or an array."""
    values = weights.tolist() if isinstance(weights, np.ndarray) else weights
    if not isinstance(values, (list, tuple)):
        raise ArgumentTypeError(f"mix takes a list of weights, but got {type(weights).__name__}.")
    for number, weight in enumerate(values):
        if isinstance(weight, bool) or not isinstance(weight, (int, float, np.integer, np.floating)):
            raise ArgumentTypeError(f"mix: weight {number} should be a number, but got {weight!r}.")
    return [float(weight) for weight in values]


def _check_sizes(sizes: list[Any]) -> None:
    if not sizes:
        raise ArgumentValueError("sizes cannot be empty.")
    if all(isinstance(s, int) and not isinstance(s, bool) for s in sizes):
        if any(s <= 0 for s in sizes):
            raise ArgumentValueError(
                "sizes is a list of int, but there should be no negative or zero numbers."
            )
    elif all(isinstance(s, float) for s in sizes):
        if not all(0 < s <= 1 for s in sizes):
            raise ArgumentValueError(
                "sizes is a list of float, but there should be no numbers outside the range (0, 1]."
            )
        if abs(sum(sizes) - 1) > 1e-5:
            raise ArgumentValueError("sizes is a list of float, but the percentages do not sum up to 1.")
    else:
        raise ArgumentValueError("sizes should be list of int or list of float.")


def _row_counts(sizes: list[Any], total: int) -> list[int]:
    """Convert fractions to row counts: rounded, and the first part that is large enough absorbs the difference."""
    if total is None or total <= 0:
        raise PlanError("dataset_size is unknown, unable to split.")
    if isinstance(sizes[0], int):
        if sum(sizes) != total:
            raise PlanError(f"Sum of split sizes {sum(sizes)} is not equal to dataset size {total}.")
        return list(sizes)
    rows = []
    for fraction in sizes:
        count = round(fraction * total)
        if count == 0:
            raise PlanError(f"Split percentage {fraction} is too small.")
        rows.append(int(count))
    difference = total - sum(rows)
    if difference > 0:
        rows[0] += difference
    elif difference < 0:
        for i, count in enumerate(rows):
            if count + difference > 0:
                rows[i] += difference
                break
    if sum(rows) != total:
        raise PlanError(f"Sum of calculated split sizes {sum(rows)} is not equal to dataset size {total}.")
    return rows
