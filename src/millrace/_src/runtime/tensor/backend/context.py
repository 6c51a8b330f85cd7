"""Process-wide settings: ``set_context`` and related functions. Imports no PyTorch; listeners apply the
settings.

Settings with a meaning here take effect. Settings for other hardware are validated, stored and returned by
``get_context``; the log notes once that they have no effect.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.machine.worker_devices import unsupported_error, worker_start_method
from millrace._src.core.public import export_names, public

from . import execution_mode as modes
from .execution_mode import GRAPH_MODE, PYNATIVE_MODE

__all__ = [
    "COMPATIBLE",
    "GRAPH_MODE",
    "LAX",
    "PYNATIVE_MODE",
    "STRICT",
    "get_context",
    "get_device",
    "is_deterministic",
    "set_context",
    "set_deterministic",
    "set_device",
    "set_recursion_limit",
]

logger = get_logger(__name__)

STRICT, COMPATIBLE, LAX = 0, 1, 2

_TARGETS = ("CPU", "GPU", "Ascend", "Davinci")

# Setting -> default value.
_DEFAULTS: dict[str, Any] = {
    "mode": PYNATIVE_MODE,
    "device_target": "CPU",
    "device_id": 0,
    "deterministic": "OFF",
    "max_call_depth": 1000,
    "save_graphs": 0,
    "save_graphs_path": ".",
    "jit_level": "",
    "jit_config": {},
    "jit_syntax_level": LAX,
    "runtime_num_threads": 0,
    "pynative_synchronize": False,
    "max_device_memory": "1024GB",
    "mempool_block_size": "1GB",
    "memory_optimize_level": "O0",
    "memory_offload": "OFF",
    "enable_graph_kernel": False,
    "graph_kernel_flags": "",
    "enable_compile_cache": False,
    "compile_cache_path": ".",
    "inter_op_parallel_num": 0,
    "disable_format_transform": False,
    "precompile_only": False,
    "print_file_path": "",
    "env_config_path": "",
    "reserve_class_name_in_scope": True,
    "check_bprop": False,
    "enable_dump": False,
    "save_dump_path": "",
    "enable_reduce_precision": True,
    "enable_profiling": False,
    "profiling_options": "",
    "variable_memory_max_size": "0GB",
    "ascend_config": {},
    "gpu_config": {},
    "aoe_tune_mode": "",
    "aoe_config": {},
    "op_timeout": 1900,
    "support_binary": False,
    "debug_level": 0,
    "exec_order": "bfs",
    "op_debug_option": {},
    "auto_tune_mode": "NO_TUNE",
    "grad_for_scalar": False,
}
# Settings with an effect; the others are only stored.
_EFFECTIVE_SETTINGS = {
    "mode", "device_target", "device_id", "deterministic", "save_graphs", "save_graphs_path", "jit_level", "jit_config",
    "jit_syntax_level", "runtime_num_threads", "max_device_memory", "pynative_synchronize", "max_call_depth",
    "print_file_path",
}  # fmt: skip


@dataclass
class _Context:
    values: dict[str, Any] = field(default_factory=lambda: dict(_DEFAULTS))
    warned: set[str] = field(default_factory=set)


_context = _Context()
# Called with name and value when a setting changes.
setting_listeners: list[Any] = []


@public("millrace", "context")
def set_context(**kwargs: Any) -> None:
    """Set process-wide options: mode, device, and the other settings of MindSpore's table.

    >>> set_context(mode=PYNATIVE_MODE, device_target="CPU")
    >>> get_context("mode")
    1
    """
    for name, value in kwargs.items():
        if name not in _DEFAULTS:
            raise ArgumentValueError(
                f"For 'context.set_context', the keyword argument {name} is not recognized! "
                "For detailed usage of 'set_context', please refer to the Mindspore official website."
            )
        _check(name, value)
        if name == "device_target":
            value = _resolve_target(value)
            _check_device_id(value, kwargs.get("device_id", _context.values["device_id"]))
        elif name == "device_id":
            _check_device_id(_context.values["device_target"], value)
        elif name == "print_file_path" and value:
            value = _unused_path(value)
        if name not in _EFFECTIVE_SETTINGS and value != _DEFAULTS[name] and name not in _context.warned:
            _context.warned.add(name)
            logger.info("set_context(%s=...) is stored and has no effect here", name)
        _context.values[name] = value
        if name == "mode":
            modes.set_mode(value)
        elif name == "jit_syntax_level":
            modes.set_raise_on_graph_break(value == STRICT)
        for listener in setting_listeners:
            listener(name, value)


def _check(name: str, value: Any) -> None:
    if name == "mode" and value not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ArgumentValueError(
            "For 'context.set_context', the argument 'mode' should be context.GRAPH_MODE (0) or "
            f"context.PYNATIVE_MODE (1), but got {value}."
        )
    if name == "device_target" and value not in _TARGETS:
        raise ArgumentValueError(
            f"For 'context.set_context', the argument 'device_target' must be one of {list(_TARGETS)}, but got {value}."
        )
    if name == "device_id" and not (isinstance(value, int) and 0 <= value <= 4095):
        raise ArgumentValueError(
            f"For 'context.set_context', the argument 'device_id' must be in range [0, 4095], but got {value}."
        )
    if name == "deterministic" and value not in ("ON", "OFF"):
        raise ArgumentValueError(
            "For 'context.set_context', the argument 'deterministic' must be one of ['ON', 'OFF'], "
            f"but got {value}."
        )
    if name == "jit_syntax_level" and value not in (STRICT, COMPATIBLE, LAX):
        raise ArgumentTypeError(
            f"For 'jit_syntax_level', type should be int and in [STRICT, COMPATIBLE, LAX], but got {value}."
        )


def _unused_path(path: str) -> str:
    """A path to print to: if the file exists, the time is appended to the name."""
    full = os.path.realpath(path)
    if os.path.isdir(full):
        raise IsADirectoryError(
            f"For 'context.set_context', the argument 'print_file_path' should be file path, but got directory {path}."
        )
    return f"{full}.{int(time.time())}" if os.path.exists(full) else full


def _resolve_target(target: str) -> str:
    """The device target to use; scripts written for Ascend run on the available device."""
    if target == "CPU":
        return target
    if worker_start_method() == "fork":
        raise unsupported_error("fork", "GPU", f"device_target={target!r}")
    import torch  # scripts for the CPU do not need the import

    has_gpu = torch.cuda.is_available()
    if target == "GPU":
        if not has_gpu:
            raise OperationError(
                "Unsupported device target GPU. This process only supports one of the ['CPU']. Please check whether "
                "PyTorch's CUDA build is installed and nvidia-smi lists a GPU."
            )
        return target
    if "ascend" not in _context.warned:
        _context.warned.add("ascend")
        logger.warning(
            "device_target=%s: no Ascend device is available; %s is used", target, "GPU" if has_gpu else "CPU"
        )
    return "GPU" if has_gpu else "CPU"


def _check_device_id(target: str, number: int) -> None:
    """Check the index of a GPU among the visible devices. The error lists them."""
    if target == "GPU":
        from .device_properties import check_device_id  # it loads PyTorch

        check_device_id(number)


def _device_id_of_environment() -> int:
    text = os.environ.get("DEVICE_ID", "0").strip() or "0"
    if not text.isdigit():
        raise ArgumentValueError(
            "The environment variable DEVICE_ID must be a number that counts the visible devices from 0, "
            f"but got {text!r}."
        )
    return int(text)


@public("millrace", "context")
def get_context(attr_key: str) -> Any:
    """Get the value of a setting."""
    if attr_key not in _DEFAULTS:
        raise ArgumentValueError(
            f"For 'context.get_context', the argument {attr_key} is not recognized! "
            "For detailed usage of 'get_context', please refer to the Mindspore official website."
        )
    return _context.values[attr_key]


@public("millrace")
def set_device(device_target: str, device_id: int | None = None) -> None:
    """Set the device of tensors and operations."""
    if not isinstance(device_target, str):
        raise ArgumentTypeError(f"The parameter 'device_target' must be str, but got {type(device_target)}.")
    set_context(
        device_target=device_target,
        device_id=_device_id_of_environment() if device_id is None else device_id,
    )


def get_device() -> str:
    """The device under PyTorch's name: "cpu" or "cuda:0"."""
    values = _context.values
    return "cpu" if values["device_target"] == "CPU" else f"cuda:{values['device_id']}"


@public("millrace")
def set_deterministic(deterministic: bool) -> None:
    """Enable deterministic algorithms: the same bits in every run, with slower kernels."""
    if not isinstance(deterministic, bool):
        raise ArgumentTypeError(
            f"The parameter 'deterministic' must be <class 'bool'>, but got {type(deterministic)}"
        )
    set_context(deterministic="ON" if deterministic else "OFF")


def is_deterministic() -> bool:
    """Whether deterministic algorithms are enabled."""
    return bool(_context.values["deterministic"] == "ON")


@public("millrace")
def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Set the maximum call depth of a graph. It is stored only: Python's recursion limit applies to captures.

    >>> set_recursion_limit(1000)
    """
    if not isinstance(recursion_limit, int) or isinstance(recursion_limit, bool):
        raise ArgumentTypeError(f"The input value must be int, but got '{type(recursion_limit).__name__}'")
    if recursion_limit <= 0:
        raise ArgumentValueError(
            f"The input value must be int and must > 0, but got '{recursion_limit}' with type 'int'."
        )
    set_context(max_call_depth=recursion_limit)


export_names(__name__, "millrace", "COMPATIBLE", "LAX", "STRICT")
export_names(__name__, "context", "COMPATIBLE", "LAX", "STRICT")
