"""EarlyStopping(restore_best_weights=True) in a run that is killed and resumed by another process."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from millrace.train import contents_of, wait_for_checkpoints

from .stopped_training import run


def started(*args):
    command = [sys.executable, "-m", "tests.unit.train.checkpoint.stopped_training", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_resumed_run_restores_the_best_weights_of_the_one_that_died(tmp_path):
    whole, ended = run(tmp_path / "whole")
    assert whole.stopped_epoch == 4
    died = started(tmp_path / "run", 8)  # in the third epoch, two after the best one
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert "millrace.kept.0 EarlyStopping.weight" in {
        item.name for item in contents_of(str(tmp_path / "run" / "run-2_3.ckpt")).items
    }
    went_on = started(tmp_path / "run")
    assert went_on.returncode == 0, went_on.stderr
    found = json.loads(went_on.stdout)
    assert found == {"stopped": 4, "best": whole.best, "ended": ended}


def test_a_run_that_kept_no_weights_says_so_and_looks_anew(tmp_path, caplog, monkeypatch):
    def end(pid, number):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.kill", end)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 8, restore=False)
    monkeypatch.undo()
    wait_for_checkpoints()
    with caplog.at_level(logging.WARNING, "millrace"):
        stopping, _ = run(tmp_path)
    assert "kept no weights for it" in caplog.text
    assert stopping.stopped_epoch == 6  # the third is the best it has seen
