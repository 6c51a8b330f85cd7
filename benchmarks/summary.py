"""From rounds to medians, spreads and ratios. Pure functions of the results; nothing is measured here."""

from __future__ import annotations

import dataclasses
import statistics
from types import ModuleType
from typing import Any

from benchmarks.peers import NAMES
from benchmarks.workloads import Bar, Metric

__all__ = ["Comparison", "Spread", "Verdict", "best_variant", "comparisons", "errors", "spread", "verdicts"]

Entry = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Spread:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread | None:
        return cls(statistics.median(values), min(values), max(values)) if values else None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Millrace beside one peer: how many times better, round by round. Above 1, Millrace is ahead."""

    peer: str
    ours: str
    theirs: str
    metric: Metric
    ratio: Spread

    @property
    def word(self) -> str:
        if self.ratio.low > 1:
            return "ahead"
        if self.ratio.high < 1:
            return "behind"
        return "level"


@dataclasses.dataclass(frozen=True)
class Verdict:
    bar: Bar
    variant: str
    measured: str
    met: bool | None  # None: could not be measured


def rounds(entry: Entry, peer: str, variant: str) -> list[dict[str, Any]]:
    return entry["peers"].get(peer, {}).get(variant, [])


def spread(entry: Entry, peer: str, variant: str, metric: Metric) -> Spread | None:
    return Spread.of([r[metric.key] for r in rounds(entry, peer, variant) if metric.key in r])


def errors(entry: Entry, peer: str, variant: str) -> list[str]:
    return [r["error"] for r in rounds(entry, peer, variant) if "error" in r]


def best_variant(entry: Entry, peer: str, metric: Metric) -> str | None:
    """The variant that counts: the one with the best median of the first metric, of those measured to the end."""
    found, most = {}, max((len(r) for r in entry["peers"].get(peer, {}).values()), default=0)
    for variant, measured in entry["peers"].get(peer, {}).items():
        have = spread(entry, peer, variant, metric)
        if have is not None and len(measured) == most:
            found[variant] = have.median
    if not found:
        return None
    return (max if metric.higher else min)(found, key=lambda variant: found[variant])


def comparisons(module: ModuleType, entry: Entry) -> list[Comparison]:
    """Millrace beside each peer in the first metric: best with best, or name by name where variants are paired."""
    metric = module.METRICS[0]
    made = []
    for peer in entry["peers"]:
        if peer == "millrace":
            continue
        if getattr(module, "PAIRED", False):
            pairs = [(name, name) for name in entry["peers"][peer] if name in entry["peers"]["millrace"]]
        else:
            pairs = [(best_variant(entry, "millrace", metric), best_variant(entry, peer, metric))]
        for ours, theirs in pairs:
            if ours is None or theirs is None:
                continue
            ratio = Spread.of(_ratios(entry, metric, ours, peer, theirs))
            if ratio is not None:
                made.append(Comparison(peer, ours, theirs, metric, ratio))
    return made


def _ratios(entry: Entry, metric: Metric, ours: str, peer: str, theirs: str) -> list[float]:
    """One ratio per round in which both were measured: what disturbed a round disturbed both."""
    made = []
    for a, b in zip(rounds(entry, "millrace", ours), rounds(entry, peer, theirs), strict=False):
        if a.get(metric.key) and b.get(metric.key):
            made.append(a[metric.key] / b[metric.key] if metric.higher else b[metric.key] / a[metric.key])
    return made


def verdicts(module: ModuleType, entry: Entry) -> list[Verdict]:
    made = []
    for bar in module.BARS:
        metric = next(m for m in module.METRICS if m.key == bar.metric)
        if bar.first:
            made.append(_first(bar, comparisons(module, entry)))
        elif bar.ratio is not None:
            against = [
                c for c in comparisons(module, entry) if c.peer == bar.peer and bar.variant in (None, c.ours)
            ]
            if not against:
                made.append(Verdict(bar, "", f"{bar.peer} was not measured", None))
            for c in against:
                text = f"{c.ratio.median:.2f} times ({c.ratio.low:.2f} .. {c.ratio.high:.2f})"
                made.append(Verdict(bar, c.ours, text, c.ratio.median >= bar.ratio))
        elif bar.below is not None:
            for variant in entry["peers"].get("millrace", {}):
                have = spread(entry, "millrace", variant, metric)
                if have is not None and bar.variant in (None, variant):
                    text = f"{number(have.median, metric)} {metric.unit} {extent(have, metric)}"
                    made.append(Verdict(bar, variant, text, have.median <= bar.below))
    return made


def _first(bar: Bar, against: list[Comparison]) -> Verdict:
    if not against:
        return Verdict(bar, "", "no other was measured", None)
    nearest = min(against, key=lambda c: c.ratio.median)
    text = f"{nearest.ratio.median:.2f} times {NAMES[nearest.peer]}, the nearest of {len(against)}"
    return Verdict(bar, nearest.ours, text, nearest.ratio.median > 1)


# --- numbers as text ------------------------------------------------------------------------------------------


def number(value: float, metric: Metric) -> str:
    """Three significant digits, thousands apart: 1340000 -> 1,340,000."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{metric.digits}g}")
    if abs(rounded) >= 100:
        return f"{rounded:,.0f}"
    return (
        f"{rounded:.4f}".rstrip("0").rstrip(".") if abs(rounded) >= 0.01 else f"{rounded:.{metric.digits}g}"
    )


def extent(have: Spread, metric: Metric) -> str:
    return f"({number(have.low, metric)} .. {number(have.high, metric)})"
