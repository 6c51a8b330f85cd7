"""Enumerations of MindSpore's profiler settings; most are for other hardware, accepted and stored."""

from __future__ import annotations

import enum
from typing import Any

from millrace._src.core.public import public

__all__ = [
    "AicoreMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
]


@public("profiler")
class ProfilerActivity(enum.Enum):
    """What is profiled: the CPU, and the GPU if there is one; NPU selects the device.

    >>> ProfilerActivity.CPU.value
    'CPU'
    """

    NPU = "NPU"
    GPU = "GPU"
    CPU = "CPU"


@public("profiler")
class ProfilerLevel(enum.Enum):
    """Collection level on Ascend: stored and ignored.

    >>> ProfilerLevel.Level1.value
    'Level1'
    """

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


@public("profiler")
class AicoreMetrics(enum.Enum):
    """Counters of Ascend cores: stored and ignored.

    >>> AicoreMetrics.Memory.value
    'Memory'
    """

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "None"


@public("profiler")
class ExportType(enum.Enum):
    """Export formats of Ascend's tools: text is written here.

    >>> ExportType.Text.value
    'text'
    """

    Db = "db"
    Text = "text"


@public("profiler")
class HostSystem(enum.Enum):
    """Host sampling on Ascend: stored and ignored.

    >>> HostSystem.MEM.value
    'mem'
    """

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class ProfilerAction(enum.Enum):
    """Action of a schedule for a step."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


@public(unlisted=("profiler",))
class _ExperimentalConfig:
    """Additional settings, stored unchanged.

    >>> _ExperimentalConfig(l2_cache=True).l2_cache
    True
    """

    def __init__(
        self,
        profiler_level: ProfilerLevel = ProfilerLevel.Level0,
        aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone,
        l2_cache: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        export_type: list[Any] | None = None,
        mstx_domain_include: list[Any] | None = None,
        mstx_domain_exclude: list[Any] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
        host_sys: list[Any] | None = None,
    ) -> None:
        self.profiler_level, self.aic_metrics = profiler_level, aic_metrics
        self.l2_cache, self.mstx, self.data_simplification = l2_cache, mstx, data_simplification
        self.export_type = export_type or [ExportType.Text]
        self.mstx_domain_include = mstx_domain_include or []
        self.mstx_domain_exclude = mstx_domain_exclude or []
        self.sys_io, self.sys_interconnection, self.host_sys = sys_io, sys_interconnection, host_sys or []
