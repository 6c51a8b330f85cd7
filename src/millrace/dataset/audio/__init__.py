"""Audio transforms, under MindSpore's names."""

from __future__ import annotations

from millrace.dataset.audio import transforms, utils
from millrace.dataset.audio.transforms import *  # noqa: F403 (both modules say what they hold)
from millrace.dataset.audio.utils import *  # noqa: F403

__all__ = ["transforms", "utils"]
__all__ += transforms.__all__
__all__ += utils.__all__
