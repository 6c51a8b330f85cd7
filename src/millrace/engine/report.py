"""What a run did, stage by stage, and which stage holds it back."""

from __future__ import annotations

from typing import Any

from millrace.core.cores import available_cores

from .driver import Run
from .stats import StageStats

__all__ = ["Report"]


class Report:
    """A snapshot of a run's counters, as a table (``print(report)``), as data (``to_dict``), and as a verdict."""

    def __init__(self, run: Run) -> None:
        stats = run.stats
        self.elapsed = stats.elapsed
        self.delivered = stats.delivered
        self.first_batch = stats.first_batch
        self.consumer_wait = stats.consumer_wait
        self.consumer_busy = stats.consumer_busy
        self.peak_bytes = run.budget.peak
        self.budget_bytes = run.budget.limit
        self.skipped = len(run.ledger)
        self.padding = run.padding
        self.stages = [_stage(stage, self.elapsed) for stage in stats.stages if stage.kind != "indices"]
        self.bottleneck = _verdict(self, stats.stages)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return dict(vars(self))

    def __str__(self) -> str:
        from rich.console import Console
        from rich.table import Table

        table = Table(title=None, show_edge=False, pad_edge=False, box=None, header_style="bold")
        for heading in ("stage", "on", "rows", "rows/s", "busy", "wait in", "wait out", "queue"):
            table.add_column(heading, justify="left" if heading in ("stage", "on") else "right")
        for stage in self.stages:
            table.add_row(*_cells(stage))
            for op in stage["ops"] if len(stage["ops"]) > 1 else []:
                table.add_row(f"  {op['name']}", "", "", "", f"{op['busy']:.2f} s", "", "", "")
        console = Console(width=130, force_terminal=False, color_system=None)
        with console.capture() as captured:
            console.print(table)
        rate = self.delivered / self.elapsed if self.elapsed else 0.0
        first = "-" if self.first_batch is None else f"{self.first_batch * 1000:.0f} ms"
        head = f"{self.delivered} delivered in {self.elapsed:.2f} s ({rate:.0f}/s), first after {first}"
        held = f"peak held {self.peak_bytes / 1e6:.1f} MB of {self.budget_bytes / 1e6:.0f} MB"
        rows = f"; {self.skipped} rows skipped or replaced" if self.skipped else ""
        rows += f"; {self.padding} rows are padding of this shard" if self.padding else ""
        lines = "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())
        return f"{head}; {held}{rows}\n{lines}\n{self.bottleneck}"

    __repr__ = __str__


def _stage(stage: StageStats, elapsed: float) -> dict[str, Any]:
    return {
        "name": stage.name,
        "kind": stage.kind,
        "workers": stage.workers,
        "rows": stage.rows,
        "chunks": stage.chunks,
        "bytes": stage.bytes,
        "rows_per_second": stage.rows / elapsed if elapsed else 0.0,
        "busy": stage.busy,
        "utilisation": _utilisation(stage, elapsed),
        "wait_in": stage.wait_in,
        "wait_out": stage.wait_out,
        "queue_fill": stage.mean_fill,
        "ops": [{"name": op.name, "busy": op.busy, "rows": op.rows} for op in stage.ops],
    }


def _utilisation(stage: StageStats, elapsed: float) -> float:
    return stage.busy / (elapsed * max(1, stage.workers)) if elapsed else 0.0


def _cells(stage: dict[str, Any]) -> list[str]:
    return [
        stage["name"],
        f"{stage['workers']} {stage['kind']}" if stage["ops"] else stage["kind"],
        str(stage["rows"]),
        f"{stage['rows_per_second']:.0f}",
        f"{stage['utilisation']:.0%}",
        f"{stage['wait_in']:.2f} s",
        f"{stage['wait_out']:.2f} s",
        f"{stage['queue_fill']:.0%}",
    ]


def _verdict(report: Report, stages: list[StageStats]) -> str:
    """One sentence: who waits for whom, on what evidence, and what to change."""
    busy = [stage for stage in stages if stage.busy > 0]
    if not busy or not report.delivered:
        return "Nothing was delivered yet, so there is no bottleneck to name."
    waited, worked = report.consumer_wait, report.consumer_busy
    if worked > 4 * waited:
        share = waited / (waited + worked)
        return (
            f"The consumer is the bottleneck: it waited for data only {share:.0%} of the time; "
            "a faster pipeline would change nothing."
        )
    slowest = max(busy, key=lambda stage: stage.busy / max(1, stage.workers))
    op = max(slowest.ops, key=lambda op: op.busy, default=None)
    name = slowest.name if op is None else op.name
    use = _utilisation(slowest, report.elapsed)
    cores = available_cores()
    evidence = f"its {slowest.workers} {slowest.kind} were busy {use:.0%} of the time"
    if op is None:
        evidence = f"it runs in one thread and was busy {use:.0%} of the time"
        advice = "a random-access source (with __getitem__ and __len__) can be read by several workers"
    elif use < 0.5:
        advice = "no stage is saturated: the time goes into hand-overs and waiting; larger batches would help"
    elif slowest.workers < cores:
        advice = f"raise its num_parallel_workers towards the {cores} cores"
    elif slowest.kind == "threads" and op.python:
        advice = (
            f"all {cores} cores have a worker; if the function is plain Python, python_multiprocessing=True takes it "
            "out of the GIL, otherwise it must do less work per row"
        )
    else:
        advice = f"all {cores} cores have a worker: more cores, or less work per row, would help"
    return f"The bottleneck is {name}: {evidence}; {advice}."
