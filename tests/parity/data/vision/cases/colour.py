# ruff: noqa: E501
from __future__ import annotations

from tests.parity.calls import each

_SHAPES = "rgb wide one grey flat rgba two batch picture constant black"
_TYPES = "bool int8 int16 uint16 int32 float32 float255 float64"
_PIL = "pil pil_l pil_rgba pil_picture"

CASES = [
    *each(
        """
        V.AdjustBrightness(0)
        V.AdjustBrightness(0.5)
        V.AdjustBrightness(1.0)
        V.AdjustBrightness(1.7)
        V.AdjustContrast(0)
        V.AdjustContrast(0.5)
        V.AdjustContrast(1)
        V.AdjustContrast(1.7)
        V.AdjustSaturation(0)
        V.AdjustSaturation(0.5)
        V.AdjustSaturation(1)
        V.AdjustSaturation(1.7)
        V.AdjustHue(0)
        V.AdjustHue(0.1)
        V.AdjustHue(-0.3)
        V.AdjustHue(0.5)
        V.AdjustGamma(0.5)
        V.AdjustGamma(2.2, 1.3)
        V.AdjustGamma(1, 1)
        V.AdjustSharpness(0)
        V.AdjustSharpness(0.5)
        V.AdjustSharpness(1)
        V.AdjustSharpness(2.3)
        V.AutoContrast()
        V.AutoContrast(10.0)
        V.AutoContrast(20, [3, 200])
        V.AutoContrast(0.0, 255)
        V.Equalize()
        V.RandomEqualize(1.0)
        V.RandomEqualize(0.0)
        V.RandomAutoContrast(10.0, None, 1.0)
        V.RandomAutoContrast(10.0, None, 0.0)
        V.RandomAdjustSharpness(1.5, 1.0)
        V.RandomAdjustSharpness(1.5, 0.0)
        V.Posterize(0)
        V.Posterize(1)
        V.Posterize(4)
        V.Posterize(8)
        V.RandomPosterize(3)
        V.RandomPosterize((5, 5))
        V.Solarize(0)
        V.Solarize(100)
        V.Solarize((20, 120))
        V.Solarize(99.5)
        V.RandomSolarize((50, 50))
        V.RandomColor((0.5, 0.5))
        V.RandomColor((1.5, 1.5))
        V.RandomColor((1.0, 1.0))
        V.RandomSharpness((0.5, 0.5))
        V.RandomSharpness((1.7, 1.7))
        V.RandomColorAdjust()
        V.RandomColorAdjust(brightness=(0.5, 0.5))
        V.RandomColorAdjust(contrast=(0.5, 0.5))
        V.RandomColorAdjust(saturation=(1.5, 1.5))
        V.RandomColorAdjust(hue=(0.2, 0.2))
        V.RandomLighting(0.0)
        """,
        f"{_SHAPES} {_TYPES} {_PIL}",
    ),
    *each(
        """
        V.GaussianBlur(1)
        V.GaussianBlur(3)
        V.GaussianBlur((3, 5))
        V.GaussianBlur(3, 1.5)
        V.GaussianBlur([5, 3], [0.7, 2.0])
        V.GaussianBlur(9, 0.0)
        """,
        f"{_SHAPES} {_TYPES} five pil",
    ),
    *each("V.RgbToHsv()\nV.HsvToRgb()", "chw chw32 chw64 float32 rgb flat"),
    *each("V.RgbToHsv(True)\nV.HsvToRgb(True)", "rgb float32 float64 batch flat chw"),
    *each(
        "V.LinearTransformation(np.eye(12) * 2, np.arange(12.0))\nV.LinearTransformation(np.arange(144.0).reshape(12, 12), np.ones(12))",
        "floats2 rgb",
    ),
]
