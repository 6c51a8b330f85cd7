"""Normalised planes are the same however the image lies in memory."""

from __future__ import annotations

import numpy as np
import pytest

from millrace._src.data.kernels.vision import normalize as layout

IMAGE = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
MEAN, STD = (1.0, 120.5, 3.0), (4.0, 57.3, 60.0)
LYING = {
    "whole": IMAGE,
    "a part": IMAGE[3:20, 4:30],
    "every other row": IMAGE[::2],
    "every other column": IMAGE[:, ::2],
    "upside down": IMAGE[::-1],
    "mirrored": IMAGE[:, ::-1],
    "channels backwards": IMAGE[:, :, ::-1],
    "on its side": IMAGE.transpose(1, 0, 2),
    "columns first": np.asfortranarray(IMAGE),
    "one row": IMAGE[:1],
    "one column": IMAGE[:, :1],
    "one pixel": IMAGE[5:6, 7:8],
    "one row again and again": np.broadcast_to(IMAGE[:1], (7, 50, 3)),
    "nothing": IMAGE[:0],
}


@pytest.mark.parametrize("name", LYING)
def test_same_numbers(name):
    x = LYING[name]
    wanted = (x.astype(np.float32) - np.array(MEAN, np.float32)) / np.array(STD, np.float32)
    out = np.full((3, *x.shape[:2]), np.nan, np.float32)
    layout.normalize_to_chw(x, MEAN, STD, out)
    assert (out == wanted.transpose(2, 0, 1)).all()
    assert (layout.normalize(x, MEAN, STD, True) == wanted).all()


def test_results_are_not_overwritten_by_the_next():
    first = layout.normalize(IMAGE, MEAN, STD, True)
    kept = first.copy()
    layout.normalize(255 - IMAGE, MEAN, STD, True)
    assert (first == kept).all()
