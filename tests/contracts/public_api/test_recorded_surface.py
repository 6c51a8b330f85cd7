"""Names, parameters, docstrings, commands and shipped files are the recorded ones, wherever the code stands.

To change them: edit the code, run ``python -m tests.contracts.public_api.record_surface``, read what the tests
said, commit it.
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.contracts.public_api import record_surface

UPDATE = "run `python -m tests.contracts.public_api.record_surface` if this is meant"


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    """The surface as a fresh process sees it: it loads the stand-in for MindSpore."""
    command = [sys.executable, "-m", "tests.contracts.public_api.record_surface", "--names"]
    done = subprocess.run(command, cwd=record_surface.ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    return record_surface.load()


def described(recorded: dict[str, Any], part: str) -> dict[str, str]:
    """Path -> what is there; a class holds its members, a member of a class is described in full."""
    table = recorded["descriptions"]

    def text(number: int) -> str:
        entry = table[number]
        if entry[0] == "class" and len(entry) == 4:
            return json.dumps([*entry[:3], {name: table[member] for name, member in entry[3].items()}])
        return json.dumps(entry)

    shown = {number: text(number) for number in range(len(table))}
    return {
        f"{module}.{name}": shown[number]
        for module, names in recorded[part].items()
        for name, number in names.items()
    }


@pytest.mark.parametrize("part", ["millrace", "mindspore"])
def test_every_name_is_there_with_its_parameters_and_docstring(
    part: str, now: dict[str, Any], before: dict[str, Any]
) -> None:
    assert sorted(now[part]) == sorted(before[part])
    found, recorded = described(now, part), described(before, part)
    assert sorted(recorded.keys() - found.keys()) == [], f"these are gone; {UPDATE}"
    assert sorted(found.keys() - recorded.keys()) == [], f"these are new; {UPDATE}"
    changed = {path: (recorded[path], found[path]) for path in recorded if recorded[path] != found[path]}
    assert dict(list(changed.items())[:5]) == {}, f"{len(changed)} names changed; {UPDATE}"


def test_commands_are_the_recorded_ones(before: dict[str, Any]) -> None:
    """The modules behind them may move; their names and functions may not."""

    def functions(scripts: dict[str, str]) -> dict[str, str]:
        return {name: target.rpartition(":")[2] for name, target in scripts.items()}

    assert functions(record_surface.scripts()) == functions(before["scripts"])
    assert record_surface.runnable() == before["runnable"]


def test_files_beside_the_modules_are_shipped(before: dict[str, Any]) -> None:
    found, recorded = (collections.Counter(names) for names in (record_surface.shipped(), before["shipped"]))
    assert found == recorded, UPDATE
    assert record_surface.sdist() == before["sdist"]


@pytest.mark.slow
def test_no_docstring_with_examples_is_lost(before: dict[str, Any]) -> None:
    assert record_surface.doctests() >= before["doctests"], UPDATE
