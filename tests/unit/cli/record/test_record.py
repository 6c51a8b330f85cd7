"""millrace record: what a person reads, what a machine reads, and the exit status."""

import json
import os

import numpy as np
import pytest
from PIL import Image

from millrace._src.cli.main import main
from millrace.mindrecord import FileWriter
from tests.unit.data.formats.mindrecord.helpers import FIXTURES, copied, rows_of, write

SCHEMA = {"label": {"type": "int32"}, "name": {"type": "string"}, "image": {"type": "bytes"}}


def record(*words):
    return main(["record", *map(str, words)])


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


def jpeg(tmp_path, k):
    path = tmp_path / "one.jpg"
    Image.fromarray(np.full((20, 30, 3), k * 20, np.uint8)).save(path)
    return path.read_bytes()


@pytest.fixture
def photos(tmp_path):
    rows = [{"label": k, "name": f"photo {k}", "image": jpeg(tmp_path, k)} for k in range(10)]
    write(tmp_path / "photos", SCHEMA, [rows], index=["label"], shards=2, desc="holiday photos")
    return tmp_path / "photos0"


def test_inspect(photos, capsys, tmp_path):
    assert record("inspect", photos, "--sheet", tmp_path / "sheet.png") == 0
    out = capsys.readouterr().out
    for text in (
        "10 rows in 2 files, version 3.0",
        "holiday photos",
        "label",
        "int32",
        "photo 2",
        "jpeg 30x20",
        "ok",
    ):
        assert text in out
    assert "photo 3" not in out
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.format == "PNG"
        assert sheet.width > 3 * 160


def test_inspect_json(photos, capsys):
    assert record("inspect", photos, "--json", "--rows", 1) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["version"], found["index_fields"]) == (10, "3.0", ["label"])
    assert [shard["rows"] for shard in found["shards"]] == [5, 5]
    assert [shard["index"] for shard in found["shards"]] == ["ok", "ok"]
    assert found["first_rows"][0]["label"] == 0
    assert found["schema"]["image"] == {"type": "bytes"}


@pytest.mark.parametrize("name", ["scalars", "arrays", "strings", "empty", "two_images"])
def test_every_kind_of_row_can_be_shown(name, tmp_path, capsys):
    path = copied(f"{name}.mindrecord", tmp_path)
    assert record("inspect", path) == 0
    assert record("head", path, "--json") == 0
    capsys.readouterr()


