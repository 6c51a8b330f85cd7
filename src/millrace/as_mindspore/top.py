"""The few names of ``mindspore`` itself that data scripts use and Millrace has no module for."""

from __future__ import annotations

import millrace.common.dtype as dtype
from millrace.core import config

from .log import get_level, get_log_config
from .names import VERSION as __version__

__all__ = ["__version__", "dtype", "get_level", "get_log_config", "get_seed", "set_seed"]

_seed: int | None = None


def set_seed(seed: int) -> None:
    """Seed Python's and numpy's generators and everything random of the data pipeline, as MindSpore does."""
    global _seed
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError("The argument 'seed' must be type of int.")
    if seed < 0:
        raise ValueError("The argument 'seed' must be non-negative.")
    config.set_seed(seed)
    _seed = seed


def get_seed() -> int | None:
    """The seed given to :func:`set_seed`, or None."""
    return _seed
