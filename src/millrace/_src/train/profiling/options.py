"""Names of settings that MindSpore's profiler has; most are of other hardware, taken and kept."""

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
    """What is looked at: the CPU, and a GPU where there is one; NPU is taken for the device.

    >>> ProfilerActivity.CPU.value
    'CPU'
    """

    NPU = "NPU"
    GPU = "GPU"
    CPU = "CPU"


@public("profiler")
class ProfilerLevel(enum.Enum):
    """How much is collected on Ascend: kept, and changes nothing.

    >>> ProfilerLevel.Level1.value
    'Level1'
    """

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


@public("profiler")
class AicoreMetrics(enum.Enum):
    """Counters of Ascend's cores: kept, and changes nothing.

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
    """Files of Ascend's tools: text is what is written here.

    >>> ExportType.Text.value
    'text'
    """

    Db = "db"
    Text = "text"


@public("profiler")
class HostSystem(enum.Enum):
    """What is sampled of the host on Ascend: kept, and changes nothing.

    >>> HostSystem.MEM.value
    'mem'
    """

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class ProfilerAction(enum.Enum):
    """What a schedule says of a step."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


@public(unlisted=("profiler",))
class _ExperimentalConfig:
    """Further settings, kept as they are given.

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
