"""Q48: models of other frameworks: PyTorch's weights to parameters to .ckpt, with one call and with one command."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from millrace import Tensor, nn
from millrace._src.cli.main import main
from millrace.train import load_checkpoint, load_torch


def test_one_call_and_one_command(tmp_path, capsys):
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4)).eval()
    torch.save(theirs.state_dict(), tmp_path / "net.pth")
    ours = nn.SequentialCell(nn.Dense(3, 4), nn.LayerNorm((4,), epsilon=1e-5))
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    wanted = theirs(x).detach().numpy()
    assert load_torch(str(tmp_path / "net.pth"), ours).missing == []
    assert abs(ours(Tensor(x.numpy())).asnumpy() - wanted).max() < 1e-6
    assert main(["convert", str(tmp_path / "net.pth"), str(tmp_path / "net.ckpt")]) == 0
    assert "1.gamma" in capsys.readouterr().out
    assert list(load_checkpoint(str(tmp_path / "net.ckpt"))) == ["0.weight", "0.bias", "1.gamma", "1.beta"]
