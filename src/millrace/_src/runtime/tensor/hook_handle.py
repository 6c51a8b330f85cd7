"""``HookHandle``: removes a registered hook."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

__all__ = ["HookHandle", "add_hook"]

_keys = itertools.count()


class HookHandle:
    """Handle of a registered hook; ``remove`` removes the hook."""

    def __init__(self, table: dict[int, Callable[..., Any]], key: int) -> None:
        self._table, self._key = table, key

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        self._table.pop(self._key, None)


def add_hook(table: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> HookHandle:
    """Add a hook to a table and return its handle."""
    key = next(_keys)
    table[key] = hook
    return HookHandle(table, key)
