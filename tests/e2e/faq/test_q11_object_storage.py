"""Q11: outputs vanish with the container. Write them to object storage, and read them from there."""

from __future__ import annotations

import fsspec
import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.data.sources.mindrecord import MindDataset
from millrace.mindrecord import FileReader, FileWriter


@pytest.fixture(autouse=True)
def bucket():
    fs = fsspec.filesystem("memory")
    yield fs
    if fs.exists("/results"):
        fs.rm("/results", recursive=True)


def test_records_are_written_to_and_read_from_an_address(bucket):
    writer = FileWriter("memory://results/run1/train.mindrecord", shard_num=2)
    writer.add_schema({"n": {"type": "int32"}, "v": {"type": "float32", "shape": [3]}})
    writer.write_raw_data([{"n": k, "v": np.full(3, k, np.float32)} for k in range(40)])
    assert not bucket.exists("/results/run1/train.mindrecord0")  # nothing is there until all of it is
    writer.commit()
    assert sorted(path.rpartition("/")[2] for path in bucket.ls("/results/run1", detail=False)) == [
        "train.mindrecord0", "train.mindrecord0.db", "train.mindrecord1", "train.mindrecord1.db",
    ]  # fmt: skip
    assert FileReader("memory://results/run1/train.mindrecord0").len() == 40
    data = MindDataset("memory://results/run1/train.mindrecord0").batch(8)
    found = [
        n for row in data.create_dict_iterator(num_epochs=1, output_numpy=True) for n in row["n"].tolist()
    ]
    assert sorted(found) == list(range(40))


def test_a_pipeline_is_saved_to_an_address():
    data = ds.NumpySlicesDataset({"x": np.arange(20)}, shuffle=False).map(lambda x: x * x, "x")
    data.save("memory://results/squares.mindrecord")
    again = MindDataset("memory://results/squares.mindrecord", shuffle=False)
    found = [row["x"].item() for row in again.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert found == [k * k for k in range(20)]
