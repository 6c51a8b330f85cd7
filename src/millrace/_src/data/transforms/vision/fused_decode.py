"""Decode fused with the following crops and resizes: only the region that they read is decoded.

The pixels equal those of the separate transforms. Only with a tolerance (``config.set_decode_tolerance``), a JPEG that
will be reduced is also decoded at 1/2, 1/4 or 1/8 of its size, which changes pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace._src.core.random.rng import RandomStream
from millrace._src.core.settings import Settings
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.kernels.vision import decode as codec
from millrace._src.data.kernels.vision.enums import ConvertMode
from millrace._src.data.kernels.vision.jpeg_region import Box
from millrace._src.data.kernels.vision.resize import resize_image
from millrace._src.data.transforms.base import FusedTransform, Transform

from .color import ConvertColor
from .region_of_interest import (
    Size,
    has_region_of_interest,
    only_permutes_pixels,
    reads_whole_image,
    region_of_interest,
    resized_part,
)

__all__ = ["SCALED_ERROR", "FusedDecodeCrop", "is_encoded", "fuse_decode"]

# Mean difference, in levels of 255, between resizing a scaled decode and resizing the full one. Resizing has no
# anti-aliasing filter here (nor in MindSpore) and picks single pixels: 1 to 27 in 24 photographs and textures that are
# reduced to between a half and a tenth, 9 in the median.
SCALED_ERROR = 30.0


def fuse_decode(
    decode: Transform, following: Sequence[Transform], settings: Settings
) -> FusedDecodeCrop | None:
    """Fuse a decoding transform with the crops and resizes directly after it, where that saves work."""
    count = next((i for i, op in enumerate(following) if not has_region_of_interest(op)), len(following))
    if all(reads_whole_image(op) for op in following[:count]):
        count = 0
    elif _is_grey_of_rgb(following[count : count + 1]):
        count += 1
    scaled = settings.decode_tolerance >= SCALED_ERROR
    return FusedDecodeCrop((decode, *following[:count]), scaled) if count or scaled else None


def _is_grey_of_rgb(ops: Sequence[Transform]) -> bool:
    return any(type(op) is ConvertColor and op.convert_mode is ConvertMode.COLOR_RGB2GRAY for op in ops)


def is_encoded(x: Any) -> bool:
    """Whether this is an encoded image: a decoded one passes through a pipeline's Decode."""
    return isinstance(x, bytes) or (isinstance(x, np.ndarray) and (x.ndim == 1 or x.dtype.kind == "S"))


@stable_id("transforms.DecodePart")
class FusedDecodeCrop(FusedTransform):
    """Decode, then crops, flips and resizes, optionally grey at the end; or RandomCropDecodeResize, which is both."""

    def __init__(self, parts: Sequence[Transform], scaled: bool) -> None:
        super().__init__(parts)
        self.scaled = scaled
        # the last part converts three channels, which are equal in a grey image, to one
        self.to_grey = _is_grey_of_rgb(self.operations[-1:])
        self.looks = len(parts) - self.to_grey
        # for a grey image, the result of one channel is that of all three
        self.moves = self.looks > 1 and all(only_permutes_pixels(op) for op in parts[1 : self.looks])

    def fused_row_function(self, rngs: Sequence[RandomStream | None]) -> Callable[..., Any]:
        """A function of (i, encoded image)."""
        ops = self.operations
        params = [() if rng is None else op.params(rng) for op, rng in zip(ops, rngs, strict=True)]

        def call(i: int, x: Any) -> Any:
            row = _Row(ops, [[p[i] for p in columns] for columns in params], self.looks)
            try:
                if not is_encoded(x):
                    return row.run(x, 0)
                if self.scaled:
                    return self._decode_scaled(row, x)
                output = self._decode_gray(row, x) if self.moves else None
                return self._decode_part(row, x) if output is None else output
            except Exception as error:
                if not hasattr(error, "millrace_op"):
                    error.millrace_op = type(ops[row.position]).__name__  # type: ignore[attr-defined]
                raise

        return call

    @staticmethod
    def _decode_part(row: _Row, x: Any) -> Any:
        def select_region(height: int, width: int) -> Box | None:
            box = row.window(height, width)
            return None if box == (0, 0, height, width) else box

        return codec.decode_region(x, select_region, lambda image: row.run(image, 1))

    def _decode_gray(self, row: _Row, x: Any) -> Any:
        """The result for a grey PNG, computed on one channel instead of three; None for any other image."""
        return codec.decode_gray_region(
            x, row.window, lambda image: row.run(image, 1, self.looks), not self.to_grey
        )

    @staticmethod
    def _decode_scaled(row: _Row, x: Any) -> Any:
        first = min(1, len(row.ops) - 1)
        small = _ScaledJpegDecode(row.ops[first], row.params[first])

        def process(image: Any) -> Any:
            # images that are not JPEG, or have errors, are decoded at full size
            if small.whole is None or image.shape[:2] == small.whole:
                return row.run(image, first)
            return row.run(small.finish(image), first + 1)

        return codec.decode_region(x, small.select_region, process, factor=small.factor)


class _Row:
    """One row and its position in the sequence of transforms, for error messages."""

    def __init__(self, ops: Sequence[Transform], params: Sequence[Sequence[Any]], looks: int) -> None:
        self.ops, self.params, self.looks, self.position = ops, params, looks, 0

    def window(self, height: int, width: int) -> Box | None:
        return region_of_interest(self.ops[1 : self.looks], self.params[1 : self.looks], (height, width))

    def run(self, image: Any, start: int, end: int | None = None) -> Any:
        for number in range(start, len(self.ops) if end is None else end):
            self.position = number
            image = self.ops[number].row(image, *self.params[number])
        return image


class _ScaledJpegDecode:
    """A resized region of a JPEG, from the smallest scaled decode that is at least as large as the result."""

    def __init__(self, op: Transform, params: Sequence[Any]) -> None:
        self.op, self.params, self.by = op, params, 1
        self.box: Box | None = None
        self.whole: Size | None = None

    def factor(self, height: int, width: int) -> int:
        self.whole = height, width
        part = resized_part(self.op, self.params, (height, width))
        if part is not None:
            self.box, self.size, self.inter = part
            self.by = next((by for by in (8, 4, 2) if _is_large_enough(self.size, self.box, by)), 1)
        return self.by

    def select_region(self, height: int, width: int) -> Box | None:
        if self.by > 1 and self.box is not None:
            top, left, tall, wide = (round(edge / self.by) for edge in self.box)
            self.box = top, left, min(max(1, tall), height - top), min(max(1, wide), width - left)
        return self.box

    def finish(self, image: Any) -> Any:
        assert self.box is not None
        top, left, tall, wide = self.box
        part = image[top : top + tall, left : left + wide]
        return resize_image(part, self.size, self.inter, type(self.op).__name__)


def _is_large_enough(size: Size, box: Box, by: int) -> bool:
    return box[2] >= size[0] * by and box[3] >= size[1] * by
