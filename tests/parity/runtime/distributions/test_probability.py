"""Distributions and bijectors against recorded MindSpore: values, types, shapes, classes of errors."""

import builtins
import json

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace
import millrace.nn.probability
from tests.parity.runtime.distributions.cases import CASES, plain, run, value_of
from tests.parity.runtime.distributions.record_probability import GOLDEN, HERE, digest

THEIRS = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
# Where MindSpore is wrong or weaker: case, or kind of case -> the reason.
GAPS = json.loads((HERE / "gaps.json").read_text())


def test_goldens_are_of_these_cases():
    words = "run `python -m tests.parity.runtime.distributions.record_probability` under MindSpore"
    assert THEIRS.get("digest") == digest(), words


def test_gaps_are_of_cases():
    assert [key for key in GAPS if not any(name.startswith(key) for name in CASES)] == []


@pytest.mark.parametrize("name", CASES)
def test_probability(name):
    each, theirs = CASES[name], THEIRS[name]
    gap = each.better or next((why for key, why in GAPS.items() if name.startswith(key)), "")
    if gap or "lacking" in theirs:
        words = run(millrace, each).get("m", "")
        assert not words or "For '" in words or "must be" in words or "implemented" in words, words
    elif "e" in theirs:
        with pytest.raises(getattr(builtins, theirs["e"])):
            value_of(millrace, each)
    else:
        half = each.build[2].get("dtype") == "type:float16"
        compare(plain(value_of(millrace, each), each.method), theirs["v"], 3e-3 if half else 2e-5)


def compare(ours, theirs, tolerance):
    if isinstance(theirs, dict):
        assert (ours["d"], ours["s"]) == (theirs["d"], theirs["s"])
        tolerance = 3e-3 if theirs["d"] == "Float16" else tolerance
        a, b = np.array(ours.get("x", [])), np.array(theirs.get("x", []))
        assert np.allclose(a, b, rtol=tolerance, atol=tolerance / 10, equal_nan=True), (a, b)
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], dict):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            compare(mine, other, tolerance)
    else:
        assert ours == theirs
