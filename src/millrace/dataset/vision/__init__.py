"""Image transforms, under MindSpore's names."""

from __future__ import annotations

from millrace.kernels.vision.enums import (
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    ImageReadMode,
    Inter,
    SliceMode,
)
from millrace.transforms.vision.crops import (
    CenterCrop,
    Crop,
    FiveCrop,
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    Resize,
    ResizedCrop,
    SlicePatches,
    TenCrop,
)
from millrace.transforms.vision.decode import Decode, RandomCropDecodeResize
from millrace.transforms.vision.layout import (
    HWC2CHW,
    HorizontalFlip,
    Normalize,
    NormalizePad,
    Pad,
    PadToSize,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Rescale,
    ToNumpy,
    ToPIL,
    ToTensor,
    ToType,
    VerticalFlip,
)
from millrace.transforms.vision.colour import *
from millrace.transforms.vision.warps import *
