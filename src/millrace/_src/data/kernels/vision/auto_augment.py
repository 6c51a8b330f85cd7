"""Operations of the AutoAugment family by name and strength, and the learnt policies.

At equal strength the results equal MindSpore's, except for two of its errors: it translates images by their whole width
where pixels are meant (TranslateX and TranslateY give a blank image there), and swaps the channels of Rotate's fill.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import affine as warp
from . import color as colour
from . import histogram
from .enums import AutoAugmentPolicy, Inter
from .validation import Array, check_image

__all__ = ["POLICIES", "apply", "rand_space", "trivial_space"]

# a sub-policy is two of (operation, probability, strength from 0 to 9 or None); Cubuk et al. 2018, tables 7 to 9
_Step = tuple[str, float, int | None]
_IMAGENET = """
Posterize .4 8 Rotate .6 9|Solarize .6 5 AutoContrast .6 -|Equalize .8 - Equalize .6 -|Posterize .6 7 Posterize .6 6
Equalize .4 - Solarize .2 4|Equalize .4 - Rotate .8 8|Solarize .6 3 Equalize .6 -|Posterize .8 5 Equalize 1 -
Rotate .2 3 Solarize .6 8|Equalize .6 - Posterize .4 6|Rotate .8 8 Color .4 0|Rotate .4 9 Equalize .6 -
Equalize 0 - Equalize .8 -|Invert .6 - Equalize 1 -|Color .6 4 Contrast 1 8|Rotate .8 8 Color 1 2
Color .8 8 Solarize .8 7|Sharpness .4 7 Invert .6 -|ShearX .6 5 Equalize 1 -|Color .4 0 Equalize .6 -
Equalize .4 - Solarize .2 4|Solarize .6 5 AutoContrast .6 -|Invert .6 - Equalize 1 -|Color .6 4 Contrast 1 8
Equalize .8 - Equalize .6 -
"""
_CIFAR10 = """
Invert .1 - Contrast .2 6|Rotate .7 2 TranslateX .3 9|Sharpness .8 1 Sharpness .9 3|ShearY .5 8 TranslateY .7 9
AutoContrast .5 - Equalize .9 -|ShearY .2 7 Posterize .3 7|Color .4 3 Brightness .6 7|Sharpness .3 9 Brightness .7 9
Equalize .6 - Equalize .5 -|Contrast .6 7 Sharpness .6 5|Color .7 7 TranslateX .5 8|Equalize .3 - AutoContrast .4 -
TranslateY .4 3 Sharpness .2 6|Brightness .9 6 Color .2 8|Solarize .5 2 Invert 0 -|Equalize .2 - AutoContrast .6 -
Equalize .2 - Equalize .6 -|Color .9 9 Equalize .6 -|AutoContrast .8 - Solarize .2 8|Brightness .1 3 Color .7 0
Solarize .4 5 AutoContrast .9 -|TranslateY .9 9 TranslateY .7 9|AutoContrast .9 - Solarize .8 3
Equalize .8 - Invert .1 -|TranslateY .7 9 AutoContrast .9 -
"""
_SVHN = """
ShearX .9 4 Invert .2 -|ShearY .9 8 Invert .7 -|Equalize .6 - Solarize .6 6|Invert .9 - Equalize .6 -
Equalize .6 - Rotate .9 3|ShearX .9 4 AutoContrast .8 -|ShearY .9 8 Invert .4 -|ShearY .9 5 Solarize .2 6
Invert .9 - AutoContrast .8 -|Equalize .6 - Rotate .9 3|ShearX .9 4 Solarize .3 3|ShearY .8 8 Invert .7 -
Equalize .9 - TranslateY .6 6|Invert .9 - Equalize .6 -|Contrast .3 3 Rotate .8 4|Invert .8 - TranslateY 0 2
ShearY .7 6 Solarize .4 8|Invert .6 - Rotate .8 4|ShearY .3 7 TranslateX .9 3|ShearX .1 6 Invert .6 -
Solarize .7 2 TranslateY .6 7|ShearY .8 4 Invert .8 -|ShearX .7 9 TranslateY .8 3|ShearY .8 5 AutoContrast .7 -
ShearX .7 2 Invert .1 -
"""


def _parse_policy(text: str) -> list[tuple[_Step, _Step]]:
    policy = []
    for line in text.strip().replace("\n", "|").split("|"):
        a, p, m, b, q, n = line.split()
        first = (a, float(p), None if m == "-" else int(m))
        policy.append((first, (b, float(q), None if n == "-" else int(n))))
    return policy


POLICIES: dict[AutoAugmentPolicy, list[tuple[_Step, _Step]]] = {
    AutoAugmentPolicy.IMAGENET: _parse_policy(_IMAGENET),
    AutoAugmentPolicy.CIFAR10: _parse_policy(_CIFAR10),
    AutoAugmentPolicy.SVHN: _parse_policy(_SVHN),
}

SIGNED = {
    "ShearX",
    "ShearY",
    "TranslateX",
    "TranslateY",
    "Rotate",
    "Brightness",
    "Color",
    "Contrast",
    "Sharpness",
}
RAND_OPS = ("Identity", *sorted(SIGNED), "Posterize", "Solarize", "AutoContrast", "Equalize")


def rand_space(op: str, bins: int, number: int, height: int, width: int) -> float:
    """Strength of an operation at a bin in RandAugment and AutoAugment."""
    fraction = number / (bins - 1)
    if op in ("ShearX", "ShearY"):
        return 0.3 * fraction
    if op == "TranslateX":
        return 150.0 / 331.0 * width * fraction
    if op == "TranslateY":
        return 150.0 / 331.0 * height * fraction
    if op == "Rotate":
        return 30.0 * fraction
    if op == "Posterize":
        return 8 - round(number / ((bins - 1) / 4))
    if op == "Solarize":
        return 255.0 * (1 - fraction)
    return 0.9 * fraction if op in SIGNED else 0.0


def trivial_space(op: str, bins: int, number: int) -> float:
    """Strength of an operation at a bin in TrivialAugmentWide."""
    fraction = number / (bins - 1)
    if op in ("TranslateX", "TranslateY"):
        return 32.0 * fraction
    if op == "Rotate":
        return 135.0 * fraction
    if op == "Posterize":
        return 8 - round(number / ((bins - 1) / 6))
    if op == "Solarize":
        return 255.0 * (1 - fraction)
    return 0.99 * fraction if op in SIGNED else 0.0


def apply(x: Array, op: str, strength: float, inter: Inter, fill: tuple[int, ...], name: str) -> Any:
    """Apply one operation at one strength."""
    check_image(name, x, ranks=(3,), channels=(3,))
    height, width = x.shape[:2]
    if op in ("ShearX", "ShearY"):
        degrees = math.degrees(strength)
        shear = (degrees, 0.0) if op == "ShearX" else (0.0, degrees)
        return warp.affine(x, 0.0, (0.0, 0.0), 1.0, shear, inter, fill, name)
    if op in ("TranslateX", "TranslateY"):
        pixels = int(strength)
        shift = (pixels / width, 0.0) if op == "TranslateX" else (0.0, pixels / height)
        return warp.affine(x, 0.0, shift, 1.0, (0.0, 0.0), inter, fill, name)
    if op == "Rotate":
        return warp.rotate(x, strength, inter, False, None, fill[::-1], name)  # rotate() takes BGR
    if op == "Posterize":
        return colour.posterize(x, int(strength), name)
    if op == "Solarize":
        return colour.solarize(x, strength, strength, name)
    if op == "AutoContrast":
        return histogram.auto_contrast(x, 0.0, (), name)
    if op in _WITH_FACTOR:
        return _WITH_FACTOR[op](x, float(np.float32(1) + np.float32(strength)), name)
    return _WITHOUT_FACTOR[op](x, name)


_WITH_FACTOR = {
    "Brightness": colour.brightness,
    "Color": colour.saturation,
    "Contrast": colour.contrast,
    "Sharpness": colour.sharpness,
}
_WITHOUT_FACTOR: dict[str, Any] = {
    "Identity": lambda x, name: np.asarray(x),
    "Equalize": histogram.equalize,
    "Invert": colour.invert,
}
