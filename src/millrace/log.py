"""Logging with the functions of ``mindspore.log``, and levels and JSON lines that are set at run time."""

from millrace._src.core.log_functions import (
    critical,
    debug,
    error,
    get_level,
    get_log_config,
    info,
    parse_vlog_level,
    set_format,
    set_level,
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
    "set_format",
    "set_level",
    "vlog_print",
    "warning",
]
