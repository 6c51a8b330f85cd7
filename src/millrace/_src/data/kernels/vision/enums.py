"""Enumerations of the image transforms, with MindSpore's names and values."""

from __future__ import annotations

from enum import Enum, IntEnum

from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

__all__ = [
    "AutoAugmentPolicy",
    "Border",
    "ConvertMode",
    "ImageBatchFormat",
    "ImageReadMode",
    "Inter",
    "SliceMode",
]


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.utils")
@stable_id("enum.AutoAugmentPolicy")
class AutoAugmentPolicy(str, Enum):  # noqa: UP042 (MindSpore's print as their name)
    """Data set on which the AutoAugment policy was learnt.

    >>> AutoAugmentPolicy.CIFAR10.value
    'cifar10'
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


@public(
    "dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms", "dataset.vision.utils"
)
@stable_id("enum.Border")
class Border(str, Enum):  # noqa: UP042
    """Padding mode of an image: constant, edge, or reflection without (REFLECT) or with (SYMMETRIC) the edge.

    >>> Border.REFLECT.value
    'reflect'
    """

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.utils")
@stable_id("enum.ConvertMode")
class ConvertMode(IntEnum):
    """Colour conversion: source and target channel order; several names share a value.

    >>> ConvertMode.COLOR_RGB2BGR is ConvertMode.COLOR_BGR2RGB
    True
    """

    COLOR_BGR2BGRA = 0
    COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = 1
    COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = 2
    COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = 3
    COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = 4
    COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = 5
    COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = 8
    COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = 9
    COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.utils")
@stable_id("enum.ImageBatchFormat")
class ImageBatchFormat(IntEnum):
    """Channel position in a batch of images.

    >>> ImageBatchFormat.NCHW.value
    1
    """

    NHWC = 0
    NCHW = 1


@public("dataset.vision", "dataset.vision.utils")
@stable_id("enum.ImageReadMode")
class ImageReadMode(IntEnum):
    """Channels of `read_image`: as in the file, grey, or RGB.

    >>> ImageReadMode.COLOR.value
    2
    """

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


@public(
    "dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms", "dataset.vision.utils"
)
@stable_id("enum.Inter")
class Inter(IntEnum):
    """Interpolation mode of resizing and warping. ANTIALIAS is for Pillow images, AREA and PILCUBIC for arrays.

    >>> Inter.LINEAR is Inter.BILINEAR
    True
    """

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = 2
    LINEAR = 2
    BICUBIC = 3
    CUBIC = 3
    AREA = 4
    PILCUBIC = 5


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.utils")
@stable_id("enum.SliceMode")
class SliceMode(IntEnum):
    """How SlicePatches handles a remainder that fills no patch: pad or drop.

    >>> SliceMode.DROP.value
    1
    """

    PAD = 0
    DROP = 1
