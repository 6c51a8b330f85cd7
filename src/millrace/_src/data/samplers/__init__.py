"""Samplers: which rows in which order. A sampler works without a dataset."""

from millrace._src.core.random.shuffle import Shuffle

from .base import BuiltinSampler, Sampler
from .distributed import DistributedSampler
from .iterable import IterSampler, as_sampler
from .pk import PKSampler
from .random import RandomSampler
from .sequential import SequentialSampler
from .serialization import sampler_from_dict
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
    "sampler_from_dict",
]
