"""The functions of ``millrace.log``: log lines of scripts, and levels set while a script runs."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import threading
from typing import Any

from millrace._src.core.public import public

from .errors import ArgumentValueError
from .log import get_logger
from .log_formatters import FORMATS, rank
from .log_settings import LEVELS, current, install, resolve_module_names

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

_log = get_logger("millrace.script")


@public("log")
def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 0. The arguments are those of Python's ``logging``.

    >>> from millrace import log
    >>> log.debug("epoch %d", 3, extra={"event": "epoch"})
    """
    _write(logging.DEBUG, msg, args, kwargs)


@public("log")
def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 1.

    >>> from millrace import log
    >>> log.info("the loss is %.2f", 0.25)
    """
    _write(logging.INFO, msg, args, kwargs)


@public("log")
def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 2."""
    _write(logging.WARNING, msg, args, kwargs)


@public("log")
def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 3."""
    _write(logging.ERROR, msg, args, kwargs)


@public("log")
def critical(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level 4."""
    _write(logging.CRITICAL, msg, args, kwargs)


def _write(level: int, msg: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _log.log(level, msg, *args, stacklevel=kwargs.pop("stacklevel", 1) + 2, **kwargs)


@public("millrace", "log")
def get_level() -> str:
    """The current level, as MindSpore's number: "0" debug, "1" info, "2" warning, "3" error, "4" critical.

    >>> import millrace as ms
    >>> ms.get_level()
    '2'
    """
    settings = current()
    if settings.active:
        return settings.modules.get("script") or settings.level or "2"
    level = _log.getEffectiveLevel()
    return next((number for number, value in LEVELS.items() if value >= level), "4")


@public("millrace", "log")
def get_log_config() -> dict[str, Any]:
    """The current settings, by MindSpore's variable names; those of log files only if files are written.

    >>> import millrace as ms
    >>> ms.get_log_config()
    {'GLOG_v': '2', 'GLOG_logtostderr': '1'}
    """
    settings = current()
    if settings.folder is None:
        return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
    return {
        "GLOG_v": get_level(),
        "GLOG_logtostderr": "0",
        "GLOG_log_dir": os.path.join(os.path.abspath(settings.folder), f"rank_{rank()}", "logs"),
        "logger_maxBytes": settings.max_bytes,
        "logger_backupCount": settings.backups,
        "GLOG_stderrthreshold": settings.console_level,
    }


@public("log")
def set_level(level: int | str | None, module: str | None = None, event: str | None = None) -> None:
    """Set the global level, or that of a module or an event; None removes a setting.

    An extension: in MindSpore, levels come only from the environment. ``module`` is a name such as ``"engine"``, or a
    submodule of MindSpore (``"MD"``); ``event`` is the field ``event`` of JSON lines. Workers that start later use the
    same levels.

    >>> from millrace import log
    >>> log.set_level(3)
    >>> log.set_level("info", module="MD")
    >>> log.set_level(0, event="worker_ends")
    >>> log.get_level()
    '3'
    >>> for part in ({}, {"module": "MD"}, {"event": "worker_ends"}):
    ...     log.set_level(None, **part)
    """
    if module is not None and event is not None:
        raise ArgumentValueError(
            "set_level: expected module or event, got both. An event has one level in all modules."
        )
    text, settings = _level_digit(level), current()
    if module is not None:
        table = _update_levels(settings.modules, resolve_module_names(module), text)
        install(dataclasses.replace(settings, modules=table))
    elif event is not None:
        install(dataclasses.replace(settings, events=_update_levels(settings.events, (event,), text)))
    else:
        install(dataclasses.replace(settings, level=text))


def _update_levels(table: Any, names: tuple[str, ...], text: str | None) -> dict[str, str]:
    kept = {name: value for name, value in table.items() if name not in names}
    return kept if text is None else {**kept, **dict.fromkeys(names, text)}


def _level_digit(level: int | str | None) -> str | None:
    if level is None:
        return None
    digits = {logging.getLevelName(value).lower(): digit for digit, value in LEVELS.items()}
    text = digits.get(str(level).lower(), str(level))
    if text not in LEVELS or isinstance(level, bool):
        raise ArgumentValueError(
            f"Incorrect log level {level!r}, desired log level: 4-CRITICAL, 3-ERROR, 2-WARNING, 1-INFO, 0-DEBUG."
        )
    return text


@public("log")
def set_format(format: str | None) -> None:
    """Write log lines as ``"text"`` or ``"json"``, one object per line; None removes the setting.

    >>> from millrace import log
    >>> log.set_format("json")
    >>> log.set_format(None)
    """
    if format is not None and format not in FORMATS:
        raise ArgumentValueError(f"set_format: got {format!r}, known are {' and '.join(FORMATS)}")
    install(dataclasses.replace(current(), format=format))


@public("log")
def parse_vlog_level(s: str | None) -> tuple[bool, tuple[float, ...]]:
    """Whether a value of ``VLOG_v`` is valid, and its first and last level.

    >>> parse_vlog_level("7"), parse_vlog_level("(3,)"), parse_vlog_level("(,5)"), parse_vlog_level("many")
    ((True, (7, 7)), (True, (3, inf)), (True, (1, 5)), (False, ()))
    """
    text = (s or "").strip()
    parentheses = text.startswith("("), text.endswith(")")
    bounds = [part.strip() for part in text[1:-1].split(",")] if all(parentheses) else [text, text]
    if any(parentheses) != all(parentheses) or len(bounds) != 2 or not text:
        return False, ()
    try:
        if not bounds[1]:
            return True, (int(bounds[0]), math.inf)
        return True, (int(bounds[0] or 1), int(bounds[1]))
    except ValueError:
        return False, ()


@public("log")
def vlog_print(level: int | str, module: str, file: str, line: int, message: Any) -> None:
    """Print a line if ``VLOG_v`` includes its level; each event has its own number here.

    >>> vlog_print(7, "ME", __file__, 1, "not enabled")
    """
    valid, levels = parse_vlog_level(os.environ.get("VLOG_v"))
    if valid and levels[0] <= int(level) <= levels[1]:
        record = logging.makeLogRecord({})
        stamp = _STAMP.formatTime(record)
        who = f"{module}({os.getpid()},{threading.get_ident()},python)"
        print(f"[V{level}] {who}:{stamp} [{file}:{line}] {message}", flush=True)  # noqa: T201


_STAMP = FORMATS["text"]()
