"""Every bar of the page with what was measured, on this machine, on one with many cores, and on one with a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks import gpu_page, scaling_page, summary, workloads

__all__ = ["Judged", "Others", "count", "entries", "judged", "missed", "table"]

WORDS = {True: "met", False: "**missed**", None: "not measured"}
GPU = "One GPU"

Results = dict[str, Any]


class Others(NamedTuple):
    """Results that do not come from ``run.py``."""

    scaled: Results | None = None
    gpu: dict[str, Results] | None = None


class Judged(NamedTuple):
    """A bar: the part of the page it belongs to, what is asked, what was measured, and whether that is enough."""

    part: str
    text: str
    measured: str
    met: bool | None


def entries(results: Results, part: str | None = None) -> Iterator[tuple[str, ModuleType, Any]]:
    """The workloads that have results, in the order of the page."""
    for name in workloads.NAMES if part is None else workloads.PARTS[part].names:
        if name in results["workloads"]:
            yield name, workloads.load(name), results["workloads"][name]


def judged(results: Results, others: Others) -> list[Judged]:
    made = []
    for key, part in workloads.PARTS.items():
        for _, module, entry in entries(results, key):
            several = len(entry["peers"].get("millrace", {})) > 1
            for v in summary.verdicts(module, entry):
                which = f" ({v.variant})" if several and v.variant else ""
                made.append(Judged(part.title, f"{module.TITLE}{which}: {v.bar.text}", v.measured, v.met))
        if key == "data":
            made += [Judged(part.title, *verdict) for verdict in scaling_page.verdicts(others.scaled)]
    if others.gpu:
        made += [Judged(GPU, *verdict) for verdict in gpu_page.verdicts(others.gpu)]
    return made


def count(met: Iterable[bool | None]) -> str:
    """How many were met, in words: "2 met", "**1 missed**, 1 met"."""
    found = Counter(met)
    words = {False: "**{} missed**", True: "{} met", None: "{} not measured"}
    return ", ".join(text.format(found[word]) for word, text in words.items() if found[word])


def table(bars: list[Judged]) -> list[str]:
    lines = ["| part | bar | measured | |", "|---|---|---|---|"]
    return lines + [f"| {bar.part} | {bar.text} | {bar.measured} | {WORDS[bar.met]} |" for bar in bars]


def missed(bars: list[Judged]) -> list[str]:
    """How many there are, and those that were not met."""
    lines = [f"{len(bars)} bars: {count(bar.met for bar in bars)}. [All of them](DETAILS.md#bars)."]
    behind = [bar for bar in bars if bar.met is not True]
    return [*lines, "", *table(behind)] if behind else lines
