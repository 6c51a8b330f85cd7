"""The stages of a run as lines of plain text that fit a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from .words import cache_words, crew, cut, file_and_line, per_second, plain_name, seconds

if TYPE_CHECKING:
    from .report import Report

__all__ = ["WIDTH", "table"]

WIDTH = 80
# heading, width; the first takes what the others leave
_COLUMNS = (("on", 11), ("rate", 15), ("busy", 4), ("cpu", 4), ("wait in", 7), ("queue", 5))
_NAME = WIDTH - sum(width + 1 for _, width in _COLUMNS)


def table(report: Report) -> list[str]:
    """A line for each stage, and one below it for each of several ops in it."""
    lines = [_line("stage", [heading for heading, _ in _COLUMNS])]
    for stage in report.stages:
        lines.append(_line(_name(stage), _cells(stage)))
        if stage["cache"]:
            told = f"  cache: {cache_words(stage['cache'])}"
            lines += textwrap.wrap(told, WIDTH, subsequent_indent="    ", break_long_words=False)
        if sum(stage["drawn"]):
            shares = [f"{rows / sum(stage['drawn']):.1%}" for rows in stage["drawn"]]
            lines.append(cut(f"  drawn: {', '.join(shares)}", WIDTH))
        for op in stage["ops"] if len(stage["ops"]) > 1 else []:
            share = f"{op['cpu'] / op['busy']:.0%}" if op["busy"] else ""
            place = cut(file_and_line(op["where"]), 11)
            cells = [place, f"{seconds(op['busy'])} busy", "", share, "", ""]
            lines.append(_line("  " + cut(plain_name(op["name"]), _NAME - 2), cells))
    return lines


def _line(name: str, cells: list[str]) -> str:
    made = f"{name:{_NAME}}"
    for (heading, width), cell in zip(_COLUMNS, cells, strict=True):
        made += f" {cell:{width}}" if heading == "on" else f" {cell:>{width}}"
    return made.rstrip()


def _name(stage: dict[str, Any]) -> str:
    """What it is and, where there is room or where one op could be taken for another, its place in the script."""
    name, place = plain_name(stage["name"]), file_and_line(stage["where"])
    if len(stage["ops"]) > 1 or not place:
        return cut(name, _NAME)
    place = cut(place, _NAME // 2)
    return f"{cut(name, _NAME - len(place) - 1)} {place}"


def _cells(stage: dict[str, Any]) -> list[str]:
    return [
        crew(stage["workers"], stage["kind"]) if stage["ops"] else stage["kind"],
        per_second(stage["rate"], stage["unit"]),
        f"{stage['utilisation']:.0%}",
        f"{stage['cpu'] / stage['busy']:.0%}" if stage["busy"] else "",
        seconds(stage["wait_in"]),
        f"{stage['queue_fill']:.0%}",
    ]
