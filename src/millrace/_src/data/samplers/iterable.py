"""IterSampler: row numbers from any iterable of the user."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sized
from typing import Any, ClassVar, cast

import numpy as np

from millrace._src.core.args import checks_names_only
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public

from .base import BuiltinSampler, Sampler
from .subset import SubsetSampler

__all__ = ["IterSampler", "as_sampler"]


@public("dataset")
class IterSampler(Sampler, ours=True):
    """Row numbers from any iterable: a list, a torch-style sampler, a generator (replayed in later epochs).

    Its length, or ``num_samples``, is the expected number of rows; each iterator iterates a copy once per epoch.

    >>> IterSampler(range(4, 0, -2)).order(5, key=0).at(0, 9).tolist()
    [4, 2]
    """

    _fields: ClassVar[tuple[str, ...]] = ("sampler", "num_samples")

    @checks_names_only
    def __init__(self, sampler: Iterable[Any], num_samples: int | None = None) -> None:
        if num_samples is None and hasattr(sampler, "__len__"):
            num_samples = len(cast(Sized, sampler))
        super().__init__(num_samples)
        self.sampler: Any = sampler

    def __iter__(self) -> Iterator[Any]:
        self._materialize()
        return iter(self.sampler)

    def _materialize(self) -> None:
        """Store the output of an iterator in a list, because it can be iterated only once."""
        if isinstance(self.sampler, Iterator):
            self.sampler = list(itertools.islice(self.sampler, self.num_samples or None))

    def _identity(self) -> dict[str, Any]:
        self._materialize()  # its identity is the list of row numbers
        return super()._identity()

    def __getstate__(self) -> dict[str, Any]:
        self._materialize()  # a generator cannot be pickled, a list can
        return dict(self.__dict__)

    def to_dict(self) -> dict[str, Any]:
        """The sampler as a dict with the row numbers, since JSON cannot hold an iterable."""
        description = super().to_dict()
        description["sampler"] = [int(row) for row in self._detached_copy().get_indices()]
        return description

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IterSampler):
            return NotImplemented
        same = self.sampler is other.sampler
        if not same and type(self.sampler) is type(other.sampler):
            same = bool(np.all(self.sampler == other.sampler))
        return same and (self.num_samples, self.child_sampler) == (other.num_samples, other.child_sampler)

    __hash__ = BuiltinSampler.__hash__


def as_sampler(sampler: Any, num_samples: int | None = None) -> BuiltinSampler:
    """Convert the ``sampler`` argument of a dataset: a sampler, a list of row numbers, or an iterable of them.

    >>> as_sampler([3, 1], num_samples=1)
    SubsetSampler(indices=[3, 1], num_samples=1)
    """
    if isinstance(sampler, BuiltinSampler):
        return sampler
    if isinstance(sampler, (str, bytes)):
        raise ArgumentTypeError(f"Unsupported sampler object of type ({type(sampler)})")
    if isinstance(sampler, (list, tuple, np.ndarray)):
        return SubsetSampler(sampler, num_samples)
    if hasattr(sampler, "__iter__") or hasattr(sampler, "__getitem__"):
        return IterSampler(sampler, num_samples)
    raise ArgumentTypeError("sampler should be either iterable or from mindspore.dataset.samplers.")
