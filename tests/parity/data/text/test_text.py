"""The same calls on the same text give what MindSpore 2.7.0 gave: the same values, types, offsets and errors."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset.text as text
import millrace.dataset.transforms as transforms
from millrace.common import dtype
from tests.parity.data.text.cases import load, load_better
from tests.parity.data.text.cases.case import Better, Case
from tests.parity.data.text.inputs import FILES, WORDS
from tests.parity.data.text.record import outcome

GOLDENS = Path(__file__).parent / "goldens"
NAMES = {"T": text, "C": transforms, "D": dtype, "np": np, "WORDS": WORDS, "F": f"{FILES}/"}


def grouped() -> list[Any]:
    """The cases of each public name in each file."""
    found = defaultdict(list)
    for family, cases in load().items():
        for case in cases:
            found[family, re.search(r"[TC]\.(\w+)", case.call).group(1)].append(case)
    return [pytest.param(family, cases, id=f"{family}-{name}") for (family, name), cases in found.items()]


def difference(case: Case, golden: dict[str, Any], rules: list[Better]) -> str | None:
    """What differs, in words; None when nothing does that should not."""
    ours = json.loads(json.dumps(outcome(case, NAMES)))  # as the golden was kept: tuples are lists
    same = _same(ours, golden)
    if case.better:
        return "gives the same, so it is not better" if same else None
    if same:
        return None
    rule = next((one for one in rules if re.search(one.pattern, case.name)), None)
    if rule is not None and (not rule.same_tokens or _same_tokens(ours, golden)):
        return None
    return f"gives {str(ours)[:600]}, not {str(golden)[:600]}"


def _same_tokens(ours: dict[str, Any], golden: dict[str, Any]) -> bool:
    if "tuple" not in ours or "tuple" not in golden:
        return False
    tokens, *places = ours["tuple"]
    return all(one["shape"] == tokens["shape"] for one in places) and tokens == golden["tuple"][0]


def _same(ours: dict[str, Any], golden: dict[str, Any]) -> bool:
    if "error" not in golden or "error" not in ours:
        return ours == golden
    # an error may go on where MindSpore's ends, to say what was got and what to do
    kinds = ours["error"] == golden["error"] and ours["when"] == golden["when"]
    said, theirs = ours["message"], golden["message"]
    if golden["when"] == "called":  # the name of the op is ours to give; MindSpore names the part that failed
        said, theirs = (re.sub(r"^\w+: ", "", one) for one in (said, theirs))
    return kinds and said.startswith(theirs.rstrip("."))


@cache
def golden_of(family: str) -> Any:
    return json.loads((GOLDENS / f"{family}.json").read_text())


@pytest.mark.parametrize(("family", "cases"), grouped())
def test_same_as_mindspore(family, cases):
    rules = load_better().get(family, [])
    found = {case.name: difference(case, golden_of(family)[case.name], rules) for case in cases}
    wrong = [f"{name} {text}" for name, text in found.items() if text]
    assert not wrong, f"{len(wrong)} of {len(cases)} differ:\n" + "\n".join(wrong[:10])


@pytest.mark.parametrize("family", load())
def test_a_golden_for_every_case_and_no_other(family):
    assert [case.name for case in load()[family]] == list(golden_of(family))


@pytest.mark.parametrize("family", load_better())
def test_every_rule_is_needed(family):
    cases = load()[family]
    for rule in load_better()[family]:
        found = [case for case in cases if re.search(rule.pattern, case.name)]
        assert any(difference(case, golden_of(family)[case.name], []) for case in found), rule
