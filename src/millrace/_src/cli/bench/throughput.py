"""Run a pipeline for some seconds and measure its throughput."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millrace.dataset as ds
from millrace._src.cli.history_recorder import record_history
from millrace._src.core.errors import MillraceError
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes import order_ops as ops

from .auto_pipeline import Target, bytes_of

__all__ = ["ThroughputResult", "measure", "time_shares", "stored_files", "stored_images"]

SAMPLED_ROWS = 4096
SAMPLED_IMAGES = 256
SAMPLING_SECONDS = 2.0


@dataclasses.dataclass
class ThroughputResult:
    """Result of one run: rows, rates, and skipped files."""

    rows: int = 0
    batches: int = 0
    epochs: int = 0
    seconds: float = 0.0
    # rows per second after the first batch
    rate: float = 0.0
    first_batch: float = 0.0
    # bytes of arrays per second, and of files where their size is known
    delivered: float = 0.0
    read: float = 0.0
    peak_bytes: int = 0
    bad_rows: int = 0
    # file -> why its rows were skipped
    bad: dict[str, str] = dataclasses.field(default_factory=dict)
    # the error that ended the run early
    error: str = ""
    report: Any = None


def measure(target: Target, seconds: float, step: Callable[[float, int], None]) -> ThroughputResult:
    """Read epochs until the time is over; ``step(seconds, rows)`` is called after each batch."""
    result = ThroughputResult(bad=dict(target.bad))
    out = 0
    first_rows = 0
    batched = target.data.get_batch_size() != 1
    began = time.perf_counter()
    iterator = target.data.create_dict_iterator(num_epochs=-1, output_numpy=True)
    look = record_history(iterator)
    with contextlib.closing(iterator):
        try:
            while not result.seconds or result.seconds < seconds:
                before = result.batches
                for row in iterator:
                    rows = len(next(iter(row.values()))) if batched else 1
                    result.seconds = time.perf_counter() - began
                    result.rows += rows
                    result.batches += 1
                    out += sum(np.asarray(value).nbytes for value in row.values())
                    if result.batches == 1:
                        result.first_batch, first_rows = result.seconds, rows
                    step(result.seconds, result.rows)
                    look()
                    if result.seconds >= seconds:
                        break
                else:
                    result.epochs += 1
                if result.batches == before:
                    break  # an epoch without rows: later epochs have none either
        except MillraceError as error:
            result.error = str(error)
        if result.batches or result.error:
            result.report = target.data.report() if result.batches else None
    _add_bad(result, target.data)
    steady = result.seconds - result.first_batch
    if result.batches > 1 and steady > 0:
        result.rate = (result.rows - first_rows) / steady
    elif result.seconds:
        result.rate = result.rows / result.seconds
    if result.rows:
        result.delivered = result.rate * out / result.rows
        result.read = result.rate * target.file_bytes / max(1, _stored_rows(target.data))
    if result.report is not None:
        result.peak_bytes = result.report.peak_bytes
    return result


def _add_bad(result: ThroughputResult, data: ds.Dataset) -> None:
    for entry in data.skipped():
        result.bad_rows += 1
        name = entry.file or f"row {entry.row}"
        result.bad.setdefault(name, entry.reason.partition("\n")[0])


def time_shares(report: Any) -> list[tuple[str, float]]:
    """(operation, share of the working time of all workers), largest first."""
    busy: list[tuple[str, float]] = []
    for stage in report.stages:
        if stage["ops"]:
            busy += [(op["name"], op["busy"]) for op in stage["ops"]]
        else:
            busy.append((stage["name"], stage["busy"]))
    total = sum(time for _, time in busy) or 1.0
    return sorted(((name, time / total) for name, time in busy), key=lambda one: -one[1])


def _list_sources(data: ds.Dataset) -> list[Any]:
    return [node.source for node in walk(data._node) if isinstance(node, ops.Read)]


def _stored_rows(data: ds.Dataset) -> int:
    try:
        return sum(source.size() or 0 for source in _list_sources(data))
    except (MillraceError, TypeError):
        return 0


def stored_files(target: Target) -> list[str]:
    """Files that the pipeline reads, where its sources name them; of many files, an evenly spread sample."""
    if target.files:
        return target.files
    paths: dict[str, None] = {}
    for source in _list_sources(target.data):
        arguments: dict[str, Any] = getattr(source, "arguments", dict)()
        named = [
            name for value in arguments.values() for name in (value if isinstance(value, list) else [value])
        ]
        files = [name for name in named if isinstance(name, str) and os.path.isfile(name)]
        paths |= dict.fromkeys(files or _one_by_one(source))
    return list(paths)


def _one_by_one(source: Any) -> Iterator[str]:
    """Files of a source that has one file per row."""
    if not hasattr(source, "row_location"):
        return
    rows = source.size() or 0
    for row in range(0, rows, max(1, rows // SAMPLED_ROWS)):
        path = source.row_location(row)
        if path is None:
            return
        if os.path.isfile(path):
            yield path


def stored_images(data: ds.Dataset) -> Iterator[Any]:
    """The bytes of the image files that the pipeline reads, from files or from records."""
    end = time.perf_counter() + SAMPLING_SECONDS
    for node in walk(data._node):
        # a custom source may be slow, or may run only once: it is not read
        if not isinstance(node, ops.Read) or not hasattr(node.source, "row_location"):
            continue
        with contextlib.closing(data._peek(node, SAMPLED_IMAGES)) as rows:  # type: ignore[type-var]
            for row in rows:
                contents = (bytes_of(value) for value in row.values())
                yield from (np.frombuffer(image, np.uint8) for image in contents if image)
                if time.perf_counter() > end:
                    return
