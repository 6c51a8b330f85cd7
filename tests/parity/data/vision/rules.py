"""Where Millrace may differ from MindSpore, and why. Everything else is bit for bit the same.

A rule is a regular expression over a case's name, "call(inputs)". The first one that matches holds.
"""

from __future__ import annotations

import importlib.util
import re
from typing import NamedTuple


class Near(NamedTuple):
    """Not bit-identical: the largest difference, the largest share of values that differ, and the reason."""

    pattern: str
    within: float
    share: float
    reason: str


class Other(NamedTuple):
    """Something else on purpose, or where MindSpore's own result is random."""

    pattern: str
    reason: str


_SOLVED = (
    "MindSpore solves for the coefficients with LAPACK, whose last bits depend on the processor: a position on the "
    "border between two pixels, or of the image, is rounded to either side"
)
_VECTOR = "OpenCV 5's vector code sums in another order than the OpenCV 4.5 inside MindSpore"

NEAR = [
    Near(r"^V\.Perspective\(.*\(pil\w*\)$", 255, 0.01, _SOLVED),
    Near(r"^V\.RandomPerspective\(0\.0, 1\.0\)\(pil\)$", 1, 1.0, _SOLVED),
    Near(
        r"^V\.LinearTransformation\(np\.arange.*\(floats2\)$",
        1e-9,
        1.0,
        "BLAS sums in an order that depends on the processor",
    ),
    Near(
        r"^V\.(Resize|ResizedCrop|RandomResizedCrop|RandomCropDecodeResize|RandomResizedCropWithBBox|ResizeWithBBox)"
        r"\(.*\((\w+,? ?)?(float32|float64)(, boxes)?\)$",
        2e-6,
        1.0,
        _VECTOR,
    ),
    Near(r"^V\.Resize\(.*\((uint16|int16)\)$", 1, 0.02, _VECTOR),
    Near(r"^V\.(Resize|ResizedCrop|RandomResizedCrop|RandomCropDecodeResize)\(.*CUBIC", 1, 0.1, _VECTOR),
    Near(
        r"^V\.(Rotate|RandomRotation|Affine|RandomAffine|Perspective)\(.*\((float32|float64)\)$",
        1e-5,
        1.0,
        _VECTOR,
    ),
    Near(r"^V\.(Rotate|RandomRotation|Affine|RandomAffine|Perspective)\(.*CUBIC", 3, 0.01, _VECTOR),
    Near(
        r"^V\.(Affine|RandomAffine|Rotate)\(.*\(picture\)$", 3, 0.001, "the matrix differs in its last bits"
    ),
    Near(
        r"^V\.(AdjustHue|RandomColorAdjust\(hue).*\((rgb|wide|one|picture|constant|black)\)$", 1, 0.4, _VECTOR
    ),
    Near(
        r"^V\.(Adjust(?!Brightness)\w+|Random(Color|Sharpness|ColorAdjust|AdjustSharpness)|GaussianBlur)\(.*\(float255\)$",
        7e-5,
        1.0,
        _VECTOR,
    ),
    Near(
        r"^V\.(Adjust(?!Brightness)\w+|Random(Color|Sharpness|ColorAdjust|AdjustSharpness)|GaussianBlur)\(.*\(float(32|64)\)$",
        3e-7,
        1.0,
        _VECTOR,
    ),
    Near(r"^V\.ConvertColor\(.*GRAY\)\(float32\)$", 2e-7, 1.0, _VECTOR),
    Near(
        r"V\.(DecodeVideo\(\)\(\w+\.\w+\)|read_video\(F)",
        3,
        1.0,
        "the FFmpeg inside MindSpore is built without vector code and rounds colours in another way",
    ),
    Near(
        r"read_image\(F \+ 'animated.png', V.ImageReadMode.GRAYSCALE",
        1,
        1.0,
        "OpenCV 5 reads animated PNG files with code of its own, which rounds grey in another way",
    ),
    Near(r"^V\.(RgbToHsv|HsvToRgb)\(.*\((chw32|float32)\)$", 1e-7, 1.0, "float64 throughout"),
]

# Bit for bit MindSpore's on a processor with fused multiply-add, which OpenCV uses where it is present.
WITHOUT_FMA = [
    Near(
        r"^V\.(AdjustContrast\(1\.7|AdjustSaturation\(1\.7|AdjustSharpness\(2\.3|RandomSharpness\(\(1\.7, 1\.7\))\)"
        r"\((?!float|one\b)\w+\)$",
        1,
        0.1,
        "OpenCV rounds the products of a blend one by one on a processor without fused multiply-add",
    ),
]
_CPU_FMA3 = 12  # OpenCV's number of the feature

