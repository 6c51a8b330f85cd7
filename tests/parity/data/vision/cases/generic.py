# ruff: noqa: E501
from __future__ import annotations

from tests.parity.calls import each

CASES = [
    *each("T.OneHot(5)\nT.OneHot(5, 0.1)\nT.OneHot(3)\nT.OneHot(4, 1.0)", "int0 ints ints2 floats rgb words"),
    *each(
        "\n".join(
            f"T.TypeCast({t})"
            for t in (
                "ms.float32",
                "ms.int32",
                "ms.uint8",
                "ms.bool_",
                "np.float16",
                "np.int64",
                "ms.string",
                "ms.int8",
                "ms.uint64",
                "np.str_",
                "float",
                "int",
                "'int32'",
            )
        ),
        "int0 ints floats floats2 words octets bool float255 int32 float16",
    ),
    *each(
        """
        T.PadEnd([8])
        T.PadEnd([8], 9)
        T.PadEnd([2])
        T.PadEnd([4, 5], -1)
        T.PadEnd([None, 5], 1.5)
        T.PadEnd([None])
        T.PadEnd([6], "pad")
        T.PadEnd([6], b"pad")
        T.PadEnd([2, 2])
        """,
        "int0 ints ints2 floats floats2 words octets",
    ),
    *each(
        "\n".join(
            f"T.Mask(T.Relational.{r}, {c})"
            for r in ("EQ", "NE", "GT", "GE", "LT", "LE")
            for c in ("2", "2.0", "'two'", "True")
        ),
        "int0 ints ints2 floats words octets",
    ),
    *each(
        "T.Mask(T.Relational.GT, 1, ms.uint8)\nT.Mask(T.Relational.GT, 1, ms.float32)\nT.Mask(T.Relational.GT, 1, ms.int64)",
        "ints floats2",
    ),
    *each(
        """
        T.Slice(0)
        T.Slice(-1)
        T.Slice([0, 2])
        T.Slice([-1, 0])
        T.Slice(slice(1, 3))
        T.Slice(slice(None, None, 2))
        T.Slice(slice(None, None, -1))
        T.Slice(slice(3, 0, -2))
        T.Slice(None)
        T.Slice(...)
        T.Slice(True)
        T.Slice(slice(1, 2), slice(0, 1))
        T.Slice(None, 0)
        T.Slice(..., 1)
        T.Slice([0, 1], [1])
        T.Slice(slice(5, 99))
        T.Slice(99)
        T.Slice(0, 0, 0)
        T.Slice([])
        T.Slice(slice(4, 2))
        """,
        "int0 ints ints2 floats2 words",
    ),
    *each("T.Unique()", "int0 ints ints2 floats floats2 words rgb bool"),
    *each(
        "T.Fill(3)\nT.Fill(3.7)\nT.Fill(-1)\nT.Fill('x')\nT.Fill(True)\nT.Fill(b'x')\nT.Fill(300)",
        "int0 ints floats words rgb bool octets",
    ),
    *each(
        """
        T.Concatenate()
        T.Concatenate(0, np.array([9, 8]), np.array([7]))
        T.Concatenate(-1, np.array([1.5], np.float32))
        T.Concatenate(0, None, np.array(["z"]))
        T.Concatenate(0, np.array([9, 8], np.int32))
        """,
        "int0 ints ints2 floats words ints,ints floats,floats",
    ),
    *each("T.Duplicate()", "int0 ints words rgb"),
    *each(
        "T.Compose([V.HorizontalFlip(), V.HWC2CHW()])\nT.Compose([lambda x: x])\nT.Compose([V.ToPIL(), V.CenterCrop(5)])\nT.Compose([V.ToPIL(), V.CenterCrop(5), V.ToTensor()])\nT.RandomApply([V.HorizontalFlip()], 1.0)\nT.RandomApply([V.HorizontalFlip()], 0)\nT.RandomChoice([V.HorizontalFlip()])\nT.RandomOrder([V.HorizontalFlip()])",
        "rgb pil",
    ),
    *each("T.Compose([T.Compose([lambda x, y: (y, x)]), lambda a, b: (a, b)])", "int0,ints"),
    *each("T.Compose([T.TypeCast(ms.int32), T.OneHot(5)])", "int0 ints floats"),
]
