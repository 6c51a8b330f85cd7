"""The README's table of speeds, made from the results: so it cannot say what was not measured."""

from __future__ import annotations

import datetime
import textwrap
from typing import Any, NamedTuple

from benchmarks import peers, scaling_page, summary, workloads
from benchmarks.bars import Others, Results, entries
from benchmarks.marks import filled
from benchmarks.results_page import cell, notes, ratio

__all__ = ["BEGIN", "END", "fill", "speeds"]

BEGIN, END = "<!-- speeds: made by benchmarks/report.py -->", "<!-- end of speeds -->"
WIDTH = 125
PEERS = ("mindspore", "torch", "tensorflow", "grain", "dali")


class Row(NamedTuple):
    """A line: what it is called here, its workload, and the variant where that has several questions."""

    label: str
    workload: str
    variant: str | None = None


ROWS = (
    Row("JPEG files: random crop, flip, normalise, batch 32", "jpeg_train"),
    Row("JPEG files: resize, centre crop, normalise, batch 32", "jpeg_eval"),
    Row("Arrays in memory, shuffled, batch 64", "arrays"),
    Row("A Python `__getitem__`, shuffled, batch 64", "generator"),
    Row("The same with a Python function in `map`", "generator_map"),
    Row("MindRecord, 10 scalar fields", "mindrecord_scalars"),
    Row("TFRecord, 10 features, shuffled", "tfrecord", "shuffled"),
    Row("CSV, 20 typed columns", "csv", "typed"),
    Row("Lines of text to BERT tokens", "text_bert"),
    Row("Waveforms to mel spectrograms", "audio_mel"),
    Row("Decoded JPEGs from the cache server", "cache_jpeg", "server"),
    Row("Training ResNet-18 (32 x 32), Graph mode", "train_resnet18", "Graph, 2 threads"),
    Row("Training LeNet-5, Graph mode", "train_lenet", "Graph, 2 threads"),
    Row("Training a small BERT, Graph mode", "train_bert", "Graph, 2 threads"),
    Row("An epoch by `Model.train`, PyNative mode", "train_model", "PyNative"),
)
SERVED = ("serving_resnet18", "serving_bert")


def fill(text: str, results: Results, others: Others) -> str:
    return filled(text, BEGIN, END, speeds(results, others))


def speeds(results: Results, others: Others) -> list[str]:
    machine = results["machine"]
    days = sorted({entry["when"][:10] for _, _, entry in entries(results)})
    when = datetime.date.fromisoformat(days[-1])
    intro = (
        f"On **{machine['cores']} cores of an {machine['cpu']}** ({when.day} {when:%B %Y}), each library in its own "
        "environment, in turns, in its best variant. The ratio is Millrace's, bold where it is behind; "
        "[benchmarks/RESULTS.md](benchmarks/RESULTS.md) has all of it, with the method, the bars that were missed and "
        "why Millrace is not first where it is not. `make bench` measures again and writes this table."
    )
    intro += "".join(f" {', '.join(titles)}: {note}" for note, titles in notes(results).items())
    heads = ["", "Millrace", *[f"to {peers.NAMES[p]}{_version(results, p)}" for p in PEERS]]
    lines = [*_wrapped(intro), "", f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(PEERS) + 1)]
    lines += [
        _line(row, results["workloads"][row.workload]) for row in ROWS if row.workload in results["workloads"]
    ]
    said = [text for text in (_scaled(others), _served(results), _behind(results)) if text]
    return [*lines, "", *_wrapped(" ".join(said))] if said else lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _version(results: Results, peer: str) -> str:
    found = results["versions"].get(peer, {})
    version = next((found[name] for name in peers.PEERS[peer].packages if name in found), "")
    # of tf.data it would be TensorFlow's
    return f" {version}" if version and peer in ("mindspore", "torch") else ""


def _line(row: Row, entry: Any) -> str:
    module = workloads.load(row.workload)
    metric = module.METRICS[0]
    ours = row.variant or summary.best_variant(entry, "millrace", metric) or ""
    compared = summary.comparisons(module, entry)
    cells = [row.label, cell(entry, "millrace", ours, metric)]
    for peer in PEERS:
        c = next((c for c in compared if (c.peer, c.ours) == (peer, ours)), None)
        cells.append("" if c is None else _shown(c))
    return "| " + " | ".join(cells) + " |"


def _shown(c: summary.Comparison) -> str:
    text = ratio(c.ratio.median)
    return f"**{text}**" if c.word == "behind" else text


def _scaled(others: Others) -> str:
    return scaling_page.sentence(others.scaled) if others.scaled is not None else ""


def _served(results: Results) -> str:
    """The best of both ways to ask, beside the plain server asked in the same way."""
    said = []
    for name in SERVED:
        if name in results["workloads"]:
            module, entry = workloads.load(name), results["workloads"][name]
            for c in summary.comparisons(module, entry):
                rate = cell(entry, "millrace", c.ours, c.metric)
                said.append(f"{module.TITLE}, {c.ours}: {rate}, {_shown(c)}")
    return f"Served, beside FastAPI and onnxruntime at the same p99: {'; '.join(said)}." if said else ""


def _behind(results: Results) -> str:
    said = []
    for _, module, entry in entries(results):
        found: dict[str, list[str]] = {}
        for c in summary.comparisons(module, entry):
            if c.word == "behind":
                found.setdefault(peers.NAMES[c.peer], []).append(ratio(c.ratio.median))
        if found:
            said.append(
                f"{module.TITLE} ({', '.join(f'{who} {min(ratios)}' for who, ratios in found.items())})"
            )
    return f"Behind: {'; '.join(said)}." if said else ""
