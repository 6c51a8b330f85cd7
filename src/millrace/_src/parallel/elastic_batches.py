"""Global batches, divided among the current number of processes (elastic training).

A global batch has the same rows for any number of processes: sources distribute rows round-robin, so that the k-th
batches of all shards together are the k-th global batch. A position is an epoch and a step, which is also independent
of the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core import config
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, CursorError
from millrace._src.core.public import public
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP

__all__ = ["GlobalBatches", "data_shard"]

VERSION = 1


@public("parallel")
def data_shard(group: str = WORLD_GROUP) -> dict[str, int]:
    """Sharding arguments of this process: ``MnistDataset(folder, **data_shard())``.

    Before `init`, or in a single process, there is one shard.

    >>> data_shard()
    {'num_shards': 1, 'shard_id': 0}
    """
    if groups.world_group() is None:
        return {"num_shards": 1, "shard_id": 0}
    among = groups.require_membership(group, "data_shard")
    return {"num_shards": among.size, "shard_id": among.rank}


@public("parallel")
class GlobalBatches:
    """This process's share of global batches of `batch_size` rows; each ``for`` loop is one epoch, or its rest.

    ``make(num_shards, shard_id, batch_size)`` builds the pipeline of one process: a source that takes the first two
    and, last, ``batch(batch_size, drop_remainder=True)``. The source shuffles rows, equally in all
    processes with one `seed`; a ``shuffle()`` after the source mixes only within a shard, and depends on their number.

    ``state()`` is a small dict, equal in all processes. With ``state=...`` a run resumes with the next global batch
    on any number of processes that divides `batch_size`. All processes make the same number of steps: those of complete
    global batches.

    >>> import millrace.dataset as ds
    >>> def make(num_shards, shard_id, batch_size):
    ...     rows = ds.NumpySlicesDataset(
    ...         list(range(10)), "x", shuffle=False, num_shards=num_shards, shard_id=shard_id
    ...     )
    ...     return rows.batch(batch_size, drop_remainder=True)
    >>> batches = GlobalBatches(make, 4)
    >>> [batch["x"].tolist() for batch in batches]
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    >>> batches.state()["epoch"], batches.state()["step"]
    (1, 0)
    """

    def __init__(
        self,
        make: Callable[[int, int, int], Any],
        batch_size: int,
        num_epochs: int = 1,
        seed: int = 0,
        state: dict[str, Any] | None = None,
        group: str = WORLD_GROUP,
    ) -> None:
        if not callable(make):
            raise ArgumentTypeError(
                "For 'GlobalBatches', 'make' must be a function of num_shards, shard_id and batch_size, but got "
                f"{make!r}."
            )
        shard = data_shard(group)
        count = shard["num_shards"]
        if batch_size < 1 or batch_size % count:
            raise ArgumentValueError(
                f"For 'GlobalBatches', a global batch of {batch_size} rows cannot be divided among {count} processes: "
                f"use a multiple of {count}, or another number of processes."
            )
        self.batch_size, self.num_epochs, self.seed = batch_size, num_epochs, seed
        self.epoch = self.step = 0
        if state is not None:
            self._resume(state)
        config.set_seed(self.seed)
        self.steps = make(1, 0, batch_size).get_dataset_size()
        if self.steps < 1:
            raise ArgumentValueError(
                f"For 'GlobalBatches', there are fewer rows than one global batch of {batch_size}."
            )
        if state is not None and state["steps"] != self.steps:
            raise CursorError(
                f"this state is of an epoch with {state['steps']} steps, but there are {self.steps} now: the data are "
                "others, or are batched otherwise."
            )
        mine = make(count, shard["shard_id"], batch_size // count)
        batches = mine.get_dataset_size()
        if batches < self.steps:
            raise ArgumentValueError(
                f"For 'GlobalBatches', shard {shard['shard_id']} of {count} has {batches} batches, but an epoch has "
                f"{self.steps}: the pipeline must take num_shards, shard_id and batch_size as they are given."
            )
        # rows that a shard repeats to equalize the lengths come after these
        self.dataset = mine.take(self.steps)
        self._iterator: Any = None

    def _resume(self, state: dict[str, Any]) -> None:
        names = ("version", "seed", "epoch", "step", "steps", "batch_size")
        if not isinstance(state, dict) or any(type(state.get(name)) is not int for name in names):
            raise CursorError("this is no state of GlobalBatches: give what state() returned.")
        if state["version"] != VERSION:
            raise CursorError(
                f"this state has version {state['version']}, but this Millrace reads version {VERSION}."
            )
        if state["batch_size"] != self.batch_size:
            raise CursorError(
                f"this state is of global batches of {state['batch_size']} rows, but batch_size is {self.batch_size}: "
                "other batches would come. Keep the global batch, whatever the number of processes."
            )
        self.seed, self.epoch, self.step = state["seed"], state["epoch"], state["step"]

    def __len__(self) -> int:
        """Number of steps in an epoch."""
        return int(self.steps)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self.epoch >= self.num_epochs:
            return
        if self._iterator is None:
            self.dataset.set_init_step(self.epoch * self.steps + self.step)
            left = self.num_epochs
            self._iterator = self.dataset.create_dict_iterator(num_epochs=left, output_numpy=True)
        for batch in self._iterator:
            self.step += 1
            yield batch
        self.epoch, self.step = self.epoch + 1, 0

    def state(self) -> dict[str, Any]:
        """Position of all processes after the last returned batch."""
        over, step = divmod(self.step, self.steps)
        return {
            "version": VERSION,
            "seed": self.seed,
            "epoch": self.epoch + over,
            "step": step,
            "steps": self.steps,
            "batch_size": self.batch_size,
        }

    def close(self) -> None:
        """Stop the pipeline."""
        if self._iterator is not None:
            self._iterator.close()
            self._iterator = None
