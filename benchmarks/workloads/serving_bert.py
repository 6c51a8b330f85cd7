"""A served BERT: requests per second, and how long they take."""

from __future__ import annotations

from benchmarks.serving import BARS, FILES, FRESH, METRICS, NOTE, PAIRED, RATIO, variants

TITLE = "A served BERT"
QUESTION = "a small BERT behind HTTP, 64 words to a request, two cores for the server and who asks"
VARIANTS = variants("bert")

__all__ = ["BARS", "FILES", "FRESH", "METRICS", "NOTE", "PAIRED", "RATIO", "VARIANTS"]
