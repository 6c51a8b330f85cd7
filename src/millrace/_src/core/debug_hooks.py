"""Debug hooks. They live in :mod:`millrace._src.core.hooks`, where the settings and the engine can see them."""

from millrace._src.core.hooks import DebugHook, PrintDataHook, PrintMetaDataHook

__all__ = ["DebugHook", "PrintDataHook", "PrintMetaDataHook"]
