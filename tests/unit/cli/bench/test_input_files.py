"""Which files a path stands for."""

import json
import os

import pytest

from millrace._src.cli.bench.input_files import find
from millrace._src.core.errors import ArgumentValueError
from millrace._src.data.formats.tfrecord.example import encode_example
from millrace._src.data.formats.tfrecord.record_file import write_record


def touch(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(found):
    return [os.path.basename(path) for path in found.files]


def test_the_kind_with_the_most_bytes(tmp_path):
    touch(tmp_path, a_jpg="x" * 100, b__c_PNG="x" * 100, labels_csv="x", readme_txt="hello")
    found = find([str(tmp_path)])
    assert (found.data_format, names(found), found.bytes) == ("images", ["a.jpg", "c.PNG"], 200)
    assert found.root == str(tmp_path)
    assert sorted(found.ignored.split(", ")) == ["1 csv", "1 text"]


def test_hidden_files_and_scripts_of_a_folder_are_left_out(tmp_path):
    touch(tmp_path, x_csv="a\n1\n", make_py="print()" * 99, state_json="{}" * 99)
    (tmp_path / ".big.csv").write_text("x" * 1000)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "y.csv").write_text("x" * 1000)
    assert names(find([str(tmp_path)])) == ["x.csv"]


@pytest.mark.parametrize("name", ["x.mindrecord", "x.mindrecord0", "plain"])
def test_mindrecord(tmp_path, name):
    touch(tmp_path, x="x")
    (tmp_path / name).write_bytes(b"x")
    (tmp_path / f"{name}.db").write_bytes(b"x")
    found = find([str(tmp_path / name)])
    assert (found.data_format, names(found)) == ("mindrecord", [name])


@pytest.mark.parametrize("name", ["x.tfrecord", "train-00000-of-00002", "data.bin"])
def test_tfrecord_by_name_or_content(tmp_path, name):
    with open(tmp_path / name, "wb") as file:
        write_record(file, encode_example({"n": 1}))
    assert find([str(tmp_path / name)]).data_format == "tfrecord"


def test_content_decides_where_the_name_says_nothing(tmp_path):
    (tmp_path / "photo").write_bytes(b"\xff\xd8\xff\xe0 and so on")
    (tmp_path / "notes").write_text("some words\n")
    (tmp_path / "noise").write_bytes(bytes(range(256)))
    assert find([str(tmp_path / "photo")]).data_format == "images"
    assert find([str(tmp_path / "notes")]).data_format == "text"
    with pytest.raises(ArgumentValueError, match=r"found no supported files\. Supported: images"):
        find([str(tmp_path / "noise")])


def test_json_is_a_pipeline_or_lines(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"op_type": "Batch"}))
    (tmp_path / "lines.json").write_text('{"a": 1}\n{"a": 2}\n')
    assert find([str(tmp_path / "p.json")]).data_format == "json"
    assert find([str(tmp_path / "lines.json")]).data_format == "text"


def test_several_paths(tmp_path):
    touch(tmp_path, one_csv="a\n", two_csv="a\n")
    assert names(find([str(tmp_path / "one.csv"), str(tmp_path / "two.csv")])) == ["one.csv", "two.csv"]


def test_a_path_that_is_not_there(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(ArgumentValueError, match=r"does not exist; did you mean '.*photos'"):
        find([str(tmp_path / "phots")])
    with pytest.raises(ArgumentValueError, match=r"zzz does not exist$"):
        find([str(tmp_path / "zzz")])
