"""Report of a run: statistics per stage, and the bottleneck."""

from __future__ import annotations

import dataclasses
import os
import textwrap
from html import escape
from pathlib import Path
from typing import Any

from millrace._src.core.machine.cores import available_cores
from millrace._src.core.statistics import StageSnapshot, StageStats
from millrace._src.data.plan.node import walk

from .diagnosis import Diagnosis, diagnose
from .history import history_of
from .observed_run import ObservedRun
from .performance_model import window_of
from .views.autotune import tuning_lines
from .views.formatting import format_count, megabytes, per_second, seconds
from .views.table import WIDTH, table

__all__ = ["Report"]


class Report:
    """A snapshot of a run: as a table (``print(report)``), as data (``to_dict``), as a page (``to_html``).

    ``verdict`` is the diagnosis: the bottleneck, the evidence, the recommended change and the predicted rate.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset(list(range(1000)), shuffle=False).batch(10)
    >>> for row in data.create_tuple_iterator(num_epochs=1):
    ...     pass
    >>> report = data.report()
    >>> report.delivered, len(report.stages), report.rate > 0
    (100, 1, True)
    """

    def __init__(self, run: ObservedRun) -> None:
        stats = run.stats
        self.elapsed = stats.elapsed
        self.delivered = stats.delivered
        self.rows = stats.rows
        self.first_batch = stats.first_batch
        self.consumer_wait = stats.consumer_wait
        self.consumer_busy = stats.consumer_busy
        self.peak_bytes = run.budget.peak
        self.budget_bytes = run.budget.limit
        self.spilled_bytes = sum(stage.spilled for stage in stats.stages)
        self.skipped = len(run.failed_rows)
        self.padding = run.padded_rows
        self.cores = available_cores()
        steady = window_of(stats)
        # rates and shares exclude the start-up if the run was long enough
        self.start_left_out = steady.delivered < stats.delivered
        took = steady.consumer_wait + steady.consumer_busy if self.start_left_out else self.elapsed
        self.rate = steady.rows / took if took > 0 else 0.0
        outside = sum(stage.cpu for stage in stats.stages if stage.outside)
        self.cores_used = (stats.process_cpu + outside) / self.elapsed if self.elapsed else 0.0
        units = units_of(run)
        # the unit of delivery: "row" or "batch"
        self.unit = units[-1] if units else "row"
        self.stages = [
            _stage(stage, sums, took, unit)
            for stage, sums, unit in zip(stats.stages, steady.stages, units, strict=True)
            if stage.stage_type != "indices"
        ]
        # the diagnosis uses the same rate as the report
        self.verdict: Diagnosis = diagnose(stats, run.budget.limit, self.cores).at(self.rate)
        # None unless the run was monitored
        history = history_of(run)
        self.history: dict[str, Any] | None = None if history is None else history.to_dict()
        # the changes of autotune and their gain; None if it is off
        self.tuning: dict[str, Any] | None = None if stats.tuning is None else stats.tuning.to_dict()
        self._tuning = stats.tuning
        self._plan = run.plan

    @property
    def bottleneck(self) -> str:
        """The diagnosis as one paragraph.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3]).batch(1)
        >>> _ = list(data.create_tuple_iterator(num_epochs=1))
        >>> data.report().bottleneck.partition(":")[0]
        'Too short to judge'
        """
        return str(self.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON.

        >>> import json
        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3])
        >>> _ = list(data.create_tuple_iterator(num_epochs=1))
        >>> json.loads(json.dumps(data.report().to_dict()))["delivered"]
        3
        """
        values = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {**values, "verdict": self.verdict.to_dict(), "bottleneck": self.bottleneck}

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str = "Millrace report") -> str:
        """The report as one self-contained page: no network, no scripts. Written to ``path`` if given.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3])
        >>> _ = list(data.create_tuple_iterator(num_epochs=1))
        >>> data.report().to_html().startswith("<!doctype html>")
        True
        """
        from .views.html_report import page

        text = page(self, self._plan, title)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def __str__(self) -> str:
        held = f"held at most {megabytes(self.peak_bytes)} of {megabytes(self.budget_bytes)}"
        held += f", {megabytes(self.spilled_bytes)} went through the disk" if self.spilled_bytes else ""
        tuned = tuning_lines(self._tuning, WIDTH)
        return "\n".join(
            [_wrap_text(self.headline()), held, *table(self), *tuned, _wrap_text(self.bottleneck)]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The page inside a frame, for notebooks."""
        inside = escape(self.to_html(), quote=True)
        style = "width:100%;height:640px;border:1px solid #8884;border-radius:8px"
        return f'<iframe title="Millrace report" style="{style}" srcdoc="{inside}"></iframe>'

    @property
    def tuned(self) -> list[str]:
        """The changes of autotune and their gain, as lines; empty if it is off.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3])
        >>> _ = list(data.create_tuple_iterator(num_epochs=1))
        >>> data.report().tuned
        []
        """
        return tuning_lines(self._tuning, width=1000)

    def headline(self) -> str:
        """The run in one line.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3]).batch(2)
        >>> _ = list(data.create_tuple_iterator(num_epochs=1))
        >>> data.report().headline().partition(" in 0")[0].rpartition(" in ")[0]
        '3 rows in 2 batches'
        """
        batches = f" in {format_count(self.delivered, 'batch')}" if self.unit == "batch" else ""
        head = f"{format_count(self.rows, 'row')}{batches} in {seconds(self.elapsed)}"
        if self.first_batch is not None:
            head += f", the first after {seconds(self.first_batch)}"
        head += f"; {'then ' if self.start_left_out else ''}{per_second(self.rate, 'row')}"
        head += f"; {format_count(self.skipped, 'row')} skipped or replaced" if self.skipped else ""
        return head + (
            f"; {format_count(self.padding, 'row')} of this shard are padding" if self.padding else ""
        )


