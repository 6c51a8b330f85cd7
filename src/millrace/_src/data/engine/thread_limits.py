"""Thread-pool limits for OpenCV, BLAS, OpenMP and numba inside pipeline workers, and the memory budget of a run.

Libraries such as OpenCV, OpenBLAS and numba start a thread pool each; inside workers these pools compete with the
pipeline's own threads for the cores. While a pipeline runs, each library is limited to its share; afterwards the limits
of the user's process are restored.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import threadpoolctl

from millrace._src.core.errors import ResourceError
from millrace._src.core.log import get_logger, warn_once
from millrace._src.core.machine.cgroup import memory_limit
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.settings import Settings

__all__ = [
    "MemoryBudget",
    "limit_process_threads",
    "limit_library_threads",
    "find_thread_pools",
    "thread_limit_error",
]

log = get_logger(__name__)


# --------------------------------------------------------------------------------------------------
# threads


class _ThreadPoolLimits:
    """Process-wide limits, applied by the first worker that starts and removed by the last that ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._share = 1
        self._cv2_before: int | None = None
        self._blas: Any = None
        # the same for libraries found during a run
        self._late: Any = None
        # whether libraries loaded since the last run have been searched for
        self._libraries_searched = True

    def enter(self, share: int) -> None:
        with self._lock:
            if not self._users:  # counted only after success: a caller that fails here does not leave
                if _has_new_extensions():
                    find_thread_pools()
                _clear_controlling_thread(_controller)
                self._blas = _controller.limit(limits=share, user_api="blas")
                self._share, self._libraries_searched = share, False
            self._users += 1
            if self._users > 1:
                return
        opencv_change = self._limit_opencv_threads()
        log.info("threads of libraries inside workers: BLAS, OpenMP and numba -> %d%s", share, opencv_change)

    def limit_opencv(self) -> None:
        """Limit OpenCV once it is loaded: a user function may be the first to import it."""
        if self._cv2_before is None and "cv2" in sys.modules:
            opencv_change = self._limit_opencv_threads()
            if opencv_change:
                log.info("threads of libraries inside workers%s", opencv_change)

    def limit_new_libraries(self) -> None:
        """Limit the libraries that were loaded since the last run started."""
        with self._lock:
            if self._libraries_searched or not self._users:
                return
            self._libraries_searched = True
            # known libraries keep their limits: running workers must not see them removed for a moment
            known = {library.filepath for library in _controller.lib_controllers}
            find_thread_pools()
            new = [loaded.filepath for loaded in _controller.lib_controllers if loaded.filepath not in known]
            if new:
                late = _controller.select(filepath=new)
                _clear_controlling_thread(late)
                self._late = late.limit(limits=self._share, user_api="blas")

    def _restore(self) -> None:
        _clear_controlling_thread(_controller)
        for limited in (self._late, self._blas):
            if limited is not None:
                limited.restore_original_limits()
        self._late = self._blas = None
        _clear_controlling_thread(_controller)  # the user's own limits apply again, from any thread

    def _limit_opencv_threads(self) -> str:
        cv2 = sys.modules.get("cv2")
        with self._lock:
            if cv2 is None or not hasattr(cv2, "setNumThreads"):
                return ""
            if self._cv2_before is not None or not self._users:
                return ""
            self._cv2_before = int(cv2.getNumThreads())
            cv2.setNumThreads(self._share)
            return f", OpenCV {self._cv2_before} -> {self._share}"

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self._cv2_before is not None:
                sys.modules["cv2"].setNumThreads(self._cv2_before)
                self._cv2_before = None
            if self._blas is not None:
                self._restore()


_caps = _ThreadPoolLimits()
# threadpoolctl's controller of the loaded BLAS and OpenMP libraries. The first search takes two milliseconds and
# happens at import, so that the first batch does not wait for it; each run searches again after its first chunks.
_controller = threadpoolctl.ThreadpoolController()
# The modules loaded at the last search. An extension module loaded since may have loaded a library.
_known_modules = set(sys.modules)


def _has_new_extensions() -> bool:
    global _known_modules
    now = set(sys.modules)
    new, _known_modules = now - _known_modules, now
    for name in new:
        top = name.partition(".")[0]
        if top in ("millrace", "numpy") or top in sys.stdlib_module_names:
            continue  # no thread pools; numpy's was loaded with numpy, before Millrace
        if str(getattr(getattr(sys.modules.get(name), "__spec__", None), "origin", None)).endswith(".so"):
            return True
    return False


def _after_fork() -> None:
    """A child of fork has none of these threads, and must not inherit a lock that one of them held."""
    global _caps
    _caps = _ThreadPoolLimits()


os.register_at_fork(after_in_child=_after_fork)


@contextlib.contextmanager
def pause_opencv_threads() -> Iterator[None]:
    """Stop OpenCV's threads around a fork.

    A child process does not have these threads, but would wait for them to end when it sets their number.
    """
    cv2 = sys.modules.get("cv2")
    if cv2 is None or not hasattr(cv2, "setNumThreads"):
        yield
        return
    before = int(cv2.getNumThreads())
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        if before != 1:
            cv2.setNumThreads(before)


