"""RESULTS.md, the page that is read in one go: what Millrace reaches, beside whom, and where it does not."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from benchmarks import gpu_page, peers, scaling_page, serving_page, summary, workloads
from benchmarks.bars import GPU, Others, Results, count, entries, judged, missed
from benchmarks.summary import number

__all__ = ["anchor", "cell", "glance", "head", "not_first", "notes", "page", "ratio"]

UNKNOWN = "not yet known"


def page(results: Results, others: Others) -> str:
    lines = ["# Results", "", *head(results), "", "## At a glance", "", *glance(results, others, links=True)]
    if others.gpu:
        lines += [f"### {GPU}", "", *gpu_page.section(others.gpu)]
    lines += ["## Bars", "", *missed(judged(results, others)), ""]
    lines += ["## Where Millrace is not first", "", *not_first(results), ""]
    return "\n".join(lines).rstrip() + "\n"


def head(results: Results, folder: str = "") -> list[str]:
    """How and when; ``folder`` is where the other pages lie."""
    machine = results["machine"]
    how = (
        f"Made by `{results['command']}`. In each round all peers run one after the other, every measurement in a "
        "fresh process of that peer's own environment. Numbers are medians over the rounds. A ratio is taken within "
        "each round; above 1 Millrace is better, and where it is behind the ratio is bold. Where a peer has several "
        "variants, its best one counts. Every variant with its spread, memory and CPU time, how each was measured, "
        f"and the plots: [details]({folder}DETAILS.md)."
    )
    lines = [
        how,
        "",
        f"- Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}",
        "- Measured: " + "; ".join(_when(results)),
    ]
    lines += [
        f"- **Not a whole run**: {', '.join(titles)}: {note}" for note, titles in notes(results).items()
    ]
    names = [(key, peer) for key, peer in peers.PEERS.items() if key != "millrace"]
    beside = [
        f"{peer.name} {_version(results, key)}".strip() for key, peer in names if key in results["versions"]
    ]
    lines += [f"- Beside {', '.join(beside)}"] if beside else []
    for key, peer in names:
        if key not in results["versions"] and key in results["left_out"]:
            lines.append(f"- {peer.name}: left out, {results['left_out'][key]}")
    return lines


def notes(results: Results) -> dict[str, list[str]]:
    """What must be known of how numbers came here, and for which workloads; it goes when they are measured again."""
    made: dict[str, list[str]] = {}
    for _, module, entry in entries(results):
        if "note" in entry:
            made.setdefault(entry["note"], []).append(module.TITLE)
    return made


def _when(results: Results) -> list[str]:
    """When, of what and how often the parts were measured."""
    made: dict[str, list[str]] = {}
    for key, part in workloads.PARTS.items():
        found = [entry for _, _, entry in entries(results, key)]
        if not found:
            continue
        days = sorted({entry["when"][:10] for entry in found})
        commits = list(dict.fromkeys(entry["commit"] for entry in found))
        rounds = sorted({entry["rounds"] for entry in found})
        loads = sorted({entry["load_before"] for entry in found if "load_before" in entry})
        text = f"{' and '.join(days)}, commit {' and '.join(commits)}, {' or '.join(map(str, rounds))} round"
        text += "s" if rounds != [1] else ""
        text += (
            f", load before {' to '.join(f'{load:g}' for load in dict.fromkeys((loads[0], loads[-1])))}"
            if loads
            else ""
        )
        made.setdefault(text, []).append(part.title.lower())
    return [f"{', '.join(parts)}: {text}" for text, parts in made.items()]


def _version(results: Results, peer: str) -> str:
    found = results["versions"][peer]
    return str(next((found[name] for name in peers.PEERS[peer].packages if name in found), ""))


# --- at a glance ------------------------------------------------------------------------------------------------


def glance(results: Results, others: Others | None = None, links: bool = False) -> list[str]:
    """A table for each part: what Millrace reaches, and how many times as good as each peer that is."""
    lines = []
    for key, part in workloads.PARTS.items():
        found = list(entries(results, key))
        if not found:
            continue
        shown = [p for p in peers.NAMES if p != "millrace" and any(p in e["peers"] for _, _, e in found)]
        heads = ["", "Millrace", *[f"to {peers.NAMES[p]}" for p in shown], "bars"]
        lines += [
            f"### {part.title}",
            "",
            f"| {' | '.join(heads)} |",
            "|---|" + "---:|" * (len(shown) + 1) + "---|",
        ]
        for _, module, entry in found:
            lines += _rows(module, entry, shown, links)
        lines.append("")
        if key == "data" and others is not None and others.scaled is not None:
            lines += [scaling_page.sentence(others.scaled), ""]
        if key == "serving":
            lines += serving_page.tables(found)
    return lines


def _rows(module: ModuleType, entry: Any, shown: list[str], links: bool) -> list[str]:
    metric = module.METRICS[0]
    compared, judged = summary.comparisons(module, entry), summary.verdicts(module, entry)
    paired = getattr(module, "PAIRED", False)
    ours = list(entry["peers"].get("millrace", {})) if paired else []
    # where every variant failed, the first stands for it: a question must not vanish from the table
    best = summary.best_variant(entry, "millrace", metric) or next(
        iter(entry["peers"].get("millrace", {"": []}))
    )
    title = f"[{module.TITLE}](DETAILS.md#{anchor(module.TITLE)})" if links else module.TITLE
    lines = []
    for place, variant in enumerate(ours or [best]):
        cells = [title + (f", {variant}" if ours else ""), cell(entry, "millrace", variant, metric)]
        for peer in shown:
            found = [c for c in compared if c.peer == peer and c.ours == variant]
            cells.append(", ".join(_named(c, paired) for c in found))
        # a bar that could not be measured has no variant, and stands in the first line
        mine = [v.met for v in judged if not ours or v.variant == variant or (not place and not v.variant)]
        lines.append("| " + " | ".join([*cells, count(mine)]) + " |")
    return lines


def anchor(title: str) -> str:
    """Where a heading of this text is found on a page."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def cell(entry: Any, peer: str, variant: str, metric: workloads.Metric) -> str:
    have = summary.spread(entry, peer, variant, metric)
    if have is None:
        return "failed" if summary.errors(entry, peer, variant) else ""
    return f"{number(have.median, metric)} {metric.unit or metric.name}".strip()


