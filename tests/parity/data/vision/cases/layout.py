from __future__ import annotations

from tests.parity.calls import each

_SHAPES = "rgb even wide one grey flat two rgba five batch batch5 vector"
_TYPES = "bool int8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 text"
_PIL = "pil pil_l pil_rgba pil_1 pil_p"

CASES = [
    *each(
        """
        V.HorizontalFlip()
        V.VerticalFlip()
        V.RandomHorizontalFlip(1.0)
        V.RandomHorizontalFlip(0.0)
        V.RandomVerticalFlip(1)
        V.RandomVerticalFlip(0)
        V.HWC2CHW()
        V.ToTensor()
        V.ToNumpy()
        V.ToPIL()
        """,
        f"{_SHAPES} {_TYPES} {_PIL}",
    ),
    *each(
        "\n".join(
            f"V.ToTensor({t})"
            for t in (
                "np.float16",
                "np.float64",
                "np.uint8",
                "np.int32",
                "ms.float32",
                "ms.uint8",
                "'float32'",
            )
        ),
        "rgb flat grey float32 float64 int32 pil pil_l bool",
    ),
    *each(
        "\n".join(
            f"V.ToType({t})"
            for t in (
                "np.float16",
                "np.float32",
                "np.float64",
                "np.uint8",
                "np.int8",
                "np.int16",
                "np.int32",
                "np.int64",
                "np.uint16",
                "np.uint32",
                "np.uint64",
                "np.bool_",
                "ms.float32",
                "ms.int32",
                "ms.bool_",
                "'float32'",
                "np.str_",
            )
        ),
        "rgb float32 float255 int16 int32 bool float64 uint16 pil text int8 floats ints words",
    ),
    *each(
        """
        V.Normalize([121.0, 115.0, 100.0], [70.0, 68.0, 71.0])
        V.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
        V.Normalize([121.0, 115.0, 100.0], [70.0, 68.0, 71.0], is_hwc=False)
        V.Normalize([127.5], [127.5])
        V.Normalize([0, 0, 0], [1, 1, 255])
        V.Normalize([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0])
        """,
        f"{_SHAPES} {_TYPES} picture chw chw32 pil pil_l float255 batch_chw",
    ),
    *each(
        """
        V.NormalizePad([121.0, 115.0, 100.0], [70.0, 68.0, 71.0])
        V.NormalizePad([121.0, 115.0, 100.0], [70.0, 68.0, 71.0], "float16")
        V.NormalizePad([121.0, 115.0, 100.0], [70.0, 68.0, 71.0], "float32", False)
        V.NormalizePad([127.5], [127.5])
        """,
        "rgb grey flat rgba float32 chw chw32 batch int32 pil",
    ),
    *each(
        "V.Rescale(1.0 / 255.0, 0.0)\nV.Rescale(2, -1.5)\nV.Rescale(1 / 127.5, -1.0)\nV.Rescale(-3.7, 1e4)",
        f"{_SHAPES} {_TYPES} picture pil floats",
    ),
    *each(
        """
        V.Pad(3)
        V.Pad([1, 2])
        V.Pad((1, 2, 3, 4))
        V.Pad((1, 2, 3, 4), 9)
        V.Pad((1, 2, 3, 4), (7, 8, 9))
        V.Pad(0)
        V.Pad((1, 2, 3, 4), padding_mode=Border.EDGE)
        V.Pad((1, 2, 3, 4), padding_mode=Border.REFLECT)
        V.Pad((1, 2, 3, 4), padding_mode=Border.SYMMETRIC)
        V.Pad((20, 0, 0, 40), padding_mode=Border.REFLECT)
        """,
        f"{_SHAPES} {_TYPES} {_PIL}",
    ),
    *each(
        """
        V.PadToSize(30)
        V.PadToSize((20, 25))
        V.PadToSize([20, 25], [3, 2])
        V.PadToSize((20, 25), 1, 9)
        V.PadToSize((20, 25), (3, 2), (7, 8, 9))
        V.PadToSize((20, 25), padding_mode=Border.EDGE)
        V.PadToSize((20, 25), (3, 2), padding_mode=Border.REFLECT)
        V.PadToSize((20, 25), padding_mode=Border.SYMMETRIC)
        V.PadToSize((10, 25))
        V.PadToSize((13, 17))
        """,
        "rgb grey flat rgba two batch batch5 float32 int32 float64 pil one",
    ),
    *each(
        "V.Grayscale(1)\nV.Grayscale(3)\nV.RandomGrayscale(1.0)\nV.RandomGrayscale(0.0)",
        "pil pil_l pil_rgba pil_1 pil_p rgb flat",
    ),
    *each("V.Invert()\nV.RandomInvert(1.0)\nV.RandomInvert(0.0)", f"{_SHAPES} {_TYPES} {_PIL}"),
    *each(
        "\n".join(
            f"V.ConvertColor(V.ConvertMode.{m})"
            for m in [
                "COLOR_BGR2BGRA",
                "COLOR_BGRA2BGR",
                "COLOR_BGR2RGBA",
                "COLOR_RGBA2BGR",
                "COLOR_BGR2RGB",
                "COLOR_BGRA2RGBA",
                "COLOR_BGR2GRAY",
                "COLOR_RGB2GRAY",
                "COLOR_GRAY2BGR",
                "COLOR_GRAY2BGRA",
                "COLOR_BGRA2GRAY",
                "COLOR_RGBA2GRAY",
            ]
        ),
        "rgb rgba grey flat batch float32 float64 uint16 int32 pil five",
    ),
]
