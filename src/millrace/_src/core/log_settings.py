"""Log settings: read from MindSpore's environment variables, changed by functions, passed on to workers."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .log_formatters import FORMATS, PACKAGE, event_of, rank
from .modules_0_2_0 import new_names

__all__ = [
    "LEVELS",
    "LogSettings",
    "export_settings",
    "current",
    "apply_settings",
    "from_environment",
    "install",
    "resolve_module_names",
]

LEVELS = {
    "0": logging.DEBUG,
    "1": logging.INFO,
    "2": logging.WARNING,
    "3": logging.ERROR,
    "4": logging.CRITICAL,
}

# MindSpore's submodules, and the corresponding packages.
_SUBMODULES = {
    "MD": ("data",),
    "ME": ("runtime.nn", "runtime.optim", "train", "runtime.tensor", "script"),
    "ANALYZER": ("runtime.graph",),
    "COMMON": ("core",),
    "DEBUG": ("train.profiling",),
    "DEVICE": ("runtime.tensor", "transfer"),
    "GRAPH_KERNEL": ("runtime.graph",),
    "HCCL_ADPT": ("parallel", "runtime.distributed"),
    "IR": ("runtime.graph",),
    "KERNEL": ("runtime.ops",),
    "OPTIMIZER": ("runtime.graph",),
    "PARALLEL": ("parallel", "runtime.distributed"),
    "PARSER": ("runtime.graph",),
    "PIPELINE": ("runtime.graph",),
    "PRE_ACT": ("runtime.graph",),
    "PS": ("parallel", "runtime.distributed"),
    "PYNATIVE": ("runtime.ops", "runtime.autograd"),
    "RUNTIME_FRAMEWORK": ("runtime.tensor", "transfer"),
    "SESSION": ("runtime.graph",),
    "UTILS": ("core",),
    "VM": ("runtime.graph",),
}
# Packages whose name may be omitted before that of a module.
_IMPLIED = ("data", "runtime")
_HERE = Path(__file__).resolve().parents[1]


@dataclasses.dataclass(frozen=True)
class LogSettings:
    """Levels are MindSpore's digits. With the defaults, Millrace installs no handler; the application decides."""

    level: str | None = None
    modules: Mapping[str, str] = dataclasses.field(default_factory=dict)
    events: Mapping[str, str] = dataclasses.field(default_factory=dict)
    format: str | None = None
    folder: str | None = None  # files instead of the console
    max_bytes: int = 50 << 20
    backups: int = 30
    console_level: str = "2"  # the level of the console while files are written

    @property
    def active(self) -> bool:
        return self != LogSettings()

    def least(self) -> int:
        """The lowest level of any event, which loggers must not filter."""
        return min((LEVELS[text] for text in self.events.values()), default=logging.CRITICAL)

    def passes(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged: decided by its event, else its module, else the global level."""
        if not self.events:
            return True  # the levels of the loggers have decided
        text = self.events.get(event_of(record))
        if text is None:
            inner = record.name.removeprefix(PACKAGE).removeprefix(".").split(".")
            names = (".".join(inner[:end]) for end in range(len(inner), -1, -1))
            text = next((self.modules[name] for name in names if name in self.modules), self.level or "2")
        return record.levelno >= LEVELS[text]


def resolve_module_names(name: str) -> tuple[str, ...]:
    """The modules that a name stands for: a submodule of MindSpore, or a module with ``data.`` or ``runtime.`` omitted.

    Names of modules of version 0.2.0 stand for the modules that replaced them.

    >>> (
    ...     resolve_module_names("MD"),
    ...     resolve_module_names("engine"),
    ...     resolve_module_names("tensor.storage"),
    ...     resolve_module_names("tensor.context"),
    ...     resolve_module_names("millrace"),
    ... )
    (('data',), ('data.engine',), ('runtime.tensor.storage',), ('runtime.tensor.backend.context',), ('',))
    """
    if name in _SUBMODULES:
        return _SUBMODULES[name]
    inner = name.removeprefix(PACKAGE).removeprefix(".").removeprefix("_src").removeprefix(".")
    candidates = (inner, *(f"{package}.{inner}" for package in _IMPLIED))
    for candidate in candidates:
        if _is_module(candidate):
            return (candidate,)
    old = new_names()
    for candidate in candidates:
        moved = old.get(f"{PACKAGE}.{candidate}", "")
        if moved.startswith(f"{PACKAGE}._src."):
            return (moved.removeprefix(f"{PACKAGE}._src."),)
    return (inner,)


def _is_module(name: str) -> bool:
    path = _HERE.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def from_environment(env: Mapping[str, str]) -> tuple[LogSettings, list[str]]:
    """Read the settings from environment variables; also returns a message for each invalid value."""
    problems: list[str] = []

    def level(name: str) -> str | None:
        text = env.get(name, "").strip()
        if text and text not in LEVELS:
            problems.append(
                f"{name}={text}: a level is 0 (debug), 1 (info), 2 (warning), 3 (error) or 4 (critical)"
            )
        return text if text in LEVELS else None

    def count(name: str, default: int) -> int:
        text = env.get(name, "").strip()
        if text and not text.isdigit():
            problems.append(f"{name}={text}: it must be a positive integer")
        return int(text) if text.isdigit() else default

    modules: dict[str, str] = {}
    events: dict[str, str] = {}
    for name in ("MS_SUBMODULE_LOG_v", "MILLRACE_LOG"):
        _read_table(name, env.get(name, ""), modules, events, problems)
    format = env.get("MILLRACE_LOG_FORMAT", "").strip() or None
    if format is not None and format not in FORMATS:
        problems.append(f"MILLRACE_LOG_FORMAT={format}: known are {' and '.join(FORMATS)}")
        format = None
    plain = LogSettings()
    return LogSettings(
        level("GLOG_v"),
        modules,
        events,
        format,
        _folder(env, problems),
        count("logger_maxBytes", plain.max_bytes),
        count("logger_backupCount", plain.backups),
        level("GLOG_stderrthreshold") or plain.console_level,
    ), problems


def _read_table(
    name: str, text: str, modules: dict[str, str], events: dict[str, str], problems: list[str]
) -> None:
    """Parse ``{MD:1,graph:0,@lost:0}``: levels of modules, and of events after @."""
    for part in filter(None, (part.strip() for part in text.strip().strip("{}").split(","))):
        key, level = (field.strip() for field in (*part.split(":", 1), "")[:2])
        if not key or level not in LEVELS:
            problems.append(f"{name}: {part!r} is not NAME:LEVEL with a level from 0 to 4")
        elif key.startswith("@"):
            events[key[1:]] = level
        else:
            modules |= dict.fromkeys(resolve_module_names(key), level)


def _folder(env: Mapping[str, str], problems: list[str]) -> str | None:
    """The folder for log files: as in MindSpore, files are written if the console is disabled and a folder is set."""
    console, folder = env.get("GLOG_logtostderr", "").strip(), env.get("GLOG_log_dir", "").strip()
    if console not in ("", "0", "1"):
        problems.append(f"GLOG_logtostderr={console}: it must be 0 or 1")
    if console != "0":
        return None
    if not folder:
        problems.append(
            "GLOG_logtostderr=0 needs GLOG_log_dir, the folder for the files; the console is used"
        )
    return folder or None


class _Console(logging.Handler):
    """Writes to the current standard error: tests and workers replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


_lock = threading.RLock()
_current = LogSettings()
_handlers: list[logging.Handler] = []
_configured_loggers: set[str] = set()


def current() -> LogSettings:
    """The current settings."""
    return _current


def install(settings: LogSettings) -> None:
    """Apply settings, and remove the previous ones."""
    global _current
    with _lock:
        root = logging.getLogger(PACKAGE)
        while _handlers:
            handler = _handlers.pop()
            root.removeHandler(handler)
            handler.close()
        while _configured_loggers:
            logging.getLogger(_configured_loggers.pop()).setLevel(logging.NOTSET)
        root.propagate, _current = True, settings
        if not settings.active:
            return
        # The handlers of the application would write every line a second time.
        root.propagate = False
        least = settings.least()
        levels = {"": settings.level or "2", **settings.modules}
        for name, text in levels.items():
            full = f"{PACKAGE}.{name}" if name else PACKAGE
            logging.getLogger(full).setLevel(min(LEVELS[text], least))
            _configured_loggers.add(full)
        for handler in _create_handlers(settings):
            handler.setFormatter(FORMATS[settings.format or "text"]())
            handler.addFilter(settings.passes)
            root.addHandler(handler)
            _handlers.append(handler)


def _create_handlers(settings: LogSettings) -> list[logging.Handler]:
    console = _Console()
    if settings.folder is None:
        return [console]
    from logging.handlers import RotatingFileHandler  # imports many modules that nothing else needs

    try:
        # One file per process: two processes that rotate the same file would lose lines.
        folder = Path(settings.folder).absolute() / f"rank_{rank()}" / "logs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{PACKAGE}.log.{os.getpid()}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        print(f"millrace: no log files in {settings.folder}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return [console]
    file = RotatingFileHandler(
        path, maxBytes=settings.max_bytes, backupCount=settings.backups, encoding="utf-8", delay=True
    )
    console.setLevel(LEVELS[settings.console_level])
    return [file, console]


def export_settings() -> dict[str, Any]:
    """The current settings, for :func:`apply_settings` in another process."""
    return dataclasses.asdict(_current)


def apply_settings(settings: Mapping[str, Any]) -> None:
    """Apply the settings exported by another process."""
    wanted = LogSettings(**settings)
    if wanted != _current or wanted.folder is not None:
        install(wanted)


def _after_fork() -> None:
    if _current.folder is not None:
        install(_current)  # the child needs a separate file


os.register_at_fork(after_in_child=_after_fork)
