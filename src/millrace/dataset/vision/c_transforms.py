"""The old module of array transforms: the transforms of today, with the old arguments where they differ."""

from __future__ import annotations

from millrace.data.kernels.vision.enums import (
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    Inter,
    SliceMode,
)
from millrace.data.transforms.operation import ImageOperation as ImageTensorOperation
from millrace.data.transforms.vision.augment import (
    AutoAugment,
    RandomSelectSubpolicy,
    UniformAugment,
)
from millrace.data.transforms.vision.batches import (
    CutMixBatch,
    MixUpBatch,
)
from millrace.data.transforms.vision.boxes import (
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
from millrace.data.transforms.vision.colour import (
    AdjustGamma,
    AutoContrast,
    ConvertColor,
    Equalize,
    GaussianBlur,
    Invert,
)
from millrace.data.transforms.vision.crops import (
    CenterCrop,
    Crop,
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    Resize,
    SlicePatches,
)
from millrace.data.transforms.vision.decode import RandomCropDecodeResize
from millrace.data.transforms.vision.erasing import CutOut
from millrace.data.transforms.vision.layout import (
    HWC2CHW,
    HorizontalFlip,
    Normalize,
    NormalizePad,
    Pad,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Rescale,
    VerticalFlip,
)
from millrace.data.transforms.vision.old import CDecode as Decode
from millrace.data.transforms.vision.old import (
    RgbToBgr,
    SoftDvppDecodeRandomCropResizeJpeg,
    SoftDvppDecodeResizeJpeg,
)
from millrace.data.transforms.vision.random_colour import (
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomColor,
    RandomColorAdjust,
    RandomEqualize,
    RandomInvert,
    RandomLighting,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
)
from millrace.data.transforms.vision.warps import (
    RandomAffine,
    RandomRotation,
    Rotate,
)

__all__ = [
    "AdjustGamma",
    "AutoAugment",
    "AutoAugmentPolicy",
    "AutoContrast",
    "Border",
    "BoundingBoxAugment",
    "CenterCrop",
    "ConvertColor",
    "ConvertMode",
    "Crop",
    "CutMixBatch",
    "CutOut",
    "Decode",
    "Equalize",
    "GaussianBlur",
    "HWC2CHW",
    "HorizontalFlip",
    "ImageBatchFormat",
    "ImageTensorOperation",
    "Inter",
    "Invert",
    "MixUpBatch",
    "Normalize",
    "NormalizePad",
    "Pad",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomAutoContrast",
    "RandomColor",
    "RandomColorAdjust",
    "RandomCrop",
    "RandomCropDecodeResize",
    "RandomCropWithBBox",
    "RandomEqualize",
    "RandomHorizontalFlip",
    "RandomHorizontalFlipWithBBox",
    "RandomInvert",
    "RandomLighting",
    "RandomPosterize",
    "RandomResize",
    "RandomResizeWithBBox",
    "RandomResizedCrop",
    "RandomResizedCropWithBBox",
    "RandomRotation",
    "RandomSelectSubpolicy",
    "RandomSharpness",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomVerticalFlipWithBBox",
    "Rescale",
    "Resize",
    "ResizeWithBBox",
    "RgbToBgr",
    "Rotate",
    "SliceMode",
    "SlicePatches",
    "SoftDvppDecodeRandomCropResizeJpeg",
    "SoftDvppDecodeResizeJpeg",
    "UniformAugment",
    "VerticalFlip",
]
