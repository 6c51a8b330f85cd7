"""The profiler, under MindSpore's path: ``from millrace import profiler``."""

from __future__ import annotations

from millrace._src.core.lazy import lazy as _lazy

_PLACES = {
    "millrace._src.train.profiling.markers": ("DynamicProfilerMonitor", "EnvProfiler", "mstx"),
    "millrace._src.train.profiling.options": (
        "AicoreMetrics",
        "ExportType",
        "HostSystem",
        "ProfilerActivity",
        "ProfilerLevel",
        "_ExperimentalConfig",
    ),
    "millrace._src.train.profiling.schedule": ("schedule",),
    "millrace._src.train.profiling.profiler": ("Profiler", "profile", "tensorboard_trace_handler"),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = [name for name in _LAZY if not name.startswith("_")]

__getattr__ = _lazy(__name__, _LAZY)
