"""Logging: one logger per module, levels from the environment in MindSpore's manner.

``GLOG_v`` sets the level of everything (0 debug, 1 info, 2 warning, 3 error, 4 critical), and
``MS_SUBMODULE_LOG_v={MD:1}`` or ``MILLRACE_LOG={engine:0,sink:1}`` that of one module. Nothing is
configured unless one of them is set: a library stays quiet and leaves handlers to the application.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings

__all__ = ["LEVELS", "configure", "get_logger", "keep_warnings", "kept_warnings", "say_again", "warn_once"]

LEVELS = {
    "0": logging.DEBUG,
    "1": logging.INFO,
    "2": logging.WARNING,
    "3": logging.ERROR,
    "4": logging.CRITICAL,
}

# MindSpore's name for its data pipeline is MD; ours are the names of the packages.
_SUBMODULES = {"MD": ""}

_said: set[str] = set()
_lock = threading.Lock()
# In a worker process, warnings wait here for the parent, which is where the user can see and filter them.
_kept: list[tuple[str, str]] | None = None


def get_logger(module: str) -> logging.Logger:
    """The logger of a module (pass ``__name__``)."""
    return logging.getLogger(module)


def _modules(text: str) -> dict[str, str]:
    """``{MD:1,engine:0}`` as a dict; what cannot be read is left out."""
    pairs = (part.split(":", 1) for part in text.strip().strip("{}").split(",") if ":" in part)
    return {name.strip(): level.strip() for name, level in pairs}


def configure(environ: dict[str, str] | None = None) -> None:
    """Set levels from the environment; called once on import of ``millrace``."""
    env = os.environ if environ is None else environ
    level = LEVELS.get(env.get("GLOG_v", "").strip())
    wanted = _modules(env.get("MS_SUBMODULE_LOG_v", "")) | _modules(env.get("MILLRACE_LOG", ""))
    if level is None and not wanted:
        return
    root = logging.getLogger("millrace")
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[%(levelname)s] %(name)s(%(process)d): %(message)s"))
        root.addHandler(handler)
    if level is not None:
        root.setLevel(level)
    for name, text in wanted.items():
        module = _SUBMODULES.get(name, name)
        if text in LEVELS:
            logging.getLogger(f"millrace.{module}" if module else "millrace").setLevel(LEVELS[text])


def say_again() -> None:
    """Forget what was said once: the next warning of every kind is given again."""
    with _lock:
        _said.clear()


def warn_once(key: str, message: str, stacklevel: int = 3) -> None:
    """Issue a UserWarning the first time this process meets the key."""
    with _lock:
        if key in _said:
            return
        _said.add(key)
        if _kept is not None:
            _kept.append((key, message))
            return
    warnings.warn(message, UserWarning, stacklevel=stacklevel)


def keep_warnings() -> None:
    """From now on keep warnings for the parent process; a worker calls this once."""
    global _kept
    _kept = []


def kept_warnings() -> list[tuple[str, str]]:
    """What was kept since the last call; always empty outside workers."""
    if not _kept:
        return []
    with _lock:
        taken = list(_kept)
        _kept.clear()
    return taken
