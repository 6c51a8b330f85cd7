"""Recommendations: candidate changes of a pipeline, each with its predicted throughput.

Every parameter is tried on every part in the model. A candidate has the arguments to change; nothing is decided here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from millrace._src.core.statistics import OpStats, RunStats, StageStats

from .dispatch_overhead import BYTE_SECONDS, PROCESS_SECONDS, dispatch_seconds
from .performance_model import PerformanceModel, StageCost

__all__ = ["Candidate", "list_candidates", "slowest_op"]

# The maximum worker counts to try for waiting workers; processes cost memory and start-up time.
MAX_THREADS, MAX_PROCESSES = 16, 8
# Fewer workers are preferred if they reach this share of the best rate.
NEARLY = 0.95
# With this many rows in a batch, the cost to return it is negligible; the same for a chunk and its dispatch.
BATCH_ROWS, CHUNK_ROWS = 64, 64
PROCESS_CHUNK = 0.02
# The maximum share of the dispatch in the work on a chunk: 0.58 was measured for one row and a short function. A larger
# value is a measurement while the machine was slow, and would predict far too much.
MAX_FIXED = 0.57
# Seconds to stack a row into a batch, if rows were not stacked before.
STACK_SECONDS = 0.3e-6
# The maximum factor by which the memory budget is increased.
MAX_BUDGET_FACTOR = 16
# A part that was busy for a smaller share of the time is not the bottleneck.
BUSY = 0.5
# Returning batches is considered from this share of the consumer's time on.
HANDING_OUT = 0.3
# If the model explains less than this share of a run, it predicts nothing for other worker counts.
EXPLAINED = 0.5


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One change: the parameter, the arguments, their op, and the predicted rate."""

    knob: str
    value: Any
    arguments: dict[str, Any]
    stage: int
    op: OpStats | None
    predicted: float


def list_candidates(model: PerformanceModel, run: RunStats, budget: int) -> Iterator[Candidate]:
    if model.memory_limited:
        yield from _budget(model, run, budget)
        return  # other changes would be limited by the budget too
    for part in model.parts if model.measured > EXPLAINED * model.rate else ():
        if model.taken and part.block <= part.cpu:
            continue  # more workers would only compete with other programs for the cores
        if part.role == "segment" and _is_busy(model, part, run.stages[part.stage]):
            yield from _segment(model, part, run.stages[part.stage])
        elif part.role == "thread" and part.seconds * model.measured > BUSY:
            yield from _stream(model, part, run)
    yield from _chunks(model, run)
    yield from _batches(model, run)


def _is_busy(model: PerformanceModel, part: StageCost, stage: StageStats) -> bool:
    """Whether its workers, or its serial section, were busy most of the time."""
    sums = model.sums.stages[part.stage]
    return sums.busy > BUSY * model.seconds * max(1, stage.working) or part.serial * model.measured > BUSY


def slowest_op(stage: StageStats, part: StageCost | None) -> OpStats:
    """The most expensive op: by busy time if the part really waits, else by processor time."""
    waits = part is not None and part.block > part.cpu
    return max(stage.ops, key=lambda op: op.busy if waits else op.cpu)


def _segment(model: PerformanceModel, part: StageCost, stage: StageStats) -> Iterator[Candidate]:
    op = slowest_op(stage, part)
    may_move = not op.processes and not stage.fixed_executor and op.node_type != "Filter"
    if stage.shares_gil and op.python and may_move:
        models = [(n, _in_processes(model, part, stage, n)) for n in _counts(0, model.cores, MAX_PROCESSES)]
        value, predicted = _fewest([(n, model.predict(after)) for n, after in models])
        if op.node_type == "Read":
            arguments: dict[str, Any] = {"num_parallel_workers": value}
            yield Candidate("num_parallel_workers", value, arguments, part.stage, op, predicted)
        else:
            arguments = {"python_multiprocessing": True, "num_parallel_workers": value}
            yield Candidate("python_multiprocessing", True, arguments, part.stage, op, predicted)
    most = MAX_THREADS if stage.shares_gil else MAX_PROCESSES
    # do not recommend a number that was requested already and not granted
    counts = _counts(max(stage.workers, op.requested_workers or 0), model.cores, most)
    remembers = any(stage_op.serial and stage_op.node_type == "Map" for stage_op in stage.ops)
    if counts and not remembers and not (op.serial and op.node_type == "Read"):
        value, predicted = _fewest([(n, model.predict(_with_workers(model, part, n))) for n in counts])
        arguments = {"num_parallel_workers": value}
        yield Candidate("num_parallel_workers", value, arguments, part.stage, op, predicted)


