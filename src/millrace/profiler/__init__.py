"""The profiler, under MindSpore's path: ``from millrace import profiler``."""

from __future__ import annotations

from millrace.core.lazy import lazy as _lazy

_PLACES = {
    "millrace.train.profiling.marks": ("DynamicProfilerMonitor", "EnvProfiler", "mstx"),
    "millrace.train.profiling.names": (
        "AicoreMetrics",
        "ExportType",
        "HostSystem",
        "ProfilerActivity",
        "ProfilerLevel",
        "_ExperimentalConfig",
    ),
    "millrace.train.profiling.plan": ("schedule",),
    "millrace.train.profiling.profile": ("Profiler", "profile", "tensorboard_trace_handler"),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = [name for name in _LAZY if not name.startswith("_")]

__getattr__ = _lazy(__name__, _LAZY)
