"""A net whose kernels are most of the time."""

from __future__ import annotations

from benchmarks.training import METRICS, NOTE, PAIRS, WHY, bars, variants

TITLE = "Training: ResNet-18"
QUESTION = "whole steps of ResNet-18 for 32 x 32 pictures, batch 32"
BARS = bars(graph=1.5)
PAIRED = True
VARIANTS = variants("resnet18")

__all__ = ["BARS", "METRICS", "NOTE", "PAIRS", "VARIANTS", "WHY"]
