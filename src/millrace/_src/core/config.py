"""``config``: one get/set pair per setting, defined by a table.

A setting is process-wide; a pipeline keeps the values that it was started with. A row of the table names the field of
:class:`~millrace._src.core.settings.Settings`, the values that the setter accepts, and its error messages.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from collections.abc import Callable
from typing import Any

from millrace._src.core.public import export_names, public

from . import config_validators as checks
from . import settings
from .args import INT32_MAX, Checker, check_type
from .config_validators import Check, ErrorSamplesMode
from .errors import ArgumentTypeError, PlanError
from .executor_traits import EXECUTORS
from .hooks import DebugHook, PrintMetaDataHook
from .log import get_logger
from .machine.cores import available_cores
from .random.rng import seed_globals

__all__ = [
    "ErrorSamplesMode",
    "get_auto_num_workers",
    "get_auto_offload",
    "get_autotune_interval",
    "get_callback_timeout",
    "get_chunk_rows",
    "get_debug_mode",
    "get_decode_tolerance",
    "get_dynamic_shape",
    "get_enable_autotune",
    "get_enable_shared_mem",
    "get_enable_watchdog",
    "get_error_samples_limit",
    "get_error_samples_mode",
    "get_executor",
    "get_fast_recovery",
    "get_iterator_mode",
    "get_max_image_bytes",
    "get_max_image_pixels",
    "get_max_video_bytes",
    "get_memory_budget",
    "get_monitor_sampling_interval",
    "get_multiprocessing_start_method",
    "get_multiprocessing_timeout_interval",
    "get_num_parallel_workers",
    "get_numa_enable",
    "get_prefetch_size",
    "get_seed",
    "get_video_backend",
    "load",
    "set_auto_num_workers",
    "set_auto_offload",
    "set_autotune_interval",
    "set_callback_timeout",
    "set_chunk_rows",
    "set_debug_mode",
    "set_decode_tolerance",
    "set_dynamic_shape",
    "set_enable_autotune",
    "set_enable_shared_mem",
    "set_enable_watchdog",
    "set_error_samples_limit",
    "set_error_samples_mode",
    "set_executor",
    "set_fast_recovery",
    "set_iterator_mode",
    "set_max_image_bytes",
    "set_max_image_pixels",
    "set_max_video_bytes",
    "set_memory_budget",
    "set_monitor_sampling_interval",
    "set_multiprocessing_start_method",
    "set_multiprocessing_timeout_interval",
    "set_num_parallel_workers",
    "set_numa_enable",
    "set_prefetch_size",
    "set_seed",
    "set_sending_batches",
    "set_video_backend",
]

log = get_logger(__name__)

# MindSpore's default, limited to the available cores.
DEFAULT_WORKERS = 8


@dataclasses.dataclass(frozen=True)
class SettingSpec:
    """One row of the table: a setting, its parameter, and what the setter does with a value."""

    name: str
    parameter: str
    # Checks a value and returns what is stored in the field.
    check: Check
    example: str
    text: str
    # Converts the stored value to the one that the getter returns.
    show: Check = lambda kept: kept
    field: str | None = None
    default: Any = inspect.Parameter.empty
    # Why a value has no effect, for a setting that is only stored; logged once, unless the value is `anyway`.
    unused: str = ""
    anyway: Any = False
    # Called with the value, once it is set.
    then: Callable[[Any], None] | None = None

    @property
    def key(self) -> str:
        return self.field or self.name


def _define_setting(row: SettingSpec) -> tuple[Callable[..., None], Callable[[], Any]]:
    """Create the setter and the getter of a row, each with its signature and docstring."""
    parameter = inspect.Parameter(row.parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=row.default)
    signature = inspect.Signature([parameter])

    def setter(*args: Any, **kwargs: Any) -> None:
        argument = checker.bind(args, kwargs).get(row.parameter, row.default)
        value = row.check(argument)
        settings.update(**{row.key: value})
        if row.unused and value != row.anyway:
            _warn_unused(f"set_{row.name}({value!r})", row.unused)
        if row.then is not None:
            row.then(argument)

    checker = Checker(setter, signature)

    def getter() -> Any:
        return row.show(getattr(settings.current(), row.key))

    text = f"{row.text} {_KEPT}: {row.unused}." if row.unused else row.text
    example = f"\n\n>>> set_{row.name}({row.example})\n>>> get_{row.name}()\n{row.example}\n"
    setter.__signature__ = signature  # type: ignore[attr-defined]
    for function, verb in ((setter, "set"), (getter, "get")):
        function.__name__ = function.__qualname__ = f"{verb}_{row.name}"
        function.__doc__ = f"{verb.capitalize()} {text}{example}"
    return setter, getter


def _warn_unused(call: str, why: str) -> None:
    """Log once per call that a setting has no effect."""
    if call not in _warned_calls:
        _warned_calls.add(call)
        log.warning("config.%s has no effect: %s (logged once)", call, why)


_warned_calls: set[str] = set()

_I32 = f"INT32_MAX({INT32_MAX})"
_KEPT = "\nThe value is stored and returned, but has no effect"

# --- the table --------------------------------------------------------------------------------------------

set_seed, get_seed = _define_setting(SettingSpec(
    "seed", "seed",
    checks.seed,
    "7", "the seed of every random order and transform, and of the global generators of Python and numpy, for"
         "\nfunctions that use these; worker process number n seeds them with seed + n. Better: a function with a"
         "\nparameter ``rng`` receives a generator for its row."
         "\nWithout a seed each run chooses a new one, and the getter returns 5489; setting 5489 means the same.",
    show=lambda kept: settings.DEFAULT_SEED if kept is None else kept, then=seed_globals,
))  # fmt: skip
set_prefetch_size, get_prefetch_size = _define_setting(SettingSpec(
    "prefetch_size", "size",
    checks.integer("size isn't of type int.", 1, INT32_MAX,
                   f"size is not within the required range (0, {_I32}]."),
    "4", "how many results each stage may prefetch; fewer take less memory.",
))  # fmt: skip
set_num_parallel_workers, get_num_parallel_workers = _define_setting(SettingSpec(
    "num_parallel_workers", "num",
    checks.workers("num isn't of type int.", 1, INT32_MAX,
                   f"Number of parallel workers given is not within the required range (0, {_I32}]."),
    "3", "how many workers an op has by default: 8, or the number of available cores if that is smaller."
         "\nMore workers than cores are allowed.",
    show=lambda kept: min(DEFAULT_WORKERS, available_cores()) if kept is None else kept,
))  # fmt: skip
set_numa_enable, get_numa_enable = _define_setting(SettingSpec(
    "numa_enable", "numa_enable", checks.flag("numa_enable must be a boolean dtype."),
    "True", "whether workers are bound to a NUMA node.", unused="the operating system places threads",
))  # fmt: skip
set_monitor_sampling_interval, get_monitor_sampling_interval = _define_setting(SettingSpec(
    "monitor_sampling_interval", "interval",
    checks.integer("interval isn't of type int.", 1, INT32_MAX,
                   f"Interval given is not within the required range (0, {_I32}]."),
    "500", "how often, in milliseconds, ``monitor()`` reads the counters of a running pipeline, unless its argument"
           "\n``interval`` is set. The getter returns 1000 while nothing is set; the monitor then reads four times a "
           "second.",
    show=lambda kept: 1000 if kept is None else kept,
))  # fmt: skip
set_callback_timeout, get_callback_timeout = _define_setting(SettingSpec(
    "callback_timeout", "timeout",
    checks.integer("timeout isn't of type int.", 1, INT32_MAX,
                   "Timeout given is not within the required range."),
    "30", "how many seconds a WaitedDSCallback or sync_wait waits for the training side.",
))  # fmt: skip
set_auto_num_workers, get_auto_num_workers = _define_setting(SettingSpec(
    "auto_num_workers", "enable", checks.flag("enable must be of type bool."),
    "True", "whether the number of workers is chosen for ops that do not name one.",
    unused="it always is chosen", anyway=True,
))  # fmt: skip
set_enable_shared_mem, get_enable_shared_mem = _define_setting(SettingSpec(
    "enable_shared_mem", "enable", checks.flag("enable must be of type bool."),
    "False", "whether worker processes transfer rows through shared memory.",
    unused="rows always travel through shared memory, and it is always released", anyway=True,
))  # fmt: skip
set_autotune_interval, get_autotune_interval = _define_setting(SettingSpec(
    "autotune_interval", "interval",
    checks.integer("interval must be of type int.", 0, INT32_MAX,
                   f"Interval given is not within the required range [0, {_I32}]."),
    "30", "how many steps autotune measures before it decides. 0, the default, lets it choose: the smallest number"
          "\nthat noise does not hide, 8 or more. (MindSpore's 0 waits for the end of each epoch.)",
))  # fmt: skip
set_auto_offload, get_auto_offload = _define_setting(SettingSpec(
    "auto_offload", "offload", checks.flag("offload must be a bool dtype"),
    "True", "whether transforms at the end of a pipeline run on the GPU that its batches go to."
            "\nTrue: all that have a GPU kernel and keep the size of a row, also those that are exact only within a "
            "stated"
            "\ntolerance. False: only those that request it (``map(offload=True)``, ``device(\"GPU\")``). While "
            "nothing is set,"
            "\nthe getter returns False, as in MindSpore, and Normalize, Rescale, ToTensor, HWC2CHW, flips and casts "
            "run on the GPU, where they give the same bits.",
    show=bool,
))  # fmt: skip
set_enable_watchdog, get_enable_watchdog = _define_setting(SettingSpec(
    "enable_watchdog", "enable", checks.flag("enable must be a boolean dtype."),
    "False", "whether a pipeline without progress prints the stack of every worker and names the op.",
))  # fmt: skip
set_fast_recovery, get_fast_recovery = _define_setting(SettingSpec(
    "fast_recovery", "fast_recovery", checks.flag("fast_recovery must be a boolean dtype."),
    "False", "whether a pipeline that starts at a later step skips to it without running the steps before."
             "\nBoth values do the same here: the start is exact, and rows are skipped without reading where possible.",
))  # fmt: skip
set_dynamic_shape, get_dynamic_shape = _define_setting(SettingSpec(
    "dynamic_shape", "is_dynamic", checks.flag("is_dynamic must be a boolean dtype."),
    "True", "whether shapes may change from batch to batch.", unused="they always may", anyway=True,
))  # fmt: skip
set_multiprocessing_timeout_interval, get_multiprocessing_timeout_interval = _define_setting(SettingSpec(
    "multiprocessing_timeout_interval", "interval",
    checks.integer("interval isn't of type int.", 1, INT32_MAX,
                   f"Interval given is not within the required range (0, {_I32})."),
    "60", "after how many seconds without a result the watchdog reports.",
))  # fmt: skip
set_multiprocessing_start_method, get_multiprocessing_start_method = _define_setting(SettingSpec(
    "multiprocessing_start_method", "start_method",
    checks.one_of("start_method", "fork", "spawn", "forkserver"),
    "'spawn'", "how worker processes are started: 'forkserver' (the default), 'spawn', or 'fork'."
               "\n'fork' copies a process whose other threads may hold locks.",
    default="forkserver",
))  # fmt: skip
set_video_backend, get_video_backend = _define_setting(SettingSpec(
    "video_backend", "backend", checks.one_of("backend", "CPU", "Ascend"),
    "'CPU'", "what decodes videos.", unused="videos are decoded on the CPU", anyway="CPU",
))  # fmt: skip
set_error_samples_mode, get_error_samples_mode = _define_setting(SettingSpec(
    "error_samples_mode", "error_samples_mode", checks.error_samples_mode,
    "<ErrorSamplesMode.SKIP: 2>", "what happens to a row that fails; ``Dataset.skipped()`` lists the rows.",
    show=lambda kept: ErrorSamplesMode[kept.upper()],
))  # fmt: skip
set_memory_budget, get_memory_budget = _define_setting(SettingSpec(
    "memory_budget", "budget", checks.size("budget", "a memory budget"),
    "2000000000", "the total bytes of queues, shuffle buffers and rows being processed."
                  "\nIt never changes a row: rows that a shuffle buffer cannot hold are stored on disk."
                  "\nTakes a number, a text like '2GB' or '1.5GiB', or None for no limit.",
))  # fmt: skip
set_max_image_pixels, get_max_image_pixels = _define_setting(SettingSpec(
    "max_image_pixels", "pixels", checks.count("pixels"),
    "10000000", "the maximum number of pixels in an image or a video frame; None for no limit."
                "\nA larger image is refused before decoding. The default is 178,956,970, as in Pillow.",
))  # fmt: skip
set_max_image_bytes, get_max_image_bytes = _define_setting(SettingSpec(
    "max_image_bytes", "size", checks.size("size", "the size of an encoded image"),
    "64000000", "the maximum number of bytes in an encoded image; a longer one is refused before decoding."
                "\nTakes a number, a text like '64MB', or None for no limit; the default is 256 MiB.",
))  # fmt: skip
set_max_video_bytes, get_max_video_bytes = _define_setting(SettingSpec(
    "max_video_bytes", "size", checks.size("size", "the size of a decoded video"),
    "2000000000", "the maximum number of bytes in the decoded frames and sound of one video."
                  "\nTakes a number, a text like '2GB', or None for no limit; the default is 8 GiB.",
))  # fmt: skip
set_decode_tolerance, get_decode_tolerance = _define_setting(SettingSpec(
    "decode_tolerance", "levels", checks.tolerance,
    "30.0", "by how many levels of 255 pixels may differ on average, for faster decoding; 0, the default, is exact."
            "\nFrom 30 on, a JPEG that is resized to half or less is decoded at 1/2, 1/4 or 1/8 of its size.",
))  # fmt: skip
set_error_samples_limit, get_error_samples_limit = _define_setting(SettingSpec(
    "error_samples_limit", "limit", checks.fraction,
    "0.01", "the fraction of rows that may fail before the run stops, in every mode.",
))  # fmt: skip
set_chunk_rows, get_chunk_rows = _define_setting(SettingSpec(
    "chunk_rows", "rows", checks.rows,
    "64", "how many rows one chunk of the engine holds; None lets it choose. Results never depend on it.",
))  # fmt: skip
set_executor, get_executor = _define_setting(SettingSpec(
    "executor", "executor", checks.one_of("executor", *EXECUTORS, None),
    "'threads'", "where row-wise ops run; None lets the engine choose. Results never depend on it.",
))  # fmt: skip

# The repr of an IntEnum member is no Python expression: set the example of this row manually.
for _function in (set_error_samples_mode, get_error_samples_mode):
    _function.__doc__ = (_function.__doc__ or "").replace(
        "set_error_samples_mode(<ErrorSamplesMode.SKIP: 2>)", "set_error_samples_mode(ErrorSamplesMode.SKIP)"
    )


# --- settings with several values ---------------------------------------------------------------------------


@public("dataset.config")
def set_sending_batches(batch_num: int) -> None:
    """Set after how many batches of an epoch MindSpore stops sending to an Ascend device, until the number is raised.

    It is stored and has no effect: the ring buffers of a device limit how many batches are sent before their steps.

    >>> set_sending_batches(10)
    """
    if not isinstance(batch_num, int) or isinstance(batch_num, bool):
        raise ArgumentTypeError("batch_num must be an int dtype.")
    settings.update(sending_batches=batch_num)
    if batch_num:
        _warn_unused(
            f"set_sending_batches({batch_num})",
            "the ring buffers of a device limit how many batches are sent before their steps",
        )


@public("dataset.config")
def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Set whether the engine tunes workers, rows per chunk and prefetching while a pipeline runs.

    Numbers that the user set are the start values; ``config.set_chunk_rows`` is never changed. Rows, their order and
    saved positions do not depend on the result. ``dataset.report()`` shows the changes and the gain. With a prefix,
    the result is written to ``PREFIX_RANK.json`` and loaded by the next run of the same pipeline; the file can also
    be passed to ``deserialize(json_filepath=...)``.

    >>> set_enable_autotune(True, "tuned")
    >>> get_enable_autotune()
    True
    """
    if not isinstance(enable, bool):
        raise ArgumentTypeError("enable must be of type bool.")
    if filepath_prefix is not None and not isinstance(filepath_prefix, str):
        raise ArgumentTypeError(f"json_filepath must be a str value but was: {filepath_prefix}.")
    if enable and filepath_prefix is not None:
        checks.new_file(filepath_prefix, "json_filepath")
    if not enable and filepath_prefix is not None:
        log.warning("The value of json_filepath is ignored when enable is False.")
    settings.update(enable_autotune=enable, autotune_filepath_prefix=filepath_prefix if enable else None)


