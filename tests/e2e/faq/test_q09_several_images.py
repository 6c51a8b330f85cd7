"""Q09: a record holds several images of different size; how are they processed? Each in a column of its own."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from millrace._src.data.sources.mindrecord import MindDataset
from millrace.dataset import vision
from millrace.mindrecord import FileWriter

SCHEMA = {
    "label": {"type": "int32"},
    "data1": {"type": "bytes"},
    "data2": {"type": "bytes"},
    "data3": {"type": "bytes"},
}
SIZES = [(40, 30), (17, 90), (64, 64)]


def png(size, value):
    out = io.BytesIO()
    Image.fromarray(np.full((*size, 3), value, np.uint8)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "images.mindrecord")
    writer = FileWriter(name)
    writer.add_schema(SCHEMA, "three images")
    rows = [
        {"label": k, **{f"data{n + 1}": png((h + k, w), k * 10 + n) for n, (h, w) in enumerate(SIZES)}}
        for k in range(5)
    ]
    writer.write_raw_data(rows)
    writer.commit()
    return name


def test_each_column_is_decoded_and_resized(path):
    data = MindDataset(path, shuffle=False)
    for name in ("data1", "data2", "data3"):
        data = data.map(input_columns=[name], operations=vision.Decode())
    data = data.map(operations=vision.Resize((32, 32)), input_columns=["data1"])
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert len(rows) == 5
    for k, row in enumerate(rows):
        assert row["data1"].shape == (32, 32, 3)
        assert row["data2"].shape == (17 + k, 90, 3)
        assert row["data3"].shape == (64 + k, 64, 3)
        assert [row[f"data{n}"].flat[0] for n in (1, 2, 3)] == [k * 10, k * 10 + 1, k * 10 + 2]


def test_resized_columns_make_batches(path):
    data = MindDataset(path)
    for name in ("data1", "data2", "data3"):
        data = data.map([vision.Decode(), vision.Resize((32, 32))], name)
    (batch,) = data.batch(5).create_dict_iterator(num_epochs=1, output_numpy=True)
    assert {batch[f"data{n}"].shape for n in (1, 2, 3)} == {(5, 32, 32, 3)}
