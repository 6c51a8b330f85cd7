"""Process-wide settings in a frozen dataclass. A pipeline uses the snapshot taken when it starts.

``millrace.dataset.config`` has one get/set pair per field.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

__all__ = ["DEFAULT_SEED", "Settings", "current", "override", "restore", "snapshot", "update", "use_settings"]

# The value of get_seed() while no seed is set; each run then chooses a new seed.
DEFAULT_SEED = 5489


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that can be configured, with its default."""

    seed: int | None = None
    # counts the calls of set_seed: setting the same seed again restarts eager transforms
    seed_generation: int = 0
    prefetch_size: int = 16
    num_parallel_workers: int | None = None
    numa_enable: bool = False
    monitor_sampling_interval: int | None = None
    callback_timeout: int = 60
    auto_num_workers: bool = False
    # None: not set; transforms that give the same bits on the device are offloaded
    auto_offload: bool | None = None
    enable_shared_mem: bool = True
    sending_batches: int = 0
    enable_autotune: bool = False
    autotune_filepath_prefix: str | None = None
    autotune_interval: int = 0
    enable_watchdog: bool = True
    multiprocessing_timeout_interval: int = 300
    multiprocessing_start_method: str = "forkserver"
    fast_recovery: bool = True
    dynamic_shape: bool = False
    video_backend: str = "CPU"
    debug_mode: bool = False
    debug_hooks: tuple[Any, ...] = ()
    error_samples_mode: str = "return"
    error_samples_limit: float = 1.0
    iterator_do_copy: bool = False
    iterator_parallel_convert: bool = False
    memory_budget: int | None = None
    # levels of 255 by which pixels may differ on average, for the sake of faster decoding
    decode_tolerance: float = 0.0
    # limits that are checked before decoding untrusted files; None is no limit
    max_image_pixels: int | None = 178_956_970
    max_image_bytes: int | None = 256 * 2**20
    max_video_bytes: int | None = 8 * 2**30
    # None lets the engine choose; tests force 1, 7, 64 rows or one executor everywhere
    chunk_rows: int | None = None
    executor: str | None = None
    # the options of `dataset.run_on` for the executor
    executor_options: tuple[tuple[str, Any], ...] = ()
    # the allocator of batch memory (core/machine/host_allocator.py); None is the engine's. Not set by users
    allocator: Any = None

    def replace(self, **changes: Any) -> Settings:
        return dataclasses.replace(self, **changes)


_lock = threading.Lock()
_settings = Settings()
_overlay: ContextVar[Settings | None] = ContextVar("millrace_settings", default=None)


def current() -> Settings:
    """The current settings of this thread.

    >>> current().prefetch_size
    16
    """
    overlay = _overlay.get()
    return _settings if overlay is None else overlay


def update(**changes: Any) -> None:
    """Change the process-wide settings; called by the ``set_*`` functions of ``config``."""
    global _settings
    with _lock:
        if "seed" in changes:
            changes["seed_generation"] = _settings.seed_generation + 1
        _settings = _settings.replace(**changes)


@contextlib.contextmanager
def override(**changes: Any) -> Iterator[Settings]:
    """Change settings inside a ``with`` block of this thread only.

    >>> with override(prefetch_size=2):
    ...     current().prefetch_size
    2
    >>> current().prefetch_size
    16
    """
    with use_settings(current().replace(**changes)) as changed:
        yield changed


@contextlib.contextmanager
def use_settings(settings: Settings) -> Iterator[Settings]:
    """Use these settings inside a ``with`` block of this thread only."""
    token = _overlay.set(settings)
    try:
        yield settings
    finally:
        _overlay.reset(token)


def snapshot() -> Settings:
    """The process-wide settings, for :func:`restore`."""
    return _settings


def restore(settings: Settings) -> None:
    """Restore process-wide settings."""
    global _settings
    with _lock:
        _settings = settings


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def parse_bytes(size: int | str, fail: Callable[[str], Exception] = ValueError) -> int:
    """Parse a number of bytes such as ``2_000_000_000`` or ``"2GB"``.

    >>> parse_bytes("2GB"), parse_bytes("1.5MiB"), parse_bytes(17)
    (2000000000, 1572864, 17)
    """
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    text = str(size).strip().upper().replace(" ", "").replace("_", "")
    digits = text.rstrip("KMGTIB")
    unit = text[len(digits) :]
    try:
        return int(float(digits) * _UNITS[unit])
    except (KeyError, ValueError):
        raise fail(f"cannot read {size!r} as a size; write 500_000_000, '500MB' or '2GiB'") from None