def _counts(now: int, cores: int, most: int) -> list[int]:
    doubled = [1 << i for i in range(1, 12)]
    return sorted(n for n in {cores, *doubled} if now < n <= max(cores, most))


def _fewest(tried: list[tuple[int, float]]) -> tuple[int, float]:
    best = max(rate for _, rate in tried)
    return next((n, rate) for n, rate in tried if rate >= NEARLY * best)


def _with_workers(model: PerformanceModel, part: StageCost, workers: int) -> PerformanceModel:
    return model.with_parts(part.replace(workers=workers))


def _in_processes(
    model: PerformanceModel, part: StageCost, stage: StageStats, workers: int
) -> PerformanceModel:
    """The model with the segment in worker processes; a user's object that threads read is not moved."""
    rows = model.sums.rows
    sums = model.sums.stages[part.stage]
    stays = (
        stage.ops[0].python
        and stage.ops[0].node_type == "Read"
        and slowest_op(stage, part).node_type != "Read"
    )
    kept = sums.ops[0][2] / rows if stays else 0.0
    moved = max(0.0, part.cpu - kept)
    chunk = max(1.0, min(512.0, PROCESS_CHUNK / max(1e-9, moved + part.block)))
    handed = PROCESS_SECONDS / chunk + BYTE_SECONDS * sums.bytes / rows
    there = part.replace(workers=workers, cpu=moved + handed, gil=handed / 2, serial=0.0)
    if not kept:
        return model.with_parts(there)
    here = StageCost(-2 - part.stage, "segment", 1, cpu=kept, gil=kept)
    return model.with_parts(there, here)


def _stream(model: PerformanceModel, part: StageCost, run: RunStats) -> Iterator[Candidate]:
    """Candidate: random access instead of a one-pass source, read by worker processes."""
    stream = next((i for i in range(part.stage, -1, -1) if run.stages[i].stage_type == "stream"), None)
    inner = part.cpu - part.per_chunk
    if stream is None or inner + part.block <= 0:
        return
    tried = []
    for workers in _counts(0, model.cores, MAX_PROCESSES):
        chunk = max(1.0, min(512.0, PROCESS_CHUNK / (inner + part.block)))
        handed = PROCESS_SECONDS / chunk
        there = StageCost(
            -2 - stream, "segment", workers, cpu=inner + handed, block=part.block, gil=handed / 2
        )
        here = part.replace(cpu=part.per_chunk, block=0.0, gil=part.per_chunk)
        tried.append((workers, model.predict(model.with_parts(here, there))))
    value, predicted = _fewest(tried)
    yield Candidate("random_access", True, {"num_parallel_workers": value}, stream, None, predicted)


def _budget(model: PerformanceModel, run: RunStats, budget: int) -> Iterator[Candidate]:
    """Candidate: memory for a chunk per worker, and for as many queued chunks."""
    num_bytes, parts = 0.0, []
    for part in model.parts:
        if part.role == "segment":
            stage, sums = run.stages[part.stage], model.sums.stages[part.stage]
            num_bytes += 2 * sums.bytes / max(1, sums.chunks) * (stage.window + 1)
            parts.append(part.replace(workers=stage.working))
    value = int(min(MAX_BUDGET_FACTOR * budget, max(num_bytes, 2 * budget)))
    predicted = model.predict(model.with_parts(*parts), same_loss=False)
    if parts:
        part = min(parts, key=lambda part: part.rate)
        op = slowest_op(run.stages[part.stage], part)
        yield Candidate("memory_budget", value, {"memory_budget": value}, part.stage, op, predicted)


