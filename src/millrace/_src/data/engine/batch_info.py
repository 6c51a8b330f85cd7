"""`BatchInfo`: the batch number and epoch passed to user functions of `batch`."""

from __future__ import annotations

from millrace._src.core.public import public

__all__ = ["BatchInfo"]


@public("dataset")
class BatchInfo:
    """Passed to ``per_batch_map`` and to a callable ``batch_size``; both numbers start at 0.

    >>> info = BatchInfo(batch_num=2, epoch_num=0)
    >>> info.get_batch_num(), info.get_epoch_num()
    (2, 0)
    """

    __slots__ = ("_batch", "_epoch")

    def __init__(self, batch_num: int = 0, epoch_num: int = 0) -> None:
        self._batch, self._epoch = batch_num, epoch_num

    def get_batch_num(self) -> int:
        """The batch's number in its epoch."""
        return self._batch

    def get_epoch_num(self) -> int:
        """The epoch's number."""
        return self._epoch

    def __repr__(self) -> str:
        return f"BatchInfo(batch_num={self._batch}, epoch_num={self._epoch})"
