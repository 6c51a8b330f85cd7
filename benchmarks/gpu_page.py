"""What ``gpu_feed.py`` and ``gpu_steps.py`` measured on a machine with a GPU, as a dated section of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["load", "section", "verdicts"]

FILES = ("gpu_feed", "gpu_steps")
FED = {
    "resident": "a batch that stays on the card",
    "millrace-16": "Millrace, 16 workers, nothing set",
    "millrace-16-floats": "Millrace, 16 workers, floats travel instead of bytes",
    "plain-loop-16": "Millrace's iterator in a plain loop, without the sink",
    "dataloader-16": "PyTorch's DataLoader and torchvision, 16 workers (of PyTorch's own resident batch)",
    "millrace-4": "Millrace, 4 workers",
    "millrace-4-gpu-decode": "Millrace, 4 workers, the card decodes too",
}
NETS = {
    "mlp": "MLP, batch 16",
    "lenet": "LeNet-5, batch 32",
    "resnet18-8": "ResNet-18 (32 x 32), batch 8",
    "resnet18": "ResNet-18 (32 x 32), batch 32",
    "bert": "a small BERT, batch 8",
    "lstm": "an LSTM, batch 16",
    "resnet50": "ResNet-50, bfloat16, batch 256",
}
# Of plain PyTorch's steps/s in Graph mode; the small batch is the one where calls, and not kernels, are the time.
TIMES = {"mlp": 5.0, "lenet": 5.0, "resnet18-8": 5.0, "resnet50": 0.98}
FED_PERCENT, MEMORY_PERCENT = 98.5, 5.0

Found = dict[str, Any]


def load(folder: Path) -> dict[str, Found]:
    """What there is of the two files."""
    paths = {name: folder / f"{name}.json" for name in FILES}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def verdicts(found: dict[str, Found]) -> list[tuple[str, str, bool | None]]:
    """(bar, measured, met)."""
    made: list[tuple[str, str, bool | None]] = []
    fed = _results(found, "gpu_feed").get("millrace-16", {}).get("of_resident_percent")
    bar = f"ResNet-50 fed from JPEG files by 16 workers, nothing set: at least {FED_PERCENT} % of a resident batch"
    made.append((bar, "not measured", None) if fed is None else (bar, f"{fed:.1f} %", fed >= FED_PERCENT))
    steps = _results(found, "gpu_steps")
    for net, least in TIMES.items():
        bar = f"{NETS[net]}: Graph at least {least:g} times plain PyTorch"
        ratio = _ratio(steps, net, "Graph")
        made.append(
            (bar, "not measured", None) if ratio is None else (bar, f"{ratio:.2f} times", ratio >= least)
        )
    bar = f"{NETS['resnet50']}: at most {MEMORY_PERCENT:g} % more memory than plain PyTorch, in Graph mode"
    ours, plain = (steps.get("resnet50", {}).get(who, {}).get("peak_mib") for who in ("Graph", "torch"))
    if ours is None or plain is None:
        return [*made, (bar, "not measured", None)]
    more = 100 * (ours / plain - 1)
    return [*made, (bar, f"{more:.1f} %", more <= MEMORY_PERCENT)]


def section(found: dict[str, Found]) -> list[str]:
    lines: list[str] = []
    if "gpu_feed" in found:
        feed = found["gpu_feed"]
        files, size = feed["files"]
        what = f"ResNet-50 in bfloat16, batches of 256 from {files:,} JPEG files of {size / 1000:.0f} KB"
        rows = []
        for name, label in FED.items():
            made = feed["results"].get(name, {})
            if "images_per_s" in made:
                rows.append([label, f"{made['images_per_s']:,.0f}", f"{made['of_resident_percent']:.1f} %"])
        on = f"{feed['on']}, PyTorch {feed['torch']}"
        lines += _table(f"{what}: {on}", feed, ["fed by", "images/s", "of a resident batch"], rows)
    if "gpu_steps" in found:
        steps = found["gpu_steps"]
        what = "Whole training steps on a batch that stays on the card, steps/s"
        head = ["net", "PyTorch, eager", "Millrace, PyNative", "to PyTorch", "Millrace, Graph", "to PyTorch"]
        rows = [
            [label, *_steps(steps["results"], net)] for net, label in NETS.items() if net in steps["results"]
        ]
        lines += _table(f"{what}: {steps['on']}", steps, head, rows)
    return lines


def _table(what: str, found: Found, head: list[str], rows: list[list[str]]) -> list[str]:
    """What was measured, when and by which command, over the numbers."""
    lines = [f"{what}, **{found['made']}** (`{found['by']}`).", ""]
    lines += ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    lines.insert(3, "|---|" + "---:|" * (len(head) - 1))
    return [*lines, ""]


def _results(found: dict[str, Found], name: str) -> Found:
    return dict(found.get(name, {}).get("results", {}))


def _ratio(steps: Found, net: str, mode: str) -> float | None:
    ours, plain = (steps.get(net, {}).get(who, {}).get("steps_per_s") for who in (mode, "torch"))
    return ours / plain if ours and plain else None


def _steps(steps: Found, net: str) -> list[str]:
    cells = [_rate(steps[net].get("torch", {}))]
    for mode in ("PyNative", "Graph"):
        ratio = _ratio(steps, net, mode)
        cells += [_rate(steps[net].get(mode, {})), "" if ratio is None else f"{ratio:.2f}x"]
    return cells


def _rate(made: Found) -> str:
    if "steps_per_s" not in made:
        return "failed" if "error" in made else ""
    return f"{made['steps_per_s']:,.0f}" if made["steps_per_s"] >= 100 else f"{made['steps_per_s']:.1f}"
