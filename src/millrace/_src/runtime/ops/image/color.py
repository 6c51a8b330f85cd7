"""Colours of pictures (..., 3), suppression by given overlaps, and n-grams that must not come twice."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, INT32, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "AdjustHue",
    "AdjustSaturation",
    "HSVToRGB",
    "NoRepeatNGram",
    "NonMaxSuppressionWithOverlaps",
    "RGBToHSV",
    "adjust_hue",
    "adjust_saturation",
    "hsv_to_rgb",
    "nms_by_overlaps",
    "no_repeat_ngram",
    "rgb_to_hsv",
]


def _three(name: str, images: Tensor, least: int) -> None:
    if images.ndim < least or images.shape[-1] != 3:
        raise ArgumentValueError(
            f"For '{name}', the pictures must have at least {least} axes and 3 channels in the last, but got "
            f"{list(images.shape)}."
        )


def _hsv(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    red, green, blue = images.unbind(-1)
    value = images.amax(-1)
    spread = value - images.amin(-1)
    saturation = torch.where(value > 0, spread / torch.where(value > 0, value, 1.0), 0.0)
    safe = torch.where(spread > 0, spread, 1.0)
    hue = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    hue = torch.where(spread > 0, hue / 6, 0.0)
    return torch.where(hue < 0, hue + 1, hue), saturation, value


def _rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    spread = saturation * value
    six = hue * 6
    parts = [(six - 3).abs() - 1, 2 - (six - 2).abs(), 2 - (six - 4).abs()]
    return torch.stack([value - spread + spread * part.clamp(0, 1) for part in parts], -1)


@op(accepts=FLOATS, dtype=SAME)
def rgb_to_hsv(images: Tensor) -> Tensor:
    """Red, green and blue as hue, saturation and value, all between 0 and 1."""
    _three("RGBToHSV", images, 1)
    return torch.stack(_hsv(images), -1)


@op(accepts=FLOATS, dtype=SAME)
def hsv_to_rgb(x: Tensor) -> Tensor:
    """Hue, saturation and value of pictures (N, H, W, 3) as red, green and blue."""
    if x.ndim != 4:
        raise ArgumentValueError(f"For 'HSVToRGB', the input must have 4 axes, but got {list(x.shape)}.")
    _three("HSVToRGB", x, 4)
    return _rgb(*x.unbind(-1))


@op(accepts=FLOATS, dtype=SAME)
def adjust_hue(image: Tensor, delta: Tensor) -> Tensor:
    """Pictures whose hue is turned by `delta`, a share of the circle."""
    _three("AdjustHue", image, 3)
    hue, saturation, value = _hsv(image)
    return _rgb(torch.remainder(hue + delta, 1), saturation, value)


@op(accepts=FLOATS, dtype=SAME)
def adjust_saturation(image: Tensor, scale: Tensor) -> Tensor:
    """Pictures whose saturation is multiplied by `scale`, and held between 0 and 1."""
    _three("AdjustSaturation", image, 3)
    hue, saturation, value = _hsv(image)
    return _rgb(hue, (saturation * scale).clamp(0, 1), value)


@op(dtype=INT32, differentiable=False)
def nms_by_overlaps(
    overlaps: Tensor, scores: Tensor, max_output_size: Any, overlap_threshold: Any, score_threshold: Any
) -> Tensor:
    """The places of boxes by falling score, above the least score, that no kept box before them overlaps by more than
    the threshold; at most `max_output_size` of them."""
    if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1] or scores.shape != overlaps.shape[:1]:
        raise ArgumentValueError(
            f"For 'NonMaxSuppressionWithOverlaps', the shapes must be (N, N) and (N,), but got {list(overlaps.shape)} "
            f"and {list(scores.shape)}."
        )
    order = torch.argsort(scores, descending=True, stable=True)
    kept = scores[order] > score_threshold
    covers = torch.triu(overlaps[order][:, order] > overlap_threshold, 1)
    for place, row in enumerate(covers.unbind(0)):
        kept = kept & ~(row & kept[place])
    found = order[kept & (kept.cumsum(0) <= max_output_size)]
    return found.to(torch.int32)


@op(dtype=SAME, differentiable=False)
def no_repeat_ngram(state_seq: Tensor, log_probs: Tensor, ngram_size: int = 1) -> Tensor:
    """Log-probabilities (batch, beams, words), but the least number there is for every word that would end a run of
    `ngram_size` words for the second time in its sequence (batch, beams, length)."""
    if ngram_size < 1 or state_seq.ndim != 3 or state_seq.shape[:2] != log_probs.shape[:2]:
        raise ArgumentValueError(
            f"For 'NoRepeatNGram', 'ngram_size' must be above 0 and the shapes (N, M, length) and (N, M, words), but "
            f"got {ngram_size}, {list(state_seq.shape)} and {list(log_probs.shape)}."
        )
    length = state_seq.shape[2]
    if length < ngram_size:
        return log_probs.clone()
    runs = state_seq.unfold(2, ngram_size, 1)
    tail = state_seq[..., length - ngram_size + 1 :].unsqueeze(2)
    again = (runs[..., :-1] == tail).all(-1)
    ends = runs[..., -1].long()
    banned = torch.zeros_like(log_probs, dtype=torch.int32)
    banned = banned.scatter_reduce(2, ends, again.to(torch.int32), "amax")
    return log_probs.masked_fill(banned.bool(), torch.finfo(log_probs.dtype).min)


RGBToHSV = primitive("RGBToHSV", rgb_to_hsv)
HSVToRGB = primitive("HSVToRGB", hsv_to_rgb)
AdjustHue = primitive("AdjustHue", adjust_hue)
AdjustSaturation = primitive("AdjustSaturation", adjust_saturation)
NonMaxSuppressionWithOverlaps = primitive("NonMaxSuppressionWithOverlaps", nms_by_overlaps, init=())
NoRepeatNGram = primitive("NoRepeatNGram", no_repeat_ngram)
