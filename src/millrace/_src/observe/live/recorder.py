"""Record the counters of pipelines, device queues and trainings of a program in an event log."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
import weakref
from pathlib import Path
from typing import Any

from millrace._src.core import device_queues as sinks
from millrace._src.core.errors import FormatError
from millrace._src.core.log import get_logger
from millrace._src.data.plan.node import Node
from millrace._src.observe import training_registry as steps
from millrace._src.observe.diagnosis import Diagnosis, diagnose
from millrace._src.observe.observed_run import ObservedRun
from millrace._src.observe.report import units_of
from millrace._src.observe.views.formatting import (
    file_and_line,
    format_workers,
    plain_name,
    short_name,
    truncate_middle,
)

from .event_log import EventLogWriter
from .series import Series, SeriesRegistry

__all__ = ["RunRecorder"]

log = get_logger(__name__)

# Seconds between two diagnoses of an active series: each costs a millisecond.
DIAGNOSIS_INTERVAL = 2.0
# The maximum length of a name, and of a sentence.
NAME, SENTENCE = 120, 400
# The maximum number of ops recorded per stage.
MOST_OPS = 16


class RunRecorder:
    """Samples all counters a few times a second, in the monitor's thread. A full disk only ends the recording."""

    def __init__(self, path: Path) -> None:
        self._began = time.perf_counter()
        self._log: EventLogWriter | None = EventLogWriter(path, _head())
        self.path = path
        self._pipelines, self._channels, self._trainings = (
            SeriesRegistry(),
            SeriesRegistry(),
            SeriesRegistry(),
        )
        # started runs whose end is not recorded yet
        self._runs: list[ObservedRun] = []
        self._begun = steps.subscribe(self)
        self._going: list[steps.MonitoredTraining] = []
        # queues that were open before are not recorded
        self._before: weakref.WeakSet[Any] = weakref.WeakSet(sinks.open_queues())
        self._last_diagnosis_times: dict[str, float] = {}
        self._last_diagnoses: dict[str, Any] = {}

    def follow(self, run: ObservedRun) -> None:
        """A pipeline begins."""
        self._runs.append(run)

    def look(self) -> None:
        """Take a point of each."""
        if self._log is None:
            return
        now = round(time.perf_counter() - self._began, 3)
        try:
            self._look(self._log, now)
            self._log.flush()
        except (OSError, FormatError) as error:  # disk full, or the file was replaced by another process
            log.warning("the history %s is not written any more: %s", self.path, error)
            self._log.forget()
            self._log = None

    def _look(self, book: EventLogWriter, now: float) -> None:
        # runs that end from here on are sampled once more
        runs, over = list(self._runs), [run for run in self._runs if run.closed]
        stats: dict[int, int] = {}
        for run in runs:
            track = self._pipelines.of(run, _key(run))
            if track is not None:
                stats[id(run.stats)] = track.number
                self._pipeline(book, run, track, now)
        self._pipelines.keep(runs)
        self._runs = [run for run in self._runs if not any(run is one for one in over)]
        channels = sinks.open_queues()
        for channel in channels:
            counts = channel.counts()
            pipeline = stats.get(id(counts.pipeline_stats))
            track = self._channels.of(channel, (counts.device, pipeline), begins=channel not in self._before)
            if track is not None:
                self._channel(book, channel, counts, track, pipeline, now)
                if counts.ended and not counts.ring and not counts.host:
                    track.finish()
        self._channels.keep(channels)
        while self._begun:
            self._going.append(self._begun.popleft())
        still = []
        for training in self._going:
            step = training.counts()
            pipeline = stats.get(id(step.pipeline_stats))
            track = self._trainings.of(training, (step.network, pipeline))
            if track is not None:
                self._training(book, step, track, pipeline, now)
            if not step.over:
                still.append(training)
            elif track is not None:
                track.finish()
        self._going = still
        self._trainings.keep(still)

    # pipelines --------------------------------------------------------------------------------------

    def _pipeline(self, book: EventLogWriter, run: ObservedRun, track: Series, now: float) -> None:
        description = _description(run)
        if description != track.description:
            track.description = description
            book.add({"is": "pipeline", "t": now, "pipeline": track.number, **description})
        closed, stats = run.closed, run.stats
        counted = track.counted(
            {
                "rows": stats.rows,
                "batches": stats.delivered,
                "epochs": stats.epochs,
                "waited": _short(stats.consumer_wait),
                "between": _short(stats.consumer_busy),
                "given": [stage.num_outputs for stage in stats.stages],
                "busy": [_short(stage.busy or stage.dispatch_cpu) for stage in stats.stages],
                "cpu": [_short(min(stage.cpu, stage.busy) or stage.dispatch_cpu) for stage in stats.stages],
                "op_busy": [[_short(op.busy) for op in stage.ops[:MOST_OPS]] for stage in stats.stages],
                "wait_in": [_short(stage.wait_in) for stage in stats.stages],
                "wait_out": [_short(stage.wait_out) for stage in stats.stages],
            }
        )
        book.add(
            {
                "is": "point",
                "t": now,
                "pipeline": track.number,
                **{name: _shortened(value) for name, value in counted.items()},
                "held": 0 if closed else run.budget.used,
                "peak": run.budget.peak,
                "fill": [0.0 if closed else _short(stage.last_fill) for stage in stats.stages],
            }
        )
        if self._is_time(f"pipeline {track.number}", now, closed):
            diagnosis = diagnose(stats, run.budget.limit)
            self._write_diagnosis(book, "pipeline", track.number, now, _diagnosis_fields(diagnosis, run))
        if closed:
            book.add({"is": "end", "t": now, "pipeline": track.number})
            track.finish()

    # channels and trainings -------------------------------------------------------------------------

    def _channel(
        self,
        book: EventLogWriter,
        channel: Any,
        counts: sinks.TransferCounts,
        track: Series,
        pipeline: Any,
        now: float,
    ) -> None:
        sums = {name: _short(getattr(counts, name)) for name in _SUMS}
        book.add(
            {
                "is": "point",
                "t": now,
                "channel": track.number,
                "name": truncate_middle(counts.name, NAME),
                "device": counts.device,
                "of": pipeline,
                **{name: _shortened(value) for name, value in track.counted(sums).items()},
                "host": counts.host,
                "host_slots": counts.host_slots,
                "ring": counts.ring,
                "ring_slots": counts.ring_slots,
                "ended": truncate_middle(counts.ended, SENTENCE),
            }
        )
        if self._is_time(f"channel {track.number}", now, bool(counts.ended)):
            diagnosis = channel.diagnosis()
            fields = {"stage": truncate_middle(short_name(diagnosis.stage), NAME)}
            fields |= {
                name: truncate_middle(getattr(diagnosis, name), SENTENCE)
                for name in ("situation", "evidence", "advice")
            }
            self._write_diagnosis(book, "channel", track.number, now, fields)

    def _training(
        self, book: EventLogWriter, step: steps.TrainingCounts, track: Series, pipeline: Any, now: float
    ) -> None:
        sums = {"seconds": _short(step.seconds), "waited": _short(step.waited), "steps": step.steps}
        book.add(
            {
                "is": "point",
                "t": now,
                "training": track.number,
                "of": pipeline,
                "network": truncate_middle(step.network, NAME),
                **{name: _shortened(value) for name, value in track.counted(sums).items()},
                "step": step.step,
                "epoch": step.epoch,
                "epochs": step.epochs,
                "steps_in_epoch": step.steps_in_epoch,
                "loss": _value(step.loss),
                "rate": _value(step.rate),
                "over": step.over,
            }
        )

    # diagnoses --------------------------------------------------------------------------------------

    def _is_time(self, key: str, now: float, ended: bool) -> bool:
        if not ended and now - self._last_diagnosis_times.get(key, -DIAGNOSIS_INTERVAL) < DIAGNOSIS_INTERVAL:
            return False
        self._last_diagnosis_times[key] = now
        return True

    def _write_diagnosis(
        self, book: EventLogWriter, series_type: str, number: int, now: float, fields: dict[str, Any]
    ) -> None:
        """Record a diagnosis if it has changed."""
        key = f"{series_type} {number}"
        if self._last_diagnoses.get(key) != fields:
            self._last_diagnoses[key] = fields
            book.add({"is": "verdict", "t": now, series_type: number, **fields})

    def close(self, why: str = "") -> None:
        """Sample once more, and record the end. ``why`` is the error, if there was one."""
        self.look()
        steps.unsubscribe(self)
        book, self._log = self._log, None
        if book is None:
            return
        try:
            book.add(
                {
                    "is": "over",
                    "t": round(time.perf_counter() - self._began, 3),
                    "why": truncate_middle(why, SENTENCE),
                }
            )
            book.close()
        except (OSError, FormatError) as error:
            log.warning("the end of the history %s was not written: %s", self.path, error)

    def forget(self) -> None:
        """In a child of fork: the file is the parent's."""
        steps.unsubscribe(self)
        if self._log is not None:
            self._log.forget()
            self._log = None


