"""A served ResNet-18: requests per second, and how long they take."""

from __future__ import annotations

from benchmarks.serving import BARS, FILES, FRESH, METRICS, NOTE, PAIRED, RATIO, variants

TITLE = "A served ResNet-18"
QUESTION = "ResNet-18 for 32 x 32 pictures behind HTTP, one picture to a request, two cores for the server and who asks"
VARIANTS = variants("resnet18")

__all__ = ["BARS", "FILES", "FRESH", "METRICS", "NOTE", "PAIRED", "RATIO", "VARIANTS"]
