"""Normalize fused with the following HWC2CHW: one pass over the pixels, directly into the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace._src.core.random.rng import RandomStream
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.kernels.vision import batch_kernels as many
from millrace._src.data.kernels.vision import normalize as layout
from millrace._src.data.transforms.base import FusedTransform, Transform

__all__ = ["FusedNormalizeToCHW"]


@stable_id("transforms.NormalizePlanes")
class FusedNormalizeToCHW(FusedTransform):
    """Normalize, then HWC2CHW."""

    def __init__(self, normalize: Any, swap: Transform) -> None:
        super().__init__((normalize, swap))
        self.mean, self.std = normalize.mean, normalize.std

    def fused_row_function(self, rngs: Sequence[RandomStream | None]) -> Callable[..., Any]:
        """A function of (i, *images)."""
        first, second = (part.row_function(None) for part in self.operations)

        def call(i: int, *images: Any) -> Any:
            normalized = first(i, *images)
            return second(i, *normalized) if type(normalized) is tuple else second(i, normalized)

        return call

    def batch(self, xs: Any) -> Any:
        normalized = many.normalize(xs, self.mean, self.std)
        return None if normalized is None else many.hwc_to_chw(normalized)

    def output_spec(self, x: Any) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        if not layout.can_write_chw(x, self.mean):
            return None
        return (x.shape[2], *x.shape[:2]), np.dtype(np.float32)

    def row_into(self, out: np.ndarray[Any, Any], x: Any) -> None:
        layout.normalize_to_chw(x, self.mean, self.std, out)
