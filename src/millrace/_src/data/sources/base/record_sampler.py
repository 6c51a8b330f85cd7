"""Sampler for record files: block shuffle with mostly sequential disk reads, and sharding.

A full permutation of a large set needs a random disk read for every row. This sampler shuffles blocks of neighbouring
rows, then shuffles the rows inside windows of some hundred blocks (about 1 GiB). A set that fits in one window gets a
full permutation. Each shard takes a separate contiguous range of the shuffled blocks, so no two machines read the same
bytes. The order is a function of the key, which is derived from seed and epoch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.random.permutation import ArrayOrder, ComposedOrder, IndexOrder, Indices, RangeOrder
from millrace._src.core.random.rng import RandomPermutation, hash_integers
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.samplers.base import BuiltinSampler, LabelProvider

__all__ = ["BlockShuffleOrder", "PerFileShuffleOrder", "RecordSampler", "WindowShuffleOrder"]

BLOCK_BYTES = 2 << 20
WINDOW_BYTES = 1 << 30
WINDOW_ROWS = 1 << 20  # the order of a window needs 8 bytes per row
MIN_BLOCKS = 256  # blocks per window, so that neighbouring rows are separated
PARTIAL_ROWS = 1_000_000


@stable_id("sampler.RecordSampler")
class RecordSampler(BuiltinSampler):
    """Rows of files of these sizes in one of the modes of Shuffle, optionally one shard.

    ``row_bytes`` is the average size of a row and determines the rows per block. Without a shuffle of all rows a shard
    takes every ``num_shards``-th row or, with ``by_block``, a contiguous range.

    >>> [
    ...     RecordSampler(Shuffle.FALSE, [5], 1, None, 2, k, True).order(5, key=0).at(0, 3).tolist()
    ...     for k in (0, 1)
    ... ]
    [[0, 1, 2], [3, 4, 0]]
    >>> RecordSampler(Shuffle.FILES, [2, 3]).order(5, key=2).at(0, 5).tolist()
    [2, 3, 4, 0, 1]
    >>> shards = [RecordSampler(Shuffle.GLOBAL, [6], num_shards=2, shard_id=k) for k in (0, 1)]
    >>> sorted(row for shard in shards for row in shard.order(6, key=1).at(0, 3).tolist())
    [0, 1, 2, 3, 4, 5]
    """

    _fields: ClassVar[tuple[str, ...]] = ("shuffle", "num_samples", "num_shards", "shard_id", "by_block")

    def __init__(
        self,
        shuffle: Shuffle,
        files: list[int],
        row_bytes: int = 1,
        num_samples: int | None = None,
        num_shards: int = 1,
        shard_id: int = 0,
        by_block: bool = False,
    ) -> None:
        super().__init__(num_samples)
        self.shuffle, self.files, self.row_bytes = shuffle, files, max(1, row_bytes)
        self.num_shards, self.shard_id, self.by_block = num_shards, shard_id, by_block

    def _share(self, size: int) -> int:
        return -(-size // self.num_shards)

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        share = self._share(size)
        return min(self.num_samples, share) if self.num_samples else share

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        if self.child_sampler is not None and self.shuffle in (Shuffle.FILES, Shuffle.INFILE):
            raise ArgumentValueError(f"{self.shuffle} needs whole files, and cannot follow another sampler")
        share = self._share(size)
        count = self._count(size, labels)
        order = (
            self._shuffled_order(size, key, share)
            if self._shuffles_blocks()
            else self._sharded_order(size, key, share)
        )
        return order if count == order.size else ComposedOrder(RangeOrder(count), order)

    def _shuffles_blocks(self) -> bool:
        return self.shuffle in (Shuffle.GLOBAL, Shuffle.ADAPTIVE)

    def _shuffled_order(self, size: int, key: int, share: int) -> IndexOrder:
        window = max(1, min(WINDOW_ROWS, WINDOW_BYTES // self.row_bytes))
        mine = RangeOrder(share, start=self.shard_id * share, modulo=max(1, size))
        if size <= window:
            return ComposedOrder(mine, RandomPermutation(size, key))
        block = max(1, min(BLOCK_BYTES // self.row_bytes, window // MIN_BLOCKS))
        blocks = BlockShuffleOrder(size, block, hash_integers(key, 0))
        return ComposedOrder(
            WindowShuffleOrder(share, window, hash_integers(key, 1)), ComposedOrder(mine, blocks)
        )

    def _sharded_order(self, size: int, key: int, share: int) -> IndexOrder:
        """Strided or contiguous shard as in MindSpore; it wraps around at the end."""
        whole = self._file_order(size, key)
        if self.num_shards == 1:
            return whole
        if self.by_block:
            return ComposedOrder(RangeOrder(share, self.shard_id * share, 1, max(1, size)), whole)
        return ComposedOrder(RangeOrder(share, self.shard_id, self.num_shards, max(1, size)), whole)

    def _file_order(self, size: int, key: int) -> IndexOrder:
        if self.shuffle is Shuffle.PARTIAL:
            return WindowShuffleOrder(size, PARTIAL_ROWS, key)
        if self.shuffle is Shuffle.FALSE:
            return RangeOrder(size)
        padded = size - sum(self.files)
        # padded rows count as one more file, the last
        files = [*self.files, padded] if padded else self.files
        if self.shuffle is Shuffle.INFILE:
            return PerFileShuffleOrder(files, key)
        starts = np.cumsum([0, *files[:-1]])
        file_order = RandomPermutation(len(self.files), key).at(0, len(self.files)).tolist()
        file_order += list(range(len(self.files), len(files)))
        return ArrayOrder(
            np.concatenate([np.arange(starts[n], starts[n] + files[n]) for n in file_order])
            if file_order
            else []
        )

    def get_shuffle_mode(self) -> Shuffle:
        return self.shuffle

    def is_shuffled(self) -> bool:
        return self.shuffle is not Shuffle.FALSE or self._child_predicate("is_shuffled")

    def is_sharded(self) -> bool:
        return self.num_shards > 1 or self._child_predicate("is_sharded")

    def to_dict(self) -> dict[str, Any]:
        fields = super().to_dict()
        if self.num_shards == 1:
            del fields["num_shards"], fields["shard_id"]
        if not self.by_block:
            del fields["by_block"]
        return fields


class BlockShuffleOrder:
    """Blocks of ``block`` neighbouring rows in random order; the last block may be short.

    >>> BlockShuffleOrder(5, block=2, key=1).at(0, 5).tolist()
    [4, 0, 1, 2, 3]
    """

    def __init__(self, size: int, block: int, key: int) -> None:
        self.size, self.block = size, block
        count = -(-size // block)
        self.turn = RandomPermutation(count, key).at(0, count)
        sizes = np.full(count, block, np.int64)
        if count:
            sizes[self.turn == count - 1] = size - block * (count - 1)
        self.starts = np.cumsum(sizes) - sizes

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        block_positions = np.searchsorted(self.starts, positions, "right") - 1
        return self.turn[block_positions] * self.block + (positions - self.starts[block_positions])


class WindowShuffleOrder:
    """A permutation inside each run of ``window`` positions.

    >>> order = WindowShuffleOrder(5, window=3, key=1).at(0, 5).tolist()
    >>> sorted(order[:3]), sorted(order[3:])
    ([0, 1, 2], [3, 4])
    """

    def __init__(self, size: int, window: int, key: int) -> None:
        self.size, self.window, self.key = size, window, key
        self._permutations: dict[int, RandomPermutation] = {}

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        windows = positions // self.window
        rows = np.empty_like(positions)
        for number in np.unique(windows).tolist():
            chosen = windows == number
            first = number * self.window
            rows[chosen] = first + self._window_permutation(number).take(positions[chosen] - first)
        return rows

    def _window_permutation(self, number: int) -> RandomPermutation:
        permutation = self._permutations.get(number)
        if permutation is None:
            size = min(self.window, self.size - number * self.window)
            permutation = RandomPermutation(size, hash_integers(self.key, number))
            for old in list(self._permutations)[:-1]:  # keep only this window and the previous one
                self._permutations.pop(old, None)
            self._permutations[number] = permutation
        return permutation


class PerFileShuffleOrder:
    """Files in order, with the rows inside each file in random order.

    >>> order = PerFileShuffleOrder([2, 3], key=5).at(0, 5).tolist()
    >>> sorted(order[:2]), sorted(order[2:])
    ([0, 1], [2, 3, 4])
    """

    def __init__(self, files: list[int], key: int) -> None:
        self.files, self.key = files, key
        self.ends = np.cumsum(files)
        self.size = int(self.ends[-1]) if files else 0
        self._permutations: dict[int, RandomPermutation] = {}

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        numbers = np.searchsorted(self.ends, positions, "right")
        rows = np.empty_like(positions)
        for number in np.unique(numbers).tolist():
            chosen = numbers == number
            first = int(self.ends[number]) - self.files[number]
            if number not in self._permutations:
                if len(self._permutations) > 1:
                    self._permutations.clear()
                self._permutations[number] = RandomPermutation(
                    self.files[number], hash_integers(self.key, number)
                )
            rows[chosen] = first + self._permutations[number].take(positions[chosen] - first)
        return rows
