"""MixUp and CutMix: mix the images of a batch, and their labels."""

from __future__ import annotations

import numpy as np

from millrace._src.core.errors import DataError

from .validation import Array, describe

__all__ = ["cut_mix", "mix_up", "mix_labels"]


def mix_labels(labels: Array, order: Array, share: Array, op: str) -> Array:
    """Weighted sum of each label and its partner's (weight `share`), in float32."""
    if labels.ndim < 2 or labels.dtype.kind not in "biuf":
        raise DataError(
            f"{op}: wrong labels shape. The second column (labels) must have a shape of NC or NLC where N is the "
            f"batch size, L is the number of labels in each row, and C is the number of classes, but got "
            f"{describe(labels)}."
        )
    part = share.reshape(-1, *[1] * (labels.ndim - 1)).astype(np.float32)
    return part * labels.astype(np.float32) + (1 - part) * labels[order].astype(np.float32)


def check_batch(images: Array, labels: Array, op: str) -> None:
    if images.ndim != 4:
        raise DataError(
            f"{op}: the images of a batch are <N,H,W,C> or <N,C,H,W>, but got {describe(images)}."
        )
    if len(labels) != len(images):
        raise DataError(f"{op}: {len(images)} images, but {len(labels)} labels.")


def mix_up(images: Array, labels: Array, order: Array, share: float) -> tuple[Array, Array]:
    """Weighted sum of each image and its partner (weight `share`), in float32; the same for the labels."""
    check_batch(images, labels, "MixUpBatch")
    part = np.float32(share)
    mixed = images.astype(np.float32) * part + images[order].astype(np.float32) * (1 - part)
    return mixed, mix_labels(labels, order, np.full(len(images), share), "MixUpBatch")


def cut_mix(
    images: Array, labels: Array, order: Array, boxes: list[tuple[int, int, int, int] | None], nhwc: bool
) -> tuple[Array, Array]:
    """Paste a box (top, left, bottom, right) of its partner into each image; mix the labels by area."""
    check_batch(images, labels, "CutMixBatch")
    mixed = images.copy()
    height, width = images.shape[1:3] if nhwc else images.shape[2:4]
    share = np.ones(len(images))
    for i, box in enumerate(boxes):
        if box is None:
            continue
        top, left, bottom, right = box
        region = (slice(top, bottom), slice(left, right))
        target = (i, *region) if nhwc else (i, slice(None), *region)
        source = (order[i], *region) if nhwc else (order[i], slice(None), *region)
        mixed[target] = images[source]
        share[i] = 1 - (bottom - top) * (right - left) / (height * width)
    return mixed, mix_labels(labels, order, share, "CutMixBatch")
