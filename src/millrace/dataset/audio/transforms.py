"""The transforms of millrace.dataset.audio."""

from __future__ import annotations

from millrace.data.transforms.audio.levels import Gain

__all__ = [
    "Gain",
]
