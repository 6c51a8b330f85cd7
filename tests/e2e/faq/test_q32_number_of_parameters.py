"""Q32: the number of parameters, from a net and from a checkpoint without what the optimizer keeps."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from millrace import nn
from millrace._src.cli.main import main
from millrace.train import contents_of, save_checkpoint


def test_a_checkpoint_of_a_training_counts_as_the_net_does(tmp_path, capsys):
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Dense(8, 2))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params()))
    file = str(tmp_path / "net.ckpt")
    save_checkpoint(step, file)
    wanted = sum(param.size for param in net.trainable_params())
    assert contents_of(file).numbers() == wanted == 36 + 8 + 18
    assert main(["inspect", file]) == 0
    assert f"{wanted} parameters" in capsys.readouterr().out
