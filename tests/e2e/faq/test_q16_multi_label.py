"""Q16: multi-label image records: an int32 array of free length beside the bytes."""

from __future__ import annotations

import numpy as np

from millrace._src.data.sources.mindrecord import MindDataset
from millrace.mindrecord import FileReader, FileWriter

SCHEMA = {"label": {"type": "int32", "shape": [-1]}, "data": {"type": "bytes"}}
ROWS = [
    {"label": np.array([1, 1, 0, 1, 0, 1], np.int32), "data": b"first image"},
    {"label": np.array([7], np.int32), "data": b"second"},
    {"label": np.array([], np.int32), "data": b"no label at all"},
    {"label": np.arange(-500, 500, dtype=np.int32), "data": b"\0trailing\0"},
]


def test_round_trip(tmp_path):
    name = str(tmp_path / "labels.mindrecord")
    writer = FileWriter(name)
    writer.add_schema(SCHEMA, "multi-label")
    writer.write_raw_data(ROWS)
    writer.commit()
    for found in (
        list(FileReader(name).get_next()),
        list(MindDataset(name, shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True)),
    ):
        assert len(found) == 4
        for one, wanted in zip(found, ROWS):
            assert (one["label"].dtype, one["label"].shape) == (np.int32, wanted["label"].shape)
            np.testing.assert_array_equal(one["label"], wanted["label"])
            data = one["data"] if isinstance(one["data"], bytes) else one["data"].tobytes()
            assert data == wanted["data"]


def test_padded_to_a_batch(tmp_path):
    name = str(tmp_path / "labels.mindrecord")
    writer = FileWriter(name)
    writer.add_schema(SCHEMA)
    writer.write_raw_data(ROWS[:2])
    writer.commit()
    data = MindDataset(name, ["label"], shuffle=False).padded_batch(2, pad_info={"label": ([6], -1)})
    (batch,) = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert batch["label"].tolist() == [[1, 1, 0, 1, 0, 1], [7, -1, -1, -1, -1, -1]]