def find_thread_pools() -> None:
    """Find the loaded BLAS and OpenMP libraries."""
    global _controller
    _controller = threadpoolctl.ThreadpoolController()


def _clear_controlling_thread(controller: Any) -> None:
    """Allow any thread to set OpenBLAS's limit: threadpoolctl accepts only the first thread and ignores others."""
    for library in controller.lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


@contextlib.contextmanager
def limit_library_threads(share: int = 1) -> Iterator[None]:
    """Limit OpenCV, BLAS, OpenMP and numba to ``share`` threads while a worker thread runs."""
    caps = _caps
    caps.enter(share)
    try:
        _limit_current_thread(share)
        yield
    finally:
        caps.leave()


def limit_loaded_libraries(share: int = 1) -> None:
    """Limit libraries loaded since the last run started. It takes one or two milliseconds, so it does not run before
    the first batch.
    """
    _caps.limit_new_libraries()
    _limit_current_thread(share)


def limit_new_libraries() -> None:
    """Limit libraries imported since then; called before each chunk, so it must be very cheap."""
    _caps.limit_opencv()


def _limit_current_thread(share: int) -> None:
    """Limit numba and OpenMP in the calling thread; these settings are per thread and end with the worker."""
    numba = sys.modules.get("numba")
    if numba is not None and hasattr(numba, "set_num_threads"):
        numba.set_num_threads(share)
    _controller.limit(limits=share, user_api="openmp")


_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "RAYON_NUM_THREADS",
)


def limit_process_threads(share: int = 1) -> None:
    """Limit library threads of a worker process permanently."""
    for name in _VARIABLES:  # for libraries that are not loaded yet
        os.environ[name] = str(share)
    _caps.enter(share)
    limit_loaded_libraries(share)


def thread_limit_error(wanted: int, started: int) -> ResourceError:
    """The error when the system starts no more threads: the limits, and what to do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    running = threading.active_count()
    return ResourceError(
        f"can't start new thread: wanted {wanted} workers, started {started}; this process runs {running} "
        f"threads, the limit on processes and threads (ulimit -u) is {_shown(soft)} (hard {_shown(hard)}), "
        f"cores available {available_cores()}. Lower num_parallel_workers, or raise the limit with ulimit -u."
    )


def warn_fewer_threads(wanted: int, started: int) -> None:
    """Warn once that fewer workers than requested are running."""
    warn_once(
        "fewer-threads",
        f"{thread_limit_error(wanted, started)} Continuing with {started}; the rows are the same.",
    )


def _shown(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else str(limit)


# --------------------------------------------------------------------------------------------------
# bytes


# the files with the container's limits are located once at import, so that the first batch does not wait for it
memory_limit(), available_cores()


# glibc's mallopt: the number of heaps threads spread over, and how much freed memory a heap keeps.
_M_TRIM_THRESHOLD, _M_ARENA_MAX = -1, -8
_KEPT_BYTES = 8 << 20


def _frugal_malloc() -> Callable[[], None]:
    """Keep freed memory from accumulating in per-thread heaps. Returns a function that returns it to the system."""
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_ARENA_MAX, 1)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        trim = libc.malloc_trim
    except (OSError, AttributeError):  # another C library: nothing to set
        return lambda: None
    return lambda: trim(0)


class MemoryBudget:
    """The bytes that a run may hold in queues, shuffle windows and chunks in flight.

    A stage reserves bytes before it takes a chunk. The reservation succeeds if the bytes fit, or if the stage holds
    nothing yet, so that every stage can always process one chunk: a small budget slows the run but never blocks it.
    """

    def __init__(self, limit: int, tight: bool = True) -> None:
        # tight: set by the user, so the first chunk runs alone, to measure its size
        self.limit, self.tight = limit, tight
        self.used = 0
        self.peak = 0
        self._lock = threading.Lock()
        # with a user-defined budget, freed memory must be returned to the system
        self._trim = _frugal_malloc() if tight else None
        self._freed = 0

    @classmethod
    def from_settings(cls, settings: Settings) -> MemoryBudget:
        if settings.memory_budget is not None:
            return cls(settings.memory_budget)
        return cls(memory_limit() // 2, tight=False)

    def try_reserve(self, size: int, *, must: bool) -> bool:
        """Reserve the bytes if they fit; ``must`` reserves them in any case."""
        with self._lock:
            if not must and self.used + size > self.limit:
                return False
            self.used += size
            self.peak = max(self.peak, self.used)
            return True

    def require_fits(self, size: int, name: str, what: str) -> None:
        """Warn once when the smallest unit of work is larger than the user's whole budget."""
        if self.tight and size > self.limit:
            warn_once(
                f"budget-{self.limit}-{name}",
                f"{name}: the memory budget of {self.limit} bytes is too small: {what} takes up to {size} bytes while "
                f"it is computed. The rows are the same, processed one unit at a time, and more memory is used; "
                f"set config.set_memory_budget({size}) or more.",
            )

    def release(self, size: int) -> None:
        with self._lock:
            self.used -= size
            self._freed += size
            due = self._trim is not None and self._freed > self.limit // 4
            if due:
                self._freed = 0
        if due and self._trim is not None:
            self._trim()
