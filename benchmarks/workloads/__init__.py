"""One file per question.

A workload module has

- ``TITLE``: what it is called in the tables; ``QUESTION``: what is asked, one line; ``NOTE``: how, and what was
  left out;
- ``METRICS``: what its variants measure, the one that is compared first;
- ``VARIANTS``: peer -> variant -> function(quick) that returns the measured numbers as a dict. A function imports
  its peer itself: it runs in that peer's interpreter. Where a peer has several variants, the best one counts.
- ``BARS``: what Millrace is held to;
- ``WHY``, if it is there: peer -> why it may be ahead. The page shows it only where that peer is.
- ``FILES``, if it is there: the peers whose first variant makes files that are read, where they are missing;
- ``ROUNDS``, if it is there: the most rounds that are worth their time.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

# In the order of the page.
NAMES = (
    "jpeg_train",
    "jpeg_eval",
    "ray_jpeg",
    "mindrecord_jpeg",
    "segmentation",
    "arrays",
    "generator",
    "generator_map",
    "processes",
    "first_batch",
    "import_time",
    "overhead",
    "memory",
    "mindrecord_scalars",
    "mindrecord_images",
    "mindrecord_write",
    "mindrecord_open",
    "tfrecord",
    "csv",
    "text_lines",
    "text_bert",
    "text_lookup",
    "audio_mel",
    "audio_filter",
    "cache_jpeg",
    "cache_small",
    "autotune",
    "train_mlp",
    "train_lenet",
    "train_resnet18",
    "train_bert",
    "train_lstm",
    "train_costs",
    "train_model",
    "checkpoint_stall",
)


@dataclasses.dataclass(frozen=True)
class Metric:
    """A number that a variant measures: how it is called, shown, and which way is better."""

    key: str
    name: str
    unit: str = ""
    higher: bool = False
    digits: int = 3


@dataclasses.dataclass(frozen=True)
class Bar:
    """What Millrace must reach: a ratio to a peer, to be ahead of every peer, or a number that it must stay below.

    ``variant`` narrows it to one of Millrace's variants; None means each of them.
    """

    text: str
    metric: str
    ratio: float | None = None
    peer: str = "mindspore"
    first: bool = False
    below: float | None = None
    variant: str | None = None


RATE = Metric("rows_per_s", "rows/s", higher=True, digits=3)
FIRST = Metric("first_batch_s", "first batch", "s")
PEAK = Metric("peak_mb", "peak memory", "MiB")
CPU = Metric("cpu_s_per_1k", "CPU s per 1,000 rows", "s")
STREAM = (RATE, FIRST, PEAK, CPU)


# peer -> variant -> what measures it
Variants = dict[str, dict[str, Callable[..., Any]]]


def in_order_and_shuffled(works: Mapping[str, Callable[..., Any]]) -> Variants:
    """For each peer its ``work(quick, shuffle)`` as two variants."""
    return {
        peer: {"in order": work, "shuffled": functools.partial(work, shuffle=True)}
        for peer, work in works.items()
    }


def with_defaults_and_two(work: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """``work(quick, **workers)`` with the defaults, and with two workers a map."""
    return {"defaults": work, "2 workers": functools.partial(work, num_parallel_workers=2)}


def load(name: str) -> ModuleType:
    if name not in NAMES:
        raise SystemExit(f"no workload {name!r}; there are {', '.join(NAMES)}")
    return importlib.import_module(f"benchmarks.workloads.{name}")
