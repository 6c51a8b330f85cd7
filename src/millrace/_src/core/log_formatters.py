"""Log formatters: lines in MindSpore's format, or lines of JSON."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import datetime
from typing import Any

from .io.terminal_escape import escape_controls, escape_json

__all__ = ["FORMATS", "JsonFormatter", "TextFormatter", "event_of", "module_of", "rank"]

PACKAGE = "millrace"
LAYOUT = "\n\t"
_STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "event",
    "taskName",
}


def rank() -> str:
    """The rank of this process as set by launchers; "0" without one."""
    names = ("RANK_ID", "OMPI_COMM_WORLD_RANK", "MS_NODE_ID", "RANK")
    return next((os.environ[name] for name in names if os.environ.get(name, "").isdigit()), "0")


def module_of(name: str) -> str:
    """A logger's name as users write it.

    >>> module_of("millrace._src.data.engine"), module_of("millrace")
    ('data.engine', 'millrace')
    """
    return name.removeprefix(f"{PACKAGE}.").removeprefix("_src.")


def event_of(record: logging.LogRecord) -> str:
    """The event of a record: ``extra={"event": ...}`` of the call, or the name of the calling function."""
    return str(vars(record).get("event") or record.funcName)


def _source_path(record: logging.LogRecord) -> str:
    """The path of the file relative to the folder of the package."""
    _, separator, inside = record.pathname.rpartition(f"{os.sep}{PACKAGE}{os.sep}")
    return f"{PACKAGE}{os.sep}{inside}" if separator else record.pathname


class TextFormatter(logging.Formatter):
    """``[INFO] data.engine(12:34,MainProcess):2026-11-16-09:30:00.123.456 [millrace/data/x.py:7] message``."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Seconds, milliseconds and microseconds, separated by points."""
        millionths = int(record.created * 1_000_000) % 1_000_000
        stamp = time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime(record.created))
        return f"{stamp}.{millionths // 1000:03}.{millionths % 1000:03}"

    def format(self, record: logging.LogRecord) -> str:
        who = f"{module_of(record.name)}({record.process}:{record.thread},{record.processName})"
        where = f"{self.formatTime(record)} [{_source_path(record)}:{record.lineno}]"
        return f"[{record.levelname}] {who}:{where} {escape_controls(super().format(record), keep=LAYOUT)}"


class JsonFormatter(logging.Formatter):
    """One line of JSON for each record, with the values of ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="microseconds"),
            "level": record.levelname,
            "module": module_of(record.name),
            "event": event_of(record),
            "message": record.getMessage(),
            "process": record.process,
            "thread": record.threadName,
            "rank": int(rank()),
            "file": _source_path(record),
            "line": record.lineno,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES}
        return escape_json(json.dumps({**extra, **line}, default=str, ensure_ascii=False))


FORMATS: dict[str, type[logging.Formatter]] = {"text": TextFormatter, "json": JsonFormatter}
