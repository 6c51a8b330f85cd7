"""A served BERT: requests per second, and how long they take."""

from __future__ import annotations

from benchmarks.serving import BARS, METRICS, NOTE, ratio, variants

TITLE = "A served BERT"
QUESTION = "a small BERT behind HTTP, 64 words to a request, two cores for the server and who asks"
FILES = ("millrace",)
FRESH = True
PAIRED = True
RATIO = ratio
VARIANTS = variants("bert")

__all__ = ["BARS", "METRICS", "NOTE", "VARIANTS"]
