"""The same calls on the same values give what MindSpore 2.7.0 gave, as near as compare.py says."""

from __future__ import annotations

import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset.audio as audio
from tests.parity.calls import Case
from tests.parity.data.audio.cases import families, load, rules
from tests.parity.data.audio.compare import Better, Drawn, allowed, encode, how_far, rule_for
from tests.parity.data.audio.inputs import make
from tests.parity.encode import encode_error
from tests.parity.recorder import outcome

GOLDENS = Path(__file__).parent / "goldens"
NAMES = {"A": audio, "np": np}


def operation(call: str) -> str:
    """The first name of ours in a call."""
    return re.search(r"A\.(\w+)", call).group(1)


def grouped() -> Iterator[Any]:
    """The cases of each transform in each file."""
    for family, cases in load().items():
        found = defaultdict(list)
        for case in cases:
            found[operation(case.call)].append(case)
        for op, some in found.items():
            yield pytest.param(family, some, id=f"{family}-{op}")


def ours(case: Case) -> tuple[dict[str, Any], Any]:
    """What Millrace does, the input left as it was."""
    given = []

    def kept(name: str) -> np.ndarray:
        value = make(name)
        given.append((value, value.copy()))
        return value

    made, value = outcome(case, NAMES, kept, encode, encode_error)
    for now, before in given:
        np.testing.assert_array_equal(now, before, err_msg="the input was changed")
    if "error" in made and made["error"] not in ("RuntimeError", "TypeError", "ValueError"):
        raise AssertionError(f"{case.name} fails with {made}")
    return made, value


def difference(family: str, case: Case, golden: dict[str, Any]) -> str | None:
    """What differs, in words; None when nothing does that should not."""
    made, value = ours(case)
    rule = rule_for(rules(family), case.name)
    if isinstance(rule, Better):
        if not rule.raises:
            return f"says {made['message']}" if "error" in made else None
        return None if rule.raises in made.get("message", "") else f"gives {made}, not {rule.raises!r}"
    if "crashes" in golden or "hangs" in golden:
        return "needs a rule: MindSpore does not survive it"
    if "error" in golden:
        return _error(golden, made)
    if "error" in made:
        return f"fails: {made['error']} {made['message']}"
    if "made" in golden:
        return None
    far = how_far(value, golden)
    if isinstance(rule, Drawn):
        return far if isinstance(far, str) and far.startswith("gives") else None
    if isinstance(far, str):
        return far
    return f"is off by {far}" if far > allowed(value, rule) else None


def _error(golden: dict[str, Any], made: dict[str, Any]) -> str | None:
    """The same class and words; ours may say more while rows flow."""
    if "error" not in made:
        return f"works, and MindSpore says {golden['message']}"
    same_words = golden["message"] == made["message"] or (
        golden["flowing"] and golden["message"] in made["message"]
    )
    return None if same_words and golden["error"] == made["error"] else f"says {made}, not {golden}"


@pytest.mark.parametrize(("family", "cases"), list(grouped()))
def test_same_as_mindspore(family, cases):
    goldens = golden(family)
    found = {case.name: difference(family, case, goldens[case.name]) for case in cases}
    wrong = [f"{name} {text}" for name, text in found.items() if text]
    assert not wrong, f"{len(wrong)} of {len(cases)} differ:\n" + "\n".join(wrong[:10])


@functools.cache
def golden(family: str) -> Any:
    return json.loads((GOLDENS / f"{family}.json").read_text())


@pytest.mark.parametrize("family", families())
def test_every_rule_is_used(family):
    names = [case.name for case in load()[family]]
    for rule in rules(family):
        assert any(re.search(rule.pattern, name) for name in names), f"no case needs {rule}"


def test_goldens_stay_small():
    assert sum(path.stat().st_size for path in GOLDENS.glob("*.json")) < 3_000_000