@public("dataset.config")
def get_enable_autotune() -> bool:
    """Get whether autotune is on.

    >>> get_enable_autotune()
    False
    """
    return settings.current().enable_autotune


@public("dataset.config")
def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """Set whether iterators return copies, and whether they convert columns in parallel.

    ``parallel_convert`` is stored and returned, and has no effect: columns are converted one after the other, in
    microseconds.

    >>> set_iterator_mode(do_copy=True)
    >>> get_iterator_mode()
    {'do_copy': True, 'parallel_convert': False}
    """
    check_type(do_copy, (bool,), "do_copy")
    check_type(parallel_convert, (bool,), "parallel_convert")
    settings.update(iterator_do_copy=do_copy, iterator_parallel_convert=parallel_convert)
    if parallel_convert:
        _warn_unused(
            "set_iterator_mode(parallel_convert=True)",
            "columns are converted one after the other, in microseconds",
        )


@public("dataset.config")
def get_iterator_mode() -> dict[str, bool]:
    """Get the values of :func:`set_iterator_mode`.

    >>> get_iterator_mode()
    {'do_copy': False, 'parallel_convert': False}
    """
    current = settings.current()
    return {"do_copy": current.iterator_do_copy, "parallel_convert": current.iterator_parallel_convert}


@public("dataset.config")
def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list[DebugHook] | None = None) -> None:
    """Set debug mode: everything runs in the calling thread, and hooks receive the values between the ops.

    Without hooks, type and shape are printed; an empty list keeps the previous hooks.

    >>> set_debug_mode(True)
    >>> get_debug_mode()
    True
    """
    if not isinstance(debug_mode_flag, bool):
        raise ArgumentTypeError("debug_mode_flag isn't of type boolean.")
    if debug_hook_list is None:
        debug_hook_list = [PrintMetaDataHook()]
    if not isinstance(debug_hook_list, list):
        raise ArgumentTypeError("debug_hook_list is not a list.")
    if not all(isinstance(hook, DebugHook) for hook in debug_hook_list):
        raise ArgumentTypeError("All items in debug_hook_list must be of type DebugHook.")
    hooks = tuple(debug_hook_list) or settings.current().debug_hooks
    settings.update(debug_mode=debug_mode_flag, debug_hooks=hooks)


