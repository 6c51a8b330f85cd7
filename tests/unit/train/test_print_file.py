"""What `ops.Print` writes into a file, and what of damaged ones is read."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Tensor, nn, ops
from millrace.train import parse_print

# `ops.Print()("sum", Tensor([1.0, 2.0]))` as MindSpore 2.7.0's own message class writes it
BYTES = bytes.fromhex(
    "0a 05 0a 03 73 75 6d 0a 17 12 15 08 02 12 07 46 6c 6f 61 74 33 32 1a 08 00 00 80 3f 00 00 00 40"
)


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ms.set_context(print_file_path="log.data")
    yield tmp_path / "log.data"
    ms.set_context(print_file_path="", mode=ms.PYNATIVE_MODE)


def test_values_come_back_with_their_types(log, capsys):
    given = ["words: ü", np.arange(6, dtype=np.int16).reshape(2, 3), np.float16(1.5), np.array(True)]
    ops.Print()(*(Tensor(each) if isinstance(each, np.ndarray | np.generic) else each for each in given), 3)
    words, *numbers, three = parse_print("log.data")
    assert words == given[0]
    for found, wanted in zip(numbers, given[1:], strict=True):
        np.testing.assert_array_equal(found.asnumpy(), wanted)
        assert found.asnumpy().dtype == wanted.dtype
    assert three.item() == 3
    assert capsys.readouterr().out == ""


def test_the_bytes_are_those_of_mindspore(log):
    ops.Print()("sum", Tensor([1.0, 2.0]))
    assert log.read_bytes() == BYTES


def test_every_call_of_a_graph_adds_to_the_file(log):
    class Net(nn.Cell):
        def construct(self, x):
            ops.print_("x", x)
            return x * 2

    ms.set_context(mode=ms.GRAPH_MODE)
    net = Net()
    with pytest.warns(UserWarning, match="Python reads"):
        net(Tensor([1.0]))
    net(Tensor([2.0]))
    assert [each if isinstance(each, str) else each.item() for each in parse_print("log.data")] == [
        "x",
        1,
        "x",
        2,
    ]


def test_a_file_that_is_there_is_left_alone(log):
    log.write_bytes(BYTES)
    ms.set_context(print_file_path="log.data")
    ops.Print()("more")
    assert log.read_bytes() == BYTES
    (other,) = set(os.listdir(log.parent)) - {"log.data"}
    assert other.startswith("log.data.")
    assert parse_print(other) == ["more"]
    with pytest.raises(IsADirectoryError, match="should be file path, but got directory"):
        ms.set_context(print_file_path=str(log.parent))


@pytest.mark.parametrize("cut", range(1, len(BYTES) - 7, 3))
def test_a_torn_file_is_refused(log, cut):
    log.write_bytes(BYTES[:-cut])
    with pytest.raises(ValueError, match="Failed to read the print file"):
        parse_print("log.data")


def test_what_is_no_such_file(log):
    with pytest.raises(FileNotFoundError):
        parse_print("nothing")
    log.write_bytes(b"")
    with pytest.raises(ValueError, match="may be empty"):
        parse_print("log.data")
    log.write_bytes(b"\xff\xff\xff")
    with pytest.raises(ValueError, match="Failed to read the print file"):
        parse_print("log.data")
