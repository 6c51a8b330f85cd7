"""The tables of served models: every server, with so many requests on the way at once."""

from __future__ import annotations

import statistics
from types import ModuleType
from typing import Any

from benchmarks import peers

__all__ = ["tables"]


def tables(found: list[tuple[str, ModuleType, Any]]) -> list[str]:
    """One for each model: requests/s (p50 / p99 and CPU time of a request, in ms) by requests at once."""
    lines = []
    for _, module, entry in found:
        curves = {
            f"{peers.NAMES[peer]}, {variant}": _median([r["at_once"] for r in rounds if "at_once" in r])
            for peer, variants in entry["peers"].items()
            for variant, rounds in variants.items()
        }
        counts = sorted({int(n) for curve in curves.values() for n in curve})
        if not counts:
            continue
        heads = [f"{module.TITLE}: requests/s (p50 / p99 ms; CPU ms)", *[f"{n} at once" for n in counts]]
        lines += [f"| {' | '.join(heads)} |", "|---|" + "---:|" * len(counts)]
        for name, curve in curves.items():
            lines.append(f"| {name} | " + " | ".join(_cell(curve.get(str(n))) for n in counts) + " |")
        lines.append("")
    return lines


def _median(curves: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    counts = dict.fromkeys(n for curve in curves for n in curve)
    return {
        n: [statistics.median(each) for each in zip(*[c[n] for c in curves if n in c], strict=True)]
        for n in counts
    }


def _cell(found: list[float] | None) -> str:
    if found is None:
        return ""
    rate, half, late, cpu = found
    return f"{rate:,.0f} ({half:.1f} / {late:.1f}; {cpu:.1f})"
