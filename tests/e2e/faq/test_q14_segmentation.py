"""Q14: must segmentation data be converted to MindRecord? No: files and records give the same rows."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import millrace.dataset as ds
from millrace._src.data.sources.mindrecord import MindDataset
from millrace.dataset import vision
from millrace.mindrecord import FileWriter


@pytest.fixture
def folder(tmp_path):
    """Make pictures and masks of different size, as a segmentation set has them."""
    draw = np.random.default_rng(0)
    for k in range(6):
        size = (20 + k, 30)
        Image.fromarray(draw.integers(0, 256, (*size, 3)).astype(np.uint8)).save(tmp_path / f"{k}.png")
        Image.fromarray(draw.integers(0, 5, size).astype(np.uint8)).save(tmp_path / f"{k}_mask.png")
    return tmp_path


class Pairs:
    """The files as they are."""

    def __init__(self, folder):
        self.folder = folder

    def __getitem__(self, index):
        image = (self.folder / f"{index}.png").read_bytes()
        mask = np.asarray(Image.open(self.folder / f"{index}_mask.png"))
        return np.frombuffer(image, np.uint8), mask

    def __len__(self):
        return 6


def as_records(folder):
    name = str(folder / "train.mindrecord")
    writer = FileWriter(name)
    writer.add_schema({"image": {"type": "bytes"}, "mask": {"type": "bytes"}})
    writer.write_raw_data(
        [
            {"image": (folder / f"{k}.png").read_bytes(), "mask": (folder / f"{k}_mask.png").read_bytes()}
            for k in range(6)
        ]
    )
    writer.commit()
    data = MindDataset(name, shuffle=False)
    return data.map(lambda mask: np.asarray(Image.open(io.BytesIO(mask.tobytes()))), "mask")


def prepared(data):
    # nearest neighbour: a mask has no values between its classes
    data = data.map([vision.Decode(), vision.Resize((16, 16))], "image")
    data = data.map(vision.Resize((16, 16), vision.Inter.NEAREST), "mask")
    return list(data.batch(2).create_dict_iterator(num_epochs=1, output_numpy=True))


def test_both_ways_give_the_same_batches(folder):
    files = prepared(ds.GeneratorDataset(Pairs(folder), ["image", "mask"], shuffle=False))
    records = prepared(as_records(folder))
    assert len(files) == len(records) == 3
    for one, two in zip(files, records):
        for name in ("image", "mask"):
            assert one[name].dtype == two[name].dtype
            np.testing.assert_array_equal(one[name], two[name])
