"""Deprecated module path of the Pillow transforms: the current transforms with the old arguments."""

from __future__ import annotations

from millrace._src.data.kernels.vision.enums import (
    Border,
    Inter,
)
from millrace._src.data.transforms.vision.affine import (
    RandomAffine,
    RandomPerspective,
    RandomRotation,
)
from millrace._src.data.transforms.vision.auto_augment import UniformAugment
from millrace._src.data.transforms.vision.color import (
    AdjustGamma,
    AutoContrast,
    Equalize,
    Grayscale,
    Invert,
)
from millrace._src.data.transforms.vision.color_space import (
    HsvToRgb,
    LinearTransformation,
    RgbToHsv,
)
from millrace._src.data.transforms.vision.crop import (
    CenterCrop,
    FiveCrop,
    RandomCrop,
    RandomResizedCrop,
    Resize,
    TenCrop,
)
from millrace._src.data.transforms.vision.erase import RandomErasing
from millrace._src.data.transforms.vision.legacy import (
    Cutout,
    RgbToBgr,
    not_random,
)
from millrace._src.data.transforms.vision.legacy import PyDecode as Decode
from millrace._src.data.transforms.vision.legacy import PyNormalize as Normalize
from millrace._src.data.transforms.vision.legacy import PyNormalizePad as NormalizePad
from millrace._src.data.transforms.vision.legacy import PyToTensor as ToTensor
from millrace._src.data.transforms.vision.mixup import MixUp
from millrace._src.data.transforms.vision.normalize import (
    HWC2CHW,
    Pad,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    ToPIL,
    ToType,
)
from millrace._src.data.transforms.vision.random_color import (
    RandomColor,
    RandomColorAdjust,
    RandomGrayscale,
    RandomLighting,
    RandomSharpness,
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
