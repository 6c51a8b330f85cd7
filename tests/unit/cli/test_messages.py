"""What the command says when something is wrong: the file, what it is, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from millrace._src.cli.main import main
from millrace.mindrecord import FileWriter


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, shards in (("one.mindrecord", 1), ("set.mindrecord", 3)):
        writer = FileWriter(name, shards)
        writer.add_schema({"x": {"type": "int32"}}, "numbers")
        writer.write_raw_data([{"x": i} for i in range(6)])
        writer.commit()
    for letter in "ab":
        (tmp_path / letter / "cats").mkdir(parents=True)
        for i in range(3):
            Image.new("RGB", (16, 16)).save(tmp_path / letter / "cats" / f"{i}.jpg")
    (tmp_path / "torn.mindrecord").write_bytes(b"hello")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    try:
        status = main(list(words))
    except SystemExit as ended:
        status = int(ended.code or 0)
    shown = capsys.readouterr()
    return status, shown.out + shown.err


@pytest.mark.parametrize("name", ["set.mindrecord", "set.mindrecor", "sett.mindrecord", "set.mindrecord7"])
@pytest.mark.parametrize("command", [("record", "inspect"), ("bench",)])
def test_of_a_set_of_shards_the_set_is_meant(
    name: str, command: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = said(capsys, *command, name)
    assert status == 2
    assert "did you mean the set of 3 files set.mindrecord*? Name its first file, 'set.mindrecord0'" in text


@pytest.mark.parametrize("action", ["inspect", "head", "verify", "reindex"])
def test_a_missing_file_is_missing(action: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = said(capsys, "record", action, "on.mindrecord")
    assert (status, "on.mindrecord is missing; did you mean 'one.mindrecord'?" in text) == (2, True)
    assert "damaged" not in text


def test_a_missing_source_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "record", "convert", "cifar10", "nope", "out") == (
        2,
        "millrace record convert: nope is missing\n",
    )


def test_an_existing_target_is_not_told_of_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.csv").write_text("a,b\n1,2\n")
    status, text = said(capsys, "record", "convert", "csv", "t.csv", "one.mindrecord")
    assert (status, "one.mindrecord exists: remove it first" in text) == (2, True)
    assert "overwrite=True" not in text
    assert said(capsys, "record", "convert", "csv", "t.csv", "new.mindrecord") == (
        0,
        "new.mindrecord: 1 row\n",
    )


def test_bench_names_the_file_that_cannot_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = said(capsys, "bench", "torn.mindrecord")
    assert status == 2
    assert text.startswith("millrace bench: torn.mindrecord: ")


def test_bench_takes_two_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = said(capsys, "bench", "a", "b", "--seconds", "0.05", "--no-decode")
    assert status == 0, text
    assert "6 images in 2 folders" in text
    assert "b'" not in text


def test_bench_does_not_leave_a_path_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = said(capsys, "bench", "a", "one.mindrecord")
    assert status == 2
    assert "expected one data format: a holds images, one.mindrecord holds mindrecord" in text
