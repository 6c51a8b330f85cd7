"""``batch_sampler`` and ``collate_fn`` arguments: batches of row indices from user code."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core.log import get_logger
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.pipeline.argument_types import count_parameters
from millrace._src.data.samplers import Sampler
from millrace._src.data.sources.source_traits import with_current_names

__all__ = ["BatchSamplerAdapter", "CollateFunction"]


log = get_logger(__name__)


@stable_id("source.BatchLists")
class BatchSamplerAdapter:
    """Lists of row indices from a batch_sampler, once per epoch.

    A batch_sampler is a list, an iterable such as PyTorch's BatchSampler, an iterator (whose lists are kept for later
    epochs), or a ``ds.Sampler``, whose dataset_size is set first.
    """

    def __init__(self, batch_sampler: Any, rows: Callable[[], int | None]) -> None:
        self.batch_sampler, self.rows = batch_sampler, rows
        self.once = hasattr(batch_sampler, "__next__")

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(with_current_names(state, {"given": "batch_sampler"}))  # of version 0.2.0

    def _identity(self) -> dict[str, Any]:
        return {} if self.once else {"given": self.batch_sampler}

    def for_run(self) -> BatchSamplerAdapter:
        """A copy for one iterator, so that iterators are independent; the source is not copied."""
        if isinstance(self.batch_sampler, (list, tuple)):
            return self
        if hasattr(self.batch_sampler, "__next__"):
            self.batch_sampler = list(self.batch_sampler)  # it can be iterated only once
        shared = getattr(getattr(self.rows, "__self__", None), "source", None)
        try:
            clone = copy.copy(self)
            clone.batch_sampler = copy.deepcopy(self.batch_sampler, {id(shared): shared})
            return clone
        except Exception as error:  # copying a user's object may raise anything
            log.debug("%r cannot be copied and is shared by all iterators: %s", self.batch_sampler, error)
            return self

    def reset_all(self) -> None:
        """Reset the sampler at the end of an epoch."""
        if isinstance(self.batch_sampler, Sampler):
            self.batch_sampler.reset_all()

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.batch_sampler, Sampler):
            self.batch_sampler.dataset_size = self.rows() or 0
            return itertools.islice(iter(self.batch_sampler), self.batch_sampler.num_samples or None)
        if hasattr(self.batch_sampler, "__next__"):
            self.batch_sampler = list(self.batch_sampler)
        return iter(self.batch_sampler)

    def __len__(self) -> int:
        return (
            len(self.batch_sampler)
            if hasattr(self.batch_sampler, "__len__")
            else sum(1 for _ in self.for_run())
        )


@stable_id("source.Collate")
class CollateFunction:
    """A collate function as a per_batch_map.

    The function receives one list per column, as in MindSpore. If it takes one argument and there are several columns,
    it receives one list of rows, as in PyTorch. It may return a dict of columns.

    >>> by_rows = CollateFunction(
    ...     lambda rows: {"y": [y for _, y in rows], "x": [x for x, _ in rows]}, ["x", "y"]
    ... )
    >>> by_rows([1, 2], [3, 4], None)
    ([1, 2], [3, 4])
    """

    def __init__(self, function: Callable[..., Any], columns: list[str]) -> None:
        self.function, self.columns = function, columns
        self.by_rows = len(columns) > 1 and count_parameters(function, required=True) == 1

    def __call__(self, *lists_and_info: Any) -> Any:
        lists = lists_and_info[:-1]
        collated = self.function(list(zip(*lists, strict=True))) if self.by_rows else self.function(*lists)
        if isinstance(collated, dict) and collated.keys() == set(self.columns):
            return tuple(collated[name] for name in self.columns)
        return tuple(collated) if isinstance(collated, list) and len(collated) == len(lists) > 1 else collated
