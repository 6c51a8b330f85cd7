"""Optimizers take their parameters where MindSpore's take them, hold the same, and give the same bits in both modes."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context  # noqa: E402
from tests.parity.optim.cases import CASES  # noqa: E402
from tests.parity.optim.play import ends_of, play  # noqa: E402
from tests.parity.optim.record_optim import GOLDENS  # noqa: E402

RECORDED = json.loads(GOLDENS.read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == list(CASES), "run `python -m tests.parity.optim.record_optim`"
    broken = {name for name, result in RECORDED.items() if "m" in result}
    assert broken <= {name for name, case in CASES.items() if case.better}


@pytest.mark.parametrize("name", list(CASES))
def test_an_optimizer_goes_where_mindspores_goes(name):
    case, theirs = CASES[name], RECORDED[name]
    ours = play(millrace, case)
    if "m" not in theirs:
        assert ours["held"] == theirs["held"]
        made = ends_of(ours)
        for held, wanted in ends_of(theirs).items():
            if not case.better:
                assert made[held] == pytest.approx(wanted, rel=case.within, abs=case.within), held
    set_context(mode=GRAPH_MODE)
    try:
        graph = play(millrace, case)
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert graph == ours


def test_the_numbers_are_finite():
    for name, result in RECORDED.items():
        for held, array in (ends_of(result) if "ends" in result else {}).items():
            assert np.isfinite(array).all(), (name, held)
