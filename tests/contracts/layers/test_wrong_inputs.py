"""Every layer, called wrongly: refused as MindSpore refuses, saying which layer, what it got, where, and what helps."""

import builtins
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Tensor, nn
from millrace._src.core.errors import MillraceError
from tests.parity.runtime.nn import wrong
from tests.parity.runtime.nn.record_wrong import WRONG

THEIRS = json.loads(WRONG.read_text())
# Where the class differs: "MindSpore's / ours", "fine" for none. May only shrink.
GAPS = json.loads((Path(wrong.__file__).parent / "wrong_gaps.json").read_text())
LAYERS = wrong.good()


def test_recorded_are_these_calls():
    asked = [f"{name}: {mistake}" for name, case in LAYERS.items() for mistake, _ in wrong.wrongly(case)]
    assert asked == list(THEIRS), "run `python -m tests.parity.runtime.nn.record_wrong`"
    assert [key for key in GAPS if key not in THEIRS] == []


@pytest.mark.parametrize("name", LAYERS)
def test_layer_called_wrongly(name):
    case, broken = LAYERS[name], []
    for mistake, args in wrong.wrongly(case):
        key = f"{name}: {mistake}"
        ours, text = wrong.outcome(ms, case, args)
        if ours:
            assert hasattr(builtins, ours)
            # where in the net, whose line, and what was got
            assert "  in cell: " in text, (key, text)
            if name != "LossBase":  # a user's own loss: Python's error in the user's own line
                assert "tests/parity/runtime/nn/" in text, (key, text)
            assert "aten::" not in text
        theirs = THEIRS[key]
        same = (
            ours == theirs
            or theirs in ("lacking", "crash")
            or (theirs, ours) == ("AttributeError", "TypeError")
        )
        if not same and GAPS.get(key) != f"{theirs or 'fine'} / {ours or 'fine'}":
            broken.append(f"{key}: {theirs or 'fine'} / {ours or 'fine'}")
        elif same and key in GAPS:
            broken.append(f"{key}: no gap any longer")
    assert broken == []


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(4, 3)
        self.norm = nn.BatchNorm1d(3)

    def construct(self, x, scale=None):
        y = self.fc1(x)
        return self.norm(y if scale is None else scale)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def construct(self, x, scale=None):
        return self.block(x, scale)


@pytest.fixture(params=["PYNATIVE_MODE", "GRAPH_MODE"])
def _mode(request):
    ms.set_context(mode=getattr(ms, request.param))
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.usefixtures("_mode")
def test_the_path_of_the_layer_is_named():
    net = Net()
    with pytest.raises(ValueError, match=r"in cell: Net\.block\.fc1 \(Dense\)") as caught:
        net(Tensor([[1.0, 2.0]]))
    text = str(caught.value)
    assert "the shapes are [1, 2] and [3, 4]" in text
    assert "test_wrong_inputs.py:" in text
    with pytest.raises(TypeError, match=r"in cell: Net\.block\.norm \(BatchNorm1d\)") as caught:
        net(Tensor([[1.0, 2.0, 3.0, 4.0]]), 3.5)
    assert isinstance(caught.value, MillraceError)
    assert "got: 3.5" in str(caught.value)
    assert "call it as BatchNorm1d(" in str(caught.value)


@pytest.mark.usefixtures("_mode")
def test_too_few_arguments_are_told_with_those_it_takes():
    with pytest.raises(
        TypeError, match=r"For 'Net', construct missing 1 required positional argument: 'x'"
    ) as caught:
        Net()()
    assert "got: no arguments" in str(caught.value)
    assert "call it as Net(x, scale=None)" in str(caught.value)
    with pytest.raises(
        TypeError, match=r"For 'Dense', construct takes 2 positional arguments but 3 were given"
    ):
        nn.Dense(2, 2)(Tensor([[1.0, 2.0]]), 1)


def test_errors_of_a_users_own_lines_are_left_alone():
    class Own(nn.Cell):
        def construct(self, x):
            return x.nothing_of_this_name

    with pytest.raises(AttributeError, match="nothing_of_this_name") as caught:
        nn.SequentialCell(Own())(Tensor([1.0]))
    assert not isinstance(caught.value, MillraceError)

    class Asserts(nn.Cell):
        def construct(self, x):
            assert x.shape == (2,), "two wanted"
            return x

    with pytest.raises(AssertionError, match="two wanted"):
        nn.SequentialCell(Asserts())(Tensor([1.0]))