_SUMS = ("sent", "taken", "bytes", "data", "moving", "full", "waited", "stepping")


def _head() -> dict[str, Any]:
    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c") else "python"
    rank = os.environ.get("RANK", "")
    return {
        "started": round(time.time(), 3),
        "program": truncate_middle(program, NAME),
        "rank": int(rank) if rank.isdigit() and len(rank) < 9 else None,
        "pid": os.getpid(),
        "host": truncate_middle(socket.gethostname(), NAME),
    }


def _key(run: ObservedRun) -> tuple[Any, ...]:
    return tuple((stage.name, stage.stage_type, len(stage.ops)) for stage in run.stats.stages)


def _description(run: ObservedRun) -> dict[str, Any]:
    stages, units = run.stats.stages, units_of(run)
    feeds = _feeds(run.plan.root, len(stages))
    return {
        "limit": run.budget.limit,
        "stages": [
            {
                "name": truncate_middle(plain_name(stage.name), NAME),
                "place": truncate_middle(file_and_line(stage.where), NAME),
                "on": format_workers(stage.working, stage.stage_type) if stage.ops else stage.stage_type,
                "working": max(1, stage.working),
                "unit": unit,
                # some stages pass rows through without a queue
                "queue": bool(stage.fill),
                "feeds": feed,
                "ops": [truncate_middle(plain_name(op.name), NAME) for op in stage.ops[:MOST_OPS]],
            }
            for stage, unit, feed in zip(stages, units, feeds, strict=True)
        ],
    }


