"""Sampler for rows of text-like files: shuffle modes and sharding."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from millrace._src.core.random.permutation import ComposedOrder, IndexOrder, Indices, RangeOrder
from millrace._src.core.random.rng import RandomPermutation, hash_integers
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.samplers.base import LabelProvider

from .record_sampler import RecordSampler

__all__ = ["MODES", "FileSampler", "RangesOrder"]

# Shuffle modes in the order of their numbers in MindSpore's JSON.
MODES = ["false", "files", "global", "infile", "partial", "adaptive"]


class Sized(Protocol):
    def sizes(self) -> list[int]: ...

    def row_bytes(self) -> int: ...


@stable_id("sampler.FileSampler")
class FileSampler(RecordSampler):
    """Sampler for the rows of the files of a source; file sizes are requested only when the order is needed.

    A shard is a contiguous range of rows. With ``by_files``, a shard has the rows of every ``num_shards``-th file; a
    shuffle reorders the files each epoch, in the same order on all ranks.

    >>> class Two:
    ...     def sizes(self):
    ...         return [3, 2]
    ...
    ...     def row_bytes(self):
    ...         return 1
    >>> [FileSampler(Two(), Shuffle.FALSE, None, 2, k).order(5, key=0).at(0, 9).tolist() for k in range(2)]
    [[0, 1, 2], [3, 4, 0]]
    >>> FileSampler(Two(), Shuffle.FALSE, None, 2, 1, by_files=True).order(5, key=0).at(0, 9).tolist()
    [3, 4]
    """

    def __init__(
        self,
        source: Sized,
        shuffle: Shuffle,
        num_samples: int | None = None,
        num_shards: int = 1,
        shard_id: int = 0,
        by_files: bool = False,
    ) -> None:
        self.source, self.by_files = source, by_files and num_shards > 1
        super().__init__(shuffle, [], 1, num_samples, num_shards, shard_id, by_block=True)
        del self.files, self.row_bytes

    def __getattr__(self, name: str) -> Any:
        if name == "files" and "source" in self.__dict__:
            return self.source.sizes()
        if name == "row_bytes" and "source" in self.__dict__:
            return max(1, self.source.row_bytes())
        raise AttributeError(name)

    def _share(self, size: int) -> int:
        """Rows of this shard in file order; if file sizes differ, the number may vary between epochs."""
        return sum(self.files[self.shard_id :: self.num_shards]) if self.by_files else super()._share(size)

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        if not self.by_files or self.child_sampler is not None:
            return super()._order(size, key, labels)
        files = np.array(self.files, np.int64)
        file_order = np.arange(len(files))
        if self.shuffle is not Shuffle.FALSE:  # the key is equal on all ranks, so the order is too
            file_order = RandomPermutation(len(files), hash_integers(key, 0)).at(0, len(files))
        mine = file_order[self.shard_id :: self.num_shards]
        order: IndexOrder = RangesOrder((np.cumsum(files) - files)[mine], files[mine])
        if self.shuffle not in (Shuffle.FALSE, Shuffle.FILES):
            order = ComposedOrder(RandomPermutation(order.size, hash_integers(key, 1)), order)
        if self.num_samples and self.num_samples < order.size:
            order = ComposedOrder(RangeOrder(self.num_samples), order)
        return order


class RangesOrder:
    """Concatenation of contiguous ranges of rows.

    >>> RangesOrder(np.array([5, 0]), np.array([2, 3])).at(1, 4).tolist()
    [6, 0, 1]
    """

    def __init__(self, starts: Indices, sizes: Indices) -> None:
        self.starts, self.ends = starts, np.cumsum(sizes)
        self.moved = starts - (self.ends - sizes)
        self.size = int(self.ends[-1]) if len(sizes) else 0

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        return positions + self.moved[np.searchsorted(self.ends, positions, "right")]
