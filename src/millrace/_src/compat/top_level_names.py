"""The few names of ``mindspore`` itself that data scripts use and Millrace has no module for."""

from __future__ import annotations

import millrace.common.dtype as dtype
from millrace._src.core.random.seeds import get_seed, set_seed

from .as_mindspore.module_map import VERSION as __version__
from .log import get_level, get_log_config

__all__ = ["__version__", "dtype", "get_level", "get_log_config", "get_seed", "set_seed"]
