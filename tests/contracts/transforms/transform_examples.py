"""One example of every public transform, for suites that must hold for all of them.

Each entry makes the transform; `inputs` says what it takes: an image <H,W,C>, an encoded image, a Pillow image,
<C,H,W> floats, an image with boxes, a batch with labels, a label, one string, words,
a waveform or a spectrogram.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import millrace.dataset.transforms as T
import millrace.dataset.vision as V
from tests.contracts.transforms.audio_examples import AUDIO
from tests.contracts.transforms.text_examples import TEXT


@dataclass(frozen=True)
class Example:
    """How to make a transform, and what it takes."""

    make: Callable[[], Any]
    inputs: str = "image"
    # a Pillow image in is a Pillow image out
    pil: bool = False


def add_one(x: Any) -> Any:
    return x + 1


_POINTS = [(0, 0), (16, 0), (16, 12), (0, 12)]
_MOVED = [(2, 1), (14, 3), (15, 11), (1, 10)]

EXAMPLES: dict[str, Example] = {
    "AdjustBrightness": Example(lambda: V.AdjustBrightness(1.3), pil=True),
    "AdjustContrast": Example(lambda: V.AdjustContrast(1.3), pil=True),
    "AdjustGamma": Example(lambda: V.AdjustGamma(1.3), pil=True),
    "AdjustHue": Example(lambda: V.AdjustHue(0.2), pil=True),
    "AdjustSaturation": Example(lambda: V.AdjustSaturation(1.3), pil=True),
    "AdjustSharpness": Example(lambda: V.AdjustSharpness(1.3)),
    "Affine": Example(lambda: V.Affine(15, (0.1, 0.1), 1.1, 5)),
    "AutoAugment": Example(lambda: V.AutoAugment()),
    "AutoContrast": Example(lambda: V.AutoContrast(5.0), pil=True),
    "BoundingBoxAugment": Example(lambda: V.BoundingBoxAugment(V.RandomColor((0.1, 0.2)), 0.6), "boxes"),
    "CenterCrop": Example(lambda: V.CenterCrop((20, 7)), pil=True),
    "Compose": Example(lambda: T.Compose([V.RandomCrop(9), V.RandomHorizontalFlip(), V.HWC2CHW()])),
    "Concatenate": Example(lambda: T.Concatenate(0, append=np.array([1], np.int64)), "labels"),
    "ConvertColor": Example(lambda: V.ConvertColor(V.ConvertMode.COLOR_RGB2BGR)),
    "Crop": Example(lambda: V.Crop((1, 2), (5, 6))),
    "CutMixBatch": Example(lambda: V.CutMixBatch(V.ImageBatchFormat.NHWC), "batch"),
    "CutOut": Example(lambda: V.CutOut(4, 2)),
    "Decode": Example(lambda: V.Decode(), "encoded"),
    "DecodeVideo": Example(lambda: V.DecodeVideo(), "video"),
    "Duplicate": Example(lambda: T.Duplicate()),
    "Equalize": Example(lambda: V.Equalize(), pil=True),
    "Erase": Example(lambda: V.Erase(1, 2, 3, 4, (5, 6, 7))),
    "Fill": Example(lambda: T.Fill(3)),
    "FiveCrop": Example(lambda: V.FiveCrop(5), "pil", pil=True),
    "GaussianBlur": Example(lambda: V.GaussianBlur(3)),
    "Grayscale": Example(lambda: V.Grayscale(3), "pil", pil=True),
    "HWC2CHW": Example(lambda: V.HWC2CHW()),
    "HorizontalFlip": Example(lambda: V.HorizontalFlip()),
    "HsvToRgb": Example(lambda: V.HsvToRgb(), "chw"),
    "Invert": Example(lambda: V.Invert(), pil=True),
    "LinearTransformation": Example(lambda: V.LinearTransformation(np.eye(663), np.ones(663)), "chw"),
    "Mask": Example(lambda: T.Mask(T.Relational.GT, 100)),
    "MixUp": Example(lambda: V.MixUp(2, 0.5), "batch"),
    "MixUpBatch": Example(lambda: V.MixUpBatch(0.5), "batch"),
    "Normalize": Example(lambda: V.Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])),
    "NormalizePad": Example(lambda: V.NormalizePad([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])),
    "OneHot": Example(lambda: T.OneHot(5), "label"),
    "Pad": Example(lambda: V.Pad((1, 2)), pil=True),
    "PadEnd": Example(lambda: T.PadEnd([20, 20, 3], 7)),
    "PadToSize": Example(lambda: V.PadToSize((20, 25))),
    "Perspective": Example(lambda: V.Perspective(_POINTS, _MOVED), pil=True),
    "Plugin": Example(lambda: T.Plugin(__file__, "add_one")),
    "Posterize": Example(lambda: V.Posterize(3)),
    "RandAugment": Example(lambda: V.RandAugment()),
    "RandomAdjustSharpness": Example(lambda: V.RandomAdjustSharpness(1.5)),
    "RandomAffine": Example(lambda: V.RandomAffine(15, (0.1, 0.1), (0.9, 1.1), 5), pil=True),
    "RandomApply": Example(lambda: T.RandomApply([V.RandomCrop((13, 17), 2), V.HorizontalFlip()])),
    "RandomAutoContrast": Example(lambda: V.RandomAutoContrast()),
    "RandomChoice": Example(lambda: T.RandomChoice([V.RandomColor(), V.HorizontalFlip(), V.VerticalFlip()])),
    "RandomColor": Example(lambda: V.RandomColor(), pil=True),
    "RandomColorAdjust": Example(lambda: V.RandomColorAdjust(0.5, 0.5, 0.5, 0.3), pil=True),
    "RandomCrop": Example(lambda: V.RandomCrop(9, 1), pil=True),
    "RandomCropDecodeResize": Example(lambda: V.RandomCropDecodeResize(9), "encoded"),
    "RandomCropWithBBox": Example(lambda: V.RandomCropWithBBox(9), "boxes"),
    "RandomEqualize": Example(lambda: V.RandomEqualize()),
    "RandomErasing": Example(lambda: V.RandomErasing(0.7, value="random"), "chw"),
    "RandomGrayscale": Example(lambda: V.RandomGrayscale(0.5), "pil", pil=True),
    "RandomHorizontalFlip": Example(lambda: V.RandomHorizontalFlip(), pil=True),
    "RandomHorizontalFlipWithBBox": Example(lambda: V.RandomHorizontalFlipWithBBox(), "boxes"),
    "RandomInvert": Example(lambda: V.RandomInvert()),
    "RandomLighting": Example(lambda: V.RandomLighting(0.5), pil=True),
    "RandomOrder": Example(lambda: T.RandomOrder([V.RandomCrop((13, 17), 2), V.Invert(), V.Posterize(4)])),
    "RandomPerspective": Example(lambda: V.RandomPerspective(0.5, 0.7), "pil", pil=True),
    "RandomPosterize": Example(lambda: V.RandomPosterize((1, 7))),
    "RandomResize": Example(lambda: V.RandomResize((8, 9))),
    "RandomResizeWithBBox": Example(lambda: V.RandomResizeWithBBox((8, 9)), "boxes"),
    "RandomResizedCrop": Example(lambda: V.RandomResizedCrop(9), pil=True),
    "RandomResizedCropWithBBox": Example(lambda: V.RandomResizedCropWithBBox(9), "boxes"),
    "RandomRotation": Example(lambda: V.RandomRotation(40), pil=True),
    "RandomSelectSubpolicy": Example(
        lambda: V.RandomSelectSubpolicy(
            [[(V.RandomColor(), 0.5), (V.Invert(), 0.5)], [(V.HorizontalFlip(), 0.9)]]
        )
    ),
    "RandomSharpness": Example(lambda: V.RandomSharpness(), pil=True),
    "RandomSolarize": Example(lambda: V.RandomSolarize()),
    "RandomVerticalFlip": Example(lambda: V.RandomVerticalFlip(), pil=True),
    "RandomVerticalFlipWithBBox": Example(lambda: V.RandomVerticalFlipWithBBox(), "boxes"),
    "Rescale": Example(lambda: V.Rescale(0.5, 1.0)),
    "Resize": Example(lambda: V.Resize((8, 9)), pil=True),
    "ResizeWithBBox": Example(lambda: V.ResizeWithBBox((8, 9)), "boxes"),
    "ResizedCrop": Example(lambda: V.ResizedCrop(1, 2, 5, 6, (8, 9))),
    "RgbToHsv": Example(lambda: V.RgbToHsv(), "chw"),
    "Rotate": Example(lambda: V.Rotate(33)),
    "Slice": Example(lambda: T.Slice(slice(1, 4), [0, 2])),
    "SlicePatches": Example(lambda: V.SlicePatches(2, 2)),
    "Solarize": Example(lambda: V.Solarize((10, 100))),
    "TenCrop": Example(lambda: V.TenCrop(5), "pil", pil=True),
    "ToNumpy": Example(lambda: V.ToNumpy(), "pil"),
    "ToPIL": Example(lambda: V.ToPIL(), pil=True),
    "ToTensor": Example(lambda: V.ToTensor()),
    "ToType": Example(lambda: V.ToType(np.float32)),
    "TrivialAugmentWide": Example(lambda: V.TrivialAugmentWide()),
    "TypeCast": Example(lambda: T.TypeCast(np.float32)),
    "UniformAugment": Example(lambda: V.UniformAugment([V.RandomColor(), V.HorizontalFlip(), V.Invert()], 2)),
    "Unique": Example(lambda: T.Unique()),
    "VerticalFlip": Example(lambda: V.VerticalFlip()),
} | {name: Example(make, inputs) for name, (make, inputs) in (TEXT | AUDIO).items()}
