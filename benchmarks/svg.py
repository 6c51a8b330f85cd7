"""Horizontal bars as an SVG file, written by hand: no plotting library, the same bytes for the same numbers."""

from __future__ import annotations

import dataclasses
from xml.sax.saxutils import escape, quoteattr

__all__ = ["BarRow", "bars"]

COLOURS = {"millrace": "#0b7285", "mindspore": "#e8590c", "torch": "#868e96"}
LABELS, WIDTH, RIGHT = 300, 900, 170
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
