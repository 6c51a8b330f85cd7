"""Metrics against recorded MindSpore: values, element types, classes of errors."""

import builtins
import json

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace
from tests.parity.train.metrics.cases import CASES, plain, run, value_of
from tests.parity.train.metrics.record_metrics import GOLDEN, digest

THEIRS = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}


def test_goldens_are_of_these_cases():
    assert THEIRS.get("digest") == digest(), (
        "run `python -m tests.parity.train.metrics.record_metrics` under MindSpore"
    )


@pytest.mark.parametrize("name", CASES)
def test_metric(name):
    each, theirs = CASES[name], THEIRS[name]
    if each.better:
        words = run(millrace, each).get("m", "For '")
        assert words.startswith(("For '", "Please call the 'update'"))
    elif "e" in theirs:
        with pytest.raises(getattr(builtins, theirs["e"])):
            value_of(millrace, each)
    else:
        compare(plain(value_of(millrace, each)), theirs["v"])


def compare(ours, theirs):
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            compare(mine, other)
        return
    assert (ours["d"], ours["s"]) == (theirs["d"], theirs["s"])
    assert np.allclose(ours["x"], theirs["x"], rtol=1e-6, atol=1e-7, equal_nan=True), (ours["x"], theirs["x"])
