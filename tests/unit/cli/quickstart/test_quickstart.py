"""The quickstart: its images, its run, its output without a terminal and on one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from millrace._src.cli.main import main
from millrace._src.cli.quickstart.synthetic_images import CLASSES, HEIGHT, WIDTH, render_image, write_image
from tests.unit.cli.terminal import on_terminal

MILLRACE = Path(sys.executable).with_name("millrace")


def test_images_are_the_same_each_time_and_differ(tmp_path):
    first, again = np.asarray(render_image(5)), np.asarray(render_image(5))
    assert first.shape == (HEIGHT, WIDTH, 3)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, render_image(5 + len(CLASSES)))
    path = write_image(tmp_path, 5)
    assert path.parent.name == CLASSES[5]
    assert 10_000 < path.stat().st_size < 200_000  # about what a photograph of this size has


def test_every_class_looks_different():
    pictures = {render_image(number).tobytes() for number in range(len(CLASSES))}
    assert len(pictures) == len(CLASSES)


def test_runs_without_a_terminal(tmp_path, no_leaks):
    temp = tmp_path / "temp"
    temp.mkdir()
    done = subprocess.run(
        [MILLRACE, "quickstart", "--images", "96"],
        capture_output=True,
        text=True,
        timeout=90,
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temp), "COLUMNS": "80", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    said = done.stdout.splitlines()
    assert sum("images/s" in line for line in said) == 4  # drawing, writing, and two epochs
    for text in ("pipeline.py", "data.report()", "MindDataset", "report.html"):
        assert text in done.stdout
    # the verdict; so few images on a quick machine are too short a run for one
    assert "bottleneck" in done.stdout or "Too short to judge" in done.stdout
    assert "the same, bit for bit" in done.stdout
    assert list(temp.iterdir()) == []  # nothing stays but the folder
    made = {path.name for path in (tmp_path / "millrace-quickstart").iterdir()}
    assert made >= {"images", "shapes.mindrecord", "shapes.mindrecord.db", "pipeline.py", "report.html"}
    table = said[said.index("Report of the run: data.report()") :]
    assert max(len(line) for line in table[: table.index("Commands to try next")] if "/" not in line) <= 80


def commands(out):
    """What the last section asks to try."""
    lines = re.split(r"Commands? to try next", out)[1].splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


@pytest.mark.timeout(450)
def test_the_commands_to_try_next_work_as_printed(tmp_path):
    """From the same folder, in a shell that knows no millrace: as after make quickstart."""
    options = {
        "capture_output": True, "text": True, "timeout": 400, "cwd": tmp_path,
        "env": os.environ | {"PATH": "/usr/bin:/bin"},
    }  # fmt: skip
    first = subprocess.run([MILLRACE, "quickstart", "--images", "40", "--epochs", "1"], **options)
    assert first.returncode == 0, first.stderr
    tried = commands(first.stdout)
    assert len(tried) == 4
    for command in tried:
        done = subprocess.run(["sh", "-c", command], **options)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout


@pytest.mark.timeout(600)
def test_a_net_learns_is_killed_and_goes_on_to_the_same_bits(tmp_path):
    env = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}  # cores are shared in tests
    options = {"capture_output": True, "text": True, "timeout": 580, "cwd": tmp_path, "env": env}
    folder = ["--folder", "here"]
    first = subprocess.run([MILLRACE, "quickstart", "--images", "200", "--epochs", "1", *folder], **options)
    assert first.returncode == 0, first.stderr
    done = subprocess.run([MILLRACE, "quickstart", "--train", *folder], **options)
    assert done.returncode == 0, done.stderr
    assert "accuracy on the records held out" in done.stdout
    assert "steps/s" in done.stdout
    assert "SIGKILL after shapes-" in done.stdout
    assert "the same, bit for bit" in done.stdout
    [then] = commands(done.stdout)
    served = subprocess.run(["sh", "-c", then], **options)
    assert served.returncode == 0, served.stderr
    [right, asked] = map(
        int, re.search(r"(\d+) of (\d+) images were classified correctly", served.stdout).groups()
    )
    assert asked / 4 < right <= asked  # of eight kinds, after a few epochs
    assert commands(served.stdout)[0].endswith(f"serve {Path('here', 'shapes.mindir')}")


def test_serving_wants_a_net_first(tmp_path, capsys):
    assert main(["quickstart", "--serve", "--folder", str(tmp_path)]) == 2
    assert "quickstart --train --folder" in capsys.readouterr().err


def test_training_wants_records_first(tmp_path, capsys):
    assert main(["quickstart", "--train", "--folder", str(tmp_path)]) == 2
    assert "quickstart --folder" in capsys.readouterr().err


def test_shows_a_progress_bar_on_a_terminal(tmp_path):
    status, seen = on_terminal([MILLRACE, "quickstart", "--images", "32", "--epochs", "1"], cwd=tmp_path)
    assert status == 0
    assert "\x1b[" in seen
    assert "━" in seen
    assert "32/32" in seen


def quickstart(*words):
    return main(["quickstart", "--epochs", "1", *map(str, words)])


def test_a_second_run_starts_anew(tmp_path, capsys):
    folder = tmp_path / "first"
    assert quickstart("--images", 33, "--workers", 1, "--folder", folder) == 0
    assert sum(1 for _ in folder.rglob("*.jpg")) == 33
    assert sorted(path.name for path in (folder / "images").iterdir()) == sorted(CLASSES)
    (folder / "notes.txt").write_text("mine")
    assert quickstart("--images", 3, "--folder", folder) == 0
    assert sum(1 for _ in folder.rglob("*.jpg")) == 3
    assert not (folder / "notes.txt").exists()
    assert capsys.readouterr().out.count("bit for bit") == 2


def test_a_folder_with_something_else_in_it_is_not_touched(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("precious")
    assert quickstart("--folder", tmp_path) == 2
    assert capsys.readouterr().err == (
        f"millrace quickstart: {tmp_path}: the folder is not empty. Choose another folder with --folder\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert quickstart("--folder", tmp_path / "file" / "below") == 2
    assert "Choose another folder with --folder" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_a_count_is_a_positive_number(count, capsys):
    with pytest.raises(SystemExit):
        main(["quickstart", "--images", count])
    assert f"argument --images: {count} is not a positive number" in capsys.readouterr().err


def test_one_batch_is_enough(tmp_path, capsys):
    assert quickstart("--images", 3, "--folder", tmp_path / "x") == 0
    assert "bit for bit" in capsys.readouterr().out
