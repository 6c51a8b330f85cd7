# ruff: noqa: E501
from __future__ import annotations

from tests.parity.calls import each

_GOOD = (
    "rgb.jpg rgb444.jpg rgb422.jpg progressive.jpg grey.jpg tiny.jpg turned.jpg trailing.jpg rgb.png grey.png"
)
_GOOD += " rgba.png palette.png one_bit.png grey_alpha.png rgb.bmp grey.bmp turned.png deep.png cmyk.jpg"
_ODD = "rgb.tiff rgb.webp rgb.gif animated.gif truncated.jpg header_only.jpg damaged.jpg truncated.png noise.bin bomb.png"
_ODD += " ycck.jpg animated.png deep_rgb.png deep.tiff empty.bin"

CASES = [
    *each("V.Decode()\nV.Decode(to_pil=True)", f"{_GOOD} {_ODD}"),
    *each("V.Decode()\nV.Decode(True)", "rgb flat text pil int0"),
    *each("T.Compose([V.Decode(), V.Resize((20, 30))])", "rgb.jpg grey.png"),
    *each(
        """
        V.RandomCropDecodeResize((20, 30), scale=(1.0, 1.0), ratio=(53 / 37, 53 / 37))
        V.RandomCropDecodeResize((60, 70), scale=(1.0, 1.0), ratio=(53 / 37, 53 / 37), interpolation=Inter.NEAREST)
        V.RandomCropDecodeResize((20, 30), scale=(1.0, 1.0), ratio=(53 / 37, 53 / 37), interpolation=Inter.CUBIC)
        V.RandomCropDecodeResize((20, 30), scale=(1.0, 1.0), ratio=(53 / 37, 53 / 37), interpolation=Inter.AREA)
        V.RandomCropDecodeResize((20, 30), scale=(5.0, 5.0), ratio=(1.0, 1.0))
        V.RandomCropDecodeResize((20, 30), scale=(5.0, 5.0), ratio=(3.0, 3.0))
        """,
        "rgb.jpg rgb444.jpg rgb422.jpg grey.jpg rgb.png rgba.png cmyk.jpg noise.bin rgb",
    ),
]
