"""A short part of the fuzzing, the same each time, and the inputs that once crashed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .driver import CRASHES

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(900)  # ten seconds of computing; other programs may have the cores
@pytest.mark.parametrize(
    ("group", "count", "sources"), [("data", 40, 1), pytest.param("models", 40, 0, marks=pytest.mark.torch)]
)
def test_damaged_input_is_refused_with_an_error_of_ours(group: str, count: int, sources: int) -> None:
    """In a process of its own: its memory is limited, and a crash of a library would end it."""
    if group == "models":
        pytest.importorskip("torch")
    words = f"-m tests.fuzz --group {group} --seed 27 --count {count} --sources {sources}"
    done = subprocess.run(
        [sys.executable, *words.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    crashes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    unknown = [f"{crash['target']}: {crash['error']}" for crash in crashes if "known" not in crash]
    assert unknown == []
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_inputs_that_crashed_belong_to_targets() -> None:
    from .__main__ import every_target

    names = {target.name for target in every_target("data")} | {
        "ckpt",
        "ckpt_encrypted",
        "safetensors",
        "archive",
    }
    names |= {"program_json", "servable_json", "print_file", "http_v2", "grpc_v2"}
    assert {folder.name for folder in CRASHES.iterdir() if folder.is_dir()} <= names
