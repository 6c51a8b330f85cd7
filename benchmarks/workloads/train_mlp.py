"""What does a step cost whose layers are small: the engine, or the kernels?"""

from __future__ import annotations

from benchmarks.training import METRICS, NOTE, PAIRS, WHY, bars, variants

TITLE = "Training: an MLP"
QUESTION = "whole steps of 24 Dense layers of 64, batch 16"
BARS = bars(graph=1.2)
PAIRED = True
VARIANTS = variants("mlp")

__all__ = ["BARS", "METRICS", "NOTE", "PAIRS", "VARIANTS", "WHY"]