OTHER = [
    Other(
        r"V\.encode_png(?!\(.*\)\(-\))",
        "another zlib; the pixels are the same, tests/unit/data/kernels/vision/test_decode.py",
    ),
    Other(r"read_image\(F \+ 'truncated.jpg'", "MindSpore gives half an image"),
    Other(
        r"PILCUBIC.*\((bool|int8|int16|uint16|int32|float16|float32|float64)\)$",
        "MindSpore reads the bytes of other types as if they were uint8",
    ),
    Other(r"^V\.AdjustHue\(.*\(float(32|255)\)$|hue=.*\(float(32|255)\)$", "MindSpore's result overflows"),
    Other(r"^V\.AdjustGamma\(.*\((bool|int8|int16|uint16|int32)\)$", "MindSpore treats each byte on its own"),
    Other(r"^V\.(Random)?Solarize\(.*\((bool|int8)\)$", "255 is no value of these types"),
    Other(r"^V\.GaussianBlur\(9, 0\.0\)\(uint16\)$", "MindSpore's result overflows"),
    Other(
        r"^V\.NormalizePad\((?!.*False\)\().*",
        "MindSpore writes the channels one after the other into <H,W,C>",
    ),
    Other(r"^V\.RandomCrop\(.*True\)\(", "random places"),
    Other(
        r"^V\.RandomColorAdjust\(.*\(pil", "Pillow's hue rounds even for 0, so that the random order shows"
    ),
    Other(
        r"^V\.RandomAffine\(.*\(pil\)$", "random places; MindSpore forgets the fill with Pillow 10 and later"
    ),
    Other(r"^V\.Decode\(to_pil=True\)\(bomb.png\)$", "Pillow's own error is no RuntimeError"),
    Other(r"read_video_timestamps\(.*'sec'\)", "seconds in 64 bits; MindSpore rounds them to 32"),
    Other(r"^T\.OneHot\(5, 0\.1\)\(ints\)$", "MindSpore loses the ones of a smoothed 1-D input"),
    Other(
        r"^T\.Compose\(.*(pil|ToPIL).*\)$",
        "MindSpore gives a tuple of one here, and the value alone elsewhere",
    ),
    Other(r"^T\.PadEnd\(\[None\]\)\((words|octets)\)$", "None keeps a dimension; MindSpore empties it"),
    Other(
        r"^T\.Slice\(.*\)\(-\)$|^T\.Slice\(slice\(None.*",
        "a slice as in Python; no private class in the words",
    ),
    Other(r"^T\.Compose\(\(V.HWC2CHW\(\),\)\)", "a transform prints as itself"),
    Other(
        r"^V\.(Resize|ResizeWithBBox)\(5, None\)", "a TypeError as for any other wrong type, not a KeyError"
    ),
    Other(r"^V\.BoundingBoxAugment\((5|None)\)", "our class in the words"),
]

# From FFmpeg 9 (libavcodec 63) on, the samples with which an encoder filled up the last packet are left out.
if importlib.util.find_spec("av") and importlib.import_module("av").library_versions["libavcodec"] >= (63,):
    OTHER.append(
        Other(r"DecodeVideo\(\)\(sound|read_video\(F \+ 'sound", "MindSpore gives 192 samples too many")
    )

# MindSpore refuses these while rows flow, and here they work.
MORE = [
    Other(r"\((uint32|int64|uint64)\)$", "types that OpenCV 4.5 lacks"),
    Other(r"^V\.(Random)?Invert\(.*\(float16\)$", "a type that OpenCV 4.5 lacks"),
    Other(r"\(.*boxes_int\)$", "boxes may be integers"),
    Other(
        r"^V\.(ResizedCrop|Rotate|RandomRotation|RandomVerticalFlip|RandomColor)\(.*\((batch|batch5)\)$",
        "every image of a batch",
    ),
    Other(
        r"^V\.Random(Horizontal|Vertical)Flip\(0.*|^V\.Random(Invert|Equalize|AutoContrast|AdjustSharpness)\(.*0\.0\)",
        "an image that is left as it is, is not looked at",
    ),
    Other(r"^V\.RandomColorAdjust\(.*", "an image that is left as it is, is not looked at"),
    Other(
        r"^V\.(AdjustContrast|AdjustSaturation|AdjustHue)\(.*\((bool|uint16)\)$", "a type that OpenCV takes"
    ),
    Other(
        r"^V\.(Random)?AutoContrast\(.*\((grey|flat|bool)\)$|^V\.(Random)?Equalize\(.*\((bool|flat|grey)\)$",
        "one channel is an image too",
    ),
    Other(r"V\.VideoDecoder\(F \+ '(late.mkv|bare.h264)'\)", "files that do not tell their length"),
    Other(r"^T\.TypeCast\(.*\(octets\)$", "bytes become text"),
    Other(r"^T\.PadEnd\(\[None", "None keeps a dimension"),
    Other(r"^T\.Slice\(slice", "a slice as in Python"),
    Other(
        r"^V\.Decode\(\)\(damaged\.jpg\)$", "MindSpore decodes it too, unless another broken file came before"
    ),
]


def near(name: str) -> Near | None:
    """The rule that holds on this processor."""
    fused = importlib.import_module("cv2").checkHardwareSupport(_CPU_FMA3)
    return _first(NEAR, name) or (None if fused else _first(WITHOUT_FMA, name))


def keeps_values(name: str) -> bool:
    """Whether the values are recorded, because a rule needs them on some processor."""
    return _first([*NEAR, *WITHOUT_FMA], name) is not None


def _first(rules: list[Near], name: str) -> Near | None:
    return next((rule for rule in rules if re.search(rule.pattern, name)), None)


def other(name: str) -> Other | None:
    return next((rule for rule in OTHER if re.search(rule.pattern, name)), None)


def more(name: str) -> Other | None:
    return next((rule for rule in MORE if re.search(rule.pattern, name)), None)