def _feeds(root: Node, count: int) -> list[int | None]:
    """The index of the next stage for each stage; None for the last."""
    consumers: list[int | None] = []

    def visit(node: Node) -> int:
        inputs = [visit(child) for child in node.inputs]
        consumers.append(None)
        for number in inputs:
            consumers[number] = len(consumers) - 1
        return len(consumers) - 1

    visit(root)
    return consumers if len(consumers) == count else [*range(1, count), None][:count]


def _diagnosis_fields(diagnosis: Diagnosis, run: ObservedRun) -> dict[str, Any]:
    guilty: list[int] = []
    op: int | None = None
    for number, stage in enumerate(run.stats.stages):
        names = [op.name for op in stage.ops[:MOST_OPS]]
        if not guilty and diagnosis.stage and diagnosis.stage in (stage.name, *names):
            guilty, op = [number], names.index(diagnosis.stage) if diagnosis.stage in names else None
    return {
        "kind": diagnosis.bottleneck,
        "stage": truncate_middle(plain_name(diagnosis.stage), NAME),
        "place": truncate_middle(file_and_line(diagnosis.where), NAME),
        "guilty": guilty,
        "op": op,
        "evidence": [truncate_middle(line, SENTENCE) for line in diagnosis.evidence],
        # the call is a separate field
        "advice": truncate_middle(
            diagnosis.advice.partition(":")[0] if diagnosis.change else diagnosis.advice, SENTENCE
        ),
        "call": truncate_middle(diagnosis.change.call, SENTENCE) if diagnosis.change else "",
        "now": _figures(diagnosis.rate),
        "predicted": _figures(diagnosis.predicted_rate),
    }


def _figures(number: float) -> float:
    """Round to three digits: diagnoses that differ in the fourth digit are equal."""
    return float(f"{number:.3g}") if math.isfinite(number) else 0.0


def _short(number: float) -> float:
    return number if isinstance(number, int) else round(number, 4)


def _shortened(value: Any) -> Any:
    """Round values: sums of rounded numbers have rounding errors."""
    return [_shortened(one) for one in value] if isinstance(value, list) else _short(value)


def _value(number: float | None) -> float | str | None:
    """A number for JSON: NaN and infinity as text."""
    if number is None:
        return None
    return float(f"{number:.6g}") if math.isfinite(number) else str(number)
