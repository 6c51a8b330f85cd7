"""Base class of sources: datasets with a Read node and a replaceable sampler."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from millrace._src.core import settings
from millrace._src.core.args import check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.log import warn_once
from millrace._src.core.random.rng import RandomStream, hash_integers
from millrace._src.data.engine.stages.indices import epoch_order
from millrace._src.data.plan.bind import Plan, bind
from millrace._src.data.plan.node import call_site, walk
from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.data.plan.source_protocol import Source

from .base import DatasetState
from .dataset import Dataset
from .use_sampler import FixedOrderSampler, inner_sampler

__all__ = ["SourceDataset"]

STREAM_WINDOW = 1024


class SourceDataset(Dataset):
    """Base class of sources: holds the Read node; its sampler can be replaced or extended."""

    def _init_source(self, source: Source, sampler: Any, workers: int | None, cache: Any = None) -> None:
        self._node = ops.Read(
            source=source, sampler=sampler, num_workers=workers, cache=cache, call_site=call_site()
        )
        self._session = DatasetState()

    def _start_batches(self, source: Source, batch_sampler: Any, collate: Any, workers: int | None) -> None:
        """Initialize with a batch sampler, which yields the list of row numbers of each batch."""
        self._init_source(source, None, workers)
        read = self._read.replace(batch_sampler=batch_sampler)
        self._node = ops.Batch(
            inputs=(read,),
            batch_size=-1,
            per_batch_map=collate,
            from_batch_sampler=True,
            call_site=call_site(),
        )

    def _shard(self, shards: int, shard: int) -> None:
        """Select one shard of a stream by stride; all shards have the same number of rows."""
        self._node = ops.Shard(
            inputs=(self._node,), shards=shards, shard=shard, pad_to_equal=True, call_site=call_site()
        )

    def _shuffle_stream(self) -> None:
        """Shuffle a stream within a window, with a warning: it cannot be read in another order."""
        warn_once(
            "stream-shuffle",
            "shuffle=True on a source that is read in one pass (no __getitem__) shuffles within a window of "
            f"{STREAM_WINDOW} rows; give the source __getitem__ and __len__ for a full shuffle, or use "
            ".shuffle(buffer_size) to choose the window (logged once)",
            stacklevel=5,
        )
        self._node = ops.Shuffle(inputs=(self._node,), buffer_size=STREAM_WINDOW, call_site=call_site())

    @property
    def sampler(self) -> Any:
        """The sampler that determines the rows and their order; None for a source read in one pass.

        >>> import millrace.dataset as ds
        >>> type(ds.NumpySlicesDataset([1, 2], shuffle=False).sampler).__name__
        'SequentialSampler'
        """
        return next(node.sampler for node in walk(self._node) if isinstance(node, ops.Read))

    @property
    def _source(self) -> Source:
        return next(node.source for node in walk(self._node) if isinstance(node, ops.Read))

    @property
    def _read(self) -> ops.Read:
        """The node whose sampler may be replaced."""
        if not self._source.random_access:
            raise ArgumentValueError(
                "sampler is not supported if source does not have attribute '__getitem__'."
            )
        if not isinstance(self._node, ops.Read):
            raise PlanError("this source reads with a batch_sampler; it takes no other sampler")
        return self._node

    def _row_at(self, position: Any) -> int:
        """The source index of the row at a position in the order of the dataset."""
        check_type(position, (int, np.number), "index")
        if not self._source.random_access:
            raise PlanError("Dataset don't support randomized access.")
        if not isinstance(self._node, ops.Read):
            raise PlanError("GeneratorDataset with batch_sampler does not support random access.")
        plan = self._first_plan()
        assert isinstance(plan.root, ops.Read)
        known, order = self._session.cached_metadata.get("order", (None, None))
        if known != plan.seed or order is None:
            order = epoch_order(plan.root, plan.seed, 0)
            self._session.cached_metadata["order"] = (plan.seed, order)
        if not 0 <= position < order.size:
            raise PlanError(f"Index [{position}] exceeded the number of data samples.")
        return int(order.at(int(position), int(position) + 1)[0])

    def _first_plan(self) -> Plan:
        """The plan of the first run: operations numbered, the seed fixed."""
        seed = self._first_seed() if settings.current().seed is None else None
        node = self._node
        if isinstance(node, ops.Read) and node.cache is not None:
            node = node.replace(cache=None)  # single rows are read directly
        return bind(node, settings.current(), seed)

    def _random_for_row(self, row: int) -> RandomStream:
        """The random numbers of a row of the source in the first epoch."""
        plan = self._first_plan()
        return RandomStream.for_rows(
            np.array([row], np.uint64), seed=plan.seed, epoch=0, op=hash_integers(plan.root.op_id, 0)
        )

    def add_sampler(self, new_sampler: Any) -> None:
        """Add a sampler that selects from the rows of the current one.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([10, 11, 12, 13], shuffle=False)
        >>> data.add_sampler(ds.SubsetSampler([3, 1]))
        >>> [row[0].item() for row in data]
        [13, 11]
        """
        if new_sampler is None:
            return
        if not hasattr(new_sampler, "add_child"):
            raise ArgumentTypeError(f"a sampler is needed, but got {type(new_sampler)}.")
        if self._read.sampler is not None:
            new_sampler.add_child(self._read.sampler)
        self._replace_node(self._read.replace(sampler=new_sampler))

    def use_sampler(self, new_sampler: Any) -> None:
        """Replace the current sampler (its child, if any, becomes the child of the new one).

        On a part of a split the new sampler selects from the rows of the part.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([10, 11, 12, 13], shuffle=False)
        >>> data.use_sampler(ds.SequentialSampler(2))
        >>> [row[0].item() for row in data]
        [12, 13]
        """
        if new_sampler is None:
            raise ArgumentTypeError("Input sampler can not be None.")
        if not hasattr(new_sampler, "add_child"):
            raise ArgumentTypeError("Input sampler is not an instance of a sampler.")
        below = inner_sampler(self._read.sampler)
        if below is not None:
            new_sampler.add_child(below)
        self._replace_node(self._read.replace(sampler=new_sampler))

    def _split_part(self, start: int, rows: int, key: int, randomize: bool) -> Dataset:
        read = self._node
        if not isinstance(read, ops.Read) or read.sampler is None:
            return super()._split_part(start, rows, key, randomize)
        part = copy.copy(self)
        part._node = read.replace(
            sampler=FixedOrderSampler(read.sampler, key, randomize, start, rows), call_site=call_site()
        )
        part._session = DatasetState(input_states=(self._session,))
        return part
