"""A user's module: every name that it takes has a type, none is Any. `make check` reads it beside the sources, and
`make smoke` against the installed package. It is read by mypy, not run."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import millrace as ms
import millrace.dataset as ds
from millrace import Tensor, log, nn, ops
from millrace.dataset import transforms, vision
from millrace.mindrecord import FileWriter
from millrace.train import Callback, LossMonitor, Model, RunContext


def pipeline(folder: str) -> ds.Dataset:
    data = ds.ImageFolderDataset(folder, decode=True, shuffle=True)
    assert_type(data, ds.ImageFolderDataset)
    resize = vision.Resize((32, 32))
    assert_type(resize, vision.Resize)
    data_2 = data.map([resize, vision.HWC2CHW()], "image").map(transforms.TypeCast(ms.int32), "label")
    assert_type(data_2, ds.Dataset)
    assert_type(data_2.get_dataset_size(), int)
    return data_2.batch(32, drop_remainder=True)


class Stop(Callback):
    def step_end(self, run_context: RunContext) -> None:
        run_context.request_stop()


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, 2)
        assert_type(self.dense, nn.Dense)

    def construct(self, x: Tensor) -> Any:
        return ops.relu(self.dense(x))


def training(data: ds.Dataset) -> None:
    net = Net()
    model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params()))
    assert_type(model, Model)
    model.train(1, data, callbacks=[LossMonitor(), Stop()])
    for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        assert_type(row, dict[str, Any])
    assert_type(ms.Tensor([1.0]), Tensor)
    assert_type(ms.get_level(), str)
    level: Callable[..., None] = log.set_level
    level("info")


def records(name: str) -> None:
    writer = FileWriter(name)
    assert_type(writer, FileWriter)
    writer.add_schema({"x": {"type": "float32", "shape": [2]}})
    writer.write_raw_data([{"x": np.zeros(2, np.float32)}])
    writer.commit()
