"""The old module of Pillow transforms: the transforms of today, with the old arguments where they differ."""

from __future__ import annotations

from millrace.data.kernels.vision.enums import (
    Border,
    Inter,
)
from millrace.data.transforms.vision.augment import UniformAugment
from millrace.data.transforms.vision.batches import MixUp
from millrace.data.transforms.vision.colour import (
    AdjustGamma,
    AutoContrast,
    Equalize,
    Grayscale,
    Invert,
)
from millrace.data.transforms.vision.crops import (
    CenterCrop,
    FiveCrop,
    RandomCrop,
    RandomResizedCrop,
    Resize,
    TenCrop,
)
from millrace.data.transforms.vision.erasing import RandomErasing
from millrace.data.transforms.vision.layout import (
    HWC2CHW,
    Pad,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    ToPIL,
    ToType,
)
from millrace.data.transforms.vision.old import (
    Cutout,
    RgbToBgr,
    not_random,
)
from millrace.data.transforms.vision.old import PyDecode as Decode
from millrace.data.transforms.vision.old import PyNormalize as Normalize
from millrace.data.transforms.vision.old import PyNormalizePad as NormalizePad
from millrace.data.transforms.vision.old import PyToTensor as ToTensor
from millrace.data.transforms.vision.random_colour import (
    RandomColor,
    RandomColorAdjust,
    RandomGrayscale,
    RandomLighting,
    RandomSharpness,
)
from millrace.data.transforms.vision.spaces import (
    HsvToRgb,
    LinearTransformation,
    RgbToHsv,
)
from millrace.data.transforms.vision.warps import (
    RandomAffine,
    RandomPerspective,
    RandomRotation,
)

__all__ = [
    "AdjustGamma",
    "AutoContrast",
    "Border",
    "CenterCrop",
    "Cutout",
    "Decode",
    "Equalize",
    "FiveCrop",
    "Grayscale",
    "HWC2CHW",
    "HsvToRgb",
    "Inter",
    "Invert",
    "LinearTransformation",
    "MixUp",
    "Normalize",
    "NormalizePad",
    "Pad",
    "RandomAffine",
    "RandomColor",
    "RandomColorAdjust",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomLighting",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSharpness",
    "RandomVerticalFlip",
    "Resize",
    "RgbToBgr",
    "RgbToHsv",
    "TenCrop",
    "ToPIL",
    "ToTensor",
    "ToType",
    "UniformAugment",
    "not_random",
]
