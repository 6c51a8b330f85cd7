"""The quickstart: its images, its run, its output without a terminal and on one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from millrace.cli import main
from millrace.cli.shapes import CLASSES, HEIGHT, WIDTH, draw, write_image

MILLRACE = Path(sys.executable).with_name("millrace")


def test_images_are_the_same_each_time_and_differ(tmp_path):
    first, again = np.asarray(draw(5)), np.asarray(draw(5))
    assert first.shape == (HEIGHT, WIDTH, 3)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, draw(5 + len(CLASSES)))
    path = write_image(tmp_path, 5)
    assert path.parent.name == CLASSES[5]
    assert 10_000 < path.stat().st_size < 200_000  # about what a photograph of this size has


def test_every_class_looks_different():
    pictures = {draw(number).tobytes() for number in range(len(CLASSES))}
    assert len(pictures) == len(CLASSES)


def test_runs_without_a_terminal(tmp_path, no_leaks):
    env = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [MILLRACE, "quickstart", "--images", "96"], capture_output=True, text=True, timeout=90, env=env
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    said = done.stdout.splitlines()
    assert sum("images/s" in line for line in said) == 3  # drawing, and two epochs
    for text in ("data.explain()", "GeneratorDataset", "pipeline:", "data.report()", "The bottleneck is"):
        assert text in done.stdout
    assert "the same, bit for bit" in done.stdout
    assert "docs/tutorial/first-pipeline.md" in done.stdout
    assert list(tmp_path.iterdir()) == []  # nothing stays


def test_shows_a_progress_bar_on_a_terminal():
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [MILLRACE, "quickstart", "--images", "32", "--epochs", "1"],
        stdout=follower,
        stderr=follower,
        stdin=follower,
    )
    os.close(follower)
    seen = b""
    try:
        while part := os.read(leader, 65536):
            seen += part
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    assert process.wait(60) == 0
    assert b"\x1b[" in seen
    assert "━".encode() in seen
    assert b"32/32" in seen


def test_folder_is_kept(tmp_path, capsys):
    folder = tmp_path / "images"
    assert (
        main(["quickstart", "--images", "33", "--epochs", "1", "--workers", "1", "--folder", str(folder)])
        == 0
    )
    assert sum(1 for _ in folder.rglob("*.jpg")) == 33
    assert sorted(path.name for path in folder.iterdir()) == sorted(CLASSES)
    assert "bit for bit" in capsys.readouterr().out


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_a_count_is_a_positive_number(count, capsys):
    with pytest.raises(SystemExit):
        main(["quickstart", "--images", count])
    assert "--images" in capsys.readouterr().err


def test_one_batch_is_enough(capsys):
    assert main(["quickstart", "--images", "3", "--epochs", "1"]) == 0
    assert "bit for bit" in capsys.readouterr().out
