# ruff: noqa: E501
"""The scripts of the questions about images (Q09, Q20, Q26), word for word, under MindSpore's own names.

What the pages leave out stands before and after: the files and `data1` that they speak of, and a look at the result.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SETUP = """
import glob
import io
import numpy as np
from PIL import Image
import mindspore
import mindspore.dataset as ds
"""

Q09 = """
import mindspore.dataset.vision as vision
from mindspore.dataset.vision import Inter
from mindspore.mindrecord import FileWriter

cv_schema_json = {"label": {"type": "int32"}, "data1": {"type": "bytes"}, "data2": {"type": "bytes"}, "data3": {"type": "bytes"}}

data_list = []
data = {}
data['label'] = 1
f = open("1.jpg", "rb")
image_bytes = f.read()
f.close

data['data1'] = image_bytes

f2 = open("2.jpg", "rb")
image_bytes2 = f2.read()
f2.close

data['data2'] = image_bytes2

f3 = open("3.jpg", "rb")
image_bytes3 = f3.read()
f3.close

data['data3'] = image_bytes3

data_list.append(data)

writer = FileWriter("mindrecord_file_name")
writer.add_schema(cv_schema_json)
writer.write_raw_data(data_list)
writer.commit()

data_set = ds.MindDataset("mindrecord_file_name")
data_set = data_set.map(input_columns=["data1"], operations=vision.Decode(), num_parallel_workers=2)
data_set = data_set.map(input_columns=["data2"], operations=vision.Decode(), num_parallel_workers=2)
data_set = data_set.map(input_columns=["data3"], operations=vision.Decode(), num_parallel_workers=2)
resize_op = vision.Resize((32, 32), interpolation=Inter.LINEAR)
data_set = data_set.map(operations=resize_op, input_columns=["data1"], num_parallel_workers=2)
for item in data_set.create_dict_iterator(output_numpy=True):
    print([item[name].shape for name in sorted(item)])
"""

DATA1 = """
data1 = ds.GeneratorDataset([(open(name, "rb").read(),) for name in sorted(glob.glob("*.jpg"))], ["image"], shuffle=False)
"""

Q20 = (
    DATA1
    + """
# example that using c_transforms and py_transforms operations together
# in following case: c_vision refers to c_transforms, py_vision refer to py_transforms
import mindspore.vision.c_transforms as c_vision
import mindspore.vision.py_transforms as py_vision

decode_op = c_vision.Decode()

# If input type is not PIL, then add ToPIL operation.
transforms = [
    py_vision.ToPIL(),
    py_vision.CenterCrop(375),
    py_vision.ToTensor()
]
transform = mindspore.dataset.transforms.Compose(transforms)
data1 = data1.map(operations=decode_op, input_columns=["image"])
data1 = data1.map(operations=transform, input_columns=["image"])
for row in data1.create_tuple_iterator(num_epochs=1, output_numpy=True):
    print(row[0].shape, row[0].dtype)
"""
)

Q20_UNIFIED = (
    DATA1
    + """
import mindspore.vision as vision

transforms = [
    vision.Decode(),         # default to use c_transforms
    vision.ToPIL(),          # switch to PIL backend
    vision.CenterCrop(375),  # use py_transforms
]

data1 = data1.map(operations=transforms, input_columns=["image"])
for row in data1.create_tuple_iterator(num_epochs=1, output_numpy=True):
    print(row[0].shape, row[0].dtype)
"""
)

Q26 = """
import mindspore.dataset.vision.py_transforms as py_vision
data_path = sorted(glob.glob("*.jpg"))

class ImageDataset:
    def __init__(self, data_path):
        self.data = data_path

    def __getitem__(self, index):
        # use file open and read method
        f = open(self.data[index], 'rb')
        img_bytes = f.read()
        f.close()

        # return bytes directly
        return (img_bytes, )

    def __len__(self):
        return len(self.data)

# data_path is a list of image file name
dataset1 = ds.GeneratorDataset(ImageDataset(data_path), ["data"])
decode_op = py_vision.Decode()
to_tensor = py_vision.ToTensor(output_type=np.int32)
dataset1 = dataset1.map(operations=[decode_op, to_tensor], input_columns=["data"])
print(sorted((row[0].shape, str(row[0].dtype)) for row in dataset1.create_tuple_iterator(num_epochs=1, output_numpy=True)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """1.jpg, 2.jpg and 3.jpg, each of another size."""
    for number, size in enumerate([(400, 500), (375, 380), (600, 390)], start=1):
        Image.fromarray(np.full((*size, 3), number * 50, np.uint8)).save(tmp_path / f"{number}.jpg")
    return tmp_path


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (Q09, ["[(32, 32, 3), (375, 380, 3), (600, 390, 3), ()]"]),
        (Q20, ["(3, 375, 375) float32"] * 3),
        (Q20_UNIFIED, ["(375, 375, 3) uint8"] * 3),
        (Q26, ["[((3, 375, 380), 'int32'), ((3, 400, 500), 'int32'), ((3, 600, 390), 'int32')]"]),
    ],
    ids=["Q09", "Q20", "Q20-unified", "Q26"],
)
def test_as_written(folder: Path, script: str, said: list[str]) -> None:
    (folder / "script.py").write_text(SETUP + script)
    done = subprocess.run(
        [sys.executable, "-m", "millrace.as_mindspore", "script.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == said
