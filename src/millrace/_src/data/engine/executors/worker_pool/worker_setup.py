"""Worker setup: pickled runner, large buffers and environment in one sealed memory file mapped by every worker.

The runner is pickled once for all workers. Its large buffers are stored next to the pickle in the same memory, which
every worker maps copy-on-write: a gigabyte of samples inside a user's dataset exists once, not once per worker.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
from collections.abc import Sequence
from typing import Any

from millrace._src.core import log_settings
from millrace._src.core.errors import PlanError, ResourceError
from millrace._src.core.machine import shared_memory
from millrace._src.data.engine.executors.base import ChunkFunction

from . import module_state
from .pickle_errors import pickling_error
from .serialization import PickleByValue

__all__ = [
    "apply_environment",
    "load_runner",
    "write_worker_setup",
    "pickle_runner",
    "prelude",
    "read_environment",
    "unpickle_runner",
    "merge_environment",
    "capture_environment",
]

_ALIGN = 4096  # buffers start on page boundaries, so that writing to one does not copy parts of another
_HEAD = struct.Struct("<8sQ")
_MAGIC = b"MRKIT001"

# Modules that a worker imports before the runner is loaded. A module that changes names for a whole process, such as
# the stand-in for MindSpore, adds itself here when the user imports it.
prelude: list[str] = []


def write_worker_setup(runner: ChunkFunction) -> int:
    """Write the worker setup and return its descriptor. PlanError when the runner cannot be pickled."""
    parts = pickle_runner(runner)
    sizes = [memoryview(part).nbytes for part in parts]
    head: dict[str, Any] = {"world": capture_environment(), "parts": []}
    # The length of the header shifts the parts; offsets count from the first page after it.
    end = 0
    for size in sizes:
        head["parts"].append([end, size])
        end = -(-(end + size) // _ALIGN) * _ALIGN
    text = json.dumps(head).encode()
    base = -(-(_HEAD.size + len(text)) // _ALIGN) * _ALIGN
    fd = shared_memory.create(base + end, "millrace-kit")
    try:
        _write(fd, 0, _HEAD.pack(_MAGIC, len(text)) + text)
        for part, (offset, _) in zip(parts, head["parts"]):
            _write(fd, base + offset, part)
        shared_memory.seal(fd, write=True)
    except OSError as error:
        os.close(fd)
        raise ResourceError(
            f"cannot allocate the {base + end} bytes that workers share ({error.strerror}); the dataset object "
            "holds large arrays: read them lazily, or run with python_multiprocessing=False"
        ) from error
    return fd


def pickle_runner(runner: ChunkFunction) -> list[Any]:
    """The pickled runner, the state of user modules, and the runner's large buffers without copies."""
    try:
        data, buffers = PickleByValue().dumps(runner)
    except Exception as error:
        raise pickling_error(runner, error, runner.describe()) from error
    return [data, module_state.collect_module_state(data), *buffers]


def unpickle_runner(parts: Sequence[Any]) -> ChunkFunction:
    """Rebuild the runner; its large arrays are views of the parts."""
    module_state.install_module_state(parts[1])
    runner: ChunkFunction = PickleByValue().loads(parts[0], parts[2:])
    module_state.apply_deferred_state()
    return runner


def capture_environment() -> dict[str, Any]:
    """The environment of this process that workers reproduce."""
    return {
        "environ": dict(os.environ),
        "path": sys.path,
        "argv": getattr(sys, "argv", []),
        "cwd": _current_directory(),
        "prelude": prelude,
        "log": log_settings.export_settings(),
    }


def _current_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # the folder was deleted


def _write(fd: int, offset: int, part: Any) -> None:
    view = memoryview(part).cast("B")
    while view.nbytes:
        done = os.pwrite(fd, view[: 1 << 30], offset)
        view, offset = view[done:], offset + done


def _open(fd: int) -> tuple[Any, shared_memory.ByteArray, int]:
    data = shared_memory.map_fd(fd, shared_memory.read_size(fd), private=True)
    magic, length = _HEAD.unpack_from(data.data)
    if magic != _MAGIC:
        raise PlanError("the descriptor passed to the worker is not a worker setup")
    head = json.loads(bytes(data[_HEAD.size : _HEAD.size + length]))
    return head, data, -(-(_HEAD.size + length) // _ALIGN) * _ALIGN


def read_environment(fd: int) -> dict[str, Any]:
    environment: dict[str, Any] = _open(fd)[0]["world"]
    return environment


def apply_environment(environment: dict[str, Any]) -> None:
    """Apply the parent's environment variables, working directory, import path and log settings."""
    os.environ.clear()
    os.environ.update(environment["environ"])
    sys.path.clear()
    merge_environment(environment)


def merge_environment(environment: dict[str, Any]) -> None:
    """The same in a process with a separate environment, possibly on another machine: it keeps its variables, and its
    own import path comes first.
    """
    if environment["cwd"] is not None:
        try:
            os.chdir(environment["cwd"])
        except OSError:
            pass
    known = set(sys.path)
    sys.path += [entry for entry in environment["path"] if entry not in known]
    sys.argv[:] = environment["argv"]
    log_settings.apply_settings(environment["log"])
    for name in environment["prelude"]:
        importlib.import_module(name)


def load_runner(fd: int) -> ChunkFunction:
    head, data, base = _open(fd)
    return unpickle_runner([data[base + offset : base + offset + size] for offset, size in head["parts"]])
