"""One file per question.

A workload module has

- ``TITLE``: what it is called in the tables; ``QUESTION``: what is asked, one line; ``NOTE``: how, and what was
  left out;
- ``METRICS``: what its variants measure, the one that is compared first;
- ``VARIANTS``: peer -> variant -> function(quick) that returns the measured numbers as a dict. A function imports
  its peer itself: it runs in that peer's interpreter. Where a peer has several variants, the best one counts.
- ``BARS``: what Millrace is held to;
- ``WHY``, if it is there: peer -> why it may be ahead. The page shows it only where that peer is.
- ``PAIRED``, if it is true: variants of one name are compared, where each of them is a question of its own;
- ``PAIRS``, if it is there: (variant, peer, its variant) that are compared as well, under different names;
- ``RATIO``, if it is there: how many times better one round is than another, where that is more than a quotient;
- ``FILES``, if it is there: the peers whose first variant makes files that are read, where they are missing;
- ``FRESH``, if it is true: Millrace itself makes the files, so that every run makes them anew;
- ``ROUNDS``, if it is there: the most rounds that are worth their time.

What was measured of it is an entry of the results file; a ``note`` in one, on where its numbers come from, is shown on
every page.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the page, which can be measured by itself, and its workloads in the order of the page."""

    title: str
    names: tuple[str, ...]


PARTS = {
    "data": Part(
        "Data",
        (
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
            "autotune",
        ),
    ),
    "cache": Part("Cache", ("cache_jpeg", "cache_small")),
    "text": Part("Text and audio", ("text_lines", "text_bert", "text_lookup", "audio_mel", "audio_filter")),
    "training": Part(
        "Training",
        (
            "train_mlp",
            "train_lenet",
            "train_resnet18",
            "train_bert",
            "train_lstm",
            "train_model",
            "train_costs",
            "checkpoint_stall",
        ),
    ),
    "serving": Part("Serving", ("serving_resnet18", "serving_bert")),
}
NAMES = tuple(name for part in PARTS.values() for name in part.names)
# What the README shows. A run begins with them, so that one that is cut short has them.
HEADLINES = (
    "jpeg_train",
    "jpeg_eval",
    "arrays",
    "generator",
    "generator_map",
    "mindrecord_scalars",
    "tfrecord",
    "csv",
    "text_bert",
    "audio_mel",
    "cache_jpeg",
    "train_resnet18",
    "train_lenet",
    "train_bert",
    "train_model",
    "serving_resnet18",
    "serving_bert",
)


def asked(words: Iterable[str] = ()) -> list[str]:
    """The workloads that these names of workloads and parts stand for (none: all), the headlines first."""
    found = {name for word in words for name in (PARTS[word].names if word in PARTS else (word,))}
    return [name for name in dict.fromkeys((*HEADLINES, *NAMES)) if not found or name in found]


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
