"""What ``scaling.py`` measured on a machine of many cores, as a section of the page and a plot for each pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import svg

__all__ = ["load", "plots", "section", "sentence", "verdicts"]

FILE = "scaling.json"
LINEAR = 0.85
TITLES = {"train": "JPEG train", "eval": "JPEG eval"}


def _rounds(scaled: dict[str, Any]) -> str:
    """How often each number of workers was measured: the last ones may have been cut short by the clock."""
    cells = [r for table in scaled["pipelines"].values() for rates in table.values() for r in rates.values()]
    counts = sorted({r.get("rounds", 1) for r in cells})
    return f"median of {' or '.join(map(str, counts))} rounds"


def load(folder: Path) -> dict[str, Any] | None:
    path = folder / FILE
    return json.loads(path.read_text()) if path.exists() else None


def share(rates: dict[str, Any], workers: str) -> float:
    """The rate as a part of what as many workers would give, were each as fast as one alone."""
    one = min(rates, key=int)
    return float(rates[workers]["rows_per_s"] * int(one) / (rates[one]["rows_per_s"] * int(workers)))


def verdicts(scaled: dict[str, Any] | None) -> list[tuple[str, str, bool | None]]:
    """(bar, measured, met) for each pipeline: at least 85 % of linear at the largest number of workers."""
    made: list[tuple[str, str, bool | None]] = []
    for key, title in TITLES.items():
        bar = f"{title} on a machine of 16 cores: at least 85 % of linear from 1 to 16 workers"
        rates = (scaled or {}).get("pipelines", {}).get(key, {}).get("millrace", {})
        if "16" not in rates or "1" not in rates:
            made.append((bar, "not measured", None))
        else:
            part = share(rates, "16")
            made.append((bar, f"{100 * part:.0f} % of linear", part >= LINEAR))
    return made


def sentence(scaled: dict[str, Any]) -> str:
    """What the most workers reach, in a line."""
    said = []
    for key, title in TITLES.items():
        rates = scaled["pipelines"].get(key, {}).get("millrace", {})
        if rates:
            most = max(rates, key=int)
            part = f"{100 * share(rates, most):.0f} % of {most} times one worker"
            said.append(f"{title} {rates[most]['rows_per_s']:,.0f} rows/s, {part}")
    return f"On {scaled['machine']['cores']} cores ({scaled['when'][:10]}): {'; '.join(said)}."


def section(scaled: dict[str, Any]) -> list[str]:
    machine = scaled["machine"]
    lines = [
        "## Past one core count",
        "",
        f"JPEG train and JPEG eval at 1 to 16 workers, made by `{scaled['command']}` on {scaled['when'][:10]}: "
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; commit {scaled['commit']}; "
        + ", ".join(f"{k} {v}" for k, v in scaled["versions"].items())
        + f". {scaled['files']} files, as in JPEG train above; {_rounds(scaled)}, Millrace and "
        "PyTorch in turns, each in a fresh process. PyTorch: ImageFolder with torchvision's v2 transforms on Pillow "
        "images (Pillow), and on tensors of its own decoder (decode_image), in a DataLoader with as many worker "
        "processes.",
        "",
    ]
    for key, title in TITLES.items():
        table = scaled["pipelines"].get(key, {})
        if not table:
            continue
        counts = sorted({int(w) for rates in table.values() for w in rates})
        lines += [f"### {title}", "", "| rows/s | " + " | ".join(f"{n} workers" for n in counts) + " |"]
        lines.append("|---|" + "---:|" * len(counts))
        for name, rates in table.items():
            cells = [_cell(rates, str(n)) for n in counts]
            lines.append(f"| {scaled['names'][name]} | " + " | ".join(cells) + " |")
        lines += ["", f"![{title}: rows/s by workers](plots/scaling_{key}.svg)", ""]
    return lines


def _cell(rates: dict[str, Any], workers: str) -> str:
    if workers not in rates:
        return ""
    if "error" in rates[workers]:
        return "failed"
    return f"{rates[workers]['rows_per_s']:,.0f} ({100 * share(rates, workers):.0f} %)"


def plots(scaled: dict[str, Any]) -> dict[str, str]:
    made = {}
    for key, title in TITLES.items():
        table = scaled["pipelines"].get(key, {})
        if not table:
            continue
        lines = [
            svg.Line(
                scaled["names"][name],
                name.partition(" ")[0],
                tuple((int(w), r["rows_per_s"], r["low"], r["high"]) for w, r in rates.items() if "low" in r),
            )
            for name, rates in table.items()
        ]
        note = "rows/s by workers; the dashed line is Millrace's rate at 1 worker times the workers"
        made[f"scaling_{key}"] = svg.lines(f"{title}: rows/s by workers", lines, note)
    return made
