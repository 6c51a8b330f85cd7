"""What registering a hook gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

__all__ = ["HookHandle", "add_hook"]

_keys = itertools.count()


class HookHandle:
    """What registering a hook gives; ``remove`` takes the hook away."""

    def __init__(self, table: dict[int, Callable[..., Any]], key: int) -> None:
        self._table, self._key = table, key

    def remove(self) -> None:
        """Take the hook away; a second time changes nothing."""
        self._table.pop(self._key, None)


def add_hook(table: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> HookHandle:
    """Keep a hook in a table."""
    key = next(_keys)
    table[key] = hook
    return HookHandle(table, key)
