# ruff: noqa: E501
from __future__ import annotations

from tests.parity.calls import each

CASES = [
    *each(
        """
        V.BoundingBoxAugment(V.HorizontalFlip(), 1.0)
        V.BoundingBoxAugment(V.RandomRotation((90, 90), expand=True), 1.0)
        V.BoundingBoxAugment(V.HorizontalFlip(), 0.0)
        """,
        "rgb,box grey,box rgb,boxes_out",
    ),
    *each(
        """
    V.RandomHorizontalFlipWithBBox(1.0)
    V.RandomHorizontalFlipWithBBox(0.0)
    V.RandomVerticalFlipWithBBox(1.0)
    V.RandomVerticalFlipWithBBox(0)
    V.ResizeWithBBox(7)
    V.ResizeWithBBox((20, 31))
    V.ResizeWithBBox((20, 31), Inter.NEAREST)
    V.RandomResizeWithBBox((13, 17))
    V.RandomCropWithBBox((13, 17))
    V.RandomCropWithBBox((17, 25), (4, 2))
    V.RandomCropWithBBox((17, 25), (4, 2, 4, 2), False, (1, 2, 3), Border.EDGE)
    V.RandomCropWithBBox((40, 50))
    V.RandomResizedCropWithBBox((20, 30), (1.0, 1.0), (17 / 13, 17 / 13))
    V.RandomResizedCropWithBBox((9, 9), (5.0, 5.0), (1.0, 1.0))
    """,
        "rgb,boxes rgb,boxes5 rgb,boxes_int rgb,boxes_out rgb,boxes_flat rgb,boxes3 rgb,boxes_minus grey,boxes float32,boxes",
    ),
]
