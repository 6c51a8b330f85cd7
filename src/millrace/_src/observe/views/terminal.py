"""Live view in a terminal: a line for each stage, updated below the output of the program."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from millrace._src.core.statistics import StageStats
from millrace._src.observe.diagnosis import Diagnosis
from millrace._src.observe.history import CounterSample, history_of
from millrace._src.observe.observed_run import ObservedRun
from millrace._src.observe.report import Report

from .formatting import (
    file_and_line,
    format_cache_stats,
    format_count,
    format_workers,
    megabytes,
    per_second,
    plain_name,
    seconds,
    sparkline,
)

__all__ = ["TerminalView", "render_run"]

# The maximum number of runs that are shown.
MOST_SHOWN = 3
BAR = 12


class TerminalView:
    """Live display with rich on stderr, updated by the monitor's thread."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        # output of the program to the same terminal is shown above the display; redirected output is unchanged
        self._live = Live(
            console=self.console,
            auto_refresh=False,
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
            redirect_stderr=True,
        )
        self._began = False

    def start(self) -> None: ...

    def show(self, runs: list[ObservedRun]) -> None:
        shown = [run for run in runs if not run.closed][-MOST_SHOWN:] or runs[-1:]
        if not shown:
            return
        if not self._began:  # show nothing before there is a run
            self._live.start()
            self._began = True
        self._live.update(Group(*(render_run(run) for run in shown)), refresh=True)

    def stop(self, runs: list[ObservedRun]) -> None:
        try:
            self.show(runs)
        finally:
            if self._began:
                self._live.stop()


def render_run(run: ObservedRun) -> Group:
    """Render a run: the last two seconds of an active run, the whole time of a finished one."""
    stats, history, report = run.stats, history_of(run), Report(run)
    pair = None if run.closed or history is None else history.recent()
    took = pair[1].at - pair[0].at if pair else 0.0
    now = (pair[1].rows - pair[0].rows) / took if pair and took else report.rate
    head = Text.assemble(
        ("millrace ", "bold cyan"),
        (f"{per_second(now, 'row')} ", "bold"),
        (sparkline([r for _, r in history.rates()]) if history else "", "cyan"),
        f"  {format_count(report.rows, 'row')} in {seconds(report.elapsed)}",
        f"  held {megabytes(run.budget.used)} of {megabytes(run.budget.limit)}",
        "" if report.first_batch is None else f"  first batch {seconds(report.first_batch)}",
    )
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for name, ratio in (("stage", 3), ("on", 1)):
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for name in ("rate", "busy", "queue", "wait in", "wait out"):
        table.add_column(name, no_wrap=True, justify="left" if name in ("busy", "queue") else "right")
    for number, (stage, shown) in enumerate(zip(stats.stages, report.stages, strict=True)):
        table.add_row(*_cells(number, stage, shown, pair, report))
    caches = [
        Text(f"cache: {format_cache_stats(stage['cache'])}", style="cyan")
        for stage in report.stages
        if stage["cache"]
    ]
    return Group(head, table, *caches, _diagnosis_line(report.verdict))


def _cells(
    number: int,
    stage: StageStats,
    shown: dict[str, Any],
    pair: tuple[CounterSample, CounterSample] | None,
    report: Report,
) -> list[Any]:
    rate, share, took = shown["rate"], shown["utilisation"], report.elapsed
    wait_in, wait_out = stage.wait_in, stage.wait_out
    if pair is not None and pair[1].at > pair[0].at:
        first, last = pair
        took = last.at - first.at
        rate = (last.stage_rows[number] - first.stage_rows[number]) / took
        share = min(1.0, (last.busy[number] - first.busy[number]) / (took * max(1, stage.working)))
        wait_in = last.wait_in[number] - first.wait_in[number]
        wait_out = last.wait_out[number] - first.wait_out[number]
    guilty = report.verdict.stage in [stage.name, *(op.name for op in stage.ops)]
    name = Text(plain_name(stage.name), style="bold yellow" if guilty else "")
    if file_and_line(stage.where):
        name.append(f" {file_and_line(stage.where)}", style="dim")
    return [
        name,
        format_workers(stage.working, stage.stage_type) if stage.ops else stage.stage_type,
        per_second(rate, shown["unit"]),
        _bar(share, "yellow" if guilty else "green") if stage.busy else Text("-", style="dim"),
        _bar(stage.last_fill, "blue") if stage.fill else Text("-", style="dim"),
        f"{min(1.0, wait_in / took):.0%}" if took else "-",
        f"{min(1.0, wait_out / took):.0%}" if took else "-",
    ]


def _bar(share: float, style: str) -> Text:
    full = min(BAR, round(share * BAR))
    return Text.assemble(("━" * full, style), ("━" * (BAR - full), "grey35"), f" {share:4.0%}")


def _diagnosis_line(diagnosis: Diagnosis) -> Text:
    if not diagnosis.stage:
        return Text(diagnosis.evidence[0], style="dim")
    text = Text.assemble(
        ("▸ ", "yellow"), (plain_name(diagnosis.stage), "bold yellow"), f": {'; '.join(diagnosis.evidence)}. "
    )
    if diagnosis.change is not None:
        text.append(diagnosis.change.call, style="bold")
        text.append(
            f"  →  {per_second(diagnosis.predicted_rate, 'row')} ({diagnosis.gain:.1f}x)", style="bold green"
        )
    else:
        text.append(diagnosis.advice)
    return text
