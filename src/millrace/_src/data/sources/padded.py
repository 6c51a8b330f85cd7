"""``PaddedDataset``: padding rows that are appended to another dataset."""

from __future__ import annotations

from typing import Any

from millrace._src.core.args import check_type
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.schema import Schema
from millrace._src.data.pipeline.source_dataset import SourceDataset
from millrace._src.data.samplers import SequentialSampler

from .base.python_source import PythonSource

__all__ = ["PaddedDataset"]


@stable_id("source.PaddedRows")
class _PaddedRows:
    """The samples as tuples, in the key order of the first sample."""

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self.samples, self.names = samples, list(samples[0])

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple(self.samples[index][name] for name in self.names)

    def __len__(self) -> int:
        return len(self.samples)


@public("dataset")
class PaddedDataset(SourceDataset):
    """Padding rows that make the length of a dataset divisible: ``data + PaddedDataset(rows)``.

    >>> import numpy as np
    >>> import millrace.dataset as ds
    >>> ds.PaddedDataset([{"x": np.zeros(2)}, {"x": np.ones(2)}]).get_dataset_size()
    2
    """

    def __init__(self, padded_samples: list[dict[str, Any]]) -> None:
        if not padded_samples:
            raise ArgumentValueError("padded_samples cannot be empty.")
        check_type(padded_samples, (list,), "padded_samples")
        for element in padded_samples:
            check_type(element, (dict,), "padded_element")
        rows = _PaddedRows(padded_samples)
        source = PythonSource(
            "GeneratorDataset", rows, Schema(rows.names), None, processes=False, readers=1, limit=None
        )
        self.padded_samples = padded_samples
        self._init_source(source, SequentialSampler(), None)
