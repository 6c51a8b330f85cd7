"""The benchmarks run: every workload at a tiny size, Millrace alone. Nothing here looks at how long it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import report, run, summary, svg, workloads
from benchmarks.workloads import Metric

ROOT = Path(__file__).resolve().parent.parent
CELLS = [(name, variant) for name in workloads.NAMES for variant in workloads.load(name).VARIANTS["millrace"]]


@pytest.mark.parametrize(("name", "variant"), CELLS, ids=[f"{n}-{v}" for n, v in CELLS])
def test_every_variant_measures_what_it_names(name, variant):
    measured = run.measure(sys.executable, name, "millrace", variant, quick=True)
    assert "error" not in measured, measured
    assert measured["versions"].keys() == {"python", "millrace", "numpy"}
    keys = {metric.key for metric in workloads.load(name).METRICS}
    if variant == "no budget":
        keys -= {"budget_mb", "over_mb"}
    assert keys <= measured.keys()
    assert all(isinstance(measured[key], int | float) for key in keys)


@pytest.mark.parametrize("name", workloads.NAMES)
def test_bars_are_about_measured_numbers(name):
    module = workloads.load(name)
    keys = {metric.key for metric in module.METRICS}
    assert all(bar.metric in keys for bar in module.BARS)
    assert set(module.VARIANTS) <= {"millrace", "mindspore", "torch"}


def test_a_run_writes_results_page_and_plot(tmp_path):
    env = {key: value for key, value in os.environ.items() if not key.startswith("BENCH_PYTHON_")}
    command = [sys.executable, "benchmarks/run.py", "--quick", "--only", "arrays", "--rounds", "2"]
    command += ["--peers", str(tmp_path / "none"), "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "MindSpore is left out" in done.stdout
    results = json.loads((tmp_path / "results" / "engine.json").read_text())
    assert len(results["workloads"]["arrays"]["peers"]["millrace"]["default"]) == 2
    page = (tmp_path / "RESULTS.md").read_text()
    assert "at least 20 times MindSpore | mindspore was not measured | not measured" in page
    assert "MindSpore: left out" in page
    ElementTree.parse(tmp_path / "plots" / "arrays.svg")


def test_a_failing_worker_is_a_result(tmp_path):
    measured = run.measure(sys.executable, "arrays", "millrace", "no such variant", quick=True)
    assert "no such variant" in measured["error"]


def _results(ours, theirs, name="arrays"):
    metric = workloads.load(name).METRICS[0]

    def rounds(values):
        return [{metric.key: v} if isinstance(v, float) else {"error": v} for v in values]

    peers = {"millrace": {"default": rounds(ours)}, "mindspore": {v: rounds(r) for v, r in theirs.items()}}
    entry = {"when": "2000-01-01T00:00+00:00", "commit": "abc", "rounds": len(ours), "peers": peers}
    machine = {"cpu": "c", "cores": 2, "memory_gib": 1, "system": "s", "load_before": 0.0, "commit": "abc"}
    return {"command": "x", "machine": machine, "versions": {}, "left_out": {}, "workloads": {name: entry}}


def test_ratios_are_taken_round_by_round_against_the_best_variant():
    results = _results([100.0, 300.0, 90.0], {"slow": [1.0, 1.0, 1.0], "fast": [4.0, 10.0, 3.0]})
    module, entry = workloads.load("arrays"), results["workloads"]["arrays"]
    (made,) = summary.comparisons(module, entry)
    assert made.theirs == "fast"
    assert (made.ratio.median, made.ratio.low, made.ratio.high) == (30.0, 25.0, 30.0)
    assert made.word == "ahead"
    (verdict,) = summary.verdicts(module, entry)
    assert verdict.met is True


def test_the_page_says_where_millrace_is_not_first():
    behind = report.page(_results([2.0, 2.0], {"default": [4.0, 4.0]}))
    assert "behind MindSpore (default), **0.50x**" in behind
    assert "| **no** |" in behind
    level = report.page(_results([3.0, 5.0], {"default": [4.0, 4.0]}))
    assert "level with MindSpore (default), within the spread" in level


def test_a_round_that_failed_is_shown_and_not_counted():
    results = _results([10.0, 10.0], {"default": [2.0, "it broke"]})
    page = report.page(results)
    assert "failed in 1 of 2 rounds: `it broke`" in page
    assert "**5.00x** (5.00 .. 5.00)" in page


def test_a_failed_round_does_not_shift_the_rounds_after_it():
    results = _results([10.0, 20.0, 30.0], {"default": ["it broke", 4.0, 6.0]})
    (made,) = summary.comparisons(workloads.load("arrays"), results["workloads"]["arrays"])
    assert (made.ratio.low, made.ratio.high) == (5.0, 5.0)


def test_a_note_is_filled_between_its_marks_and_again():
    note = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    results = _results([10.0], {"default": [2.0]})
    once = report.fill_note(note, results)
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert "old" not in once
    assert "**5.00x**" in once
    assert report.fill_note(once, results) == once
    with pytest.raises(SystemExit, match="no place for results"):
        report.fill_note("no marks", results)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1343794.7, "1,340,000"),
        (213.4, "213"),
        (99.96, "100"),
        (3.14159, "3.14"),
        (0.00066, "0.00066"),
        (0, "0"),
    ],
)
def test_numbers_as_text(value, text):
    assert summary.number(value, Metric("k", "n")) == text


def test_a_plot_is_well_formed_and_stable():
    rows = [
        svg.BarRow("a < b & c", "millrace", 2.0, 1.0, 3.0, "2"),
        svg.BarRow("minus", "torch", -1.0, -2.0, 0.5, "-1"),
    ]
    drawn = svg.bars('it\'s "quoted"', rows, "note")
    assert drawn == svg.bars('it\'s "quoted"', rows, "note")
    root = ElementTree.fromstring(drawn)
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "a < b & c" in texts
