"""The list of training names that are still missing is true."""

import json

import pytest

pytest.importorskip("torch")

from tests.names.update_runtime import NOT_YET, missing


def test_what_is_missing_is_listed_and_the_list_only_shrinks():
    now, before = missing(), json.loads(NOT_YET.read_text())
    flat = {f"{module}.{name}" for module, names in now.items() for name in names}
    known = {f"{module}.{name}" for module, names in before.items() for name in names}
    assert sorted(flat - known) == [], "Millrace has lost these"
    assert sorted(known - flat) == [], "these exist now: run `python -m tests.names.update_runtime`"
