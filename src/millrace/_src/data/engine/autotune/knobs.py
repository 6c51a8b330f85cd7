"""Tunable parameters (knobs) of a run, their limits, and how a new value is applied to a stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from millrace._src.core.machine.cores import available_cores
from millrace._src.core.tuned import AutotuneParameter
from millrace._src.data.engine.executors.base import Executor
from millrace._src.data.engine.stages.prefetch import PrefetchStage
from millrace._src.data.engine.stages.segment import SegmentConfig, SegmentStage

from .measurement import StageMeasurement
from .search import AHEAD, CHUNK, WORKERS, Knob

__all__ = ["Knobs"]

# Upper limits of workers on machines with fewer cores: threads wait for disks, processes cost memory and time to start.
MAX_THREADS, MAX_PROCESSES = 16, 8
# Chunks may grow to this multiple of the planned size; the byte limit applies in any case.
MAX_CHUNK_GROWTH = 8
MAX_AHEAD = 128


@dataclasses.dataclass
class _SegmentCounters:
    """Snapshot of the counters of a segment."""

    busy: float
    cpu: float
    serial: float
    refused: int
    chunks: int
    nbytes: int


class Knobs:
    """Knobs by name, their current values, and how to change them. Stages of the search are the segments here."""

    def __init__(self, segments: Sequence[SegmentStage], prefetch_stages: Sequence[PrefetchStage]) -> None:
        self.segments = [stage for stage in segments if stage.executor.traits.background]
        self.knobs: list[Knob] = []
        self.values: dict[str, int] = {}
        self.settings: dict[str, AutotuneParameter] = {}
        self._change: dict[str, Callable[[int], None]] = {}
        # chunk sizes that the engine chose itself, and knobs whose values were loaded from a file
        self._chunks: dict[int, int] = {}
        self._loaded: set[str] = set()
        for number, stage in enumerate(self.segments):
            self._register_segment(number, stage)
        for number, prefetch_stage in enumerate(prefetch_stages):
            name, where = prefetch_stage.stats.name, prefetch_stage.stats.where
            self.offer(
                f"{number}/queue", name, where, prefetch_stage.depth, 1, MAX_AHEAD, prefetch_stage.set_depth
            )
        self._counters_before = [self._read_counters(stage) for stage in self.segments]

    def offer(
        self,
        key: str,
        stage: str,
        where: str,
        value: int,
        least: int,
        most: int,
        change: Callable[[int], None],
    ) -> None:
        """Register a buffer of prefetched items between or after the stages."""
        self._add_knob(Knob(key, AHEAD, -1, least, max(most, value)), stage, where, value)
        self._change[key] = change

    def _register_segment(self, number: int, stage: SegmentStage) -> None:
        """Register the knobs of a segment: values start as the plan chose them; what the user fixed is not changed."""
        executor, stats, placement = stage.executor, stage.stats, stage.node.placement
        assert placement is not None
        resizes = type(executor).resize is not Executor.resize
        if resizes and not any(op.is_sequential for op in stage.node.ops):
            cap = MAX_THREADS if executor.traits.shares_gil else MAX_PROCESSES
            most = max(available_cores(), cap, executor.num_workers)
            self._add_knob(
                Knob(f"{number}/workers", WORKERS, number, 1, most),
                stats.name,
                stats.where,
                executor.num_workers,
            )
        self._add_knob(
            Knob(f"{number}/ahead", AHEAD, number, 1, MAX_AHEAD),
            stats.name,
            stats.where,
            stage.max_in_flight,
        )
        if stage.chunk_rows:
            knob = Knob(
                f"{number}/chunk",
                CHUNK,
                number,
                placement.row_multiple,
                max(placement.row_multiple, MAX_CHUNK_GROWTH * placement.max_rows),
            )
            self._add_knob(knob, stats.name, stats.where, stage.chunk_rows)

    def _add_knob(self, knob: Knob, stage: str, where: str, value: int) -> None:
        self.knobs.append(knob)
        self.values[knob.name] = value
        self.settings[knob.name] = AutotuneParameter(stage, where, knob.parameter, value, value)

    def refresh_values(self) -> None:
        """Update the values after warm-up: only active workers count, and the engine has chosen chunk sizes."""
        for number, stage in enumerate(self.segments):
            workers, chunk = f"{number}/workers", f"{number}/chunk"
            if workers in self.values and workers not in self._loaded:
                self.values[workers] = stage.stats.working
            if chunk in self.values and chunk not in self._loaded:
                self.values[chunk] = self._chunks[number] = stage.chunk_rows
                self.settings[chunk].before = self.settings[chunk].now = stage.chunk_rows

    def start_from(self, values: dict[str, int]) -> None:
        """Start from values of an earlier run."""
        self._loaded = set(values)
        self.apply({**self.values, **values})

    def owner(self, knob: Knob) -> str:
        """A description of what a knob belongs to; stable across runs with different values."""
        if knob.part < 0:
            return knob.parameter
        stage = self.segments[knob.part]
        return f"{stage.node.label} on {stage.executor.name}"

    def is_adaptive(self, knob: Knob, value: int) -> bool:
        """Whether the engine keeps adapting this value itself."""
        return knob.parameter == CHUNK and self._chunks.get(knob.part) == value

    def by_op(self, values: dict[str, int]) -> dict[int, tuple[int | None, int]]:
        """For each user op: its workers, if adjustable, and its prefetch depth."""
        settings_by_op: dict[int, tuple[int | None, int]] = {}
        for number, stage in enumerate(self.segments):
            numbers = values.get(f"{number}/workers"), values[f"{number}/ahead"]
            settings_by_op |= {op.op_id: numbers for op in stage.node.ops}
        return settings_by_op

    def apply(self, values: dict[str, int]) -> None:
        """Apply these values from the next chunk on."""
        changed = {name for name, value in values.items() if value != self.values.get(name)}
        self.values = dict(values)
        for name, value in values.items():
            self.settings[name].now = value
            if name in changed and name in self._change:
                self._change[name](value)
        for number, stage in enumerate(self.segments):
            chunk = values.get(f"{number}/chunk", 0)
            if f"{number}/chunk" not in self._loaded and chunk == self._chunks.get(number, chunk):
                chunk = 0
            workers = values.get(f"{number}/workers", stage.stats.working)
            stage.retune(SegmentConfig(workers, values[f"{number}/ahead"], chunk))

    @property
    def has_starting_workers(self) -> bool:
        """Whether a stage has workers that are still starting."""
        return any(stage.executor.num_starting for stage in self.segments)

    @property
    def has_pending_config(self) -> bool:
        """Whether a stage has not applied its values yet."""
        return any(stage.has_pending_config for stage in self.segments)

    # measurements ---------------------------------------------------------------------------------

    def reset_counters(self) -> None:
        """Reset the reference point of the counters."""
        self._counters_before = [self._read_counters(stage) for stage in self.segments]

    def parts(self, steps: int) -> tuple[StageMeasurement, ...]:
        """Measurements of the segments since the last reset, per step."""
        measurements = []
        for stage, before in zip(self.segments, self._counters_before, strict=True):
            now = self._read_counters(stage)
            chunks = max(1, now.chunks - before.chunks)
            measurements.append(
                StageMeasurement(
                    workers=stage.stats.working,
                    busy=(now.busy - before.busy) / steps,
                    cpu=(now.cpu - before.cpu) / steps,
                    serial=(now.serial - before.serial) / steps,
                    contends_for_gil=stage.stats.shares_gil and any(op.python for op in stage.stats.ops),
                    refused_share=(now.refused - before.refused) / chunks,
                    chunks=chunks / steps,
                    chunk_bytes=(now.nbytes - before.nbytes) / chunks,
                    window=stage.max_in_flight,
                )
            )
        return tuple(measurements)

    @staticmethod
    def _read_counters(stage: SegmentStage) -> _SegmentCounters:
        stats = stage.stats
        first = stats.ops[0]
        serial = first.busy if first.serial and stats.shares_gil else 0.0
        return _SegmentCounters(stats.busy, stats.cpu, serial, stats.refused, stats.chunks, stats.bytes)
