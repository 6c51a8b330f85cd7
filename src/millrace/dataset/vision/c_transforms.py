"""Deprecated module path of the array transforms: the current transforms with the old arguments."""

from __future__ import annotations

from millrace._src.data.kernels.vision.enums import (
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    Inter,
    SliceMode,
)
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation as ImageTensorOperation
from millrace._src.data.transforms.vision.affine import (
    RandomAffine,
    RandomRotation,
    Rotate,
)
from millrace._src.data.transforms.vision.auto_augment import (
    AutoAugment,
    RandomSelectSubpolicy,
    UniformAugment,
)
from millrace._src.data.transforms.vision.bounding_boxes import (
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
from millrace._src.data.transforms.vision.color import (
    AdjustGamma,
    AutoContrast,
    ConvertColor,
    Equalize,
    GaussianBlur,
    Invert,
)
from millrace._src.data.transforms.vision.crop import (
    CenterCrop,
    Crop,
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    Resize,
    SlicePatches,
)
from millrace._src.data.transforms.vision.decode import RandomCropDecodeResize
from millrace._src.data.transforms.vision.erase import CutOut
from millrace._src.data.transforms.vision.legacy import CDecode as Decode
from millrace._src.data.transforms.vision.legacy import (
    RgbToBgr,
    SoftDvppDecodeRandomCropResizeJpeg,
    SoftDvppDecodeResizeJpeg,
)
from millrace._src.data.transforms.vision.mixup import (
    CutMixBatch,
    MixUpBatch,
)
from millrace._src.data.transforms.vision.normalize import (
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
from millrace._src.data.transforms.vision.random_color import (
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
