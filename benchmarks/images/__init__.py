"""The image pipelines, one file per peer, each written the way that peer's users write it at its best.

Every peer has ``train`` (random part of the picture to 224 x 224, flip, normalise), ``evaluate`` (shorter side to
256, centre 224 x 224, normalise), ``packed`` (train from the peer's own record format) and ``pairs`` (image and mask
through the same random crop and flip, resized, the image normalised), as far as the peer has it: functions of
(quick, ...) that return what ``measure.loop`` measured. All give float32 images as channels x rows x columns in
batches of 32, checked; and labels or masks.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from benchmarks import measure
from benchmarks.data import pictures, seconds

__all__ = ["BATCH", "CROP", "LABELLED", "MASKED", "MEAN", "SHORT", "SIDE", "STD", "steps", "timed"]

SIDE, SHORT, CROP, BATCH = 224, 256, 320, 32
# ImageNet's, for pixels from 0 to 255
MEAN = (0.485 * 255, 0.456 * 255, 0.406 * 255)
STD = (0.229 * 255, 0.224 * 255, 0.225 * 255)

IMAGE: measure.Column = ((3, SIDE, SIDE), "float32")
LABELLED: tuple[measure.Column, ...] = (IMAGE, ((), None))
MASKED: tuple[measure.Column, ...] = (IMAGE, ((SIDE, SIDE), "uint8"))


def timed(build: Any, quick: bool, like: tuple[measure.Column, ...], *modules: str) -> dict[str, Any]:
    """The modules that the pipeline uses are imported first: the time to the first batch is not about that."""
    for name in modules:
        importlib.import_module(name)
    return measure.loop(build, seconds(quick), rows=pictures.count(quick), like=like)


def steps(quick: bool) -> int:
    """The batches of an epoch."""
    return math.ceil(pictures.count(quick) / BATCH)
