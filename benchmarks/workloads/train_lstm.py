"""A net whose steps wait for each other."""

from __future__ import annotations

from benchmarks.training import METRICS, NOTE, PAIRS, WHY, bars, variants

TITLE = "Training: an LSTM"
QUESTION = "whole steps of an LSTM of 128 over 32 steps of 64 features, batch 16"
BARS = bars(graph=1.0)
PAIRED = True
VARIANTS = variants("lstm")

__all__ = ["BARS", "METRICS", "NOTE", "PAIRS", "VARIANTS", "WHY"]
