"""The data pipeline under MindSpore's names: ``import millrace.dataset as ds``."""

from __future__ import annotations

from millrace.core.batch_info import BatchInfo
from millrace.core.shuffle import Shuffle
from millrace.fluent.callbacks import DSCallback, WaitedDSCallback
from millrace.fluent.dataset import Dataset
from millrace.fluent.order_ops import zip_datasets as zip
from millrace.fluent.pipeline_json import compare, deserialize, serialize, show
from millrace.fluent.schema import Schema
from millrace.samplers import (
    DistributedSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from millrace.sources.generator import GeneratorDataset
from millrace.sources.numpy_slices import NumpySlicesDataset
from millrace.sources.padded import PaddedDataset
from millrace.sources.random_data import RandomDataset

from . import config, debug, transforms, vision

__all__ = [
    "BatchInfo",
    "DSCallback",
    "Dataset",
    "DistributedSampler",
    "GeneratorDataset",
    "NumpySlicesDataset",
    "PKSampler",
    "PaddedDataset",
    "RandomDataset",
    "RandomSampler",
    "Sampler",
    "Schema",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WaitedDSCallback",
    "WeightedRandomSampler",
    "compare",
    "config",
    "debug",
    "deserialize",
    "serialize",
    "show",
    "transforms",
    "vision",
    "zip",
]