@public("dataset.config")
def get_debug_mode() -> bool:
    """Get whether debug mode is on.

    >>> get_debug_mode()
    False
    """
    return settings.current().debug_mode


_FILE_BYTES = 1 << 20
_FILE_KEYS = {
    "seed": set_seed,
    "numParallelWorkers": set_num_parallel_workers,
    "opConnectorSize": set_prefetch_size,
    "monitorSamplingInterval": set_monitor_sampling_interval,
}


@public("dataset.config")
def load(file: str | os.PathLike[str]) -> None:
    """Load settings from a JSON file: seed, numParallelWorkers, opConnectorSize, monitorSamplingInterval.

    Either all values are set or none; other keys are ignored.

    >>> with open("config.json", "w") as out:
    ...     _ = out.write('{"seed": 7, "opConnectorSize": 4}')
    >>> load("config.json")
    >>> get_seed(), get_prefetch_size()
    (7, 4)
    """
    check_type(file, (str, os.PathLike), "file")
    if not os.fspath(file) or not os.path.exists(file):
        raise PlanError(
            f"Invalid file: settings file:{file} is not exist, check input path of config 'load' API."
        )
    before = settings.snapshot()
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read(_FILE_BYTES + 1)
        if len(text) > _FILE_BYTES:
            raise ValueError(f"{file} is larger than {_FILE_BYTES} characters")
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError(f"expected a JSON object in {file}, got {type(values).__name__}")
        for key, setter in _FILE_KEYS.items():
            if key in values:
                setter(values[key])
    except (OSError, ValueError, TypeError, RecursionError) as error:
        settings.restore(before)
        raise PlanError(f"Client file failed to load:\n{error}") from error


