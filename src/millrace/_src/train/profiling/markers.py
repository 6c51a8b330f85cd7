"""Custom markers in a trace, and unsupported profiler classes."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.core.public import public

__all__ = ["DynamicProfilerMonitor", "EnvProfiler", "mstx"]

_open: dict[int, Any] = {}


@public("profiler")
class mstx:
    """Markers in a trace: a point in time, or a range.

    >>> number = mstx.range_start("loading")
    >>> mstx.range_end(number)
    >>> mstx.mark("loaded")
    """

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """Mark a point in time."""
        mstx.range_end(mstx.range_start(message, stream, domain), domain)

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Start a range; returns its id for `range_end`."""
        if not isinstance(message, str):
            raise ArgumentTypeError(f"For 'mstx', 'message' must be a str, but got {message!r}.")
        marker = torch.profiler.record_function(message if domain == "default" else f"{domain}: {message}")
        marker.__enter__()
        number = max(_open, default=0) + 1
        _open[number] = marker
        return number

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """End a range; an unknown id is ignored."""
        marker = _open.pop(range_id, None)
        if marker is not None:
            marker.__exit__(None, None, None)


@public("profiler")
class DynamicProfilerMonitor:
    """Not supported: it reads commands from a file during training. Start and stop a :class:`profile` in a callback.

    >>> DynamicProfilerMonitor()
    Traceback (most recent call last):
    ...
    millrace.errors.OperationError: 'DynamicProfilerMonitor' is not here...
    """

    def __init__(
        self,
        cfg_path: str | None = None,
        output_path: str = "./dyn_profile_data",
        poll_interval: int = 2,
        **kwargs: Any,
    ) -> None:
        raise OperationError(
            "'DynamicProfilerMonitor' is not here: start and stop a millrace.profiler.profile in a callback, or give "
            "it a schedule."
        )


@public("profiler")
class EnvProfiler:
    """Not supported: MindSpore starts it from MS_PROFILER_OPTIONS.

    >>> EnvProfiler()
    Traceback (most recent call last):
    ...
    millrace.errors.OperationError: 'EnvProfiler' is not here...
    """

    def __init__(self) -> None:
        raise OperationError("'EnvProfiler' is not here: use millrace.profiler.profile in the script.")
