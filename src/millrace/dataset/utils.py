"""Data helpers under MindSpore's names."""

from __future__ import annotations

from millrace._src.data.formats.text.line_reader import LineReader
from millrace._src.data.kernels.vision.draw_bounding_boxes import imshow_det_bbox

__all__ = ["LineReader", "imshow_det_bbox"]
