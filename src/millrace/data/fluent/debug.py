"""Debug hooks. They live in :mod:`millrace.core.hooks`, where the settings and the engine can see them."""

from millrace.core.hooks import DebugHook, PrintDataHook, PrintMetaDataHook

__all__ = ["DebugHook", "PrintDataHook", "PrintMetaDataHook"]
