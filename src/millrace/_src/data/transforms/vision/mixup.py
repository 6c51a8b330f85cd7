"""MixUp and CutMix of the images of a batch. Use them after batch(), with images and labels as columns."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import Range, check_type, checked
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision import mixup as batches
from millrace._src.data.kernels.vision.enums import ImageBatchFormat
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    check_interval,
    check_positive,
)
from millrace._src.data.transforms.tensor_operation import TensorOperation

__all__ = ["CutMixBatch", "MixUp", "MixUpBatch"]


def sample_beta(rng: RandomStream, alpha: float, count: int = 1) -> Any:
    """Random numbers with a Beta(alpha, alpha) distribution, from one row's stream."""
    return rng.generator(0).beta(alpha, alpha, count)


def _check_alpha(name: str, value: Any) -> None:
    check_type(value, (int, float), name)
    check_positive(value, name)
    check_interval(value, 0, FLOAT_MAX, left_open=True)


def _check_cut_alpha(name: str, value: Any) -> None:
    check_type(value, (int, float), name)
    check_interval(value, 0, FLOAT_MAX, left_open=True)


class _BatchOperation(TensorOperation):
    """Base of the transforms of a whole batch: random numbers come from the stream of its first row."""

    _family = "vision"

    random = True
    num_inputs = 2

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return ([rng[i] for i in range(len(rng))],)


@public("dataset.vision", "dataset.vision.c_transforms")
class MixUpBatch(_BatchOperation, ours=True):
    """Apply MixUp to a batch: mix each image with another one, and the labels alike; the results are float32.

    >>> images, labels = MixUpBatch()(np.zeros((2, 4, 4, 3), np.uint8), np.eye(2))
    >>> images.shape, images.dtype
    ((2, 4, 4, 3), dtype('float32'))
    """

    @checked
    def __init__(self, alpha: Annotated[Any, ArgumentRule(_check_alpha)] = 1.0) -> None:
        self.alpha = alpha

    def row(self, images: Any, labels: Any, rng: RandomStream) -> Any:
        order = rng.split(1).generator(0).permutation(len(images))
        return batches.mix_up(images, labels, order, float(sample_beta(rng, self.alpha)[0]))


@public("dataset.vision", "dataset.vision.c_transforms")
class CutMixBatch(_BatchOperation, ours=True):
    """Apply CutMix to a batch: paste a box of another image into each image, and mix the labels by area.

    >>> import millrace.dataset.vision as vision
    >>> op = CutMixBatch(vision.ImageBatchFormat.NHWC)
    >>> op(np.zeros((2, 4, 4, 3), np.uint8), np.eye(2))[0].shape
    (2, 4, 4, 3)
    """

    @checked
    def __init__(
        self,
        image_batch_format: ImageBatchFormat,
        alpha: Annotated[Any, ArgumentRule(_check_cut_alpha)] = 1.0,
        prob: Annotated[int | float, Range(0, 1)] = 1.0,
    ) -> None:
        self.image_batch_format, self.alpha, self.prob = image_batch_format, alpha, prob

    def row(self, images: Any, labels: Any, rng: RandomStream) -> Any:
        nhwc = self.image_batch_format == ImageBatchFormat.NHWC
        batches.check_batch(images, labels, "CutMixBatch")
        count = len(images)
        height, width = images.shape[1:3] if nhwc else images.shape[2:4]
        generator = rng.split(1).generator(0)
        order = generator.permutation(count)
        applied = generator.random(count) < self.prob
        centers = generator.random((count, 2))
        shares = sample_beta(rng, self.alpha, count)
        boxes = [
            _box(height, width, float(share), center) if use else None
            for use, share, center in zip(applied, shares, centers)
        ]
        return batches.cut_mix(images, labels, order, boxes, nhwc)


def _box(height: int, width: int, share: float, center: Any) -> tuple[int, int, int, int]:
    """(top, left, bottom, right) of a box with an area of 1 - share around a center, clipped at the borders."""
    side = math.sqrt(1 - share)
    tall, broad = int(height * side), int(width * side)
    y, x = int(center[0] * height), int(center[1] * width)
    top, left = max(0, y - tall // 2), max(0, x - broad // 2)
    return top, left, min(height, y + tall // 2), min(width, x + broad // 2)


@public("dataset.vision", "dataset.vision.py_transforms")
class MixUp(_BatchOperation, ours=True):
    """Apply MixUp: mix each image with the next one of the batch (``is_single``), or with the previous mixed batch.

    With ``is_single=False`` each batch needs the one before: in a pipeline one worker computes them in order, whatever
    ``num_parallel_workers`` is, so that the rows are the same in every run. A run, also a resumed one, begins without a
    previous batch. MindSpore mixes with whichever batch its worker had last. The shares come from numpy's Beta
    distribution in both, with Millrace's seed here.

    >>> images, labels = MixUp(2, 0.2)(np.zeros((2, 3, 4, 4)), np.eye(2))
    >>> images.shape, labels.shape
    ((2, 3, 4, 4), (2, 2))
    """

    runs_in_python = True

    def __init__(self, batch_size: Any, alpha: Any, is_single: bool = True) -> None:
        check_type(is_single, (bool,), "is_single")
        check_type(batch_size, (int,), "batch_size")
        check_type(alpha, (int, float), "alpha")
        check_interval(batch_size, 1, FLOAT_MAX)
        check_positive(alpha, "alpha")
        self.batch_size, self.alpha, self.is_single = batch_size, alpha, is_single
        self._before: tuple[Any, Any] | None = None

    @property
    def is_sequential(self) -> bool:  # type: ignore[override]
        return not self.is_single

    def row(self, images: Any, labels: Any, rng: RandomStream) -> Any:
        share = sample_beta(rng, self.alpha, self.batch_size)
        if self.is_single:
            partner = (np.roll(images, -1, axis=0), np.roll(labels, -1, axis=0))
        elif self._before is None:
            share, partner = np.ones(self.batch_size), (np.zeros_like(images), np.zeros_like(labels))
        else:
            partner = self._before
        wide, flat = share.reshape(-1, 1, 1, 1), share.reshape(-1, 1)
        mixed = (wide * images + (1 - wide) * partner[0], flat * labels + (1 - flat) * partner[1])
        if not self.is_single:
            self._before = mixed
        return mixed
