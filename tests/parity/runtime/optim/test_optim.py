"""Optimizers take their parameters where MindSpore's take them, hold the same, and give the same bits in both modes."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace.experimental.optim.lr_scheduler  # noqa: E402
import millrace.mint.optim  # noqa: E402
from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context  # noqa: E402
from tests.parity.runtime.optim.cases import CASES, RATES, SCHEDULERS  # noqa: E402
from tests.parity.runtime.optim.record_optim import GOLDENS  # noqa: E402
from tests.parity.runtime.optim.run_case import ends_of, play, rates, scheduled  # noqa: E402

RECORDED = json.loads(GOLDENS.read_text())
SCHEDULES, CALLED = RECORDED.pop("rates"), RECORDED.pop("schedulers")


def test_every_case_is_recorded():
    assert (list(RECORDED), list(SCHEDULES), list(CALLED)) == (list(CASES), RATES, SCHEDULERS), (
        "run `python -m tests.parity.runtime.optim.record_optim`"
    )
    broken = {name for name, result in RECORDED.items() if "m" in result}
    assert broken <= {name for name, case in CASES.items() if case.better}


@pytest.mark.parametrize("name", list(CASES))
def test_an_optimizer_goes_where_mindspores_goes(name):
    case, theirs = CASES[name], RECORDED[name]
    ours = play(millrace, case)
    assert ours["held"] == theirs["held"]
    if "m" not in theirs:
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


@pytest.mark.parametrize("text", list(SCHEDULES))
def test_learning_rates_are_mindspores(text):
    theirs, ours = SCHEDULES[text], rates(millrace, text)
    if isinstance(theirs, dict):
        assert ours["e"].removeprefix("Argument") == theirs["e"]
        assert ours["m"] == theirs["m"]
    else:
        assert ours == pytest.approx(theirs, rel=2e-6, abs=1e-9)


@pytest.mark.parametrize("text", list(CALLED))
def test_schedulers_write_the_rates_that_mindspores_write(text):
    theirs, ours = CALLED[text], scheduled(millrace, text)
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), ours
        assert ours["e"].removeprefix("Argument") == theirs["e"]
        assert ours["m"].startswith(theirs["m"])
    else:
        assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-7), ours


def test_the_numbers_are_finite():
    for name, result in RECORDED.items():
        for held, array in (ends_of(result) if "ends" in result else {}).items():
            assert np.isfinite(array).all(), (name, held)
