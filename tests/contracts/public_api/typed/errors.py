"""Mistakes of a user that type checkers must find. `make check` reads it: an ignored error that is not there fails."""

import millrace.dataset as ds
from millrace import Model, Tensor, mint, nn, ops
from millrace.dataset import vision
from millrace.train import LossMonitor


def operations(x: Tensor) -> None:
    y: Tensor = ops.lerp(x, x, 0.5)
    ops.lerp(x, x, wieght=0.5)  # type: ignore[call-arg]
    ops.lerp(x, "end", 0.5)  # type: ignore[arg-type]
    ops.softmax(y, axes=1)  # type: ignore[call-arg]
    ops.concatenat((x, y))  # type: ignore[attr-defined]
    text: str = mint.exp(x)  # type: ignore[assignment]
    ops.Softmax(axsi=1)  # type: ignore[call-arg]
    ops.Softmax(axis="last")  # type: ignore[arg-type]
    z: Tensor = ops.Softmax(axis=1)(x)
    del text, z


def layers() -> None:
    nn.Dense(4, 2, has_bais=False)  # type: ignore[call-arg]
    nn.Dense("4", 2)  # type: ignore[arg-type]


def data(folder: str) -> None:
    rows = ds.ImageFolderDataset(folder, decod=True)  # type: ignore[call-arg]
    rows.batch(32, drop_remaindr=True)  # type: ignore[call-arg]
    vision.Resize((32, 32), interpolatoin=vision.Inter.AREA)  # type: ignore[call-arg]
    ds.ImageFoldrDataset(folder)  # type: ignore[attr-defined]


def training(net: nn.Cell, rows: ds.Dataset) -> None:
    model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params()))
    model.train(1, rows, callback=[LossMonitor()])  # type: ignore[call-arg]
    model.train("1", rows)  # type: ignore[arg-type]
