"""What the first training step of a process loads: nothing that takes a second and serves none of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

STEP = """
import sys
import millrace as ms
from millrace import nn, ops

ms.set_context(mode=ms.{mode})
net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dense(32, 3))
loss = nn.CrossEntropyLoss()
step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
x, y = ops.ones((2, 1, 4, 4)), ms.Tensor([0, 2], ms.int32)
before = float(step(x, y))
assert float(step(x, y)) < before
print(sorted(name for name in ("sympy", "torch._dynamo", "torch._inductor") if name in sys.modules))
"""


@pytest.mark.parametrize("mode", ["PYNATIVE_MODE", "GRAPH_MODE"])
def test_a_first_step_loads_no_compiler_and_no_algebra(mode):
    ran = subprocess.run(
        [sys.executable, "-c", STEP.format(mode=mode)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"