def _wrap_text(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def units_of(run: ObservedRun) -> list[str]:
    """The unit of each stage: rows before the stage that makes batches, batches from there on."""
    nodes, stages = list(walk(run.plan.root)), run.stats.stages
    if len(nodes) != len(stages):
        # without the tree: all stages after one that makes batches
        first = next((i for i, stage in enumerate(stages) if stage.batches), len(stages))
        return ["row" if i < first else "batch" for i in range(len(stages))]
    batched: dict[int, bool] = {}
    for node, stage in zip(nodes, stages, strict=True):
        batched[id(node)] = stage.batches or any(batched[id(child)] for child in node.inputs)
    return ["batch" if batched[id(node)] else "row" for node in nodes]


def _cache(stage: StageStats, unit: str) -> dict[str, Any]:
    """The statistics of a cache; they count rows even if the same workers make batches."""
    assert stage.cache is not None
    counts = dataclasses.asdict(stage.cache)
    # the key of the report is "made"
    named = {"made" if name == "misses" else name: value for name, value in counts.items()}
    return named | {"unit": "row" if stage.ops else unit}


def _stage(stage: StageStats, steady: StageSnapshot, took: float, unit: str) -> dict[str, Any]:
    # a barrier has no workers: its work is that of the thread it runs in
    busy, cpu = (stage.busy, stage.cpu) if stage.busy else (stage.dispatch_cpu, stage.dispatch_cpu)
    share = (
        (steady.busy if stage.busy else steady.dispatch_cpu) / (took * max(1, stage.working)) if took else 0.0
    )
    return {
        "name": stage.name,
        "where": stage.where,
        "kind": stage.stage_type,
        "workers": stage.workers,
        "working": stage.working,
        # total outputs, and outputs per second after the start-up
        "unit": unit,
        "given": stage.num_outputs,
        "rate": stage.count_outputs(steady) / took if took else 0.0,
        "chunks": stage.chunks,
        "bytes": stage.bytes,
        "busy": busy,
        "cpu": min(busy, cpu),
        # the share of time that its workers were busy
        "utilisation": min(1.0, share),
        "wait_in": stage.wait_in,
        "wait_out": stage.wait_out,
        "queue_fill": stage.mean_fill,
        "budget_waits": stage.refused,
        "spilled_bytes": stage.spilled,
        # the statistics of its cache, if there is one
        "cache": None if stage.cache is None else _cache(stage, unit),
        # rows from each input of a mix
        "drawn": list(stage.sampled),
        "ops": [
            {
                "name": op.name,
                "where": op.where,
                "busy": op.busy,
                "cpu": min(op.busy, op.cpu),
                "rows": op.rows,
            }
            for op in stage.ops
        ],
    }
