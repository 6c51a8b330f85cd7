"""Logging: one logger per module, levels from MindSpore's environment variables.

``GLOG_v`` sets the level of everything (0 debug, 1 info, 2 warning, 3 error, 4 critical),
``MS_SUBMODULE_LOG_v={MD:1}`` or ``MILLRACE_LOG={engine:0,@lost:1}`` that of modules and, after @, of events;
``MILLRACE_LOG_FORMAT=json`` writes lines of JSON.
Nothing is configured unless one of them is set: a library leaves handlers to the application.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Mapping

from .log_settings import from_environment, install

__all__ = [
    "configure",
    "get_logger",
    "collect_warnings",
    "pop_collected_warnings",
    "reset_warn_once",
    "warn_once",
]

_warned_keys: set[str] = set()
_lock = threading.Lock()
# In a worker process, warnings are collected here for the parent, where the user can see and filter them.
_collected: list[tuple[str, str]] | None = None


def get_logger(module: str) -> logging.Logger:
    """The logger of a module (pass ``__name__``)."""
    return logging.getLogger(module.replace("._src.", ".", 1))


def configure(environ: Mapping[str, str] | None = None) -> None:
    """Set levels from the environment; called once on import of ``millrace``."""
    settings, problems = from_environment(os.environ if environ is None else environ)
    install(settings)
    for problem in problems:
        get_logger("millrace.core.log").warning("%s (it is ignored)", problem)


def reset_warn_once() -> None:
    """Forget which warnings were issued once, so that each is issued again."""
    with _lock:
        _warned_keys.clear()


def warn_once(key: str, message: str, stacklevel: int = 3) -> None:
    """Issue a UserWarning the first time this process uses the key."""
    with _lock:
        if key in _warned_keys:
            return
        _warned_keys.add(key)
        if _collected is not None:
            _collected.append((key, message))
            return
    warnings.warn(message, UserWarning, stacklevel=stacklevel)


def collect_warnings() -> None:
    """Collect warnings for the parent process from now on; a worker calls this once."""
    global _collected
    _collected = []


def pop_collected_warnings() -> list[tuple[str, str]]:
    """Return the warnings collected since the last call; always empty outside workers."""
    if not _collected:
        return []
    with _lock:
        taken = list(_collected)
        _collected.clear()
    return taken
