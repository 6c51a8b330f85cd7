"""``mindspore.log``'s calls, and beyond them levels and lines of JSON that a script asks for while it runs."""

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
