"""Print the findings: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .finding import LEVELS, Finding

__all__ = ["print_findings", "summary"]

_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}
_MARKS = {"ok": "✓", "note": "i", "warning": "!", "problem": "✗", "remedy": "→"}
_PLAIN_MARKS = {"ok": "+", "note": "i", "warning": "!", "problem": "x", "remedy": ">"}


def summary(findings: Sequence[Finding]) -> str:
    """Number of findings per level.

    >>> summary([Finding("ok", "x"), Finding("note", "y"), Finding("ok", "z")])
    'no problems, 1 note, 2 ok'
    """
    counts = Counter(finding.level for finding in findings)
    parts = [
        f"{counts[level]} {level}{'s' if counts[level] != 1 else ''}"
        for level in ("problem", "warning", "note")
        if counts[level]
    ]
    return ", ".join([*([] if counts["problem"] else ["no problems"]), *parts, f"{counts['ok']} ok"])


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print the findings by level; problems come last, next to the prompt."""
    ordered = sorted(findings, key=lambda finding: LEVELS.index(finding.level))
    if console.is_terminal:
        console.print(_build_table(ordered, _MARKS if console.encoding.startswith("utf") else _PLAIN_MARKS))
        worst = ordered[-1].level if ordered else "ok"
        console.print(f"\n[{_STYLES[worst]}]{summary(findings)}[/]")
    else:
        for finding in ordered:
            console.print(_format_plain(finding), markup=False, emoji=False)
        console.print(f"\n{summary(findings)}", markup=False)


def _build_table(findings: Sequence[Finding], marks: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(max_width=24)
    table.add_column(overflow="fold")
    for finding in findings:
        style = _STYLES[finding.level]
        parts: list[RenderableType] = [Text(finding.summary)]
        if finding.impact:
            parts.append(Text(finding.impact, style="dim"))
        if finding.remedy:
            parts.append(Text.assemble((f"{marks['remedy']} ", style), (finding.remedy, "bold")))
        name = Text(finding.check, style="" if finding.level == "ok" else style)
        table.add_row(Text(marks[finding.level], style=style), name, Group(*parts))
    return table


def _format_plain(finding: Finding) -> str:
    lines = [f"{finding.level:<7}  {finding.check}: {finding.summary}"]
    if finding.impact:
        lines += textwrap.wrap(finding.impact, 110, initial_indent=" " * 9, subsequent_indent=" " * 9)
    if finding.remedy:
        lines.append(f"         remedy: {finding.remedy}")
    return "\n".join(lines)
