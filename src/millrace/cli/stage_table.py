"""The stages of a run as a table that fits the terminal."""

from __future__ import annotations

import re
from typing import Any

from rich.table import Table
from rich.text import Text

__all__ = ["short_name", "stage_table"]


def short_name(name: str) -> str:
    """A stage or op without its place in the file, and without the folder of a source.

    >>> short_name("map(Decode) at /a/b/pipeline.py:8")
    'map(Decode)'
    """
    return re.sub(r" at \S+:\d+$", "", name)


def stage_table(report: Any) -> Table:
    """One line per stage, one below it for each of several ops in it; long names are folded."""
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("stage", overflow="fold", ratio=1)
    for heading in ("on", "rows/s", "busy", "waits in", "waits out"):
        table.add_column(heading, justify="left" if heading == "on" else "right", no_wrap=True)
    for stage in report.stages:
        several = len(stage["ops"]) > 1
        table.add_row(
            Text(f"{len(stage['ops'])} ops, run together" if several else short_name(stage["name"])),
            Text(f"{stage['workers']} {stage['kind']}" if stage["ops"] else stage["kind"]),
            f"{stage['rows_per_second']:,.0f}",
            f"{stage['utilisation']:.0%}",
            f"{stage['wait_in']:.2f} s",
            f"{stage['wait_out']:.2f} s",
        )
        for op in stage["ops"] if several else []:
            table.add_row(
                Text(f"  {short_name(op['name'])}", style="dim"),
                "",
                "",
                Text(f"{op['busy']:.2f} s", style="dim"),
            )
    return table
