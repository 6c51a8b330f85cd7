"""The context: what it takes, refuses and answers."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

from millrace import context
from millrace._src.runtime.tensor.backend import context as room


@pytest.fixture(autouse=True)
def put_back():
    saved = dict(room._context.values)
    yield
    for name, value in saved.items():
        if room._context.values[name] != value:
            room.set_context(**{name: value})


def test_settings_are_kept():
    context.set_context(
        mode=context.GRAPH_MODE, device_target="CPU", max_call_depth=50, enable_graph_kernel=True
    )
    assert context.get_context("mode") == 0
    assert context.get_context("max_call_depth") == 50
    room.set_device("CPU")
    room.set_deterministic(True)
    assert context.get_context("deterministic") == "ON"
    import torch

    from millrace.ops import add  # noqa: F401  PyTorch gets earlier settings when the runtime is loaded

    assert torch.are_deterministic_algorithms_enabled()
    room.set_deterministic(False)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"foo": 1}, "is not recognized"),
        ({"mode": 3}, r"context.GRAPH_MODE \(0\)"),
        ({"device_target": "X"}, "must be one of"),
        ({"device_id": -1}, r"in range \[0, 4095\]"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        context.set_context(**given)
    with pytest.raises(ValueError, match="not recognized"):
        context.get_context("foo")
    with pytest.raises(TypeError, match="must be <class 'bool'>"):
        room.set_deterministic(1)


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_a_script_that_only_sets_the_context_does_not_load_torch():
    run(
        "import millrace as ms, sys; ms.set_context(mode=ms.GRAPH_MODE, device_target='CPU'); ms.set_seed(1);"
        "assert 'torch' not in sys.modules"
    )


def test_training_names_under_mindspore():
    assert "[6.0, 8.0]" in run(
        "import millrace.as_mindspore\n"
        "import mindspore as ms, mindspore.nn as nn, mindspore.ops as ops\n"
        "from mindspore import Tensor, Parameter, context, grad, value_and_grad, mint\n"
        "from mindspore.ops import operations as P, functional as F, composite as C\n"
        "from mindspore.common.initializer import initializer, Normal\n"
        "from mindspore.nn.layer.basic import Dense\n"
        "context.set_context(mode=context.PYNATIVE_MODE)\n"
        "assert P.ReLU is ops.ReLU and C.GradOperation and F.relu and Dense is nn.Dense and ms.Parameter is Parameter\n"
        "w = Parameter(Tensor([2.0]))\n"
        "print(ms.grad(lambda a, b: (a * b * w).sum())(Tensor([1.0, 2.0]), ms.tensor([3.0, 4.0])).tolist())\n"
    )
