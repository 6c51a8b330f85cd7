"""Table of the stages of a run in plain text, for a terminal with 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from .formatting import (
    file_and_line,
    format_cache_stats,
    format_workers,
    per_second,
    plain_name,
    seconds,
    truncate_middle,
)

if TYPE_CHECKING:
    from millrace._src.observe.report import Report

__all__ = ["WIDTH", "table"]

WIDTH = 80
# headings with their usual widths; long runs and many workers need more, and the name gets the rest
_COLUMNS = {"on": 11, "rate": 15, "busy": 4, "cpu": 4, "wait in": 7, "queue": 5}
# the minimum width of the name
_MIN_NAME = 12


def table(report: Report) -> list[str]:
    """A line for each stage, followed by a line for each op if it has several."""
    cells = [_cells(stage) for stage in report.stages]
    cells += [_op_cells(op) for stage in report.stages for op in _several(stage)]
    widths = [max([least, *map(len, column)]) for least, *column in zip(_COLUMNS.values(), *cells)]
    name_width = max(_MIN_NAME, WIDTH - sum(width + 1 for width in widths))

    def line(name: str, cells: list[str]) -> str:
        first, *rest = [f"{cell:{'<' if n == 0 else '>'}{widths[n]}}" for n, cell in enumerate(cells)]
        return " ".join([f"{name:{name_width}}", first, *rest]).rstrip()

    lines = [line("stage", list(_COLUMNS))]
    for stage in report.stages:
        lines.append(line(_name(stage, name_width), _cells(stage)))
        if stage["cache"]:
            text = f"  cache: {format_cache_stats(stage['cache'])}"
            lines += textwrap.wrap(text, WIDTH, subsequent_indent="    ", break_long_words=False)
        if sum(stage["drawn"]):
            shares = [f"{rows / sum(stage['drawn']):.1%}" for rows in stage["drawn"]]
            lines.append(truncate_middle(f"  drawn: {', '.join(shares)}", WIDTH))
        for op in _several(stage):
            lines.append(line("  " + truncate_middle(plain_name(op["name"]), name_width - 2), _op_cells(op)))
    return lines


def _several(stage: dict[str, Any]) -> list[dict[str, Any]]:
    """The ops of a stage, if there are several."""
    return list(stage["ops"]) if len(stage["ops"]) > 1 else []


def _op_cells(op: dict[str, Any]) -> list[str]:
    share = f"{op['cpu'] / op['busy']:.0%}" if op["busy"] else ""
    location = truncate_middle(file_and_line(op["where"]), _COLUMNS["on"])
    return [location, f"{seconds(op['busy'])} busy", "", share, "", ""]


def _name(stage: dict[str, Any], width: int) -> str:
    """The name of a stage, with its call site if it has a single op."""
    name, location = plain_name(stage["name"]), file_and_line(stage["where"])
    if len(stage["ops"]) > 1 or not location:
        return truncate_middle(name, width)
    location = truncate_middle(location, width // 2)
    return f"{truncate_middle(name, width - len(location) - 1)} {location}"


def _cells(stage: dict[str, Any]) -> list[str]:
    return [
        format_workers(stage["workers"], stage["kind"]) if stage["ops"] else stage["kind"],
        per_second(stage["rate"], stage["unit"]),
        f"{stage['utilisation']:.0%}",
        f"{stage['cpu'] / stage['busy']:.0%}" if stage["busy"] else "",
        seconds(stage["wait_in"]),
        f"{stage['queue_fill']:.0%}",
    ]
