# ruff: noqa: E501
from __future__ import annotations

from tests.parity.calls import each

_IN = "rgb even grey flat rgba picture float32 int16 float64 batch pil pil_l"

CASES = [
    *each(
        "\n".join(
            f"V.Rotate({d}, {i})"
            for d in ("0", "30", "-30", "90", "180", "270", "360", "45.5", "400")
            for i in ("Inter.NEAREST", "Inter.BILINEAR", "Inter.CUBIC", "Inter.AREA")
        ),
        "rgb even flat picture",
    ),
    *each(
        """
        V.Rotate(30, Inter.BILINEAR, True)
        V.Rotate(90, expand=True)
        V.Rotate(33, Inter.BILINEAR, False, (3, 4))
        V.Rotate(33, Inter.NEAREST, False, (0.5, 20.0), 9)
        V.Rotate(33, Inter.BILINEAR, True, None, (7, 8, 9))
        V.Rotate(33, Inter.BILINEAR, True, (3, 4), (7, 8, 9))
        V.Rotate(20, Inter.PILCUBIC)
        V.Rotate(20, Inter.ANTIALIAS)
        V.RandomRotation((30, 30))
        V.RandomRotation((30, 30), Inter.BILINEAR, True)
        V.RandomRotation((30, 30), Inter.CUBIC, False, (3, 4), (7, 8, 9))
        V.RandomRotation((90, 90), Inter.ANTIALIAS)
        V.RandomRotation((20, 20), Inter.AREA)
        V.RandomRotation(0)
        """,
        f"{_IN} one two five",
    ),
    *each(
        "\n".join(
            f"V.Affine({a}, {i})"
            for a in (
                "0, (0, 0), 1, 0",
                "15, (0, 0), 1, 0",
                "0, (0.2, -0.1), 1, 0",
                "0, (0, 0), 1.5, 0",
                "0, (0, 0), 0.6, (10, 5)",
                "-40, (0.1, 0.2), 1.1, (10, 15)",
            )
            for i in ("Inter.NEAREST", "Inter.BILINEAR", "Inter.CUBIC")
        ),
        _IN,
    ),
    *each(
        "V.Affine(15, (0.1, 0.1), 1.2, 5, Inter.BILINEAR, (7, 8, 9))\nV.Affine(15, [0.1, 0.1], 1.2, [5, 3], Inter.AREA, 7)\nV.Affine(15, [0.1, 0.1], 1.2, 3, Inter.PILCUBIC, 7)",
        _IN,
    ),
    *each(
        """
        V.RandomAffine((20, 20))
        V.RandomAffine((20, 20), resample=Inter.BILINEAR, fill_value=(7, 8, 9))
        V.RandomAffine((0, 0), (0.2, 0.2, 0.1, 0.1))
        V.RandomAffine((10, 10), None, (1.3, 1.3), (5, 5, 6, 6), Inter.CUBIC)
        V.RandomAffine((10, 10), None, (1.3, 1.3), (5, 5), Inter.BILINEAR)
        """,
        "rgb flat grey picture pil",
    ),
    *each(
        "\n".join(
            f"V.Perspective([(0, 0), (16, 0), (16, 12), (0, 12)], [(2, 1), (14, 3), (15, 11), (1, 10)], {i})"
            for i in (
                "Inter.BILINEAR",
                "Inter.NEAREST",
                "Inter.CUBIC",
                "Inter.AREA",
                "Inter.PILCUBIC",
                "Inter.ANTIALIAS",
            )
        ),
        _IN,
    ),
    *each("V.RandomPerspective(0.5, 0.0)\nV.RandomPerspective(0.0, 1.0)", "pil rgb"),
    *each(
        """
        V.Erase(0, 0, 3, 4)
        V.Erase(2, 3, 4, 5, 9)
        V.Erase(2, 3, 4, 5, (1, 2, 3))
        V.Erase(2, 3, 4, 5, 99.5)
        V.Erase(10, 10, 40, 50, 3)
        V.Erase(40, 10, 4, 5, 3)
        V.Erase(1, 1, 2, 2, 7, True)
        """,
        "rgb grey flat rgba float32 int32 batch pil",
    ),
    *each("V.RandomErasing(0.0)", "chw chw32 rgb pil"),
    *each("V.CutOut(40)\nV.CutOut(40, 2, False)", "rgb chw grey flat float32 rgba"),
]
