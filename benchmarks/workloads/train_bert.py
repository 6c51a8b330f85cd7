"""A small transformer."""

from __future__ import annotations

from benchmarks.training import METRICS, NOTE, PAIRS, WHY, bars, variants

TITLE = "Training: a small BERT"
QUESTION = "whole steps of two layers of 128 with two heads, 64 words, batch 8"
BARS = bars(graph=1.0)
PAIRED = True
VARIANTS = variants("bert")

__all__ = ["BARS", "METRICS", "NOTE", "PAIRS", "VARIANTS", "WHY"]
