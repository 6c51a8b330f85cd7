"""From rounds to medians, spreads and ratios. Pure functions of the results; nothing is measured here."""

from __future__ import annotations

import dataclasses
import statistics
from types import ModuleType
from typing import Any

from benchmarks.peers import NAMES
from benchmarks.workloads import Bar, Metric

__all__ = [
    "Comparison", "Spread", "Verdict", "best_variant", "between", "comparisons", "errors", "extent", "number", "rounds",
    "spread", "verdicts",
]  # fmt: skip

Entry = dict[str, Any]
LEVEL = 0.03


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
    rounds: int

    @property
    def word(self) -> str:
        # one round has no spread: what another one would give is not known closer than this
        apart = LEVEL if self.rounds == 1 else 0
        if self.ratio.low > 1 + apart:
            return "ahead"
        if self.ratio.high < 1 - apart:
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
        for ours, theirs in _pairs(module, entry, peer, metric):
            if ours is None or theirs is None:
                continue
            ratios = _ratios(module, entry, ours, peer, theirs)
            ratio = Spread.of(ratios)
            if ratio is not None:
                made.append(Comparison(peer, ours, theirs, metric, ratio, len(ratios)))
    return made


def _pairs(
    module: ModuleType, entry: Entry, peer: str, metric: Metric
) -> list[tuple[str | None, str | None]]:
    if not getattr(module, "PAIRED", False):
        return [(best_variant(entry, "millrace", metric), best_variant(entry, peer, metric))]
    named = [(name, name) for name in entry["peers"][peer] if name in entry["peers"].get("millrace", {})]
    return [
        *named,
        *[(ours, theirs) for ours, other, theirs in getattr(module, "PAIRS", ()) if other == peer],
    ]


def _ratios(module: ModuleType, entry: Entry, ours: str, peer: str, theirs: str) -> list[float]:
    """One ratio per round in which both were measured: what disturbed a round disturbed both."""
    metric = module.METRICS[0]

    def quotient(a: dict[str, Any], b: dict[str, Any]) -> float:
        a, b = (a, b) if metric.higher else (b, a)
        return float(a[metric.key] / b[metric.key])

    ratio = getattr(module, "RATIO", quotient)
    both = zip(rounds(entry, "millrace", ours), rounds(entry, peer, theirs), strict=False)
    return [ratio(a, b) for a, b in both if a.get(metric.key) and b.get(metric.key)]


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
                made.append(Verdict(bar, "", f"{NAMES[bar.peer]} was not measured", None))
            for c in against:
                made.append(Verdict(bar, c.ours, _against(c, bar.ratio), c.ratio.median >= bar.ratio))
        elif bar.below is not None:
            found = _below(bar, bar.below, metric, entry)
            made += found or [Verdict(bar, bar.variant or "", "Millrace was not measured", None)]
    return made


def _against(c: Comparison, asked: float) -> str:
    """A ratio in the sense of the bar: times as many, or times as long; with one more digit where it is that close."""
    digits = 3 if abs(c.ratio.median - asked) < 0.005 else 2
    if c.metric.higher:
        return f"{c.ratio.median:.{digits}f} times{between(c.ratio)}"
    longer = Spread(1 / c.ratio.median, 1 / c.ratio.high, 1 / c.ratio.low)
    return f"{longer.median:.{digits}f} times as long{between(longer)}"


def _below(bar: Bar, limit: float, metric: Metric, entry: Entry) -> list[Verdict]:
    made = []
    for variant in entry["peers"].get("millrace", {}):
        have = spread(entry, "millrace", variant, metric)
        if have is not None and bar.variant in (None, variant):
            text = f"{number(have.median, metric)} {metric.unit}".rstrip() + extent(have, metric)
            made.append(Verdict(bar, variant, text, have.median <= limit))
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
        return f"{rounded:,.{1 if metric.digits > 3 and not rounded.is_integer() else 0}f}"
    return (
        f"{rounded:.4f}".rstrip("0").rstrip(".") if abs(rounded) >= 0.01 else f"{rounded:.{metric.digits}g}"
    )


def extent(have: Spread, metric: Metric) -> str:
    """The lowest and the highest round, where they differ."""
    low, high = number(have.low, metric), number(have.high, metric)
    return f" ({low} .. {high})" if low != high else ""


def between(ratio: Spread) -> str:
    """The same of a ratio."""
    low, high = f"{ratio.low:.2f}", f"{ratio.high:.2f}"
    return f" ({low} .. {high})" if low != high else ""
