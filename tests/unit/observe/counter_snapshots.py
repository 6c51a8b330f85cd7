"""Counters of runs as they might have been, so that a verdict can be asked for without a run and without a clock."""

from __future__ import annotations

from typing import Any

from millrace._src.core.statistics import OpStats, RunStats, StageStats

__all__ = ["op", "run_of", "segment"]


def op(
    name: str = "map(decode)", *, kind: str = "Map", busy: float = 0.0, cpu: float = 0.0, **more: Any
) -> OpStats:
    where = "/home/me/train.py:7"
    return OpStats(f"{name} at {where}", where, node_type=kind, busy=busy, cpu=cpu, **more)


def segment(
    *ops: OpStats, kind: str = "threads", workers: int = 2, rows: int = 1000, **more: Any
) -> StageStats:
    """A segment whose time is that of its ops, in chunks of ten rows."""
    stage = StageStats(ops[0].name, kind, where=ops[0].where, workers=workers, working=workers, **more)
    stage.ops, stage.rows, stage.chunks = list(ops), rows, max(1, rows // 10)
    stage.window = 2 * workers
    for one in ops:
        one.rows = rows
    stage.busy, stage.cpu = sum(one.busy for one in ops), sum(one.cpu for one in ops)
    return stage


def run_of(
    *stages: StageStats,
    rows: int = 1000,
    wait: float = 1.0,
    consumer: float = 0.0,
    process_cpu: float = 0.5,
    idle: float = 1.5,
    first: float = 0.01,
    epochs: int = 1,
) -> RunStats:
    """A run that ended after ``wait`` + ``consumer`` seconds; ``idle`` are core seconds nobody used."""
    stats = RunStats()
    stats.delivered, stats.epochs = rows, epochs
    stats.consumer_wait, stats.consumer_busy, stats.consumer_cpu = wait, consumer, consumer
    stats.pull_cpu, stats.first_batch = 0.01, first
    stats._at_end = (process_cpu, idle)
    stats.started, stats.ended = 0.0, wait + consumer
    for stage in stages:
        stats.add(stage)
    return stats
