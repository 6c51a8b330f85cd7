"""Q40: "Pynative run op ExpandDims failed". The script, in both modes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as mindspore
from millrace import Tensor, context, nn, ops


@pytest.fixture(params=[context.PYNATIVE_MODE, context.GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    before = context.get_context("mode")
    context.set_context(mode=request.param)
    yield request.param
    context.set_context(mode=before)


def test_the_script_of_the_question(mode) -> None:
    input_tensor = Tensor(np.array([[2, 2], [2, 2]]), mindspore.float32)
    expand_dims = ops.ExpandDims()
    output = expand_dims(input_tensor, 0)
    assert (output.shape, output.dtype) == ((1, 2, 2), mindspore.float32)
    assert output.asnumpy().tolist() == [[[2.0, 2.0], [2.0, 2.0]]]


def test_inside_a_cell_too(mode) -> None:
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.expand_dims = ops.ExpandDims()

        def construct(self, x):
            return self.expand_dims(x, -1)

    net = Net()
    for _ in range(2):
        assert net(Tensor([1.0, 2.0])).shape == (2, 1)


def test_an_axis_that_is_not_there_is_an_error_with_the_line(mode) -> None:
    with pytest.raises(ValueError, match=r"ExpandDims|expand_dims"):
        ops.ExpandDims()(Tensor([1.0]), 5)
