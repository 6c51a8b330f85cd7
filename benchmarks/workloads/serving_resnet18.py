"""A served ResNet-18: requests per second, and how long they take."""

from __future__ import annotations

from benchmarks.serving import BARS, METRICS, NOTE, ratio, variants

TITLE = "A served ResNet-18"
QUESTION = "ResNet-18 for 32 x 32 pictures behind HTTP, one picture to a request, two cores for the server and who asks"
FILES = ("millrace",)
FRESH = True
PAIRED = True
RATIO = ratio
VARIANTS = variants("resnet18")

__all__ = ["BARS", "METRICS", "NOTE", "VARIANTS"]
