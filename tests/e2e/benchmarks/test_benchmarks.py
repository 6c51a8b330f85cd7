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

from benchmarks import measure, peers, report, run, scale, scaling, workloads
from benchmarks.soaking import held

ROOT = Path(__file__).resolve().parents[3]
# Variants that are run by day, where they differ by a setting and each takes seconds to start; all others are nightly.
BY_DAY = {name: 1 for name in workloads.NAMES if name.startswith(("train_", "autotune", "serving_resnet18"))}
BY_DAY["serving_bert"] = 0


def cells():
    for name in workloads.NAMES:
        for number, variant in enumerate(workloads.load(name).VARIANTS["millrace"]):
            nightly = number >= BY_DAY.get(name, 100)
            yield pytest.param(
                name, variant, id=f"{name}-{variant}", marks=[pytest.mark.nightly] if nightly else []
            )


@pytest.mark.timeout(450)  # a program of its own, on a machine that may be busy
@pytest.mark.parametrize(("name", "variant"), list(cells()))
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
    results = json.loads((tmp_path / report.FILE).read_text())
    assert len(results["workloads"]["arrays"]["peers"]["millrace"]["default"]) == 2
    page = (tmp_path / "RESULTS.md").read_text()
    assert "at least 20 times MindSpore | MindSpore was not measured | not measured" in page
    assert "MindSpore: left out" in page
    assert "[Arrays in memory](DETAILS.md#arrays-in-memory)" in page
    assert "## Arrays in memory\n" in (tmp_path / "DETAILS.md").read_text()
    ElementTree.parse(tmp_path / "plots" / "arrays.svg")


def test_a_failing_worker_is_a_result(tmp_path):
    measured = run.measure(sys.executable, "arrays", "millrace", "no such variant", quick=True)
    assert "no such variant" in measured["error"]


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
