"""``profile`` and ``Profiler``, based on PyTorch's profiler."""

from __future__ import annotations

import csv
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public

from .options import ProfilerAction, ProfilerActivity, _ExperimentalConfig

__all__ = ["Profiler", "profile", "tensorboard_trace_handler"]

COLUMNS = ("name", "calls", "self_cpu_us", "cpu_us", "self_device_us", "device_us")


@public("profiler")
class profile:
    """Profiles the operations of a training.

    Use it as a context manager, or call ``start`` and ``stop``, and call ``step`` after each training step. With a
    `schedule` only some steps are recorded, and `on_trace_ready` is called with this object after each recorded window
    (`tensorboard_trace_handler` writes files). ``table`` shows the most expensive operations, ``export`` writes a trace
    for Chrome (about:tracing) and Perfetto. Settings of Ascend are accepted and ignored.

    >>> from millrace import Tensor
    >>> with profile() as prof:
    ...     _ = Tensor([1.0]) + Tensor([2.0])
    ...     prof.step()
    >>> "aten::add" in prof.table()
    True
    """

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        with_stack: bool = False,
        profile_memory: bool = False,
        data_process: bool = False,
        parallel_strategy: bool = False,
        start_profile: bool = True,
        hbm_ddr: bool = False,
        pcie: bool = False,
        sync_enable: bool = True,
        record_shapes: bool = False,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        experimental_config: _ExperimentalConfig | None = None,
    ) -> None:
        requested = list(activities) if activities is not None else list(ProfilerActivity)
        if not all(isinstance(each, ProfilerActivity) for each in requested):
            raise ArgumentTypeError(
                f"For 'profile', 'activities' must be ProfilerActivity, but got {activities!r}."
            )
        for name, value in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if value is not None and not callable(value):
                raise ArgumentTypeError(f"For 'profile', '{name}' must be callable, but got {value!r}.")
        device = ProfilerActivity.GPU in requested or ProfilerActivity.NPU in requested
        self._activities = [torch.profiler.ProfilerActivity.CPU] if ProfilerActivity.CPU in requested else []
        if device and torch.cuda.is_available():
            self._activities.append(torch.profiler.ProfilerActivity.CUDA)
        self._activities = self._activities or [torch.profiler.ProfilerActivity.CPU]
        self._options: dict[str, Any] = {
            "with_stack": with_stack,
            "profile_memory": profile_memory,
            "record_shapes": record_shapes,
        }
        self._plan, self._ready, self._starts = schedule, on_trace_ready, start_profile
        self._window: Any = None
        self._last: Any = None
        self._notes: dict[str, str] = {}
        self._began: float | None = None
        self.step_num = 0
        # seconds of each step since start
        self.step_seconds: list[float] = []

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self._plan is None else self._plan(self.step_num)

    def start(self) -> None:
        """Start profiling."""
        if self._began is not None:
            raise OperationError("The profiler has been started already; stop() it first.")
        self._began, self.step_num = time.perf_counter(), 0
        self._open()

    def _open(self) -> None:
        if self._window is None and self._action() in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._window = torch.profiler.profile(
                activities=self._activities, acc_events=True, **self._options
            )
            self._window.start()

    def _close(self) -> None:
        if self._window is None:
            return
        for name, value in self._notes.items():
            self._window.add_metadata_json(name, value)
        self._window.stop()
        self._last, self._window = self._window, None
        if self._ready is not None:
            self._ready(self)

    def step(self) -> None:
        """Mark the end of a training step."""
        if self._began is None:
            raise OperationError("The profiler has not been started: call start(), or use it with `with`.")
        now = time.perf_counter()
        self.step_seconds.append(now - self._began)
        action = self._action()
        if self._window is not None:
            self._window.step()
        if action is ProfilerAction.RECORD_AND_SAVE:
            self._close()
        self.step_num += 1
        self._open()
        self._began = time.perf_counter()

    def stop(self) -> None:
        """Stop profiling."""
        if self._began is None:
            raise OperationError("The profiler has not been started, so it cannot be stopped.")
        self._close()
        self._began = None

    def add_metadata(self, key: str, value: str) -> None:
        """Add a string to the metadata of the trace."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise ArgumentTypeError("For 'add_metadata', 'key' and 'value' must be str.")
        self._notes[key] = json.dumps(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a JSON value to the metadata of the trace."""
        try:
            json.loads(value)
        except (TypeError, ValueError) as error:
            raise ArgumentValueError(f"For 'add_metadata_json', 'value' is no JSON: {error}") from None
        self._notes[key] = value

    def _finished_window(self) -> Any:
        if self._last is None:
            raise OperationError("Nothing has been recorded: run some steps, then stop() the profiler.")
        return self._last

    def table(self, limit: int = 20, sort_by: str = "self_cpu_time_total") -> str:
        """Table of the most expensive operations."""
        return str(self._finished_window().key_averages().table(sort_by=sort_by, row_limit=limit))

    def rows(self) -> list[dict[str, Any]]:
        """Operations, most expensive first: calls, self and total microseconds."""
        rows = [
            dict(
                zip(
                    COLUMNS,
                    (
                        each.key, each.count, each.self_cpu_time_total, each.cpu_time_total,
                        each.self_device_time_total, each.device_time_total,
                    ),
                    strict=True,
                )
            )
            for each in self._finished_window().key_averages()
        ]  # fmt: skip
        return sorted(rows, key=lambda row: row["self_cpu_us"] + row["self_device_us"], reverse=True)

    def export(self, path: str) -> None:
        """Write the trace as a file for Chrome and Perfetto."""
        self._finished_window().export_chrome_trace(path)

    def write(self, folder: str, worker: str | None = None) -> None:
        """Write the trace, the operations as CSV and the step times to a folder."""
        os.makedirs(folder, exist_ok=True)
        name = worker or f"{socket.gethostname()}_{os.getpid()}"
        stem = os.path.join(folder, f"{name}.{time.time_ns() // 1_000_000}")
        self.export(f"{stem}.pt.trace.json")
        with open(f"{stem}.operators.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, COLUMNS)
            out.writeheader()
            out.writerows(self.rows())
        with open(f"{stem}.steps.csv", "w", encoding="utf-8") as file:
            file.writelines(f"{number},{seconds:.9f}\n" for number, seconds in enumerate(self.step_seconds))

    def __enter__(self) -> Self:
        if self._starts:
            self.start()
        return self

    def __exit__(self, *err: object) -> None:
        if self._began is not None:
            self.stop()


@public("profiler")
def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[Any], None]:
    """Create an `on_trace_ready` function that writes the trace and tables to a folder (default "./data").

    >>> import os
    >>> with profile(on_trace_ready=tensorboard_trace_handler("traces")) as prof:
    ...     prof.step()
    >>> sorted(name.split(".", 2)[2] for name in os.listdir("traces"))
    ['operators.csv', 'pt.trace.json', 'steps.csv']
    """
    if dir_name is not None and not isinstance(dir_name, str):
        raise ArgumentTypeError(
            f"For 'tensorboard_trace_handler', 'dir_name' must be a str, but got {dir_name!r}."
        )

    def handler(prof: Any) -> None:
        prof.write(dir_name or "data", worker_name)

    return handler


