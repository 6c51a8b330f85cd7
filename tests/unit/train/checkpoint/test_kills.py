"""A run that is killed at any moment and resumed ends with the same bits as one that was not."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

STEPS, SAVES = 24, 8  # as the run has them
ROOT = Path(__file__).parents[4]


def outcomes(folder: Path, cases: list) -> list[dict]:
    asked = [
        {"folder": str(folder / str(n)), "kill": kill, "mode": mode, "beside": beside}
        for n, (kill, mode, beside) in enumerate(cases)
    ]
    (folder / "cases.json").write_text(json.dumps(asked))
    command = [
        sys.executable,
        "-m",
        "tests.unit.train.checkpoint.killed_training",
        str(folder / "cases.json"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(cases), done.stderr
    return found


def check(folder: Path, kills: list, modes: list[str]) -> None:
    whole = [(None, mode, False) for mode in modes]
    found = outcomes(folder, [*whole, *kills])
    wanted = {mode: one["first"]["digest"] for mode, one in zip(modes, found)}
    assert len({wanted[mode] for mode in wanted if mode != "model"}) == 1, "the modes differ"
    for (kill, mode, beside), one in zip(kills, found[len(modes) :]):
        what = f"{kill} {mode} {beside}: {one}"
        assert one["first"]["status"] == -(signal.SIGXFSZ if kill[0] == "byte" else signal.SIGKILL), what
        assert one["second"]["status"] == 0, what
        assert one["second"]["digest"] == wanted[mode], what
        saved = kill[1] // 3 if kill[0] == "step" else kill[-1 if kill[0] == "call" else 1]
        before = 3 * (saved - 1) if kill[0] != "step" or kill[1] % 3 == 0 else 3 * saved
        # beside the training, the trap may catch the save before
        assert one["second"]["began"] in ((before, before - 3) if beside else (before,)), what


def test_four_moments(tmp_path):
    kills = [
        (["step", 11], "pynative", False),
        (["byte", 4, 3000], "graph", False),
        (["call", "replace", 6], "pynative", True),
        (["call", "fsync", 5], "model", False),
    ]
    check(tmp_path, kills, ["pynative", "graph", "model"])


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_thirty_moments(tmp_path):
    draw = random.Random(7)
    kills = []
    for n in range(30):
        kind = ("step", "byte", "call")[n % 3]
        if kind == "step":
            kill = ["step", draw.randint(1, STEPS)]
        elif kind == "byte":
            kill = ["byte", draw.randint(1, SAVES), draw.randint(0, 8000)]
        else:
            kill = ["call", draw.choice(["replace", "fsync", "chmod"]), draw.randint(1, SAVES)]
        kills.append((kill, draw.choice(["pynative", "graph", "model"]), draw.random() < 0.3))
    check(tmp_path, kills, ["pynative", "graph", "model"])
