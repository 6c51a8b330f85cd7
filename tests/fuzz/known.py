"""Targets that are known to fail, with the reason. Empty it: remove a line when its target is repaired."""

from __future__ import annotations

KNOWN: dict[str, str] = {}
