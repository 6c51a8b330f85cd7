"""Saving and loading as a user does it: names, arguments, choices, errors."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import millrace as ms
from millrace import Parameter, Tensor, nn
from millrace._src.core.errors import CheckpointError, ParameterMismatch, SaveError
from millrace._src.train.checkpoint import async_writer as background
from millrace._src.train.checkpoint import atomic_file as files
from millrace._src.train.checkpoint import ckpt_format as ckpt
from millrace._src.train.checkpoint import staging as copying
from millrace.train import (
    async_ckpt_thread_status,
    check_checkpoint,
    load_checkpoint,
    load_checkpoint_async,
    load_param_into_net,
    save_checkpoint,
    wait_for_checkpoints,
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    background._failure.clear()


def weights(**values) -> list[Parameter]:
    return [Parameter(Tensor(np.array(v, np.float32)), name=k) for k, v in values.items()]


def lists(found: dict) -> dict:
    return {name: v if isinstance(v, str) else v.asnumpy().tolist() for name, v in found.items()}


# --- where it goes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "format", "made"),
    [
        ("a", "ckpt", "a.ckpt"),
        ("a.ckpt", "ckpt", "a.ckpt"),
        ("xckpt", "ckpt", "xckpt"),
        ("a.safetensors", "ckpt", "a.safetensors.ckpt"),
        ("a", "safetensors", "a.safetensors"),
    ],
)
def test_the_name_gets_its_ending(given, format, made):
    save_checkpoint(weights(w=[1]), given, format=format)
    assert os.listdir() == [made]
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o400


def test_a_read_only_file_is_replaced():
    for value in (1, 2):
        save_checkpoint(weights(w=[value]), "a.ckpt")
    assert lists(load_checkpoint("a.ckpt")) == {"w": [2.0]}


def test_a_folder_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory"):
        save_checkpoint(weights(w=[1]), str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no such folder") as caught:
        save_checkpoint(weights(w=[1]), "no/a.ckpt")
    assert caught.value.filename == str(tmp_path / "no")


# --- what is saved --------------------------------------------------------------------------------------------


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, has_bias=True)
        self.bn = nn.BatchNorm2d(2)
        self.gain = Parameter(Tensor(2.0), name="gain")


def test_a_cell_is_saved_in_the_order_of_its_parameters():
    net = Net()
    save_checkpoint(net, "net")
    names = [param.name for _, param in net.parameters_and_names()]
    assert list(load_checkpoint("net.ckpt")) == names
    other = Net()
    assert load_checkpoint("net.ckpt", other).keys() == set(names)
    for (_, a), (_, b) in zip(net.parameters_and_names(), other.parameters_and_names()):
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes()


def test_dicts_lists_and_choices():
    mixed = {"p": weights(p=[1])[0], "a": np.arange(3), "t": Tensor([1.5]), "s": "text"}
    save_checkpoint(mixed, "d", choice_func=lambda name: name != "a")
    assert lists(load_checkpoint("d.ckpt")) == {"p": [1.0], "t": [1.5], "s": "text"}
    save_checkpoint([{"name": "x", "data": Tensor([1, 2])}], "l")
    assert lists(load_checkpoint("l.ckpt")) == {"x": [1, 2]}


def test_a_tensor_in_another_order_is_written_as_it_looks():
    turned = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)).T
    save_checkpoint([{"name": "x", "data": turned}], "t")
    assert load_checkpoint("t.ckpt")["x"].asnumpy().tolist() == turned.asnumpy().tolist()


def test_special_values_come_back():
    values = {
        "bf": Tensor(np.array([1.5, 3e38], np.float32)).astype(ms.bfloat16),
        "c": Tensor(np.array([1 + 2j], np.complex64)),
        "zero": Tensor(7),
        "b": Tensor(True),
    }
    for options in ({"format": "ckpt"}, {"format": "ckpt", "async_save": True}):
        save_checkpoint([{"name": k, "data": v} for k, v in values.items()], "v", **options)
        wait_for_checkpoints()
        found = load_checkpoint("v.ckpt")
        for name, value in values.items():
            assert found[name].dtype == value.dtype
            assert torch.equal(found[name]._torch, value._torch)


def test_a_value_without_elements():
    none = [{"name": "e", "data": Tensor(np.zeros((0, 3), np.float32))}, {"name": "w", "data": Tensor([1.0])}]
    save_checkpoint(none, "e")  # MindSpore leaves it out
    assert list(load_checkpoint("e.ckpt")) == ["w"]
    save_checkpoint(none, "e", async_save=True)  # and here it does not
    wait_for_checkpoints()
    assert load_checkpoint("e.ckpt")["e"].shape == (0, 3)
    save_checkpoint(none, "e", format="safetensors")
    assert load_checkpoint("e.safetensors", format="safetensors")["e"].shape == (0, 3)


def test_two_parameters_of_one_name_are_said(caplog):
    save_checkpoint([*weights(w=[1]), *weights(w=[2])], "two")
    assert lists(load_checkpoint("two.ckpt")) == {"w": [2.0]}
    assert "two values are named 'w'" in caplog.text


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ({"save_obj": 3}, TypeError, "must be nn.Cell, list or dict"),
        ({"save_obj": [3]}, TypeError, "the param should be parameter"),
        ({"save_obj": [{"name": "x"}]}, TypeError, "should be a list of dict items"),
        ({"save_obj": [{"name": 3, "data": 3}]}, TypeError, "should be string"),
        ({"save_obj": {"a": 1}}, TypeError, "made up by dict"),
        ({"ckpt_file_name": 3}, TypeError, "must be string"),
        ({"format": "zip"}, ValueError, "'safetensors' or 'ckpt'"),
        ({"integrated_save": 3}, TypeError, "must be a bool"),
        ({"async_save": 3}, TypeError, "bool or str"),
        ({"async_save": "x"}, ValueError, "'process' or 'thread'"),
        ({"append_dict": 3}, TypeError, "must be dict"),
        ({"append_dict": {"x": None}}, TypeError, "int, float, bool or Generator"),
        ({"enc_key": "x"}, ValueError, "enc_key"),
        ({"enc_key": b"x"}, ValueError, "16 or 24 or 32 bytes"),
        ({"enc_key": b"0" * 24, "enc_mode": "SM4-CBC"}, ValueError, "must have 16 bytes"),
        ({"enc_key": b"0" * 16, "enc_mode": "DES"}, ValueError, "enc_mode"),
        ({"enc_key": b"0" * 16, "crc_check": True}, ValueError, "exclude each other"),
        ({"enc_key": b"0" * 16, "format": "safetensors"}, ValueError, "'enc_key' must be set to default"),
        ({"crc_check": 3}, ValueError, "crc_check"),
        ({"save_obj": {"s": "x"}, "format": "safetensors"}, TypeError, "holds tensors only"),
    ],
)
def test_arguments_that_cannot_be(call, error, text):
    with pytest.raises(error, match=text):
        save_checkpoint(**{"save_obj": weights(w=[1]), "ckpt_file_name": "a", **call})
    assert not os.path.exists("a.ckpt")


# --- loading --------------------------------------------------------------------------------------------------


def test_prefixes_go_before_the_choice():
    save_checkpoint({"a.w": np.ones(1), "a.m": np.ones(1), "b.w": np.ones(1)}, "p")
    load = lambda **options: list(load_checkpoint("p.ckpt", **options))  # noqa: E731
    assert load(specify_prefix="a") == ["a.w", "a.m"]
    assert load(specify_prefix=["a", "b"], filter_prefix="a.m") == ["a.w", "b.w"]
    assert load(filter_prefix="a", choice_func=lambda name: False) == ["b.w"]
    assert load(choice_func=lambda name: name.endswith("m")) == ["a.m"]
    with pytest.raises(ValueError, match="empty after filter"):
        load(specify_prefix="zzz")
    with pytest.raises(ValueError, match="can't include ''"):
        load(specify_prefix="")
    with pytest.raises(ValueError, match="can't be empty"):
        load(filter_prefix=[])
    with pytest.raises(TypeError, match="at index 0"):
        load(filter_prefix=[3])
    with pytest.raises(TypeError, match="must be string, list"):
        load(filter_prefix=3)


@pytest.mark.parametrize(
    ("name", "options", "error", "text"),
    [
        (3, {}, TypeError, "must be string"),
        ("a.txt", {}, ValueError, "must same with 'format'"),
        ("no.ckpt", {}, ValueError, "does not exist"),
        ("a.ckpt", {"format": "x"}, ValueError, "should end with '.ckpt' or '.safetensors'"),
        ("a.ckpt", {"dec_key": "x"}, ValueError, "dec_key"),
        ("a.ckpt", {"dec_key": b"0" * 16}, ValueError, "not encrypted"),
        ("a.ckpt", {"crc_check": 3}, ValueError, "crc_check"),
        ("a.ckpt", {"net": 3}, TypeError, "should be a Cell"),
        ("s.ckpt", {}, ValueError, "the file is encrypted \\(AES-CBC\\): give its key as dec_key"),
        ("s.ckpt", {"dec_key": b"0" * 16}, ValueError, "encrypted as 'AES-CBC'"),
        ("s.ckpt", {"dec_key": b"1" * 16, "dec_mode": "AES-CBC"}, ValueError, "key is not the right one"),
        ("e.ckpt", {}, ValueError, "empty after filter"),
    ],
)
def test_files_that_cannot_be_loaded(name, options, error, text):
    save_checkpoint(weights(w=[1]), "a")
    save_checkpoint(weights(w=[1]), "s", enc_key=b"0" * 16, enc_mode="AES-CBC")
    save_checkpoint([], "e")
    with pytest.raises(error, match=text):
        load_checkpoint(name, **options)


def test_a_checksum_finds_what_nothing_else_would():
    save_checkpoint(weights(w=[1, 2]), "c", crc_check=True)
    file = Path("c.ckpt")
    data = bytearray(file.read_bytes())
    data[-20] ^= 1  # inside the last number
    file.chmod(0o600)
    file.write_bytes(data)
    assert "w" in load_checkpoint("c.ckpt")
    with pytest.raises(CheckpointError, match="checksum at the end does not match"):
        load_checkpoint("c.ckpt", crc_check=True)
    assert not check_checkpoint("c.ckpt")


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_file_without_a_checksum_is_refused_where_one_is_required(format):
    save_checkpoint(weights(w=[1, 2]), "c", format=format)
    with pytest.raises(CheckpointError, match=r"expected a checksum .* Load it with crc_check=False"):
        load_checkpoint(f"c.{format}", crc_check=True, format=format)
    assert lists(load_checkpoint(f"c.{format}", format=format)) == {"w": [1.0, 2.0]}


def test_loading_on_a_thread():
    save_checkpoint(weights(w=[1, 2]), "c")
    assert lists(load_checkpoint_async("c.ckpt").result()) == {"w": [1.0, 2.0]}
    with pytest.raises(ValueError, match="does not exist"):
        load_checkpoint_async("no.ckpt").result()


# --- into a net -----------------------------------------------------------------------------------------------


def dense(weight, name="weight"):
    return {name: Parameter(Tensor(weight))}


def test_both_lists_of_what_found_no_partner():
    saved = dense(np.ones((3, 2), np.float32)) | {"moments.x": weights(x=[1])[0], "note": "text"}
    assert load_param_into_net(nn.Dense(2, 3), saved) == (["bias"], ["moments.x", "note"])
    assert load_param_into_net(nn.Dense(2, 3), {"weight": "text"}) == (["bias"], ["weight"])


def test_a_prefix_more_or_less():
    saved = dense(np.full((3, 2), 5, np.float16), "net.weight")
    net = nn.Dense(2, 3)
    assert load_param_into_net(net, saved) == (["bias"], ["net.weight"])
    assert net.weight.asnumpy().tolist() == [[5.0, 5.0]] * 3
    assert load_param_into_net(net, saved, strict_load=True) == (["weight", "bias"], ["net.weight"])


def test_other_hardware_adds_axes():
    net = nn.Dense(2, 3)
    load_param_into_net(net, dense(np.ones((3, 2, 1, 1), np.float32)))
    assert net.weight.asnumpy().tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize(
    ("weight", "strict", "text"),
    [
        (
            np.ones((4, 2), np.float32),
            False,
            r"weight.*shape \(3, 2\) in the argument 'net' and shape \(4, 2\)",
        ),
        (np.ones((3, 2), np.int32), False, "type Float32 in the argument 'net' and type Int32"),
        (np.ones((3, 2), np.float16), True, "strict_load=False to convert"),
    ],
)
def test_what_does_not_fit_names_both_sides_and_the_file(weight, strict, text):
    save_checkpoint({"weight": weight}, "w")
    with pytest.raises(ParameterMismatch, match=text) as caught:
        load_checkpoint("w.ckpt", nn.Dense(2, 3), strict_load=strict)
    assert "w.ckpt" in str(caught.value)


def test_a_bare_tensor_is_refused():
    with pytest.raises(TypeError, match="should be a 'str' and 'Parameter'"):
        load_param_into_net(nn.Dense(2, 3), {"weight": Tensor([1.0])})


def test_values_are_written_in_place():
    net = nn.Dense(2, 3)
    before = net.weight._torch
    load_param_into_net(net, dense(np.ones((3, 2), np.float32)))
    assert net.weight._torch is before


# --- beside the training --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [True, "thread", "process"])
def test_the_copy_is_taken_at_once(how, monkeypatch):
    import threading

    go = threading.Event()
    real = ckpt.write

    def slow(*args, **options):
        assert go.wait(30)
        real(*args, **options)

    monkeypatch.setattr(ckpt, "write", slow)
    w = weights(w=[1, 2])
    save_checkpoint(w, "a", async_save=how)
    w[0].set_data(Tensor([8.0, 9.0]))
    assert async_ckpt_thread_status()
    assert not os.path.exists("a.ckpt")
    go.set()
    wait_for_checkpoints()
    assert not async_ckpt_thread_status()
    assert lists(load_checkpoint("a.ckpt")) == {"w": [1.0, 2.0]}
    save_checkpoint(w, "a", async_save=how)  # into the same memory as the first
    wait_for_checkpoints()
    assert lists(load_checkpoint("a.ckpt")) == {"w": [8.0, 9.0]}


def test_what_went_wrong_beside_is_raised_by_the_next_save(monkeypatch):
    monkeypatch.setattr(files, "free_bytes", lambda folder: 3)
    save_checkpoint(weights(w=[1]), "a", async_save=True)
    with pytest.raises(SaveError, match="no space"):
        save_checkpoint(weights(w=[1]), "a")
    monkeypatch.undo()
    wait_for_checkpoints()  # said once


def test_many_bytes_are_copied_by_several_threads(monkeypatch):
    monkeypatch.setattr(copying, "_MANY", 1)
    monkeypatch.setattr(copying, "available_cores", lambda: 3)
    sizes = {"a": 1, "b": 1000, "c": 7, "e": 333}
    values = {name: np.arange(size, dtype=np.int16) for name, size in sizes.items()} | {"z": np.zeros((0, 2))}
    save_checkpoint(values, "a", async_save=True)
    wait_for_checkpoints()
    found = load_checkpoint("a.ckpt")
    assert {name: value.asnumpy().tolist() for name, value in found.items()} == {
        name: value.tolist() for name, value in values.items()
    }


def test_another_rank_stands_in():
    for rank in (0, 1):
        os.makedirs(f"run/rank_{rank}")
    save_checkpoint(weights(w=[1]), "run/rank_1/net.ckpt")
    mine = "run/rank_0/net.ckpt"
    assert ms.train.get_ckpt_path_with_strategy(mine, "") == "run/rank_1/net.ckpt"
    save_checkpoint(weights(w=[1]), mine)
    assert ms.train.get_ckpt_path_with_strategy(mine, "") == mine
    os.chmod(mine, 0o600)
    os.truncate(mine, 5)
    assert ms.train.get_ckpt_path_with_strategy(mine, "") == "run/rank_1/net.ckpt"
    assert ms.train.get_ckpt_path_with_strategy("other/net.ckpt", "") is None