@public("millrace", "profiler")
class Profiler(profile):
    """Older interface of :class:`profile`: it starts on creation, and ``analyse`` stops it and writes its files.

    `output_path` is the folder (default "./data"). Settings of Ascend are accepted and ignored.

    >>> import os
    >>> profiler = Profiler(output_path="profiled")
    >>> profiler.analyse()
    >>> len(os.listdir("profiled"))
    3
    """

    KNOWN = (
        "activities", "with_stack", "profile_memory", "data_process", "parallel_strategy", "hbm_ddr", "pcie",
        "sync_enable", "record_shapes", "schedule", "on_trace_ready",
    )  # fmt: skip
    TAKEN = (
        "profiler_level", "aicore_metrics", "aic_metrics", "l2_cache", "mstx", "data_simplification", "export_type",
        "profile_communication", "profile_framework", "op_time", "timeline_limit", "is_detail", "host_stack", "sys_io",
        "mstx_domain_include", "mstx_domain_exclude", "sys_interconnection", "host_sys", "optypes_not_deal",
        "show_op_time", "job_id", "ascend_job_id",
    )  # fmt: skip

    def __init__(self, **kwargs: Any) -> None:
        self._folder = kwargs.pop("output_path", None) or "data"
        if not isinstance(self._folder, str):
            raise ArgumentTypeError(f"For 'Profiler', 'output_path' must be a str, but got {self._folder!r}.")
        starts = kwargs.pop("start_profile", True)
        if not isinstance(starts, bool):
            raise ArgumentTypeError(f"For 'Profiler', 'start_profile' must be a bool, but got {starts!r}.")
        for name in kwargs:
            if name not in (*self.KNOWN, *self.TAKEN):
                raise ArgumentTypeError(f"Profiler() got an unexpected keyword argument '{name}'.")
        super().__init__(**{name: kwargs[name] for name in self.KNOWN if name in kwargs}, start_profile=False)
        if starts:
            self.start()

    def analyse(
        self, offline_path: str | None = None, pretty: bool = False, step_list: Any = None, mode: str = "sync"
    ) -> None:
        """Stop if it is running, and write the trace and tables."""
        if mode not in ("sync", "async"):
            raise ArgumentValueError(f"For 'analyse', 'mode' must be 'sync' or 'async', but got {mode!r}.")
        if self._began is not None:
            self.stop()
        self.write(offline_path or self._folder)

    @classmethod
    def offline_analyse(cls, path: str, *args: Any, **kwargs: Any) -> None:
        """Not supported: written files need no further analysis."""
        raise OperationError(
            "'offline_analyse' has nothing to do: analyse() writes traces and tables that are ready to read."
        )

    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> str:
        """Call counts and times of some operations, as JSON."""
        names = [op_name] if isinstance(op_name, str) else op_name
        if not isinstance(names, (list, tuple)) or not all(isinstance(each, str) for each in names):
            raise ArgumentTypeError(
                f"For 'op_analyse', 'op_name' must be a str or a list of str, but got {op_name!r}."
            )
        rows = {row["name"]: row for row in self.rows()}
        return json.dumps(
            {name: rows.get(name, rows.get(f"aten::{name}", "no such operation")) for name in names}
        )
