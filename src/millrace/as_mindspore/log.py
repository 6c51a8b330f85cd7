"""``mindspore.log``: the module-level calls, over Python's logging.

Levels come from ``GLOG_v`` as everywhere in Millrace. Without it a script's warnings and errors are shown.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from millrace.core.log import LEVELS, get_logger

__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "warning"]

_log = get_logger("millrace.script")

_VARIABLES = {
    "level": "GLOG_v",
    "console": "GLOG_logtostderr",
    "filepath": "GLOG_log_dir",
    "maxBytes": "logger_maxBytes",
    "backupCount": "logger_backupCount",
    "stderr_level": "GLOG_stderrthreshold",
}


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 0."""
    _write(logging.DEBUG, msg, args, kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 1."""
    _write(logging.INFO, msg, args, kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 2."""
    _write(logging.WARNING, msg, args, kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 3."""
    _write(logging.ERROR, msg, args, kwargs)


def critical(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 4."""
    _write(logging.CRITICAL, msg, args, kwargs)


def _write(level: int, msg: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _log.log(level, msg, *args, stacklevel=kwargs.pop("stacklevel", 1) + 2, **kwargs)


def get_level() -> str:
    """The level in force, in MindSpore's numbers: "0" debug, "1" info, "2" warning, "3" error, "4" critical."""
    level = _log.getEffectiveLevel()
    return next((number for number, value in LEVELS.items() if value >= level), "4")


def get_log_config() -> dict[str, str]:
    """What the environment says about logging."""
    found = {key: os.environ.get(name, "").strip() for key, name in _VARIABLES.items()}
    return {key: value for key, value in found.items() if value}


def _get_logger() -> logging.Logger:
    return _log
