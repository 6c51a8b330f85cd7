"""Debug hooks for ``config.set_debug_mode``."""

from millrace._src.core.hooks import DebugHook, PrintDataHook, PrintMetaDataHook

__all__ = ["DebugHook", "PrintDataHook", "PrintMetaDataHook"]
