"""The same calls on the same values give what MindSpore 2.7.0 gave: same bits, or what rules.py allows."""

from __future__ import annotations

import json
import re
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace
import millrace.dataset.transforms as transforms
import millrace.dataset.vision as vision
from tests.parity.calls import Case
from tests.parity.data.vision import rules
from tests.parity.data.vision.cases import load
from tests.parity.data.vision.encode import decode_values, encode, encode_error, sample
from tests.parity.data.vision.inputs import FILES, make

GOLDENS = Path(__file__).parent / "goldens"
NAMES = {
    "V": vision,
    "T": transforms,
    "np": np,
    "ms": millrace,
    "Inter": vision.Inter,
    "Border": vision.Border,
    "F": f"{FILES}/",
}


def operation(call: str) -> str:
    """The first name of ours in a call."""
    return re.search(r"[VT]\.(\w+)", call).group(1)


def grouped() -> list[Any]:
    """The cases of each transform in each file."""
    found = defaultdict(list)
    for file, cases in load().items():
        for case in cases:
            found[file, operation(case.call)].append(case)
    return [pytest.param(file, cases, id=f"{file}-{op}") for (file, op), cases in found.items()]


def outcome(case: Case) -> tuple[dict[str, Any], Any]:
    try:
        op = eval(case.call, dict(NAMES))  # noqa: S307 (our own cases)
    except Exception as error:
        return encode_error(error) | {"when": "made"}, None
    if case.inputs == ("-",):
        return {"made": True}, None
    given = [make(name) for name in case.inputs]
    before = [np.array(value, copy=True) for value in given]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Decode: the JPEG is damaged", UserWarning)
            value = op(*given)
    except (RuntimeError, TypeError, ValueError, OSError) as error:  # anything else fails the test
        return encode_error(error) | {"when": "called"}, None
    for was, now in zip(before, given):
        np.testing.assert_array_equal(was, np.asarray(now), err_msg="the input was changed")
    return encode(value), value


def difference(case: Case, golden: dict[str, Any]) -> str | None:
    """What differs, in words; None when nothing does that should not."""
    ours, value = outcome(case)
    if rules.other(case.name) or "crashes" in golden or "hangs" in golden:
        return None
    if "error" in golden:
        return _error(case, golden, ours)
    if "error" in ours:
        return f"fails: {ours['error']} {ours['message']}"
    if ours == _without_data(golden):
        return None
    rule = rules.near(case.name)
    if rule is None:
        return f"gives {ours}, not {_without_data(golden)}"
    return _far(value, golden, rule)


def _without_data(golden: Any) -> Any:
    if isinstance(golden, dict):
        return {k: _without_data(v) for k, v in golden.items() if k != "data"}
    return [_without_data(v) for v in golden] if isinstance(golden, list) else golden


def _error(case: Case, golden: dict[str, Any], ours: dict[str, Any]) -> str | None:
    if "error" not in ours:
        return None if rules.more(case.name) else f"works, and MindSpore says {golden['message'][-150:]}"
    if golden["when"] == "made" and not golden["message"].startswith(("Exception thrown", "Syntax", "Shape")):
        same = (
            ours["error"] == golden["error"]
            and ours["message"].replace("DType'", "Type'") == golden["message"]
        )
        return None if same else f"says {ours}, not {golden}"
    return None


def _far(value: Any, golden: dict[str, Any], rule: rules.Near) -> str | None:
    if "tuple" in golden:
        found = [_far(v, g, rule) for v, g in zip(value, golden["tuple"], strict=True)]
        return next((text for text in found if text), None)
    if "value" in golden:
        return None if encode(value) == golden else f"gives {value}, not {golden['value']}"
    ours = np.asarray(value)
    if (ours.dtype.name, list(ours.shape)) != (golden["dtype"], golden["shape"]):
        return f"gives {ours.dtype}{ours.shape}, not {golden['dtype']}{golden['shape']}"
    far = np.abs(sample(ours).astype(np.float64) - decode_values(golden).astype(np.float64))
    # a whole step of integers is a rounding; of floats (a video's sound) it is not
    within = rule.within if ours.dtype.kind != "f" else min(rule.within, 1e-4)
    if far.max(initial=0) > within or (far > 0).sum() / max(1, far.size) > rule.share + 2 / max(1, far.size):
        return f"is off by {far.max()} in a share of {(far > 0).mean()}, beyond {rule}"
    return None


@pytest.mark.parametrize(("file", "cases"), grouped())
def test_same_as_mindspore(file, cases):
    goldens = _golden(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = {case.name: difference(case, goldens[case.name]) for case in cases}
    wrong = [f"{name} {text}" for name, text in found.items() if text]
    assert not wrong, f"{len(wrong)} of {len(cases)} differ:\n" + "\n".join(wrong[:10])


_loaded: dict[str, Any] = {}


def _golden(file: str) -> Any:
    if file not in _loaded:
        _loaded[file] = json.loads((GOLDENS / f"{file}.json").read_text())
    return _loaded[file]


def test_every_rule_is_used():
    names = [case.name for cases in load().values() for case in cases]
    for rule in (*rules.NEAR, *rules.WITHOUT_FMA, *rules.OTHER, *rules.MORE):
        assert any(rules.re.search(rule.pattern, name) for name in names), f"no case needs {rule}"


def test_what_is_not_bit_identical_says_so_in_its_docstring():
    """In its own, or in that of a transform it names."""

    def states(name: str) -> bool:
        return "differ" in (getattr(vision, name, None) or getattr(transforms, name)).__doc__

    names = {operation(c.call) for cases in load().values() for c in cases if rules.near(c.name)}
    named = {name: re.findall(r"\b[A-Z]\w+", getattr(vision, name).__doc__) for name in names}
    silent = [
        name
        for name in sorted(names)
        if not states(name) and not any(states(other) for other in named[name] if hasattr(vision, other))
    ]
    assert not silent
