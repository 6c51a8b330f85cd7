"""Inline SVG charts: lines over time, and a tree of boxes. Colours come from the page's style sheet."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from html import escape
from typing import TypeVar

__all__ = ["Box", "line_chart", "strip", "tree"]

T = TypeVar("T")
Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 480, 190
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 14, 28


def line_chart(
    points: Points,
    show: Callable[[float], str],
    *,
    label: str,
    limit: float | None = None,
    limit_name: str = "",
) -> str:
    """A line chart over seconds, with its area; ``limit`` adds a horizontal limit line."""
    last = max((x for x, _ in points), default=0.0) or 1.0
    most = max([y for _, y in points] + ([limit] if limit is not None else []), default=0.0) or 1.0
    most *= 1.08
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def coordinates(x: float, y: float) -> str:
        return f"{LEFT + x / last * across:.1f} {TOP + (1 - y / most) * down:.1f}"

    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">']
    for i in range(4):
        y = most / 1.08 * i / 3
        parts.append(f'<path class="grid" d="M{coordinates(0, y)}H{WIDTH - RIGHT}"/>')
        x, at = coordinates(0, y).split()
        parts.append(f'<text x="{LEFT - 8}" y="{float(at) + 4:.1f}" class="end">{escape(show(y))}</text>')
    for i in range(4):
        x = coordinates(last * i / 3, 0).split()[0]
        anchor = "end" if i == 3 else "middle"
        parts.append(f'<text x="{x}" y="{HEIGHT - 8}" class="{anchor}">{_seconds(last * i / 3, last)}</text>')
    if points:
        line = "L".join(coordinates(x, y) for x, y in points)
        first = coordinates(points[0][0], 0)
        parts.append(f'<path class="area" d="M{first}L{line}L{coordinates(points[-1][0], 0)}Z"/>')
        parts.append(f'<path class="line" d="M{line}"/>')
    if limit is not None:
        x, at = coordinates(0, limit).split()
        parts.append(f'<path class="limit" d="M{x} {at}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{WIDTH - RIGHT}" y="{float(at) + 14:.1f}" class="end limit">{escape(limit_name)}</text>'
        )
    return "".join(parts) + "</svg>"


def _seconds(value: float, last: float) -> str:
    return f"{value:.0f} s" if last >= 10 else f"{value:.1f} s"


def strip(points: Points, *, label: str) -> str:
    """A small chart of shares between 0 and 1 over time, without axes."""
    last = max((x for x, _ in points), default=0.0) or 1.0
    line = "L".join(f"{x / last * 300:.1f} {34 - y * 32:.1f}" for x, y in points)
    area = f'<path class="area" d="M0 34L{line}L300 34Z"/><path class="line" d="M{line}"/>' if points else ""
    return (
        f'<svg class="strip" viewBox="0 0 300 36" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f'<path class="grid" d="M0 34H300M0 2H300"/>{area}</svg>'
    )


# --------------------------------------------------------------------------------------------------
# trees

BOX, GAP_X, GAP_Y = 264, 18, 30


@dataclasses.dataclass(frozen=True)
class Box:
    """One node: a title, lines below it, its busy share (None if unknown), and whether it is the bottleneck."""

    title: str
    lines: tuple[str, ...] = ()
    share: float | None = None
    is_bottleneck: bool = False

    @property
    def height(self) -> int:
        return 34 + 17 * len(self.lines) + (8 if self.share is not None else 0)


def tree(root: T, inputs: Callable[[T], Sequence[T]], box: Callable[[T], Box], *, label: str) -> str:
    """A tree with its leaves at the top and the root at the bottom, in the direction of data flow."""
    placed: list[tuple[T, Box, float, int, list[int]]] = []
    columns = 0

    def lay(node: T) -> int:
        nonlocal columns
        below = [lay(child) for child in inputs(node)]
        if below:
            x = sum(placed[i][2] for i in below) / len(below)
            depth = max(placed[i][3] for i in below) + 1
        else:
            x, depth, columns = float(columns), 0, columns + 1
        placed.append((node, box(node), x, depth, below))
        return len(placed) - 1

    lay(root)
    deepest = max(depth for _, _, _, depth, _ in placed)
    tall = [max(b.height for _, b, _, d, _ in placed if d == depth) for depth in range(deepest + 1)]
    tops = [2 + sum(tall[:depth]) + GAP_Y * depth for depth in range(deepest + 1)]
    width, height = columns * (BOX + GAP_X) - GAP_X + 4, tops[-1] + tall[-1] + 4
    size = f'viewBox="0 0 {width} {height}" style="max-width:{width}px"'
    parts = [f'<svg class="tree" {size} role="img" aria-label="{escape(label)}">']
    for _, _, x, depth, below in placed:
        to_x, to_y = 2 + x * (BOX + GAP_X) + BOX / 2, tops[depth]
        for i in below:
            _, child, child_x, child_depth, _ = placed[i]
            from_x, from_y = 2 + child_x * (BOX + GAP_X) + BOX / 2, tops[child_depth] + child.height
            middle = to_y - GAP_Y / 2
            parts.append(
                f'<path class="edge" d="M{from_x:.0f} {from_y}C{from_x:.0f} {middle} {to_x:.0f} {middle} '
                f'{to_x:.0f} {to_y - 5}"/><path class="tip" d="M{to_x:.0f} {to_y}l-4 -7h8z"/>'
            )
    for _, b, x, depth, _ in placed:
        parts.append(_box(b, 2 + x * (BOX + GAP_X), tops[depth]))
    return "".join(parts) + "</svg>"


def _box(box: Box, x: float, y: int) -> str:
    css_class = "box guilty" if box.is_bottleneck else "box"
    parts = [
        f'<g class="{css_class}"><title>{escape(" · ".join((box.title, *box.lines)))}</title>',
        f'<rect x="{x:.0f}" y="{y}" width="{BOX}" height="{box.height}" rx="8"/>',
        f'<text x="{x + 12:.0f}" y="{y + 22}" class="name">{escape(_cut(box.title, 26))}</text>',
    ]
    for i, line in enumerate(box.lines):
        parts.append(
            f'<text x="{x + 12:.0f}" y="{y + 40 + 17 * i}" class="detail">{escape(_cut(line, 35))}</text>'
        )
    if box.share is not None:
        full = BOX - 24
        for css_class, share in (("track", 1.0), ("used", min(1.0, box.share))):
            geometry = f'x="{x + 12:.0f}" y="{y + box.height - 11}" width="{max(1.0, full * share):.0f}"'
            parts.append(f'<rect {geometry} height="4" rx="2" class="{css_class}"/>')
    return "".join(parts) + "</g>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
