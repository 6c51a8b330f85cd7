"""A small net of convolutions."""

from __future__ import annotations

from benchmarks.training import METRICS, NOTE, PAIRS, WHY, bars, variants

TITLE = "Training: LeNet-5"
QUESTION = "whole steps of LeNet-5, batch 32"
BARS = bars(graph=1.25)
PAIRED = True
VARIANTS = variants("lenet")

__all__ = ["BARS", "METRICS", "NOTE", "PAIRS", "VARIANTS", "WHY"]
