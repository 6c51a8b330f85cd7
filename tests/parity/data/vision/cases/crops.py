from __future__ import annotations

from tests.parity.calls import each

_SHAPES = "rgb even wide tall one grey flat two rgba five batch vector"
_TYPES = "bool int8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 text"
_PIL = "pil pil_l pil_rgba pil_wide pil_tall pil_1 pil_p"

CASES = [
    *each(
        """
        V.Resize(7)
        V.Resize(29)
        V.Resize((7, 9))
        V.Resize([13, 17])
        V.Resize((30, 31))
        V.Resize((8, 10), Inter.NEAREST)
        V.Resize((31, 29), Inter.NEAREST)
        V.Resize((8, 10), Inter.CUBIC)
        V.Resize((31, 29), Inter.CUBIC)
        V.Resize((8, 10), Inter.AREA)
        V.Resize((31, 29), Inter.AREA)
        V.Resize((8, 10), Inter.PILCUBIC)
        V.Resize((31, 29), Inter.PILCUBIC)
        V.Resize((8, 10), Inter.ANTIALIAS)
        V.Resize(8, Inter.ANTIALIAS)
        """,
        f"{_SHAPES} {_TYPES} {_PIL} batch5",
    ),
    *each(
        """
        V.Resize(256)
        V.Resize((224, 224))
        V.Resize((100, 500), Inter.NEAREST)
        V.Resize((224, 224), Inter.CUBIC)
        V.Resize((200, 200), Inter.AREA)
        V.Resize((50, 640), Inter.PILCUBIC)
        """,
        "picture big pil_picture",
    ),
    *each("V.Resize((1, 1))\nV.Resize((2, 3))\nV.Resize((14000, 1))", "rgb one pil"),
    *each(
        """
        V.CenterCrop(5)
        V.CenterCrop((6, 7))
        V.CenterCrop((13, 17))
        V.CenterCrop((20, 9))
        V.CenterCrop((8, 30))
        V.CenterCrop((33, 44))
        """,
        f"{_SHAPES} {_TYPES} {_PIL} batch5",
    ),
    *each(
        "V.Crop((0, 0), 5)\nV.Crop((2, 3), (4, 6))\nV.Crop((10, 10), (5, 5))\nV.Crop([1, 1], [1, 1])",
        f"{_SHAPES} {_TYPES} pil",
    ),
    *each(
        "V.RandomCrop((13, 17))\nV.RandomCrop((17, 25), [4, 2])\nV.RandomCrop((17, 25), [4, 2], fill_value=(1, 2, 3))",
        "rgb grey flat rgba float32 int32 pil pil_l batch one",
    ),
    *each(
        "\n".join(
            f"V.RandomCrop((17, 25), [4, 2], padding_mode=Border.{m})"
            for m in ("EDGE", "REFLECT", "SYMMETRIC")
        ),
        "rgb pil grey",
    ),
    *each(
        "V.RandomCrop(20, pad_if_needed=True)\nV.RandomCrop(20)\nV.RandomCrop((30, 40), (1, 2, 3, 4), True)",
        "one rgb pil pil_l",
    ),
    *each(
        """
        V.RandomResizedCrop((20, 30), (1.0, 1.0), (17 / 13, 17 / 13))
        V.RandomResizedCrop((20, 30), (1.0, 1.0), (17 / 13, 17 / 13), Inter.NEAREST)
        V.RandomResizedCrop((20, 30), (1.0, 1.0), (17 / 13, 17 / 13), Inter.CUBIC)
        V.RandomResizedCrop((20, 30), (1.0, 1.0), (17 / 13, 17 / 13), Inter.AREA)
        V.RandomResizedCrop((20, 30), (1.0, 1.0), (17 / 13, 17 / 13), Inter.PILCUBIC)
        V.RandomResizedCrop((20, 30), (1.0, 1.0), (17 / 13, 17 / 13), Inter.ANTIALIAS)
        V.RandomResizedCrop(9, (5.0, 5.0), (1.0, 1.0))
        V.RandomResizedCrop(9, (5.0, 5.0), (2.0, 3.0))
        V.RandomResizedCrop(9, (5.0, 5.0), (0.3, 0.5))
        """,
        "rgb flat grey rgba float32 batch pil pil_l vector",
    ),
    *each(
        """
        V.ResizedCrop(0, 0, 5, 6, (9, 8))
        V.ResizedCrop(2, 3, 10, 9, 4, Inter.NEAREST)
        V.ResizedCrop(2, 3, 10, 9, (20, 30), Inter.CUBIC)
        V.ResizedCrop(2, 3, 10, 9, (20, 30), Inter.PILCUBIC)
        V.ResizedCrop(2, 3, 10, 9, (5, 5), Inter.AREA)
        V.ResizedCrop(2, 3, 10, 30, (5, 5))
        V.ResizedCrop(2, 3, 10, 9, (5, 5), Inter.ANTIALIAS)
        """,
        "rgb flat grey rgba float32 batch pil",
    ),
    *each(
        "V.FiveCrop(5)\nV.FiveCrop((13, 9))\nV.FiveCrop(30)\nV.TenCrop(5)\nV.TenCrop((4, 7), True)\nV.TenCrop(40)",
        "pil pil_l rgb",
    ),
    *each(
        """
        V.SlicePatches(1, 1)
        V.SlicePatches(2, 3)
        V.SlicePatches(2, 3, V.SliceMode.DROP)
        V.SlicePatches(3, 2, V.SliceMode.PAD, 7)
        V.SlicePatches(14, 1)
        V.SlicePatches(14, 1, V.SliceMode.DROP)
        """,
        "rgb grey flat rgba float32 batch",
    ),
]
