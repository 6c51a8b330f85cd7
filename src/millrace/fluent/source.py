"""A source is a dataset whose node is a Read; what the ``sampler``-like arguments of every source mean."""

from __future__ import annotations

import copy
from typing import Any

from millrace.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace.plan import ops
from millrace.plan.node import call_site
from millrace.plan.source import Source

from .base import Session
from .dataset import Dataset
from .resample import Fixed

__all__ = ["SourceDataset"]


class SourceDataset(Dataset):
    """Base of every source: holds the Read node, and lets the sampler be replaced or put on top."""

    def _start(self, source: Source, sampler: Any, workers: int | None) -> None:
        self._node = ops.Read(source=source, sampler=sampler, workers=workers, where=call_site())
        self._session = Session()

    @property
    def _read(self) -> ops.Read:
        node = self._node
        if not isinstance(node, ops.Read):
            raise PlanError("this source reads with a batch_sampler; it takes no other sampler")
        return node

    def add_sampler(self, new_sampler: Any) -> None:
        """Let another sampler pick from the rows the present one gives.

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
        self._renew(self._read.replace(sampler=new_sampler))

    def use_sampler(self, new_sampler: Any) -> None:
        """Replace the present sampler (its child, if it has one, stays and feeds the new one).

        On a part of a split the new sampler picks from the rows of the part.

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
        if not self._read.source.random_access:
            raise ArgumentValueError(
                "sampler is not supported if source does not have attribute '__getitem__'."
            )
        present = self._read.sampler
        below = present if isinstance(present, Fixed) or present is None else present.get_child()
        if below is not None:
            new_sampler.add_child(below)
        self._renew(self._read.replace(sampler=new_sampler))

    def _part(self, start: int, rows: int, key: int, randomize: bool) -> Dataset:
        read = self._node
        if not isinstance(read, ops.Read) or read.sampler is None:
            return super()._part(start, rows, key, randomize)
        part = copy.copy(self)
        part._node = read.replace(sampler=Fixed(read.sampler, key, randomize, start, rows), where=call_site())
        part._session = Session(below=(self._session,))
        return part
