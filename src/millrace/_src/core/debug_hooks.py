"""Debug hooks, re-exported from :mod:`millrace._src.core.hooks`."""

from millrace._src.core.hooks import DebugHook, PrintDataHook, PrintMetaDataHook

__all__ = ["DebugHook", "PrintDataHook", "PrintMetaDataHook"]
