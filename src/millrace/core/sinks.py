"""The door between the wings: who takes a dataset's batches to a device, and which channels to devices are open.

The data wing imports no PyTorch and knows no sink; the package enters a loader, which runs when it is first needed. A
step that knows only the name of a channel (``ops.GetNext``) finds it here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .errors import SinkError

__all__ = ["find", "opener", "register", "when_asked"]

_loaders: list[Callable[[], Any]] = []
_open: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def when_asked(load: Callable[[], Any]) -> None:
    """Enter what loads the sink; it gives its module."""
    _loaders[:] = [load]


def opener() -> Any:
    """The sink, with ``device_queue`` and ``device_iterator``; an error names the extra where it is missing."""
    return _loaders[0]()


def register(name: str, channel: Any) -> None:
    """Make an open channel known under its name."""
    _open[name] = channel


def find(name: str) -> Any:
    """The channel of that name; an error lists those that are open."""
    channel = _open.get(name)
    if channel is None:
        known = ", ".join(sorted(_open)) or "none"
        raise SinkError(
            f"there is no channel {name!r}; open ones: {known}. dataset.device_que() makes one: keep what it gives, "
            "since a channel ends when nobody holds it"
        )
    return channel
