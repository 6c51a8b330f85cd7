"""DETAILS.md and the plots: every workload with every variant, and how it was measured."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from benchmarks import peers, scaling_page, summary
from benchmarks.bars import Others, Results, entries, judged, table
from benchmarks.results_page import ratio
from benchmarks.summary import extent, number
from benchmarks.svg import BarRow, bars

__all__ = ["page", "plots"]

HOW = (
    "Everything behind the [results](RESULTS.md). Numbers are the median over the rounds, with (lowest .. highest) "
    "where rounds differ; ratios are Millrace's, above 1 it is better. A variant that is far behind its peer's best in "
    "the first round is not measured again. Peak memory is the process's high-water mark with the share of its "
    "workers; shared pages count once."
)


def page(results: Results, others: Others) -> str:
    lines = ["# Details of the results", "", HOW, "", "## Versions", ""]
    for peer, name in peers.NAMES.items():
        if peer in results["versions"]:
            lines.append(f"- {name}: " + ", ".join(f"{k} {v}" for k, v in results["versions"][peer].items()))
    lines += ["", "## Bars", "", *table(judged(results, others)), ""]
    for name, module, entry in entries(results):
        lines += [
            f"## {module.TITLE}",
            "",
            f"*{module.QUESTION[0].upper()}{module.QUESTION[1:]}.* {module.NOTE}",
            "",
        ]
        lines += [*_table(module, entry), "", f"![{module.TITLE}](plots/{name}.svg)", ""]
    if others.scaled is not None:
        lines += scaling_page.section(others.scaled)
    return "\n".join(lines).rstrip() + "\n"


def _table(module: ModuleType, entry: Any) -> list[str]:
    heads = [f"{m.name}{f' [{m.unit}]' if m.unit else ''}" for m in module.METRICS]
    lines = ["| | " + " | ".join([*heads, "Millrace is"]) + " |", "|---|" + "---:|" * (len(heads) + 1)]
    compared = summary.comparisons(module, entry)
    failed = []
    for peer, variants in entry["peers"].items():
        for variant in variants:
            times = len(summary.rounds(entry, peer, variant))
            cells = [
                f"{peers.NAMES[peer]}, {variant}" + (" (1 round)" if times == 1 < entry["rounds"] else "")
            ]
            for metric in module.METRICS:
                have = summary.spread(entry, peer, variant, metric)
                cells.append("" if have is None else number(have.median, metric) + extent(have, metric))
            found = [c for c in compared if (c.peer, c.theirs) == (peer, variant)]
            lines.append(
                "| " + " | ".join([*cells, ", ".join(_times(c, len(found) > 1) for c in found)]) + " |"
            )
            errors = summary.errors(entry, peer, variant)
            if errors:
                failed.append(
                    f"{peers.NAMES[peer]}, {variant}: failed in {len(errors)} of {times} rounds: `{errors[0]}`"
                )
    for text in failed:
        lines += ["", text]
    rounds = f"{entry['rounds']} round{'s' if entry['rounds'] > 1 else ''}"
    note = f" {entry['note']}" if "note" in entry else ""
    took = f" in {entry['seconds']:.0f} s" if "seconds" in entry else ""
    return [*lines, "", f"Measured {entry['when']}, commit {entry['commit']}, {rounds}{took}.{note}"]


def _times(c: summary.Comparison, named: bool) -> str:
    text = f"**{ratio(c.ratio.median)}**{summary.between(c.ratio)}"
    return f"{text} in {c.ours}" if named else text


def plots(results: Results, others: Others) -> dict[str, str]:
    """Name -> SVG."""
    made = {name: _plot(module, entry) for name, module, entry in entries(results)}
    return made | (scaling_page.plots(others.scaled) if others.scaled is not None else {})


def _plot(module: ModuleType, entry: Any) -> str:
    metric = module.METRICS[0]
    rows = []
    for peer, variants in entry["peers"].items():
        for variant in variants:
            have = summary.spread(entry, peer, variant, metric)
            if have is not None:
                text = f"{number(have.median, metric)} {metric.unit or metric.name}"
                rows.append(
                    BarRow(f"{peers.NAMES[peer]}, {variant}", peer, have.median, have.low, have.high, text)
                )
    better = "longer is better" if metric.higher else "shorter is better"
    several = f"median of {entry['rounds']} rounds, line from lowest to highest"
    note = f"{metric.name}; {better}; {several if entry['rounds'] > 1 else '1 round'}"
    return bars(f"{module.TITLE}: {module.QUESTION}", rows, note)
