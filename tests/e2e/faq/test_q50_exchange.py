"""Q50: a file that MindSpore wrote loads here, and written again it is the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from millrace.train import load_checkpoint, save_checkpoint

FILE = Path(__file__).parents[2] / "fixtures" / "checkpoint" / "train_adam.ckpt"


def test_there_and_back(tmp_path):
    save_checkpoint(load_checkpoint(str(FILE)), str(tmp_path / "again.ckpt"))
    assert (tmp_path / "again.ckpt").read_bytes() == FILE.read_bytes()
