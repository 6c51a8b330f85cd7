"""Weights of PyTorch as parameters, and back; what a checkpoint holds."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn as theirs

from millrace import Tensor, nn
from millrace._src.cli.main import main
from millrace._src.core.errors import CheckpointError
from millrace.train import (
    ckpt_to_safetensors,
    contents_of,
    convert_checkpoint,
    load_checkpoint,
    load_torch,
    safetensors_to_ckpt,
    save_checkpoint,
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)


class Theirs(theirs.Module):
    def __init__(self):
        super().__init__()
        self.emb = theirs.Embedding(10, 4)
        self.lstm = theirs.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.bn = theirs.BatchNorm1d(6)
        self.norm = theirs.LayerNorm(6)
        self.conv = theirs.Conv1d(6, 2, 3, padding=1)
        self.fc = theirs.Linear(2, 2)

    def forward(self, x):
        made = self.lstm(self.emb(x))[0]
        made = self.norm(self.bn(made.transpose(1, 2)).transpose(1, 2)).transpose(1, 2)
        return self.fc(self.conv(made).mean(2))


class Ours(nn.Cell):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.lstm = nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.bn = nn.BatchNorm1d(6)
        self.norm = nn.LayerNorm((6,), epsilon=1e-5)
        self.conv = nn.Conv1d(6, 2, 3, pad_mode="pad", padding=1, has_bias=True)
        self.fc = nn.Dense(2, 2)

    def construct(self, x):
        made = self.lstm(self.emb(x))[0]
        made = self.bn(made.reshape(-1, 6)).reshape(made.shape)
        return self.fc(self.conv(self.norm(made).transpose(0, 2, 1)).mean(2))


def other() -> Theirs:
    made = Theirs()
    made.train()
    for _ in range(3):
        made(torch.randint(0, 10, (8, 5)))  # statistics that are not those of the beginning
    return made.eval()


X = np.arange(20).reshape(4, 5) % 10


def same(ours: nn.Cell, net: Theirs) -> None:
    with torch.no_grad():
        wanted = net(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(ours.set_train(False)(Tensor(X)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("ending", ["pth", "safetensors"])
def test_a_net_computes_the_same_with_the_weights_of_pytorch(ending, wrapped):
    net, ours = other(), Ours()
    state = {("module." if wrapped else "") + name: value for name, value in net.state_dict().items()}
    if ending == "pth":
        torch.save({"epoch": 3, "state_dict": state}, "net.pth")
    else:
        from safetensors.torch import save_file

        save_file(state, "net.safetensors")
    done = load_torch(f"net.{ending}", ours)
    assert done.missing == []
    assert [name.removeprefix("module.") for name in done.unused] == ["bn.num_batches_tracked"]
    same(ours, net)


def test_by_order_whatever_the_layers_are_called():
    net, ours = other(), Ours()
    torch.save(
        {f"x{name.replace('.', 'q.', 1)}": value for name, value in net.state_dict().items()}, "net.pt"
    )
    assert load_torch("net.pt", ours, by="order").missing == []
    same(ours, net)


def test_by_rule_without_a_net_and_from_there_into_a_net():
    net, ours = other(), Ours()
    torch.save(net.state_dict(), "net.pth")
    done = convert_checkpoint("net.pth", "net.ckpt")
    assert {"emb.embedding_table", "bn.gamma", "bn.moving_variance", "norm.beta", "lstm.weight_ih_l0"} <= set(
        done.values
    )
    saved = load_checkpoint("net.ckpt")
    assert set(saved) == {param.name for _, param in ours.parameters_and_names()}
    load_torch("net.ckpt", ours)  # the weight of Conv1d has one axis more here
    same(ours, net)


def test_and_back():
    ours, net = Ours(), Theirs().eval()
    step = nn.TrainOneStepCell(nn.WithLossCell(ours, nn.MSELoss()), nn.Adam(ours.trainable_params()))
    save_checkpoint(step, "net.ckpt", append_dict={"epoch_num": 3, "note": "x"})
    done = convert_checkpoint("net.ckpt", "net.safetensors", to="torch")
    assert {"moment1.fc.weight", "global_step", "note"} <= set(done.unused)
    from safetensors.torch import load_file

    found = load_file("net.safetensors")
    found = {name: value.reshape(net.state_dict()[name].shape) for name, value in found.items()}
    assert set(net.load_state_dict(found, strict=False).missing_keys) <= {"bn.num_batches_tracked"}
    same(ours, net)
    with pytest.raises(ValueError, match=r"written as \.safetensors"):
        convert_checkpoint("net.ckpt", "net.pth", to="torch")


def test_names_as_told_and_what_does_not_fit():
    torch.save({"a": torch.ones(2, 3), "b": torch.ones(2), "c.weight": torch.ones(5)}, "x.pth")
    done = convert_checkpoint("x.pth", net=nn.Dense(3, 2), name_map={"a": "weight"}, rules={"^b$": "bias"})
    assert list(done.values) == ["weight", "bias"]
    assert "c.weight" in str(done)
    done = convert_checkpoint("x.pth", net=nn.Dense(3, 4), name_map={"a": "weight", "b": "bias"})
    assert done.missing == ["weight", "bias"]
    assert "weight is 4x3" in str(done)
    with pytest.raises(ValueError, match=r"names \['z'\], which the source does not have"):
        convert_checkpoint("x.pth", name_map={"z": "weight"})
    with pytest.raises(ValueError, match="pass net="):
        convert_checkpoint("x.pth", by="order")


class Evil:
    def __reduce__(self):
        return os.system, ("touch owned",)


def test_a_file_with_code_in_it_is_refused_and_runs_nothing():
    torch.save({"w": torch.ones(1), "x": Evil()}, "evil.pth")
    for call in (convert_checkpoint, contents_of):
        with pytest.raises(CheckpointError, match="state_dict"):
            call("evil.pth")
    assert not os.path.exists("owned")
    for data in (b"", b"PK\x03\x04 no", b"garbage"):
        with open("bad.pth", "wb") as file:
            file.write(data)
        with pytest.raises(CheckpointError, match=r"bad\.pth"):
            convert_checkpoint("bad.pth")


def test_formats_are_switched():
    os.makedirs("all/rank_0")
    save_checkpoint(nn.Dense(2, 1), "all/rank_0/a.ckpt", append_dict={"note": "text"})
    ckpt_to_safetensors("all", "new")
    assert os.listdir("new/rank_0") == ["a.safetensors"]
    safetensors_to_ckpt("new/rank_0/a.safetensors", name_map={"bias": "b"})
    assert list(load_checkpoint("new/rank_0/a.ckpt")) == ["b", "weight"]
    for path, text in (
        ("no", "valid path"),
        ("new", "'rank' found|directories"),
        ("all/rank_0/a.ckpt", "must be a"),
    ):
        with pytest.raises(ValueError, match=text):
            safetensors_to_ckpt("new/rank_0" if path == "new" else path)
    with pytest.raises(ValueError, match="does not match"):
        ckpt_to_safetensors("all/rank_0/a.ckpt", file_name_regex="zzz")


# --- the commands -------------------------------------------------------------------------------------------------


def test_inspect_counts_parameters_without_the_optimizer(capsys):
    net = nn.SequentialCell(nn.Dense(4, 3), nn.BatchNorm1d(3), nn.Dense(3, 2))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params()))
    save_checkpoint(step, "net.ckpt", append_dict={"epoch_num": 3, "note": "x"})
    wanted = sum(param.size for param in net.trainable_params())
    assert contents_of("net.ckpt").numbers() == wanted == 15 + 6 + 8
    assert main(["inspect", "net.ckpt"]) == 0
    said = capsys.readouterr().out
    assert f"{wanted} parameters in 6 tensors, without the optimizer" in said
    assert "6 numbers in 2 entries are statistics" in said
    assert "also: epoch_num, note" in said
    assert main(["inspect", "net.ckpt", "--json", "--all"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parameters"] == wanted
    assert found["counts"]["optimizer"]["entries"] == 4 + 2 * 6
    assert found["layers"] == {"0": 15, "1": 6, "2": 8}


@pytest.mark.parametrize(
    "name", ["Momentum", "SGD", "Adam", "AdamWeightDecay", "RMSProp", "Adagrad", "Lamb", "FTRL"]
)
def test_every_optimizer_is_told_from_the_net(name):
    net = nn.SequentialCell(nn.Dense(4, 3), nn.Dense(3, 2))
    options = {"momentum": 0.9} if name == "Momentum" else {}
    optimizer = getattr(nn, name)(net.trainable_params(), learning_rate=0.1, **options)
    save_checkpoint(nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer), "net.ckpt")
    assert contents_of("net.ckpt").numbers() == 15 + 8


def test_inspect_other_kinds_and_damaged_files(capsys):
    torch.save(other().state_dict(), "net.pth")
    save_checkpoint(nn.Dense(2, 1), "net.safetensors", format="safetensors")
    save_checkpoint(nn.Dense(2, 1), "torn.ckpt", enc_key=b"0" * 16)
    assert main(["inspect", "net.pth", "net.safetensors"]) == 0
    assert "3 parameters in 2 tensors" in capsys.readouterr().out
    assert main(["inspect", "torn.ckpt", "--key", "0" * 16]) == 0
    assert main(["inspect", "torn.ckpt"]) == 1
    assert "encrypted" in capsys.readouterr().err
    os.chmod("torn.ckpt", 0o600)
    os.truncate("torn.ckpt", 50)
    assert main(["inspect", "torn.ckpt", "--key", "0" * 16, "--json"]) == 1
    assert "cut short" in json.loads(capsys.readouterr().out)["error"]
    assert main(["inspect", "no.ckpt"]) == 2


def test_convert_as_a_command(capsys, monkeypatch):
    torch.save({"module.fc.weight": torch.ones(1, 2), "module.fc.bias": torch.zeros(1)}, "x.pth")
    assert main(["convert", "x.pth", "x.ckpt"]) == 0
    said = capsys.readouterr().out
    assert "module.fc.weight" in said
    assert "2 written to x.ckpt" in said
    assert list(load_checkpoint("x.ckpt")) == ["fc.weight", "fc.bias"]
    with open("nets_of_a_test.py", "w") as file:
        file.write("from millrace import nn\ndef make():\n    return nn.Dense(2, 1)\n")
    monkeypatch.syspath_prepend(os.getcwd())
    command = ["convert", "x.pth", "y.ckpt", "--net", "nets_of_a_test:make"]
    assert main([*command, "--order"]) == 0
    assert list(load_checkpoint("y.ckpt")) == ["weight", "bias"]
    with open("names.json", "w") as file:
        json.dump({"module.fc.weight": "weight"}, file)
    assert main([*command, "--map", "names.json", "--map", "module.fc.bias=bias", "--json"]) == 0
    assert main(["convert", "x.pth", "z.ckpt", "--rule", "^module.fc.=new."]) == 0
    assert list(load_checkpoint("z.ckpt")) == ["new.weight", "new.bias"]
    capsys.readouterr()
    for bad in (
        ["no.pth", "x.ckpt"],
        ["x.pth", "x.ckpt", "--map", "zzz"],
        ["x.pth", "x.ckpt", "--net", "zzz"],
    ):
        assert main(["convert", *bad]) == 2
        assert "millrace convert:" in capsys.readouterr().err
