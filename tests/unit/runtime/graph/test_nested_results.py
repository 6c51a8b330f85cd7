"""Calls whose results have a list in them, as the backward of cuDNN's recurrent nets."""

from __future__ import annotations

import torch

from millrace._src.runtime.graph.capture import GraphCapture
from millrace._src.runtime.graph.program import Program

library = torch.library.Library("millrace_tests", "DEF")
library.define("parts(Tensor x, int count) -> (Tensor, Tensor[], Tensor)")


def _parts(x, count):
    return x * 2, [x + number for number in range(count)], -x


library.impl("parts", _parts, "CompositeExplicitAutograd")


def test_a_list_among_results_is_recorded_and_replayed():
    x = torch.tensor([1.0, 2.0])
    with GraphCapture([x]) as recorder:
        twice, more, minus = torch.ops.millrace_tests.parts(x, 3)
        made = [twice + more[2], minus * more[0]]
    assert recorder.graph_break is None
    program = Program(recorder, [recorder.slot_of(tensor) for tensor in made])
    again = torch.tensor([5.0, -3.0])
    assert [tensor.tolist() for tensor in program([again])] == [[17.0, -7.0], [-25.0, -9.0]]


def test_an_empty_list_among_results():
    x = torch.tensor([1.0])
    with GraphCapture([x]) as recorder:
        twice, _, minus = torch.ops.millrace_tests.parts(x, 0)
        made = twice + minus
    program = Program(recorder, [recorder.slot_of(made)])
    assert program([torch.tensor([4.0])])[0].tolist() == [4.0]
