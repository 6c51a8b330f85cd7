"""Counting the operations of a step."""

import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context, train
from tests.unit.train.small_networks import data, dense


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE])
def test_the_operations_of_a_step_are_counted_and_printed(mode, capsys):
    collector = train.FlopsUtilizationCollector(2, computility=10)
    set_context(mode=mode)
    try:
        dense().train(2, data(), callbacks=collector)
    finally:
        set_context(mode=PYNATIVE_MODE)
    # forward: 2 rows x 3 x 1, a multiplication and an addition each; backward: as much for the weight
    assert collector.flops == 2 * (2 * 2 * 3 * 1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("model flops of a step: 24, ")


@pytest.mark.parametrize(("given", "error"), [(("a",), TypeError), ((0,), ValueError), ((3, 0), ValueError)])
def test_wrong_numbers_are_refused(given, error):
    with pytest.raises(error):
        train.FlopsUtilizationCollector(*given)
