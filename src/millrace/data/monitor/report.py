"""What a run did, stage by stage, and which stage holds it back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from millrace.core.cores import available_cores
from millrace.core.stats import StageStats

from .history import history_of
from .model import window_of
from .verdict import Verdict, judge
from .watched import Watched
from .words import count, crew, megabytes, seconds

__all__ = ["Report"]


class Report:
    """A snapshot of a run: as a table (``print(report)``), as data (``to_dict``), as a page (``to_html``).

    ``verdict`` names the bottleneck, the evidence, the change to make and the rate to expect after it.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset(list(range(1000)), shuffle=False).batch(10)
    >>> for row in data.create_tuple_iterator(num_epochs=1):
    ...     pass
    >>> report = data.report()
    >>> report.delivered, len(report.stages), report.rate > 0
    (100, 1, True)
    """

    def __init__(self, run: Watched) -> None:
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
        self.skipped = len(run.ledger)
        self.padding = run.padding
        self.cores = available_cores()
        steady = window_of(stats)
        took = steady.consumer_wait + steady.consumer_busy
        # rows per second, the start-up left out
        self.rate = steady.rows / took if took > 0 else 0.0
        outside = sum(stage.cpu for stage in stats.stages if stage.outside)
        self.cores_used = (stats.process_cpu + outside) / self.elapsed if self.elapsed else 0.0
        self.stages = [_stage(stage, self.elapsed) for stage in stats.stages if stage.kind != "indices"]
        self.verdict: Verdict = judge(stats, run.budget.limit, self.cores)
        # None unless a monitor looked at the run
        history = history_of(run)
        self.history: dict[str, Any] | None = None if history is None else history.to_dict()
        self._plan = run.plan

    @property
    def bottleneck(self) -> str:
        """The verdict as one paragraph.

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
        made = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {**made, "verdict": self.verdict.to_dict(), "bottleneck": self.bottleneck}

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str = "Millrace report") -> str:
        """The report as one page that needs nothing else: no network, no scripts. Written to ``path`` if given.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3])
        >>> _ = list(data.create_tuple_iterator(num_epochs=1))
        >>> data.report().to_html().startswith("<!doctype html>")
        True
        """
        from .page import page

        text = page(self, self._plan, title)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def __str__(self) -> str:
        from rich.console import Console
        from rich.table import Table

        table = Table(title=None, show_edge=False, pad_edge=False, box=None, header_style="bold")
        for heading in ("stage", "on", "rows", "rows/s", "busy", "computing", "wait in", "wait out", "queue"):
            table.add_column(heading, justify="left" if heading in ("stage", "on") else "right")
        for stage in self.stages:
            table.add_row(*_cells(stage))
            for op in stage["ops"] if len(stage["ops"]) > 1 else []:
                share = f"{op['cpu'] / op['busy']:.0%}" if op["busy"] else ""
                table.add_row(f"  {op['name']}", "", "", "", f"{op['busy']:.2f} s", share, "", "", "")
        console = Console(width=140, force_terminal=False, color_system=None)
        with console.capture() as captured:
            console.print(table)
        lines = "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())
        return f"{self.headline()}\n{lines}\n{self.bottleneck}"

    __repr__ = __str__

    def headline(self) -> str:
        """The run in one line.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3])
        >>> _ = list(data.create_tuple_iterator(num_epochs=1))
        >>> data.report().headline().split(" in ")[0]
        '3 delivered'
        """
        first = "-" if self.first_batch is None else seconds(self.first_batch)
        head = f"{self.delivered} delivered in {self.elapsed:.2f} s ({count(self.rate)} rows/s), first after {first}"
        held = f"peak held {megabytes(self.peak_bytes)} of {megabytes(self.budget_bytes)}"
        held += f", {megabytes(self.spilled_bytes)} went through the disk" if self.spilled_bytes else ""
        rows = f"; {self.skipped} rows skipped or replaced" if self.skipped else ""
        rows += f"; {self.padding} rows are padding of this shard" if self.padding else ""
        return f"{head}; {held}{rows}"


def _stage(stage: StageStats, elapsed: float) -> dict[str, Any]:
    # a barrier has no workers: its work is that of the thread it runs in
    busy, cpu = (stage.busy, stage.cpu) if stage.busy else (stage.pump_cpu, stage.pump_cpu)
    return {
        "name": stage.name,
        "where": stage.where,
        "kind": stage.kind,
        "workers": stage.workers,
        "working": stage.working,
        "rows": stage.rows,
        "chunks": stage.chunks,
        "bytes": stage.bytes,
        "rows_per_second": stage.rows / elapsed if elapsed else 0.0,
        "busy": busy,
        "cpu": cpu,
        "utilisation": busy / (elapsed * max(1, stage.workers)) if elapsed else 0.0,
        "wait_in": stage.wait_in,
        "wait_out": stage.wait_out,
        "queue_fill": stage.mean_fill,
        "budget_waits": stage.refused,
        "spilled_bytes": stage.spilled,
        "ops": [
            {"name": op.name, "where": op.where, "busy": op.busy, "cpu": op.cpu, "rows": op.rows}
            for op in stage.ops
        ],
    }


def _cells(stage: dict[str, Any]) -> list[str]:
    return [
        stage["name"],
        crew(stage["workers"], stage["kind"]) if stage["ops"] else stage["kind"],
        str(stage["rows"]),
        f"{stage['rows_per_second']:.0f}",
        f"{stage['utilisation']:.0%}",
        f"{stage['cpu'] / stage['busy']:.0%}" if stage["busy"] else "",
        f"{stage['wait_in']:.2f} s",
        f"{stage['wait_out']:.2f} s",
        f"{stage['queue_fill']:.0%}",
    ]
