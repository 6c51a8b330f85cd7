"""``millrace watch`` as people call it: in the terminal, in the browser, with and without a run to see."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from millrace._src.cli.main import main
from tests.unit.observe.live.long_run import write_run

MILLRACE = str(Path(sys.executable).with_name("millrace"))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "millrace"
    folder.mkdir(mode=0o700)
    (folder / "runs").mkdir(mode=0o700)
    return folder / "runs"


def test_a_run_in_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run.history", seconds=30)
    assert main(["watch", str(tmp_path / "run.history"), "--text"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    for words in (
        "train.py (process 4242)",
        "finished after 30.0 s",
        "ResNet50: step 481, epoch 1 of 90",
        "host ring",
        "device ring",
        "map(mixup) train.py:38",
        "The bottleneck is map(RandomCropDecodeResize) at train.py:33",
        "num_parallel_workers=16). From 4150 to about 4730 rows/s (1.1x).",
    ):
        assert words in text


def test_the_same_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run.history", seconds=30)
    assert main(["watch", str(tmp_path / "run.history"), "--json"]) == 0
    now = json.loads(capsys.readouterr().out)
    assert (now["status"], now["trainings"][0]["step"]) == ("finished", 481)


def test_the_newest_run_is_found_and_a_live_one_first(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(own_folder / "a.history", seconds=3)
    book = write_run(own_folder / "b.history", seconds=4, over=False)
    write_run(own_folder / "c.history", seconds=5)
    assert main(["watch", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["live", "finished", "finished"]
    assert main(["watch", "--text"]) == 0
    assert ": live after 4.0 s" in capsys.readouterr().out
    book.close()
    assert main(["watch", "--text"]) == 0
    assert "after 5.0 s" in capsys.readouterr().out or "gone" in capsys.readouterr().out
    assert main(["watch", "--live", "--text"]) == 2
    assert "you have no live run with a history. Iterate inside" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "millrace watch: you have no run with a history. Iterate inside `with ds.monitor():`"),
        (["missing.history"], "millrace watch: missing.history does not exist"),
        (["{tmp}/letter"], "letter is not the history of a run, as `with ds.monitor():` writes it"),
    ],
)
def test_nothing_to_see_is_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letter").write_text("dear all\n")
    assert main(["watch", *(word.format(tmp=tmp_path) for word in words)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_damaged_file_is_shown_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.history"
    write_run(path, seconds=5)
    path.write_bytes(path.read_bytes()[:-40] + b"\n{}\n")
    assert main(["watch", str(path), "--text"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "ended without a word: the process is gone" in text
    assert "2 lines of the file could not be read" in text


def test_a_live_run_is_redrawn_until_it_ends(tmp_path: Path) -> None:
    book = write_run(tmp_path / "run.history", seconds=3, over=False)
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [MILLRACE, "watch", str(tmp_path / "run.history"), "--text"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(follower)
    seen = ""
    try:
        while True:
            try:
                part = os.read(leader, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
            if "live after 3.0 s" in seen:
                book.close()  # and no word that it was over
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
        book.close()
    assert "the process is gone" in " ".join(seen.split())


def test_the_page_is_served_until_it_is_interrupted(tmp_path: Path) -> None:
    write_run(tmp_path / "run.history", seconds=5)
    with subprocess.Popen(
        [MILLRACE, "watch", str(tmp_path / "run.history"), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            head, where = process.stdout.readline(), process.stdout.readline()
            assert head.startswith("train.py, ")
            url = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", where)
            assert url is not None
            with urllib.request.urlopen(url[0], timeout=60) as answer:
                assert b"<title>Millrace</title>" in answer.read()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert process.stderr is not None
            assert process.stderr.read().strip() == "stopped"
        finally:
            process.kill()