def test_head(photos, capsys):
    assert record("head", photos, "-n", 2) == 0
    out = capsys.readouterr().out
    assert "photo 1" in out
    assert "photo 2" not in out
    assert record("head", photos, "-n", 2, "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["name"] for row in rows] == ["photo 0", "photo 1"]
    assert record("head", f"{photos.parent}/photos1", f"{photos.parent}/photos0", "-n", 1, "--json") == 0
    assert json.loads(capsys.readouterr().out)["label"] == 5


def test_sheet_without_images(tmp_path, capsys):
    write(tmp_path / "x", {"b": {"type": "bytes"}}, [[{"b": b"no image"}]])
    assert record("inspect", tmp_path / "x", "--sheet", tmp_path / "s.png") == 2
    assert "no column holds images" in capsys.readouterr().err
    assert record("inspect", tmp_path / "x", "--sheet", tmp_path / "s.png", "--column", "b") == 0
    assert (tmp_path / "s.png").exists()


def damage(path):
    data = bytearray(path.read_bytes())
    data[(1 << 14) : (1 << 14) + 8] = b"\xff" * 8
    path.write_bytes(data)


def test_verify_and_repair(photos, capsys):
    assert record("verify", photos) == 0
    assert "ok: 10 rows in 2 files" in capsys.readouterr().out
    damage(photos)
    assert record("verify", photos) == 1
    out = capsys.readouterr().out
    assert f"{photos}: shard 0, page 0, row 0" in out
    assert "damaged: 1 of 10 rows" in out
    assert record("verify", photos, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["rows_lost"]) == (False, 1)
    assert (found["problems"][0]["shard"], found["problems"][0]["page"], found["problems"][0]["row"]) == (
        0,
        0,
        0,
    )
    target = photos.parent / "saved"
    assert record("repair", photos, target) == 1  # not all of it
    assert "saved 9 rows" in capsys.readouterr().out
    assert [row["label"] for row in rows_of(f"{target}0")] == list(range(1, 10))
    assert record("repair", photos, target, "--json") == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error == f"{target}0 exists: remove it, or add --overwrite"
    assert record("repair", photos, target, "--overwrite", "--json") == 1
    assert json.loads(capsys.readouterr().out)["saved"] == 9
    assert record("repair", f"{target}0", photos.parent / "again") == 0
    assert "saved 9 rows" in capsys.readouterr().out
    photos.with_name("photos1").unlink()
    assert record("repair", photos, target, "--overwrite") == 1
    assert "saved 4 rows" in (out := capsys.readouterr().out)
    assert "lost at least 1" in out


def test_checksum(photos, capsys):
    assert record("checksum", photos) == 0
    assert f"wrote {photos}.crc" in capsys.readouterr().out
    assert record("verify", photos) == 0
    assert "by their checksums" in capsys.readouterr().out
    damage(photos)
    assert record("verify", photos) == 1
    assert "the checksums match, so the row is intact" in capsys.readouterr().out
    assert record("repair", photos, photos.parent / "saved") == 0  # a length is damaged, no row
    assert record("checksum", photos) == 2
    assert "of a whole set only" in capsys.readouterr().err


def test_a_missing_file_is_missing_and_a_set_is_named(photos, capsys):
    for action in ("verify", "inspect", "head", "reindex", "checksum"):
        assert record(action, photos.parent / "photos") == 2
        error = capsys.readouterr().err
        assert f"{photos.parent / 'photos'} is missing; did you mean the set of 2 files photos*?" in error
        assert f"Name its first file, '{photos}'" in error
    assert record("verify", photos.parent / "phtos0") == 2
    assert (
        f"did you mean the set of 2 files photos*? Name its first file, '{photos}'" in capsys.readouterr().err
    )


def test_bytes_are_shown_as_hexadecimal(tmp_path, capsys):
    write(tmp_path / "x", {"b": {"type": "bytes"}}, [[{"b": b"\x01\xff"}]])
    assert record("head", tmp_path / "x") == 0
    out = capsys.readouterr().out
    assert "2 B: 01 ff" in out
    assert "b'" not in out


def test_reindex(photos, capsys):
    os.remove(f"{photos}.db")
    assert record("verify", photos) == 1
    assert "`millrace record reindex` fixes the index" in capsys.readouterr().out
    assert record("inspect", photos) == 0
    assert "it is missing" in capsys.readouterr().out
    assert not os.path.exists(f"{photos}.db")  # looking changes nothing
    assert record("reindex", photos) == 0
    assert f"rebuilt {photos}.db" in capsys.readouterr().out
    assert record("verify", photos, "--json") == 0
    assert record("reindex", photos, "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"ok": True, "rebuilt": []}


def test_convert(tmp_path, capsys):
    folder = tmp_path / "pictures" / "cat"
    folder.mkdir(parents=True)
    (folder / "1.jpg").write_bytes(jpeg(tmp_path, 1))
    assert record("convert", "folder", tmp_path / "pictures", tmp_path / "p.mindrecord", "--shards", 2) == 0
    assert "p.mindrecord0: 1 row" in capsys.readouterr().out
    assert record("convert", "mindrecord", tmp_path / "p.mindrecord0", tmp_path / "one") == 0
    assert [row["file_name"] for row in rows_of(tmp_path / "one")] == ["cat/1.jpg"]
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    assert record("convert", "csv", tmp_path / "t.csv", tmp_path / "t", "--columns", "b", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["sets"][0]["rows"] == 2
    assert rows_of(tmp_path / "t") == [{"b": "x"}, {"b": "y"}]
    assert record("convert", "imagenet", tmp_path, tmp_path / "n") == 2
    assert "--map-file" in capsys.readouterr().err


def test_convert_tfrecord_looks_at_the_first_record(tmp_path, capsys):
    from millrace._src.data.formats.tfrecord.example import encode_example
    from millrace._src.data.formats.tfrecord.record_file import write_record

    with open(tmp_path / "x", "wb") as file:
        for k in range(3):
            write_record(file, encode_example({"n": k, "raw": b"\xff\0", "text": "hi", "v": [0.5, k]}))
    assert record("convert", "tfrecord", tmp_path / "x", tmp_path / "y") == 0
    row = rows_of(tmp_path / "y")[2]
    assert (row["n"], row["raw"], row["text"], row["v"].tolist()) == (2, b"\xff\0", "hi", [0.5, 2.0])
    assert record("convert", "tfrecord", tmp_path / "x", tmp_path / "z", "--features", "{") == 2
    features = json.dumps({"n": [[], "int64"]})
    assert record("convert", "tfrecord", tmp_path / "x", tmp_path / "z", "--features", features) == 0
    assert rows_of(tmp_path / "z") == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_version_2_becomes_version_3(tmp_path, capsys):
    old = FIXTURES.with_name("mindrecord_v2") / "aclImdb.mindrecord0"
    assert record("convert", "mindrecord", old, tmp_path / "new") == 0
    assert record("inspect", tmp_path / "new", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["version"] == "3.0"
    wanted, found = rows_of(old), rows_of(tmp_path / "new")
    assert len(found) == len(wanted)
    np.testing.assert_equal(found, wanted)


def test_errors_are_one_line_and_status_2(tmp_path, capsys):
    assert record("inspect", tmp_path / "nothing") == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / 'nothing'} is missing" in error
    assert "Traceback" not in error
    (tmp_path / "x").write_bytes(b"garbage")
    assert record("head", tmp_path / "x", "--json") == 2
    assert json.loads(capsys.readouterr().out)["ok"] is False
    assert record("convert", "csv", tmp_path / "none.csv", tmp_path / "y") == 2


def test_encrypted_sets_take_a_mode(tmp_path, capsys):
    from millrace.mindrecord import set_enc_key, set_enc_mode

    set_enc_key("0123456789abcdef")
    set_enc_mode("AES-GCM-STREAM")
    try:
        write(tmp_path / "x", {"n": {"type": "int32"}}, [[{"n": 1}]])
    finally:
        set_enc_key(None)
        set_enc_mode()
    key = ("--key", "0123456789abcdef")
    assert record("verify", tmp_path / "x", *key, "--mode", "AES-GCM-STREAM") == 0
    assert record("verify", tmp_path / "x", *key) != 0
    assert "AES-GCM-STREAM" in "".join(capsys.readouterr())


def test_encrypted_sets_take_a_key(tmp_path, capsys, monkeypatch):
    from millrace.mindrecord import set_enc_key

    set_enc_key("0123456789abcdef")
    try:
        write(tmp_path / "x", {"n": {"type": "int32"}}, [[{"n": 1}]])
    finally:
        set_enc_key(None)
    assert record("verify", tmp_path / "x") in (1, 2)
    capsys.readouterr()
    assert record("verify", tmp_path / "x", "--key", "0123456789abcdef") == 0
    monkeypatch.setenv("MILLRACE_RECORD_KEY", "0123456789abcdef")
    assert record("head", tmp_path / "x", "--json") == 0


def test_remote(capsys):
    writer = FileWriter("memory://cli/x", overwrite=True)
    writer.add_schema({"n": {"type": "int32"}})
    writer.write_raw_data([{"n": 1}])
    writer.commit()
    assert record("inspect", "memory://cli/x") == 0
    assert record("verify", "memory://cli/x") == 0
    assert "1 row" in capsys.readouterr().out
