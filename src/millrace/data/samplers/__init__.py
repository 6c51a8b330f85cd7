"""Which rows, in which order: order as data. Every sampler works alone, without a dataset."""

from millrace.core.shuffle import Shuffle

from .base import BuiltinSampler, Sampler
from .distributed import DistributedSampler
from .iterable import IterSampler, as_sampler
from .pk import PKSampler
from .random import RandomSampler
from .registry import from_dict
from .sequential import SequentialSampler
from .subset import SubsetRandomSampler, SubsetSampler
from .weighted import WeightedRandomSampler

__all__ = [
    "BuiltinSampler",
    "DistributedSampler",
    "IterSampler",
    "PKSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
    "as_sampler",
    "from_dict",
]
