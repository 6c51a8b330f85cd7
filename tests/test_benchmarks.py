"""The benchmarks run: every workload at a tiny size, Millrace alone. Nothing here looks at how long it took."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import (
    measure,
    peers,
    report,
    run,
    scale,
    scaling,
    scaling_page,
    summary,
    svg,
    workloads,
)
from benchmarks.soaking import held
from benchmarks.workloads import Metric

ROOT = Path(__file__).resolve().parent.parent
CELLS = [(name, variant) for name in workloads.NAMES for variant in workloads.load(name).VARIANTS["millrace"]]


@pytest.mark.parametrize(("name", "variant"), CELLS, ids=[f"{n}-{v}" for n, v in CELLS])
def test_every_variant_measures_what_it_names(name, variant):
    measured = run.measure(sys.executable, name, "millrace", variant, quick=True)
    assert "error" not in measured, measured
    assert measured["versions"].keys() >= {"python", "millrace", "numpy"}
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
    assert set(module.VARIANTS) <= set(peers.NAMES)
    assert set(getattr(module, "WHY", {})) <= set(module.VARIANTS)


def test_a_run_writes_results_page_and_plot(tmp_path):
    env = {key: value for key, value in os.environ.items() if not key.startswith("BENCH_PYTHON_")}
    command = [sys.executable, "benchmarks/run.py", "--quick", "--only", "arrays", "--rounds", "2"]
    command += ["--peers", str(tmp_path / "none"), "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "MindSpore is left out" in done.stdout
    results = json.loads((tmp_path / "results" / report.FILE).read_text())
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
    assert "| **NOT met** |" in behind
    level = report.page(_results([3.0, 5.0], {"default": [4.0, 4.0]}))
    assert "level with MindSpore (default), within the spread" in level


def test_a_round_that_failed_is_shown_and_not_counted():
    results = _results([10.0, 10.0], {"default": [2.0, "it broke"]})
    page = report.page(results)
    assert "failed in 1 of 2 rounds: `it broke`" in page
    assert "**5.00x** (5.00 .. 5.00)" in page


def test_a_question_that_millrace_fails_is_still_in_the_table():
    lines = report.glance(_results(["it broke"], {"default": [2.0]}))
    assert lines[2] == "| Arrays in memory | failed |  |"


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


def test_a_peer_that_gives_less_is_not_measured():
    image = ((3, 8, 8), "float32")
    measure.check([np.zeros((2, 3, 8, 8), np.float32)], [image])
    for wrong in (np.zeros((2, 8, 8, 3), np.float32), np.zeros((2, 3, 8, 8), np.uint8)):
        with pytest.raises(AssertionError, match="column 0"):
            measure.check([wrong], [image])


def _pipeline(rows, batch=4):
    return measure.Again(lambda: ([np.zeros((min(batch, rows - at), 2))] for at in range(0, rows, batch)))


def test_an_epoch_must_have_all_its_rows():
    measured = measure.loop(lambda: _pipeline(10), 0.01, rows=10)
    assert measured["batch_rows"] == 4
    assert measured["rows"] == 10 * measured["epochs"]
    with pytest.raises(AssertionError, match="an epoch had 8 rows, not 10"):
        measure.loop(lambda: _pipeline(8), 0.01, rows=10)


def test_a_stream_that_fills_its_last_batch_is_taken():
    endless = itertools.repeat([np.zeros((4, 2))])
    measured = measure.loop(lambda: measure.Stream(endless, 3), 0.01, rows=10)
    assert measured["rows"] == 12 * measured["epochs"]


def test_files_are_made_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr(measure, "only_prepare", True)
    with pytest.raises(measure.Prepared):
        measure.loop(lambda: pytest.fail("a pipeline was built"), 0.01)


def test_a_variant_far_behind_in_the_first_round_is_not_repeated():
    results = _results([100.0], {"slow": [1.0], "near": [7.0], "best": [10.0], "broken": ["it broke"]})
    module, entry = workloads.load("arrays"), results["workloads"]["arrays"]
    tired = {v: run.hopeless(module, entry, "mindspore", v) for v in entry["peers"]["mindspore"]}
    assert tired == {"slow": True, "near": False, "best": False, "broken": True}
    assert not run.hopeless(module, entry, "millrace", "default")


def test_the_best_variant_is_one_that_was_measured_to_the_end():
    entry = _results([100.0, 100.0], {"once": [9.0], "twice": [8.0, 8.0]})["workloads"]["arrays"]
    assert summary.best_variant(entry, "mindspore", workloads.load("arrays").METRICS[0]) == "twice"


def test_the_page_says_why_only_where_a_peer_is_ahead():
    results = _results([2.0, 2.0], {"default": [1.0, 1.0]}, "jpeg_train")
    entry = results["workloads"]["jpeg_train"]["peers"]
    entry["dali"] = {"2 threads": [{"rows_per_s": 4.0}, {"rows_per_s": 4.0}]}
    page = report.page(results)
    assert f"Why: {workloads.load('jpeg_train').WHY['dali']}" in page
    assert "ahead of all others | 0.50 times DALI (CPU), the nearest of 2 | **NOT met** |" in page
    assert "at least 1.6 times MindSpore | 2.00 times (2.00 .. 2.00) | yes |" in page
    entry["dali"]["2 threads"] = [{"rows_per_s": 1.0}, {"rows_per_s": 1.0}]
    page = report.page(results)
    assert workloads.load("jpeg_train").WHY["dali"] not in page
    assert "ahead of all others | 2.00 times MindSpore, the nearest of 2 | yes |" in page


def test_a_peer_that_cannot_be_installed_is_left_out_with_the_reason(tmp_path, monkeypatch):
    for key in peers.NAMES:
        monkeypatch.delenv(f"BENCH_PYTHON_{key.upper()}", raising=False)
    (tmp_path / "dali" / "bin").mkdir(parents=True)
    (tmp_path / "dali" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "dali" / ".failed").write_text("no wheel for this machine\n")
    (tmp_path / "grain" / "bin").mkdir(parents=True)
    broken = tmp_path / "grain" / "bin" / "python"
    broken.write_text("#!/bin/sh\necho 'ImportError: it is broken' >&2\nexit 1\n")
    broken.chmod(0o755)
    found, left_out = peers.find(tmp_path)
    assert found == {"millrace": sys.executable}
    assert "no wheel for this machine" in left_out["dali"]
    assert left_out["grain"] == "`import grain` fails: ImportError: it is broken"
    assert "was not made" in left_out["torch"]


def _scaled(**rates):
    table = {
        workers.removeprefix("w"): {"rows_per_s": rate, "low": rate, "high": rate, "cpu_s_per_1k": 1.0}
        for workers, rate in rates.items()
    }
    return {
        "command": "c",
        "when": "2000-01-01T00:00+00:00",
        "machine": {"cpu": "x", "cores": 16, "system": "s"},
        "commit": "abc",
        "versions": {},
        "files": 1,
        "rounds": 1,
        "names": {"millrace": "Millrace"},
        "pipelines": {"train": {"millrace": table}, "eval": {}},
    }


def test_the_section_on_scaling_gives_parts_of_linear():
    scaled = _scaled(w1=100.0, w16=1440.0)
    train, evaluation = scaling_page.verdicts(scaled)
    assert train[1:] == ("90 % of linear", True)
    assert evaluation[1:] == ("not measured", None)
    assert scaling_page.verdicts(_scaled(w1=100.0, w16=800.0))[0][2] is False
    assert "1,440 (90 %)" in "\n".join(scaling_page.section(scaled))
    (drawn,) = scaling_page.plots(scaled).values()
    ElementTree.fromstring(drawn)
    page = report.page(_results([2.0], {"default": [1.0]}), scaled)
    assert "## Past one core count" in page


def test_a_step_for_the_gpu_is_that_of_plain_pytorch():
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_steps", "--device=cpu", "--seconds=0.01", "--only=mlp"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Graph" in done.stdout
    assert "replayed" in done.stdout


def test_scaling_measures_one_cell(tmp_path):
    for name, rows in (("a", 24), ("b", 24)):
        (tmp_path / name).mkdir()
        for number in range(rows):
            scaling.pictures._write_jpeg(tmp_path / name / f"{number}.jpg", np.zeros((40, 50, 3), np.uint8))
    command = [sys.executable, "benchmarks/scaling.py", "--seconds", "0.01", "--cell"]
    for pipeline in scaling.PIPELINES:
        done = subprocess.run(
            [*command, pipeline, "millrace", "2", str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["rows_per_s"] > 0


@pytest.mark.parametrize("shards", [1, 1000])
def test_what_a_trillion_rows_cost_does_not_grow_with_them(shards):
    found = scale.rows(10**12, shards)
    assert found["state_bytes"] < 1000
    assert found["grown_mb"] < 200  # the whole order would be eight million
    assert found["steps"] == 10**12 // shards // scale.BATCH


def test_a_list_of_files_is_as_compact_as_the_note_says():
    assert scale.files(10_000)["bytes_a_file"] < 50


@pytest.mark.parametrize("name", [None, "threads", "files", "memory_mb", "objects"])
def test_a_soak_tells_what_grows(name):
    samples = [
        {"the soak": {each: 10 + turn * (each == name) * 2 for each in held.NAMES}} for turn in range(40)
    ]
    table = held.compared(samples, samples[-1], grown_mb=25)["the soak"]
    assert [each for each in table if not table[each]["flat"]] == ([] if name is None else [name])


def test_what_comes_and_goes_is_no_leak():
    samples = [{"the soak": {"threads": 10 + turn % 3}} for turn in range(40)]
    assert held.compared(samples, samples[-1], grown_mb=25)["the soak"]["threads"]["flat"]


SOME = ["open_and_close", "sink_a_training", "ask_the_server"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("only", [SOME, pytest.param([], marks=pytest.mark.nightly)], ids=["some", "all"])
def test_a_few_turns_of_the_soak(only, tmp_path):
    """In a process of its own, which holds no more after them than before: the exit code says so."""
    for library in ("torch", "onnxruntime", "obstore", "moto"):
        pytest.importorskip(library)
    chosen = ["--only", *only] if only else []
    counts = ["--turns", "3", "--hostile", "40", "--reloads", "2", "--small"]
    files = ["--out", str(tmp_path / "soak.json"), "--page", str(tmp_path / "soak.md")]
    done = subprocess.run(
        [sys.executable, "benchmarks/soak.py", *counts, *files, *chosen],
        cwd=ROOT, capture_output=True, text=True, timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "soak.json").read_text())
    assert sum(results["turns"].values()) == 3
    assert results["held"].keys() >= {"the soak", "the server"}
    assert (results["failures"], results["hostile"]["count"], results["reloads"]["count"]) == ([], 40, 2)
    page = (tmp_path / "soak.md").read_text()
    assert "None of 3 turns failed." in page
    assert "Nothing was left behind when all was closed." in page
