"""Every example runs, is short, and says what it claims."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

# What must be among the lines of each.
SAYS = {
    "first_pipeline": ["9 batches an epoch, columns ['image', 'label']", "epoch 0: (64, 3, 28, 28) float32"],
    "custom_dataset": [
        "with two workers it was not: True",
        "the batches are the same, bit for bit and in order: True",
    ],
    "different_sizes": ["epoch 1: [(20, 3, 96, 96), (20, 3, 128, 128), (20, 3, 64, 64)]"],
    "shards_and_resume": [
        "every row was seen exactly once: True",
        "the order is that of a run without a stop: True",
    ],
    "error_modes": [
        "  file: images/007.jpg",
        "195 rows came through",
        "more than config.set_error_samples_limit(0.01)",
    ],
    "classify_drawings": ["held-out accuracy after each epoch:", "of 10 new digits are read right"],
    "segment_drawings": ["intersection over union on held-out images: 0.9"],
    "classify_text": ["{'accuracy': 0.99}"],
    "two_processes": [
        "[rank 0] epoch 3: 16 steps, loss 0.",
        "[rank 0] 2 processes have the same weights: True",
    ],
    "serve_text": [
        "held-out accuracy 0.9",
        "The crew and the captain of a small cargo. -> ship",
        "Every miller and the old wheel by a pond. -> mill",
    ],
    "run_anywhere": ["epoch 3: 6 batches, loss 0.", "all batches: "],
    "small_gpt": ["3 5 7 goes on with 9 1 3 5 7 9 1"],
}


def test_all_are_known():
    assert {path.stem for path in EXAMPLES} == set(SAYS)


@pytest.mark.timeout(450)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path, no_leaks):
    env = os.environ | {"PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"}  # cores are shared in tests
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=400, cwd=tmp_path, env=env
    )
    assert (done.returncode, done.stderr) == (0, "")
    for text in SAYS[path.stem]:
        assert text in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_says_how_to_run_it(path):
    lines = path.read_text().splitlines()
    assert len(lines) < 80
    assert f"Run it with: python examples/{path.name}" in lines
