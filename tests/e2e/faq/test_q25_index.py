"""Q25: why a .db file, and what if it is missing? It is for MindSpore, and is rebuilt from the data file."""

from __future__ import annotations

import os
import shutil
import warnings

import pytest

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.mindrecord import shard
from millrace._src.data.sources.mindrecord import MindDataset
from millrace.mindrecord import FileReader, FileWriter


def make(path, count=50, shards=1):
    writer = FileWriter(str(path), shards, True)
    writer.add_schema({"n": {"type": "int32"}, "s": {"type": "string"}})
    writer.write_raw_data([{"n": k, "s": f"row {k}"} for k in range(count)])
    writer.commit()
    return path if shards == 1 else path.with_name(path.name + "0")


def numbers(path):
    data = MindDataset(str(path), shuffle=False)
    return [row["n"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def missing(path):
    os.remove(f"{path}.db")


def garbage(path):
    with open(f"{path}.db", "wb") as file:
        file.write(os.urandom(5000))


def stale(path):
    other = make(path.with_name("other"), 49)
    shutil.copy(f"{other}.db", f"{path}.db")


def renamed(path):
    os.rename(path, path.with_name("moved"))
    os.rename(f"{path}.db", path.with_name("moved.db"))
    shutil.copy(path.with_name("moved"), path)
    shutil.copy(path.with_name("moved.db"), f"{path}.db")
    # a data file beside the index of another name
    shutil.copy(f"{make(path.with_name('third'))}.db", f"{path}.db")


@pytest.mark.parametrize("damage", [missing, garbage, stale, renamed])
def test_the_index_is_rebuilt_once_with_a_warning(tmp_path, damage):
    path = make(tmp_path / "x.mindrecord")
    damage(path)
    with pytest.warns(UserWarning, match=r"rebuilt from the data file: .*x\.mindrecord\.db"):
        assert numbers(path) == list(range(50))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the second time there is nothing to say
        assert numbers(path) == list(range(50))
        assert FileReader(str(path)).len() == 50


def test_every_shard_is_looked_after(tmp_path):
    path = make(tmp_path / "x.mindrecord", 40, 4)
    for n in (1, 3):
        os.remove(f"{path.parent}/x.mindrecord{n}.db")
    with pytest.warns(UserWarning, match=r"mindrecord1\.db.*mindrecord3\.db"):
        assert numbers(path) == list(range(40))


def test_where_it_cannot_be_written_reading_goes_on(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    path = make(tmp_path / "x.mindrecord")
    missing(path)
    monkeypatch.setattr(shard, "replace_file", refuse)  # as in a folder that is not ours
    with pytest.warns(UserWarning, match=r"cannot be rebuilt here.*Permission denied"):
        assert numbers(path) == list(range(50))
    assert os.listdir(tmp_path) == ["x.mindrecord"]


def test_when_the_data_is_damaged_too_the_error_names_the_file(tmp_path):
    path = make(tmp_path / "x.mindrecord")
    missing(path)
    with open(path, "r+b") as file:
        file.seek((16 << 20) + 12)
        file.write(b"\xff" * 8)
    with pytest.raises(FormatError) as caught:
        numbers(path)
    assert caught.value.context["file"] == str(path)
    assert not os.path.exists(f"{path}.db")  # no index of damaged data
