"""LossMonitor in evaluations: as MindSpore's, it prints in those that stand alone, and not in those of ``fit``."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace.dataset as ds
from millrace import nn, train

ROWS = {"x": np.ones((8, 2), np.float32), "y": np.ones((8, 1), np.float32)}


def data():
    return ds.NumpySlicesDataset(ROWS, shuffle=False).batch(4)


def model():
    net = nn.Dense(2, 1, weight_init="zeros")
    return train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mse"})


def places(out):
    return re.findall(r"epoch: (\d+) step: (\d+), loss is", out)


def test_fit_prints_the_steps_of_training_and_the_metrics(capsys):
    model().fit(2, data(), data(), callbacks=train.LossMonitor())
    out = capsys.readouterr().out
    assert places(out) == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]
    assert out.count("Eval result: epoch") == 2


def test_an_evaluation_alone_prints_its_steps(capsys):
    model().eval(data(), callbacks=train.LossMonitor())
    assert places(capsys.readouterr().out) == [("1", "1"), ("1", "2")]
