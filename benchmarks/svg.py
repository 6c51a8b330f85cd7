"""Bars and lines as SVG files, written by hand: no plotting library, the same bytes for the same numbers."""

from __future__ import annotations

import dataclasses
import math
from xml.sax.saxutils import escape, quoteattr

__all__ = ["BarRow", "Line", "bars", "lines"]

COLOURS = {
    "millrace": "#0b7285",
    "mindspore": "#e8590c",
    "torch": "#868e96",
    "tensorflow": "#f2a900",
    "grain": "#5c7cfa",
    "dali": "#74b816",
    "webdataset": "#be4bdb",
    "huggingface": "#e64980",
    "lightning": "#7048e8",
    "keras": "#c92a2a",
    "fastapi": "#2b8a3e",
}
LABELS, WIDTH, RIGHT = 300, 900, 150
ROW, GAP, TOP = 22, 8, 44


@dataclasses.dataclass(frozen=True)
class BarRow:
    label: str
    peer: str
    value: float
    low: float
    high: float
    text: str


def bars(title: str, rows: list[BarRow], note: str) -> str:
    """One bar per row at its median, a whisker from the lowest to the highest round."""
    height = TOP + len(rows) * (ROW + GAP) + 28
    most = max((row.high for row in rows), default=1) or 1
    scale = (WIDTH - LABELS - RIGHT) / most
    ink, space = 'fill="#212529"', "http://www.w3.org/2000/svg"
    look = 'font-family="system-ui, sans-serif" font-size="13" role="img"'
    parts = [
        f'<svg xmlns="{space}" viewBox="0 0 {WIDTH} {height}" {look} aria-label={quoteattr(title)}>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" font-weight="600" {ink}>{escape(title)}</text>',
    ]
    for i, row in enumerate(rows):
        y = TOP + i * (ROW + GAP)
        middle, text_y = y + ROW / 2, y + ROW / 2 + 4.5
        low, high = LABELS + max(0.0, row.low) * scale, LABELS + max(0.0, row.high) * scale
        length, colour = max(1.0, row.value * scale), COLOURS.get(row.peer, "#adb5bd")
        parts += [
            f'<text x="{LABELS - 10}" y="{text_y:.1f}" text-anchor="end" {ink}>{escape(row.label)}</text>',
            f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{ROW}" fill="{colour}"/>',
            f'<path d="M{low:.1f} {middle:.1f}H{high:.1f}" stroke="#212529" stroke-width="1.5"/>',
            f'<text x="{max(high, LABELS + 1) + 8:.1f}" y="{text_y:.1f}" {ink}>{escape(row.text)}</text>',
        ]
    parts += [f'<text x="12" y="{height - 10}" font-size="11" fill="#868e96">{escape(note)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of points (x, median, lowest, highest), x counted in doublings."""

    label: str
    peer: str
    points: tuple[tuple[int, float, float, float], ...]


def lines(title: str, drawn: list[Line], note: str) -> str:
    """One line per peer over a scale of doublings, with a dashed line for what the first would be if it were linear."""
    height, left, right, top, foot = 420, 70, 230, 50, 60
    counts = sorted({point[0] for line in drawn for point in line.points}) or [1]
    first = next((line.points for line in drawn if line.points), ())
    ideal = [(n, first[0][1] * n / first[0][0]) for n in counts] if first else []
    most = (
        max([p[3] for line in drawn for p in line.points] + [value for _, value in ideal], default=1.0) or 1.0
    )

    def x(count: float) -> float:
        span = math.log2(counts[-1] / counts[0]) or 1.0
        return left + (WIDTH - left - right) * math.log2(count / counts[0]) / span

    def y(value: float) -> float:
        return height - foot - (height - foot - top) * value / most

    def path(points: list[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)

    ink, grey = 'fill="#212529"', 'fill="#868e96"'
    look = 'font-family="system-ui, sans-serif" font-size="13" role="img"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {look} aria-label={quoteattr(title)}>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" font-weight="600" {ink}>{escape(title)}</text>',
    ]
    for part in range(5):
        value = most * part / 4
        parts += [
            f'<path d="M{left} {y(value):.1f}H{WIDTH - right}" stroke="#e9ecef"/>',
            f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end" {grey}>{value:,.0f}</text>',
        ]
    parts += [
        f'<text x="{x(n):.1f}" y="{height - foot + 20}" text-anchor="middle" {grey}>{n}</text>'
        for n in counts
    ]
    if ideal:
        dashed = path([(x(n), y(value)) for n, value in ideal])
        parts.append(f'<path d="{dashed}" fill="none" stroke="#adb5bd" stroke-dasharray="5 5"/>')
    ends: list[float] = []
    for line in drawn:
        if not line.points:
            continue
        colour = COLOURS.get(line.peer, "#adb5bd")
        dash = (
            ""
            if line.peer not in [other.peer for other in drawn[: drawn.index(line)]]
            else ' stroke-dasharray="2 3"'
        )
        way = path([(x(p[0]), y(p[1])) for p in line.points])
        parts.append(f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="2.5"{dash}/>')
        for n, value, low, high in line.points:
            parts += [
                f'<path d="M{x(n):.1f} {y(low):.1f}V{y(high):.1f}" stroke="{colour}"/>',
                f'<circle cx="{x(n):.1f}" cy="{y(value):.1f}" r="3.5" fill="{colour}"/>',
            ]
        last = y(line.points[-1][1])
        while any(abs(last - other) < 16 for other in ends):  # labels that would cover each other
            last += 4
        ends.append(last)
        parts.append(
            f'<text x="{x(line.points[-1][0]) + 10:.1f}" y="{last + 4:.1f}" {ink}>{escape(line.label)}</text>'
        )
    parts += [f'<text x="12" y="{height - 10}" font-size="11" {grey}>{escape(note)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
