"""The few names of ``mindspore`` itself that data scripts use and Millrace has no module for."""

from __future__ import annotations

import millrace.common.dtype as dtype
from millrace.core.seeds import get_seed, set_seed

from .log import get_level, get_log_config
from .names import VERSION as __version__

__all__ = ["__version__", "dtype", "get_level", "get_log_config", "get_seed", "set_seed"]