@public(unlisted=("dataset.config",))
def _init_device_info() -> None:
    """Do nothing: MindSpore binds its host threads to a device here."""


export_names(
    __name__, "dataset.config", "get_auto_num_workers", "get_auto_offload", "get_autotune_interval",
    "get_callback_timeout", "get_chunk_rows", "get_decode_tolerance", "get_dynamic_shape",
    "get_enable_shared_mem", "get_enable_watchdog", "get_error_samples_limit", "get_error_samples_mode",
    "get_executor", "get_fast_recovery", "get_max_image_bytes", "get_max_image_pixels",
    "get_max_video_bytes", "get_memory_budget", "get_monitor_sampling_interval",
    "get_multiprocessing_start_method", "get_multiprocessing_timeout_interval",
    "get_num_parallel_workers", "get_numa_enable", "get_prefetch_size", "get_seed", "get_video_backend",
    "set_auto_num_workers", "set_auto_offload", "set_autotune_interval", "set_callback_timeout",
    "set_chunk_rows", "set_decode_tolerance", "set_dynamic_shape", "set_enable_shared_mem",
    "set_enable_watchdog", "set_error_samples_limit", "set_error_samples_mode", "set_executor",
    "set_fast_recovery", "set_max_image_bytes", "set_max_image_pixels", "set_max_video_bytes",
    "set_memory_budget", "set_monitor_sampling_interval", "set_multiprocessing_start_method",
    "set_multiprocessing_timeout_interval", "set_num_parallel_workers", "set_numa_enable",
    "set_prefetch_size", "set_seed", "set_video_backend",
)  # fmt: skip
