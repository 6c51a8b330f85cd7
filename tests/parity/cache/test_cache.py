"""The cache's command and calls against what real MindSpore 2.7.0 said when goldens/ was recorded."""

from __future__ import annotations

import json
from pathlib import Path

from tests.parity.cache.cases import SCENARIOS, WITH_SERVER, WITH_SPILLING, WITHOUT_SERVER
from tests.parity.cache.play import lines_of

GOLDENS = Path(__file__).parent / "goldens"
COMMANDS = json.loads((GOLDENS / "commands.json").read_text())
CALLS = json.loads((GOLDENS / "calls.json").read_text())
KINDS = {"without server": WITHOUT_SERVER, "with server": WITH_SERVER, "with spilling": WITH_SPILLING}
CHANGED = "the cases have changed since they were recorded: run record_cache.py"


def test_what_is_asked_is_what_was_recorded() -> None:
    asked = {
        name: [line for line in lines_of(text) if not line.startswith("(")]
        for name, text in SCENARIOS.items()
    }
    assert {name: [said["line"] for said in done] for name, done in COMMANDS.items()} == asked, CHANGED
    codes = {f"{kind}: {case.name}": case.source for kind, cases in KINDS.items() for case in cases}
    assert {name: outcome["code"] for name, outcome in CALLS.items()} == codes, CHANGED
