"""The page: RESULTS.md and its plots, made from the results file alone.

python benchmarks/report.py                                   # write the page and the plots again
python benchmarks/report.py --note docs/design/<note>.md      # fill the table of a dated design note
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
FILE = "scoreboard.json"
sys.path[:1] = [str(HERE.parent)]

from benchmarks import peers, scaling_page, summary, workloads  # noqa: E402
from benchmarks.summary import extent, number  # noqa: E402
from benchmarks.svg import BarRow, bars  # noqa: E402

__all__ = ["fill_note", "page", "write"]

MET = {True: "yes", False: "**NOT met**", None: "not measured"}
BEGIN, END = "<!-- results: filled by benchmarks/report.py --note -->", "<!-- end of results -->"

Results = dict[str, Any]


def write(results: Results, folder: Path) -> list[Path]:
    """RESULTS.md and plots/*.svg into the folder; returns what was written."""
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    plots = {name: _plot(module, entry) for name, module, entry in _entries(results)}
    scaled = scaling_page.load(folder)
    if scaled is not None:
        plots |= scaling_page.plots(scaled)
    for old in (folder / "plots").glob("*.svg"):
        if old.stem not in plots:
            old.unlink()
    for name, drawn in plots.items():
        (folder / "plots" / f"{name}.svg").write_text(drawn)
    path = folder / "RESULTS.md"
    path.write_text(page(results, scaled))
    return [path, *[folder / "plots" / f"{name}.svg" for name in plots]]


def _entries(results: Results) -> Iterator[tuple[str, ModuleType, Any]]:
    for name in workloads.NAMES:
        if name in results["workloads"]:
            yield name, workloads.load(name), results["workloads"][name]


# --- the page -------------------------------------------------------------------------------------------------


def page(results: Results, scaled: Results | None = None) -> str:
    lines = ["# Results", "", *_head(results), ""]
    lines += ["## At a glance", "", *glance(results), ""]
    lines += ["## Bars", "", *_bars(results, scaled), ""]
    lines += ["## Where Millrace is not first", "", *_not_first(results), ""]
    for name, module, entry in _entries(results):
        lines += [f"## {module.TITLE}: {module.QUESTION}", "", module.NOTE, "", *_table(module, entry), ""]
        lines += [f"![{module.TITLE}](plots/{name}.svg)", ""]
    if scaled is not None:
        lines += scaling_page.section(scaled)
    return "\n".join(lines).rstrip() + "\n"


def _head(results: Results) -> list[str]:
    machine = results["machine"]
    entries = results["workloads"].values()
    days = sorted({entry["when"][:10] for entry in entries})
    counts = sorted({entry["rounds"] for entry in entries})
    how = (
        f"Made by `{results['command']}` on {' and '.join(days)}; {' or '.join(map(str, counts))} rounds. In each, "
        "all peers one after the other, every measurement in a fresh process of that peer's own environment. Numbers "
        "are the median over the rounds, with (lowest .. highest). A ratio is taken within each round, then its "
        "median: above 1, Millrace is better. Where a peer has several variants, its best one counts; one that is far "
        "behind in the first round is not measured again. Peak memory is the process's high-water mark with the "
        "share of its workers; shared pages count once."
    )
    where = (
        f"- Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}; "
        f"load before the run {machine['load_before']}"
    )
    lines = [how, "", where, f"- Millrace commit {machine['commit']}"]
    for peer, name in peers.NAMES.items():
        if peer in results.get("left_out", {}):
            lines.append(f"- {name}: left out, {results['left_out'][peer]}")
        elif peer in results["versions"]:
            lines.append(f"- {name}: " + ", ".join(f"{k} {v}" for k, v in results["versions"][peer].items()))
    if len({entry["commit"] for entry in entries}) > 1:
        lines.append("- Not all tables come from one run: see the commit below each.")
    return lines


def glance(results: Results) -> list[str]:
    """One line per question: what Millrace reaches, and how many times as good as each peer that is."""
    shown = [p for p in peers.NAMES if any(p in e["peers"] for _, _, e in _entries(results))]
    shown = [p for p in shown if p != "millrace"]
    lines = [
        "| question | Millrace | " + " | ".join(f"to {peers.NAMES[p]}" for p in shown) + " |",
        "|---|---:|" + "---:|" * len(shown),
    ]
    for _, module, entry in _entries(results):
        metric = module.METRICS[0]
        compared = summary.comparisons(module, entry)
        ours = list(entry["peers"].get("millrace", {})) if getattr(module, "PAIRED", False) else []
        best = summary.best_variant(entry, "millrace", metric)
        # where every variant failed, the first stands for it: a question must not vanish from the table
        for variant in ours or [best or next(iter(entry["peers"].get("millrace", {"": []})))]:
            cells = [
                module.TITLE + (f", {variant}" if ours else ""),
                _cell(entry, "millrace", variant, metric),
            ]
            for peer in shown:
                c = next((c for c in compared if c.peer == peer and c.ours == variant), None)
                cells.append("" if c is None else f"**{c.ratio.median:.2f}x**")
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def _cell(entry: Any, peer: str, variant: str, metric: workloads.Metric) -> str:
    have = summary.spread(entry, peer, variant, metric)
    if have is None:
        return "failed" if summary.errors(entry, peer, variant) else ""
    return f"{number(have.median, metric)} {metric.unit or metric.name}".strip()


def _times(c: summary.Comparison) -> str:
    return f"**{c.ratio.median:.2f}x** ({c.ratio.low:.2f} .. {c.ratio.high:.2f})"


def _bars(results: Results, scaled: Results | None = None) -> list[str]:
    lines = ["| bar | measured | met |", "|---|---|---|"]
    for _, module, entry in _entries(results):
        for v in summary.verdicts(module, entry):
            which = f" ({v.variant})" if len(entry["peers"].get("millrace", {})) > 1 else ""
            lines.append(f"| {module.TITLE}{which}: {v.bar.text} | {v.measured} | {MET[v.met]} |")
    for text, measured, met in scaling_page.verdicts(scaled):
        lines.append(f"| {text} | {measured} | {MET[met]} |")
    return lines


def _not_first(results: Results) -> list[str]:
    lines = []
    for _, module, entry in _entries(results):
        for c in summary.comparisons(module, entry):
            if c.word == "ahead":
                continue
            which = f" ({c.ours})" if getattr(module, "PAIRED", False) else ""
            peer = f"{peers.NAMES[c.peer]} ({c.theirs})"
            place = f"behind {peer}" if c.word == "behind" else f"level with {peer}, within the spread"
            why = getattr(module, "WHY", {}).get(c.peer, "not yet known")
            lines.append(f"- {module.TITLE}{which}: {place}, {_times(c)}. Why: {why.rstrip('.')}.")
    return lines or ["Nowhere in this run, in the number that each table compares first."]


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
                cells.append("" if have is None else f"{number(have.median, metric)} {extent(have, metric)}")
            c = next((c for c in compared if (c.peer, c.theirs) == (peer, variant)), None)
            lines.append("| " + " | ".join([*cells, "" if c is None else _times(c)]) + " |")
            errors = summary.errors(entry, peer, variant)
            if errors:
                rounds = len(summary.rounds(entry, peer, variant))
                failed.append(
                    f"{peers.NAMES[peer]}, {variant}: failed in {len(errors)} of {rounds} rounds: `{errors[0]}`"
                )
    for text in failed:
        lines += ["", text]
    lines += ["", f"Measured {entry['when']}, commit {entry['commit']}, {entry['rounds']} rounds."]
    return lines


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
    note = f"{metric.name}; {better}; median of {entry['rounds']} rounds, line from lowest to highest"
    return bars(f"{module.TITLE}: {module.QUESTION}", rows, note)


# --- a dated design note ----------------------------------------------------------------------------------------


def fill_note(text: str, results: Results) -> str:
    """The note with its table made anew from the results; everything outside the two marks stays."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"the note has no place for results: it needs the lines {BEGIN} and {END}")
    inside = [
        *_head(results),
        "",
        *glance(results),
        "",
        *_bars(results),
        "",
        "Not first:",
        "",
        *_not_first(results),
    ]
    return before + BEGIN + "\n\n" + "\n".join(inside) + "\n\n" + END + after


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the page from the results file; measures nothing.")
    parser.add_argument("--out", type=Path, default=HERE, help="folder that holds results/")
    parser.add_argument("--note", type=Path, help="fill the table of this design note instead")
    args = parser.parse_args()
    source = args.out / "results" / FILE
    if not source.exists():
        raise SystemExit(f"{source} is not there: run `make bench` first")
    results = json.loads(source.read_text())
    if args.note is not None:
        args.note.write_text(fill_note(args.note.read_text(), results))
        print(args.note)
        return
    for path in write(results, args.out):
        print(path)


if __name__ == "__main__":
    main()