def _chunks(model: PerformanceModel, run: RunStats) -> Iterator[Candidate]:
    """Candidate: chunk sizes chosen by the engine instead of a fixed setting."""
    small = [i for i, stage in enumerate(run.stages) if stage.fixed_rows is not None and stage.background]
    if not small:
        return
    parts = []
    for part in model.parts:
        if part.role == "segment":
            parts.append(_larger(model, run.stages[part.stage], part))
        else:
            fewer = part.per_chunk * _fixed(run, small[0]) / CHUNK_ROWS
            parts.append(
                part.replace(cpu=part.cpu - part.per_chunk + fewer, gil=part.gil - part.per_chunk + fewer)
            )
    predicted = model.predict(model.with_parts(*parts), same_loss=False)
    op = run.stages[small[0]].ops[0] if run.stages[small[0]].ops else None
    yield Candidate("chunk_rows", None, {"chunk_rows": None}, small[0], op, predicted)


def _fixed(run: RunStats, stage: int) -> int:
    return min(CHUNK_ROWS, run.stages[stage].fixed_rows or 1)


def _larger(
    model: PerformanceModel, stage: StageStats, part: StageCost, rows: float = CHUNK_ROWS
) -> StageCost:
    """The segment with larger chunks: more rows share the dispatch cost."""
    sums = model.sums.stages[part.stage]
    now = sums.rows_in / max(1, sums.chunks)
    if now >= rows:
        return part
    fixed = min(MAX_FIXED * part.cpu, len(stage.ops) * dispatch_seconds() * sums.chunks / model.sums.rows)
    cpu = part.cpu - fixed * (1 - now / rows)
    return part.replace(cpu=cpu, gil=part.gil * cpu / part.cpu if part.cpu else 0.0)


def _batches(model: PerformanceModel, run: RunStats) -> Iterator[Candidate]:
    """Candidate: larger batches, if returning small ones takes most of the time."""
    sums, consumer = model.sums, model.part(-1)
    now = sums.rows / max(1, sums.delivered)
    batch = next((i for i, stage in enumerate(run.stages) if stage.batches), -1)
    size = run.stages[batch].batch_size if batch >= 0 else 1
    if size is None or max(now, size) * 4 > BATCH_ROWS or run.rows < 2 * BATCH_ROWS * max(1, run.epochs):
        return  # large already, not a number, or larger than an epoch
    handing_out = 0.0 if consumer is None else consumer.per_batch + consumer.per_chunk
    if handing_out * model.measured < HANDING_OUT:
        return
    parts = []
    for part in model.parts:
        stage, counted = run.stages[part.stage], sums.stages[part.stage]
        batchwise = counted.rows_in < 2 * now * counted.chunks
        if part.role == "segment":
            parts.append(_larger(model, stage, part, BATCH_ROWS) if stage.batches and batchwise else part)
        elif part.role == "consumer" and now <= 1:
            spared = part.per_batch + part.per_chunk - STACK_SECONDS
            parts.append(part.replace(cpu=max(STACK_SECONDS, part.cpu - spared), gil=STACK_SECONDS))
        elif part.role == "consumer" or batchwise:
            spared = (part.per_batch + part.per_chunk) * (1 - now / BATCH_ROWS)
            parts.append(part.replace(cpu=part.cpu - spared, gil=part.gil - spared))
    op = next((op for op in run.stages[batch].ops if op.node_type == "Batch"), None) if batch >= 0 else None
    predicted = model.predict(model.with_parts(*parts), same_loss=False)
    yield Candidate("batch_size", BATCH_ROWS, {"batch_size": BATCH_ROWS}, batch, op, predicted)
