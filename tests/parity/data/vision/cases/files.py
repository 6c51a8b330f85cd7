# ruff: noqa: E501
"""Functions on files and encoded images; F is the folder of the files."""

from __future__ import annotations

from tests.parity.calls import each

_FILES = (
    "rgb.jpg grey.jpg progressive.jpg turned.jpg cmyk.jpg rgb.png rgba.png grey.png palette.png one_bit.png"
)
_FILES += (
    " grey_alpha.png deep.png turned.png rgb.bmp grey.bmp rgb.tiff rgb.webp rgb.gif truncated.jpg noise.bin"
    " ycck.jpg animated.png deep_rgb.png deep.tiff empty.bin bomb.png"
)

CASES = [
    *each(
        "V.encode_png\nV.encode_jpeg\nV.get_image_size\nV.get_image_num_channels",
        "rgb grey flat one picture rgba two batch vector float32 pil pil_l pil_rgba",
    ),
    *each(
        "lambda x: V.encode_jpeg(x, 1)\nlambda x: V.encode_jpeg(x, 100)\nlambda x: V.encode_png(x, 0)\nlambda x: V.encode_png(x, 9)",
        "rgb grey picture",
    ),
    *[
        case
        for name in _FILES.split()
        for case in each(
            "\n".join(
                f"lambda _: V.read_image(F + '{name}', V.ImageReadMode.{m})"
                for m in ("UNCHANGED", "GRAYSCALE", "COLOR")
            ),
            "int0",
        )
    ],
    *each("lambda _: V.read_file(F + 'rgb.jpg')\nlambda _: V.read_file(F + 'noise.bin')", "int0"),
]
