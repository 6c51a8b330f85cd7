"""The state of files, as a cache's key has it."""

import os

from millrace._src.data.plan.fingerprint import file_state as files
from millrace._src.data.plan.fingerprint.file_state import files_state


def _folder(tmp_path, count=6):
    for number in range(count):
        (tmp_path / f"c{number % 2}").mkdir(exist_ok=True)
        (tmp_path / f"c{number % 2}" / f"{number}.txt").write_text("x")
    return {"dataset_dir": str(tmp_path)}


def test_a_file_that_was_written_anew_is_another_one(tmp_path):
    given = _folder(tmp_path)
    before = files_state(given)
    assert files_state(given) == before
    os.utime(tmp_path / "c0" / "0.txt", ns=(1, 1))
    assert files_state(given) != before


def test_a_large_folder_is_looked_at_once_unless_a_file_comes_or_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGE_FOLDER", 3)
    monkeypatch.setattr(files, "_known", {})
    given = _folder(tmp_path)
    looked = []
    real = files._states
    monkeypatch.setattr(files, "_states", lambda path: looked.append(path) or real(path))
    before = files_state(given)
    assert files_state(given) == before
    assert looked.count(str(tmp_path)) == 1
    (tmp_path / "c1" / "new.txt").write_text("x")
    assert files_state(given) != before
