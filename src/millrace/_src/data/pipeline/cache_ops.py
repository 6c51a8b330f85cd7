"""cache: store the output rows of any op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from millrace._src.core.args import checked
from millrace._src.data.plan.node import call_site
from millrace._src.data.plan.nodes import order_ops as ops

from .argument_types import CacheArgument
from .base import DatasetBase

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["CacheOp"]


class CacheOp(DatasetBase):
    @checked
    def cache(
        self, cache: Annotated[Any, CacheArgument()] = None, *, size: int = 0, path: str | None = None
    ) -> Dataset:
        """Compute the rows up to here once, and reuse them in later epochs and later runs.

        Without an argument they are stored in this process and its workers; ``path`` stores them in a permanent folder;
        ``DatasetCache(session_id=...)`` in a server that several processes share. ``size`` is the limit in megabytes.
        User functions, filters and batches may be below; a random op is an error that names it. Rows that are cheaper
        to compute than to fetch are not stored: ``report()`` shows the statistics of the cache.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False).map(lambda x: x * 2).batch(3).cache()
        >>> [batch[0].tolist() for _ in range(2) for batch in data]
        [[2, 4, 6], [2, 4, 6]]
        """
        from millrace._src.data.cache.dataset_cache import DatasetCache

        kept = DatasetCache(size=size, path=path) if cache is None else cache
        return self._with_node(ops.Cache(inputs=(self._node,), call_site=call_site(), cache=kept))
