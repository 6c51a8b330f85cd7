"""cache: keep what comes out of any op."""

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
        """Make the rows up to here once, and read them again in later epochs and by later runs.

        Without an argument they are kept in this process and its workers; ``path`` keeps them in a folder that outlives
        it; ``DatasetCache(session_id=...)`` in a server that several processes share. ``size`` is the most megabytes.
        User functions, filters and batches may stand below; random ops may not, and are named. Rows that are cheaper to
        make than to fetch are not kept: ``report()`` says what the cache did.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False).map(lambda x: x * 2).batch(3).cache()
        >>> [batch[0].tolist() for _ in range(2) for batch in data]
        [[2, 4, 6], [2, 4, 6]]
        """
        from millrace._src.data.cache.dataset_cache import DatasetCache

        kept = DatasetCache(size=size, path=path) if cache is None else cache
        return self._with_node(ops.Cache(inputs=(self._node,), call_site=call_site(), cache=kept))
