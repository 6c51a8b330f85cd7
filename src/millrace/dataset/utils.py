"""Helpers around data, under MindSpore's names: ``millrace.dataset.utils``."""

from __future__ import annotations

from millrace.data.formats.line_reader import LineReader
from millrace.data.kernels.vision.draw_boxes import imshow_det_bbox

__all__ = ["LineReader", "imshow_det_bbox"]
