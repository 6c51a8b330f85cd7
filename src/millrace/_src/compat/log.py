"""``mindspore.log``: the calls of ``millrace.log`` that MindSpore has."""

from __future__ import annotations

import logging

from millrace._src.core.log_functions import (
    _log,
    critical,
    debug,
    error,
    get_level,
    get_log_config,
    info,
    parse_vlog_level,
    vlog_print,
    warning,
)

__all__ = [
    "critical",
    "debug",
    "error",
    "get_level",
    "get_log_config",
    "info",
    "parse_vlog_level",
    "vlog_print",
    "warning",
]


def _get_logger() -> logging.Logger:
    return _log