def ratio(value: float) -> str:
    """1.40x, 14.2x, 43x: as many digits as there is something in."""
    return f"{value:.2f}x" if value < 10 else f"{value:.1f}x" if value < 20 else f"{value:.0f}x"


def _named(c: summary.Comparison, paired: bool) -> str:
    text = ratio(c.ratio.median)
    text = f"**{text}**" if c.word == "behind" else text
    return f"{text} ({c.theirs.partition(',')[0]})" if paired and c.theirs != c.ours else text


# --- where it is not first --------------------------------------------------------------------------------------


def not_first(results: Results) -> list[str]:
    """A line for each reason, with the questions, peers and variants that it is the reason for."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for _, module, entry in entries(results):
        for c in summary.comparisons(module, entry):
            if c.word == "ahead":
                continue
            which = f"{c.ours} " if getattr(module, "PAIRED", False) and c.ours != c.theirs else ""
            text = (
                f"{which}{'level with' if c.word == 'level' else 'behind'} {peers.NAMES[c.peer]} ({c.theirs})"
            )
            why = getattr(module, "WHY", {}).get(c.peer, UNKNOWN if c.word == "behind" else "").rstrip(".")
            places = reasons.setdefault(why, {}).setdefault(module.TITLE, [])
            places.append(f"{text} {ratio(c.ratio.median)}{summary.between(c.ratio)}")
    lines = []
    for why, titles in sorted(reasons.items(), key=lambda item: (item[0] in ("", UNKNOWN), item[0] == "")):
        said = "; ".join(f"{title}: {', '.join(places)}" for title, places in titles.items())
        lines.append(f"- {said}." + (f" Why: {why}." if why else ""))
    return lines or ["Nowhere, in the number that each table compares first."]
