"""MindDataset on damaged files: what is bad is named, and the rest is read."""

from __future__ import annotations

import json
import random
import sqlite3

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import FormatError, MillraceError
from millrace._src.data.sources.base import mindrecord_reader as record_reader
from millrace._src.data.sources.mindrecord import MindDataset
from millrace.mindrecord import FileWriter, set_enc_key
from tests.unit.data.formats.mindrecord.helpers import write
from tests.unit.data.sources.mindrecord_rows import SCHEMA, row, values, write_two


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return write_two(tmp_path_factory.mktemp("records"))


def test_where_names_file_shard_page_and_row(two):
    source = MindDataset(two)._source
    assert source.row_location(13) == f"{two[:-1]}1 (shard 1, page 0, row 3 of the file)"


def damaged(tmp_path):
    path = tmp_path / "x"
    schema = {"n": {"type": "int32"}, "v": {"type": "int32", "shape": [2]}}
    write(path, schema, [[{"n": k, "v": np.array([k, k], np.int32)} for k in range(30)]])
    data = bytearray(path.read_bytes())
    at = data.index((2).to_bytes(4, "big") + b"\0" + bytes([17, 17]))  # the packed array of row 17
    data[at + 3] = 9  # a lie about its number of elements
    path.write_bytes(data)
    return path


def test_a_damaged_row_is_named_and_the_rows_before_it_come(tmp_path):
    path = damaged(tmp_path)
    data = MindDataset(str(path), shuffle=False)
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert [next(iterator)["n"].item() for _ in range(17)] == list(range(17))
    with pytest.raises(FormatError) as caught:
        next(iterator)
    context = caught.value.context
    assert {key: context[key] for key in ("file", "shard", "page", "row", "column")} == {
        "file": str(path), "shard": 0, "page": 0, "row": 17, "column": "v",
    }  # fmt: skip


def test_a_damaged_row_can_be_skipped(tmp_path):
    path = damaged(tmp_path)
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = MindDataset(str(path), shuffle=False)
    assert values(data, "n") == [n for n in range(30) if n != 17]


@pytest.mark.filterwarnings("ignore:.*rebuilt from the data file", "ignore:.*cannot be rebuilt here")
def test_mutated_files_give_an_error_of_ours_or_rows(tmp_path):  # 200
    path = write(tmp_path / "x", SCHEMA, [[row(k) for k in range(12)]])
    data, index = path.read_bytes(), (tmp_path / "x.db").read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    spots = [*range(header), *range(1 << 14, (1 << 14) + 600), *range((1 << 14) + (1 << 15), len(data))]
    draw = random.Random(4)
    for number in range(200):
        changed, changed_index = bytearray(data), bytearray(index)
        if number % 4 == 0:
            changed = changed[: draw.choice(spots)]
        elif number % 4 == 1:
            for _ in range(6):
                changed_index[draw.randrange(len(index))] ^= 1 << draw.randrange(8)
        else:
            for _ in range(draw.choice([1, 1, 3])):
                changed[draw.choice(spots)] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        (tmp_path / "x.db").write_bytes(changed_index)
        try:
            numbers = values(MindDataset(str(path), shuffle=False))
        except MillraceError:
            continue
        assert len(numbers) == 12
        if number % 4 == 1:  # the index is never the truth
            assert numbers == list(range(12))


def test_an_index_that_lies_about_large_rows_is_not_believed(tmp_path, monkeypatch):
    schema = {"n": {"type": "int32"}, "b": {"type": "bytes"}}
    path = tmp_path / "x"
    writer = FileWriter(str(path))
    writer.add_schema(schema)
    writer.write_raw_data([{"n": k, "b": bytes([k]) * 20_000} for k in range(40)])
    writer.commit()
    data = MindDataset(str(path), shuffle=False)
    assert [r["b"].tobytes() for r in data.create_dict_iterator(1, output_numpy=True)] == [
        bytes([k]) * 20_000 for k in range(40)
    ]
    connection = sqlite3.connect(f"{path}.db")
    size = 20_008
    # rows 5 and 6 meet somewhere else; the page is still cut into as many rows
    connection.execute("UPDATE INDEXES SET PAGE_OFFSET_BLOB_END = ? WHERE ROW_ID = 5", (6 * size - 100,))
    connection.execute("UPDATE INDEXES SET PAGE_OFFSET_BLOB = ? WHERE ROW_ID = 6", (6 * size - 100,))
    connection.commit()
    connection.close()
    blobs = [r["b"].tobytes() for r in data.create_dict_iterator(1, output_numpy=True)]
    assert blobs == [bytes([k]) * 20_000 for k in range(40)]


def test_a_damaged_length_costs_one_large_row(tmp_path):
    path = tmp_path / "x"
    writer = FileWriter(str(path))
    writer.add_schema({"n": {"type": "int32"}, "b": {"type": "bytes"}})
    writer.write_raw_data([{"n": k, "b": bytes([k]) * 20_000} for k in range(40)])
    writer.commit()
    with open(path, "r+b") as file:
        file.seek((16 << 20) + 7 * 20_008)
        file.write(b"\xff" * 8)
    data = MindDataset(str(path))
    with pytest.raises(FormatError, match="the length of the row is damaged") as caught:
        values(data, "n")
    assert (caught.value.context["row"], caught.value.context["page"]) == (7, 0)
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    assert sorted(values(data, "n")) == [k for k in range(40) if k != 7]


def test_blocks_are_asked_for_ahead_once(tmp_path, monkeypatch):
    monkeypatch.setattr(record_reader, "_SMALL", 0)
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 200_000)
    path = write(tmp_path / "x", {"b": {"type": "bytes"}}, [[{"b": bytes([k]) * 20_000} for k in range(64)]])
    data = MindDataset(str(path))
    advised = []
    reader = data._source.open()
    monkeypatch.setattr(reader.reader, "will_need", lambda start, stop: advised.append((start, stop)))
    for k in np.random.default_rng(0).permutation(64):
        assert reader.read(np.array([k]))["b"][0].tobytes()[0] == k
    assert sorted(advised) == [(k, min(k + 9, 64)) for k in range(0, 64, 9)]
    reader.close()
    assert len(values(data, "b")) == 64  # and with the real thing


def test_encrypted(tmp_path):
    set_enc_key("0123456789abcdef")
    try:
        path = write(tmp_path / "x", {"n": {"type": "int32"}}, [[{"n": k} for k in range(9)]])
        data = MindDataset(str(path), shuffle=False)
    finally:
        set_enc_key(None)
    assert values(data, "n") == list(range(9))  # the key of the moment it was made
    assert "0123456789abcdef" not in json.dumps(data.to_json())
    with pytest.raises(FormatError, match="encrypted"):
        MindDataset(str(path))
