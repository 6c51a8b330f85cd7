"""Layers against recorded MindSpore: the same weights give the same results and the same gradients."""

import builtins
import json
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from tests.parity.runtime.nn.layers import cases, families  # noqa: E402
from tests.parity.runtime.nn.record_nn import GOLDENS, digest  # noqa: E402
from tests.parity.runtime.nn.run_case import decode, play  # noqa: E402

torch.set_num_threads(1)
RECORD = "python -m tests.parity.runtime.nn.record_nn"
ALL = [(family, name) for family in families() for name in cases(family)]


def golden(family):
    path = GOLDENS / f"{family}.json"
    return json.loads(path.read_text()) if path.exists() else {}


@pytest.mark.parametrize("family", families())
def test_goldens_are_of_these_cases(family):
    assert golden(family).get("digest") == digest(family), f"run `{RECORD}`"


@pytest.mark.parametrize(("family", "name"), ALL, ids=[f"{family}.{name}" for family, name in ALL])
def test_layer(family, name):
    case, theirs = cases(family)[name], golden(family)[name]
    if "lacking" in theirs:
        ours = play(millrace, case)
        assert ours["results"], "MindSpore has no kernel for it here, but we do"
        if "parameters" in theirs:
            compare_form(case, ours, theirs)
        return
    if "e" in theirs:
        if case.options.get("better"):
            assert play(millrace, case)["results"]
            return
        with pytest.raises(getattr(builtins, theirs["e"], Exception)):
            play(millrace, case)
        return
    ours = play(millrace, case)
    if case.options.get("better"):
        return
    if case.options.get("whole"):
        compare_form(case, ours, theirs)
    assert ours["parameters"] == theirs["parameters"]
    if case.options.get("random"):
        assert [(a["d"], a["s"]) for a in ours["results"]] == [(b["d"], b["s"]) for b in theirs["results"]]
        return
    for kind in ("results", "gradients", "after"):
        compare(kind, ours.get(kind, []), theirs.get(kind, []), case.options.get("tolerance", 1e-5))


def compare_form(case, ours, theirs):
    """Names, shapes, printing and first values of a layer that was just made."""
    assert ours["parameters"] == theirs["parameters"]
    assert ours["trained"] == theirs["trained"]
    if case.options.get("text", True):
        compare_text(ours["text"], theirs["text"])
    compare_begin(ours["begin"], theirs["begin"], ours["parameters"])


def compare_text(ours, theirs):
    """Initialisers print their arguments here, and where they lie in memory in MindSpore."""
    assert re.sub(r"\b(HeUniform|Uniform|Normal|HeNormal|Constant)\([^()]*\)", r"\1()", ours) == theirs


def compare_begin(ours, theirs, parameters):
    """The values that weights begin with: constants are the same, what is drawn is spread as far."""
    for path, (least, most, spread) in theirs.items():
        if spread == 0:
            assert ours[path] == pytest.approx([least, most, 0.0], abs=1e-6), path
            continue
        count = int(np.prod(parameters[path][1]))
        if count < 10:
            continue  # too few to say how far they are spread
        assert ours[path][2] == pytest.approx(spread, rel=0.1 + 3 / np.sqrt(count)), path


def compare(kind, ours, theirs, tolerance):
    assert len(ours) == len(theirs), kind
    for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert (mine["d"], mine["s"]) == (other["d"], other["s"]), f"{kind} {place}"
        a, b = decode(mine), decode(other)
        if a.dtype.kind != "f":
            assert np.array_equal(a, b), f"{kind} {place}"
            continue
        largest = max(1.0, float(np.abs(b[np.isfinite(b)]).max())) if np.isfinite(b).any() else 1.0
        close = np.isclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True)
        assert close.all(), f"{kind} {place}: {a[~close][:5]} instead of {b[~close][:5]}"
