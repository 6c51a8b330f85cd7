"""What somebody new gets wrong on the first day: each error says what was got, what was wanted and what to write."""

from __future__ import annotations

import logging
import traceback

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace import Tensor, nn, ops, serve, train
from millrace._src.serve.client import _encode_value

IMAGES = np.zeros((8, 1, 4, 4), np.float32)
LABELS = (np.arange(8) % 3).astype(np.int32)


def model():
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(32, 3))
    return train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))


def rows(x=IMAGES, y=LABELS, **batch):
    return ds.NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(**(batch or {"batch_size": 4}))


def learn(*columns, **batch):
    model().train(1, rows(*columns, **batch))


class Forward(nn.Cell):
    def forward(self, x):
        return x


WRONG = {
    "a misspelt layer": (lambda: nn.Dens(3, 4), ["'Dens'", "did you mean 'Dense'?"]),
    "a misspelt operation": (lambda: ops.sofmax(1), ["did you mean 'softmax'?"]),
    "a misspelt source": (lambda: ds.ImageFoldrDataset("x"), ["did you mean 'ImageFolderDataset'?"]),
    "a misspelt function": (lambda: ms.save_checkpiont, ["did you mean 'save_checkpoint'?"]),
    "a misspelt client": (lambda: serve.Cleint, ["did you mean 'Client'?"]),
    "a misspelt argument of Model": (lambda: train.Model(nn.ReLU(), los_fn=1), ["'los_fn'", "loss_fn"]),
    "PyTorch's name of the rate": (
        lambda: nn.Adam(nn.Dense(1, 1).trainable_params(), lr=0.1),
        ["['lr']", "learning_rate"],
    ),
    "channels last": (
        lambda: learn(IMAGES.transpose(0, 2, 3, 1)),
        ["[4, 4, 4, 1]", "vision.HWC2CHW()", "x.transpose(0, 3, 1, 2)"],
    ),
    "no batch": (
        lambda: model().train(1, ds.NumpySlicesDataset({"x": IMAGES, "y": LABELS})),
        ["[1, 4, 4]", "dataset.batch(n)"],
    ),
    "a layer of another width": (
        lambda: nn.Dense(5, 2)(Tensor(np.zeros((3, 4), np.float32))),
        ["Dense(4, 2)"],
    ),
    "doubles": (lambda: learn(IMAGES.astype(np.float64)), ["Float64 and Float32", "astype"]),
    "labels beyond the classes": (
        lambda: learn(IMAGES, LABELS + 3),
        ["arget 3", "from 0 to the number of classes"],
    ),
    "labels that are no whole numbers": (lambda: learn(IMAGES, LABELS * 0.5), ["TypeCast(mindspore.int32)"]),
    "labels in a column": (lambda: learn(IMAGES, LABELS[:, None]), ["shape=[4, 1]", "y.reshape(-1)"]),
    "no labels": (
        lambda: model().train(1, ds.NumpySlicesDataset({"x": IMAGES}).batch(4)),
        ["two columns", "dataset.project"],
    ),
    "a batch larger than the data": (
        lambda: learn(batch_size=100, drop_remainder=True),
        ["8 rows", "batch_size=100", "drop_remainder=True"],
    ),
    "numbers that are not finite": (
        lambda: model().train(1, rows(IMAGES * np.nan), callbacks=train.LossMonitor()),
        ["step: 1", "smaller learning rate", "the batch"],
    ),
    "forward": (lambda: Forward()(Tensor([1.0])), ["'construct' is not defined", "rename it to 'construct'"]),
    "weights of PyTorch": (
        lambda: ms.load_checkpoint("net.pth"),
        ["'net.pth'", "train.load_torch(file, network)"],
    ),
    "the net for its parameters": (
        lambda: nn.Adam(nn.Dense(1, 1)),
        ["the network itself", "net.trainable_params()"],
    ),
    "the net for its weights": (
        lambda: ms.value_and_grad(ops.relu, None, nn.SequentialCell(nn.ReLU()))(Tensor([1.0])),
        ["ReLU", "net.trainable_params()"],
    ),
    "a rate that is text": (
        lambda: nn.SGD(nn.Dense(1, 1).trainable_params(), "0.1"),
        ["must be a number", "'0.1'"],
    ),
    "a seed that is text": (lambda: ms.set_seed("a"), ["int", "'a'"]),
    "a size below one": (lambda: vision.RandomCrop(-1), ["[1, 16777216]", "RandomCrop(size=-1)"]),
    "a size that is text": (lambda: vision.Resize("a"), ["integer or a list", "Resize(size='a')"]),
    "a batch of none": (lambda: rows(batch_size=0), ["batch_size", "batch(batch_size=0)"]),
    "columns of two lengths": (lambda: rows(IMAGES, LABELS[:3]), ["not equal", "NumpySlicesDataset(data={"]),
    "a shard too many": (
        lambda: ds.NumpySlicesDataset([1, 2], num_shards=2, shard_id=2),
        ["num_shards=2, shard_id=2"],
    ),
    "no such folder": (
        lambda: ds.MnistDataset("nowhere", num_shards=2, shard_id=0),
        ["nowhere", "MnistDataset(dataset_dir='nowhere', num_shards=2, shard_id=0)"],
    ),
    "text for a model of numbers": (lambda: _encode_value(["a"], "FP32"), ["FP32", "['a']"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_error_says_what_was_got_and_what_to_write(what):
    call, words = WRONG[what]
    with pytest.raises((AttributeError, KeyError, RuntimeError, TypeError, ValueError)) as caught:
        call()
    said = "".join(traceback.format_exception_only(caught.value))
    assert [word for word in words if word not in said] == [], said


def test_a_model_without_an_optimizer_says_that_nothing_is_learned(caplog):
    with caplog.at_level(logging.WARNING, "millrace"):
        train.Model(nn.SequentialCell(nn.Flatten(), nn.Dense(16, 3)), nn.CrossEntropyLoss()).train(1, rows())
    assert "a loss without an optimizer: weights will not change" in caplog.text
